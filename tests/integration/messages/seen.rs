//! Texts as people posted them, each with what is to be read from it: joined lists, torn and cut lines, quotes within
//! quotes, what else stands in a kubelet's log.

use super::{CID, DEADLINE, KLOG, SID, read, shown, shown_all, spelled, time};
use plegdoctor::syntax::klog::Severity;

const STALE: &str = "PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s";
const STALE_SHOWN: &str = "pleg-stale lag:184200ms limit:180s in:skip-sync";

/// Checks each text behind a klog header, alone in its log.
fn check(rows: &[(&str, &str)]) {
    for (message, expected) in rows {
        let message = message.replace("STALE", STALE);
        let (events, _) = read(spelled(&format!("{KLOG}{message}")));
        let expected = expected.replace("STALE", STALE_SHOWN);
        assert_eq!(shown_all(&events), expected, "{message}");
    }
}

#[test]
fn lags_are_read_to_the_digit_and_what_a_person_typed_is_none() {
    for (lag, shown) in [
        (
            "32m28.9290039s ago; threshold is 3m0s]",
            "lag:1948929ms limit:180s",
        ),
        (
            "9h14m3.5466392s ago; threshold is 3m0s]",
            "lag:33243546ms limit:180s",
        ),
        ("3m7.5s ago; threshold is 3m0s.", "lag:187500ms limit:180s"),
        ("3m7.5s ago; threshold is 3m0s.]", "lag:187500ms limit:180s"),
        ("~30m ago; threshold is 3m0s", "limit:180s"),
        ("3m7.5s ago; threshold is 3m0", "lag:187500ms limit:180s"),
    ] {
        let line = format!(
            "{KLOG}skipping pod synchronization - [PLEG is not healthy: pleg was last seen active {lag}"
        );
        assert_eq!(
            shown_all(&read(line).0),
            format!("skip-sync; pleg-stale {shown} in:skip-sync"),
            "{lag}"
        );
    }
}

#[test]
fn reasons_are_read_in_any_number_order_and_dress() {
    check(&[
        ("skipping pod synchronization - STALE", "skip-sync; STALE"),
        ("skipping pod synchronization - [STALE]", "skip-sync; STALE"),
        (
            "skipping pod synchronization - [container runtime is down STALE]",
            "skip-sync; runtime-down in:skip-sync; STALE",
        ),
        (
            "skipping pod synchronization - [container runtime is down, STALE, container runtime not ready: RuntimeReady=false reason:DockerDaemonNotReady message:docker: DEADLINE]",
            "skip-sync; runtime-down in:skip-sync; STALE; runtime-not-ready 'DockerDaemonNotReady' Deadline in:skip-sync",
        ),
        (
            "skipping pod synchronization - [container runtime status check may not have completed yet., STALE.]",
            "skip-sync; runtime-status-pending in:skip-sync; STALE",
        ),
        (
            r#""Skipping pod synchronization" err="container runtime is down""#,
            "skip-sync; runtime-down in:skip-sync",
        ),
        (
            "skipping pod synchronization - [container runtime is down]",
            "skip-sync; runtime-down in:skip-sync",
        ),
    ]);
}

#[test]
fn a_record_whose_error_is_a_list_names_each_reason_once() {
    let record = format!(
        r#"{{"ts":1753121301813.3005,"caller":"kubelet/kubelet.go:2456","msg":"Skipping pod synchronization","err":"[container runtime is down, {STALE}]","errCauses":[{{"error":"container runtime is down"}},{{"error":"{STALE}"}}]}}"#
    );
    let (events, _) = read(record);
    assert_eq!(
        shown_all(&events),
        format!("skip-sync; runtime-down in:skip-sync; {STALE_SHOWN}")
    );
    assert_eq!(events[0].at, Some(time("2025-07-21T18:08:21.813300Z")));
}

#[test]
fn quotes_within_quotes_and_keys_within_values_stay_in_their_value() {
    check(&[
        (
            r#""Error syncing pod, skipping" err="failed to \"StartContainer\" for \"app\" with RunContainerError: \"failed to start container \\\"CID\\\": Error response from daemon: OCI runtime create failed: container_linux.go:345: starting container process caused \\\"process_linux.go:303: getting the final child's pid from pipe caused \\\\\\\"EOF\\\\\\\"\\\": unknown\"" pod="default/web-2" podUID=<UID>"#,
            "pod-sync-error default/web-2 uid Other",
        ),
        (
            r#""StopPodSandbox from runtime service failed" err="rpc error: code = Unknown desc = got podSandboxID=\"aaaaaaaaaaaa\" pod=\"kube-system/other\": context deadline exceeded" podSandboxID="SID""#,
            "stop-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#"RemoveContainer "CID" from runtime service failed: rpc error: code = 2 desc = failed to remove container "CID": Error response from daemon: {"message":"Unable to remove filesystem for CID: remove /var/lib/docker/containers/CID/shm: device or resource busy"}"#,
            "remove-container-failed c:16f838fe6438 Busy",
        ),
    ]);
    let line = format!(
        r#"{KLOG}"Error syncing pod, skipping" err="failed to \"StartContainer\" with RunContainerError: \"caused \\\"EOF\\\"\"" pod="default/web-2""#
    );
    let (events, _) = read(line);
    assert_eq!(
        &*events[0].error.as_ref().unwrap().text,
        r#"failed to "StartContainer" with RunContainerError: "caused \"EOF\"""#
    );
}

