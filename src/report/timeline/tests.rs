//! Logs and kernels in, stories out.

use super::*;
use crate::{
    kubelet::summary::tests::digest,
    node::{Host, KernelLine},
};
use chrono::DateTime;

const DEADLINE: &str = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
const ID: &str = "16f838fe643819ed2ca4923d031dd51dedbd85704a59f965b86323a2b8cadf47";

fn at(time: &str) -> Time {
    DateTime::parse_from_rfc3339(&format!("2026-11-30T{time}Z")).unwrap()
}

fn line(time: &str, message: &str) -> String {
    format!("E1130 {time}.000000    2261 x.go:1] {message}")
}

fn exec(time: &str) -> String {
    line(
        time,
        &format!("ExecSync {ID} '/ready' from runtime service failed: {DEADLINE}"),
    )
}

fn list(time: &str) -> String {
    line(
        time,
        &format!("GenericPLEG: Unable to retrieve pods: {DEADLINE}"),
    )
}

fn stale(time: &str, lag: &str) -> String {
    line(
        time,
        &format!(
            "skipping pod synchronization - PLEG is not healthy: pleg was last seen active {lag} ago; threshold is 3m0s"
        ),
    )
}

fn evidence(lines: &[String]) -> Evidence {
    let log = digest(lines);
    Evidence {
        now: log.last.unwrap(),
        log: Some(log),
        runtime: None,
        host: None,
        kubelet: None,
        gaps: Vec::new(),
        notes: Vec::new(),
    }
}

fn told(moments: &[Moment]) -> Vec<(MomentKind, Time, u64)> {
    moments
        .iter()
        .map(|it| (it.what, it.at, it.count))
        .collect()
}

/// An outage from 08:00:00 on.
fn outage() -> Vec<String> {
    vec![
        list("08:02:00"),
        stale("08:03:01", "3m1s"),
        stale("08:03:06", "3m6s"),
        list("08:03:10"),
    ]
}

#[test]
fn warnings_of_hours_before_are_told_with_their_number() {
    let early = ["04:00:00", "04:05:00", "04:40:00", "07:50:00"].map(exec);
    let story = build(&evidence(&[&early[..], &outage()].concat())).remove(0);
    assert_eq!(
        told(&story),
        [
            (MomentKind::ExecTimeout, at("04:00:00"), 4),
            (MomentKind::LastRelist, at("08:00:00"), 1),
            (MomentKind::Timeout, at("08:02:00"), 2),
            (MomentKind::Stale, at("08:03:01"), 2),
        ]
    );
    assert_eq!(story[0].last, at("07:50:00"));
    assert_eq!(story[0].citation.as_ref().unwrap().line, Some(1));
}

#[test]
fn what_is_older_than_half_a_day_or_belongs_to_the_outage_before_is_left_out() {
    let story = |lines: &[String]| build(&evidence(lines));
    let day = |time: &str| exec(time).replace("1130", "1129");
    let old = story(&[&[day("19:00:00")][..], &outage()].concat()).remove(0);
    assert!(
        old.iter().all(|it| it.what != MomentKind::ExecTimeout),
        "{old:#?}"
    );
    let before = [
        exec("04:00:00"),
        stale("05:03:01", "3m1s"),
        line("05:04:00", "Recording NodeReady event message for node a"),
    ];
    let stories = story(&[&before[..], &[exec("07:00:00")], &outage()].concat());
    assert_eq!(stories.len(), 2);
    assert_eq!(
        told(&stories[0])[0],
        (MomentKind::ExecTimeout, at("04:00:00"), 1)
    );
    let (first, last) = (told(&stories[1])[0], told(&stories[0]));
    assert_eq!(first, (MomentKind::ExecTimeout, at("07:00:00"), 1));
    assert_eq!(
        last.last(),
        Some(&(MomentKind::Recovered, at("05:04:00"), 1))
    );
}

#[test]
fn the_kernels_lines_and_a_daemons_start_have_their_place() {
    let mut evidence = evidence(&outage());
    evidence.now = at("08:05:00");
    let said = |kind, minutes: u64| KernelLine {
        kind,
        ago: Some(Duration::from_secs(minutes * 60)),
        text: "words".to_owned(),
    };
    let mut daemon = crate::node::Process::new(
        (7, 1),
        "containerd",
        crate::node::Role::Containerd,
        crate::node::State::Sleeping,
    );
    daemon.age = Some(Duration::from_secs(20 * 60));
    evidence.host = Some(Host {
        root: "/".to_owned(),
        kernel_lines: vec![
            said(KernelKind::OutOfMemory, 30),
            said(KernelKind::OutOfMemory, 25),
            said(KernelKind::ContainerLimit, 24),
            said(KernelKind::HungTask, 4),
            // After the last stale line.
            said(KernelKind::HungTask, 1),
            // A day before.
            said(KernelKind::HungTask, 1500),
        ],
        processes: vec![daemon],
        ..Host::default()
    });
    let story = build(&evidence).remove(0);
    assert_eq!(
        told(&story)[..4],
        [
            (MomentKind::OutOfMemory, at("07:35:00"), 2),
            (MomentKind::DaemonStart, at("07:45:00"), 1),
            (MomentKind::LastRelist, at("08:00:00"), 1),
            (MomentKind::HungTask, at("08:01:00"), 1),
        ]
    );
    assert_eq!(story[1].detail.as_deref(), Some("containerd"));
}

#[test]
fn a_kubelet_that_starts_again_and_again_is_one_line() {
    let start = |time: &str| line(time, "Starting kubelet main sync loop.");
    let starts = ["06:00:00", "07:40:00", "07:50:00"].map(start);
    let story = build(&evidence(&[&starts[..], &outage()].concat())).remove(0);
    assert_eq!(
        told(&story)[0],
        (MomentKind::KubeletStart, at("07:40:00"), 2)
    );
}

#[test]
fn without_an_outage_there_is_no_story() {
    assert_eq!(
        build(&evidence(&[exec("05:00:00")])),
        Vec::<Vec<Moment>>::new()
    );
}
