use super::*;
use crate::{finding::Confidence, rules::orphan_sandbox::RULE};

fn deleted(time: &str, uid: &str) -> String {
    line(
        time,
        &format!("SyncLoop (DELETE, \"api\"): \"web-2_default({uid})\""),
    )
}

#[test]
fn a_sandbox_that_runs_long_after_its_pod_went_is_an_orphan() {
    let lines = [deleted("03:00:00", UID), ready("03:20:00")];
    let found = only(
        &RULE,
        &evidence(
            &lines,
            Some(daemon_with(vec![sandbox(ID, Some("running"))])),
        ),
    );
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert!(
        found.explanation.contains("03:00:00"),
        "{}",
        found.explanation
    );
}

#[test]
fn a_pod_has_its_grace() {
    let lines = [deleted("03:16:00", UID), ready("03:20:00")];
    quiet(
        &RULE,
        &evidence(
            &lines,
            Some(daemon_with(vec![sandbox(ID, Some("running"))])),
        ),
    );
}

#[test]
fn a_pod_of_the_same_name_is_not_the_same_pod() {
    let lines = [
        deleted("03:00:00", "11111111-7fe5-45b4-b69e-1c76355b4249"),
        ready("03:20:00"),
    ];
    quiet(
        &RULE,
        &evidence(
            &lines,
            Some(daemon_with(vec![sandbox(ID, Some("running"))])),
        ),
    );
}

#[test]
fn what_is_stopped_waits_for_the_kubelets_clean_up() {
    let lines = [deleted("03:00:00", UID), ready("03:20:00")];
    quiet(
        &RULE,
        &evidence(&lines, Some(daemon_with(vec![sandbox(ID, Some("exited"))]))),
    );
}

#[test]
fn a_stop_that_fails_for_a_pod_that_is_gone_is_suspected_from_the_log() {
    let lines = [
        deleted("03:00:00", UID),
        line(
            "03:20:00",
            &format!(
                "PodSandboxStatus of sandbox \"{ID}\" for pod \"web-2_default({UID})\" error: rpc error: code = Unknown desc = x"
            ),
        ),
        line(
            "03:20:01",
            &format!(
                "StopPodSandbox \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = networkPlugin cni failed to teardown pod \"web-2_default\" network: neither iptables-save nor iptables-restore returned"
            ),
        ),
    ];
    let found = only(&RULE, &evidence(&lines, None));
    assert_eq!(found.confidence, Confidence::Suspected);
}
