//! Inputs seen in the field, or likely there, that fit no grammar.

use super::{CID, KLOG, SID, read, shown, shown_all, spelled};

const STALE: &str = "skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s";
const SHOWN: &str = "skip-sync; pleg-stale lag:181000ms limit:180s in:skip-sync";

#[test]
fn durations_of_every_length_are_read() {
    for (lag, millis) in [
        ("7m24.0513035s", 444_051_i64),
        ("3m8.068354s", 188_068),
        ("66h20m49.039936615s", 238_849_039),
        ("27h14m51.413818128s", 98_091_413),
        ("3m0.32           2579259s", 180_322),
    ] {
        let line = format!(
            "{KLOG}skipping pod synchronization - [PLEG is not healthy: pleg was last seen active {lag} ago; threshold is 3m0"
        );
        let expected = format!("skip-sync; pleg-stale lag:{millis}ms limit:180s in:skip-sync");
        assert_eq!(shown_all(&read(line).0), expected, "{lag}");
    }
}

#[test]
fn elided_numbers_leave_the_message_known() {
    let line = format!(
        "{KLOG}skipping pod synchronization - PLEG is not healthy: pleg was last seen active .. ago; threshold ..."
    );
    assert_eq!(
        shown_all(&read(line).0),
        "skip-sync; pleg-stale in:skip-sync"
    );
}

#[test]
fn what_was_glued_in_front_of_a_header_is_passed_over() {
    for prefix in [
        r#"  "type":"bridge"}"#,
        r#"{"cniVersion":"0.3.1","type":"bridge"}"#,
        "10/6/2016 1:57:44 PM",
        "\u{ff0c}\u{201c}",
        "\0\0\0",
        "\u{feff}",
        "Mar 14 09:26:53 worker-3 kubelet[2261]: {\"type\":\"bridge\"}",
    ] {
        assert_eq!(
            shown_all(&read(format!("{prefix}{KLOG}{STALE}")).0),
            SHOWN,
            "{prefix}"
        );
    }
}

#[test]
fn carriage_returns_nul_and_invalid_utf8_do_no_harm() {
    assert_eq!(shown_all(&read(format!("{KLOG}{STALE}\r\n\r\n")).0), SHOWN);
    let mut log = format!("{KLOG}GenericPLEG: Unable to retrieve pods: \0").into_bytes();
    log.extend([0xff, 0xfe, 0xc3]);
    let (events, _) = read(log);
    assert_eq!(shown(&events[0]), "relist-failed Other");
    assert_eq!(
        &*events[0].error.as_ref().unwrap().text,
        "\0\u{fffd}\u{fffd}\u{fffd}"
    );
}

#[test]
fn missing_and_cut_values_leave_fields_empty() {
    for (message, expected) in [
        (
            r#""StopContainer from runtime service failed" err="DEADLINE" containerID="f0>"#,
            "stop-container-failed Deadline",
        ),
        (
            r#""StopContainer from runtime service failed" err="DEADLINE" containerID="(MISSING)""#,
            "stop-container-failed Deadline",
        ),
        (
            r#""StopContainer from runtime service failed" err="rpc error: code = DeadlineEx>"#,
            "stop-container-failed Other",
        ),
        (
            r#""StopContainer from runtime service failed""#,
            "stop-container-failed",
        ),
        (
            r#""getPodContainerStatuses for pod failed" err="DEADLINE" pod="<nil>""#,
            "pod-containers-status-failed Deadline",
        ),
        (
            r#"StopPodSandbox "ä" from runtime service failed: DEADLINE"#,
            "stop-sandbox-failed Deadline",
        ),
    ] {
        assert_eq!(
            shown_all(&read(spelled(&format!("{KLOG}{message}"))).0),
            expected,
            "{message}"
        );
    }
}

#[test]
fn ids_of_twelve_and_thirteen_digits_and_with_a_runtime_meet() {
    for id in [&CID[..12], &CID[..13], CID, &format!("docker://{CID}")] {
        let line = format!(
            "{KLOG}\"StopContainer from runtime service failed\" err=\"x\" containerID=\"{id}\""
        );
        assert_eq!(
            shown_all(&read(line).0),
            "stop-container-failed c:16f838fe6438 Other"
        );
    }
}

