//! Restarts a daemon's unit, or re-executes systemd: through `systemctl`, which is given up in time.

use super::command;
use super::command::CommandResult;
use super::executor::{Executor, Intent};
use crate::finding::action::Unit;
use crate::finding::outcome::{Outcome, Status};
use crate::io::probe;
use crate::node;
use crate::node::{Bus, Host, Process, Role};
use crate::runtime::docker::Request;
use crate::syntax::duration::spoken as span;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

pub(super) const SYSTEMCTL: &str = "systemctl";

/// How long systemd may take to be asked, to re-execute, to restart a unit (its own limit is 90 s to stop it and 90 s
/// to start it).
const SHOW_TIMEOUT: Duration = Duration::from_secs(5);
const REEXEC_TIMEOUT: Duration = Duration::from_secs(60);
const RESTART_TIMEOUT: Duration = Duration::from_secs(200);
/// How long a restarted daemon may take to respond.
const PROOF_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(100);

/// Re-executes systemd, if it still does not respond over D-Bus.
pub(super) fn reexec(
    executor: &Executor<'_>,
    systemctl: &str,
    intent: Intent<'_>,
) -> Result<Outcome, Outcome> {
    let before = verify_silence(&(executor.observe)())?;
    executor.begin(intent, "interrupted before the re-execution")?;
    let (doing, began) = (executor.doing(before), Instant::now());
    match run(systemctl, &["daemon-reexec"], REEXEC_TIMEOUT) {
        CommandResult::Failed(words) => {
            let why = format!("systemd refused: {words}");
            return Err(Outcome {
                at: None,
                ..doing.with(Status::Failed, why)
            });
        }
        CommandResult::Late => {
            let why = format!("systemctl timed out after {}", span(REEXEC_TIMEOUT));
            return Ok(doing.with(Status::Unproven, why));
        }
        CommandResult::Well(_) => {}
    }
    // By the way that did not respond before: systemctl has one of its own, without the bus.
    loop {
        if let Some(Bus::Answered(..)) = bus(&(executor.observe)()) {
            let took = span(began.elapsed());
            return Ok(doing
                .after("systemd responds over D-Bus")
                .proved(format!("systemd answered over D-Bus within {took}")));
        }
        if began.elapsed() >= PROOF_TIMEOUT || executor.is_interrupted() {
            let why = "systemd still does not respond over D-Bus";
            return Ok(doing.with(Status::Unproven, why));
        }
        thread::sleep(POLL);
    }
}

fn bus(host: &Host) -> Option<&Bus> {
    host.systemd.as_ref().map(|systemd| &systemd.bus)
}

/// How systemd's silence was seen; an error is the outcome if it is not silent.
fn verify_silence(host: &Host) -> Result<String, Outcome> {
    let (status, why) = match bus(host) {
        Some(Bus::Silent(waited)) => {
            return Ok(format!(
                "no answer over D-Bus from systemd in {}",
                span(*waited)
            ));
        }
        Some(Bus::Answered(..)) => (
            Status::NotNeeded,
            "systemd responds over D-Bus again".to_owned(),
        ),
        Some(Bus::Failed(words)) => (
            Status::Changed,
            format!("systemd is not silent any more, but returns an error: {words}"),
        ),
        None => (
            Status::Failed,
            "systemd cannot be asked over D-Bus".to_owned(),
        ),
    };
    Err(Outcome::because(status, why))
}

pub(super) fn restart(
    executor: &Executor<'_>,
    systemctl: &str,
    unit: Unit,
    intent: Intent<'_>,
) -> Result<Outcome, Outcome> {
    let name = unit.name();
    let main = main_process(systemctl, name)
        .map_err(|why| Outcome::because(Status::Failed, format!("{name}: {why}")))?;
    verify_unit(&(executor.observe)(), executor.endpoint, unit, main).map_err(|why| {
        Outcome::because(Status::Changed, format!("{name} was not restarted: {why}"))
    })?;
    executor.begin(intent, "interrupted before the restart")?;
    let describe = |pid: u32| match pid {
        0 => format!("{name} not running"),
        pid => format!("{name} running as PID {pid}"),
    };
    let (doing, began) = (executor.doing(describe(main)), Instant::now());
    let restart = ["restart", "--no-ask-password", name];
    match run(systemctl, &restart, RESTART_TIMEOUT) {
        CommandResult::Failed(words) => {
            let now = main_process(systemctl, name);
            return Ok(failed_restart(doing, (main, now), &words, describe));
        }
        CommandResult::Late => {
            let waited = span(RESTART_TIMEOUT);
            let why = format!("systemctl timed out after {waited}; the restart continues");
            return Ok(doing.with(Status::Unproven, why));
        }
        CommandResult::Well(_) => {}
    }
    let now = main_process(systemctl, name).unwrap_or(0);
    let doing = doing.after(describe(now));
    if now == 0 || now == main {
        let why = "it was restarted, but no new process of it is seen";
        return Ok(doing.with(Status::Unproven, why));
    }
    Ok(match wait_until_responding(executor, unit) {
        Some(what) => doing.proved(format!(
            "{what} {} after the restart",
            span(began.elapsed())
        )),
        None => doing.with(Status::Unproven, "it is running, but does not respond yet"),
    })
}

