//! Kills one OCI runtime process that blocks a container: the one kill that plegdoctor knows.
//!
//! Two observations are needed. The diagnosis' own inspect timed out; then one more is sent and stays open. If it is
//! answered, nothing is done. If not, the process is verified once more: number, start time, command line, role and
//! container, and that no other runtime process of that container stands before it (`runc init`, which becomes the
//! workload, is the last to be blamed). The open inspect's answer is then the proof.

use super::executor::{Executor, Intent};
use super::pidfd::ProcessHandle;
use crate::finding::action::RuntimeProcess;
use crate::finding::outcome::{Outcome, Status};
use crate::io::probe;
use crate::node::{Host, Role, State};
use crate::runtime::docker::{Answered, PendingCall, Request};
use crate::syntax::duration::spoken as span;
use crate::syntax::id::ContainerId;
use rustix::process::Signal;
use std::io;
use std::time::{Duration, Instant};

/// How long the process may take to end after TERM, and after KILL.
const TERM_TIMEOUT: Duration = Duration::from_secs(5);
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the open inspect may take to be answered once the process is gone.
const PROOF_TIMEOUT: Duration = Duration::from_secs(10);
/// How often an interrupt is looked for.
const POLL: Duration = Duration::from_millis(50);

/// Sends the inspect that stays open until the turn of its process, one of `turns`, has passed.
pub(super) fn open_inspect(
    executor: &Executor<'_>,
    container: &ContainerId,
    turns: u32,
) -> io::Result<PendingCall> {
    // Beside the timeouts, the machine is observed and a line is written to a disk.
    let turn = TERM_TIMEOUT + KILL_TIMEOUT + PROOF_TIMEOUT + Duration::from_secs(30);
    let timeout = executor
        .confirm_after
        .saturating_add(turn.saturating_mul(turns));
    let call = Request::Inspect(container.clone());
    executor.docker.open_call(&call, timeout)
}

pub(super) fn kill(
    executor: &Executor<'_>,
    target: &RuntimeProcess,
    intent: Intent<'_>,
) -> Result<Outcome, Outcome> {
    let short = target.container.short();
    let opened = executor.open.borrow_mut().remove(&target.container);
    let opened = opened.map_or_else(|| open_inspect(executor, &target.container, 1), Ok);
    let failed = |why| Outcome::because(Status::Failed, why);
    let mut inspect = opened.map_err(|error| failed(format!("cannot ask Docker: {error}")))?;
    (executor.show)(&format!(
        "Inspecting {short}; nothing is killed unless that stays unanswered for {}.",
        span(executor.confirm_after)
    ));
    confirm(executor, &mut inspect, short)?;
    intent().map_err(failed)?;
    let unanswered = inspect.open_for();
    let process = hold(executor, target)
        .map_err(|why| Outcome::because(Status::Changed, format!("nothing was killed: {why}")))?;
    if let Some(answered) = inspect.wait(Duration::ZERO) {
        return Err(resolved(answered, short));
    }
    if executor.is_interrupted() {
        return Err(interrupted());
    }
    let doing = executor.doing(format!(
        "inspect of {short} unanswered for {}; PID {} {}",
        span(unanswered),
        target.pid,
        describe(process.state())
    ));
    let ended = match signal(executor, target, &process, &mut inspect) {
        Ok(signalled) => verify(executor, &mut inspect, short, signalled),
        Err(outcome) => outcome,
    };
    if ended.status == Status::Changed {
        return Err(ended);
    }
    Ok(Outcome {
        before: doing.before,
        at: doing.at,
        ..ended
    })
}

fn confirm(executor: &Executor<'_>, inspect: &mut PendingCall, short: &str) -> Result<(), Outcome> {
    while inspect.open_for() < executor.confirm_after {
        let left = executor.confirm_after.saturating_sub(inspect.open_for());
        if let Some(answered) = inspect.wait(left.min(POLL)) {
            return Err(resolved(answered, short));
        }
        if executor.is_interrupted() {
            return Err(interrupted());
        }
    }
    Ok(())
}

fn interrupted() -> Outcome {
    let why = "interrupted while the inspect was open; nothing was killed";
    Outcome::because(Status::Interrupted, why)
}

fn resolved(answered: &Answered, short: &str) -> Outcome {
    let took = span(answered.probe.took);
    let (status, why) = match answered.probe.outcome {
        probe::Outcome::Answered => (
            Status::NotNeeded,
            format!("inspect of {short} answered after {took} without help"),
        ),
        probe::Outcome::Gone => (Status::NotNeeded, format!("{short} is no longer in Docker")),
        _ => {
            let error = answered.probe.error.as_deref();
            let error = error.unwrap_or("no reason given");
            let why = format!("inspect of {short} failed after {took} ({error})");
            (Status::Failed, why)
        }
    };
    Outcome::because(status, format!("{why}; nothing was killed"))
}

fn hold(executor: &Executor<'_>, target: &RuntimeProcess) -> Result<ProcessHandle, String> {
    let process = ProcessHandle::new(target.pid, target.start_ticks)?;
    // While it is held: what is observed now is true of what will be signalled.
    verify_blame(&(executor.observe)(), target)?;
    Ok(process)
}

