//! The order of the steps, what is left out, and what is next.

use super::*;
use crate::{
    action::{RuntimeProcess, Unit},
    evidence::Evidence,
    finding::{Confidence, Remedy, Severity},
    id::ContainerId,
    node::Host,
    report,
};
use chrono::DateTime;

fn now() -> Time {
    DateTime::parse_from_rfc3339("2026-11-30T12:00:00Z").unwrap()
}

fn id(digit: &str) -> ContainerId {
    ContainerId::parse(&digit.repeat(64)).unwrap()
}

fn remove(digit: &str) -> Action {
    Action::RemoveContainer { id: id(digit) }
}

fn end(pid: u32) -> Action {
    Action::EndProcess(RuntimeProcess {
        pid,
        start_ticks: 7,
        command: vec!["runc".to_owned()],
        container: id("a"),
    })
}

const RESTART: Action = Action::RestartUnit { unit: Unit::Docker };

fn remedy(risk: Risk, actions: &[Action]) -> Remedy {
    Remedy {
        title: format!("{risk:?}"),
        risk,
        command: "true".to_owned(),
        cost: "nothing".to_owned(),
        actions: actions.to_vec(),
    }
}

fn finding(id: &'static str, remedies: Vec<Remedy>) -> Finding {
    Finding {
        id,
        title: id.to_owned(),
        severity: Severity::Warning,
        confidence: Confidence::Suspected,
        active: true,
        explanation: String::new(),
        subjects: Vec::new(),
        citations: Vec::new(),
        remedies,
        spans: Vec::new(),
    }
}

/// A report of this machine with these findings.
fn report(findings: Vec<Finding>) -> Report {
    let evidence = Evidence {
        now: now(),
        log: None,
        runtime: None,
        host: Some(Host {
            root: "/".to_owned(),
            ..Host::default()
        }),
        kubelet: None,
        gaps: Vec::new(),
        notes: Vec::new(),
    };
    Report {
        findings,
        ..report::diagnose(&evidence)
    }
}

fn actions(report: &Report) -> Vec<Vec<Action>> {
    steps(report).into_iter().map(|step| step.actions).collect()
}

#[test]
fn the_mildest_comes_first_then_the_more_decisive_rule_and_each_action_once() {
    let report = report(vec![
        finding(
            "hung-container",
            vec![
                remedy(Risk::Safe, &[]),
                remedy(Risk::Disruptive, &[end(9), end(8)]),
                remedy(Risk::Node, &[RESTART]),
            ],
        ),
        finding("dead-container", vec![remedy(Risk::Safe, &[remove("b")])]),
        finding(
            "container-pileup",
            vec![remedy(Risk::Safe, &[remove("b"), remove("c")])],
        ),
        finding("hung-runtime", vec![remedy(Risk::Node, &[RESTART])]),
    ]);
    assert_eq!(
        actions(&report),
        [
            vec![remove("b"), remove("c")],
            vec![end(9), end(8)],
            vec![RESTART],
        ]
    );
    let by = |step: &Step| step.finding;
    let found: Vec<_> = steps(&report).iter().map(by).collect();
    assert_eq!(
        found,
        ["container-pileup", "hung-container", "hung-runtime"]
    );
}

#[test]
fn what_is_over_has_no_step() {
    let over = Finding {
        active: false,
        ..finding("hung-container", vec![remedy(Risk::Node, &[RESTART])])
    };
    assert!(steps(&report(vec![over])).is_empty());
}

#[test]
fn another_machines_processes_and_units_are_never_touched() {
    let mut report = report(vec![finding(
        "hung-container",
        vec![
            remedy(Risk::Safe, &[remove("b")]),
            remedy(Risk::Node, &[RESTART, end(9)]),
        ],
    )]);
    for host in [
        None,
        Some(Host {
            root: "/mnt/other".to_owned(),
            ..Host::default()
        }),
    ] {
        report.host = host;
        assert_eq!(actions(&report), [vec![remove("b")]]);
    }
}

#[test]
fn what_is_settled_is_not_next_again() {
    let report = report(vec![finding(
        "hung-container",
        vec![
            remedy(Risk::Disruptive, &[end(9), end(8)]),
            remedy(Risk::Node, &[RESTART]),
        ],
    )]);
    let mut settled = BTreeSet::from([end(9)]);
    let step = next(&report, &settled).unwrap();
    assert_eq!(step.actions, [end(8)]);
    settled.insert(end(8));
    let step = next(&report, &settled).unwrap();
    assert_eq!((step.risk, step.actions), (Risk::Node, vec![RESTART]));
    settled.insert(RESTART);
    assert_eq!(next(&report, &settled), None);
}

#[test]
fn a_relist_that_is_seen_adds_to_the_proof_of_what_was_done_alone() {
    let at = now();
    let seen = at + chrono::TimeDelta::milliseconds(1400);
    let mut done = Ending {
        at: Some(at),
        proof: Some("it answered".to_owned()),
        ..Ending::not_done(Fate::Done, None)
    };
    done.note_relist((seen, "log"));
    let proof = done.proof.unwrap();
    assert!(
        proof.starts_with("it answered; by the kubelet's log its relist"),
        "{proof}"
    );
    assert!(proof.contains("1.4s after"), "{proof}");
    let mut declined = Ending::not_done(Fate::Declined, None);
    declined.note_relist((seen, "log"));
    assert_eq!(declined.proof, None);
}

#[test]
fn runtime_processes_that_come_again_and_again_are_not_ended_for_ever() {
    let again = |pid: u32| {
        let remedy = remedy(Risk::Disruptive, &[end(pid)]);
        report(vec![finding("hung-container", vec![remedy])])
    };
    let mut settled = BTreeSet::new();
    for pid in 1..=3 {
        let step = next(&again(pid), &settled).unwrap();
        settled.extend(step.actions);
    }
    assert_eq!(next(&again(4), &settled), None);
}
