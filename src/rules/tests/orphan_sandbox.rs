use super::*;
use crate::{finding::Confidence, rules::orphan_sandbox::RULE};

/// A running sandbox whose labels tell its pod's grace, in seconds.
fn with_grace(seconds: &str) -> Runtime {
    let mut container = sandbox(ID, Some("running"));
    let label = "annotation.io.kubernetes.pod.terminationGracePeriod";
    container
        .labels
        .insert(label.to_owned(), seconds.to_owned());
    daemon_with(vec![container])
}

fn deleted(time: &str, uid: &str) -> String {
    line(
        time,
        &format!("SyncLoop (DELETE, \"api\"): \"web-2_default({uid})\""),
    )
}

#[test]
fn a_sandbox_that_runs_long_after_its_pod_went_is_an_orphan() {
    let lines = [deleted("03:00:00", UID), ready("03:20:00")];
    let found = only(&RULE, &evidence(&lines, Some(with_grace("30"))));
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert!(
        found.explanation.contains("03:00:00"),
        "{}",
        found.explanation
    );
    // It looks before it stops.
    assert!(
        found.remedies[0]
            .command
            .starts_with("kubectl get pod -n default web-2")
    );
}

#[test]
fn a_pod_has_its_grace() {
    let lines = [deleted("03:00:00", UID), ready("03:20:00")];
    quiet(&RULE, &evidence(&lines, Some(with_grace("3600"))));
    // One whose labels do not tell may have as much.
    let untold = daemon_with(vec![sandbox(ID, Some("running"))]);
    quiet(&RULE, &evidence(&lines, Some(untold.clone())));
    let later = [deleted("02:00:00", UID), ready("03:20:00")];
    only(&RULE, &evidence(&later, Some(untold)));
}

#[test]
fn a_pod_of_the_same_name_is_not_the_same_pod() {
    let lines = [
        deleted("03:00:00", "11111111-7fe5-45b4-b69e-1c76355b4249"),
        ready("03:20:00"),
    ];
    quiet(&RULE, &evidence(&lines, Some(with_grace("30"))));
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

#[test]
fn a_stop_that_is_not_tried_again_is_over() {
    let lines = [
        deleted("03:00:00", UID),
        line(
            "03:00:05",
            &format!(
                "PodSandboxStatus of sandbox \"{ID}\" for pod \"web-2_default({UID})\" error: rpc error: code = Unknown desc = x"
            ),
        ),
        line(
            "03:00:06",
            &format!(
                "StopPodSandbox \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = x"
            ),
        ),
        ready("03:50:00"),
    ];
    assert!(!only(&RULE, &evidence(&lines, None)).active);
}

#[test]
fn the_reason_is_quoted_and_what_has_ended_is_not_to_be_stopped() {
    let stop = |error: &str| {
        vec![
            deleted("03:00:00", UID),
            line(
                "03:00:05",
                &format!(
                    "PodSandboxStatus of sandbox \"{ID}\" for pod \"web-2_default({UID})\" error: rpc error: code = Unknown desc = x"
                ),
            ),
            line(
                "03:20:01",
                &format!(
                    "StopPodSandbox \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = {error}"
                ),
            ),
        ]
    };
    let commands = |lines: &[String]| {
        let found = only(&RULE, &evidence(lines, None));
        let remedies = found.remedies.into_iter().map(|it| it.command);
        (found.explanation, remedies.collect::<Vec<_>>().join("\n"))
    };
    let (told, commands_of_network) = commands(&stop(
        "networkPlugin cni failed to teardown pod \"web-2_default\" network: could not retrieve port mappings: unexpected end of JSON input",
    ));
    assert!(told.contains("unexpected end of JSON input"), "{told}");
    assert!(commands_of_network.contains("/var/lib/dockershim/sandbox/b15929"));
    assert!(!commands_of_network.contains("docker stop"));
    let plain = stop("something else");
    assert!(commands(&plain).1.contains("docker stop"));
    let mut ended = plain;
    ended.insert(
        2,
        line(
            "03:00:06",
            &format!(
                "SyncLoop (PLEG): \"web-2_default({UID})\", event: &pleg.PodLifecycleEvent{{ID:\"{UID}\", Type:\"ContainerDied\", Data:\"{ID}\"}}"
            ),
        ),
    );
    let (told, commands) = commands(&ended);
    assert!(told.contains("It has ended: what fails"), "{told}");
    assert!(!commands.contains("docker stop"), "{commands}");
}
