use super::*;
use crate::runtime::Call;
use crate::{
    finding::{Confidence, Severity},
    rules::slow_relist::RULE,
};

/// Relists of a kubelet whose last one began 2 s before 04:00:01: so many took up to each of 0.25, 1, 5, 10 s, and
/// longer.
pub(super) fn relists(within: [u32; 5]) -> String {
    let bounds = ["0.25", "1", "5", "10", "+Inf"];
    let buckets = bounds.iter().zip(within);
    let buckets: String = buckets
        .map(|(le, number)| {
            format!("kubelet_pleg_relist_duration_seconds_bucket{{le=\"{le}\"}} {number}\n")
        })
        .collect();
    buckets + "kubelet_pleg_last_seen_seconds 1796011199\n"
}

fn told(metrics: &str, runtime: Option<Runtime>) -> Evidence {
    Evidence {
        kubelet: Some(kubelet::asked(metrics, at("04:00:01"))),
        ..evidence(&[], runtime)
    }
}

/// So many pods of one sandbox each; the list takes `list` ms, each inspect `inspect` ms.
fn pods(number: u32, list: u64, inspect: u64) -> Runtime {
    let sandboxes = (0..number).map(|n| Container {
        uid: None,
        pod: Some(crate::syntax::id::PodName::new(
            "default",
            &format!("web-{n}"),
        )),
        probe: probe(Outcome::Answered, inspect),
        ..sandbox(&format!("{n:064x}"), Some("running"))
    });
    let mut daemon = daemon_with(sandboxes.collect());
    *daemon.probe_mut(Call::List) = probe(Outcome::Answered, list);
    daemon
}

#[test]
fn one_relist_in_a_hundred_that_takes_more_than_five_seconds_is_suspect() {
    let found = only(&RULE, &told(&relists([900, 950, 980, 990, 1000]), None));
    assert_eq!(
        (found.severity, found.confidence, found.active),
        (Severity::Warning, Confidence::Suspected, true)
    );
    for words in [
        "20 of 1000 relists took more than 5 s",
        "since the kubelet's start",
    ] {
        assert!(found.explanation.contains(words), "{}", found.explanation);
    }
    quiet(&RULE, &told(&relists([900, 950, 990, 995, 1000]), None));
    // 2 of 20 are too few to tell.
    quiet(&RULE, &told(&relists([15, 17, 18, 18, 20]), None));
}

#[test]
fn relists_of_which_half_take_more_than_a_second_are_slow_however_few() {
    let found = only(&RULE, &told(&relists([2, 9, 20, 20, 20]), None));
    let words = "11 of 20 relists took more than 1 s";
    assert!(found.explanation.contains(words), "{}", found.explanation);
    quiet(&RULE, &told(&relists([2, 10, 20, 20, 20]), None));
}

#[test]
fn an_old_kubelets_last_ten_minutes_count() {
    let summary = |p99: &str| {
        format!(
            "kubelet_pleg_relist_latency_microseconds{{quantile=\"0.5\"}} 20000\n\
             kubelet_pleg_relist_latency_microseconds{{quantile=\"0.99\"}} {p99}\n"
        )
    };
    let found = only(&RULE, &told(&summary("6.1e+06"), None));
    let words = "of the last 10 minutes' relists the median is about 20 ms, the 99th percentile about 6.1 s";
    assert!(found.explanation.contains(words), "{}", found.explanation);
    quiet(&RULE, &told(&summary("4.9e+06"), None));
    quiet(&RULE, &told(&summary("NaN"), None));
}

#[test]
fn a_relist_that_is_late_now_is_told_though_none_was_slow_before() {
    let fast = relists([1000; 5]);
    let late = |seconds: i64| Evidence {
        kubelet: Some(kubelet::asked(
            &fast,
            at("03:59:59") + chrono::TimeDelta::seconds(seconds),
        )),
        ..evidence(&[], None)
    };
    quiet(&RULE, &late(20));
    let found = only(&RULE, &late(60));
    let words = "late now: the last successful relist began 59.0s ago";
    assert!(found.explanation.contains(words), "{}", found.explanation);
    // Beyond the limit it is no warning any more.
    quiet(&RULE, &late(182));
}

#[test]
fn our_own_slow_answers_are_suspect_and_with_the_kubelets_word_confirmed() {
    let found = only(&RULE, &evidence(&[], Some(pods(10, 1500, 2000))));
    assert_eq!(found.confidence, Confidence::Suspected);
    let words = "takes 5 s where one pod changed, and 23 s where all did";
    assert!(found.explanation.contains(words), "{}", found.explanation);
    quiet(&RULE, &evidence(&[], Some(pods(10, 1500, 1990))));
    // Many that are each fast enough add up to a third of the limit.
    let many = only(&RULE, &evidence(&[], Some(pods(100, 10, 600))));
    assert!(
        many.explanation.contains("60 s where all did"),
        "{}",
        many.explanation
    );
    quiet(&RULE, &evidence(&[], Some(pods(100, 10, 70))));

    let slow = relists([900, 950, 980, 990, 1000]);
    let both = only(&RULE, &told(&slow, Some(pods(10, 1500, 2000))));
    assert_eq!(both.confidence, Confidence::Confirmed);
    let sources: Vec<_> = both.citations.iter().map(|it| &it.source[..]).collect();
    assert_eq!(
        sources,
        ["kubelet metrics", "docker list", "docker inspect"]
    );
}

#[test]
fn where_something_hangs_or_hung_it_is_no_early_warning() {
    let slow = relists([900, 950, 980, 990, 1000]);
    let hung = daemon_with(vec![sandbox(ID, None)]);
    quiet(&RULE, &told(&slow, Some(hung)));
    // An outage that the log tells explains the slow ones of the past …
    let over = [outage(), vec![ready("03:40:00")]].concat();
    let known = |metrics: &str| Evidence {
        kubelet: Some(kubelet::asked(metrics, at("04:00:01"))),
        ..evidence(&over, None)
    };
    quiet(&RULE, &known(&slow));
    // … but not that half of all are.
    only(&RULE, &known(&relists([100, 400, 980, 990, 1000])));
    let mut going_on = known(&relists([100, 400, 980, 990, 1000]));
    going_on.log = evidence(&outage(), None).log;
    quiet(&RULE, &going_on);
}

#[test]
fn the_evented_plegs_long_pauses_are_no_slow_relists() {
    let rare = "kubelet_evented_pleg_connection_success_count 1\n\
                kubelet_pleg_relist_interval_seconds_bucket{le=\"10\"} 0\n\
                kubelet_pleg_relist_interval_seconds_bucket{le=\"+Inf\"} 400\n\
                kubelet_pleg_last_seen_seconds 1796010960\n";
    quiet(&RULE, &told(rare, None));
    let often = rare.replace("kubelet_evented_pleg_connection_success_count 1\n", "");
    let often = often.replace("kubelet_pleg_last_seen_seconds 1796010960\n", "");
    let found = only(&RULE, &told(&often, None));
    let words = "400 of 400 starts of a relist came more than 2.5 s after the one before";
    assert!(found.explanation.contains(words), "{}", found.explanation);
}