#[test]
fn errors_keep_their_inner_quotes_without_the_outer() {
    let line = format!(
        r#"{KLOG}"StartContainer from runtime service failed" err="rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing dial unix /run/x.sock: connect: connection refused\"" containerID="{CID}""#
    );
    let (events, _) = read(line);
    let error = events[0].error.as_ref().unwrap();
    assert!(error.text.ends_with("desc = \"transport: Error while dialing dial unix /run/x.sock: connect: connection refused\""));
    assert_eq!(
        shown(&events[0]),
        "start-container-failed c:16f838fe6438 Unavailable"
    );
}

#[test]
fn a_record_broken_over_two_lines_is_mended() {
    let record = spelled(
        r#"{"ts":1678786013589.793,"msg":"StopPodSandbox from runtime service failed","podSandboxID":"SID","err":"DEADLINE"}"#,
    );
    let (first, second) = record.split_at(record.len() - 20);
    let (events, _) = read(format!("{first}\n{second}\n{record}"));
    assert_eq!(
        shown_all(&events),
        "stop-sandbox-failed s:b15929dfcea1 Deadline; stop-sandbox-failed s:b15929dfcea1 Deadline"
    );
    assert_eq!(events[1].citation.line, Some(3));
}

#[test]
fn a_record_that_never_ends_takes_one_line_with_it_at_most() {
    let record = r#"{"ts":1678786013589.793,"msg":"ListContainers failed","err":"x"#;
    let log = format!("{record}\nfirst\nsecond\nI0314 09:30:00.000000    2261 a.go:1] last");
    let (events, told) = read(log);
    assert_eq!(shown_all(&events), "list-containers-failed Other");
    assert_eq!(events[0].error.as_ref().unwrap().text[..], *"xfirst");
    assert!(told.last > events[0].at);
}

#[test]
fn a_giant_line_is_cut_and_counted() {
    let line = format!(
        "{KLOG}GenericPLEG: Unable to retrieve pods: {}",
        "ä".repeat(1 << 20)
    );
    let (events, told) = read(line);
    assert_eq!(told.cut, 1);
    assert_eq!(shown(&events[0]), "relist-failed Other");
    assert!(events[0].error.as_ref().unwrap().text.len() <= 600);
    assert_eq!(events[0].citation.text.chars().count(), 400);
    let endless = format!(
        "{KLOG}\"ExecSync cmd from runtime service failed\" err=<\n{}",
        "\tmore\n".repeat(300_000)
    );
    let (events, told) = read(endless);
    assert_eq!((events.len(), told.cut), (1, 1));
}

#[test]
fn a_long_line_that_dumps_a_status_does_not_hide_its_neighbours() {
    let dump = format!(
        "{KLOG}Error updating node status, will retry: failed to patch status \"{}\"",
        "x".repeat(100_000)
    );
    let (events, told) = read(format!("{dump}\n{KLOG}{STALE}"));
    assert_eq!(
        shown_all(&events),
        format!("node-status-update-failed Other; {SHOWN}")
    );
    assert_eq!(told.cut, 0);
}

#[test]
fn several_runs_of_the_kubelet_in_one_file_are_all_read() {
    let start = format!("{KLOG}Starting kubelet main sync loop.");
    let fatal = "F0314 09:26:54.000000    2261 server.go:1] failed to run Kubelet";
    let log = format!(
        "{start}\n{fatal}\ngoroutine 1 [running]:\nk8s.io/klog.stacks(0xc0)\n\n{start}\n{KLOG}{STALE}"
    );
    assert_eq!(
        shown_all(&read(log).0),
        format!("syncloop-start; kubelet-fatal Other; syncloop-start; {SHOWN}")
    );
}

