use super::*;
use crate::{
    finding::{Confidence, Severity},
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

#[test]
fn the_oldest_run_of_iptables_is_named() {
    let mut evidence = evidence(&lines(), None);
    let run = |pid, ticks, seconds| Process {
        start_ticks: ticks,
        ..process(pid, 1, "iptables-restor", Role::Iptables, seconds)
    };
    let young = run(11, 3000, 2);
    evidence.host = Some(host(vec![
        run(13, 2000, 60),
        run(12, 1000, 90),
        young.clone(),
    ]));
    let finding = only(&RULE, &evidence);
    assert_eq!(finding.confidence, Confidence::Confirmed);
    assert_eq!(finding.subjects[0].pid, Some(12));
    assert_eq!(finding.remedies.last().unwrap().command, "kill 12");
    // One that has just begun holds nobody up.
    evidence.host = Some(host(vec![young]));
    assert_eq!(only(&RULE, &evidence).confidence, Confidence::Suspected);
}

#[test]
fn what_was_hours_ago_is_over() {
    let lines = [lines(), vec![ready("06:00:00")]].concat();
    let finding = only(&RULE, &evidence(&lines, None));
    assert_eq!((finding.severity, finding.active), (Severity::Info, false));
}
