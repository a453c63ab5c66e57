use super::*;
use crate::{
    finding::{Confidence, Severity},
    node::{Host, LeftoverLayer},
    rules::dead_container::RULE,
    syntax::id::ContainerId,
};

const BUSY: &str = "rpc error: code = Unknown desc = failed to remove container: Error response from daemon: driver \"overlay2\" failed to remove root filesystem: unlinkat /var/lib/docker/overlay2/aa/merged: device or resource busy";

fn remove_failed(id: &str) -> String {
    line(
        "03:38:10",
        &format!("RemoveContainer \"{id}\" from runtime service failed: {BUSY}"),
    )
}

fn dead() -> Container {
    let mut container = sandbox(ID, Some("dead"));
    container.listed_state = "removing".into();
    container.listed_status = "Removal In Progress".to_owned();
    if let Some(inspected) = &mut container.inspected {
        inspected.error = format!(
            "container {ID}: driver \"overlay2\" failed to remove root filesystem: device or resource busy"
        );
    }
    container
}

#[test]
fn inspect_tells_death_where_the_list_lies() {
    let found = only(&RULE, &evidence(&[], Some(daemon_with(vec![dead()]))));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    assert!(
        found.explanation.contains("device or resource busy"),
        "{}",
        found.explanation
    );
    assert!(
        found.explanation.contains("misses it"),
        "{}",
        found.explanation
    );
}

#[test]
fn it_is_never_called_the_cause_of_a_lag() {
    let found = only(&RULE, &evidence(&outage(), Some(daemon_with(vec![dead()]))));
    assert_eq!(found.severity, Severity::Warning);
    assert!(
        found.explanation.contains("was never shown to block"),
        "{}",
        found.explanation
    );
    const { assert!(!RULE.explains) };
}

#[test]
fn the_kubelets_failed_removal_of_the_same_container_confirms() {
    let found = only(
        &RULE,
        &evidence(&[remove_failed(ID)], Some(daemon_with(vec![dead()]))),
    );
    assert_eq!(found.confidence, Confidence::Confirmed);
}

const FOLDER: &str = "/var/lib/docker/overlay2/aa";

