use super::*;
use crate::{finding::Risk, rules::pleg_unexplained::RULE};

#[test]
fn an_outage_without_a_cause_says_what_was_ruled_out() {
    // What an ordinary kubelet says besides.
    let mut lines: Vec<_> = [1, 2, 3]
        .map(|n| {
            line(
                &format!("03:30:0{n}"),
                "Attempting to register node worker-7",
            )
        })
        .to_vec();
    lines.extend(outage());
    let found = only(
        &RULE,
        &evidence(
            &lines,
            Some(daemon_with(vec![sandbox(ID, Some("running"))])),
        ),
    );
    assert!(found.active);
    for word in [
        "no listing failed",
        "no status call timed out",
        "Docker answers now",
        "every container's inspect answers now",
    ] {
        assert!(
            found.explanation.contains(word),
            "{word}: {}",
            found.explanation
        );
    }
    assert!(
        found
            .remedies
            .iter()
            .all(|remedy| remedy.risk == Risk::Safe)
    );
}

#[test]
fn an_outage_with_a_cause_is_not_unexplained() {
    let mut lines = vec![status_deadline("03:35:50", ID)];
    lines.extend(outage());
    quiet(&RULE, &evidence(&lines, None));
}

#[test]
fn what_the_machine_is_short_of_alone_explains_no_outage() {
    let mut evidence = evidence(&outage(), None);
    let mut host = host(Vec::new());
    (host.pressure.tasks, host.pressure.tasks_limit) = (Some(32_768), Some(32_768));
    host.pressure.memory_available = Some(0);
    evidence.host = Some(host);
    let mut found = check_all(&evidence).into_iter().map(|finding| finding.id);
    for id in ["tasks-exhausted", "memory-starved", "pleg-unexplained"] {
        assert!(found.any(|found| found == id), "{id}");
    }
}

#[test]
fn a_cause_of_long_before_explains_nothing_now() {
    let mut lines = vec![status_deadline("02:00:00", ID), ready("02:01:00")];
    lines.extend(outage());
    assert!(only(&RULE, &evidence(&lines, None)).active);
}

#[test]
fn an_outage_that_goes_on_though_the_blocked_container_answers_is_unexplained() {
    let mut lines = vec![status_deadline("03:35:50", ID)];
    lines.extend(outage());
    let daemon = daemon_with(vec![sandbox(ID, Some("running"))]);
    let mut evidence = evidence(&lines, Some(daemon));
    // The relist comes round within seconds: not yet unexplained.
    quiet(&RULE, &evidence);
    evidence.now += chrono::TimeDelta::minutes(2);
    assert!(only(&RULE, &evidence).active);
}

#[test]
fn every_outage_of_a_long_hang_is_explained() {
    // The same container hangs thrice, hours apart; the middle one is neither its first nor its last.
    let mut lines = Vec::new();
    for hour in 1..4 {
        lines.push(status_deadline(&format!("0{hour}:35:50"), ID));
        lines.extend(
            outage()
                .iter()
                .map(|line| line.replace(" 03:", &format!(" 0{hour}:"))),
        );
        lines.push(ready(&format!("0{hour}:40:00")));
    }
    quiet(&RULE, &evidence(&lines, None));
}

#[test]
fn a_full_channel_of_the_evented_pleg_is_told() {
    let lines: Vec<_> = (10..40)
        .map(|s| {
            line(
                &format!("03:38:{s}"),
                "\"Skipping pod synchronization\" err=\"EventedPLEG is not healthy: EventedPLEG: pleg event channel capacity is full with 1000 events\"",
            )
        })
        .collect();
    assert!(
        only(&RULE, &evidence(&lines, None))
            .title
            .contains("evented PLEG")
    );
}

#[test]
fn no_outage_no_word() {
    quiet(
        &RULE,
        &evidence(&[ready("03:00:00")], Some(daemon_with(Vec::new()))),
    );
}

#[test]
fn a_log_cut_to_the_lines_on_the_pleg_rules_nothing_out() {
    let found = only(&RULE, &evidence(&outage(), None));
    assert!(
        found.explanation.contains(
            "Nothing could be ruled out: there are only lines on the PLEG, cut out of the log"
        ),
        "{}",
        found.explanation
    );
}

#[test]
fn what_another_docker_answers_rules_nothing_out() {
    let found = only(&RULE, &evidence(&outage(), Some(daemon_with(Vec::new()))));
    assert!(
        !found.explanation.contains("Docker answers"),
        "{}",
        found.explanation
    );
}
