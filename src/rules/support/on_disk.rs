//! What several rules tell of containers that only Docker's files name: as it last wrote them, perhaps stale.

use super::wording::{clock, count};
use crate::evidence::Evidence;
use crate::runtime::Container;
use crate::runtime::on_disk::{Disk, Liveness, OnDiskState};
use crate::syntax::citation::Citation;

/// Returns Docker's files and the containers that they name, where they stand for a list that did not come.
pub(crate) fn listed(evidence: &Evidence) -> Option<(&Disk, Vec<&OnDiskState>)> {
    let runtime = evidence.runtime.as_ref()?;
    let disk = runtime.docker().disk.as_ref().filter(|disk| disk.whole)?;
    let stored = runtime.containers.iter();
    Some((disk, stored.filter_map(|it| it.disk.as_ref()).collect()))
}

/// Returns how many of them are said to be stopped.
pub(crate) fn stopped(stored: &[&OnDiskState]) -> usize {
    let stopped = |stored: &&&OnDiskState| !stored.state.running;
    stored.iter().filter(stopped).count()
}

/// Returns what Docker last wrote of a container, as proof.
pub(crate) fn cite(evidence: &Evidence, container: &Container) -> Option<Citation> {
    let stored = container.disk.as_ref()?;
    let error = match stored.state.error.as_str() {
        "" => String::new(),
        error => format!("; {error}"),
    };
    Some(Citation {
        source: format!("Docker's file of {}", container.id.short()).into(),
        is_call: true,
        line: None,
        time: stored.written,
        text: format!("{}{error}", told(evidence, stored)).into(),
    })
}

/// Returns "state running, written at 03:12:01, but its process 2261 is gone".
pub(crate) fn told(evidence: &Evidence, stored: &OnDiskState) -> String {
    let state = &stored.state.state;
    let written = match stored.written {
        Some(written) => format!(", written at {}", clock(evidence, Some(written))),
        None => String::new(),
    };
    let process = match (stored.life, stored.pid) {
        (Liveness::Gone, Some(pid)) => format!(", but its process {pid} is gone"),
        (Liveness::There, Some(pid)) => format!(", and its process {pid} is there"),
        _ => String::new(),
    };
    format!("state {state}{written}{process}")
}

/// Returns how many containers Docker last wrote down, and what has become of those that ran: one or two sentences.
pub(crate) fn summed_up(disk: &Disk, stored: &[&OnDiskState]) -> String {
    let all = count(stored.len(), "container");
    let ran: Vec<_> = stored.iter().filter(|one| one.state.running).collect();
    let lives = |life: Liveness| ran.iter().filter(|one| one.life == life).count();
    let mut text = format!("Docker last wrote down {all} in {}", disk.root);
    match ran.len() {
        0 => text.push_str(", none of them running."),
        ran => text.push_str(&format_running(
            ran,
            lives(Liveness::There),
            lives(Liveness::Gone),
        )),
    }
    text
}

fn format_running(ran: usize, there: usize, gone: usize) -> String {
    let running = format!(", {ran} of them running");
    match (there, gone) {
        (0, 0) => format!("{running} (that may be stale)."),
        (there, 0) if there == ran => format!("{running}: all of these have their processes."),
        (0, gone) if gone == ran => format!("{running}: the processes of all of these are gone."),
        (there, gone) => {
            format!("{running}: {there} of these have their processes, those of {gone} are gone.")
        }
    }
}
