use super::*;
use crate::{
    finding::Confidence,
    rules::{hung_container, pleg_unexplained},
};
use chrono::TimeDelta;

/// Stale lines of a lag that falls back from these heights, in seconds, from 03:00:00 on; the last one goes on.
fn peaks(heights: &[i64]) -> Vec<String> {
    let mut start = at("03:00:00");
    let mut lines = Vec::new();
    for &height in heights {
        for lag in (181..=height).step_by(7).chain([height]) {
            let time = start + TimeDelta::seconds(lag);
            let (minutes, seconds) = (lag / 60, lag % 60);
            lines.push(line(
                &time.format("%H:%M:%S").to_string(),
                &format!("skipping pod synchronization - PLEG is not healthy: pleg was last seen active {minutes}m{seconds}s ago; threshold is 3m0s"),
            ));
        }
        start += TimeDelta::seconds(height + 4);
    }
    lines
}

#[test]
fn a_saw_of_four_minutes_tells_of_one_pod_without_a_name() {
    let found = only(
        &hung_container::RULE,
        &evidence(&peaks(&[237, 238, 236, 200]), None),
    );
    assert_eq!(
        (found.active, found.confidence),
        (true, Confidence::Suspected)
    );
    assert!(found.title.contains("of one pod"), "{}", found.title);
    let found = only(
        &hung_container::RULE,
        &evidence(&peaks(&[477, 478, 200]), None),
    );
    assert!(found.title.contains("of 2 pods"), "{}", found.title);
}

#[test]
fn what_answers_now_and_a_saw_of_another_height_speak_against_it() {
    let daemon = daemon_with(vec![sandbox(ID, Some("running"))]);
    quiet(
        &hung_container::RULE,
        &evidence(&peaks(&[237, 238, 236, 200]), Some(daemon)),
    );
    let uneven = evidence(&peaks(&[200, 290, 215, 200]), None);
    quiet(&hung_container::RULE, &uneven);
    let found = only(&pleg_unexplained::RULE, &uneven);
    assert!(
        found
            .explanation
            .contains("fell back 3 times, from 3m20s to 4m50s"),
        "{}",
        found.explanation
    );
    assert!(
        found.explanation.contains("the lists work"),
        "{}",
        found.explanation
    );
}

#[test]
fn a_lag_too_high_for_the_containers_that_the_log_names_is_told() {
    let mut lines = peaks(&[477, 478, 200]);
    lines.push(status_deadline("03:18:00", ID));
    let found = only(&hung_container::RULE, &evidence(&lines, None));
    assert!(
        found
            .explanation
            .contains("2 pods hang: the log names 1 container"),
        "{}",
        found.explanation
    );
    let mut lines = peaks(&[237, 238, 200]);
    lines.push(status_deadline("03:11:00", ID));
    let found = only(&hung_container::RULE, &evidence(&lines, None));
    assert!(
        !found.explanation.contains("the log names"),
        "{}",
        found.explanation
    );
}

#[test]
fn a_lag_that_grows_without_a_failed_call_waits_without_an_end() {
    let found = only(&pleg_unexplained::RULE, &evidence(&peaks(&[900]), None));
    assert!(
        found.explanation.contains("waits without an end"),
        "{}",
        found.explanation
    );
}
