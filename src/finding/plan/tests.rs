//! What is planned and what is spared.

use super::*;
use chrono::DateTime;
use std::time::Duration;

/// The moment of all tests here.
pub(super) fn now() -> Time {
    DateTime::parse_from_rfc3339("2026-11-30T12:00:00+08:00").unwrap()
}

/// A container of no pod in `state`, an hour old; its id is `digit` 64 times.
pub(super) fn container(digit: &str, state: &str) -> Container {
    let hour_ago = Some(now() - TimeDelta::hours(1));
    let running = matches!(state, "running" | "paused" | "restarting");
    Container {
        id: id(digit),
        name: format!("job-{digit}"),
        kind: ContainerKind::Other,
        pod: None,
        uid: None,
        sandbox: None,
        labels: BTreeMap::new(),
        created: hour_ago,
        listed_state: state.into(),
        listed_status: String::new(),
        inspected: Some(Inspected {
            state: state.into(),
            running,
            error: String::new(),
            started: hour_ago.filter(|_| state != "created"),
            finished: hour_ago.filter(|_| matches!(state, "exited" | "dead" | "removing")),
            exit_code: 0,
            ..Inspected::default()
        }),
        probe: probe(probe::Outcome::Answered),
        disk: None,
    }
}

fn id(digit: &str) -> ContainerId {
    ContainerId::parse(&digit.repeat(64)).unwrap()
}

fn probe(outcome: probe::Outcome) -> Probe {
    Probe {
        outcome,
        took: Duration::from_millis(1),
        error: None,
    }
}

fn unanswered(mut container: Container, outcome: probe::Outcome) -> Container {
    container.inspected = None;
    container.probe = probe(outcome);
    container
}

const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";

fn sandbox(digit: &str, state: &str) -> Container {
    Container {
        kind: ContainerKind::Sandbox,
        pod: Some(PodName::new("default", "web-2")),
        uid: PodUid::parse(UID),
        ..container(digit, state)
    }
}

fn member(digit: &str, state: &str, sandbox: &str) -> Container {
    Container {
        kind: ContainerKind::Container,
        pod: Some(PodName::new("default", "web-2")),
        uid: PodUid::parse(UID),
        sandbox: Some(id(sandbox)),
        ..container(digit, state)
    }
}

fn all() -> Request {
    Request {
        dead: true,
        exited: true,
        created: true,
        ..Request::default()
    }
}

fn exited() -> Request {
    Request {
        exited: true,
        ..Request::default()
    }
}

/// The first digits of what is planned, in order.
fn planned(containers: &[Container], request: &Request) -> String {
    let plan = Plan::new(containers, request, now());
    plan.targets
        .iter()
        .map(|target| &target.id.as_str()[..1])
        .collect()
}

#[test]
fn dead_is_what_inspect_says_whatever_the_list_says() {
    let dead = Request {
        dead: true,
        ..Request::default()
    };
    for (listed, inspected, expected) in [
        ("dead", "dead", "a"),
        ("removing", "dead", "a"),
        ("exited", "dead", "a"),
        ("running", "dead", "a"),
        ("removing", "removing", "a"),
        ("dead", "exited", ""),
        ("removing", "exited", ""),
        ("dead", "running", ""),
    ] {
        let mut it = container("a", inspected);
        it.listed_state = listed.into();
        assert_eq!(planned(&[it], &dead), expected, "{listed}/{inspected}");
    }
}

#[test]
fn what_runs_in_whatever_way_is_never_planned() {
    let request = Request {
        include_live_pods: true,
        include_non_pods: true,
        ..all()
    };
    for state in ["running", "paused", "restarting", "", "Exited", "frozen"] {
        assert_eq!(planned(&[container("a", state)], &request), "", "{state}");
    }
    // A contradiction: the process runs, whatever the word.
    for state in ["exited", "dead", "created", "removing"] {
        let mut it = container("a", state);
        it.inspected.as_mut().unwrap().running = true;
        assert_eq!(planned(&[it], &request), "", "{state}");
    }
}

