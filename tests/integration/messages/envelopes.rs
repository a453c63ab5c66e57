//! What stands around a message: each form gives the same events, with the times and hosts that it tells.

use super::{KLOG, read, shown_all, spelled, time};

/// Three messages: unstructured, structured, and structured with a block of lines.
const STOP: &str = r#"StopPodSandbox "SID" from runtime service failed: DEADLINE"#;
const STATUS: &str = r#""PodSandboxStatus of sandbox for pod" err="DEADLINE" podSandboxID="SID" pod="default/web-2""#;

const EXPECTED: &str = "stop-sandbox-failed s:b15929dfcea1 Deadline; \
    sandbox-status-failed default/web-2 s:b15929dfcea1 Deadline";

fn lines() -> [String; 2] {
    [STOP, STATUS].map(|message| spelled(&format!("{KLOG}{message}")))
}

fn json_string(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn text_in_front_is_taken_off() {
    for (prefix, host) in [
        ("", None),
        ("Mar 14 09:26:53 worker-3 kubelet[2261]: ", Some("worker-3")),
        (
            "Mar 14 09:26:53.589793 worker-3 kubelet[2261]: ",
            Some("worker-3"),
        ),
        (
            "2023-03-14T09:26:53+0000 worker-3 kubelet[2261]: ",
            Some("worker-3"),
        ),
        (
            "2023-03-14T09:26:53.589793+00:00 worker-3 kubelet[2261]: ",
            Some("worker-3"),
        ),
        (
            "Tue 2023-03-14 09:26:53 UTC worker-3 kubelet[2261]: ",
            Some("worker-3"),
        ),
        (
            "Tue 2023-03-14 09:26:53 UTC worker-3 kubelet.service[2261]: ",
            Some("worker-3"),
        ),
        (
            "1678786013.589793 worker-3 kubelet[2261]: ",
            Some("worker-3"),
        ),
        ("[792882.470286] worker-3 kubelet[2261]: ", Some("worker-3")),
        (
            "<30>1 2023-03-14T09:26:53.589800Z worker-3 kubelet 2261 - - ",
            Some("worker-3"),
        ),
        (
            "<30>Mar 14 09:26:53 worker-3 kubelet[2261]: ",
            Some("worker-3"),
        ),
        (
            "Mar 14 09:26:53 worker-3.example.org kubelet: ",
            Some("worker-3.example.org"),
        ),
        ("Mar 14 09:26:53 kubelet[2261]: ", None),
        ("Mar 14 09:26:53 worker-3 k3s[1636]: ", Some("worker-3")),
        (
            "Mar 14 09:26:53 worker-3 rke2-server[1636]: ",
            Some("worker-3"),
        ),
        ("10月 07 18:12:48 node1 kubelet[62982]: ", Some("node1")),
        ("15:16:22 node3 kubelet[812]: ", Some("node3")),
        ("2023-03-14T09:26:53.589793123Z stderr F ", None),
        ("2023-03-14T09:26:53.589793123Z ", None),
    ] {
        let log: Vec<String> = lines()
            .iter()
            .map(|line| format!("{prefix}{line}"))
            .collect();
        let (events, told) = read(log.join("\n"));
        assert_eq!(shown_all(&events), EXPECTED, "{prefix}");
        assert_eq!(
            told.hosts.iter().map(String::as_str).collect::<Vec<_>>(),
            Vec::from_iter(host),
            "{prefix}"
        );
        assert_eq!(
            events[0].at,
            Some(time("2023-03-14T09:26:53.589793Z")),
            "{prefix}"
        );
        assert!(told.of_kubelet, "{prefix}");
    }
}

#[test]
fn objects_around_a_line_are_opened() {
    type Wrap = fn(&str) -> String;
    let wraps: [(&str, Wrap); 6] = [
        ("docker", |line| {
            format!(
                r#"{{"log":{},"stream":"stderr","time":"2023-03-14T09:26:53.589793123Z"}}"#,
                json_string(&format!("{line}\n"))
            )
        }),
        ("docker with attributes", |line| {
            format!(
                r#"{{"log":{},"stream":"stderr","attrs":{{"a":"b"}},"time":"2023-03-14T09:26:53.6Z"}}"#,
                json_string(&format!("{line}\n"))
            )
        }),
        ("journal json", |line| {
            format!(
                r#"{{"_HOSTNAME":"worker-3","MESSAGE":{},"SYSLOG_IDENTIFIER":"kubelet","__REALTIME_TIMESTAMP":"1678786013590000","PRIORITY":"6"}}"#,
                json_string(line)
            )
        }),
        ("journal json-sse", |line| {
            format!(
                "data: {{\"__REALTIME_TIMESTAMP\":\"1678786013590000\",\"_SYSTEMD_UNIT\":\"kubelet.service\",\"MESSAGE\":{}}}\n",
                json_string(line)
            )
        }),
        ("journal json-seq", |line| {
            format!(
                "\u{1e}{{\"__REALTIME_TIMESTAMP\":\"1678786013590000\",\"SYSLOG_IDENTIFIER\":\"kubelet\",\"MESSAGE\":{}}}",
                json_string(line)
            )
        }),
        ("journal json-pretty", |line| {
            format!(
                "{{\n\t\"__REALTIME_TIMESTAMP\" : \"1678786013590000\",\n\t\"MESSAGE\" : {},\n\t\"SYSLOG_IDENTIFIER\" : \"kubelet\"\n}}",
                json_string(line)
            )
        }),
    ];
    for (name, wrap) in wraps {
        let log: Vec<String> = lines().iter().map(|line| wrap(line)).collect();
        let (events, _) = read(log.join("\n"));
        assert_eq!(shown_all(&events), EXPECTED, "{name}");
        assert_eq!(
            events[0].at,
            Some(time("2023-03-14T09:26:53.589793Z")),
            "{name}"
        );
        assert!(events[0].exact && events[0].received.is_some(), "{name}");
    }
}

#[test]
fn journal_entries_of_several_lines_are_put_together() {
    let [first, second] = lines();
    let export = format!(
        "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1678786013590000\n_HOSTNAME=worker-3\nMESSAGE={first}\nSYSLOG_IDENTIFIER=kubelet\n\n\
         __CURSOR=s=2\n__REALTIME_TIMESTAMP=1678786013590000\nSYSLOG_IDENTIFIER=dockerd\nMESSAGE={first}\n\n\
         __CURSOR=s=3\n__REALTIME_TIMESTAMP=1678786013590000\n_SYSTEMD_UNIT=kubelet.service\nMESSAGE={second}\n"
    );
    let verbose = format!(
        "Tue 2023-03-14 09:26:53.590000 UTC [s=a;i=1;b=c;m=d;t=e;x=f]\n    _HOSTNAME=worker-3\n    SYSLOG_IDENTIFIER=kubelet\n    MESSAGE={first}\n    _PID=2261\n\
         Tue 2023-03-14 09:26:53.590000 UTC [s=a;i=2;b=c;m=d;t=e;x=f]\n    SYSLOG_IDENTIFIER=kube-proxy\n    MESSAGE={first}\n\
         Tue 2023-03-14 09:26:53.590000 UTC [s=a;i=3;b=c;m=d;t=e;x=f]\n    MESSAGE={second}\n    SYSLOG_IDENTIFIER=kubelet\n"
    );
    for (name, log) in [("export", export), ("verbose", verbose)] {
        let (events, told) = read(&log);
        assert_eq!(shown_all(&events), EXPECTED, "{name}");
        assert!(told.hosts.contains("worker-3"), "{name}");
        assert_eq!(
            events[1].at,
            Some(time("2023-03-14T09:26:53.589793Z")),
            "{name}"
        );
    }
}

#[test]
fn a_counted_block_of_the_export_format_may_hold_newlines() {
    // Ten bytes of padding make the length's first byte a newline in one of the two.
    for padding in ["", "1234567890"] {
        let message = format!(
            "{KLOG}\"ExecSync cmd from runtime service failed\" err=<\n\trpc error: code = Unknown desc = {padding}\n\tcontext deadline exceeded\n > containerID=\"{}\"",
            super::CID
        );
        let mut log = b"__CURSOR=s=1\nSYSLOG_IDENTIFIER=kubelet\nMESSAGE\n".to_vec();
        log.extend(u64::try_from(message.len()).unwrap().to_le_bytes());
        log.extend(message.as_bytes());
        log.extend(b"\n__REALTIME_TIMESTAMP=1678786013590000\n\n");
        let (events, _) = read(&log);
        assert_eq!(
            shown_all(&events),
            "exec-sync-failed c:16f838fe6438 Deadline"
        );
    }
    let mut log = b"__CURSOR=s=1\nBINARY\n".to_vec();
    log.extend(10_u64.to_le_bytes());
    log.extend(b"0123\n56789\n\n");
    log.extend(lines()[0].as_bytes());
    assert_eq!(read(&log).0.len(), 1);
}

#[test]
fn multi_line_values_are_read_in_every_form() {
    let block = [
        "\"ExecSync cmd from runtime service failed\" err=<",
        "\trpc error: code = Unknown desc = failed to exec in container:",
        "\tcontext deadline exceeded",
        " > containerID=\"CID\" cmd=[\"/bin/true\"]",
    ];
    let expected = "exec-sync-failed c:16f838fe6438 '[\"/bin/true\"]' Deadline";
    let plain = format!("{KLOG}{}", block.join("\n"));
    let prefix = "Mar 14 09:26:53 worker-3 kubelet[2261]: ";
    let entries = format!("{prefix}{KLOG}{}", block.join(&format!("\n{prefix}")));
    let indent = " ".repeat(prefix.len());
    let indented = format!("{prefix}{KLOG}{}", block.join(&format!("\n{indent}")));
    let octal = format!("{prefix}{KLOG}{}", block.join("#012").replace('\t', "#011"));
    let backslash = format!(
        "{prefix}{KLOG}{}",
        block.join("\\012").replace('\t', "\\011")
    );
    let cri = format!(
        "2023-03-14T09:26:53Z stderr F {KLOG}{}",
        block.join("\n2023-03-14T09:26:53Z stderr F ")
    );
    for (name, log) in [
        ("plain", plain),
        ("entries", entries),
        ("indented", indented),
        ("octal", octal),
        ("backslash", backslash),
        ("cri", cri),
    ] {
        let log = spelled(&format!("{log}\n{KLOG}Starting kubelet main sync loop."));
        assert_eq!(
            shown_all(&read(log).0),
            format!("{expected}; syncloop-start"),
            "{name}"
        );
    }
}

#[test]
fn an_old_message_may_hold_raw_newlines() {
    let log = spelled(&format!(
        "{KLOG}Error syncing pod <UID> (\"web-2_default(<UID>)\"), skipping: failed to \"KillContainer\" for \"app\" with KillContainerError: \"x\"\n, failed to \"KillPodSandbox\" for \"<UID>\" with KillPodSandboxError: \"DEADLINE\"\n\n{KLOG}Nothing known"
    ));
    assert_eq!(
        shown_all(&read(log).0),
        "pod-sync-error default/web-2 uid Deadline"
    );
}

#[test]
fn lines_that_a_container_log_split_are_joined() {
    let line = spelled(&format!("{KLOG}{STATUS}"));
    let (first, rest) = line.split_at(120);
    let (second, third) = rest.split_at(40);
    let docker = |part: &str| {
        format!(
            r#"{{"log":{},"stream":"stderr","time":"2023-03-14T09:26:53Z"}}"#,
            json_string(part)
        )
    };
    let parts = [docker(first), docker(second), docker(&format!("{third}\n"))].join("\n");
    let cri = format!(
        "2023-03-14T09:26:53Z stderr P {first}\n2023-03-14T09:26:53Z stderr P {second}\n2023-03-14T09:26:53Z stderr F {third}"
    );
    for log in [parts, cri] {
        let (events, _) = read(&log);
        assert_eq!(
            shown_all(&events),
            "sandbox-status-failed default/web-2 s:b15929dfcea1 Deadline"
        );
        assert_eq!(events[0].citation.line, Some(1));
    }
}

#[test]
fn json_records_of_every_release_are_read() {
    for (record, expected) in [
        // 1.19 to 1.21: the whole text in `msg`.
        (
            r#"{"ts":1678786013589.793,"msg":"StopPodSandbox \"SID\" from runtime service failed: DEADLINE\n","v":0}"#,
            "stop-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#"{"ts":1678786013589.793,"msg":"skipping pod synchronization - [container runtime is down, PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s]\n","v":0}"#,
            "skip-sync; runtime-down in:skip-sync; pleg-stale lag:181000ms limit:180s in:skip-sync",
        ),
        // Keys since.
        (
            r#"{"ts":1678786013589.793,"caller":"kuberuntime/kuberuntime_manager.go:979","msg":"PodSandboxStatus of sandbox for pod","podSandboxID":"SID","pod":{"name":"web-2","namespace":"default"},"err":"DEADLINE"}"#,
            "sandbox-status-failed default/web-2 s:b15929dfcea1 Deadline",
        ),
        (
            r#"{"ts":1678786013589.793,"caller":"kubelet/kubelet.go:2406","msg":"Skipping pod synchronization","err":"PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s","errCauses":[{"error":"PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s"}]}"#,
            "skip-sync; pleg-stale lag:184200ms limit:180s in:skip-sync",
        ),
        (
            r#"{"ts":1678786013589.793,"logger":"x","caller":"a.go:1","msg":"SyncLoop REMOVE","v":2,"source":"api","pods":[{"name":"web-2","namespace":"default"},{"name":"db","namespace":"prod"}]}"#,
            "pod-removed default/web-2 'REMOVE'; pod-removed prod/db 'REMOVE'",
        ),
        (
            r#"{"ts":1678786013589.793,"msg":"Node became not ready","v":0,"node":{"name":"worker-3"},"condition":{"type":"Ready","status":"False","lastHeartbeatTime":null,"reason":"KubeletNotReady","message":"container runtime is down"}}"#,
            "node-not-ready node:worker-3 'KubeletNotReady' Other; runtime-down in:node-not-ready",
        ),
    ] {
        let record = spelled(record);
        for line in [
            record.clone(),
            format!("10.200.1.3: {record}"),
            format!("Mar 14 09:26:53 worker-3 kubelet[2261]: {record}"),
        ] {
            let (events, _) = read(&line);
            assert_eq!(shown_all(&events), expected, "{line}");
            assert!(events[0].exact, "{line}");
            assert_eq!(
                events[0].at.unwrap().timestamp_millis(),
                1_678_786_013_589,
                "{line}"
            );
        }
    }
}

#[test]
fn only_the_kubelets_own_lines_count() {
    let [stop, _] = lines();
    let log = [
        format!("Mar 14 09:26:53 worker-3 kube-proxy[2261]: {stop}"),
        format!("Mar 14 09:26:53 worker-3 kube-apiserver[2261]: {stop}"),
        format!("Mar 14 09:26:53 worker-3 cri-dockerd[2261]: {stop}"),
        format!("Mar 14 09:26:53 worker-3 containerd[2261]: time=\"2023-03-14T09:26:53Z\" level=error msg=\"{}\"", "PLEG is not healthy: pleg was last seen active"),
        "Mar 14 09:26:53 worker-3 k3s[1636]: time=\"2023-03-14T09:26:54Z\" level=info msg=\"ListContainers failed: x\"".to_owned(),
        "Mar 14 09:26:53 worker-3 node-problem-detector[1]: I0314 09:26:53.589793    2261 log.go:1] PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s".to_owned(),
        format!("Mar 14 09:26:53 worker-3 k3s[1636]: {stop}"),
    ]
    .join("\n");
    let (events, told) = read(log);
    assert_eq!(
        shown_all(&events),
        "stop-sandbox-failed s:b15929dfcea1 Deadline"
    );
    assert_eq!((told.lines, told.hosts.len()), (7, 1));
}

#[test]
fn the_ready_condition_is_read_as_people_paste_it() {
    let stale = "PLEG is not healthy: pleg was last seen active 3m59.3s ago; threshold is 3m0s";
    let row = format!(
        "  Ready            False   Fri, 28 Jun 2019 10:19:21 +0800   Fri, 28 Jun 2019 09:19:21 +0800   KubeletNotReady              {stale}"
    );
    let object = format!(
        r#"{{"lastHeartbeatTime":"2019-06-28T02:19:21Z","lastTransitionTime":"2019-06-28T01:19:21Z","message":"{stale}","reason":"KubeletNotReady","status":"False","type":"Ready"}}"#
    );
    let node =
        format!(r#"{{"apiVersion":"v1","kind":"Node","status":{{"conditions":[{object}]}}}}"#);
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&node).unwrap())
            .unwrap();
    let list = format!(
        "[\n  {}\n]",
        object.replace(',', ",\n    ").replace(":\"", ": \"")
    );
    for log in [row, object, node, pretty, list] {
        let (events, _) = read(&log);
        assert_eq!(
            shown_all(&events),
            "ready-condition 'KubeletNotReady' Other; pleg-stale lag:239300ms limit:180s in:ready-condition",
            "{log}"
        );
        assert_eq!(events[0].at, Some(time("2019-06-28T02:19:21Z")), "{log}");
    }
}

