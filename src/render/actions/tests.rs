//! What is said before a step, and of a record.

use super::*;
use crate::{
    finding::{
        Confidence,
        action::{RuntimeProcess, Unit},
        outcome::{Asked, Outcome},
    },
    syntax::id::ContainerId,
};
use chrono::DateTime;

const PLAIN: Style = Style {
    width: 80,
    color: false,
};

fn of(confidence: Confidence, risk: Risk, action: Action) -> Step {
    Step {
        finding: "hung-container",
        title: "Do it".to_owned(),
        confidence,
        risk,
        cost: "little".to_owned(),
        actions: vec![action],
    }
}

fn end() -> Action {
    Action::EndProcess(RuntimeProcess {
        pid: 4242,
        start_ticks: 7,
        command: vec!["runc".to_owned(), "\u{1b}[2J".to_owned(), "x".repeat(300)],
        container: ContainerId::parse(&"a".repeat(64)).unwrap(),
    })
}

fn shown(one: &Step) -> String {
    let mut out = Vec::new();
    step(one, Duration::from_secs(30), PLAIN, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_restart_tells_of_the_second_look_and_of_what_only_one_source_says() {
    let docker = || Action::RestartUnit { unit: Unit::Docker };
    let sure = shown(&of(Confidence::Confirmed, Risk::Node, docker()));
    assert!(
        sure.contains("first: a second check, at least 30.0s after"),
        "{sure}"
    );
    assert!(!sure.contains("suspected"), "{sure}");
    let guess = shown(&of(Confidence::Suspected, Risk::Node, docker()));
    assert!(guess.contains("hung-container (only suspected)"), "{guess}");
    assert!(
        guess.lines().all(|line| line.chars().count() <= 80),
        "{guess}"
    );
}

#[test]
fn a_process_is_shown_whole_before_and_in_a_line_after_and_its_words_reach_no_terminal() {
    let step = of(Confidence::Suspected, Risk::Disruptive, end());
    let before = shown(&step);
    assert!(before.contains(&"x".repeat(300)), "{before}");
    assert!(before.contains("first: another inspect"), "{before}");
    let at = DateTime::parse_from_rfc3339("2026-11-30T12:00:00Z").unwrap();
    let outcome = Outcome::new(Status::Declined);
    let record = step.record(&step.actions[0], Asked::User, (at, at), outcome);
    let mut out = Vec::new();
    one(&record, &|text, _| text.to_owned(), PLAIN, &mut out).unwrap();
    let after = String::from_utf8(out).unwrap();
    assert!(after.contains("kill PID 4242, which blocks container aaaaaaaaaaaa"));
    assert!(
        after.lines().all(|line| line.chars().count() <= 80),
        "{after}"
    );
    assert!(!before.contains('\u{1b}') && !after.contains('\u{1b}'));
}