#[test]
fn created_with_a_start_behind_it_is_not_never_started() {
    let mut it = container("a", "created");
    it.inspected.as_mut().unwrap().started = Some(now());
    let request = Request {
        include_non_pods: true,
        ..all()
    };
    assert_eq!(planned(&[it], &request), "");
}

#[test]
fn exited_containers_go_only_with_a_sandbox_that_inspect_calls_exited_or_dead() {
    for (state, expected) in [
        ("exited", "ab"),
        ("dead", "a"),
        ("running", ""),
        ("paused", ""),
        ("created", ""),
        ("removing", ""),
    ] {
        let containers = [member("a", "exited", "b"), sandbox("b", state)];
        assert_eq!(planned(&containers, &exited()), expected, "{state}");
    }
    for outcome in [
        probe::Outcome::TimedOut,
        probe::Outcome::NotProbed,
        probe::Outcome::Error,
        probe::Outcome::Refused,
        probe::Outcome::Denied,
    ] {
        let hung = unanswered(sandbox("b", "exited"), outcome);
        let containers = [member("a", "exited", "b"), hung];
        assert_eq!(planned(&containers, &exited()), "", "{outcome:?}");
    }
    let gone = unanswered(sandbox("b", "exited"), probe::Outcome::Gone);
    assert_eq!(planned(&[member("a", "exited", "b"), gone], &exited()), "a");
    assert_eq!(planned(&[member("a", "exited", "b")], &exited()), "a");
}

#[test]
fn one_living_sandbox_spares_all_of_the_pod() {
    let containers = [
        member("a", "exited", "b"),
        sandbox("b", "exited"),
        sandbox("c", "running"),
    ];
    assert_eq!(planned(&containers, &exited()), "");
    let plan = Plan::new(&containers, &exited(), now());
    let spared = [(id("a"), Spared::LivePod), (id("b"), Spared::LivePod)];
    assert_eq!(plan.spared, spared.into());
    let request = Request {
        include_live_pods: true,
        ..exited()
    };
    assert_eq!(planned(&containers, &request), "ab");
}

#[test]
fn a_pod_of_the_same_name_and_another_uid_is_another_pod() {
    let mut later = sandbox("c", "running");
    later.uid = PodUid::parse("00000000-0000-4000-8000-000000000001");
    let containers = [
        member("a", "exited", "b"),
        sandbox("b", "exited"),
        later.clone(),
    ];
    assert_eq!(planned(&containers, &exited()), "ab");
    // Without a UID the name has to do.
    later.uid = None;
    let containers = [member("a", "exited", "b"), sandbox("b", "exited"), later];
    assert_eq!(planned(&containers, &exited()), "");
    let mut nameless = member("a", "exited", "b");
    nameless.uid = None;
    assert_eq!(planned(&[nameless, sandbox("c", "running")], &exited()), "");
}

#[test]
fn a_container_whose_pod_cannot_be_told_is_spared() {
    let mut it = member("a", "exited", "b");
    (it.pod, it.uid, it.sandbox) = (None, None, None);
    assert_eq!(planned(&[it], &exited()), "");
}

#[test]
fn containers_of_no_pod_need_their_own_option_unless_dead() {
    let containers = [
        container("a", "exited"),
        container("b", "created"),
        container("c", "dead"),
    ];
    assert_eq!(planned(&containers, &all()), "c");
    let request = Request {
        include_non_pods: true,
        ..all()
    };
    assert_eq!(planned(&containers, &request), "abc");
}

#[test]
fn created_ones_go_after_ten_minutes() {
    let request = Request {
        created: true,
        ..Request::default()
    };
    for (minutes, expected) in [(9, ""), (10, "a"), (600, "a"), (-5, "")] {
        let mut it = member("a", "created", "b");
        it.created = Some(now() - TimeDelta::minutes(minutes));
        let containers = [it, sandbox("b", "running")];
        assert_eq!(planned(&containers, &request), expected, "{minutes}");
    }
    let mut timeless = member("a", "created", "b");
    timeless.created = None;
    assert_eq!(planned(&[timeless], &request), "");
}

