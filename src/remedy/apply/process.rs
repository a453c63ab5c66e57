//! Ends one OCI runtime process that keeps a container from answering: the one kill that plegdoctor knows.
//!
//! Two observations are needed. The diagnosis' own inspect was not answered; then one more is sent and stays open. If
//! it is answered, nothing is done. If not, the process is looked at once more: number, start time, words, what it is
//! and for which container, and that no other runtime process of that container stands before it (`runc init`, which
//! becomes the workload, is the last to be blamed). The open inspect's answer is then the proof.

use super::{
    execute::{Executor, Intent},
    pidfd::ProcessHandle,
};
use crate::{
    finding::{
        action::RuntimeProcess,
        outcome::{Ending, Fate},
    },
    io::probe::Outcome,
    node::{Host, OciCommand, Process, Role, State},
    runtime::docker::{Answered, Call, OpenCall},
    syntax::{duration::spoken as span, id::ContainerId},
};
use rustix::process::Signal;
use std::{
    io,
    time::{Duration, Instant},
};

/// How long it may take to end after TERM, and after KILL.
const TERM: Duration = Duration::from_secs(5);
const KILL: Duration = Duration::from_secs(5);
/// How long the open inspect may take to be answered once the process is gone.
const PROOF: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

/// Sends the inspect that stays open until its process's turn, one of so many, is over.
pub(super) fn open(
    hands: &Executor<'_>,
    container: &ContainerId,
    turns: u32,
) -> io::Result<OpenCall> {
    // Beside what is waited for, the machine is looked at and a line is written to a disk.
    let turn = TERM + KILL + PROOF + Duration::from_secs(30);
    let patience = hands
        .confirm_after
        .saturating_add(turn.saturating_mul(turns));
    let call = Call::Inspect(container.clone());
    hands.docker.open_call(&call, patience)
}

/// Ends `target`, if it is still what holds its container up.
pub(super) fn end(hands: &Executor<'_>, target: &RuntimeProcess, intent: Intent<'_>) -> Ending {
    let short = target.container.short();
    let opened = hands.open.borrow_mut().remove(&target.container);
    let opened = opened.map_or_else(|| open(hands, &target.container, 1), Ok);
    let mut inspect = match opened {
        Ok(inspect) => inspect,
        Err(error) => return Ending::because(Fate::Failed, format!("can't ask Docker: {error}")),
    };
    (hands.tell)(&format!(
        "An inspect of {short} is open; nothing is ended before it has been unanswered for {}.",
        span(hands.confirm_after)
    ));
    if let Some(ending) = confirm(hands, &mut inspect, short) {
        return ending;
    }
    if let Err(why) = intent() {
        return Ending::because(Fate::Failed, why);
    }
    let unanswered = inspect.open_for();
    let pinned = match pin(hands, target) {
        Ok(pinned) => pinned,
        Err(why) => return Ending::because(Fate::Changed, format!("nothing was ended: {why}")),
    };
    if let Some(answered) = inspect.wait(Duration::ZERO) {
        return over(answered, short);
    }
    if hands.is_interrupted() {
        return interrupted();
    }
    let before = format!(
        "inspect of {short} unanswered for {}; process {} there, {}",
        span(unanswered),
        target.pid,
        state(pinned.state())
    );
    let at = hands.clock.now();
    let ending = match strike(hands, target, &pinned, &mut inspect) {
        Ok(struck) => prove(hands, &mut inspect, short, struck),
        Err(ending) => *ending,
    };
    if ending.fate == Fate::Changed {
        return ending;
    }
    Ending {
        before: Some(before),
        at: Some(at),
        ..ending
    }
}

/// Waits whether the inspect is answered by itself; returns the ending if nothing may be done.
fn confirm(hands: &Executor<'_>, inspect: &mut OpenCall, short: &str) -> Option<Ending> {
    while inspect.open_for() < hands.confirm_after {
        let left = hands.confirm_after.saturating_sub(inspect.open_for());
        if let Some(answered) = inspect.wait(left.min(LOOK)) {
            return Some(over(answered, short));
        }
        if hands.is_interrupted() {
            return Some(interrupted());
        }
    }
    None
}

fn interrupted() -> Ending {
    Ending::because(
        Fate::Interrupted,
        "interrupted while the inspect was open; nothing was ended",
    )
}

fn over(answered: &Answered, short: &str) -> Ending {
    let took = span(answered.probe.took);
    let why = answered
        .probe
        .error
        .clone()
        .unwrap_or_else(|| "no reason given".to_owned());
    match answered.probe.outcome {
        Outcome::Answered => Ending::because(
            Fate::NotNeeded,
            format!("inspect of {short} answered by itself after {took}; nothing was ended"),
        ),
        Outcome::Gone => Ending::because(
            Fate::NotNeeded,
            format!("{short} is not in Docker any more; nothing was ended"),
        ),
        _ => Ending::because(
            Fate::Failed,
            format!("inspect of {short} failed after {took} ({why}); nothing was ended"),
        ),
    }
}

fn pin(hands: &Executor<'_>, target: &RuntimeProcess) -> Result<ProcessHandle, String> {
    let pinned = ProcessHandle::new(target.pid, target.start_ticks)?;
    // While it is held: what this look shows is true of what will be signalled.
    still_to_blame(&(hands.look)(), target)?;
    Ok(pinned)
}

