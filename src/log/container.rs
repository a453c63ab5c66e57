//! Reads the log of a container, through Docker, else from its file: Rancher runs the kubelet as one.

use super::{
    DockerLog,
    intake::{Intake, Opening},
    stored,
};
use crate::{
    io::probe::{Outcome, Probe},
    runtime::docker::{Docker, LogRequest},
    syntax::{duration, time::Time},
};
use anyhow::bail;
use chrono::TimeDelta;
use std::time::Duration;

/// What to read of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Whether plegdoctor picked it by itself.
    pub(super) picked: bool,
    /// From when.
    pub(super) since: Option<Time>,
    /// How much of its end; `None` for all.
    pub(super) bytes: Option<u64>,
    /// For how long.
    pub(super) timeout: Duration,
}

/// Whether there is a container.
pub(super) enum There {
    Yes,
    No,
    /// Docker does not tell: it does not listen, or (with the reason) it is there and does not answer.
    Silent(Option<String>),
}

/// Returns whether there is a container of that name.
///
/// # Errors
/// It can't be asked.
pub(super) fn exists(
    docker: DockerLog<'_>,
    name: &str,
    timeout: Duration,
) -> anyhow::Result<There> {
    let (probe, found) = Docker::open(docker.endpoint, docker.timeout.min(timeout))?.find(name);
    Ok(match probe.outcome {
        Outcome::Answered if found.is_some() => There::Yes,
        Outcome::Answered | Outcome::Gone => There::No,
        Outcome::Refused => There::Silent(None),
        _ => There::Silent(Some(words(&probe, docker))),
    })
}

/// Reads the container's log, from Docker's file of it if Docker does not give it.
///
/// # Errors
/// There is no such container, or neither gives its log.
pub(super) fn read(
    docker: DockerLog<'_>,
    name: &str,
    part: &Part,
    intake: &mut Intake<'_>,
) -> anyhow::Result<()> {
    let allowed = docker.files.is_some_and(|files| files.root.is_some());
    if !docker.asked && !allowed {
        bail!("--no-docker forbids to ask Docker for it");
    }
    if !docker.asked {
        return from_files(docker, name, part, "Docker is not to be asked", intake);
    }
    // A log may take its time; a daemon that does not even answer this much is not waited for where its files have it.
    if docker.files.is_some()
        && let There::Silent(Some(why)) = exists(docker, name, part.timeout)?
        && stored::read(docker, name, part, &why, intake)?
    {
        return Ok(());
    }
    match ask(docker, name, part, intake)? {
        None => Ok(()),
        Some(why) => from_files(docker, name, part, &why, intake),
    }
}

fn from_files(
    docker: DockerLog<'_>,
    name: &str,
    part: &Part,
    why: &str,
    intake: &mut Intake<'_>,
) -> anyhow::Result<()> {
    match stored::read(docker, name, part, why, intake)? {
        true => Ok(()),
        false => bail!("{why}"),
    }
}

/// Reads the container's log through Docker; returns why it does not give it, if it is silent.
///
/// # Errors
/// There is no such container.
fn ask(
    docker: DockerLog<'_>,
    name: &str,
    part: &Part,
    intake: &mut Intake<'_>,
) -> anyhow::Result<Option<String>> {
    let source = format!("container {name}");
    let daemon = Docker::open(docker.endpoint, docker.timeout)?;
    let request = LogRequest {
        name,
        since: part.since,
        max_bytes: part.bytes,
        timeout: part.timeout,
    };
    intake.start(&source, part.picked, Opening::Unnumbered);
    let log = daemon.log(&request, &mut |block| {
        intake.block(block);
        intake.goes_on()
    });
    if log.probe.outcome != Outcome::Answered && log.bytes == 0 {
        intake.abandon();
        if log.probe.outcome == Outcome::Gone {
            bail!("there is no such container: docker ps -a tells their names");
        }
        return Ok(Some(words(&log.probe, docker)));
    }
    intake.end();
    if log.probe.outcome != Outcome::Answered {
        let why = format!(
            "after {} bytes {}: the newest lines are missing",
            log.bytes,
            words(&log.probe, docker)
        );
        intake.gap(source, why);
    } else if log.older_left || !log.ended {
        let why = format!(
            "only about {} bytes of it were read: read it in whole with --log-container",
            log.bytes
        );
        intake.gap(source, why);
    }
    Ok(None)
}

fn took(took: Duration) -> String {
    duration::human(TimeDelta::from_std(took).unwrap_or(TimeDelta::MAX))
}

/// Returns what became of the call.
fn words(probe: &Probe, docker: DockerLog<'_>) -> String {
    let error = probe.error.as_deref().unwrap_or_default();
    match probe.outcome {
        Outcome::TimedOut => format!("Docker did not answer within {}", took(probe.took)),
        Outcome::Refused => format!("Docker does not listen at {} ({error})", docker.endpoint),
        Outcome::Denied => {
            format!("{error}: run plegdoctor as root, or as a member of the group docker")
        }
        _ => format!("Docker says: {error}"),
    }
}