#[test]
fn age_counts_from_the_end_and_from_creation_for_what_never_ended() {
    let request = |minutes| Request {
        older_than: Some(TimeDelta::minutes(minutes)),
        include_non_pods: true,
        ..all()
    };
    let mut it = container("a", "exited");
    it.created = Some(now() - TimeDelta::hours(100));
    assert_eq!(planned(std::slice::from_ref(&it), &request(60)), "a");
    assert_eq!(planned(std::slice::from_ref(&it), &request(61)), "");
    it.inspected.as_mut().unwrap().finished = None;
    assert_eq!(planned(std::slice::from_ref(&it), &request(61)), "a");
    it.created = None;
    assert_eq!(planned(&[it], &request(1)), "");
    assert_eq!(planned(&[container("d", "dead")], &request(61)), "");
}

#[test]
fn containers_stand_before_their_sandbox_and_pods_together() {
    let mut other = member("1", "exited", "2");
    other.pod = Some(PodName::new("default", "api"));
    other.uid = PodUid::parse("00000000-0000-4000-8000-000000000001");
    let containers = [
        container("0", "dead"),
        sandbox("a", "exited"),
        member("b", "exited", "a"),
        other,
        member("c", "dead", "a"),
    ];
    assert_eq!(planned(&containers, &all()), "1bca0");
}

#[test]
fn a_sandbox_that_something_running_or_unseen_stands_in_stays() {
    for inside in [
        member("b", "running", "a"),
        member("b", "paused", "a"),
        unanswered(member("b", "exited", "a"), probe::Outcome::TimedOut),
    ] {
        let containers = [sandbox("a", "exited"), inside];
        let plan = Plan::new(&containers, &exited(), now());
        assert_eq!(plan.targets, []);
        assert_eq!(plan.spared, [(id("a"), Spared::InUse)].into());
    }
}

#[test]
fn a_sandbox_stays_while_a_container_in_it_is_not_planned() {
    let request = Request {
        exited: true,
        created: true,
        ..Request::default()
    };
    for state in ["exited", "created"] {
        for inside in [member("b", "dead", "a"), {
            let mut loose = member("b", "dead", "a");
            loose.sandbox = None;
            loose
        }] {
            let containers = [sandbox("a", state), inside.clone()];
            let plan = Plan::new(&containers, &request, now());
            assert_eq!(plan.spared, [(id("a"), Spared::InUse)].into(), "{state}");
            assert_eq!(planned(&containers, &all()), "ba", "{state}");
            let gone = unanswered(inside, probe::Outcome::Gone);
            assert_eq!(planned(&[sandbox("a", state), gone], &request), "a");
        }
    }
    // Of another pod, or in another sandbox of it.
    let mut other = member("b", "dead", "a");
    (other.sandbox, other.uid) = (None, PodUid::parse("00000000-0000-4000-8000-000000000001"));
    for inside in [other, member("b", "dead", "c")] {
        assert_eq!(planned(&[sandbox("a", "exited"), inside], &request), "a");
    }
    // A dead one can't hold anything up.
    let containers = [sandbox("a", "dead"), member("b", "exited", "a")];
    let dead = Request {
        dead: true,
        ..Request::default()
    };
    assert_eq!(planned(&containers, &dead), "a");
}

#[test]
fn an_inspect_without_a_known_state_has_shown_nothing() {
    for (state, why) in [
        ("", "its inspect has no state"),
        ("stopping", "its inspect has an unknown state: stopping"),
    ] {
        let plan = Plan::new(&[container("a", state)], &all(), now());
        assert_eq!(plan.targets, []);
        let unseen: Vec<String> = plan.unseen.iter().map(Unseen::why).collect();
        assert_eq!(unseen, [why]);
    }
    for state in ["running", "paused", "restarting"] {
        assert_eq!(
            Plan::new(&[container("a", state)], &all(), now()).unseen,
            []
        );
    }
}