/// In words why `target` must not be ended, by what `host` shows, if so.
fn still_to_blame(host: &Host, target: &RuntimeProcess) -> Result<(), String> {
    let pid = target.pid;
    let Some(now) = host.process(pid) else {
        return Err(format!(
            "process {pid} is gone, or no OCI runtime's any more"
        ));
    };
    if now.start_ticks != target.start_ticks {
        return Err(format!(
            "process {pid} is another one now: it was started later"
        ));
    }
    if now.command.as_ref() != Some(&target.command) {
        return Err(format!("process {pid} runs another command now"));
    }
    let Role::OciRuntime(_) = now.role else {
        return Err(format!("process {pid} is no OCI runtime's"));
    };
    let own = now.container.as_ref();
    if !own.is_some_and(|own| own.matches(&target.container)) {
        return Err(format!("process {pid} works on another container now"));
    }
    match host.oci_processes(&target.container).first() {
        Some(first) if first.pid != pid => Err(format!(
            "process {} comes before it now ({})",
            first.pid,
            command(first)
        )),
        _ => Ok(()),
    }
}

fn command(process: &Process) -> &'static str {
    match process.role {
        Role::OciRuntime(command) => command.word(),
        _ => OciCommand::Other.word(),
    }
}

/// Ends the process; returns when it got the signal that did it and what became of it, or the ending where none did.
fn strike(
    hands: &Executor<'_>,
    target: &RuntimeProcess,
    pinned: &ProcessHandle,
    inspect: &mut OpenCall,
) -> Result<(Instant, String), Box<Ending>> {
    let pid = target.pid;
    let failed = |fate, why: String| Err(Box::new(Ending::because(fate, why)));
    // Who presses Ctrl-C a second time does not want to wait for this step either.
    let enough = || hands.interrupts.count() > 1;
    let mut told = None;
    for (signal, limit) in [(Signal::TERM, TERM), (Signal::KILL, KILL)] {
        // The machine was looked at for seconds, and TERM had its time: `init` may have become the workload meanwhile.
        if pinned.is_another_program() {
            let why = format!("process {pid} runs another program now, and was left alone");
            return match told {
                None => failed(Fate::Changed, format!("nothing was ended: {why}")),
                Some(_) => failed(Fate::Unproven, format!("{why} since TERM")),
            };
        }
        // What the container waited for is over: nothing harsher is needed.
        if let Some(struck) = told
            && inspect.wait(Duration::ZERO).is_some()
        {
            return Ok((struck, format!("process {pid} was told to end (TERM)")));
        }
        let struck = Instant::now();
        if let Err(error) = pinned.signal(signal) {
            let why = format!("process {pid} can't be signalled: {error}");
            return failed(Fate::Failed, why);
        }
        told = Some(struck);
        if pinned.wait(limit, &enough) {
            return Ok((struck, format!("process {pid} ended")));
        }
        if enough() {
            let why = format!("interrupted before process {pid} had ended; it was told to");
            return failed(Fate::Unproven, why);
        }
    }
    let state = state(pinned.state());
    failed(
        Fate::Failed,
        format!(
            "process {pid} was told to end (TERM, then KILL) and is still there, {state}: it ends once what it waits for in the kernel answers"
        ),
    )
}

fn prove(
    hands: &Executor<'_>,
    inspect: &mut OpenCall,
    short: &str,
    (struck, ended): (Instant, String),
) -> Ending {
    let until = Instant::now() + PROOF;
    let answered = loop {
        if let Some(answered) = inspect.wait(LOOK) {
            break Some(answered.clone());
        }
        if Instant::now() >= until || hands.interrupts.count() > 1 {
            break None;
        }
    };
    let Some(answered) = answered else {
        let why = format!("inspect of {short} is still not answered");
        return Ending {
            after: Some(ended),
            ..Ending::because(Fate::Unproven, why)
        };
    };
    let Some(after) = answered.at.checked_duration_since(struck) else {
        let why = format!(
            "inspect of {short} was answered right before the signal came: that the process held it up is not proved"
        );
        return Ending {
            after: Some(ended),
            ..Ending::because(Fate::Unproven, why)
        };
    };
    let after = span(after);
    let told = match (answered.probe.outcome, &answered.container) {
        (Outcome::Answered, Some(container)) => {
            let state = container.inspected.as_ref().map(|it| it.state.as_str());
            Ok(format!("{ended}; {short} is {}", state.unwrap_or("there")))
        }
        (Outcome::Gone, _) => Ok(format!("{ended}; {short} is gone")),
        _ => Err(answered.probe.error.clone().unwrap_or_default()),
    };
    match told {
        Ok(told) => Ending {
            after: Some(told),
            proof: Some(format!(
                "inspect of {short} answered {after} after the kill"
            )),
            ..Ending::not_done(Fate::Done, None)
        },
        Err(why) => Ending {
            after: Some(ended),
            ..Ending::because(Fate::Unproven, format!("inspect of {short} failed: {why}"))
        },
    }
}

fn state(state: Option<State>) -> String {
    state.map_or_else(
        || "ended".to_owned(),
        |state| format!("state {}", state.letter()),
    )
}

#[cfg(test)]
mod tests;
