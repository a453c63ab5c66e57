use super::*;
use crate::runtime::Call;
use crate::{
    finding::{Confidence, Severity},
    node::{Disk, KernelKind, KernelLine, Thread, pressure::Stall},
    rules::disk_saturated::RULE,
};

fn disk(name: &str, busy: f64, queue: f64, millis: u64, holds: &[&str]) -> Disk {
    Disk {
        device: "8:0".to_owned(),
        name: name.to_owned(),
        busy,
        queue,
        finished: 100,
        wait: Some(Duration::from_millis(millis)),
        in_flight: 9,
        holds: holds.iter().map(|&folder| folder.to_owned()).collect(),
        through: None,
    }
}

const DOCKER: &[&str] = &["/var/lib/docker"];

fn full() -> Disk {
    disk("sda", 99.8, 31.0, 240, DOCKER)
}

fn thread(wchan: &str, still: bool) -> Thread {
    Thread {
        tid: 702,
        state: State::Uninterruptible,
        wchan: Some(wchan.to_owned()),
        stack: Vec::new(),
        still: still.then_some(Duration::from_secs(1)),
    }
}

/// A machine with that disk whose dockerd has that thread.
fn seen(disk: Disk, thread: Option<Thread>, runtime: Option<Runtime>) -> Evidence {
    let mut dockerd = process(700, 1, "dockerd", Role::Dockerd, 9000);
    dockerd.threads.uninterruptible = usize::from(thread.is_some());
    dockerd.threads.waiting = thread.into_iter().collect();
    let mut evidence = evidence(&[], runtime);
    let mut host = host(vec![dockerd]);
    host.disks = vec![disk];
    evidence.host = Some(host);
    evidence
}

/// A full disk, and a daemon that waits for it.
pub(super) fn saturated() -> Evidence {
    seen(full(), Some(thread("jbd2_log_wait_commit", true)), None)
}

/// A daemon that takes so many milliseconds for its list.
fn daemon(millis: u64) -> Option<Runtime> {
    let mut daemon = daemon_with(vec![sandbox(ID, Some("running"))]);
    *daemon.probe_mut(Call::List) = probe(Outcome::Answered, millis);
    Some(daemon)
}

#[test]
fn a_full_disk_a_thread_that_sleeps_for_it_and_slow_answers_confirm_each_other() {
    let waits = Some(thread("jbd2_log_wait_commit", true));
    let found = only(&RULE, &seen(full(), waits.clone(), daemon(4200)));
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert_eq!(found.severity, Severity::Warning);
    assert_eq!(found.subjects[0].kind, SubjectKind::Disk);
    assert_eq!(found.subjects[0].name.as_deref(), Some("sda"));
    assert_eq!(found.subjects[1].pid, Some(700));
    for words in [
        "sda (which holds /var/lib/docker) was busy for 100 % of the second",
        "a request took 240 ms, with 31.0 at a time",
        "A thread of dockerd (process 700) waits for a disk (in jbd2_log_wait_commit), and did not wake up for a second.",
        "Docker took 4.2 s for an answer.",
    ] {
        assert!(found.explanation.contains(words), "{}", found.explanation);
    }
    // The kernel alone is one source.
    let found = only(&RULE, &seen(full(), waits, daemon(3)));
    assert_eq!(found.confidence, Confidence::Suspected);
}

#[test]
fn the_kubelets_log_is_a_second_source_and_an_outage_critical() {
    let mut lines = outage();
    lines.insert(0, status_deadline("03:38:40", ID));
    let mut seen = seen(full(), Some(thread("io_schedule", true)), None);
    let told = evidence(&lines, None);
    (seen.now, seen.log) = (told.now, told.log);
    let found = only(&RULE, &seen);
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert_eq!(found.severity, Severity::Critical);
}

#[test]
fn a_disk_that_finishes_nothing_is_told_as_such() {
    let mut stuck = full();
    (stuck.finished, stuck.wait, stuck.busy) = (0, None, 100.0);
    let found = only(&RULE, &seen(stuck, Some(thread("io_schedule", true)), None));
    assert!(
        found
            .explanation
            .contains("finished none of its 9 requests"),
        "{}",
        found.explanation
    );
}

