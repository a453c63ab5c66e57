//! Lines as the kubelet writes them in, groups, names and signs out.

use super::*;
use crate::kubelet::parser::{Hints, Parser, SourceInfo};
use chrono::DateTime;

const ID: &str = "16f838fe643819ed2ca4923d031dd51dedbd85704a59f965b86323a2b8cadf47";
const POD: &str = "payments-db-node-1_prod(de17858b93b5459e01e9992c835cd6a8)";
const DEADLINE: &str = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";

fn at(time: &str) -> Time {
    DateTime::parse_from_rfc3339(&format!("2026-11-30T{time}Z")).unwrap()
}

/// The events of these lines, read in the evening of the day, and what the parser told of them.
pub(crate) fn parsed(lines: &[String]) -> (Vec<Event>, SourceInfo) {
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
    (events, parser.source_info().clone())
}

/// What these lines tell.
pub(crate) fn digest(lines: &[String]) -> Log {
    let (events, told) = parsed(lines);
    let mut digest = LogSummary::default();
    events.into_iter().for_each(|event| digest.observe(event));
    let source = Source {
        name: "kubelet.log".to_owned(),
        bytes: 0,
        lines: told.lines,
        of_kubelet: told.of_kubelet,
        program: told.program,
        first: told.first,
        last: told.last,
        guessed_times: told.guessed_times,
        picked: false,
        extract: false,
    };
    digest.finish(vec![source], None)
}

fn line(time: &str, message: &str) -> String {
    format!("E1130 {time}.000000    2261 x.go:1] {message}")
}

fn id() -> ContainerId {
    ContainerId::parse(ID).unwrap()
}

const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";
const OTHER: &str = "74a457c34b3abc731b76516a1517c0dd255898f8cbfe2dac291cc2352a743ca6";

fn at_millis(time: &str, message: &str) -> String {
    format!("E1130 {time}    2261 x.go:1] {message}")
}

fn sync_error(time: &str, what: &str) -> String {
    at_millis(
        time,
        &format!("Error syncing pod {UID} (\"web-2_default({UID})\"), skipping: {what}"),
    )
}

fn named(lines: &[String]) -> Option<String> {
    digest(lines).pod_of(&id()).map(|(pod, _)| pod.to_string())
}

#[test]
fn what_fails_to_start_or_stop_gets_its_pod_from_the_sync_error_behind_it() {
    for (call, what) in [
        (
            "StartContainer",
            "failed to \"StartContainer\" for \"app\" with RunContainerError: \"context deadline exceeded\"",
        ),
        (
            "StopContainer",
            "error killing pod: failed to \"KillContainer\" for \"app\" with KillContainerError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"",
        ),
        (
            "StopPodSandbox",
            "error killing pod: failed to \"KillPodSandbox\" for \"9b0e4a32-7fe5-45b4-b69e-1c76355b4249\" with KillPodSandboxError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"",
        ),
    ] {
        let failed = |time: &str, id: &str| {
            at_millis(
                time,
                &format!("{call} \"{id}\" from runtime service failed: {DEADLINE}"),
            )
        };
        let own = failed("03:35:50.248519", ID);
        let told = [own.clone(), sync_error("03:35:50.249265", what)];
        assert_eq!(named(&told).as_deref(), Some("default/web-2"), "{call}");
        // A while later it is another try's, or another pod's.
        assert_eq!(
            named(&[own.clone(), sync_error("03:35:50.349265", what)]),
            None
        );
        // Two at one time: of which of them the line is, nobody knows.
        let two = [
            failed("03:35:50.248400", OTHER),
            own.clone(),
            sync_error("03:35:50.249265", what),
        ];
        assert_eq!(named(&two), None);
        // A pod that waits before it tries again says so at any time.
        let waits = "failed to \"StartContainer\" for \"x\" with CrashLoopBackOff: \"back-off 5m0s restarting failed container\"";
        assert_eq!(named(&[own, sync_error("03:35:50.249265", waits)]), None);
    }
}