/// An error is why `target` must not be killed, by what `host` shows.
fn verify_blame(host: &Host, target: &RuntimeProcess) -> Result<(), String> {
    let pid = target.pid;
    let Some(now) = host.process(pid) else {
        return Err(format!("PID {pid} is gone, or not an OCI runtime any more"));
    };
    if now.start_ticks != target.start_ticks {
        return Err(format!("PID {pid} was reused by a newer process"));
    }
    if now.command.as_ref() != Some(&target.command) {
        return Err(format!("PID {pid} runs another command now"));
    }
    if !matches!(now.role, Role::OciRuntime(_)) {
        return Err(format!("PID {pid} is not an OCI runtime"));
    }
    let own = now.container.as_ref();
    if !own.is_some_and(|own| own.matches(&target.container)) {
        return Err(format!("PID {pid} works on another container now"));
    }
    match host.oci_processes(&target.container).first() {
        Some(first) if first.pid != pid => {
            let command = match first.role {
                Role::OciRuntime(command) => command.word(),
                _ => "call",
            };
            let first = first.pid;
            Err(format!("PID {first} ({command}) is to blame before it now"))
        }
        _ => Ok(()),
    }
}

/// Signals the process; returns when the signal that worked was sent, and what became of the process. An error is the
/// outcome where none worked.
fn signal(
    executor: &Executor<'_>,
    target: &RuntimeProcess,
    process: &ProcessHandle,
    inspect: &mut PendingCall,
) -> Result<(Instant, String), Outcome> {
    let pid = target.pid;
    let failed = |status, why: String| Err(Outcome::because(status, why));
    // A second Ctrl-C does not wait for this step either.
    let enough = || executor.interrupts.count() > 1;
    let mut before = None;
    for (signal, timeout) in [(Signal::TERM, TERM_TIMEOUT), (Signal::KILL, KILL_TIMEOUT)] {
        // Seconds passed since the machine was observed, or since TERM: `init` may have become the workload meanwhile.
        if process.is_another_program() {
            let why = format!("PID {pid} runs another program now");
            return match before {
                None => failed(Status::Changed, format!("nothing was killed: {why}")),
                Some(_) => failed(Status::Unproven, format!("{why}; no KILL after TERM")),
            };
        }
        // The container is not blocked any more: nothing harsher is needed.
        if let Some(sent) = before
            && inspect.wait(Duration::ZERO).is_some()
        {
            return Ok((sent, format!("PID {pid} got SIGTERM")));
        }
        let sent = Instant::now();
        if let Err(error) = process.signal(signal) {
            let why = format!("cannot signal PID {pid}: {error}");
            return failed(Status::Failed, why);
        }
        before = Some(sent);
        if process.wait(timeout, &enough) {
            return Ok((sent, format!("PID {pid} exited")));
        }
        if enough() {
            let why = format!("interrupted after PID {pid} was signalled, before it exited");
            return failed(Status::Unproven, why);
        }
    }
    let why = format!(
        "PID {pid} survived SIGTERM and SIGKILL, {}: it exits once the kernel call that it is blocked in returns",
        describe(process.state())
    );
    failed(Status::Failed, why)
}

/// Waits for the open inspect's answer, which shows that the container's lock is free.
fn verify(
    executor: &Executor<'_>,
    inspect: &mut PendingCall,
    short: &str,
    (sent, ended): (Instant, String),
) -> Outcome {
    let until = Instant::now() + PROOF_TIMEOUT;
    let answered = loop {
        if let Some(answered) = inspect.wait(POLL) {
            break Some(answered.clone());
        }
        if Instant::now() >= until || executor.interrupts.count() > 1 {
            break None;
        }
    };
    let unproven = |why: String| Outcome::because(Status::Unproven, why).after(&*ended);
    let Some(answered) = answered else {
        return unproven(format!("inspect of {short} is still unanswered"));
    };
    let Some(after) = answered.at.checked_duration_since(sent) else {
        return unproven(format!(
            "inspect of {short} was answered right before the signal: not proved that the process blocked it"
        ));
    };
    let now = match (answered.probe.outcome, &answered.container) {
        (probe::Outcome::Answered, Some(container)) => {
            let state = container.inspected.as_ref().map(|it| it.state.as_str());
            state.unwrap_or("there")
        }
        (probe::Outcome::Gone, _) => "gone",
        _ => {
            let why = answered.probe.error.unwrap_or_default();
            return unproven(format!("inspect of {short} failed: {why}"));
        }
    };
    let proof = format!("inspect of {short} answered {} after the kill", span(after));
    Outcome::new(Status::Done)
        .after(format!("{ended}; {short} is {now}"))
        .proved(proof)
}

fn describe(state: Option<State>) -> String {
    state.map_or_else(
        || "exited".to_owned(),
        |state| format!("in state {}", state.letter()),
    )
}

#[cfg(test)]
mod tests;
