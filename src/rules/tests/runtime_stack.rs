use super::*;
use crate::{
    node::Settings,
    rules::{
        hung_container, hung_runtime, pleg_unexplained,
        remedies::{RuntimeKind, RuntimeStack},
        runtime_down,
    },
};

const STATUS: &str = "Status from runtime service failed: rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial unix SOCKET: connect: connection refused\"";

/// A line in syslog's envelope, with that tag.
fn tagged(tag: &str, line: &str) -> String {
    format!("Nov 30 {} worker-3 {tag}[1636]: {line}", &line[6..14])
}

/// Nothing listens at that socket.
fn refused(socket: &str) -> Vec<String> {
    let message = STATUS.replace("SOCKET", socket);
    (10..50)
        .map(|second| line(&format!("03:38:{second}"), &message))
        .collect()
}

fn commands(rule: &impl Named, lines: &[String]) -> Vec<String> {
    let remedies = only(rule, &evidence(lines, None)).remedies;
    remedies.into_iter().map(|remedy| remedy.command).collect()
}

#[test]
fn the_socket_that_refuses_names_the_runtime_and_its_unit() {
    for (socket, kind, start) in [
        (
            "/var/run/crio/crio.sock",
            Some(RuntimeKind::CriO),
            "start crio",
        ),
        (
            "/run/containerd/containerd.sock",
            Some(RuntimeKind::Containerd),
            "start containerd",
        ),
        (
            "/run/cri-dockerd.sock",
            Some(RuntimeKind::Docker),
            "start cri-docker",
        ),
        (
            "/run/k3s/containerd/containerd.sock",
            Some(RuntimeKind::Containerd),
            "restart k3s # or k3s-agent, rke2-server, rke2-agent",
        ),
        (
            "/var/snap/microk8s/common/run/containerd.sock",
            Some(RuntimeKind::Containerd),
            "start snap.microk8s.daemon-containerd",
        ),
    ] {
        let lines = refused(socket);
        assert_eq!(
            RuntimeStack::new(&evidence(&lines, None)).kind,
            kind,
            "{socket}"
        );
        let commands = commands(&runtime_down::RULE, &lines);
        assert_eq!(
            commands.last().unwrap(),
            &format!("systemctl {start}"),
            "{socket}"
        );
    }
}

#[test]
fn a_network_plugins_socket_and_dockers_containerd_are_no_runtime_of_a_kubelet() {
    let plugin = line(
        "03:38:10",
        "RunPodSandbox from runtime service failed: rpc error: code = Unavailable desc = failed to setup network for sandbox \"x\": dial unix /run/containerd/containerd.sock: connect: connection refused",
    );
    assert_eq!(RuntimeStack::new(&evidence(&[plugin], None)).kind, None);
    let behind = line(
        "03:38:10",
        "RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = failed to start sandbox container for pod \"web-1\": Error response from daemon: connection error: desc = \"transport: error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\": unavailable",
    );
    assert_eq!(
        RuntimeStack::new(&evidence(&[behind], None)).kind,
        Some(RuntimeKind::Docker)
    );
}

#[test]
fn the_program_that_a_kubelet_runs_in_is_what_restarts() {
    for (tag, restart, asks) in [
        ("k3s", "k3s # on an agent: k3s-agent", "k3s crictl"),
        ("k3s-agent", "k3s-agent", "k3s crictl"),
        (
            "rke2-server",
            "rke2-server",
            "/var/lib/rancher/rke2/bin/crictl -r unix:///run/k3s/containerd/containerd.sock",
        ),
        ("kubenswrapper", "crio", "crictl"),
    ] {
        let lines = [&[status_deadline("03:35:50", ID)][..], &outage()].concat();
        let lines: Vec<_> = lines.iter().map(|line| tagged(tag, line)).collect();
        let commands = commands(&hung_container::RULE, &lines);
        assert_eq!(
            commands[0],
            format!(
                "timeout 15 {asks} --timeout 10s inspectp b15929dfcea1 > /dev/null && echo answered"
            )
        );
        assert_eq!(
            commands.last().unwrap(),
            &format!("systemctl restart {restart}")
        );
    }
}