/// The layer of a dead container, with that left in it.
fn left(names: &[&str]) -> Evidence {
    let mut container = dead();
    if let Some(inspected) = &mut container.inspected {
        inspected.folder = Some(FOLDER.to_owned());
    }
    let mut evidence = evidence(&[], Some(daemon_with(vec![container])));
    evidence.host = Some(Host {
        remains: vec![LeftoverLayer {
            folder: FOLDER.to_owned(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
        }],
        ..host(Vec::new())
    });
    evidence
}

#[test]
fn a_layer_that_is_half_removed_confirms_and_a_whole_one_does_not() {
    let found = only(&RULE, &left(&["diff"]));
    assert_eq!(found.confidence, Confidence::Confirmed);
    let cited = found.citations.iter().find(|it| &*it.source == FOLDER);
    assert_eq!(&*cited.unwrap().text, "only diff left in it");
    assert!(found.explanation.contains("half removed"));
    let whole = only(&RULE, &left(&["diff", "link", "lower", "work"]));
    assert_eq!(whole.confidence, Confidence::Suspected);
    assert!(!whole.explanation.contains("half removed"));
    assert!(whole.citations.iter().all(|it| &*it.source != FOLDER));
}

#[test]
fn what_is_shown_of_one_is_not_shown_of_the_other() {
    let mut both = left(&["diff"]);
    let mut other = dead();
    other.id = ContainerId::parse(OTHER).unwrap();
    if let Some(runtime) = &mut both.runtime {
        runtime.containers.push(other);
    }
    let found = only(&RULE, &both);
    assert_eq!(found.confidence, Confidence::Suspected);
    assert!(found.explanation.contains("The layer of one is"));
}

#[test]
fn the_log_alone_suspects_and_a_container_gone_since_ends_it() {
    let found = only(&RULE, &evidence(&[remove_failed(ID)], None));
    assert_eq!(
        (found.confidence, found.active),
        (Confidence::Suspected, true)
    );
    let gone = only(
        &RULE,
        &evidence(
            &[remove_failed(ID)],
            Some(daemon_with(vec![sandbox(OTHER, Some("running"))])),
        ),
    );
    assert!(!gone.active);
}

#[test]
fn a_list_that_says_dead_or_removing_is_no_proof() {
    let mut container = sandbox(ID, Some("exited"));
    container.listed_state = "removing".into();
    quiet(&RULE, &evidence(&[], Some(daemon_with(vec![container]))));
}

#[test]
fn exited_containers_and_other_failures_are_none() {
    quiet(
        &RULE,
        &evidence(&[], Some(daemon_with(vec![sandbox(ID, Some("exited"))]))),
    );
    let race = line(
        "03:38:10",
        &format!(
            "RemoveContainer \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = Error: No such container: {ID}"
        ),
    );
    quiet(&RULE, &evidence(&[race], None));
}

#[test]
fn a_removal_that_is_just_going_on_is_no_death() {
    quiet(
        &RULE,
        &evidence(&[], Some(daemon_with(vec![sandbox(ID, Some("removing"))]))),
    );
    let mut stuck = sandbox(ID, Some("removing"));
    if let Some(inspected) = &mut stuck.inspected {
        inspected.error = "device or resource busy".to_owned();
    }
    only(&RULE, &evidence(&[], Some(daemon_with(vec![stuck]))));
}

#[test]
fn a_removal_that_another_one_ended_is_no_failure() {
    let under_way = |time: &str| {
        line(
            time,
            &format!(
                "RemoveContainer \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = failed to remove container \"{ID}\": Error response from daemon: removal of container {ID} is already in progress"
            ),
        )
    };
    let mut lines = vec![under_way("03:38:10")];
    only(&RULE, &evidence(&lines, None));
    lines.push(ready("03:50:00"));
    quiet(&RULE, &evidence(&lines, None));
    // Where it is still under way minutes later it hangs.
    lines.insert(1, under_way("03:41:10"));
    only(&RULE, &evidence(&lines, None));
}

#[test]
fn a_removal_that_is_not_tried_again_is_over() {
    let lines = [remove_failed(ID), ready("03:50:00")];
    assert!(!only(&RULE, &evidence(&lines, None)).active);
}

/// A removal that fails for no reason that is known, each minute.
fn fails(from: &str, times: i32) -> Vec<String> {
    let tries = (0..times).map(|n| {
        let time = at(from) + chrono::TimeDelta::minutes(i64::from(n));
        line(
            &time.format("%H:%M:%S").to_string(),
            &format!("RemoveContainer \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = no luck"),
        )
    });
    tries.collect()
}

#[test]
fn a_removal_that_is_tried_for_hours_is_told_whatever_the_reason() {
    let found = only(&RULE, &evidence(&fails("03:00:00", 90), None));
    assert!(
        found
            .explanation
            .contains("tried 90 times (03:00:00 to 04:29:00, for 1h29m)"),
        "{}",
        found.explanation
    );
    quiet(&RULE, &evidence(&fails("03:00:00", 60), None));
}

#[test]
fn a_removal_that_failed_is_not_advised_again_before_a_look_at_its_reason() {
    let found = only(&RULE, &evidence(&[remove_failed(ID)], None));
    let commands: Vec<_> = found.remedies.iter().map(|it| &*it.command).collect();
    assert_eq!(
        commands[0],
        "grep -l -e b15929dfcea1 -e aa /proc/[0-9]*/mountinfo"
    );
    assert!(commands[1].starts_with("plegdoctor clean --dead"));
    let immutable = remove_failed(ID).replace(
        "aa/merged: device or resource busy",
        "bb/diff/x: operation not permitted",
    );
    let found = only(&RULE, &evidence(&[immutable], None));
    assert_eq!(
        found.remedies[0].command,
        "lsattr -R /var/lib/docker/overlay2/bb/diff | grep -e '-i-'"
    );
    let found = only(&RULE, &evidence(&[], Some(daemon_with(vec![dead()]))));
    let first = |word: &str| {
        let mut commands = found.remedies.iter().map(|it| &it.command);
        commands.position(|it| it.starts_with(word)).unwrap()
    };
    assert!(first("grep -l") < first("plegdoctor clean"));
}

#[test]
fn what_a_layers_name_says_goes_into_no_command_unless_it_is_a_name() {
    let hostile = remove_failed(ID).replace("overlay2/aa/", "overlay2/$(reboot)/");
    let found = only(&RULE, &evidence(&[hostile], None));
    assert_eq!(
        found.remedies[0].command,
        "grep -l -e b15929dfcea1 /proc/[0-9]*/mountinfo"
    );
}
