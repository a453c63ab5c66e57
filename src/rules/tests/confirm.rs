use super::*;
use crate::rules::hung_container::RULE;

/// The outage of a container that hangs, behind a start of that runtime.
fn lines(runtime: &str) -> Vec<String> {
    let start = line(
        "03:30:00",
        &format!("Container runtime {runtime} initialized, version: 1, apiVersion: v1"),
    );
    [&[start, status_deadline("03:35:50", ID)][..], &outage()].concat()
}

#[test]
fn a_suspicion_from_a_log_alone_comes_with_what_confirms_it() {
    let found = only(&RULE, &evidence(&lines("docker"), None));
    assert_eq!(found.remedies[0].command, "plegdoctor diagnose # as root");
    let found = only(&RULE, &evidence(&lines("containerd"), None));
    assert_eq!(
        found.remedies[0].command,
        "timeout 15 crictl --timeout 10s inspectp b15929dfcea1 > /dev/null && echo answered"
    );
}

#[test]
fn what_was_looked_at_needs_no_such_command() {
    let asked = only(
        &RULE,
        &evidence(&lines("docker"), Some(daemon_with(vec![sandbox(ID, None)]))),
    );
    assert!(!asked.remedies[0].command.starts_with("plegdoctor diagnose"));
    let mut over = lines("docker");
    over.push(ready("03:40:00"));
    assert!(only(&RULE, &evidence(&over, None)).remedies.is_empty());
}
