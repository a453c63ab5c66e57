//! Lines as the kubelet writes them in, groups, names and signs out.

use super::*;
use crate::parser::{Hints, Parser, Told};
use chrono::DateTime;

const ID: &str = "16f838fe643819ed2ca4923d031dd51dedbd85704a59f965b86323a2b8cadf47";
const POD: &str = "payments-db-node-1_prod(de17858b93b5459e01e9992c835cd6a8)";
const DEADLINE: &str = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";

fn at(time: &str) -> Time {
    DateTime::parse_from_rfc3339(&format!("2026-11-30T{time}Z")).unwrap()
}

/// The events of these lines, read in the evening of the day, and what the parser told of them.
pub(crate) fn parsed(lines: &[String]) -> (Vec<Event>, Told) {
    let hints = Hints {
        now: at("23:00:00"),
        utc_offset: None,
    };
    let mut parser = Parser::new("kubelet.log", hints);
    let mut events = Vec::new();
    for line in lines {
        parser.line(line.as_bytes(), &mut events);
    }
    parser.finish(&mut events);
    (events, parser.told().clone())
}

/// What these lines tell.
pub(crate) fn digest(lines: &[String]) -> Log {
    let (events, told) = parsed(lines);
    let mut digest = Digest::default();
    events.into_iter().for_each(|event| digest.observe(event));
    let source = Source {
        name: "kubelet.log".to_owned(),
        bytes: 0,
        lines: told.lines,
        of_kubelet: told.of_kubelet,
        first: told.first,
        last: told.last,
        guessed_times: told.guessed_times,
        picked: false,
    };
    digest.finish(vec![source], None)
}

fn line(time: &str, message: &str) -> String {
    format!("E1130 {time}.000000    2261 x.go:1] {message}")
}

fn id() -> ContainerId {
    ContainerId::parse(ID).unwrap()
}

#[test]
fn a_container_gets_its_pod_from_the_line_behind_it() {
    let log = digest(&[
        line(
            "03:25:00",
            &format!("ContainerStatus \"{ID}\" from runtime service failed: {DEADLINE}"),
        ),
        line(
            "03:25:00",
            &format!("getPodContainerStatuses for pod \"{POD}\" failed: {DEADLINE}"),
        ),
    ]);
    let (pod, uid) = log.pod_of(&id()).unwrap();
    assert_eq!(pod.to_string(), "prod/payments-db-node-1");
    assert_eq!(uid.unwrap().as_str(), "de17858b93b5459e01e9992c835cd6a8");
    let group = log.of(&[Kind::ContainerStatusFailed]).next().unwrap();
    assert_eq!(
        &*group.first.pod.as_ref().unwrap().name,
        "payments-db-node-1"
    );
}

#[test]
fn a_line_much_later_is_no_neighbour() {
    let log = digest(&[
        line(
            "03:25:00",
            &format!("ContainerStatus \"{ID}\" from runtime service failed: {DEADLINE}"),
        ),
        line(
            "03:25:09",
            &format!("getPodContainerStatuses for pod \"{POD}\" failed: {DEADLINE}"),
        ),
    ]);
    assert_eq!(log.pod_of(&id()), None);
}

#[test]
fn an_id_cut_short_finds_its_pod() {
    let log = digest(&[line(
        "03:25:00",
        &format!("PodSandboxStatus of sandbox \"{ID}\" for pod \"{POD}\" error: {DEADLINE}"),
    )]);
    for short in [&ID[..12], &ID[..13], ID] {
        let found = log.pod_of(&ContainerId::parse(short).unwrap());
        assert_eq!(&*found.unwrap().0.namespace, "prod", "{short}");
    }
    assert_eq!(
        log.pod_of(&ContainerId::parse("16f838fe6439").unwrap()),
        None
    );
}

#[test]
fn equal_messages_about_the_same_thing_are_one_group() {
    let message = format!("StopPodSandbox \"{ID}\" from runtime service failed: {DEADLINE}");
    let lines: Vec<_> = (10..60)
        .map(|s| line(&format!("03:25:{s}"), &message))
        .collect();
    let log = digest(&lines);
    assert_eq!(log.groups.len(), 1);
    assert_eq!(log.groups[0].count, 50);
    assert_eq!(log.groups[0].first.citation.line, Some(1));
    assert_eq!(log.groups[0].last.citation.line, Some(50));
    assert_eq!(log.counts["stop-sandbox-failed"], 50);
}

#[test]
fn the_calls_that_a_relist_waits_for_are_suspected_first() {
    let other = "b15929dfcea116df995b79d3dec656be07e9652f4685064f9d27cfc0b7d857b0";
    let log = digest(&[
        line(
            "03:25:00",
            &format!("StopPodSandbox \"{other}\" from runtime service failed: {DEADLINE}"),
        ),
        line(
            "03:24:00",
            &format!("ContainerStatus \"{ID}\" from runtime service failed: {DEADLINE}"),
        ),
    ]);
    let suspects: Vec<_> = log
        .suspects()
        .iter()
        .map(|id| id.short().to_owned())
        .collect();
    assert_eq!(suspects, ["16f838fe6438", "b15929dfcea1"]);
}

#[test]
fn readiness_after_the_last_trouble_tells_since_when_all_is_well() {
    let ready = |time: &str| {
        format!(
            "I1130 {time}.000000    2261 kubelet_node_status.go:531] Recording NodeReady event message for node worker-3"
        )
    };
    let trouble = line(
        "03:25:00",
        &format!("GenericPLEG: Unable to retrieve pods: {DEADLINE}"),
    );
    let log = digest(&[
        ready("03:20:00"),
        trouble.clone(),
        ready("03:26:00"),
        ready("03:40:00"),
    ]);
    assert_eq!(log.well_since, Some(at("03:26:00")));
    assert_eq!(log.node.as_deref(), Some("worker-3"));
    assert!(log.recovery_after(at("03:25:00")).is_some());
    let log = digest(&[ready("03:20:00"), trouble]);
    assert_eq!(log.well_since, None);
    assert!(log.recovery_after(at("03:25:00")).is_none());
}

#[test]
fn what_finds_no_room_is_counted() {
    let lines: Vec<_> = (0..9000)
        .map(|n| {
            line(
                "03:25:00",
                &format!("StopPodSandbox \"{n:064x}\" from runtime service failed: {DEADLINE}"),
            )
        })
        .collect();
    let log = digest(&lines);
    assert_eq!(log.groups.len(), 4096);
    assert_eq!(log.dropped, 9000 - 4096);
    assert_eq!(log.counts["stop-sandbox-failed"], 9000);
}
