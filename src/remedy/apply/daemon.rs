//! Resumes a daemon that a signal has stopped, and verifies that it responds again.

use super::executor::{Executor, Intent};
use super::pidfd::ProcessHandle;
use crate::finding::outcome::{Outcome, Status};
use crate::io::probe;
use crate::node::{Host, Role, State};
use crate::runtime::docker::Request;
use crate::syntax::duration::spoken as span;
use rustix::process::Signal;
use std::thread;
use std::time::{Duration, Instant};

/// How long it may take to run again, and to work through its backlog.
const RESUME_TIMEOUT: Duration = Duration::from_secs(2);
const PROOF_TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

pub(super) fn resume(
    executor: &Executor<'_>,
    (pid, start_ticks, name): (u32, u64, &str),
    intent: Intent<'_>,
) -> Result<Outcome, Outcome> {
    intent().map_err(|why| Outcome::because(Status::Failed, why))?;
    let changed = |why| Outcome::because(Status::Changed, why);
    let process = ProcessHandle::new(pid, start_ticks).map_err(changed)?;
    let role = verify_stopped(&(executor.observe)(), (pid, start_ticks)).map_err(changed)?;
    if executor.is_interrupted() {
        let why = "interrupted before it was resumed";
        return Err(Outcome::because(Status::Interrupted, why));
    }
    // Sent while it is stopped: its answer is the first thing that can be seen of it.
    let call = match role {
        Role::Dockerd => Some((Request::Ping, "ping")),
        Role::Containerd => Some((Request::Version, "Docker's version request")),
        _ => None,
    };
    let timeout = RESUME_TIMEOUT + PROOF_TIMEOUT;
    let open = call
        .as_ref()
        .and_then(|(call, _)| executor.docker.open_call(call, timeout).ok());
    let doing = executor.doing(format!("{name} (PID {pid}) stopped (state T), not traced"));
    let sent = Instant::now();
    if let Err(error) = process.signal(Signal::CONT) {
        let why = format!("cannot signal {name} (PID {pid}): {error}");
        return Err(Outcome::because(Status::Failed, why));
    }
    while process.state() == Some(State::Stopped) && sent.elapsed() < RESUME_TIMEOUT {
        thread::sleep(POLL);
    }
    let now = process.state();
    let doing = doing.after(now.map_or_else(
        || format!("{name} (PID {pid}) exited"),
        |state| format!("{name} (PID {pid}) in state {}", state.letter()),
    ));
    if now.is_some_and(State::is_stopped) {
        return Ok(doing.with(Status::Failed, "it is still stopped, or was stopped again"));
    }
    let Some((_, what)) = call else {
        return Ok(match now {
            Some(_) => doing.proved(format!("running {} after SIGCONT", span(sent.elapsed()))),
            None => Outcome {
                status: Status::Failed,
                ..doing
            },
        });
    };
    let answered = open.and_then(|mut open| open.wait(PROOF_TIMEOUT).cloned());
    Ok(match answered {
        Some(answered) if answered.probe.outcome == probe::Outcome::Answered => {
            let took = span(answered.at.saturating_duration_since(sent));
            doing.proved(format!("{what} answered {took} after SIGCONT"))
        }
        _ => doing.with(
            Status::Unproven,
            format!("it is running, but {what} is still unanswered"),
        ),
    })
}

/// The daemon's role, if it is still stopped and not traced; else why it is left alone.
fn verify_stopped(host: &Host, (pid, start_ticks): (u32, u64)) -> Result<Role, String> {
    let Some(now) = host.process(pid) else {
        return Err(format!("PID {pid} is gone"));
    };
    if now.start_ticks != start_ticks || !now.role.is_daemon() || now.is_contained() {
        return Err(format!("PID {pid} is another process now"));
    }
    match (now.state, now.tracer) {
        (State::Stopped, Some(0)) => Ok(now.role),
        (State::Stopped | State::Traced, Some(tracer)) if tracer > 0 => Err(format!(
            "traced by process {tracer}: whoever debugs it decides when to resume it"
        )),
        (State::Stopped | State::Traced, _) => {
            Err("whether a debugger traces it could not be read".to_owned())
        }
        _ => Err("it is not stopped any more".to_owned()),
    }
}

#[cfg(test)]
mod tests;
