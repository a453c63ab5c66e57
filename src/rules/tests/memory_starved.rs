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
            .contains("10 % of the last ten seconds")
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
