//! What Docker wrote of its containers, where it does not tell itself: finds its files, reads them, and holds what
//! they say against the machine's processes.

use crate::{
    capture::Keep,
    cli::LookArgs,
    evidence::Evidence,
    io::{files::Tree, gap::Gap, probe::Outcome},
    node::{
        DEFAULT_ROOT,
        observe::quick_check::{self, Presence},
    },
    runtime::{
        Container, Runtime,
        disk::{self, Place, Reading},
        stored::{self, Life},
    },
    syntax::id::ContainerId,
};
use std::{path::Path, time::Duration};

/// Most containers whose files are read for their inspect did not come.
const FEW: usize = 256;
/// How long the look at the processes of stored containers may take.
const GLANCE: Duration = Duration::from_millis(500);

/// Reads Docker's files (`disk::read`, or `disk::replay` for a recording).
pub type ReadFiles<'a> = dyn Fn(&Place, Option<&[ContainerId]>) -> Reading + 'a;

/// Fills in what Docker's files tell of the containers that it was asked for and did not tell of, and keeps them;
/// returns whether they were read.
pub(super) fn read(
    args: &LookArgs,
    endpoint: &str,
    tree: &Tree,
    keep: Option<&Keep>,
    files: &ReadFiles<'_>,
    evidence: &mut Evidence,
) -> bool {
    let Some(wanted) = evidence.runtime.as_ref().and_then(wanted) else {
        return false;
    };
    if args.no_docker_files {
        return false;
    }
    let place = match &args.docker_root {
        Some(root) => Some(Place::named(root)),
        None => disk::place(endpoint, evidence.host.as_ref(), root(args)),
    };
    let Some(place) = place else {
        let why = format!(
            "Docker's files were not read: nothing tells where the Docker at {endpoint} keeps them (--docker-root names the folder)"
        );
        evidence.notes.push(why);
        return false;
    };
    let reading = files(&place, wanted.as_deref());
    if let Some(keep) = keep {
        keep_files(keep, &reading);
    }
    take(reading, tree, evidence);
    true
}

/// Joins what was read with what Docker told.
pub(super) fn take(reading: Reading, tree: &Tree, evidence: &mut Evidence) {
    evidence.gaps.extend(reading.gaps);
    evidence.notes.extend(reading.notes);
    let (Some(mut disk), Some(runtime)) = (reading.disk, &mut evidence.runtime) else {
        return;
    };
    let files = reading.files.iter();
    let mut found: Vec<Container> = files.filter_map(|raw| raw.container(&disk.root)).collect();
    let odd = reading.files.len() - found.len();
    if odd > 0 {
        evidence.gaps.push(Gap::new(
            format!("Docker's files in {}", disk.root),
            format!("{odd} of them make no sense"),
        ));
    }
    let seen = evidence
        .host
        .as_ref()
        .is_some_and(|host| host.blind.is_none());
    if seen {
        look_for(&mut found, tree);
    }
    disk.containers = stored::join(runtime, found);
    runtime.disk = Some(disk);
}

/// Returns the containers whose files are to be read, or `Some(None)` for all; `None` where Docker told all.
pub(super) fn wanted(runtime: &Runtime) -> Option<Option<Vec<ContainerId>>> {
    if runtime.list.outcome != Outcome::Answered {
        return Some(None);
    }
    let told = [Outcome::Answered, Outcome::Gone];
    let untold = runtime
        .containers
        .iter()
        .filter(|container| !told.contains(&container.probe.outcome) && container.id.is_whole());
    let ids: Vec<ContainerId> = untold.take(FEW).map(|it| it.id.clone()).collect();
    (!ids.is_empty()).then_some(Some(ids))
}

/// Keeps what was read, as `disk::recorded` reads it.
fn keep_files(keep: &Keep, reading: &Reading) {
    for (path, bytes) in disk::record(reading) {
        keep.add(&format!("{}/{path}", disk::PART), &bytes);
    }
}

/// Finds out which of the processes that the files name are still the containers'.
fn look_for(found: &mut [Container], tree: &Tree) {
    let pid = |container: &Container| {
        let stored = container.disk.as_ref()?;
        stored.pid.filter(|_| stored.state.running)
    };
    let pids: Vec<u32> = found.iter().filter_map(pid).collect();
    let seen = quick_check::presence(tree, pids, GLANCE);
    for container in found {
        let present = pid(container).and_then(|pid| seen.get(&pid));
        let Container { id, disk, .. } = container;
        if let (Some(stored), Some(present)) = (disk, present) {
            stored.life = match present {
                Presence::Present(Some(own)) if own.matches(id) => Life::There,
                Presence::Present(_) | Presence::Absent => Life::Gone,
            };
        }
    }
}

/// Returns the root directory of the machine that is looked at.
pub(super) fn root(args: &LookArgs) -> &Path {
    let named = args.host.host_root.as_deref();
    named.unwrap_or(Path::new(DEFAULT_ROOT))
}
