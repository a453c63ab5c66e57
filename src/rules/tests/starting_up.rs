use super::*;
use crate::{finding::Severity, rules::starting_up::RULE};

fn started() -> Vec<String> {
    vec![
        line("03:30:00", "Starting kubelet main sync loop."),
        line(
            "03:30:00",
            "skipping pod synchronization - [container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]",
        ),
    ]
}

#[test]
fn the_first_seconds_are_harmless() {
    let found = only(&RULE, &evidence(&started(), None));
    assert_eq!(found.severity, Severity::Info);
}

#[test]
fn a_start_that_ended_well_is_not_worth_a_word() {
    let mut lines = started();
    lines.push(ready("03:30:10"));
    quiet(&RULE, &evidence(&lines, None));
}

#[test]
fn a_start_that_does_not_end_is_none() {
    let mut lines = started();
    lines.push(line(
        "03:31:10",
        "skipping pod synchronization - PLEG is not healthy: pleg has yet to be successful",
    ));
    quiet(&RULE, &evidence(&lines, None));
}
