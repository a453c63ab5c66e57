//! Stories of logs of all programs: what the kernel and systemd say beside the kubelet, and errors that name a cause.

use super::*;
use crate::finding::{Confidence, Severity};

fn kernel(time: &str, message: &str) -> String {
    format!("Nov 30 {time} worker-3 kernel: {message}")
}

fn systemd(time: &str, message: &str) -> String {
    format!("Nov 30 {time} worker-3 systemd[1]: {message}")
}

const SILENT: &str = "nfs: server 10.0.0.5 not responding, still trying";
const ANSWERS: &str = "nfs: server 10.0.0.5 OK";

/// The findings of these rules, by a log's lines in the order of their times of day.
fn found(lines: &[String]) -> Vec<Finding> {
    check_all(&evidence(lines, None))
}

fn of<'a>(findings: &'a [Finding], id: &str) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.id == id)
}

#[test]
fn a_silent_server_is_suspected_where_calls_time_out_after_it_fell_silent() {
    for (before, after, active) in [
        (vec![kernel("03:34:00", SILENT)], vec![], Some(true)),
        // It says so of another server, which tells nothing of this one.
        (
            vec![kernel("03:34:00", SILENT)],
            vec![kernel("03:39:00", "nfs: server 10.0.0.6 OK")],
            Some(true),
        ),
        // It answers before the calls time out, or after.
        (
            vec![kernel("03:20:00", SILENT), kernel("03:34:00", ANSWERS)],
            vec![],
            None,
        ),
        (
            vec![kernel("03:34:00", SILENT)],
            vec![kernel("03:39:00", ANSWERS)],
            Some(false),
        ),
        // It falls silent only then, or was heard of long before.
        (vec![], vec![kernel("03:39:00", SILENT)], None),
        (vec![kernel("02:00:00", SILENT)], vec![], None),
    ] {
        let mut lines = before.clone();
        lines.push(status_deadline("03:37:51", ID));
        lines.extend(after.clone());
        lines.push(status_deadline("03:39:51", ID));
        let findings = found(&lines);
        let finding = of(&findings, "network-storage");
        assert_eq!(finding.map(|it| it.active), active, "{lines:#?}");
        assert!(finding.is_none_or(|it| it.confidence == Confidence::Suspected));
    }
}

#[test]
fn a_silent_server_alone_is_nothing() {
    let lines = [kernel("03:34:00", SILENT), ready("03:35:00")];
    assert!(found(&lines).is_empty());
}

#[test]
fn a_disk_that_fails_is_suspected_only_right_before_calls_time_out() {
    let fails = "blk_update_request: I/O error, dev sda, sector 2048 op 0x1:(WRITE)";
    let journal = "INFO: task jbd2/sda1-8:412 blocked for more than 120 seconds.";
    let other = "INFO: task app:7781 blocked for more than 120 seconds.";
    for (line, expected) in [
        (kernel("03:34:00", fails), true),
        (kernel("03:34:00", journal), true),
        (kernel("03:34:00", other), false),
        (kernel("01:34:00", fails), false),
    ] {
        let lines = [
            line.clone(),
            status_deadline("03:37:51", ID),
            status_deadline("03:39:51", ID),
        ];
        let findings = found(&lines);
        let finding = of(&findings, "disk-saturated");
        assert_eq!(finding.is_some(), expected, "{line}");
        assert!(finding.is_none_or(|it| it.confidence == Confidence::Suspected));
    }
}

#[test]
fn whom_the_kernel_killed_is_named_and_each_kill_counts_once() {
    let mut lines = vec![
        kernel(
            "03:30:00",
            "Out of memory: Killed process 4711 (java) total-vm:9kB",
        ),
        line("03:30:00", "Got sys oom event from cadvisor: &{4711 java}"),
        kernel(
            "03:30:20",
            "Out of memory: Killed process 1201 (dockerd) total-vm:9kB",
        ),
        line(
            "03:30:20",
            "Got sys oom event from cadvisor: &{1201 dockerd}",
        ),
    ];
    lines.extend(outage());
    let findings = found(&lines);
    let starved = of(&findings, "memory-starved").unwrap();
    assert!(
        starved
            .explanation
            .contains("killed java, dockerd for it (2 times, "),
        "{}",
        starved.explanation
    );
    assert!(
        starved
            .explanation
            .contains("dockerd is the runtime's daemon")
    );
}