#[test]
fn a_condition_that_the_kubelet_did_not_report_is_no_pleg_case() {
    let row = "  Ready            Unknown   Fri, 28 Jun 2019 10:19:21 +0800   Fri, 28 Jun 2019 10:19:21 +0800   NodeStatusUnknown   Kubelet stopped posting node status. PLEG is not healthy: pleg has yet to be successful";
    assert_eq!(
        shown_all(&read(row).0),
        "ready-condition 'NodeStatusUnknown' Other"
    );
    let good = "  Ready  True  Fri, 28 Jun 2019 10:19:21 +0800  Fri, 28 Jun 2019 10:19:21 +0800  KubeletReady  kubelet is posting ready status";
    assert_eq!(
        shown_all(&read(good).0),
        "ready-condition 'KubeletReady' Other"
    );
    let pod = r#"{"type":"Ready","status":"False","reason":"KubeletNotReady","message":"PLEG is not healthy: pleg has yet to be successful"}"#;
    assert_eq!(shown_all(&read(pod).0), "");
}

#[test]
fn losses_and_hosts_are_told() {
    let (_, told) = read(
        "Log file created at: 2023/03/14 09:00:00\nRunning on machine: worker-3\nBinary: Built with gc go1.15.7 for linux/amd64\n\
         Mar 14 09:26:53 worker-4 systemd-journald[1]: Suppressed 123 messages from kubelet.service\n\
         Mar 14 09:26:53 worker-4 systemd-journald[1]: Suppressed 99 messages from sshd.service\n\
         Mar 14 09:26:53 worker-4 rsyslogd: imjournal: begin to drop messages due to rate-limiting\n\
         Mar 14 09:26:53 worker-4 rsyslogd-2177: imuxsock lost 7 messages from pid 2261 due to rate-limiting",
    );
    assert_eq!(
        told.losses,
        [
            "Suppressed 123 messages from kubelet.service",
            "imjournal: begin to drop messages due to rate-limiting",
            "imuxsock lost 7 messages from pid 2261 due to rate-limiting",
        ]
    );
    assert!(told.hosts.contains("worker-3"));
}
