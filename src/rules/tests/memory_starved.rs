use super::*;
use crate::{
    node::{KernelKind, KernelLine, pressure::Stall},
    rules::memory_starved::RULE,
};

fn seen(full: f64, available: u64, kill: Option<(KernelKind, u64)>) -> Evidence {
    let mut evidence = evidence(&[], None);
    let mut host = host(Vec::new());
    host.pressure.memory = Some(Stall {
        some: full,
        full: Some(full),
    });
    host.pressure.memory_total = Some(16 << 30);
    host.pressure.memory_available = Some(available);
    host.kernel_lines = kill
        .map(|(kind, seconds)| KernelLine {
            kind,
            ago: Some(Duration::from_secs(seconds)),
            text: "Out of memory: Killed process 4711 (java)".to_owned(),
        })
        .into_iter()
        .collect();
    evidence.host = Some(host);
    evidence
}

const PLENTY: u64 = 8 << 30;

#[test]
fn stalls_a_low_reserve_or_a_fresh_kill_tell() {
    assert!(
        only(&RULE, &seen(10.0, PLENTY, None))
            .explanation
            .contains("10 % of the last 10 s")
    );
    assert!(
        only(&RULE, &seen(0.0, (100 << 20) - 1, None))
            .explanation
            .contains("99 MiB are left of 16384 MiB")
    );
    let kill = Some((KernelKind::OutOfMemory, 600));
    assert!(
        only(&RULE, &seen(0.0, PLENTY, kill))
            .explanation
            .contains("killed a process for it 10m ago")
    );
}

#[test]
fn an_ordinary_machine_an_old_kill_and_a_containers_own_limit_do_not() {
    quiet(&RULE, &seen(9.9, 100 << 20, None));
    quiet(
        &RULE,
        &seen(0.0, PLENTY, Some((KernelKind::OutOfMemory, 601))),
    );
    quiet(
        &RULE,
        &seen(0.0, PLENTY, Some((KernelKind::ContainerLimit, 5))),
    );
    quiet(&RULE, &evidence(&[], None));
    let mut undated = seen(0.0, PLENTY, Some((KernelKind::OutOfMemory, 5)));
    undated.host.as_mut().unwrap().kernel_lines[0].ago = None;
    quiet(&RULE, &undated);
}

/// The machine ran out of memory at these times, before the outage of 03:35:51.
fn stormy(times: &[&str]) -> Evidence {
    let oom = |time: &&str| line(time, "Got sys oom event: &{4711 java 2026-11-30 / /}");
    let lines: Vec<_> = times.iter().map(oom).chain(outage()).collect();
    evidence(&lines, None)
}

#[test]
fn memory_that_ran_out_before_the_lag_is_told() {
    let found = only(&RULE, &stormy(&["03:00:00", "03:01:00", "03:02:00"]));
    assert!(found.active);
    assert!(
        found
            .explanation
            .contains("(3 times, 03:00:00 to 03:02:00); the lag began at 03:35:51"),
        "{}",
        found.explanation
    );
    // One alone counts if it was a moment before.
    assert!(
        only(&RULE, &stormy(&["03:30:00"]))
            .explanation
            .contains("(at 03:30:00)")
    );
}

#[test]
fn memory_that_ran_out_long_before_or_once_is_not() {
    quiet(&RULE, &stormy(&["01:00:00", "01:01:00"]));
    quiet(&RULE, &stormy(&["03:10:00"]));
    let mut later = outage();
    later.push(line(
        "03:39:20",
        "Got sys oom event: &{4711 java 2026-11-30 / /}",
    ));
    quiet(&RULE, &evidence(&later, None));
    quiet(
        &RULE,
        &evidence(&[line("03:00:00", "Got sys oom event: &{1 a b / /}")], None),
    );
}

#[test]
fn the_kernel_tells_of_it_where_the_kubelet_does_not() {
    let mut evidence = stormy(&[]);
    let mut host = host(Vec::new());
    // 20 minutes before the present, 03:39:18: beyond what counts as now.
    host.kernel_lines = [20, 21]
        .map(|minutes| KernelLine {
            kind: KernelKind::OutOfMemory,
            ago: Some(Duration::from_secs(minutes * 60)),
            text: "Out of memory: Killed process 4711 (java)".to_owned(),
        })
        .to_vec();
    evidence.host = Some(host);
    assert!(only(&RULE, &evidence).explanation.contains("2 times"));
}
