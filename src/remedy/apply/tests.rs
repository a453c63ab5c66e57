//! What tests of single actions share.

use super::{Audit, Clock, Executor, Interrupts, Outcome};
use crate::{
    node::{Host, Process, Role, State},
    runtime::docker::Docker,
};
use chrono::DateTime;
use std::{cell::RefCell, path::Path, time::Duration};

/// Runs `act` with an executor whose Docker is not there and whose audit is in `folder`.
pub(super) fn with_executor<T>(folder: &Path, act: impl FnOnce(&Executor<'_>) -> T) -> T {
    let clock = Clock::starting(DateTime::parse_from_rfc3339("2026-11-30T12:00:00Z").unwrap());
    let endpoint = format!("unix://{}/docker.sock", folder.display());
    act(&Executor {
        docker: &Docker::open(&endpoint, Duration::from_secs(1)).unwrap(),
        endpoint: &endpoint,
        confirm_after: Duration::from_secs(1),
        audit: &Audit::open(&folder.join("audit"), clock).unwrap(),
        clock,
        interrupts: &Interrupts::default(),
        show: &|_| {},
        observe: &|| Host::default(),
        open: RefCell::default(),
    })
}

/// The outcome, whether the action was done or not.
pub(super) fn either(done: Result<Outcome, Outcome>) -> Outcome {
    done.unwrap_or_else(|not_done| not_done)
}

/// A process that sleeps, started at tick 500.
pub(super) fn process(pid: u32, ppid: u32, comm: &str, role: Role) -> Process {
    Process {
        start_ticks: 500,
        ..Process::new((pid, ppid), comm, role, State::Sleeping)
    }
}