#[test]
fn foreign_lines_under_the_kubelets_name_are_passed_over() {
    let log = [
        "Traceback (most recent call last):",
        "  File \"x.py\", line 1, in <module>",
        "map[string]interface {}{\"type\":\"bridge\"}",
        "{\"level\":\"info\",\"msg\":\"CNI says ListContainers failed\"}",
        "[3B blob data]",
        "-- Logs begin at Tue 2023-03-14 09:26:53 UTC. --",
        "-- Reboot --",
    ]
    .map(|line| format!("Mar 14 09:26:53 worker-3 kubelet[2261]: {line}"))
    .join("\n");
    let (events, _) = read(format!("{log}\n{KLOG}{STALE}"));
    assert_eq!(shown_all(&events), SHOWN);
}

#[test]
fn a_log_without_headers_is_read_too() {
    let log = spelled(&format!(
        "{STALE}\nGenericPLEG: Unable to retrieve pods: DEADLINE"
    ));
    let (events, _) = read(log);
    assert_eq!(
        shown_all(&events),
        format!("{SHOWN}; relist-failed Deadline")
    );
    assert!(events.iter().all(|event| event.at.is_none()));
}

#[test]
fn prose_that_quotes_a_message_is_none() {
    for line in [
        "we saw \"PLEG is not healthy: pleg was last seen active 3m1s ago\" twice",
        "4m (x211 over 3h34m)  kubelet  Node worker-3 status is now: NodeNotReady",
        "  Warning  FailedSync  4m  kubelet  PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s",
    ] {
        assert_eq!(shown_all(&read(line).0), "", "{line}");
    }
}

#[test]
fn a_hundred_thousand_equal_lines_are_as_many_events() {
    let line = format!("{KLOG}StopPodSandbox \"{SID}\" from runtime service failed: x\n");
    assert_eq!(read(line.repeat(100_000)).0.len(), 100_000);
}

#[test]
fn context_is_read_after_trouble_only() {
    let at =
        |minute: u32, text: &str| format!("I0314 09:{minute:02}:00.000000    2261 a.go:1] {text}");
    let event = |n: u32| {
        spelled(&format!(
            r#"SyncLoop (PLEG): "web-{n}_default(<UID>)", event: &pleg.PodLifecycleEvent{{ID:"<UID>", Type:"ContainerDied", Data:"CID"}}"#
        ))
    };
    let log = [
        at(0, &event(0)),
        at(1, &event(1)),
        at(2, "GenericPLEG: Unable to retrieve pods: x"),
        at(3, &event(3)),
        at(12, &event(12)),
        at(13, &event(13)), // more than ten minutes after the trouble: one more
        at(14, &event(14)),
        at(15, &event(15)),
        at(20, "GenericPLEG: Unable to retrieve pods: x"),
    ]
    .join("\n");
    let (events, _) = read(log);
    let lines: Vec<u64> = events
        .iter()
        .filter_map(|event| event.citation.line)
        .collect();
    assert_eq!(lines, [3, 4, 5, 6, 9]);
}

#[test]
fn recovery_is_seen_however_long_after_the_trouble() {
    let stale = "I0314 09:00:00.000000    2261 kubelet.go:1846] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s";
    let event = |minute: u32| {
        spelled(&format!(
            r#"I0314 09:{minute:02}:00.000000    2261 kubelet.go:1926] SyncLoop (PLEG): "web-1_default(<UID>)", event: &pleg.PodLifecycleEvent{{ID:"<UID>", Type:"ContainerDied", Data:"CID"}}"#
        ))
    };
    let relisting = "I0314 09:11:00.000000    2261 generic.go:190] GenericPLEG: Relisting";
    let log = [stale, relisting, &event(30), &event(31), &event(32)].join("\n");
    let seen: Vec<_> = read(log)
        .0
        .iter()
        .filter_map(|event| Some((event.kind.id(), event.citation.line?)))
        .collect();
    // The first shows when it was over.
    assert_eq!(
        seen[1..],
        [("pleg-stale", 1), ("pleg-relisting", 2), ("pleg-event", 3),]
    );
}

#[test]
fn a_healthy_log_gives_no_context() {
    let event = spelled(
        r#"SyncLoop (PLEG): "web-1_default(<UID>)", event: &pleg.PodLifecycleEvent{ID:"<UID>", Type:"ContainerDied", Data:"CID"}"#,
    );
    let log = format!("{KLOG}{event}\n").repeat(100);
    let (events, told) = read(log);
    assert!(events.is_empty());
    assert!(told.of_kubelet);
}

