use super::*;
use crate::{
    finding::{Confidence, Severity},
    rules::cni_hang::RULE,
};

fn plugin(pid: u32, ppid: u32, seconds: u64) -> Process {
    process(pid, ppid, "calico", Role::CniPlugin, seconds)
}

fn seen(lines: &[String], plugins: Vec<Process>) -> Evidence {
    let mut evidence = evidence(lines, None);
    evidence.host = Some(host(plugins));
    evidence
}

#[test]
fn a_plugin_that_outlasts_the_kubelets_call_is_named() {
    let found = only(&RULE, &seen(&[], vec![plugin(4711, 1, 120)]));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    assert_eq!(found.subjects[0].pid, Some(4711));
    assert!(
        found
            .remedies
            .iter()
            .any(|remedy| remedy.command == "kill 4711")
    );
    quiet(&RULE, &seen(&[], vec![plugin(4711, 1, 119)]));
}

#[test]
fn the_kubelets_time_out_confirms() {
    let stop = line(
        "03:35:50",
        &format!("StopPodSandbox \"{ID}\" from runtime service failed: {DEADLINE}"),
    );
    let lines = [stop];
    assert_eq!(
        only(&RULE, &seen(&lines, vec![plugin(4711, 1, 500)])).confidence,
        Confidence::Confirmed
    );
}

#[test]
fn relists_that_go_on_take_nothing_from_it_and_a_call_before_its_start_adds_nothing() {
    let lines = [
        line(
            "03:35:50",
            &format!("StopPodSandbox \"{ID}\" from runtime service failed: {DEADLINE}"),
        ),
        ready("03:40:00"),
    ];
    let told = |seconds| {
        let found = only(&RULE, &seen(&lines, vec![plugin(4711, 1, seconds)]));
        (found.severity, found.confidence)
    };
    assert_eq!(told(500), (Severity::Warning, Confidence::Confirmed));
    assert_eq!(told(130), (Severity::Warning, Confidence::Suspected));
}

#[test]
fn of_a_plugin_and_its_delegate_the_delegate_is_named() {
    let found = only(
        &RULE,
        &seen(&[], vec![plugin(10, 1, 500), plugin(11, 10, 499)]),
    );
    assert_eq!(found.subjects.len(), 1);
    assert_eq!(found.subjects[0].pid, Some(11));
}