#[test]
fn lost_blanks_do_not_change_what_an_error_is() {
    check(&[
        (
            r#""GenericPLEG: Unable to retrieve pods" err="rpcerror: code = Unavailabledesc = connection error: desc = \"transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused\"""#,
            "relist-failed Unavailable",
        ),
        (
            r#""GenericPLEG: Unable to retrieve pods" err="rpcerror: code = DeadlineExceededdesc = contextdeadline exceeded""#,
            "relist-failed Deadline",
        ),
    ]);
}

#[test]
fn structs_of_go_and_conditions_as_json_are_read() {
    check(&[
        (
            "ListPodSandbox with filter &PodSandboxFilter{Id:,State:&PodSandboxStateValue{State:SANDBOX_READY,},LabelSelector:map[string]string{},} from runtime service failed: DEADLINE",
            "list-sandboxes-failed Deadline",
        ),
        (
            r#""killPodWithSyncResult failed" err="failed to \"KillPodSandbox\" for \"<UID>\" with KillPodSandboxError: \"DEADLINE\"""#,
            "kill-pod-failed uid Deadline",
        ),
        (
            r#""Failed to stop sandbox" podSandboxID={Type:containerd ID:SID}"#,
            "stop-sandbox-failed s:b15929dfcea1",
        ),
        (
            r#""Node became not ready" node="worker-3" condition={"type":"Ready","status":"False","lastHeartbeatTime":null,"lastTransitionTime":null,"reason":"KubeletNotReady","message":"container runtime is down"}"#,
            "node-not-ready node:worker-3 'KubeletNotReady' Other; runtime-down in:node-not-ready",
        ),
    ]);
}

#[test]
fn a_pod_written_in_any_of_four_ways_is_one_pod() {
    let static_uid = "de17858b93b5459e01e9992c835cd6a8";
    check(&[
        (
            r#"PodSandboxStatus of sandbox "SID" for pod "web-2_default(<UID>)" error: DEADLINE"#,
            "sandbox-status-failed default/web-2 uid s:b15929dfcea1 Deadline",
        ),
        (
            r#""PodSandboxStatus of sandbox for pod" err="DEADLINE" podSandboxID="SID" pod="default/web-2""#,
            "sandbox-status-failed default/web-2 s:b15929dfcea1 Deadline",
        ),
        (
            "PLEG: Ignoring events for pod web-2/default: DEADLINE",
            "pleg-inspect-failed default/web-2 Deadline",
        ),
        (
            r#"getPodContainerStatuses for pod "web-2_default" failed: DEADLINE"#,
            "pod-containers-status-failed default/web-2 Deadline",
        ),
        (
            &format!(
                r#"getPodContainerStatuses for pod "etcd-n1_kube-system({static_uid})" failed: DEADLINE"#
            ),
            &format!("pod-containers-status-failed kube-system/etcd-n1 {static_uid} Deadline"),
        ),
    ]);
}

#[test]
fn a_condition_tells_its_zone_by_any_abbreviation() {
    for (suffix, klog, expected) in [
        ("+0800 CST", "0803 22:33:00", "2020-08-03T22:33:00+08:00"),
        ("-0700 PDT", "0803 07:33:00", "2020-08-03T07:33:00-07:00"),
        ("+0100 CET", "0803 15:33:00", "2020-08-03T15:33:00+01:00"),
    ] {
        let hour = &klog[5..];
        let line = format!(
            "I{klog}.000000    2261 setters.go:1] Node became not ready: {{Type:Ready Status:False LastHeartbeatTime:2020-08-03 {hour}.895519165 {suffix} m=+1885571.887843195 LastTransitionTime:2020-08-03 {hour}.895519165 {suffix} m=+1885571.887843195 Reason:KubeletNotReady Message:container runtime is down}}"
        );
        let (events, told) = read(line);
        assert_eq!(events[0].at, Some(time(expected)), "{suffix}");
        assert!(!told.guessed_times, "{suffix}");
    }
}

