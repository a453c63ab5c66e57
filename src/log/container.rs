//! Reads the log of a container, through Docker, or, where it does not answer, from Docker's own file: Rancher's RKE runs
//! the kubelet as a container.

use super::{DockerLog, ReadFrom, ingest::Ingest};
use crate::io::files::Tree;
use crate::io::probe::{Outcome, Probe};
use crate::node::Host;
use crate::node::observe::quick_check;
use crate::runtime::disk::DataRoot;
use crate::runtime::docker::{Docker, LogRequest};
use crate::runtime::{Container, disk};
use crate::syntax::duration;
use crate::syntax::time::Time;
use anyhow::bail;
use chrono::TimeDelta;
use std::time::{Duration, Instant};

/// Time limit for finding Docker's daemon, whose arguments show where its files are.
const FIND_DAEMON_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes of a log file's end that are read, where no other limit is given: Docker's files are mostly smaller.
const MAX_FILE_BYTES: u64 = 1 << 30;

#[derive(Clone, Copy, Debug)]
pub(super) struct ContainerPart {
    pub(super) is_picked: bool,
    pub(super) since: Option<Time>,
    /// How much of its end; `None` for all.
    pub(super) max_bytes: Option<u64>,
    pub(super) timeout: Duration,
}

pub(super) enum Exists {
    Yes,
    No,
    /// Docker does not listen, or (with the reason) does not answer.
    Unknown(Option<String>),
}

/// # Errors
/// Docker can't be asked.
pub(super) fn exists(
    docker: DockerLog<'_>,
    name: &str,
    timeout: Duration,
) -> anyhow::Result<Exists> {
    let (probe, found) = Docker::open(docker.endpoint, docker.timeout.min(timeout))?.find(name);
    Ok(match probe.outcome {
        Outcome::Answered if found.is_some() => Exists::Yes,
        Outcome::Answered | Outcome::Gone => Exists::No,
        Outcome::Refused => Exists::Unknown(None),
        _ => Exists::Unknown(Some(describe(&probe, docker))),
    })
}

/// Reads the container's log, from Docker's file if Docker does not give it.
///
/// # Errors
/// There is no such container, or neither gives its log.
pub(super) fn read(
    docker: DockerLog<'_>,
    name: &str,
    part: &ContainerPart,
    ingest: &mut Ingest<'_>,
) -> anyhow::Result<()> {
    let why = if docker.asked {
        // A log may take its time; a daemon that does not even answer this much is not waited for where its files have it.
        if docker.files.is_some()
            && let Exists::Unknown(Some(why)) = exists(docker, name, part.timeout)?
            && read_file(docker, name, part, &why, ingest)?
        {
            return Ok(());
        }
        let Some(why) = read_through_docker(docker, name, part, ingest)? else {
            return Ok(());
        };
        why
    } else {
        if docker.files.is_none_or(|files| files.root.is_none()) {
            bail!("--no-docker rules out asking Docker for it");
        }
        "Docker was not asked (--no-docker)".to_owned()
    };
    if !read_file(docker, name, part, &why, ingest)? {
        bail!("{why}");
    }
    Ok(())
}

/// Reads the container's log through Docker; returns why it does not give it, if it does not answer.
///
/// # Errors
/// There is no such container.
fn read_through_docker(
    docker: DockerLog<'_>,
    name: &str,
    part: &ContainerPart,
    ingest: &mut Ingest<'_>,
) -> anyhow::Result<Option<String>> {
    let source = format!("container {name}");
    let daemon = Docker::open(docker.endpoint, docker.timeout)?;
    let request = LogRequest {
        name,
        since: part.since,
        max_bytes: part.max_bytes,
        timeout: part.timeout,
    };
    ingest.start(&source, part.is_picked, ReadFrom::Unnumbered);
    let log = daemon.log(&request, &mut |block| {
        ingest.block(block);
        ingest.wants_more()
    });
    if log.probe.outcome != Outcome::Answered && log.bytes == 0 {
        ingest.abandon();
        if log.probe.outcome == Outcome::Gone {
            bail!("there is no such container: docker ps -a lists their names");
        }
        return Ok(Some(describe(&log.probe, docker)));
    }
    ingest.end();
    if log.probe.outcome != Outcome::Answered {
        let why = format!(
            "after {} bytes {}: the newest lines are missing",
            log.bytes,
            describe(&log.probe, docker)
        );
        ingest.gap(source, why);
    } else if log.older_left || !log.ended {
        let why = format!(
            "only about {} bytes of it were read: read all of it with --log-container",
            log.bytes
        );
        ingest.gap(source, why);
    }
    Ok(None)
}

