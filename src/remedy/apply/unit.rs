//! Restarts a daemon's unit, or lets systemd start itself again: through `systemctl`, which is given up in time.

use super::{
    command::{self, CommandResult},
    execute::{Executor, Intent},
};
use crate::{
    finding::{
        action::Unit,
        outcome::{Ending, Fate},
    },
    io::probe::Outcome,
    node::{self, Bus, Host, Process, Role},
    runtime::docker::Call,
    syntax::duration::spoken as span,
};
use std::{
    process::Command,
    time::{Duration, Instant},
};

pub(super) const SYSTEMCTL: &str = "systemctl";

/// How long systemd may take: to be asked, to start itself again, to restart a unit (its own limit is 90 s to stop it
/// and 90 s to start it).
const ASK: Duration = Duration::from_secs(5);
const REEXEC: Duration = Duration::from_secs(60);
const RESTART: Duration = Duration::from_secs(200);
/// How long a restarted daemon may take to answer.
const PROOF: Duration = Duration::from_secs(20);

/// Lets systemd start itself again, if it still does not answer over D-Bus.
pub(super) fn reexec(hands: &Executor<'_>, systemctl: &str, intent: Intent<'_>) -> Ending {
    let before = match silence(&(hands.look)()) {
        Ok(before) => before,
        Err(ending) => return *ending,
    };
    if hands.is_interrupted() {
        return Ending::because(Fate::Interrupted, "interrupted before it was done");
    }
    if let Err(why) = intent() {
        return Ending::because(Fate::Failed, why);
    }
    let (at, began) = (hands.clock.now(), Instant::now());
    let ending = Ending {
        before: Some(before),
        at: Some(at),
        ..Ending::not_done(Fate::Unproven, None)
    };
    match run(systemctl, &["daemon-reexec"], REEXEC) {
        CommandResult::Failed(words) => {
            return Ending {
                before: ending.before,
                ..Ending::because(Fate::Failed, format!("systemd refused: {words}"))
            };
        }
        CommandResult::Late => {
            return Ending {
                reason: Some(format!("systemctl did not end in {}", span(REEXEC))),
                ..ending
            };
        }
        CommandResult::Well(_) => {}
    }
    // By the way that did not answer before: systemctl has one of its own, without the bus.
    loop {
        match bus(&(hands.look)()) {
            Some(Bus::Answered(..)) => {
                let took = span(began.elapsed());
                return Ending {
                    fate: Fate::Done,
                    after: Some("systemd answers over D-Bus".to_owned()),
                    proof: Some(format!("systemd answered over D-Bus within {took}")),
                    ..ending
                };
            }
            _ if began.elapsed() >= PROOF || hands.is_interrupted() => {
                return Ending {
                    reason: Some("systemd still does not answer over D-Bus".to_owned()),
                    ..ending
                };
            }
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn bus(host: &Host) -> Option<&Bus> {
    host.systemd.as_ref().map(|systemd| &systemd.bus)
}

/// How systemd's silence was seen, in words; or the ending if it is none.
fn silence(host: &Host) -> Result<String, Box<Ending>> {
    let not_done = |fate, why: &str| Err(Box::new(Ending::because(fate, why)));
    match bus(host) {
        Some(Bus::Silent(waited)) => Ok(format!(
            "systemd gave no answer over D-Bus in {}",
            span(*waited)
        )),
        Some(Bus::Answered(..)) => not_done(
            Fate::NotNeeded,
            "systemd answers over D-Bus by itself again",
        ),
        Some(Bus::Failed(words)) => {
            let why = format!("it is not silent any more, but answers with an error: {words}");
            not_done(Fate::Changed, &why)
        }
        None => not_done(Fate::Failed, "systemd can't be asked over D-Bus"),
    }
}

/// Restarts `unit`, or starts it, if it is the daemon's that was diagnosed.
pub(super) fn restart(
    hands: &Executor<'_>,
    systemctl: &str,
    unit: Unit,
    intent: Intent<'_>,
) -> Ending {
    let name = unit.name();
    let main = match main_process(systemctl, name) {
        Ok(main) => main,
        Err(why) => return Ending::because(Fate::Failed, format!("{name}: {why}")),
    };
    if let Err(why) = is_the_one(&(hands.look)(), hands.endpoint, unit, main) {
        return Ending::because(Fate::Changed, format!("{name} was not restarted: {why}"));
    }
    if hands.is_interrupted() {
        return Ending::because(Fate::Interrupted, "interrupted before the restart");
    }
    if let Err(why) = intent() {
        return Ending::because(Fate::Failed, why);
    }
    let told = |pid: u32| match pid {
        0 => format!("{name} not running"),
        pid => format!("{name} running as process {pid}"),
    };
    let (at, began) = (hands.clock.now(), Instant::now());
    let ending = Ending {
        before: Some(told(main)),
        at: Some(at),
        ..Ending::not_done(Fate::Unproven, None)
    };
    match run(systemctl, &["restart", "--no-ask-password", name], RESTART) {
        CommandResult::Failed(words) => {
            return broken(ending, (main, main_process(systemctl, name)), &words, told);
        }
        CommandResult::Late => {
            let why = format!(
                "systemctl did not end in {}; the restart goes on",
                span(RESTART)
            );
            return Ending {
                reason: Some(why),
                ..ending
            };
        }
        CommandResult::Well(_) => {}
    }
    let now = main_process(systemctl, name).unwrap_or(0);
    let after = Some(told(now));
    if now == 0 || now == main {
        return Ending {
            reason: Some("it was restarted, and no new process of it is seen".to_owned()),
            after,
            ..ending
        };
    }
    match answers(hands, unit) {
        Some(what) => Ending {
            fate: Fate::Done,
            proof: Some(format!(
                "{what} {} after it was told to",
                span(began.elapsed())
            )),
            after,
            ..ending
        },
        None => Ending {
            reason: Some("it runs, and does not answer yet".to_owned()),
            after,
            ..ending
        },
    }
}

/// What shows that the daemon works again, in words; `None` if nothing does.
fn answers(hands: &Executor<'_>, unit: Unit) -> Option<&'static str> {
    let (call, what) = match unit {
        Unit::Docker => (Call::Ping, "Docker answered a ping"),
        Unit::Containerd => (Call::Version, "Docker answered with containerd's version"),
        Unit::Kubelet => return Some("a new process runs"),
    };
    let until = Instant::now() + PROOF;
    loop {
        let mut open = hands.docker.open_call(&call, PROOF).ok()?;
        let outcome = open.wait(PROOF).map(|answered| answered.probe.outcome);
        match outcome {
            Some(Outcome::Answered) => return Some(what),
            // A node of containerd's alone has no Docker to ask.
            Some(Outcome::Refused) if unit == Unit::Containerd => {
                return Some("a new process runs");
            }
            _ if Instant::now() >= until || hands.is_interrupted() => return None,
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn run(systemctl: &str, args: &[&str], patience: Duration) -> CommandResult {
    let mut command = Command::new(systemctl);
    command.args(args);
    command::run(command, patience)
}

/// How a restart ended that systemctl says has failed: the daemon may be gone by it all the same, or back.
fn broken(
    ending: Ending,
    (main, now): (u32, Result<u32, String>),
    words: &str,
    told: impl Fn(u32) -> String,
) -> Ending {
    let failed = Ending {
        fate: Fate::Failed,
        reason: Some(format!("systemctl failed: {words}")),
        ..ending
    };
    match now {
        // As it was: nothing was done.
        Ok(now) if now == main => Ending { at: None, ..failed },
        Ok(now) => Ending {
            fate: if now == 0 {
                Fate::Failed
            } else {
                Fate::Unproven
            },
            after: Some(told(now)),
            ..failed
        },
        Err(why) => Ending {
            fate: Fate::Unproven,
            reason: Some(format!("systemctl failed: {words}; and then: {why}")),
            ..failed
        },
    }
}

/// The main process of a unit, 0 if it does not run.
fn main_process(systemctl: &str, name: &str) -> Result<u32, String> {
    let ask = ["show", "--property=LoadState,MainPID", name];
    let text = match run(systemctl, &ask, ASK) {
        CommandResult::Well(text) => text,
        CommandResult::Failed(words) => return Err(format!("systemd can't be asked: {words}")),
        CommandResult::Late => return Err(format!("systemd did not answer in {}", span(ASK))),
    };
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    match (value("LoadState"), value("MainPID").map(str::parse)) {
        (Some("loaded"), Some(Ok(pid))) => Ok(pid),
        (Some("loaded"), _) => Err("systemd does not tell its process".to_owned()),
        _ => Err("there is no such unit".to_owned()),
    }
}

/// In words why a unit's process is not the daemon that was diagnosed, if it is not: another Docker must not be
/// restarted for it.
fn is_the_one(host: &Host, endpoint: &str, unit: Unit, main: u32) -> Result<(), String> {
    let dockerd = host.dockerd(endpoint);
    let kubelet = |process: &&Process| process.role == Role::Kubelet && !process.is_contained();
    let daemon = match unit {
        Unit::Docker => dockerd,
        Unit::Containerd => match dockerd {
            Some(dockerd) => host.containerd_of(dockerd),
            None => node::only(host.containerds()),
        },
        Unit::Kubelet => node::only(host.processes.iter().filter(kubelet)),
    };
    match daemon {
        Some(daemon) if daemon.pid == main => Ok(()),
        // Whoever started it, a second one beside it would work on the same files.
        Some(daemon) if main == 0 => Err(format!(
            "it does not run, and the daemon concerned does, as process {}",
            daemon.pid
        )),
        None if main == 0 => Ok(()),
        Some(daemon) => Err(format!(
            "its process is {main}, and the daemon concerned is process {}",
            daemon.pid
        )),
        None => Err(format!(
            "it can't be told whether its process, {main}, is the daemon concerned"
        )),
    }
}

#[cfg(test)]
mod tests;
