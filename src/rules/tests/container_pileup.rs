use super::*;
use crate::{
    finding::{Confidence, Severity},
    node::Settings,
    rules::container_pileup::RULE,
};

/// `stopped` exited containers and one that runs; the list takes `list` ms, each inspect `inspect` ms.
fn pile(stopped: usize, list: u64, inspect: u64) -> Runtime {
    let mut containers: Vec<_> = (0..=stopped)
        .map(|n| {
            let mut container = sandbox(&format!("{n:064x}"), Some("exited"));
            container.listed_state = "exited".into();
            container.probe = probe(Outcome::Answered, inspect);
            container
        })
        .collect();
    containers[0].listed_state = "running".into();
    Runtime {
        list: probe(Outcome::Answered, list),
        ..daemon_with(containers)
    }
}

#[test]
fn many_and_slow_is_a_pile() {
    let found = only(&RULE, &evidence(&[], Some(pile(300, 1500, 10))));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    assert!(
        found.explanation.contains("300 of them stopped"),
        "{}",
        found.explanation
    );
    assert!(
        found.explanation.contains("3.0 s at least"),
        "{}",
        found.explanation
    );
}

#[test]
fn many_alone_or_slow_alone_is_none() {
    quiet(&RULE, &evidence(&[], Some(pile(5000, 900, 10))));
    quiet(&RULE, &evidence(&[], Some(pile(299, 5000, 10))));
}

#[test]
fn more_than_five_thousand_are_counted_each() {
    let found = only(&RULE, &evidence(&[], Some(pile(6000, 4000, 10))));
    assert!(
        found.explanation.contains("6000 of them stopped"),
        "{}",
        found.explanation
    );
}

#[test]
fn slow_inspects_count_too() {
    let found = only(&RULE, &evidence(&[], Some(pile(400, 100, 600))));
    assert_eq!(found.severity, Severity::Warning);
    assert!(
        found.explanation.contains("600 ms each"),
        "{}",
        found.explanation
    );
}

#[test]
fn an_outage_that_is_over_or_had_list_errors_confirms_nothing() {
    let mut over = outage();
    over.push(ready("03:39:40"));
    let found = only(&RULE, &evidence(&over, Some(pile(400, 2000, 10))));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    let mut failing = vec![line(
        "03:38:00",
        &format!("GenericPLEG: Unable to retrieve pods: {DEADLINE}"),
    )];
    failing.extend(outage());
    assert_eq!(
        only(&RULE, &evidence(&failing, Some(pile(400, 2000, 10)))).confidence,
        Confidence::Suspected
    );
}

#[test]
fn an_outage_that_no_container_explains_confirms() {
    // 401 statuses of 600 ms are 4 minutes: so much is the lag.
    let found = only(&RULE, &evidence(&outage(), Some(pile(400, 2000, 600))));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Critical, Confidence::Confirmed)
    );
    assert!(
        found.explanation.contains("a relist comes to 4m4s"),
        "{}",
        found.explanation
    );
}

#[test]
fn calls_that_do_not_come_to_the_lag_confirm_no_pile() {
    // 4 s for the lists and 4 s for the statuses, and the lag is over 3 minutes.
    let found = only(&RULE, &evidence(&outage(), Some(pile(400, 2000, 10))));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Critical, Confidence::Suspected)
    );
    assert!(
        found.explanation.contains("does not explain the lag"),
        "{}",
        found.explanation
    );
}

#[test]
fn no_list_no_count() {
    let mut daemon = pile(400, 2000, 10);
    daemon.list = probe(Outcome::TimedOut, 3000);
    quiet(&RULE, &evidence(&[], Some(daemon)));
}

#[test]
fn the_kubelets_limits_are_told_where_they_are_known() {
    let told = |settings: Option<Settings>| {
        let mut seen = evidence(&[], Some(pile(300, 1500, 10)));
        let mut host = host(Vec::new());
        host.kubelet_settings = settings;
        seen.host = Some(host);
        only(&RULE, &seen).remedies.pop().unwrap().cost
    };
    assert_eq!(told(None), "the kubelet restarts with the new flags");
    assert!(told(Some(Settings::default())).ends_with("; now it sets neither"));
    let set = Settings {
        dead_containers: Some(-1),
        ..Settings::default()
    };
    assert!(told(Some(set)).ends_with("; now they are -1 and not set (-1: any number)"));
}

#[test]
fn a_list_that_is_nearly_too_long_is_told_before_it_is() {
    let near = |bytes: u64| Runtime {
        list_bytes: bytes,
        ..pile(200, 100, 2)
    };
    let found = only(&RULE, &evidence(&[], Some(near(12 << 20))));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    assert!(
        found.explanation.contains("201 containers in 12582912 bytes as JSON, 62601 each: it reaches gRPC's limit of 16 MiB with some 268"),
        "{}",
        found.explanation
    );
    quiet(&RULE, &evidence(&[], Some(near((12 << 20) - 1))));
}

#[test]
fn a_list_beyond_the_limit_is_not_called_near_to_it() {
    let long = Runtime {
        list_bytes: (16 << 20) + 1,
        ..pile(200, 100, 2)
    };
    let found = only(&RULE, &evidence(&[], Some(long)));
    assert!(found.title.contains("longer than gRPC's limit"));
    assert!(
        !found.explanation.contains("reaches"),
        "{}",
        found.explanation
    );
    // Docker's list holds both of the kubelet's: one source, and no proof.
    assert_eq!(found.confidence, Confidence::Suspected);
    assert!(found.remedies[0].command.contains("larger than max"));
}
