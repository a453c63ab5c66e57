//! Lets a daemon go on that a signal has stopped, and sees that it answers again.

use super::{
    execute::{Executor, Intent},
    pidfd::ProcessHandle,
};
use crate::{
    finding::outcome::{Ending, Fate},
    io::probe::Outcome,
    node::{Host, Role, State},
    runtime::docker::Call,
    syntax::duration::spoken as span,
};
use rustix::process::Signal;
use std::{
    thread,
    time::{Duration, Instant},
};

/// How long it may take to run again, and to answer what has piled up.
const WAKING: Duration = Duration::from_secs(2);
const PROOF: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// Sends SIGCONT to the daemon `(pid, start_ticks, name)`.
pub(super) fn go_on(
    hands: &Executor<'_>,
    (pid, start_ticks, name): (u32, u64, &str),
    intent: Intent<'_>,
) -> Ending {
    if let Err(why) = intent() {
        return Ending::because(Fate::Failed, why);
    }
    let pinned = match ProcessHandle::new(pid, start_ticks) {
        Ok(pinned) => pinned,
        Err(why) => return Ending::because(Fate::Changed, why),
    };
    let host = (hands.look)();
    let role = match stopped(&host, (pid, start_ticks)) {
        Ok(role) => role,
        Err(why) => return Ending::because(Fate::Changed, why),
    };
    if hands.is_interrupted() {
        return Ending::because(Fate::Interrupted, "interrupted before it was let go on");
    }
    // Sent while it is stopped: its answer is the first thing that can be seen of it.
    let call = match role {
        Role::Dockerd => Some((Call::Ping, "a ping")),
        Role::Containerd => Some((Call::Version, "Docker's question for its version")),
        _ => None,
    };
    let open = call
        .as_ref()
        .and_then(|(call, _)| hands.docker.open_call(call, WAKING + PROOF).ok());
    let (at, woken) = (hands.clock.now(), Instant::now());
    if let Err(error) = pinned.signal(Signal::CONT) {
        return Ending::because(
            Fate::Failed,
            format!("{name}, process {pid}, can't be signalled: {error}"),
        );
    }
    while pinned.state() == Some(State::Stopped) && woken.elapsed() < WAKING {
        thread::sleep(LOOK);
    }
    let ending = Ending {
        before: Some(format!(
            "{name}, process {pid}, stopped (state T), traced by nobody"
        )),
        at: Some(at),
        ..Ending::not_done(Fate::Unproven, None)
    };
    let now = pinned.state();
    let after = now.map_or_else(
        || format!("{name}, process {pid}, has ended"),
        |state| format!("{name}, process {pid}, in state {}", state.letter()),
    );
    if matches!(now, Some(State::Stopped | State::Traced)) {
        return Ending {
            fate: Fate::Failed,
            reason: Some("it is stopped again, or still".to_owned()),
            after: Some(after),
            ..ending
        };
    }
    let Some((_, what)) = call else {
        let fate = now.map_or(Fate::Failed, |_| Fate::Done);
        return Ending {
            fate,
            after: Some(after),
            proof: now.map(|_| format!("it ran {} after the signal", span(woken.elapsed()))),
            ..ending
        };
    };
    let answered = open.and_then(|mut open| open.wait(PROOF).cloned());
    match answered {
        Some(answered) if answered.probe.outcome == Outcome::Answered => Ending {
            fate: Fate::Done,
            after: Some(after),
            proof: Some(format!(
                "{what} was answered {} after the signal",
                span(answered.at.saturating_duration_since(woken))
            )),
            ..ending
        },
        _ => Ending {
            reason: Some(format!("it runs, and {what} is still not answered")),
            after: Some(after),
            ..ending
        },
    }
}

/// What the daemon is, if it is still stopped and nobody traces it; else in words why it is left alone.
fn stopped(host: &Host, (pid, start_ticks): (u32, u64)) -> Result<Role, String> {
    let Some(now) = host.process(pid) else {
        return Err(format!("process {pid} is gone"));
    };
    let daemon = matches!(now.role, Role::Dockerd | Role::Containerd | Role::Kubelet);
    let daemon = daemon && !now.is_contained();
    if now.start_ticks != start_ticks || !daemon {
        return Err(format!("process {pid} is another one now"));
    }
    match (now.state, now.tracer) {
        (State::Stopped, Some(0)) => Ok(now.role),
        (State::Stopped | State::Traced, Some(tracer)) if tracer > 0 => Err(format!(
            "process {tracer} traces it: whoever debugs it decides when it goes on"
        )),
        (State::Stopped | State::Traced, _) => {
            Err("it can't be told whether a debugger holds it".to_owned())
        }
        _ => Err("it is not stopped any more".to_owned()),
    }
}

#[cfg(test)]
mod tests;