fn wait_until_responding(executor: &Executor<'_>, unit: Unit) -> Option<&'static str> {
    let (call, what) = match unit {
        Unit::Docker => (Request::Ping, "Docker answered a ping"),
        Unit::Containerd => (
            Request::Version,
            "Docker answered with containerd's version",
        ),
        Unit::Kubelet => return Some("a new process runs"),
    };
    let until = Instant::now() + PROOF_TIMEOUT;
    loop {
        let mut open = executor.docker.open_call(&call, PROOF_TIMEOUT).ok()?;
        let outcome = open
            .wait(PROOF_TIMEOUT)
            .map(|answered| answered.probe.outcome);
        match outcome {
            Some(probe::Outcome::Answered) => return Some(what),
            // A node of containerd's alone has no Docker to ask.
            Some(probe::Outcome::Refused) if unit == Unit::Containerd => {
                return Some("a new process runs");
            }
            _ if Instant::now() >= until || executor.is_interrupted() => return None,
            _ => thread::sleep(POLL),
        }
    }
}

fn run(systemctl: &str, args: &[&str], timeout: Duration) -> CommandResult {
    let mut command = Command::new(systemctl);
    command.args(args);
    command::run(command, timeout)
}

fn failed_restart(
    doing: Outcome,
    (main, now): (u32, Result<u32, String>),
    words: &str,
    describe: impl Fn(u32) -> String,
) -> Outcome {
    let why = format!("systemctl failed: {words}");
    match now {
        // As it was: nothing was done.
        Ok(now) if now == main => Outcome {
            at: None,
            ..doing.with(Status::Failed, why)
        },
        Ok(0) => doing.with(Status::Failed, why).after(describe(0)),
        Ok(now) => doing.with(Status::Unproven, why).after(describe(now)),
        Err(then) => doing.with(Status::Unproven, format!("{why}; and then: {then}")),
    }
}

fn main_process(systemctl: &str, name: &str) -> Result<u32, String> {
    let show = ["show", "--property=LoadState,MainPID", name];
    let text = match run(systemctl, &show, SHOW_TIMEOUT) {
        CommandResult::Well(text) => text,
        CommandResult::Failed(words) => return Err(format!("systemd cannot be asked: {words}")),
        CommandResult::Late => {
            let waited = span(SHOW_TIMEOUT);
            return Err(format!("systemctl timed out after {waited}"));
        }
    };
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    match (value("LoadState"), value("MainPID").map(str::parse)) {
        (Some("loaded"), Some(Ok(pid))) => Ok(pid),
        (Some("loaded"), _) => Err("systemd does not show its process".to_owned()),
        _ => Err("no such unit".to_owned()),
    }
}

/// An error is why a unit's process is not the daemon that was diagnosed: another Docker must not be restarted for it.
fn verify_unit(host: &Host, endpoint: &str, unit: Unit, main: u32) -> Result<(), String> {
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
    match daemon.map(|daemon| daemon.pid) {
        Some(pid) if pid == main => Ok(()),
        // Whoever started it, a second one beside it would work on the same files.
        Some(pid) if main == 0 => Err(format!(
            "the unit is not running, but its daemon is, as PID {pid}"
        )),
        None if main == 0 => Ok(()),
        Some(pid) => Err(format!(
            "its process is PID {main}, the affected daemon PID {pid}"
        )),
        None => Err(format!(
            "whether its process, PID {main}, is the affected daemon is unknown"
        )),
    }
}

#[cfg(test)]
mod tests;
