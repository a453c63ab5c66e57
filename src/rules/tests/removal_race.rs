use super::*;
use crate::{
    finding::{Confidence, Severity},
    rules::removal_race::RULE,
};

/// The status call of container `id` found nothing.
fn gone(time: &str, id: &str) -> String {
    line(
        time,
        &format!(
            "ContainerStatus \"{id}\" from runtime service failed: rpc error: code = Unknown desc = Error: No such container: {id}"
        ),
    )
}

fn fatal(time: &str, id: &str) -> String {
    format!(
        "F1130 {time}.000000    2261 kubelet.go:1350] Failed to start ContainerManager failed to build map of initial containers from runtime: no PodsandBox found with Id '{id}'"
    )
}

/// Every ten minutes from 01:00 on.
fn tries(number: u32, id: &str) -> Vec<String> {
    let time = |n: u32| format!("{:02}:{:02}:00", 1 + n / 7, 9 * (n % 7));
    (0..number).map(|n| gone(&time(n), id)).collect()
}

#[test]
fn a_race_is_not_worth_a_word() {
    quiet(
        &RULE,
        &evidence(&[gone("03:00:00", ID), ready("03:00:05")], None),
    );
    // Within the hour it may end by itself.
    quiet(&RULE, &evidence(&tries(7, ID), None));
}

#[test]
fn whoever_asks_for_hours_is_told_and_dockers_list_confirms() {
    let lines = tries(14, ID);
    let finding = only(&RULE, &evidence(&lines, None));
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.confidence, Confidence::Suspected);
    assert!(finding.title.contains("b15929dfcea1"), "{}", finding.title);
    let elsewhere = daemon_with(vec![sandbox(OTHER, Some("running"))]);
    let finding = only(&RULE, &evidence(&lines, Some(elsewhere)));
    assert_eq!(finding.confidence, Confidence::Confirmed);
    let ended = [lines, vec![ready("06:00:00")]].concat();
    assert!(!only(&RULE, &evidence(&ended, None)).active);
}

#[test]
fn what_was_asked_for_in_the_morning_and_again_in_the_evening_is_two_races() {
    let twice = [
        tries(4, ID),
        vec![
            gone("20:00:00", ID),
            gone("20:01:00", ID),
            gone("20:02:00", ID),
        ],
    ]
    .concat();
    quiet(&RULE, &evidence(&twice, None));
}

#[test]
fn many_containers_that_are_each_missed_once_are_a_race_each() {
    let lines: Vec<String> = (0..14)
        .map(|n| {
            let id = format!("{n:02x}{}", &ID[2..]);
            gone(&format!("{:02}:00:00", 1 + n), &id)
        })
        .collect();
    quiet(&RULE, &evidence(&lines, None));
}

#[test]
fn beside_an_unhealthy_pleg_such_a_line_is_called_harmless() {
    let ignored = line(
        "03:38:00",
        &format!(
            "PLEG: Ignoring events for pod web-1/default: rpc error: code = Unknown desc = Error: No such container: {OTHER}"
        ),
    );
    let lines = [vec![ignored.clone()], outage()].concat();
    let finding = only(&RULE, &evidence(&lines, None));
    assert_eq!(finding.severity, Severity::Info);
    quiet(&RULE, &evidence(&[ignored], None));
}

#[test]
fn a_kubelet_that_cannot_start_names_the_sandbox_and_docker_the_container() {
    let lines = [fatal("03:00:00", ID), fatal("03:00:11", ID)];
    let alone = evidence(&lines, None);
    let finding = only(&RULE, &alone);
    assert_eq!(
        (finding.severity, finding.confidence, finding.active),
        (Severity::Critical, Confidence::Suspected, true)
    );
    assert!(found(&crate::rules::not_pleg::RULE, &alone).is_empty());
    let mut orphan = sandbox(OTHER, Some("exited"));
    orphan.kind = ContainerKind::Container;
    orphan.sandbox = ContainerId::parse(ID);
    let finding = only(&RULE, &evidence(&lines, Some(daemon_with(vec![orphan]))));
    assert_eq!(finding.confidence, Confidence::Confirmed);
    assert_eq!(finding.subjects[0].id, ContainerId::parse(OTHER));
    let started = [
        lines.to_vec(),
        vec![line("03:01:00", "Starting kubelet main sync loop.")],
    ]
    .concat();
    assert!(!only(&RULE, &evidence(&started, None)).active);
}

#[test]
fn another_fatal_end_is_not_this_one() {
    let other = "F1130 03:00:00.000000    2261 server.go:274] failed to run Kubelet: no space left on device";
    quiet(&RULE, &evidence(&[other.to_owned()], None));
    // What stands in the id's place goes into no command.
    let hostile = fatal("03:00:00", "; rm -rf /");
    assert!(only(&RULE, &evidence(&[hostile], None)).remedies.is_empty());
}
