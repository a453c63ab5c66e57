//! Lines as the kubelet writes them in, incidents out.

use super::*;
use crate::kubelet::summary::tests::parsed;
use chrono::{DateTime, FixedOffset};

const ID: &str = "b15929dfcea116df995b79d3dec656be07e9652f4685064f9d27cfc0b7d857b0";
const OTHER: &str = "74a457c34b3abc731b76516a1517c0dd255898f8cbfe2dac291cc2352a743ca6";

fn at(time: &str) -> DateTime<FixedOffset> {
    DateTime::parse_from_rfc3339(&format!("2026-11-30T{time}Z")).unwrap()
}

fn stale(time: &str, lag: &str) -> String {
    format!(
        "E1130 {time}.000000    2261 kubelet.go:1826] skipping pod synchronization - PLEG is not healthy: pleg was last seen active {lag} ago; threshold is 3m0s"
    )
}

fn status_deadline(time: &str, id: &str) -> String {
    format!(
        "E1130 {time}.000000    2261 kuberuntime_manager.go:965] PodSandboxStatus of sandbox \"{id}\" for pod \"web-2_default(9b0e4a32-7fe5-45b4-b69e-1c76355b4249)\" error: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    )
}

fn relist_failed(time: &str) -> String {
    format!(
        "E1130 {time}.000000    2261 generic.go:205] GenericPLEG: Unable to retrieve pods: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    )
}

fn ready(time: &str) -> String {
    format!(
        "I1130 {time}.000000    2261 kubelet_node_status.go:531] Recording NodeReady event message for node worker-3"
    )
}

fn started(time: &str) -> String {
    format!("I1130 {time}.000000    2261 kubelet.go:1802] Starting kubelet main sync loop.")
}

fn never(time: &str) -> String {
    format!(
        "E1130 {time}.000000    2261 kubelet.go:1826] skipping pod synchronization - PLEG is not healthy: pleg has yet to be successful"
    )
}

/// Folds the lines; the log ends at `end`.
fn fold(lines: &[String], end: &str) -> Vec<Incident> {
    let (events, _) = parsed(lines);
    let mut incidents = Incidents::default();
    for event in &events {
        incidents.observe(event);
    }
    incidents.finish(Some(at(end))).0
}

/// Stale lines every 5 s from `from` on, `number` of them, the first with a lag of 3m1s.
fn rise(from: &str, number: i32) -> Vec<String> {
    (0..number)
        .map(|n| {
            let time = at(from) + TimeDelta::seconds(i64::from(5 * n));
            stale(
                &time.format("%H:%M:%S").to_string(),
                &format!("{}m{}s", 3 + (1 + 5 * n) / 60, (1 + 5 * n) % 60),
            )
        })
        .collect()
}

#[test]
fn an_outage_starts_when_the_last_good_relist_began() {
    let found = fold(&rise("03:38:52", 3), "03:39:03");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].start, at("03:35:51"));
    assert_eq!(found[0].lines, 3);
    assert_eq!(found[0].peak_lag, TimeDelta::seconds(191));
    assert_eq!(found[0].threshold, Some(TimeDelta::minutes(3)));
    assert_eq!((found[0].end, found[0].ongoing), (None, true));
    assert_eq!(found[0].first.line, Some(1));
    assert_eq!(found[0].last.line, Some(3));
}

#[test]
fn it_is_over_after_a_sign_of_recovery_or_fifteen_quiet_seconds() {
    let mut lines = rise("03:38:52", 3);
    let quiet = fold(&lines, "03:39:18");
    assert_eq!(
        (quiet[0].end, quiet[0].ongoing),
        (Some(at("03:39:02")), false)
    );
    let too_early = fold(&lines, "03:39:17");
    assert!(too_early[0].ongoing);
    lines.push(ready("03:39:10"));
    let ready = fold(&lines, "03:39:10");
    assert_eq!(
        (ready[0].end, ready[0].ongoing),
        (Some(at("03:39:10")), false)
    );
}

