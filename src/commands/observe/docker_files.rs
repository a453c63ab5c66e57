//! What Docker wrote of its containers, where it does not answer: finds its files, reads them, and compares them with
//! the machine's processes.

use super::{Observer, Source, host_root};
use crate::evidence::Evidence;
use crate::io::files::Tree;
use crate::io::gap::Gap;
use crate::io::probe::Outcome;
use crate::node::observe::quick_check;
use crate::node::observe::quick_check::Presence;
use crate::runtime::disk::{DataRoot, PART, Reading};
use crate::runtime::on_disk::Liveness;
use crate::runtime::{Call, Container, Runtime, disk, on_disk};
use crate::syntax::id::ContainerId;
use std::time::Duration;

/// Containers whose files are read at most, where their inspect did not come.
const MAX_CONTAINERS: usize = 256;
/// How long looking at the processes of stored containers may take.
const LOOK_TIMEOUT: Duration = Duration::from_millis(500);

impl Observer<'_> {
    /// Fills in what Docker's files say of the containers that it was asked for and did not describe.
    pub(super) fn read_docker_files(&mut self) {
        let Some(wanted) = self.evidence.runtime.as_ref().and_then(wanted) else {
            return;
        };
        let part = self.begin(PART);
        let Some(reading) = self.docker_files(wanted.as_deref()) else {
            return;
        };
        if let Some(recorder) = self.recorder {
            recorder.add(PART, disk::record(&reading));
        }
        join(reading, &self.tree, &mut self.evidence);
        self.end(PART, part);
    }

    fn docker_files(&mut self, wanted: Option<&[ContainerId]>) -> Option<Reading> {
        let args = self.args;
        if let Source::Capture { capture, .. } = &mut self.source {
            let files = capture.take(PART);
            return (!files.is_empty()).then(|| disk::recorded(&files, wanted));
        }
        if args.no_docker_files {
            return None;
        }
        let endpoint = &self.scene.endpoint;
        let place = match &args.docker_root {
            Some(root) => Some(DataRoot::named(root)),
            None => disk::data_root(endpoint, self.evidence.host.as_ref(), host_root(args)),
        };
        if place.is_none() {
            self.evidence.notes.push(format!(
                "Docker's files were not read: the data root of the Docker at {endpoint} is not known (--docker-root names it)"
            ));
        }
        Some(disk::read(&place?, wanted, disk::PATIENCE))
    }
}

fn join(reading: Reading, tree: &Tree, evidence: &mut Evidence) {
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
    disk.containers = on_disk::join(runtime, found);
    runtime.docker_mut().disk = Some(disk);
}

/// The containers whose files are to be read, or `Some(None)` for all; `None` where Docker told all.
fn wanted(runtime: &Runtime) -> Option<Option<Vec<ContainerId>>> {
    if runtime.probe(Call::List).outcome != Outcome::Answered {
        return Some(None);
    }
    let told = [Outcome::Answered, Outcome::Gone];
    let untold = runtime
        .containers
        .iter()
        .filter(|container| !told.contains(&container.probe.outcome) && container.id.is_whole());
    let ids: Vec<ContainerId> = untold
        .take(MAX_CONTAINERS)
        .map(|it| it.id.clone())
        .collect();
    (!ids.is_empty()).then_some(Some(ids))
}

/// Finds out which of the processes that the files name are still the containers'.
fn look_for(found: &mut [Container], tree: &Tree) {
    let pid = |container: &Container| {
        let stored = container.disk.as_ref()?;
        stored.pid.filter(|_| stored.state.running)
    };
    let pids: Vec<u32> = found.iter().filter_map(pid).collect();
    let seen = quick_check::presence(tree, pids, LOOK_TIMEOUT);
    for container in found {
        let present = pid(container).and_then(|pid| seen.get(&pid));
        let Container { id, disk, .. } = container;
        if let (Some(stored), Some(present)) = (disk, present) {
            stored.life = match present {
                Presence::Present(Some(own)) if own.matches(id) => Liveness::There,
                Presence::Present(_) | Presence::Absent => Liveness::Gone,
            };
        }
    }
}
