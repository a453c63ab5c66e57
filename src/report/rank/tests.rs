//! Findings in, their order and roles out.

use super::*;
use crate::{
    finding::{Confidence, Subject, SubjectKind, Variant},
    kubelet::incident::{Peaks, Shape},
    syntax::{citation::Citation, time::Time},
};
use chrono::DateTime;
use std::collections::BTreeSet;

fn at(time: &str) -> Time {
    DateTime::parse_from_rfc3339(&format!("2026-11-30T{time}Z")).unwrap()
}

/// A finding of now.
fn finding(id: &'static str, severity: Severity) -> Finding {
    Finding {
        id,
        variant: Variant::Plain,
        title: String::new(),
        severity,
        confidence: Confidence::Suspected,
        active: true,
        explanation: String::new(),
        subjects: Vec::new(),
        citations: Vec::new(),
        remedies: Vec::new(),
        spans: Vec::new(),
    }
}

/// One that was, in that time.
fn over(id: &'static str, from: &str, to: &str) -> Finding {
    Finding {
        active: false,
        spans: vec![(at(from), at(to))],
        ..finding(id, Severity::Critical)
    }
}

fn about(finding: Finding, pid: u32) -> Finding {
    let subject = Subject {
        kind: SubjectKind::Process,
        id: None,
        name: None,
        pod: None,
        uid: None,
        pid: Some(pid),
    };
    Finding {
        subjects: vec![subject],
        ..finding
    }
}

fn ranked(mut findings: Vec<Finding>) -> Vec<(&'static str, Role)> {
    let roles = rank(&mut findings, &[]);
    findings.iter().map(|it| it.id).zip(roles).collect()
}

const CRITICAL: Severity = Severity::Critical;
const WARNING: Severity = Severity::Warning;

#[test]
fn what_is_behind_the_worst_is_the_cause_and_as_bad() {
    let mut findings = vec![
        finding("hung-container", CRITICAL),
        finding("network-storage", WARNING),
    ];
    assert_eq!(
        rank(&mut findings, &[]),
        [
            Role::Primary,
            Role::Consequence {
                of: "network-storage"
            }
        ]
    );
    assert_eq!(
        (findings[0].id, findings[0].severity),
        ("network-storage", CRITICAL)
    );
}

#[test]
fn the_last_of_a_chain_is_the_cause() {
    assert_eq!(
        ranked(vec![
            finding("hung-container", CRITICAL),
            finding("hung-runtime", CRITICAL),
            finding("frozen-daemon", CRITICAL),
            finding("network-storage", WARNING),
        ]),
        [
            ("network-storage", Role::Primary),
            (
                "frozen-daemon",
                Role::Consequence {
                    of: "network-storage"
                }
            ),
            (
                "hung-runtime",
                Role::Consequence {
                    of: "network-storage"
                }
            ),
            (
                "hung-container",
                Role::Consequence {
                    of: "network-storage"
                }
            ),
        ]
    );
}

#[test]
fn what_feeds_the_cause_stays_behind_it() {
    assert_eq!(
        ranked(vec![
            finding("memory-starved", WARNING),
            finding("dead-container", WARNING),
            finding("hung-runtime", CRITICAL),
        ]),
        [
            ("hung-runtime", Role::Primary),
            (
                "memory-starved",
                Role::Feeds {
                    what: "hung-runtime"
                }
            ),
            ("dead-container", Role::Separate),
        ]
    );
}

#[test]
fn a_leaked_mount_feeds_a_pile() {
    assert_eq!(
        ranked(vec![
            finding("container-pileup", CRITICAL),
            finding("busy-mount", WARNING),
            finding("dead-container", WARNING),
        ]),
        [
            ("container-pileup", Role::Primary),
            (
                "busy-mount",
                Role::Feeds {
                    what: "container-pileup"
                }
            ),
            (
                "dead-container",
                Role::Feeds {
                    what: "container-pileup"
                }
            ),
        ]
    );
}

#[test]
fn a_container_that_another_process_holds_has_its_own_cause() {
    let hung = about(finding("hung-container", CRITICAL), 7);
    let other = about(finding("network-storage", WARNING), 8);
    assert_eq!(
        ranked(vec![hung.clone(), other]),
        [
            ("hung-container", Role::Primary),
            ("network-storage", Role::Separate)
        ]
    );
    let same = about(finding("network-storage", WARNING), 7);
    assert_eq!(
        ranked(vec![hung, same])[0],
        ("network-storage", Role::Primary)
    );
}

#[test]
fn what_is_over_is_neither_behind_what_is_now_nor_fed_by_it() {
    assert_eq!(
        ranked(vec![
            finding("hung-container", CRITICAL),
            over("hung-runtime", "03:00:00", "03:10:00"),
        ]),
        [
            ("hung-container", Role::Primary),
            ("hung-runtime", Role::Separate)
        ]
    );
}

#[test]
fn what_is_over_belongs_together_if_it_was_at_one_time() {
    let runtime = over("hung-runtime", "03:00:00", "03:10:00");
    let near = over("hung-container", "03:05:00", "03:12:00");
    let far = over("hung-container", "05:00:00", "05:10:00");
    assert_eq!(
        ranked(vec![near, runtime.clone()])[1],
        ("hung-container", Role::Consequence { of: "hung-runtime" })
    );
    assert!(
        ranked(vec![far, runtime])
            .iter()
            .all(|(_, role)| !role.contributes())
    );
}

