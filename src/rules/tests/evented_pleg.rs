use super::*;
use crate::{
    finding::{Confidence, Severity},
    node::Settings,
    rules::evented_pleg::RULE,
    runtime::ContainerKind,
};

const STREAM: &str = "\"failed to receive streaming container event\" err=\"rpc error: code = Unavailable desc = error reading from server: EOF\"";
const FALLBACK: &str = "\"Fall back to Generic PLEG relisting since Evented PLEG is not working\"";

fn set(mut evidence: Evidence, gate: Option<bool>) -> Evidence {
    let mut host = host(Vec::new());
    host.kubelet_settings = Some(Settings {
        evented_pleg: gate,
        ..Settings::default()
    });
    evidence.host = Some(host);
    evidence
}

/// A pod's container that runs, by its name in the pod.
fn app(id: &str, name: &str) -> Container {
    let mut container = sandbox(id, Some("running"));
    container.kind = ContainerKind::Container;
    let label = "io.kubernetes.container.name".to_owned();
    container.labels.insert(label, name.to_owned());
    container
}

#[test]
fn the_gate_alone_is_good_to_know() {
    let finding = only(&RULE, &set(evidence(&[], None), Some(true)));
    assert_eq!((finding.severity, finding.active), (Severity::Info, true));
    assert!(finding.explanation.contains("No harm is seen."));
    for gate in [Some(false), None] {
        quiet(&RULE, &set(evidence(&[], None), gate));
    }
}

#[test]
fn one_broken_stream_harms_nobody_and_a_fallback_does() {
    let finding = only(&RULE, &evidence(&[line("03:00:00", STREAM)], None));
    assert_eq!(finding.severity, Severity::Info);
    let finding = only(&RULE, &evidence(&[line("03:00:00", FALLBACK)], None));
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.confidence, Confidence::Suspected);
    let set = set(evidence(&[line("03:00:00", FALLBACK)], None), Some(true));
    assert_eq!(only(&RULE, &set).confidence, Confidence::Confirmed);
}

#[test]
fn a_gate_that_is_off_by_now_is_over() {
    let finding = only(
        &RULE,
        &set(evidence(&[line("03:00:00", FALLBACK)], None), Some(false)),
    );
    assert!(!finding.active);
    assert!(finding.remedies.is_empty());
}

#[test]
fn a_container_that_runs_twice_counts_only_with_the_gate_on() {
    let twins = || daemon_with(vec![app(ID, "app"), app(OTHER, "app")]);
    let finding = only(&RULE, &set(evidence(&[], Some(twins())), Some(true)));
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.confidence, Confidence::Confirmed);
    assert!(finding.explanation.contains("runs twice"));
    quiet(&RULE, &set(evidence(&[], Some(twins())), Some(false)));
    let others = daemon_with(vec![app(ID, "app"), app(OTHER, "sidecar")]);
    let finding = only(&RULE, &set(evidence(&[], Some(others)), Some(true)));
    assert_eq!(finding.severity, Severity::Info);
}

#[test]
fn a_threshold_of_ten_minutes_gives_the_gate_away() {
    let stale = "\"Skipping pod synchronization\" err=\"PLEG is not healthy: pleg was last seen active 10m2.5s ago; threshold is 10m0s\"";
    assert_eq!(
        found(&RULE, &evidence(&[line("03:00:00", stale)], None)).len(),
        1
    );
    quiet(&RULE, &evidence(&outage(), None));
}