#[test]
fn months_in_french_and_a_time_alone_on_its_line_hide_nothing() {
    let message = format!("{KLOG}skipping pod synchronization - {STALE}");
    for log in [
        format!("sept. 20 09:26:53 node-1 kubelet[2261]: {message}"),
        format!("juin 10 09:26:53 node-1 kubelet[2261]: {message}"),
        format!("15:16:22 node3 kubelet[2261]: {message}"),
        format!("Jun  8 09:26:53 node-1 kubelet[2261]: {message}"),
        format!("09:26:53\n{message}"),
        format!("09:26:53\nskipping pod synchronization - {STALE}"),
        // A cloud's page of logs, glued to klog.
        format!("10/6/2016 1:57:44 PM{message}"),
    ] {
        let (events, told) = read(&log);
        assert_eq!(
            shown_all(&events),
            format!("skip-sync; {STALE_SHOWN}"),
            "{log}"
        );
        // Without a header and a program's name nobody knows whose line it is.
        let is_named = log.contains(KLOG);
        assert_eq!(told.of_kubelet, is_named, "{log}");
    }
}

#[test]
fn the_kubelet_is_known_by_every_name_it_goes_by_and_docker_by_its_own() {
    let message = format!("{KLOG}skipping pod synchronization - {STALE}");
    for (tag, is_kubelet) in [
        ("kubelet[1]:", true),
        ("kubelet-wrapper[1]:", true),
        ("k3s[1]:", true),
        ("origin-node[1]:", true),
        ("kubelet-containerd.sh[1]:", true),
        ("start_kubelet.sh: ", true),
        ("[kubelet]:", true),
        ("rke2[1]:", true),
        ("edged[1]:", true),
        ("env[1]:", false),
        ("dockerd-current[1]:", false),
    ] {
        let (events, _) = read(format!("Mar 14 09:26:53 worker-3 {tag} {message}"));
        assert_eq!(!events.is_empty(), is_kubelet, "{tag}");
    }
}

#[test]
fn lines_that_a_pager_cut_say_what_is_left_of_them() {
    for (line, expected) in [
        (
            "skipping pod synchronization - [container runtime is down, PLEG is not healthy: pleg was last seen active 3m4.2s ago; thre>",
            "skip-sync; runtime-down in:skip-sync; pleg-stale lag:184200ms in:skip-sync",
        ),
        (
            "skipping pod synchronization - [container runtime is down, PLEG is not healthy: pleg was last seen act…threshold is 3m0s]",
            "skip-sync; runtime-down in:skip-sync; pleg-stale limit:180s in:skip-sync",
        ),
        (
            "skipping pod synchronization - [container runtime is down, PLEG is not healthy: pleg was last seen active 3m…hold is 3m0s]",
            "skip-sync; runtime-down in:skip-sync; pleg-stale in:skip-sync",
        ),
        (
            // Two digits of the seconds may be gone: no lag is better than a wrong one.
            "skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 3m4…",
            "skip-sync; pleg-stale in:skip-sync",
        ),
        ("[3B blob data]", ""),
    ] {
        let line = format!("Mar 14 09:26:53 worker-3 kubelet[2261]: {KLOG}{line}");
        assert_eq!(shown_all(&read(&line).0), expected, "{line}");
    }
}

#[test]
fn lines_that_a_pager_cut_are_counted() {
    let line = format!("{KLOG}skipping pod synchronization - {STALE}");
    let cut = format!("{}>", &line[..120]);
    let (_, told) = read(format!("{cut}\n{cut}\n{line}"));
    assert_eq!(told.truncated, 2);
    // One alone is cut for sure where its last sign closes nothing.
    let (_, told) = read(format!("{line}\n{cut}\n{line}"));
    assert_eq!(told.truncated, 1);
    let (_, told) = read(format!("{line}\n{line} <html>\n{line}"));
    assert_eq!(told.truncated, 0);
}

#[test]
fn a_reason_that_a_terminals_width_broke_is_mended() {
    let line = format!("{KLOG}skipping pod synchronization - {STALE}");
    for width in [80, 86, 100] {
        let (first, second) = line.split_at(width);
        let (events, _) = read(format!("{first}\n{second}\n{line}"));
        let once = format!("skip-sync; {STALE_SHOWN}");
        assert_eq!(shown_all(&events), format!("{once}; {once}"), "{width}");
    }
    let status = format!(
        "{KLOG}PodSandboxStatus of sandbox \"{}\n{}\" for pod \"web-2_default(<UID>)\" error: {DEADLINE}",
        &SID[..20],
        &SID[20..]
    );
    assert_eq!(
        shown_all(&read(spelled(&status)).0),
        "sandbox-status-failed default/web-2 uid s:b15929dfcea1 Deadline"
    );
    let words = line.replacen("healthy: pleg was", "healthy: pleg\nwas", 1);
    assert_eq!(
        shown_all(&read(words).0),
        format!("skip-sync; {STALE_SHOWN}")
    );
}