#[test]
fn a_sandbox_that_stops_answering_is_not_called_living() {
    let stopped = [member("a", "exited", "b"), sandbox("b", "exited")];
    let plan = Plan::new(&stopped, &exited(), now());
    let [app, pause] = stopped;
    let later = [app, unanswered(pause, probe::Outcome::TimedOut)];
    let overtaken = plan.overtaken(&Plan::new(&later, &exited(), now()));
    let why = "part of its pod cannot be inspected any more";
    assert_eq!(overtaken[0], Some(Outcome::because(Status::Changed, why)));
}

#[test]
fn what_does_not_answer_is_left_alone_and_named_and_what_is_gone_is_not() {
    let containers = [
        unanswered(container("a", "exited"), probe::Outcome::TimedOut),
        unanswered(container("b", "exited"), probe::Outcome::NotProbed),
        unanswered(container("c", "exited"), probe::Outcome::Gone),
    ];
    let plan = Plan::new(&containers, &all(), now());
    assert_eq!(plan.targets, []);
    let unseen: Vec<_> = plan.unseen.iter().map(|it| &it.id).collect();
    assert_eq!(unseen, [&id("a"), &id("b")]);
}

#[test]
fn a_container_whose_id_is_the_name_of_another_stays() {
    let mut impostor = container("b", "running");
    impostor.name = "a".repeat(64);
    let plan = Plan::new(&[container("a", "dead"), impostor], &all(), now());
    assert_eq!(plan.targets, []);
    assert_eq!(plan.spared, [(id("a"), Spared::Ambiguous)].into());
}

#[test]
fn a_start_in_between_changes_a_target_even_if_it_has_ended_again() {
    let it = container("a", "exited");
    let target = &Plan::new(
        std::slice::from_ref(&it),
        &Request {
            include_non_pods: true,
            ..exited()
        },
        now(),
    )
    .targets[0];
    let inspected = it.inspected.unwrap();
    assert!(target.is_unchanged(&inspected));
    for change in [
        |it: &mut Inspected| it.running = true,
        |it: &mut Inspected| it.state = State::Running,
        |it: &mut Inspected| it.state = State::Dead,
        |it: &mut Inspected| it.started = Some(now()),
        |it: &mut Inspected| it.finished = Some(now()),
        |it: &mut Inspected| it.finished = None,
    ] {
        let mut other = inspected.clone();
        change(&mut other);
        assert!(!target.is_unchanged(&other), "{other:?}");
    }
}

#[test]
fn a_removal_that_another_began_leaves_a_dead_target_what_it_was() {
    let it = container("a", "dead");
    let target = &Plan::new(std::slice::from_ref(&it), &all(), now()).targets[0];
    let mut inspected = it.inspected.unwrap();
    inspected.state = State::Removing;
    assert!(target.is_unchanged(&inspected));
}

#[test]
fn membership_goes_by_the_sandbox_named_and_else_by_the_pod() {
    let request = exited();
    let containers = [
        member("a", "exited", "b"),
        sandbox("b", "exited"),
        sandbox("c", "exited"),
    ];
    let plan = Plan::new(&containers, &request, now());
    let [a, b, c] = &plan.targets[..] else {
        panic!("{plan:?}");
    };
    assert!(a.is_in(b) && !a.is_in(c) && !b.is_in(c) && !b.is_in(a));
    let mut loose = a.clone();
    loose.sandbox = None;
    assert!(loose.is_in(b) && loose.is_in(c));
    loose.uid = PodUid::parse("00000000-0000-4000-8000-000000000001");
    assert!(!loose.is_in(b));
}

#[test]
fn a_pod_that_comes_back_while_the_plan_is_thought_about_is_spared() {
    let stopped = [member("a", "exited", "b"), sandbox("b", "exited")];
    let plan = Plan::new(&stopped, &exited(), now());
    assert_eq!(plan.overtaken(&plan), [None, None]);
    let [app, pause] = stopped;
    let revived = [app, pause, sandbox("c", "running")];
    let later = Plan::new(&revived, &exited(), now());
    let again = Some(Outcome::because(
        Status::Changed,
        "its pod is running again",
    ));
    assert_eq!(plan.overtaken(&later), [again.clone(), again]);
}