fn describe(probe: &Probe, docker: DockerLog<'_>) -> String {
    let error = probe.error.as_deref().unwrap_or_default();
    match probe.outcome {
        Outcome::TimedOut => {
            let took = TimeDelta::from_std(probe.took).unwrap_or(TimeDelta::MAX);
            format!("Docker did not answer within {}", duration::human(took))
        }
        Outcome::Refused => format!("Docker does not listen at {} ({error})", docker.endpoint),
        Outcome::Denied => {
            format!("{error}: run plegdoctor as root, or as a member of the group docker")
        }
        _ => format!("Docker says: {error}"),
    }
}

/// Reads the log of the container of that name from its file; `why` is why Docker does not give it. Returns whether there
/// is such a container.
///
/// # Errors
/// Docker's files must not or cannot be read; or the log is not among them.
pub(super) fn read_file(
    docker: DockerLog<'_>,
    name: &str,
    part: &ContainerPart,
    why: &str,
    ingest: &mut Ingest<'_>,
) -> anyhow::Result<bool> {
    let until = Instant::now() + part.timeout;
    let Some(place) = docker_root(docker) else {
        return Ok(false);
    };
    let reading = disk::read(&place, None, disk::PATIENCE.min(part.timeout));
    let root = reading.disk.map(|disk| disk.root).unwrap_or_default();
    let containers = reading.files.iter().filter_map(|raw| raw.container(&root));
    let newest = containers
        .filter(|container| container.name == name)
        .max_by_key(|container: &Container| container.created);
    let Some(container) = newest else {
        return match reading.gaps.first() {
            Some(gap) => bail!("{}: {}", gap.what, gap.why),
            None => Ok(false),
        };
    };
    let Some(stored) = &container.disk else {
        return Ok(false);
    };
    let (id, driver) = (&container.id, stored.log_driver.as_str());
    if !["", "json-file"].contains(&driver) {
        let elsewhere = match driver {
            "journald" => {
                format!(": journalctl CONTAINER_NAME={name} | plegdoctor diagnose --log -")
            }
            _ => String::new(),
        };
        bail!("{why}; its log driver is {driver}, which keeps no readable file{elsewhere}");
    }
    let usual = format!("{id}-json.log");
    let file = stored.log_file.as_deref().unwrap_or(&usual);
    let source = format!("container {name}");
    let left = until.saturating_duration_since(Instant::now());
    ingest.start(&source, part.is_picked, ReadFrom::Unnumbered);
    let bytes = part.max_bytes.unwrap_or(MAX_FILE_BYTES);
    let read = disk::read_log(&place, id, file, bytes, left, &mut |block| {
        ingest.block(block);
    });
    let path = format!("{root}/containers/{id}/{file}");
    let log = match read {
        Ok(log) => log,
        Err(error) => {
            ingest.abandon();
            bail!("{why}; its file {path}: {error:#}");
        }
    };
    ingest.end();
    ingest.note(format!(
        "{source}: read from its file on disk, {path}: {why}"
    ));
    report_gaps(&source, &log, ingest);
    Ok(true)
}

fn report_gaps(source: &str, log: &disk::Log, ingest: &mut Ingest<'_>) {
    if !log.ended {
        let why = format!(
            "only {} bytes of its file came in time: the newest lines are missing",
            log.bytes
        );
        ingest.gap(source, why);
    }
    if log.left > 0 {
        let why = format!("{} older bytes of its file were skipped", log.left);
        ingest.gap(source, why);
    }
    for why in &log.broken {
        ingest.gap(source, why);
    }
    if log.older > 0 {
        let why = format!("{} older compressed files of it were skipped", log.older);
        ingest.gap(source, why);
    }
    if let Some(pid) = log.survivor {
        let why = format!(
            "plegdoctor's child process {pid}, which reads it, hangs in the kernel; it ends when the read returns"
        );
        ingest.gap(source, why);
    }
}

/// Where Docker's files are, if they may be read.
fn docker_root(docker: DockerLog<'_>) -> Option<DataRoot> {
    let files = docker.files?;
    if let Some(root) = files.root {
        return Some(DataRoot::named(root));
    }
    let host = if files.look {
        quick_check::dockerds(&Tree::at(files.host_root), FIND_DAEMON_TIMEOUT)
    } else {
        Host::default()
    };
    disk::data_root(docker.endpoint, Some(&host), files.host_root)
}
