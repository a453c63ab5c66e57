//! The text, as it is read.

use super::*;
use crate::{
    finding::{outcome::Outcome, plan::Kind},
    io::probe::Probe,
    syntax::id::{ContainerId, PodName},
};
use chrono::{DateTime, TimeDelta};
use std::time::Duration;

fn now() -> Time {
    DateTime::parse_from_rfc3339("2026-11-30T12:00:00+08:00").unwrap()
}

fn target(digit: &str, role: ContainerKind, label: &str, state: &str, kind: Kind) -> Target {
    let pod = PodName::new("production-payments", "checkout-7f9c5d8b66-x2vqp");
    Target {
        id: ContainerId::parse(&digit.repeat(64)).unwrap(),
        name: format!(
            "k8s_{label}_checkout-7f9c5d8b66-x2vqp_production-payments_9b0e4a32-7fe5-45b4-b69e-1c76355b4249_0"
        ),
        label: Some(label.to_owned()),
        role,
        pod: (role != ContainerKind::Other).then_some(pod),
        uid: None,
        sandbox: None,
        kind,
        state: state.into(),
        created: Some(now() - TimeDelta::hours(30)),
        started: None,
        finished: Some(now() - TimeDelta::minutes(192)),
    }
}

fn example() -> Plan {
    Plan {
        targets: vec![
            target("a", ContainerKind::Container, "app", "exited", Kind::Exited),
            target("b", ContainerKind::Sandbox, "POD", "exited", Kind::Exited),
            Target {
                name: "backup\u{1b}[2J".to_owned(),
                finished: None,
                ..target("c", ContainerKind::Other, "x", "dead", Kind::Dead)
            },
        ],
        unseen: vec![Unseen {
            id: ContainerId::parse(&"d".repeat(64)).unwrap(),
            name: "k8s_db_db-0_prod_9b0e4a32-7fe5-45b4-b69e-1c76355b4249_0".to_owned(),
            pod: None,
            listed_state: "created".into(),
            probe: Probe {
                outcome: crate::io::probe::Outcome::TimedOut,
                took: Duration::from_secs(3),
                error: None,
            },
        }],
        spared: [
            ("1", Spared::LivePod),
            ("2", Spared::NoPod),
            ("3", Spared::LivePod),
        ]
        .map(|(digit, why)| (ContainerId::parse(&digit.repeat(64)).unwrap(), why))
        .into(),
    }
}

fn text(write: impl Fn(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    text
}

#[test]
fn the_plan_tells_what_goes_what_is_lost_and_what_stays() {
    let shown = text(|out| plan(&example(), now(), 80, out));
    assert_eq!(shown, include_str!("plan.txt"), "\n{shown}");
}

#[test]
fn on_a_narrow_terminal_ids_and_ages_stay_whole() {
    for width in [40, 60, 80] {
        let shown = text(|out| plan(&example(), now(), width, out));
        let ids = ["a", "b", "c", "d"].map(|digit| digit.repeat(12));
        let words = ids.iter().map(String::as_str);
        for word in words.chain(["3h12m", "30h", "(sandbox)", "--include-live-pods"]) {
            assert!(shown.contains(word), "{width} {word}:\n{shown}");
        }
    }
}

#[test]
fn an_empty_plan_says_so() {
    let shown = text(|out| plan(&Plan::default(), now(), 80, out));
    assert_eq!(shown, "Nothing to remove.\n");
}

#[test]
fn results_tell_each_container_the_reasons_and_the_sum() {
    let result = CleanResult {
        dry_run: false,
        plan: example(),
        outcomes: vec![
            Outcome::new(Status::Done),
            Outcome::because(Status::Planned, "not sent: interrupted"),
            Outcome::because(
                Status::Failed,
                "something is still mounted in /var/lib/docker/overlay2/3f/merged; another process holds that mount in its own mount namespace (Docker: container c: driver \"overlay2\" failed\u{7})",
            ),
        ],
        notes: vec!["stopped early: interrupted".to_owned()],
    };
    let shown = text(|out| results(&result, 80, out));
    assert_eq!(shown, include_str!("results.txt"), "\n{shown}");
}

#[test]
fn of_many_pods_the_first_are_named_and_the_rest_counted() {
    let mut many = Plan::default();
    for number in 10..30 {
        let mut it = target("a", ContainerKind::Container, "job", "exited", Kind::Exited);
        it.pod = Some(PodName::new("jobs", &format!("batch-{number}")));
        many.targets.push(it);
    }
    let shown = text(|out| plan(&many, now(), 80, out));
    assert!(shown.contains("jobs/batch-10, "), "{shown}");
    assert!(shown.contains("and 12 other pods."), "{shown}");
}