#[test]
fn what_follows_from_another_matter_is_told_as_such() {
    assert_eq!(
        ranked(vec![
            finding("list-too-large", CRITICAL),
            finding("cni-hang", WARNING),
            finding("hung-container", WARNING),
        ]),
        [
            ("list-too-large", Role::Primary),
            ("cni-hang", Role::Separate),
            ("hung-container", Role::Consequence { of: "cni-hang" }),
        ]
    );
}

#[test]
fn nothing_has_no_role() {
    assert_eq!(ranked(Vec::new()), []);
}

#[test]
fn what_is_only_worth_knowing_is_no_answer_where_something_was_wrong() {
    // Such a thing holds for as long as the node stands.
    let remark = finding("windows-node", Severity::Info);
    let was = over("hung-container", "03:35:00", "03:39:00");
    let (first, second) = (remark.clone(), was.clone());
    assert_eq!(
        ranked(vec![first, second]),
        [
            ("hung-container", Role::Primary),
            ("windows-node", Role::Separate)
        ]
    );
    // Nor does it come between what was wrong.
    let earlier = over("cni-hang", "01:00:00", "01:10:00");
    let ids = ranked(vec![remark.clone(), earlier, was]);
    let ids: Vec<_> = ids.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["hung-container", "cni-hang", "windows-node"]);
    assert_eq!(ranked(vec![remark]), [("windows-node", Role::Primary)]);
}

/// An outage that is over.
fn outage(start: &str, last_line: &str) -> Incident {
    let cited = Citation {
        source: "kubelet.log".into(),
        is_call: false,
        line: None,
        time: Some(at(last_line)),
        text: "PLEG is not healthy".into(),
    };
    Incident {
        start: at(start),
        end: Some(at(last_line)),
        ongoing: false,
        peak_lag: at(last_line) - at(start),
        threshold: None,
        shape: Shape::Single,
        lines: 3,
        rises: 1,
        peaks: Peaks::default(),
        never: false,
        samples: Vec::new(),
        first: cited.clone(),
        last: cited,
        last_line: at(last_line),
        list_errors: 0,
        status_deadlines: 0,
        culprits: BTreeSet::new(),
    }
}

/// The first of findings that are over, by each order in which rules may find two.
#[track_caller]
fn headline(one: &Finding, other: &Finding, outages: &[Incident]) -> &'static str {
    let first = |mut findings: Vec<Finding>| {
        rank(&mut findings, outages);
        findings[0].id
    };
    let id = first(vec![one.clone(), other.clone()]);
    assert_eq!(first(vec![other.clone(), one.clone()]), id);
    id
}

#[test]
fn a_start_that_hung_a_minute_ago_comes_before_an_outage_of_hours_ago() {
    let list = over("list-too-large", "02:00:00", "02:20:00");
    // Nobody called the node down for it, or a later line of the log does.
    let hung = Finding {
        severity: WARNING,
        ..over("hung-container", "05:00:00", "05:04:00")
    };
    let outages = [
        outage("02:00:00", "02:20:00"),
        outage("05:00:02", "05:04:00"),
    ];
    assert_eq!(headline(&list, &hung, &outages), "hung-container");
    assert_eq!(headline(&list, &hung, &outages[..1]), "hung-container");
    assert_eq!(headline(&list, &hung, &[]), "hung-container");
}

#[test]
fn of_two_outages_in_a_row_the_last_one_is_told_first() {
    // The second begins with the last relist that listed, right after the first.
    let list = over("list-too-large", "02:00:00", "02:20:00");
    let hung = Finding {
        severity: WARNING,
        ..over("hung-container", "02:22:30", "02:26:00")
    };
    let outages = [
        outage("02:00:00", "02:20:00"),
        outage("02:21:30", "02:26:00"),
    ];
    assert_eq!(headline(&list, &hung, &outages), "hung-container");
}

#[test]
fn what_lies_in_one_outage_is_told_by_its_weight() {
    // The list fails each second; a stop of minutes before ends later, by chance.
    let list = over("list-too-large", "02:00:00", "02:20:00");
    let hung = Finding {
        severity: WARNING,
        ..over("hung-container", "02:19:00", "02:21:00")
    };
    let outages = [outage("02:00:00", "02:20:30")];
    assert_eq!(headline(&list, &hung, &outages), "list-too-large");
    // … nor does it take an outage, where one trouble lasted as long as the other.
    assert_eq!(headline(&list, &hung, &[]), "list-too-large");
}

#[test]
fn what_explains_no_lag_is_no_headline_before_an_outage() {
    let hung = over("hung-container", "02:00:00", "02:20:00");
    let dead = Finding {
        severity: WARNING,
        ..over("dead-container", "05:00:00", "05:04:00")
    };
    let outages = [outage("02:00:00", "02:20:00")];
    assert_eq!(headline(&hung, &dead, &outages), "hung-container");
    // An outage that nothing explains is still the last one.
    let unexplained = over("pleg-unexplained", "04:00:00", "04:10:00");
    let outages = [
        outage("02:00:00", "02:20:00"),
        outage("04:00:00", "04:10:00"),
    ];
    assert_eq!(headline(&hung, &unexplained, &outages), "pleg-unexplained");
}

#[test]
fn an_old_trouble_that_came_again_is_of_the_last_time() {
    let mut list = over("list-too-large", "02:00:00", "02:20:00");
    list.spans.push((at("06:00:00"), at("06:01:00")));
    let hung = over("hung-container", "05:00:00", "05:04:00");
    let outages = [
        outage("02:00:00", "02:20:00"),
        outage("05:00:02", "05:04:00"),
    ];
    assert_eq!(headline(&list, &hung, &outages[1..]), "list-too-large");
}
