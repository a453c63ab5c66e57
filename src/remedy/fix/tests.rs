//! The order of the steps, what is left out, and what is next.

use super::*;
use crate::{
    finding::{
        Confidence, Remedy, Severity, Variant,
        action::{RuntimeProcess, Unit},
    },
    kubelet::Metrics,
    node::Host,
    report,
    syntax::id::ContainerId,
};
use chrono::{DateTime, TimeDelta};

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
        variant: Variant::Plain,
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

/// What was seen of this machine, on which nothing is wrong.
fn evidence() -> Evidence {
    Evidence {
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
    }
}

/// A report of this machine with these findings.
fn report(findings: Vec<Finding>) -> Report {
    Report {
        findings,
        ..report::diagnose(&evidence())
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
    let seen = at + TimeDelta::milliseconds(1400);
    let mut done = Outcome {
        at: Some(at),
        proof: Some("it answered".to_owned()),
        ..Outcome::new(Status::Done)
    };
    done.note_relist((seen, "log"));
    let proof = done.proof.unwrap();
    assert!(
        proof.starts_with("it answered; the kubelet's log shows the relist active"),
        "{proof}"
    );
    assert!(proof.contains("1.4s later"), "{proof}");
    let mut earlier = Outcome {
        at: Some(seen + TimeDelta::milliseconds(1)),
        ..Outcome::new(Status::Done)
    };
    earlier.note_relist((seen, "log"));
    assert_eq!(earlier.proof, None);
    let mut declined = Outcome::new(Status::Declined);
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

fn confirmed(finding: Finding) -> Finding {
    Finding {
        confidence: Confidence::Confirmed,
        ..finding
    }
}

fn restart(unit: Unit) -> Remedy {
    remedy(Risk::Node, &[Action::RestartUnit { unit }])
}

#[test]
fn of_restarts_the_mildest_comes_first_and_each_counts_as_sure_as_the_surest_finding() {
    let report = report(vec![
        finding("hung-runtime", vec![restart(Unit::Docker)]),
        confirmed(finding(
            "hung-container",
            vec![restart(Unit::Docker), restart(Unit::Containerd)],
        )),
        finding(
            "systemd-unresponsive",
            vec![remedy(Risk::Node, &[Action::ReexecSystemd])],
        ),
    ]);
    let told = |step: &Step| (step.actions[0].describe(), step.finding, step.is_guess());
    let told: Vec<_> = steps(&report).iter().map(told).collect();
    let words: Vec<_> = told.iter().map(|(words, ..)| words.as_str()).collect();
    assert_eq!(
        words,
        [
            "re-execute systemd (daemon-reexec)",
            "restart containerd.service",
            "restart docker.service"
        ]
    );
    let sure: Vec<_> = told.iter().map(|(_, by, guess)| (*by, *guess)).collect();
    assert_eq!(
        sure,
        [
            ("systemd-unresponsive", true),
            ("hung-container", false),
            ("hung-container", false)
        ]
    );
}

#[test]
fn what_sees_for_itself_whether_it_fits_is_no_guess() {
    let report = report(vec![finding(
        "hung-container",
        vec![
            remedy(Risk::Safe, &[remove("b")]),
            remedy(Risk::Disruptive, &[end(9)]),
        ],
    )]);
    assert!(steps(&report).iter().all(|step| !step.is_guess()));
}

#[test]
fn what_is_only_told_of_is_not_acted_on() {
    let told = Finding {
        severity: Severity::Info,
        ..finding("container-pileup", vec![remedy(Risk::Safe, &[remove("b")])])
    };
    assert!(steps(&report(vec![told])).is_empty());
}

#[test]
fn a_restart_is_done_only_if_a_second_look_asks_for_it_as_surely() {
    let sure = || confirmed(finding("hung-runtime", vec![restart(Unit::Docker)]));
    let unsure = || finding("hung-container", vec![restart(Unit::Docker)]);
    let step = |finding| steps(&report(vec![finding])).remove(0);
    let (certain, guess) = (step(sure()), step(unsure()));
    assert_eq!(
        still(&report(vec![sure()]), &certain),
        Some(certain.clone())
    );
    assert_eq!(still(&report(vec![unsure()]), &certain), None);
    assert_eq!(still(&report(vec![unsure()]), &guess), Some(guess.clone()));
    assert_eq!(still(&report(vec![]), &guess), None);
    let over = Finding {
        active: false,
        ..sure()
    };
    assert_eq!(still(&report(vec![over]), &certain), None);
    let two = Step {
        actions: vec![end(9), RESTART],
        ..certain
    };
    let left = still(&report(vec![sure()]), &two).unwrap();
    assert_eq!(left.actions, [RESTART]);
}

#[test]
fn a_restart_waits_whether_the_one_before_it_was_enough() {
    let report = report(vec![finding(
        "hung-runtime",
        vec![
            remedy(Risk::Disruptive, &[end(9)]),
            remedy(Risk::Disruptive, &[end(8)]),
            restart(Unit::Containerd),
            restart(Unit::Docker),
        ],
    )]);
    let [first, second, containerd, docker] = &steps(&report)[..] else {
        panic!("four steps");
    };
    assert!(second.is_as_mild_as(first));
    assert!(!containerd.is_as_mild_as(second));
    assert!(!docker.is_as_mild_as(containerd));
}

#[test]
fn a_removal_that_failed_is_tried_again_once_a_mount_was_detached() {
    let mount = Action::DetachMount {
        path: "/d/merged".to_owned(),
        mount: 12,
        namespace: 4,
        pid: 7,
        start_ticks: 1,
    };
    let step = steps(&report(vec![finding(
        "dead-container",
        vec![remedy(Risk::Safe, &[remove("b")])],
    )]))
    .remove(0);
    let record = |action: &Action, status| {
        let outcome = Outcome::new(status);
        step.record(action, Asked::Option, (now(), now()), outcome)
    };
    let before = [
        record(&remove("b"), Status::Failed),
        record(&remove("c"), Status::Declined),
        record(&mount, Status::Changed),
    ];
    assert_eq!(
        again(&[record(&mount, Status::Done)], &before),
        [remove("b")]
    );
    for status in [Status::Failed, Status::Unproven, Status::Changed] {
        assert!(again(&[record(&mount, status)], &before).is_empty());
    }
    assert!(again(&[record(&end(9), Status::Done)], &before).is_empty());
}

#[test]
fn a_relist_that_is_a_moment_old_does_not_stand_still() {
    let seen = |seconds, evented| Evidence {
        kubelet: Some(Kubelet {
            asked_at: now(),
            source: None,
            metrics: Some(Metrics {
                last_seen: Some(Seen::At(now() - TimeDelta::seconds(seconds))),
                evented,
                ..Metrics::default()
            }),
            health: Vec::new(),
        }),
        ..evidence()
    };
    assert!(!relist_stood(&evidence()), "nobody tells");
    for (seconds, evented, stood) in [
        (2, false, false),
        (200, false, true),
        (200, true, false),
        (400, true, true),
    ] {
        assert_eq!(relist_stood(&seen(seconds, evented)), stood, "{seconds}");
    }
}