#[test]
fn a_status_call_that_blocks_makes_a_sawtooth() {
    let mut lines = rise("03:38:52", 12);
    lines.push(status_deadline("03:39:51", ID));
    assert_eq!(fold(&lines, "03:39:51")[0].shape, Shape::Sawtooth);
    // The deadline of the relist before, a second before this one's stamp, counts too.
    let mut lines = vec![status_deadline("03:35:50", ID)];
    lines.extend(rise("03:38:52", 12));
    assert_eq!(fold(&lines, "03:39:48")[0].shape, Shape::Sawtooth);
}

#[test]
fn list_errors_make_a_growing_lag() {
    let mut lines = vec![relist_failed("03:37:52")];
    lines.extend(rise("03:38:52", 12));
    let found = fold(&lines, "03:39:48");
    assert_eq!(found[0].shape, Shape::Growing);
    // One before the last good relist says nothing of this outage.
    let mut lines = vec![relist_failed("03:35:00")];
    lines.extend(rise("03:38:52", 12));
    assert_eq!(fold(&lines, "03:39:48")[0].shape, Shape::Single);
}

#[test]
fn a_lag_beyond_what_one_blocked_call_explains_is_growing() {
    let mut lines = vec![status_deadline("03:35:50", ID)];
    lines.extend(rise("03:38:52", 12));
    lines.push(stale("03:41:52", "6m1s"));
    assert_eq!(fold(&lines, "03:41:52")[0].shape, Shape::Growing);
    // Two blocked pods explain twice as much.
    lines.insert(1, status_deadline("03:35:51", OTHER));
    assert_eq!(fold(&lines, "03:41:52")[0].shape, Shape::Sawtooth);
}

#[test]
fn a_lag_that_was_cut_goes_on_with_the_one_before_and_is_no_start_up() {
    let lines = [
        stale("03:40:00", "3m10s"),
        stale("03:45:00", ".."),
        stale("03:50:00", "13m10s"),
    ];
    let found = fold(&lines, "03:50:00");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].lines, found[0].rises), (3, 1));
    assert!(!found[0].never);
    let alone = fold(&[stale("03:40:00", "..")], "03:40:00");
    assert_eq!(alone[0].peak_lag, TimeDelta::minutes(3));
    assert!(!alone[0].never);
}

#[test]
fn a_short_stretch_alone_cannot_be_told() {
    assert_eq!(
        fold(&rise("03:38:52", 4), "03:40:00")[0].shape,
        Shape::Single
    );
}

#[test]
fn a_node_that_flaps_has_one_incident() {
    let mut lines = rise("03:38:52", 12);
    lines.push(status_deadline("03:39:51", ID));
    lines.push(ready("03:40:00"));
    // The next relist began right after the last one ended.
    lines.extend(rise("03:42:53", 12));
    lines.push(status_deadline("03:43:52", ID));
    let found = fold(&lines, "03:43:52");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].rises, found[0].shape), (2, Shape::Sawtooth));
    assert_eq!(found[0].lines, 24);
    assert!(found[0].ongoing, "Ready between two rises is no end");
}

#[test]
fn outages_with_a_good_relist_between_are_two() {
    let mut lines = rise("03:38:52", 12);
    lines.push(ready("03:40:00"));
    lines.extend(rise("03:50:00", 12));
    let found = fold(&lines, "03:52:00");
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].start, at("03:46:59"));
}

#[test]
fn a_relist_that_stayed_below_the_threshold_does_not_part_the_same_hang() {
    let mut lines = rise("03:38:52", 12);
    lines.push(status_deadline("03:39:51", ID));
    // 2 minutes without a stale line, but blocked all the same.
    lines.push(status_deadline("03:41:52", ID));
    lines.extend(rise("03:44:54", 12));
    assert_eq!(fold(&lines, "03:45:49").len(), 1);
    // Another container's hang is another story.
    let mut lines = rise("03:38:52", 12);
    lines.push(status_deadline("03:39:51", ID));
    lines.push(status_deadline("03:41:52", OTHER));
    lines.extend(rise("03:44:54", 12));
    assert_eq!(fold(&lines, "03:45:49").len(), 2);
}