#[test]
fn citations_tell_where_and_what() {
    let (events, _) = read(format!(
        "first\nMar 14 09:26:53 h kubelet[1]: {KLOG}{STALE}"
    ));
    let citation = &events[1].citation;
    assert_eq!((&*citation.source, citation.line), ("kubelet.log", Some(2)));
    assert_eq!(&*citation.text, STALE);
    assert_eq!(citation.time, events[1].at);
}

#[test]
fn a_line_that_lists_too_much_is_read_in_part_and_the_rest_is_counted() {
    let many = format!(
        "{KLOG}SyncLoop (DELETE, \"api\"): \"{}\"",
        vec!["web_default"; 600].join(", ")
    );
    let objects = format!(
        "{{\"ts\":1678786013589.793,\"msg\":\"SyncLoop DELETE\",\"pods\":[{}]}}",
        vec![r#"{"name":"web","namespace":"default"}"#; 600].join(",")
    );
    for line in [many, objects] {
        let (events, told) = read(format!("{line}\n{line}"));
        assert_eq!((events.len(), told.left_out), (1024, 176), "{line}");
        let all = events
            .iter()
            .all(|event| shown(event) == "pod-removed default/web 'DELETE'");
        assert!(all, "{}", shown(&events[0]));
    }
    let reasons = format!(
        "{KLOG}skipping pod synchronization - [{}]",
        vec!["container runtime is down"; 20].join(", ")
    );
    let (events, told) = read(reasons);
    assert_eq!((events.len(), told.left_out), (17, 4));
}

#[test]
fn an_export_keeps_a_message_of_several_lines_that_end_as_on_windows() {
    let message = format!("{KLOG}Failed cleaning pods: first\r\nsecond\r");
    let mut log = b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1678786013590000\nMESSAGE\n".to_vec();
    log.extend((message.len() as u64).to_le_bytes());
    log.extend(message.as_bytes());
    log.extend(b"\nSYSLOG_IDENTIFIER=kubelet\n\n");
    let twice = log.repeat(2);
    let (events, _) = read(&twice);
    assert_eq!(events.len(), 2);
    assert!(events[0].citation.text.contains("first\r\nsecond"));
}

#[test]
fn no_host_is_remembered_whose_name_is_endless() {
    let entry = |host: &str| {
        format!(
            "{{\"_HOSTNAME\":\"{host}\",\"SYSLOG_IDENTIFIER\":\"kubelet\",\"MESSAGE\":\"{KLOG}x\"}}"
        )
    };
    let (_, told) = read(format!("{}\n{}", entry(&"a".repeat(300)), entry("b")));
    assert_eq!(told.hosts.iter().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn losses_beyond_those_kept_are_counted() {
    let loss = |count: u64| {
        format!(
            "Mar 14 09:26:53 n systemd-journald[3]: Suppressed {count} messages from kubelet.service\n"
        )
    };
    let (_, told) = read((0..70).map(loss).collect::<String>());
    assert_eq!((told.losses.len(), told.more_losses), (64, 6));
    let (_, told) = read(loss(7).repeat(3));
    assert_eq!((told.losses.len(), told.more_losses), (1, 2));
}

#[test]
fn a_record_of_too_many_lines_is_counted() {
    let row = format!("  \"a\": \"{}\",\n", "x".repeat(4000));
    let (_, told) = read(format!("{{\n{}}}\n", row.repeat(300)));
    assert_eq!(told.cut, 1);
}

#[test]
fn events_are_not_held_back_beyond_a_few_megabytes_of_text() {
    let mut parser = plegdoctor::kubelet::parser::Parser::new("kubelet.log", super::hints());
    let mut events = Vec::new();
    for number in 0..9000 {
        let line = format!("{KLOG}Failed cleaning pods: {number} {}", "é".repeat(700));
        parser.line(line.as_bytes(), &mut events);
        if !events.is_empty() {
            break;
        }
    }
    let held: usize = events.iter().map(|event| event.citation.text.len()).sum();
    assert!((4 << 20..(4 << 20) + 800).contains(&held), "{held}");
    assert!(events.iter().all(|event| event.citation.text.len() <= 800));
}
