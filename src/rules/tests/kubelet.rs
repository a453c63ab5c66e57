use super::*;
use crate::runtime::Call;
use crate::{
    finding::{Confidence, Severity},
    kubelet::{Answer, Kubelet, Query},
    rules::{hung_container, hung_runtime, not_pleg, pleg_unexplained},
};

/// An answer of the kubelet on its own machine.
fn answer(what: Query, outcome: Outcome, status: u16, body: &str) -> Answer {
    let source = match what {
        Query::Health => "http://127.0.0.1:10248/healthz?verbose",
        Query::HealthByMetrics => "http://127.0.0.1:10255/healthz?verbose",
        Query::Metrics | Query::SavedMetrics => "http://127.0.0.1:10255/metrics",
    };
    Answer {
        what,
        source: source.to_owned(),
        named: false,
        probe: probe(outcome, 2),
        status: (outcome == Outcome::Answered).then_some(status),
        body: body.as_bytes().to_vec(),
    }
}

/// A kubelet with these metrics, asked at that moment.
pub(super) fn asked(metrics: &str, at: Time) -> Kubelet {
    let answers = vec![answer(Query::Metrics, Outcome::Answered, 200, metrics)];
    Kubelet::read(answers, at)
}

/// A kubelet whose last relist began at 03:55:00, five minutes ago.
fn late() -> Kubelet {
    asked(
        "kubelet_pleg_last_seen_seconds 1796010900\n",
        at("04:00:01"),
    )
}

fn with(kubelet: Kubelet, lines: &[String], runtime: Option<Runtime>) -> Evidence {
    Evidence {
        kubelet: Some(kubelet),
        ..evidence(lines, runtime)
    }
}

#[test]
fn an_unhealthy_pleg_needs_no_log() {
    let found = only(&pleg_unexplained::RULE, &with(late(), &[], None));
    assert_eq!(
        (found.severity, found.confidence, found.active),
        (Severity::Critical, Confidence::Suspected, true)
    );
    let words = "the last successful relist began 5m ago; the limit is 3m";
    assert!(found.explanation.contains(words), "{}", found.explanation);
    // A log that tells nothing of it does not hide it.
    let calm = [ready("03:59:59")];
    only(&pleg_unexplained::RULE, &with(late(), &calm, None));
    let well = asked(
        "kubelet_pleg_last_seen_seconds 1796011080\n",
        at("04:00:59"),
    );
    quiet(&pleg_unexplained::RULE, &with(well, &[], None));
}

#[test]
fn no_relist_ever_is_told_once_the_kubelet_had_the_time() {
    let never = "kubelet_pleg_last_seen_seconds 0\nprocess_start_time_seconds 1796010900\n";
    let found = |now| {
        let kubelet = asked(never, at(now));
        found(&pleg_unexplained::RULE, &with(kubelet, &[], None))
    };
    assert_eq!(found("03:57:00").len(), 0);
    let told = &found("04:00:00")[0].explanation;
    let words = "no relist has succeeded since the kubelet's start 5m ago";
    assert!(told.contains(words), "{told}");
}

#[test]
fn what_docker_does_not_answer_is_confirmed_by_the_kubelets_lag() {
    let other = sandbox(OTHER, Some("running"));
    let hung = || daemon_with(vec![sandbox(ID, None), other.clone()]);
    let alone = only(&hung_container::RULE, &evidence(&[], Some(hung())));
    assert_eq!(
        (alone.severity, alone.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    let evidence = with(late(), &[], Some(hung()));
    let both = only(&hung_container::RULE, &evidence);
    assert_eq!(
        (both.severity, both.confidence),
        (Severity::Critical, Confidence::Confirmed)
    );
    let cited = both.citations.last().map(|it| &it.source[..]);
    assert_eq!(cited, Some("kubelet metrics"));
    quiet(&pleg_unexplained::RULE, &evidence);

    let mut silent = daemon_with(Vec::new());
    *silent.probe_mut(Call::List) = probe(Outcome::TimedOut, 3000);
    let both = only(&hung_runtime::RULE, &with(late(), &[], Some(silent)));
    assert_eq!(both.confidence, Confidence::Confirmed);
}

#[test]
fn where_several_hang_or_lists_answer_the_lag_confirms_none() {
    let two = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, None)]);
    for finding in found(&hung_container::RULE, &with(late(), &[], Some(two))) {
        if finding.subjects.len() == 1 {
            assert_eq!(finding.confidence, Confidence::Suspected, "{finding:#?}");
        }
    }
    // Version hangs and lists answer: that is not what the relist waits for.
    let mut partly = daemon_with(Vec::new());
    *partly.probe_mut(Call::Version) = probe(Outcome::TimedOut, 3000);
    let found = only(&hung_runtime::RULE, &with(late(), &[], Some(partly)));
    assert_eq!(found.confidence, Confidence::Suspected);
    assert!(
        found.explanation.contains("PLEG is unhealthy"),
        "{}",
        found.explanation
    );
}

#[test]
fn metrics_of_another_node_prove_nothing_here() {
    let lines = [ready("03:59:59")];
    let metrics =
        "kubelet_pleg_last_seen_seconds 1796010900\nkubelet_node_name{node=\"other\"} 1\n";
    let evidence = with(asked(metrics, at("04:00:01")), &lines, None);
    quiet(&pleg_unexplained::RULE, &evidence);
    let own = metrics.replace("other", "worker-3");
    let evidence = with(asked(&own, at("04:00:01")), &lines, None);
    only(&pleg_unexplained::RULE, &evidence);
}

#[test]
fn a_sync_loop_that_stands_still_is_told_where_nothing_explains_it() {
    let body = "[+]ping ok\n[-]syncloop failed: reason withheld\n";
    let health = answer(Query::HealthByMetrics, Outcome::Answered, 500, body);
    let stuck = || Kubelet::read(vec![health.clone()], at("04:00:01"));
    let found = only(&pleg_unexplained::RULE, &with(stuck(), &[], None));
    assert!(found.title.contains("sync loop"), "{}", found.title);
    let hung = daemon_with(vec![sandbox(ID, None)]);
    quiet(&pleg_unexplained::RULE, &with(stuck(), &[], Some(hung)));
}

#[test]
fn a_kubelet_that_does_not_answer_is_not_the_pleg_and_its_stopped_process_confirms() {
    let silent = |what| {
        let health = answer(what, Outcome::TimedOut, 0, "");
        Kubelet::read(vec![health], at("04:00:01"))
    };
    let found = only(&not_pleg::RULE, &with(silent(Query::Health), &[], None));
    assert_eq!(found.confidence, Confidence::Suspected);
    let mut evidence = with(silent(Query::Health), &[], None);
    let mut kubelet = process(812, 1, "kubelet", Role::Kubelet, 900);
    evidence.host = Some(host(vec![kubelet.clone()]));
    assert_eq!(
        only(&not_pleg::RULE, &evidence).confidence,
        Confidence::Suspected
    );
    kubelet.state = State::Stopped;
    evidence.host = Some(host(vec![kubelet]));
    let found = only(&not_pleg::RULE, &evidence);
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert_eq!(found.subjects[0].pid, Some(812));
    let last = found.remedies.last().map(|remedy| &remedy.command[..]);
    assert_eq!(last, Some("kill -CONT 812"));
    // A far one may be behind a wall: that is a gap.
    quiet(
        &not_pleg::RULE,
        &with(silent(Query::HealthByMetrics), &[], None),
    );
}