#[test]
fn what_a_kubelet_says_of_its_runtime_counts_more_than_where_it_runs() {
    let start = line(
        "03:30:00",
        "Container runtime docker initialized, version: 20.10.24, apiVersion: 1.41.0",
    );
    let list = line(
        "03:37:50",
        &format!("ListPodSandbox with filter nil from runtime service failed: {DEADLINE}"),
    );
    let lines = [&[start, list][..], &outage()].concat();
    let lines: Vec<_> = lines.iter().map(|line| tagged("k3s", line)).collect();
    let commands = commands(&hung_runtime::RULE, &lines);
    assert_eq!(commands.last().unwrap(), "systemctl restart docker");
}

#[test]
fn a_runtime_within_another_program_is_restarted_by_hand_alone() {
    let lines = refused("/run/k3s/containerd/containerd.sock");
    let found = only(&runtime_down::RULE, &evidence(&lines, None));
    assert!(found.remedies.iter().all(|it| it.actions.is_empty()));
    let lines = refused("/run/containerd/containerd.sock");
    let found = only(&runtime_down::RULE, &evidence(&lines, None));
    assert!(!found.remedies.last().unwrap().actions.is_empty());
}

#[test]
fn the_logs_of_all_who_may_have_had_a_part_are_saved_by_one_match() {
    let lines: Vec<_> = outage().iter().map(|it| tagged("rke2-agent", it)).collect();
    let commands = commands(&pleg_unexplained::RULE, &lines);
    assert!(
        commands[1].starts_with("plegdoctor collect -o node.tar.gz"),
        "{commands:?}"
    );
    assert_eq!(
        commands.last().unwrap(),
        "journalctl _SYSTEMD_UNIT=rke2-agent.service + _TRANSPORT=kernel + _PID=1 --since '-2h' --no-pager > journal.txt"
    );
}

#[test]
fn the_logs_of_an_old_outage_are_saved_from_before_it_on() {
    let mut lines = outage();
    lines.push(ready("03:40:00"));
    lines.push(line("09:00:00", "Starting kubelet main sync loop."));
    let commands = commands(&pleg_unexplained::RULE, &lines);
    assert_eq!(
        commands,
        [
            "journalctl _SYSTEMD_UNIT=kubelet.service + _SYSTEMD_UNIT=docker.service + _SYSTEMD_UNIT=containerd.service + _SYSTEMD_UNIT=crio.service + _TRANSPORT=kernel + _PID=1 --since '2026-11-30 02:35:51 UTC' --no-pager > journal.txt"
        ]
    );
}

#[test]
fn a_units_journal_tells_more_than_the_tag_in_its_lines() {
    let lines: Vec<_> = outage().iter().map(|it| tagged("k3s", it)).collect();
    let mut seen = evidence(&lines, None);
    assert_eq!(
        RuntimeStack::new(&seen).own_units().all,
        ["k3s", "k3s-agent"]
    );
    let log = seen.log.as_mut().unwrap();
    log.sources[0].name = "journal of k3s-agent.service".to_owned();
    assert_eq!(RuntimeStack::new(&seen).own_units().all, ["k3s-agent"]);
}

#[test]
fn the_kubelets_settings_name_its_runtime_where_no_line_does() {
    for (endpoint, kind, unit) in [
        (
            "unix:///run/k3s/containerd/containerd.sock",
            Some(RuntimeKind::Containerd),
            "k3s",
        ),
        (
            "unix:///run/crio/crio.sock",
            Some(RuntimeKind::CriO),
            "crio",
        ),
        (
            "unix:///run/cri-dockerd.sock",
            Some(RuntimeKind::Docker),
            "docker",
        ),
        ("unix:///run/other.sock", None, "docker"),
    ] {
        let mut seen = evidence(&[], Some(daemon_with(Vec::new())));
        let mut host = host(Vec::new());
        host.kubelet_settings = Some(Settings {
            runtime_endpoint: Some(endpoint.to_owned()),
            ..Settings::default()
        });
        seen.host = Some(host);
        let setup = RuntimeStack::new(&seen);
        assert_eq!(
            (setup.kind, setup.units().all[0]),
            (kind, unit),
            "{endpoint}"
        );
    }
}
