use super::*;
use crate::{
    finding::{Confidence, Finding, Severity},
    node::{FileLock, locks::flocks},
    rules::xtables_lock::RULE,
};

fn locked(time: &str) -> String {
    line(
        time,
        "Failed to ensure that nat chain KUBE-MARK-DROP exists: error creating chain \"KUBE-MARK-DROP\": exit status 4: Another app is currently holding the xtables lock; still 4s 0us time ahead to have a chance to grab the lock...",
    )
}

fn lines() -> Vec<String> {
    ["03:00:00", "03:01:00", "03:02:00"].map(locked).to_vec()
}

#[test]
fn once_or_twice_is_ordinary() {
    quiet(&RULE, &evidence(&lines()[..2], None));
    let finding = only(&RULE, &evidence(&lines(), None));
    assert_eq!(
        (finding.severity, finding.confidence, finding.active),
        (Severity::Warning, Confidence::Suspected, true)
    );
}

/// A process that is not there any more.
const ENDED: u32 = 4711;

fn run(pid: u32, seconds: u64, wchan: &str) -> Process {
    Process {
        start_ticks: 100_000 - seconds,
        wchan: Some(wchan.to_owned()),
        ..process(pid, 1, "iptables-restor", Role::Iptables, seconds)
    }
}

/// The log, and these runs; `locks` is the kernel's table of locks, if it was read.
fn beside(runs: Vec<Process>, locks: Option<&str>) -> Finding {
    let mut evidence = evidence(&lines(), None);
    let named = |lock: FileLock| FileLock {
        comm: Some("holder".to_owned()).filter(|_| lock.holder != ENDED),
        ..lock
    };
    let locks = locks.map(|table| flocks(table).into_iter().map(named).collect());
    evidence.host = Some(Host {
        locks,
        ..host(runs)
    });
    only(&RULE, &evidence)
}

fn kills(finding: &Finding) -> Vec<&str> {
    let commands = finding.remedies.iter().map(|it| it.command.as_str());
    commands.filter(|it| it.starts_with("kill")).collect()
}

#[test]
fn the_run_that_the_kernel_shows_as_the_holder_is_named_and_confirmed() {
    let table = "\
1: FLOCK  ADVISORY  WRITE 12 00:17:1032 0 EOF
1: -> FLOCK  ADVISORY  WRITE 13 00:17:1032 0 EOF
";
    // The one that waits is older.
    let runs = vec![
        run(13, 120, "locks_lock_inode_wait"),
        run(12, 90, "do_wait"),
        run(11, 2, "do_wait"),
    ];
    let finding = beside(runs, Some(table));
    assert_eq!(finding.confidence, Confidence::Confirmed);
    assert_eq!(finding.subjects[0].pid, Some(12));
    assert_eq!(kills(&finding), ["kill 12"]);
}

#[test]
fn runs_that_only_wait_confirm_nothing_and_are_not_to_be_ended() {
    for wait in ["locks_lock_inode_wait", "poll_schedule_timeout.constprop.0"] {
        let finding = beside(vec![run(13, 300, wait), run(12, 90, wait)], None);
        assert_eq!(finding.confidence, Confidence::Suspected, "{wait}");
        assert_eq!(finding.subjects[0].pid, None);
        assert_eq!(kills(&finding), [""; 0]);
        assert!(finding.remedies[0].command.contains("/proc/locks"));
        assert!(finding.explanation.contains("was not seen"));
    }
}

#[test]
fn an_old_run_that_is_not_seen_to_wait_is_named_and_not_confirmed() {
    let runs = vec![
        run(13, 300, "locks_lock_inode_wait"),
        run(12, 90, "do_wait"),
    ];
    let finding = beside(runs, None);
    assert_eq!(finding.confidence, Confidence::Suspected);
    assert_eq!(finding.subjects[0].pid, Some(12));
    assert_eq!(kills(&finding), [""; 0]);
    // Whose waits the kernel does not show to this user may wait.
    let shy = |pid, seconds| Process {
        wchan: None,
        ..run(pid, seconds, "")
    };
    let finding = beside(vec![shy(13, 300), shy(12, 90)], None);
    assert_eq!(finding.confidence, Confidence::Suspected);
    assert_eq!(finding.subjects[0].pid, None);
}

#[test]
fn a_table_without_such_a_lock_clears_the_runs() {
    let table = "1: FLOCK  ADVISORY  WRITE 4 00:17:7 0 EOF\n";
    let finding = beside(vec![run(12, 90, "pipe_read")], Some(table));
    assert_eq!(finding.confidence, Confidence::Suspected);
    assert_eq!(finding.subjects[0].pid, None);
    assert!(finding.explanation.contains("held no lock"));
}

#[test]
fn another_program_that_holds_it_is_named_and_not_to_be_ended() {
    let table = "\
1: FLOCK  ADVISORY  WRITE 1743 00:17:1032 0 EOF
1: -> FLOCK  ADVISORY  WRITE 13 00:17:1032 0 EOF
";
    let waits = |seconds| vec![run(13, seconds, "locks_lock_inode_wait")];
    let finding = beside(waits(90), Some(table));
    assert_eq!(finding.confidence, Confidence::Confirmed);
    assert_eq!(finding.subjects[0].pid, Some(1743));
    assert_eq!(kills(&finding), [""; 0]);
    // Each run waits a moment for the one before it.
    let finding = beside(waits(2), Some(table));
    assert_eq!(finding.confidence, Confidence::Suspected);
}

#[test]
fn a_holder_that_has_ended_is_not_said_to_hold_it() {
    let table = "\
1: FLOCK  ADVISORY  WRITE 4711 00:17:1032 0 EOF
1: -> FLOCK  ADVISORY  WRITE 13 00:17:1032 0 EOF
";
    let finding = beside(vec![run(13, 90, "locks_lock_inode_wait")], Some(table));
    assert!(finding.explanation.contains("is not seen any more"));
    assert_eq!((finding.subjects[0].pid, kills(&finding).len()), (None, 0));
}

#[test]
fn what_was_hours_ago_is_over() {
    let lines = [lines(), vec![ready("06:00:00")]].concat();
    let finding = only(&RULE, &evidence(&lines, None));
    assert_eq!((finding.severity, finding.active), (Severity::Info, false));
}
