use super::*;
use chrono::Datelike as _;

const KLOG: &str = "E0314 09:26:53.589793    2261 kubelet.go:1765] skipping";

fn message(line: &str) -> (Owner, String) {
    let unframed = unframe(line.as_bytes());
    (
        unframed.owner,
        String::from_utf8_lossy(&unframed.message).into_owned(),
    )
}

#[test]
fn every_envelope_of_the_kubelet_is_taken_off() {
    for prefix in [
        "Mar 14 09:26:53 worker-3 kubelet[2261]: ",
        "Mar  4 09:26:53.589793 worker-3 kubelet[2261]: ",
        "2023-03-14T09:26:53+0000 worker-3 kubelet[2261]: ",
        "2023-03-14T09:26:53.589793+00:00 worker-3.example.org kubelet[2261]: ",
        "Tue 2023-03-14 09:26:53 UTC worker-3 kubelet[2261]: ",
        "Tue 2023-03-14 09:26:53 CET worker-3 kubelet.service[2261]: ",
        "1678786013.589793 worker-3 kubelet[2261]: ",
        "[792882.470286] worker-3 kubelet[2261]: ",
        "[  882.470286] worker-3 kubelet[2261]: ",
        "Mar 14 09:26:53 worker-3 kubelet: ",
        "<30>1 2023-03-14T09:26:53.589800Z worker-3 kubelet 2261 - - ",
        "<30>1 2023-03-14T09:26:53.589800Z worker-3 kubelet 2261 - [a b=\"c\"] ",
        "<30>Mar 14 09:26:53 worker-3 kubelet[2261]: ",
        "Mar 14 09:26:53 worker-3 k3s[1636]: ",
        "Mar 14 09:26:53 worker-3 rke2[1636]: ",
        "Mar 14 09:26:53 worker-3 [kubelet][1636]: ",
        "Mar 14 09:26:53 worker-3 origin-node: ",
        "Mar 14 09:26:53 worker-3 start_kubelet.sh:  ",
        "Sep 04 09:23:20 kubelet[7981]: ",
        "15:16:22 node3 kubelet[812]: ",
        "10月 07 18:12:48 node1 kubelet[62982]: ",
        "sept. 20 18:12:48 node1 kubelet[62982]: ",
        "kubelet[7981]: ",
    ] {
        let line = format!("{prefix}{KLOG}");
        let (owner, text) = message(&line);
        assert!(owner.is_kubelet() && text == KLOG, "{line}");
    }
}

#[test]
fn envelopes_that_name_no_program_leave_the_writer_open() {
    for prefix in [
        "",
        "2023-03-14T09:26:53.589793123Z stderr F ",
        "2023-03-14T09:26:53.589793123Z ",
        "10.200.1.3: ",
        "{\"type\":\"bridge\"}",
        "10/6/2016 1:57:44 PM",
        "\u{ff0c}\u{201c}",
    ] {
        let line = format!("{prefix}{KLOG}");
        assert_eq!(message(&line), (Owner::Unnamed, KLOG.to_owned()), "{line}");
    }
}

#[test]
fn other_programs_are_told_apart() {
    for prefix in [
        "Mar 14 09:26:53 worker-3 kube-proxy[2261]: ",
        "Mar 14 09:26:53 worker-3 dockerd[2261]: ",
        "Mar 14 09:26:53 worker-3 cri-dockerd: ",
        "<30>1 2023-03-14T09:26:53.589800Z worker-3 kube-apiserver 2261 - - ",
        "kube-proxy[2261]: ",
    ] {
        let line = format!("{prefix}{KLOG}");
        assert_eq!(message(&line).0, Owner::Other, "{line}");
    }
}

#[test]
fn objects_are_opened() {
    for line in [
        r#"{"log":"KLOG\n","stream":"stderr","time":"2023-03-14T09:26:53.589793123Z"}"#,
        r#"{"log":"KLOG\r\n","stream":"stderr","attrs":{"a":"b"},"time":"2023-03-14T09:26:53Z"}"#,
        r#"{"MESSAGE":"KLOG","SYSLOG_IDENTIFIER":"kubelet","__REALTIME_TIMESTAMP":"1678786013589793"}"#,
        r#"data: {"__REALTIME_TIMESTAMP":"1678786013589793","MESSAGE":"KLOG","_SYSTEMD_UNIT":"kubelet.service"}"#,
        "\u{1e}{\"__REALTIME_TIMESTAMP\":\"1678786013589793\",\"MESSAGE\":\"KLOG\"}",
        r#"10.0.0.1: {"log":"Mar 14 09:26:53 worker-3 kubelet[2261]: KLOG\n","time":"2023-03-14T09:26:53Z"}"#,
    ] {
        let line = line.replace("KLOG", KLOG);
        let unframed = unframe(line.as_bytes());
        assert_eq!(unframed.message.as_ref(), KLOG.as_bytes(), "{line}");
        assert!(
            !unframed.partial && unframed.owner != Owner::Other,
            "{line}"
        );
        let Some(Stamp::Exact(time)) = unframed.stamp else {
            panic!("no time in {line}");
        };
        assert_eq!((time.year(), time.ordinal()), (2023, 73), "{line}");
    }
}

#[test]
fn parts_of_a_line_are_known_as_parts() {
    for line in [
        r#"{"log":"E0314 first","stream":"stderr","time":"2023-03-14T09:26:53Z"}"#,
        "2023-03-14T09:26:53.589793123Z stderr P E0314 first",
    ] {
        let unframed = unframe(line.as_bytes());
        assert!(unframed.partial, "{line}");
        assert_eq!(unframed.message.as_ref(), b"E0314 first", "{line}");
    }
}

#[test]
fn a_message_of_bytes_is_read() {
    let line = br#"{"MESSAGE":[69,255,10,0],"SYSLOG_IDENTIFIER":"kubelet"}"#;
    assert_eq!(unframe(line).message.as_ref(), [69, 255, 10, 0]);
}

#[test]
fn indentation_of_a_message_is_kept() {
    let line = "Mar 14 09:26:53 worker-3 kubelet[2261]:  > containerID=\"3f1c\"";
    assert_eq!(message(line).1, " > containerID=\"3f1c\"");
}

#[test]
fn an_object_over_several_lines_ends_before_what_is_no_part_of_it() {
    for (lines, last) in [
        (
            &["    \"a\": 1,", "    \"b\": {", "    }", "}"][..],
            Gathered::Ended,
        ),
        (&["\t\"a\" : 1", "}"], Gathered::Ended),
        (&["    \"a\": 1,\r", "}\r"], Gathered::Ended),
        (
            &["    \"a\": 1,", "{\"ts\":1,\"msg\":\"x\"}"],
            Gathered::Another,
        ),
        (&["{\"ts\":1,\"msg\":\"x\"}"], Gathered::Another),
        (&["["], Gathered::Another),
        (&["    \"a\": 1,", KLOG], Gathered::Another),
    ] {
        let mut entry = Entry::begin(b"{").unwrap();
        let gathered: Vec<_> = lines
            .iter()
            .map(|line| entry.gather(line.as_bytes()))
            .collect();
        let (end, before) = gathered.split_last().unwrap();
        assert_eq!(*end, last, "{lines:?}");
        assert!(before.iter().all(|it| *it == Gathered::More), "{lines:?}");
    }
}
