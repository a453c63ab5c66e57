use super::*;
use crate::{
    finding::{Confidence, Severity},
    rules::{cni_hang::RULE, hung_container},
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

#[test]
fn a_plugin_that_gives_up_waiting_again_and_again_is_told_by_the_log_alone() {
    let teardown = |time: &str, why: &str| {
        line(
            time,
            &format!(
                "StopPodSandbox \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = networkPlugin cni failed to teardown pod \"web-2_default\" network: {why}"
            ),
        )
    };
    let times = ["03:35:00", "03:36:00", "03:37:00"];
    let late = times.map(|time| teardown(time, "dial tcp 10.96.0.1:443: i/o timeout"));
    let found = only(&RULE, &evidence(&late, None));
    assert_eq!(
        (found.severity, found.confidence, found.active),
        (Severity::Warning, Confidence::Suspected, true)
    );
    quiet(&hung_container::RULE, &evidence(&late, None));
    quiet(&RULE, &evidence(&late[1..], None));
    let mut over = late.to_vec();
    over.push(ready("03:50:00"));
    quiet(&RULE, &evidence(&over, None));
    let at_once = times.map(|time| teardown(time, "no IP addresses available"));
    quiet(&RULE, &evidence(&at_once, None));
}

#[test]
fn in_an_outage_only_a_runtime_whose_status_asks_the_plugin_is_held_up_by_it() {
    let told = |words: &str| {
        let failed = |time| {
            line(
                time,
                &format!(
                    "StopPodSandbox \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = {words}: dial tcp 10.96.0.1:443: i/o timeout"
                ),
            )
        };
        let mut lines = ["03:36:00", "03:37:00", "03:38:00"].map(failed).to_vec();
        lines.extend(outage());
        found(&RULE, &evidence(&lines, None)).len()
    };
    assert_eq!(
        told("networkPlugin cni failed to teardown pod \"web-2_default\" network"),
        1
    );
    assert_eq!(
        told(&format!("failed to destroy network for sandbox \"{ID}\"")),
        0
    );
}