#[test]
fn a_pod_that_is_known_is_not_named_by_a_neighbour() {
    let event = format!(
        "SyncLoop (PLEG): \"{POD}\", event: &pleg.PodLifecycleEvent{{ID:\"de17858b93b5459e01e9992c835cd6a8\", Type:\"ContainerStarted\", Data:\"{ID}\"}}"
    );
    let trouble = at_millis(
        "03:00:00.000000",
        &format!("GenericPLEG: Unable to retrieve pods: {DEADLINE}"),
    );
    let failed = at_millis(
        "03:05:50.248519",
        &format!("StartContainer \"{ID}\" from runtime service failed: {DEADLINE}"),
    );
    let what = "failed to \"StartContainer\" for \"app\" with RunContainerError: \"context deadline exceeded\"";
    let lines = [
        trouble,
        at_millis("03:00:01.000000", &event),
        failed,
        sync_error("03:05:50.249265", what),
    ];
    assert_eq!(named(&lines).as_deref(), Some("prod/payments-db-node-1"));
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

/// A stop that timed out, of the container with that number.
fn stop_timed_out(n: u64) -> String {
    line(
        "03:25:00",
        &format!("StopPodSandbox \"{n:064x}\" from runtime service failed: {DEADLINE}"),
    )
}

#[test]
fn what_finds_no_room_is_the_earlier_and_counted() {
    let lines: Vec<_> = (0..9000).map(stop_timed_out).collect();
    let log = digest(&lines);
    assert!((MAX_GROUPS / 2..=MAX_GROUPS).contains(&log.groups.len()));
    assert_eq!(log.dropped, 9000 - log.groups.len() as u64);
    assert_eq!(log.counts["stop-sandbox-failed"], 9000);
    let last = log.groups.last().unwrap();
    assert_eq!(last.first.citation.line, Some(9000));
}

#[test]
fn what_a_healthy_node_repeats_crowds_no_cause_out() {
    let gone = |n: u64| {
        line(
            "03:30:00",
            &format!(
                "ContainerStatus \"{n:064x}\" from runtime service failed: rpc error: code = NotFound desc = x"
            ),
        )
    };
    let lines: Vec<_> = std::iter::once(stop_timed_out(7))
        .chain((100..9000).map(gone))
        .chain([stop_timed_out(8)])
        .collect();
    let log = digest(&lines);
    let timed_out = log.failed(&[Kind::StopSandboxFailed], ErrorClass::Deadline);
    let lines: Vec<_> = timed_out.map(|group| group.first.citation.line).collect();
    assert_eq!(lines, [Some(1), Some(8902)]);
    assert_eq!(log.dropped + log.groups.len() as u64, 8902);
}

#[test]
fn a_story_that_ends_again_and_again_keeps_its_latest() {
    let lines: Vec<_> = (0..900)
        .map(|n| {
            format!(
                "E11{:02} {:02}:{:02}:00.000000    2261 x.go:1] Failed cleaning pods: x",
                1 + n / 72,
                n % 72 / 3,
                n % 3 * 20
            )
        })
        .collect();
    let log = digest(&lines);
    assert_eq!(log.groups.len(), MAX_ENDED + 1);
    assert_eq!(log.dropped, 900 - (MAX_ENDED as u64 + 1));
    assert_eq!(log.groups[0].first.citation.line, Some(388));
}

#[test]
fn of_several_pods_of_one_name_the_removal_is_that_of_the_time_or_of_the_uid() {
    let uid = |n: u8| format!("de17858b-93b5-459e-01e9-00000000000{n}");
    let old = |time: &str, word: &str, n: u8| {
        line(
            time,
            &format!("SyncLoop ({word}, \"api\"): \"web-0_default({})\"", uid(n)),
        )
    };
    let new = |time: &str, word: &str| {
        line(
            time,
            &format!("\"SyncLoop {word}\" source=\"api\" pods=[\"default/web-0\"]"),
        )
    };
    let with_uids = [
        old("02:00:00", "DELETE", 1),
        old("02:00:30", "REMOVE", 1),
        old("05:00:00", "DELETE", 2),
        old("05:00:09", "DELETE", 2),
    ];
    // Newer kubelets name the pod alone.
    let without = [
        new("02:00:00", "DELETE"),
        new("02:00:20", "DELETE"),
        new("02:00:30", "REMOVE"),
        new("05:00:00", "DELETE"),
    ];
    let pod = PodName::new("default", "web-0");
    let at = |time: &str| crate::syntax::time::rfc3339(format!("2026-11-30T{time}Z").as_bytes());
    for (lines, name) in [(&with_uids, "with"), (&without, "without")] {
        let log = digest(lines);
        let of = |time: &str, uid: Option<&PodUid>| {
            let Some((crate::syntax::time::Stamp::Exact(moment), _)) = at(time) else {
                unreachable!("that is a time");
            };
            let removal = log.deletion_of(Some(&pod), uid, Some(moment));
            removal.map(|event| event.at.unwrap().format("%H:%M:%S").to_string())
        };
        let told = |time: &str| of(time, None).unwrap();
        assert_eq!(told("05:02:00"), "05:00:00", "{name}");
        assert_eq!(told("03:00:00"), "02:00:00", "{name}");
        assert_eq!(told("01:00:00"), "02:00:00", "{name}");
        let second = PodUid::parse(&uid(2)).unwrap();
        let expected = match name {
            "with" => "05:00:00",
            _ => "02:00:00",
        };
        assert_eq!(
            of("03:00:00", Some(&second)).as_deref(),
            Some(expected),
            "{name}"
        );
        // Of a third one the log with UIDs knows nothing.
        let third = PodUid::parse(&uid(3)).unwrap();
        assert_eq!(of("05:02:00", Some(&third)).is_none(), name == "with");
    }
}

#[test]
fn the_latest_names_and_removals_are_remembered_however_many_there_were() {
    let most = (MAX_NAMES + MAX_NAMES / 4) as u64;
    let lines: Vec<_> = (0..most)
        .flat_map(|n| {
            [
                line(
                    "03:25:00",
                    &format!("ContainerStatus \"{n:064x}\" from runtime service failed: {DEADLINE}"),
                ),
                line(
                    "03:25:00",
                    &format!("getPodContainerStatuses for pod \"web-{n}_default\" failed: {DEADLINE}"),
                ),
                line(
                    "03:25:00",
                    &format!("SyncLoop (DELETE, \"api\"): \"web-{n}_default(de17858b-93b5-459e-01e9-{n:012x})\""),
                ),
            ]
        })
        .collect();
    let log = digest(&lines);
    let id = |n: u64| ContainerId::parse(&format!("{n:064x}")).unwrap();
    let name = log.pod_of(&id(most - 1)).map(|(pod, _)| pod.to_string());
    assert_eq!(name, Some(format!("default/web-{}", most - 1)));
    assert_eq!(log.pod_of(&id(0)), None);
    let uid = PodUid::parse(&format!("de17858b-93b5-459e-01e9-{:012x}", most - 1)).unwrap();
    assert!(log.deletion_of(None, Some(&uid), None).is_some());
    assert!(log.pod_named(&uid).is_some());
    let pod_deletions = most - pod_deletions::MAX_DELETIONS as u64;
    assert_eq!(log.forgotten, pod_deletions + MAX_NAMES as u64);
}
