//! Reads the log of a container from Docker's own file of it, where Docker does not answer: Rancher runs the kubelet as
//! a container.

use super::{
    DockerLog,
    container::Part,
    intake::{Intake, Opening},
};
use crate::{
    io::files::Tree,
    node::{Host, observe::quick_check},
    runtime::{
        Container,
        disk::{self, Place},
    },
};
use anyhow::bail;
use std::time::{Duration, Instant};

/// For how long Docker's daemon is looked for, whose words tell where the files are.
const GLANCE: Duration = Duration::from_secs(1);
/// Most of a log's end that is read, where nothing else is said: what Docker keeps of one in its files is mostly less.
const BYTES: u64 = 1 << 30;

/// Reads the log of the container of that name; `why` is why Docker does not give it. Returns whether there is such a
/// container.
///
/// # Errors
/// Docker's files are not to be read, or not to be had; or the log is not among them.
pub(super) fn read(
    docker: DockerLog<'_>,
    name: &str,
    part: &Part,
    why: &str,
    intake: &mut Intake<'_>,
) -> anyhow::Result<bool> {
    let until = Instant::now() + part.timeout;
    let Some(place) = place(docker) else {
        return Ok(false);
    };
    let patience = disk::PATIENCE.min(part.timeout);
    let reading = disk::read(&place, None, patience);
    let root = reading.disk.map(|disk| disk.root).unwrap_or_default();
    let containers = reading.files.iter().filter_map(|raw| raw.container(&root));
    let Some(container) = newest(containers.filter(|it| it.name == name)) else {
        return match reading.gaps.first() {
            Some(gap) => bail!("{}: {}", gap.what, gap.why),
            None => Ok(false),
        };
    };
    let Some(stored) = &container.disk else {
        return Ok(false);
    };
    let id = &container.id;
    if !["", "json-file"].contains(&stored.log_driver.as_str()) {
        bail!(
            "{why}; its log driver is {}, so it is in no file that can be read here{}",
            stored.log_driver,
            elsewhere(&stored.log_driver, name)
        );
    }
    let usual = format!("{id}-json.log");
    let file = stored.log_file.as_deref().unwrap_or(&usual);
    let source = format!("container {name}");
    let left = until.saturating_duration_since(Instant::now());
    intake.start(&source, part.picked, Opening::Unnumbered);
    let bytes = part.bytes.unwrap_or(BYTES);
    let read = disk::read_log(&place, id, file, bytes, left, &mut |block| {
        intake.block(block);
    });
    let path = format!("{root}/containers/{id}/{file}");
    let log = match read {
        Ok(log) => log,
        Err(error) => {
            intake.abandon();
            bail!("{why}; its file {path}: {error:#}");
        }
    };
    intake.end();
    intake.reading.notes.push(format!(
        "{source}: read from its file on Docker's disk, {path}, for {why}"
    ));
    tell(&source, &log, intake);
    Ok(true)
}

/// Tells what of the log was not seen.
fn tell(source: &str, log: &disk::Log, intake: &mut Intake<'_>) {
    if !log.ended {
        let why = format!(
            "only {} bytes of its file came in time: the newest lines are missing",
            log.bytes
        );
        intake.gap(source, why);
    }
    if log.left > 0 {
        let why = format!("{} older bytes of its file were left out", log.left);
        intake.gap(source, why);
    }
    for why in &log.broken {
        intake.gap(source, why);
    }
    if log.older > 0 {
        let why = format!("{} older compressed files of it were left out", log.older);
        intake.gap(source, why);
    }
    if let Some(pid) = log.survivor {
        let why = format!(
            "process {pid}, a child of plegdoctor's own that reads it, hangs in the kernel and ends once it is let go"
        );
        intake.gap(source, why);
    }
}

fn place(docker: DockerLog<'_>) -> Option<Place> {
    let files = docker.files?;
    if let Some(root) = files.root {
        return Some(Place::named(root));
    }
    let host = match files.look {
        true => quick_check::dockerds(&Tree::at(files.host_root), GLANCE),
        false => Host::default(),
    };
    disk::place(docker.endpoint, Some(&host), files.host_root)
}

/// Returns the one that was created last.
fn newest(containers: impl Iterator<Item = Container>) -> Option<Container> {
    containers.max_by_key(|container| container.created)
}

/// Returns where the log is instead.
fn elsewhere(driver: &str, name: &str) -> String {
    match driver {
        "journald" => format!(": journalctl CONTAINER_NAME={name} | plegdoctor diagnose --log -"),
        _ => String::new(),
    }
}
