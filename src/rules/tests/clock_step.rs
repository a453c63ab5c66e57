use super::*;
use crate::{
    finding::{Confidence, Severity},
    rules::clock_step::RULE,
};

/// A line of another program, as syslog has it.
fn syslog(time: &str, ident: &str, message: &str) -> String {
    format!("Nov 30 {time} worker-3 {ident}: {message}")
}

/// A line of the kubelet within syslog.
fn within(time: &str, received: &str, message: &str) -> String {
    syslog(received, "kubelet[2261]", &line(time, message))
}

const BECAME: &str = "Recording NodeReady event message for node worker-3";
const LEASE: &str =
    "failed to update lease, error: x509: certificate has expired or is not yet valid";

#[test]
fn times_that_go_back_are_told_and_no_more() {
    let lines = [ready("09:00:00"), ready("07:30:00"), ready("07:31:00")];
    let finding = only(&RULE, &evidence(&lines, None));
    assert_eq!(finding.title, "The log's times go back by 1h30m");
    assert_eq!((finding.severity, finding.active), (Severity::Info, false));
    assert_eq!(finding.confidence, Confidence::Suspected);
    assert!(
        finding
            .explanation
            .contains("put together in another order")
    );
}

#[test]
fn an_order_of_lines_is_blamed_for_nothing() {
    let failed = ["07:30:10", "07:30:20"].map(|time| line(time, LEASE));
    let lines = [vec![ready("09:00:00"), ready("07:30:00")], failed.to_vec()].concat();
    assert_eq!(
        only(&RULE, &evidence(&lines, None)).severity,
        Severity::Info
    );
}

#[test]
fn disorder_and_the_end_of_summer_time_are_no_steps() {
    for (before, after) in [("09:00:00", "08:58:01"), ("03:00:00", "02:00:05")] {
        quiet(&RULE, &evidence(&[ready(before), ready(after)], None));
    }
}

#[test]
fn a_line_that_was_written_late_is_no_step() {
    let lines = [
        within("09:06:30", "09:06:30", BECAME),
        within("09:00:00", "09:06:31", BECAME),
    ];
    quiet(&RULE, &evidence(&lines, None));
    // Where both clocks of the line went back, it is one.
    let lines = [
        within("09:06:30", "09:06:30", BECAME),
        within("07:00:00", "07:00:00", BECAME),
    ];
    assert_eq!(found(&RULE, &evidence(&lines, None)).len(), 1);
}

#[test]
fn several_logs_in_one_are_no_clock() {
    let lines: Vec<String> = (0..12)
        .map(|n| ready(if n % 2 == 0 { "09:00:00" } else { "07:00:00" }))
        .collect();
    quiet(&RULE, &evidence(&lines, None));
}

#[test]
fn reports_that_fail_right_after_a_step_make_it_a_warning() {
    let step = syslog(
        "04:00:00",
        "ntpd[811]",
        "0.0.0.0 061c 0c clock_step +7200.5 s",
    );
    let failed = ["06:00:05", "06:00:12"].map(|time| within(time, time, LEASE));
    let changed = syslog("06:00:01", "systemd[1]", "Time has been changed");
    let mut lines = vec![within("03:59:00", "03:59:00", BECAME), step, changed];
    lines.extend(failed);
    let finding = only(&RULE, &evidence(&lines, None));
    assert_eq!(
        (finding.severity, finding.active),
        (Severity::Warning, true)
    );
    assert!(
        finding.title.ends_with("forward by 2h"),
        "{}",
        finding.title
    );
    assert!(finding.explanation.contains("never explains"));
}

#[test]
fn a_step_of_no_weight_and_one_in_peace_are_silent() {
    for message in [
        "0.0.0.0 c61c 0c clock_step -0.213 s",
        "0.0.0.0 c61c 0c clock_step +9.9 s",
        "Time has been changed",
    ] {
        let lines = [
            within("03:59:00", "03:59:00", BECAME),
            syslog("04:00:00", "ntpd[811]", message),
            within("04:01:00", "04:01:00", BECAME),
        ];
        quiet(&RULE, &evidence(&lines, None));
    }
    // Only those who set clocks are believed, not the kubelet's own words.
    let lines = [within("03:59:00", "03:59:00", "clock_step +7200.5 s")];
    quiet(&RULE, &evidence(&lines, None));
}
