use super::*;
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