#[test]
fn what_else_stands_in_a_kubelets_log_hides_no_message() {
    let message = format!("{KLOG}skipping pod synchronization - {STALE}");
    for noise in [
        r#"E0314 09:26:53.144529    2261 cni.go:316] Error adding default_web-2 to network: {"cniVersion":"0.3.1","name":"x","type":"bridge"}"#,
        r#"map[string]interface {}{"type":"bridge", "ipam":map[string]interface {}{"type":"host-local"}}"#,
        "Traceback (most recent call last):\n  File \"/usr/bin/x\", line 3, in <module>\n    import y\nImportError: No module named y",
        "goroutine 1 [running]:\nk8s.io/kubernetes/vendor/k8s.io/klog/v2.stacks(0xc0003d2001, 0xc0008fa000, 0x7d, 0xd2)\n\t/go/src/klog.go:1026 +0xb8",
        r#"{"level":"info","ts":"2023-03-14T09:26:53.144Z","caller":"routed-eni/main.go:1","msg":"Received CNI del request"}"#,
        "{\"ts\":1678786013589.793,\"msg\":\"Failed to update\n status\",\"err\":\"x\"}",
        "\u{4e0b}\u{9762}\u{662f}\u{65e5}\u{5fd7}\u{ff0c}\u{8282}\u{70b9}\u{4e0d}\u{5c31}\u{7eea}\u{ff1a}",
    ] {
        let bare = read(format!("{noise}\n{message}")).0;
        assert!(
            shown_all(&bare).ends_with(&format!("skip-sync; {STALE_SHOWN}")),
            "{noise}"
        );
        let ident = "Mar 14 09:26:53 worker-3 kubelet[2261]: ";
        let noise = noise.replace('\n', &format!("\n{ident}"));
        let entries = read(format!("{ident}{noise}\n{ident}{message}")).0;
        assert!(
            shown_all(&entries).ends_with(&format!("skip-sync; {STALE_SHOWN}")),
            "{noise}"
        );
    }
}

#[test]
fn a_line_pasted_into_chinese_prose_is_read_and_prose_about_it_is_not() {
    let line = format!("{KLOG}skipping pod synchronization - {STALE}");
    for pasted in [
        format!("\u{62a5}\u{9519}\u{5982}\u{4e0b}\u{ff1a}{line}"),
        format!("\u{201c}{line}\u{201d}"),
        format!(
            "\u{65e5}\u{5fd7}\u{ff0c}\u{201c}{line}\u{201d}\u{ff0c}\u{7136}\u{540e}\u{91cd}\u{542f}"
        ),
    ] {
        assert_eq!(
            shown_all(&read(&pasted).0),
            format!("skip-sync; {STALE_SHOWN}"),
            "{pasted}"
        );
    }
    let prose = format!("\u{8282}\u{70b9}\u{62a5} {STALE}\u{ff0c}\u{600e}\u{4e48}\u{529e}");
    assert_eq!(shown_all(&read(&prose).0), "", "{prose}");
}

#[test]
fn klogs_lines_out_of_order_keep_their_own_times() {
    let line = |stamp: &str, id: &str| {
        format!(
            "Mar 14 09:50:00 worker-3 kubelet[2261]: E0314 {stamp}    2261 a.go:1] StopPodSandbox \"{id}\" from runtime service failed: {DEADLINE}"
        )
    };
    let log = [
        line("09:44:00.000000", SID),
        line("09:30:00.000000", CID),
        line("09:43:59.000000", SID),
    ]
    .join("\n");
    let (events, _) = read(log);
    let told: Vec<_> = events
        .iter()
        .map(|event| (event.at.unwrap(), event.received.unwrap()))
        .collect();
    let received = time("2023-03-14T09:50:00Z");
    assert_eq!(
        told,
        [
            (time("2023-03-14T09:44:00Z"), received),
            (time("2023-03-14T09:30:00Z"), received),
            (time("2023-03-14T09:43:59Z"), received),
        ]
    );
}

#[test]
fn a_sandboxs_id_in_a_containers_call_stays_and_each_letter_is_a_severity() {
    for (letter, kind, severity) in [
        (
            "I",
            "container-status-failed c:b15929dfcea1",
            Severity::Info,
        ),
        (
            "W",
            "container-status-failed c:b15929dfcea1",
            Severity::Warning,
        ),
        (
            "E",
            "container-status-failed c:b15929dfcea1",
            Severity::Error,
        ),
        ("F", "kubelet-fatal", Severity::Fatal),
    ] {
        let line = format!(
            "{letter}{}ContainerStatus \"{SID}\" from runtime service failed: {DEADLINE}",
            &KLOG[1..]
        );
        let (events, _) = read(&line);
        assert_eq!(shown(&events[0]), format!("{kind} Deadline"));
        assert_eq!(events[0].severity, severity);
    }
}