#[test]
fn a_restart_of_the_kubelet_parts_incidents() {
    let mut lines = rise("03:38:52", 12);
    lines.push(started("03:39:50"));
    lines.push(never("03:39:51"));
    lines.extend(rise("03:42:53", 3));
    let found = fold(&lines, "03:43:04");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].end, Some(at("03:39:50")));
}

#[test]
fn start_up_lines_are_harmless_until_they_last() {
    let mut lines = vec![started("03:30:00"), never("03:30:00"), never("03:30:05")];
    assert!(fold(&lines, "03:30:06").is_empty());
    lines.push(never("03:31:00"));
    assert!(fold(&lines, "03:31:00").is_empty(), "a minute is the limit");
    lines.push(never("03:31:05"));
    let found = fold(&lines, "03:31:05");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].start, at("03:30:00"));
    assert!(found[0].never);
    assert_eq!(found[0].shape, Shape::Growing);
    assert_eq!(found[0].threshold, None, "no line told it");
}

#[test]
fn the_old_kubelets_never_is_no_lag_of_292_years() {
    let line = stale("03:30:00", "2562047h47m16.854775807s");
    assert!(fold(&[started("03:30:00"), line], "03:30:01").is_empty());
    let lines: Vec<_> = ["03:30:00", "03:30:40", "03:31:05"]
        .iter()
        .map(|time| stale(time, "2562047h47m16.854775807s"))
        .collect();
    let found = fold(&lines, "03:31:06");
    assert_eq!(found[0].peak_lag, TimeDelta::seconds(65));
}

#[test]
fn a_burst_of_lines_at_an_outages_begin_is_one_rise() {
    let lines = [
        stale("03:38:52", "3m0.888939413s"),
        stale("03:38:52", "3m0.990056812s"),
        stale("03:38:53", "3m1.190983968s"),
        stale("03:38:55", "3m3.993324407s"),
        stale("03:39:00", "3m9.150400998s"),
    ];
    let found = fold(&lines, "03:39:01");
    assert_eq!((found.len(), found[0].rises), (1, 1));
}

#[test]
fn ten_thousand_lines_of_one_hang_are_one_outage() {
    let lines: Vec<_> = (0..10_000)
        .map(|n| {
            let (minute, second) = (n / 60 % 60, n % 60);
            let time = format!("{:02}:{minute:02}:{second:02}", 4 + n / 3600);
            stale(&time, &format!("{}s", 200 + n))
        })
        .collect();
    let found = fold(&lines, "06:46:39");
    let told: Vec<_> = found.iter().map(|it| (it.lines, it.rises)).collect();
    assert_eq!(told, [(10_000, 1)]);
}

#[test]
fn ten_thousand_lines_keep_a_bounded_number_of_samples() {
    let lines = rise("03:38:52", 10_000);
    let found = fold(&lines, "23:00:00");
    assert_eq!(
        found.iter().map(|incident| incident.lines).sum::<u64>(),
        10_000
    );
    assert!(found.iter().all(|incident| incident.samples.len() <= 256));
}

#[test]
fn of_too_many_incidents_the_latest_are_kept_and_the_others_counted() {
    let mut incidents = Incidents::default();
    let (events, _) = parsed(&rise("03:00:00", 300));
    let day = TimeDelta::days(1);
    for number in 0..400 {
        for event in &events {
            let mut event = event.clone();
            event.at = event.at.map(|at| at - day * (400 - number));
            incidents.observe(&event);
        }
    }
    let (kept, dropped) = incidents.finish(Some(at("23:00:00")));
    assert_eq!(
        (kept.len(), dropped),
        (MAX_INCIDENTS, 400 - MAX_INCIDENTS as u64)
    );
    assert!(kept.iter().all(|incident| incident.lines == 300));
    let samples: usize = kept.iter().map(|incident| incident.samples.len()).sum();
    assert!(
        samples <= MAX_INCIDENTS * MAX_OLD_SAMPLES + WHOLE_INCIDENTS * MAX_SAMPLES,
        "{samples}"
    );
    assert!(kept[0].samples.len() > MAX_OLD_SAMPLES / 2);
    assert_eq!(
        kept.last().map(|last| last.last_line.date_naive()),
        events[0].at.map(|at| at.date_naive() - day)
    );
}
