use super::*;
use chrono::DateTime;

const STUCK: &str = include_str!("../../fixtures/kubelet/sandbox-stop-hangs.metrics");
const OVER: &str = include_str!("../../fixtures/kubelet/stale-volume.metrics");

fn at(time: &str) -> Time {
    DateTime::parse_from_rfc3339(&format!("2026-11-30T{time}Z")).unwrap()
}

fn answer(what: Query, status: Option<u16>, body: &str) -> Answer {
    Answer {
        what,
        source: "http://127.0.0.1:10255/metrics".to_owned(),
        named: false,
        probe: Probe {
            outcome: Outcome::Answered,
            took: Duration::from_millis(3),
            error: None,
        },
        status,
        body: body.as_bytes().to_vec(),
    }
}

fn live(text: &str, now: &str) -> Kubelet {
    Kubelet::read(vec![answer(Query::Metrics, Some(200), text)], at(now))
}

#[test]
fn a_real_kubelet_whose_sandbox_hangs_tells_the_age_of_its_relist() {
    // Its next word of this hang would be "pleg was last seen active 3m57s ago".
    let kubelet = live(STUCK, "03:43:50");
    let metrics = kubelet.metrics.as_ref().unwrap();
    assert_eq!(metrics.last_seen, Some(Seen::At(at("03:39:52"))));
    assert_eq!(
        kubelet.overdue(),
        Some(Age::Exactly(TimeDelta::seconds(237)))
    );
    let relist = metrics.relist.as_ref().unwrap();
    assert_eq!(relist.count, 23.0);
    assert_eq!(relist.quantile(0.5), Bound::AtMost(0.005));
    assert_eq!(relist.quantile(0.99), Bound::Over(10.0));
    assert_eq!(relist.longer_than(10.0), Some(2.0));
    let interval = metrics.interval.as_ref().unwrap();
    assert_eq!(interval.quantile(0.5), Bound::AtMost(2.5));
    assert_eq!(metrics.operations["podsandbox_status"].errors, 3.0);
    let took = metrics.operations["podsandbox_status"].took.as_ref();
    assert_eq!(
        took.unwrap().quantile(1.0),
        Bound::AtMost(298.023_223_876_953_1)
    );
}

#[test]
fn a_real_kubelet_that_is_well_again_has_slow_relists_in_its_past() {
    let kubelet = live(OVER, "04:07:45");
    assert_eq!(kubelet.relist_age(), Some(Age::Exactly(TimeDelta::zero())));
    assert_eq!(kubelet.overdue(), None);
    let metrics = kubelet.metrics.unwrap();
    assert_eq!(metrics.relist.unwrap().longer_than(10.0), Some(4.0));
    assert_eq!(metrics.operations["list_podsandbox"].errors, 3.0);
    assert_eq!(metrics.discarded, Some(0.0));
}

#[test]
fn saved_metrics_prove_an_age_only_by_what_they_name() {
    let saved = |text: &str| {
        let answers = vec![answer(Query::SavedMetrics, None, text)];
        Kubelet::read(answers, at("23:00:00"))
    };
    // Saved at an unknown time: nothing is proved.
    let kubelet = saved(STUCK);
    assert_eq!(kubelet.relist_age(), Some(Age::AtLeast(TimeDelta::zero())));
    assert_eq!(kubelet.overdue(), None);
    // The last garbage collection was 4 minutes after the relist's start.
    let dated = format!("{STUCK}\ngo_memstats_last_gc_time_seconds 1.796010232e+09\n");
    let age = saved(&dated).overdue();
    assert_eq!(age, Some(Age::AtLeast(TimeDelta::seconds(239))));
}

#[test]
fn the_evented_pleg_has_ten_minutes() {
    let evented = format!("{STUCK}\nkubelet_evented_pleg_connection_success_count 1\n");
    assert_eq!(live(&evented, "03:43:50").overdue(), None);
    assert!(live(&evented, "03:50:00").overdue().is_some());
}

#[test]
fn a_clock_behind_the_kubelets_makes_no_age() {
    assert_eq!(
        live(OVER, "01:00:00").relist_age(),
        Some(Age::Exactly(TimeDelta::zero()))
    );
}

#[test]
fn answers_that_are_no_metrics_are_told_apart() {
    for (status, body, outcome, words) in [
        (
            401,
            "Unauthorized",
            Outcome::Denied,
            "HTTP 401: authentication required",
        ),
        (
            403,
            "Forbidden",
            Outcome::Denied,
            "HTTP 403: authentication required",
        ),
        (302, "", Outcome::Error, "HTTP 302: redirect not followed"),
        (
            404,
            "404 page\nnot found\n",
            Outcome::Error,
            "HTTP 404: 404 page; not found",
        ),
        (
            200,
            "<html>",
            Outcome::Error,
            "the response holds no kubelet metrics",
        ),
        (
            200,
            "",
            Outcome::Error,
            "the response holds no kubelet metrics",
        ),
    ] {
        let answers = vec![answer(Query::Metrics, Some(status), body)];
        let kubelet = Kubelet::read(answers, at("05:00:00"));
        let probe = kubelet.source.unwrap().probe;
        assert_eq!(probe.outcome, outcome, "{status}");
        assert_eq!(probe.error.as_deref(), Some(words), "{status}");
        assert_eq!(kubelet.metrics, None, "{status}");
    }
}

#[test]
fn a_sync_loop_that_stands_still_is_found_on_either_port() {
    let body = "[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n";
    let answers = vec![
        answer(Query::Health, Some(200), "ok"),
        answer(Query::HealthByMetrics, Some(500), body),
    ];
    let kubelet = Kubelet::read(answers, at("05:00:00"));
    assert_eq!(kubelet.stuck_loop(), Some(&kubelet.health[1]));
    assert_eq!(kubelet.health[0].well, Some(true));
}
