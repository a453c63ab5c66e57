//! Reads the log of a container, through Docker: Rancher runs the kubelet as one.

use super::{
    DockerLog,
    intake::{Intake, Opening},
};
use crate::{
    duration,
    event::Time,
    runtime::{
        Outcome, Probe,
        docker::{Docker, LogRequest},
    },
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

/// Returns whether there is a container of that name.
///
/// # Errors
/// Docker does not tell, though it is there.
pub(super) fn exists(docker: DockerLog<'_>, name: &str, timeout: Duration) -> anyhow::Result<bool> {
    let (probe, found) = Docker::open(docker.endpoint, docker.timeout.min(timeout))?.find(name);
    match probe.outcome {
        Outcome::Answered => Ok(found.is_some()),
        Outcome::Gone | Outcome::Refused => Ok(false),
        _ => bail!("{}", words(&probe, docker)),
    }
}

/// Reads the container's log.
///
/// # Errors
/// There is no such container, or Docker does not give its log.
pub(super) fn read(
    docker: DockerLog<'_>,
    name: &str,
    part: &Part,
    intake: &mut Intake<'_>,
) -> anyhow::Result<()> {
    if !docker.asked {
        bail!("--no-docker forbids to ask Docker for it");
    }
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
        true
    });
    if log.probe.outcome != Outcome::Answered && log.bytes == 0 {
        intake.abandon();
        if log.probe.outcome == Outcome::Gone {
            bail!("there is no such container: docker ps -a tells their names");
        }
        bail!("{}", words(&log.probe, docker));
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
    Ok(())
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