#[test]
fn errors_of_the_runtimes_disk_count_and_old_ones_and_anothers_do_not() {
    let failing = |text: &str, seconds| {
        let well = disk("sda", 3.0, 0.1, 2, DOCKER);
        let mut seen = seen(well, Some(thread("io_schedule", true)), daemon(3000));
        seen.host.as_mut().unwrap().kernel_lines = vec![KernelLine {
            kind: KernelKind::DiskError,
            ago: Some(Duration::from_secs(seconds)),
            text: text.to_owned(),
        }];
        seen
    };
    let text = "blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x80700";
    let found = only(&RULE, &failing(text, 90));
    assert!(found.title.ends_with("fails"), "{}", found.title);
    assert!(
        found
            .explanation
            .contains("an error of sda (which holds /var/lib/docker), the last 1m30s ago"),
        "{}",
        found.explanation
    );
    quiet(&RULE, &failing(text, 601));
    quiet(&RULE, &failing("I/O error, dev sdab, sector 1", 90));
}

#[test]
fn a_disk_kept_busy_beside_a_runtime_that_is_well_is_nobodys_trouble() {
    quiet(&RULE, &seen(full(), None, daemon(3)));
    quiet(
        &RULE,
        &seen(
            full(),
            Some(thread("jbd2_log_wait_commit", false)),
            daemon(3),
        ),
    );
    quiet(&RULE, &seen(full(), None, None));
}

#[test]
fn a_disk_that_serves_many_at_a_time_is_busy_without_want() {
    let waits = Some(thread("io_schedule", true));
    quiet(
        &RULE,
        &seen(
            disk("nvme0n1", 100.0, 12.0, 1, DOCKER),
            waits.clone(),
            daemon(4200),
        ),
    );
    // Nor is one slow where nothing queues.
    quiet(
        &RULE,
        &seen(
            disk("sda", 95.0, 0.9, 150, DOCKER),
            waits.clone(),
            daemon(4200),
        ),
    );
    // Where the whole machine stands still for disks, less is slow, too.
    let mut stalls = seen(disk("sda", 100.0, 12.0, 40, DOCKER), waits, daemon(4200));
    quiet(&RULE, &stalls);
    let full = Some(70.0);
    stalls.host.as_mut().unwrap().pressure.io = Some(Stall { some: 90.0, full });
    only(&RULE, &stalls);
}

#[test]
fn another_disk_and_a_remote_server_are_not_the_runtimes_disk() {
    let waits = Some(thread("io_schedule", true));
    quiet(
        &RULE,
        &seen(disk("sdb", 100.0, 31.0, 240, &[]), waits, daemon(4200)),
    );
    // A page of a file on NFS is waited for like one of a disk's; the stack tells.
    let mut remote = thread("folio_wait_bit_common", true);
    remote.stack = vec![
        "folio_wait_bit_common".to_owned(),
        "nfs_file_fsync".to_owned(),
    ];
    quiet(&RULE, &seen(full(), Some(remote), daemon(3)));
}

#[test]
fn what_hangs_for_another_reason_beside_a_busy_disk_is_not_the_disks() {
    let hung = || Some(daemon_with(vec![sandbox(ID, None)]));
    let moment = || Some(thread("jbd2_log_wait_commit", false));
    let plain = seen(full(), moment(), hung());
    assert_eq!(only(&RULE, &plain).confidence, Confidence::Confirmed);
    let mut runc = process(
        800,
        700,
        "runc",
        Role::OciRuntime(crate::node::OciCommand::Create),
        40,
    );
    runc.container = ContainerId::parse(ID);
    let mut held = seen(full(), moment(), hung());
    held.host.as_mut().unwrap().processes.push(runc);
    quiet(&RULE, &held);
    let mut stopped = seen(full(), moment(), hung());
    let dockerd = &mut stopped.host.as_mut().unwrap().processes[0];
    (dockerd.state, dockerd.still) = (State::Stopped, Some(Duration::from_secs(1)));
    quiet(&RULE, &stopped);
}

#[test]
fn of_a_mapped_disk_and_the_one_below_it_the_lower_is_named() {
    let mut below = full();
    below.through = Some("dm-0".to_owned());
    let mut seen = seen(below, Some(thread("xfs_log_force", true)), daemon(4200));
    seen.host
        .as_mut()
        .unwrap()
        .disks
        .push(disk("dm-0", 99.9, 31.0, 245, DOCKER));
    let found = only(&RULE, &seen);
    assert!(found.title.starts_with("Disk sda, "), "{}", found.title);
    assert!(
        found.explanation.contains("holds /var/lib/docker, by dm-0"),
        "{}",
        found.explanation
    );
}
