use super::*;
use crate::finding::Severity;
use crate::rules::not_pleg::RULE;

fn network(time: &str) -> String {
    line(
        time,
        "Container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized",
    )
}

#[test]
fn a_network_that_stays_away_is_another_illness() {
    let lines = [
        line("03:30:00", "Starting kubelet main sync loop."),
        network("03:30:01"),
        network("03:32:00"),
    ];
    let found = only(&RULE, &evidence(&lines, None));
    assert!(
        found.active && found.title.contains("network"),
        "{found:#?}"
    );
}

#[test]
fn a_network_that_comes_up_with_the_kubelet_is_none() {
    let lines = [
        line("03:30:00", "Starting kubelet main sync loop."),
        network("03:30:01"),
        ready("03:30:20"),
    ];
    quiet(&RULE, &evidence(&lines, None));
}

#[test]
fn a_kubelet_that_has_checked_nothing_yet_says_that_the_runtime_is_down() {
    let down = |time: &str| {
        line(
            time,
            "skipping pod synchronization - [container runtime is down]",
        )
    };
    let start = line("03:30:00", "Starting kubelet main sync loop.");
    quiet(&RULE, &evidence(&[start.clone(), down("03:30:01")], None));
    let lasts: Vec<_> = std::iter::once(start)
        .chain((1..6).map(|minute| down(&format!("03:3{minute}:05"))))
        .collect();
    assert!(only(&RULE, &evidence(&lasts, None)).active);
    assert!(only(&RULE, &evidence(&[down("03:30:01")], None)).active);
}

#[test]
fn beside_a_stale_pleg_it_keeps_quiet() {
    let mut lines = vec![network("03:38:00")];
    lines.extend(outage());
    quiet(&RULE, &evidence(&lines, None));
}

#[test]
fn a_node_cut_off_from_its_api_server_is_told_after_some_failures() {
    let failed = |s: u32| {
        line(
            &format!("03:38:{s}"),
            "Error updating node status, will retry: error getting node \"worker-3\": Get \"https://10.0.0.1:6443/api/v1/nodes/worker-3\": dial tcp 10.0.0.1:6443: i/o timeout",
        )
    };
    let many: Vec<_> = (10..16).map(failed).collect();
    let found = only(&RULE, &evidence(&many, None));
    assert!(found.title.contains("cannot report"), "{}", found.title);
    quiet(&RULE, &evidence(&[failed(10)], None));
}

#[test]
fn a_network_trouble_after_an_old_outage_is_told() {
    let mut lines = outage();
    lines.push(ready("03:40:00"));
    lines.extend([network("03:50:00"), network("03:52:00")]);
    assert!(only(&RULE, &evidence(&lines, None)).active);
}

#[test]
fn a_kubelet_that_ends_again_and_again_is_told() {
    let fatal = |s: u32| {
        format!(
            "F1130 03:38:{s}.000000    2261 server.go:198] failed to load Kubelet config file /var/lib/kubelet/config.yaml"
        )
    };
    let lines: Vec<_> = (10..20).map(fatal).collect();
    let found = only(&RULE, &evidence(&lines, None));
    assert!(
        found.active
            && found
                .explanation
                .contains("failed to load Kubelet config file"),
        "{found:#?}"
    );
}

#[test]
fn the_words_runtime_is_down_alone_are_told_as_what_they_are() {
    let lines: Vec<_> = (10..40)
        .map(|s| {
            line(
                &format!("03:38:{s}"),
                "skipping pod synchronization - container runtime is down",
            )
        })
        .collect();
    assert!(
        only(&RULE, &evidence(&lines, None))
            .title
            .contains("does not show whether it hangs or is gone")
    );
    let mut known = vec![line(
        "03:38:00",
        &format!("Status from runtime service failed: {DEADLINE}"),
    )];
    known.extend(lines);
    quiet(&RULE, &evidence(&known, None));
}

#[test]
fn a_node_that_is_not_ready_at_the_logs_end_is_never_healthy() {
    let lines = [
        line("03:00:00", "Starting kubelet main sync loop."),
        line(
            "03:30:00",
            "Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2026-11-30 03:30:00.1 +0000 UTC m=+5.9 LastTransitionTime:2026-11-30 03:30:00.1 +0000 UTC m=+5.9 Reason:KubeletNotReady Message:node is shutting down}",
        ),
        line("03:35:00", "Starting to sync pod status with apiserver"),
    ];
    let found = only(&RULE, &evidence(&lines, None));
    assert!(
        found.active && found.explanation.contains("node is shutting down"),
        "{found:#?}"
    );
    let mut well = lines.to_vec();
    well.push(ready("03:36:00"));
    quiet(&RULE, &evidence(&well, None));
}

/// `number` sandboxes that could not be made, one every ten seconds from 03:30:00 on.
fn unmade(number: usize, error: &str) -> Vec<String> {
    (0..number)
        .map(|n| {
            line(
                &format!("03:{}:{:02}", 30 + n / 6, n % 6 * 10),
                &format!("RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = {error}"),
            )
        })
        .collect()
}

const NETWORK: &str = "failed to setup network for sandbox \"x\": plugin type=\"cilium-cni\" failed (add): unable to connect to Cilium daemon";

#[test]
fn sandboxes_that_fail_one_after_the_other_are_good_to_know_and_no_trouble_of_the_pleg() {
    let found = only(&RULE, &evidence(&unmade(24, NETWORK), None));
    assert_eq!((found.severity, found.active), (Severity::Info, true));
    assert!(
        found
            .explanation
            .contains("from 03:30:00 to 03:33:50 (24 lines)")
            && found
                .explanation
                .contains("unable to connect to Cilium daemon"),
        "{}",
        found.explanation
    );
    // A boot's, or what went by.
    quiet(&RULE, &evidence(&unmade(19, NETWORK), None));
    let mut over = unmade(24, NETWORK);
    over.push(ready("03:50:00"));
    quiet(&RULE, &evidence(&over, None));
}

#[test]
fn sandboxes_that_fail_with_the_runtime_itself_are_another_finding() {
    for error in [
        "context deadline exceeded",
        "connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\"",
    ] {
        let lines = unmade(24, error);
        let lines: Vec<_> = lines
            .iter()
            .map(|line| match error.starts_with("context") {
                true => line.replace("Unknown", "DeadlineExceeded"),
                false => line.replace("Unknown", "Unavailable"),
            })
            .collect();
        let infos = found(&RULE, &evidence(&lines, None));
        assert!(infos.iter().all(|it| it.severity != Severity::Info));
    }
}