#[test]
fn words_of_fork_and_of_the_bus_are_believed_when_they_come_again() {
    let fork = "RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = fork/exec /usr/bin/runc: resource temporarily unavailable";
    let memory = "RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = fork/exec /usr/bin/runc: cannot allocate memory";
    let bus = "RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = Failed to activate service 'org.freedesktop.systemd1': timed out";
    let there = "RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = unable to start unit \"a.scope\": Unit a.scope already exists.";
    for (text, id, times, expected) in [
        (fork, "tasks-exhausted", 3, true),
        (fork, "tasks-exhausted", 2, false),
        (memory, "tasks-exhausted", 9, false),
        (bus, "systemd-unresponsive", 2, true),
        (bus, "systemd-unresponsive", 1, false),
        (there, "systemd-unresponsive", 9, false),
    ] {
        let mut lines: Vec<_> = (0..times)
            .map(|n| line(&format!("03:37:{n:02}"), text))
            .collect();
        lines.extend(outage());
        let findings = found(&lines);
        let finding = of(&findings, id);
        assert_eq!(finding.is_some(), expected, "{times} times {text}");
        // What the words name is not unexplained.
        let unexplained = of(&findings, "pleg-unexplained").is_some();
        assert_eq!(unexplained, !expected, "{times} times {text}");
        if let Some(finding) = finding {
            assert_eq!(
                (finding.severity, finding.confidence, finding.active),
                (Severity::Critical, Confidence::Suspected, true)
            );
        }
    }
}

#[test]
fn what_a_call_said_is_over_once_pods_go_on() {
    let fork = "RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = fork/exec /usr/bin/runc: resource temporarily unavailable";
    let mut lines: Vec<_> = (0..4)
        .map(|n| line(&format!("03:37:{n:02}"), fork))
        .collect();
    lines.push(ready("03:40:00"));
    let findings = found(&lines);
    let tasks = of(&findings, "tasks-exhausted").unwrap();
    assert!(!tasks.active && tasks.remedies.is_empty(), "{tasks:#?}");
}

#[test]
fn a_kubelet_that_ends_again_and_again_is_no_matter_of_the_pleg() {
    let ended = "kubelet.service: Main process exited, code=dumped, status=6/ABRT";
    let stopped = "kubelet.service: Main process exited, code=killed, status=15/TERM";
    for (text, times, expected) in [(ended, 3, true), (ended, 2, false), (stopped, 9, false)] {
        let mut lines = vec![ready("03:30:00")];
        lines.extend((0..times).map(|n| systemd(&format!("03:37:{n:02}"), text)));
        lines.push(line(
            "03:37:20",
            "\"Kubelet version\" kubeletVersion=\"v1.28.9\"",
        ));
        let findings = found(&lines);
        let finding = of(&findings, "not-pleg");
        assert_eq!(
            finding.is_some_and(|it| it.active),
            expected,
            "{times} times {text}"
        );
    }
}

#[test]
fn systemds_word_on_the_runtimes_end_is_cited_where_its_socket_refuses() {
    let refused = "ListPodSandbox with filter nil from runtime service failed: rpc error: code = Unavailable desc = dial unix /run/containerd/containerd.sock: connect: connection refused";
    let mut lines = vec![
        systemd(
            "03:36:00",
            "containerd.service: Main process exited, code=killed, status=9/KILL",
        ),
        line("03:36:01", refused),
        line("03:38:50", refused),
    ];
    lines.extend(outage());
    let findings = found(&lines);
    let down = of(&findings, "runtime-down").unwrap();
    assert!(
        down.explanation.ends_with(
            "systemd saw containerd.service end at 03:36:00 (code=killed, status=9/KILL)."
        ),
        "{}",
        down.explanation
    );
    assert!(down.citations.iter().any(|it| it.text.contains("9/KILL")));
}
