//! Observes the log, the runtime, the host and the kubelet, each bounded in time, on this machine or in a capture:
//! the same steps, with the same readers and options, so that both are judged the same.
//!
//! Decides one thing: whether log and runtime are about the same node at the same time, so that they may be joined.

mod docker_files;
mod kubelet;
mod log;
mod recheck;
mod scene;

pub use scene::replay_logs;

use super::progress::Progress;
use crate::capture::{Capture, Recorder};
use crate::cli::LookArgs;
use crate::evidence::Evidence;
use crate::io::files::Tree;
use crate::io::gap::Gap;
use crate::kubelet::ask::Target;
use crate::kubelet::summary::Log;
use crate::log::ScanProgress;
use crate::node::observe::leftover_layers;
use crate::node::{Component, DEFAULT_ROOT, Host, Version, observe};
use crate::runtime::docker::{Ask, Files};
use crate::runtime::{Runtime, docker};
use crate::syntax::id::ContainerId;
use anyhow::bail;
use scene::Scene;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long reading a recorded host may take: it blocks on nothing, but a machine may be slow.
const RECORDED_HOST_TIMEOUT: Duration = Duration::from_secs(120);

/// Observes this machine, or the one whose root is named; records it with `recorder`. `progress` shows how far the log
/// is read.
///
/// # Errors
/// Nothing was asked for, an option's value makes no sense, or a log that was named can't be read.
pub fn observe(
    args: &LookArgs,
    recorder: Option<&Recorder>,
    progress: &ScanProgress,
) -> anyhow::Result<Evidence> {
    let scene = Scene::of_node(args)?;
    let metrics = kubelet::named(args)?;
    let nothing = args.log.no_log && args.no_docker && metrics.is_none();
    if nothing && args.host.no_host {
        bail!("--no-log, --no-docker and --no-host together leave nothing to examine");
    }
    if nothing && args.host.host_root.is_none() && scene.moments.replayed {
        bail!(
            "nothing to examine: with --now in the past, this host's live state does not apply (--no-log and --no-docker leave only that)"
        );
    }
    if !args.no_docker && args.docker.docker_host.is_some() {
        docker::Docker::open(&scene.endpoint, args.probe_timeout)?;
    }
    let tree = Tree::at(host_root(args));
    let source = Source::Node { progress, metrics };
    Observer::new(args, scene, source, tree, recorder).run()
}

/// As `observe`, with a progress bar for the log.
///
/// # Errors
/// As `observe`.
pub fn observe_with_progress(
    args: &LookArgs,
    recorder: Option<&Recorder>,
) -> anyhow::Result<Evidence> {
    let gauge = ScanProgress::default();
    let _progress = Progress::of_log(&gauge);
    observe(args, recorder, &gauge)
}

/// Observes what `capture` holds; records it again with `recorder`. Of `args` counts what narrows the log, and for a
/// capture without manifest all that is not this machine's.
///
/// # Errors
/// The capture contradicts itself, or an option makes no sense for it.
pub fn replay(
    args: &LookArgs,
    mut capture: Capture,
    recorder: Option<&Recorder>,
) -> anyhow::Result<Evidence> {
    let scene = Scene::of_capture(args, capture.manifest.as_ref())?;
    let host = capture.take("host");
    let source = Source::Capture {
        docker: capture.take("docker"),
        has_host: !host.is_empty(),
        capture: Box::new(capture),
    };
    let tree = Tree::recorded(&scene.host_root, Arc::new(host));
    Observer::new(args, scene, source, tree, recorder).run()
}

/// Where observations come from.
enum Source<'a> {
    /// A machine.
    Node {
        progress: &'a ScanProgress,
        metrics: Option<Target>,
    },
    /// A capture; what could not be seen is in its manifest, for only the run itself could tell.
    Capture {
        capture: Box<Capture>,
        docker: Files,
        has_host: bool,
    },
}

struct Observer<'a> {
    args: &'a LookArgs,
    scene: Scene,
    source: Source<'a>,
    tree: Tree,
    recorder: Option<&'a Recorder>,
    evidence: Evidence,
}

/// The host, what of it was not seen, notes, and how long it took.
type Looking = JoinHandle<(Host, Vec<Gap>, Vec<String>, Duration)>;

impl<'a> Observer<'a> {
    fn new(
        args: &'a LookArgs,
        scene: Scene,
        source: Source<'a>,
        tree: Tree,
        recorder: Option<&'a Recorder>,
    ) -> Self {
        Self {
            args,
            source,
            tree: match recorder {
                Some(recorder) => tree.recorded_by(Arc::clone(&recorder.host)),
                None => tree,
            },
            recorder,
            evidence: Evidence {
                now: scene.moments.now,
                log: None,
                runtime: None,
                host: None,
                kubelet: None,
                gaps: Vec::new(),
                notes: Vec::new(),
            },
            scene,
        }
    }

    fn run(mut self) -> anyhow::Result<Evidence> {
        if let Some(recorder) = self.recorder {
            recorder.set_run(self.scene.options(), self.scene.node.clone());
        }
        let apart = self.read_log()?;
        let log_gaps = self.evidence.gaps.clone();
        let started = Instant::now();
        // Host and Docker at the same time: what Docker does not answer and what blocks it are then one moment's.
        let unseen = self.host_unseen(apart.as_deref());
        let looking = match unseen {
            None => self.start_host(),
            Some(_) => None,
        };
        let asking = self.start_kubelet(apart.is_none() && unseen.is_none());
        let asks = self.asks_docker(apart);
        if asks {
            self.ask_docker()?;
        }
        // Without Docker, or with one that was named, this host is not expected.
        if let Some(Some(why)) = unseen
            && !self.args.no_docker
            && self.args.docker.docker_host.is_none()
        {
            self.evidence.notes.push(format!(
                "This host was not examined: {why} (--host-root / examines it anyway)"
            ));
        }
        if let Some(Ok(host)) = looking.map(JoinHandle::join) {
            self.finish_host(host);
        }
        if asks {
            // A recording has the second answers, or not.
            self.recheck(self.tree.is_live().then_some(started));
        }
        self.look_at_remains();
        // Last: the host shows where the files are, and which of them are stale.
        self.read_docker_files();
        self.finish_kubelet(asking)?;
        Ok(self.finish(log_gaps))
    }

    /// What was observed; with a manifest, what could not be seen is what it says.
    fn finish(self, log_gaps: Vec<Gap>) -> Evidence {
        let mut evidence = self.evidence;
        if let Source::Capture { capture, .. } = self.source
            && let Some(manifest) = capture.manifest
        {
            evidence.gaps = manifest.gaps();
            let log = &self.args.log;
            if log.since.is_some() || log.until.is_some() {
                evidence.gaps.extend(log_gaps);
            }
            if let Some(host) = &mut evidence.host {
                host.kernel_messages_unread |= manifest.kernel_messages_unread;
            }
            evidence.notes = manifest.notes;
        }
        evidence
    }

    /// Announces a part; returns when it begins, and how many gaps there are before it.
    fn begin(&self, part: &str) -> (Instant, usize) {
        if let Some(recorder) = self.recorder {
            recorder.begin(part);
        }
        (Instant::now(), self.evidence.gaps.len())
    }

    fn end(&self, part: &str, (began, gaps_before): (Instant, usize)) {
        let gaps = &self.evidence.gaps[gaps_before..];
        self.note_part(part, began.elapsed(), gaps);
    }

    fn note_part(&self, part: &str, took: Duration, gaps: &[Gap]) {
        if let Some(recorder) = self.recorder {
            recorder.note_part(part, took, gaps);
        }
    }

    /// Whether Docker is asked; with a log that is not of this machine only if its socket was named.
    fn asks_docker(&mut self, apart: Option<String>) -> bool {
        if let Source::Capture { docker, .. } = &self.source {
            return !docker.is_empty();
        }
        let apart = apart.filter(|_| self.args.docker.docker_host.is_none());
        match apart {
            _ if self.args.no_docker => false,
            None => true,
            Some(why) => {
                self.evidence.notes.push(format!(
                    "Docker was not asked: {why} (--docker-host asks it anyway)"
                ));
                false
            }
        }
    }

    /// How Docker is asked: first about the containers that the log names.
    fn ask<'s>(&'s self, first: &'s [ContainerId]) -> Ask<'s> {
        Ask {
            endpoint: &self.scene.endpoint,
            probe_timeout: self.scene.probe_timeout,
            max_unanswered: usize::from(self.scene.max_unanswered),
            first,
            now: self.scene.moments.now,
            inspect_budget: docker::INSPECT_BUDGET,
            stacks_anyway: self.recorder.is_some_and(|recorder| recorder.thorough),
            transcript: self.recorder.map(|recorder| &recorder.docker),
            again: &[],
        }
    }

    fn answer(&self, ask: &Ask<'_>) -> anyhow::Result<Runtime> {
        match &self.source {
            Source::Node { .. } => docker::probe(ask),
            Source::Capture { docker, .. } => docker::replay(docker, ask),
        }
    }

    fn ask_docker(&mut self) -> anyhow::Result<()> {
        let part = self.begin("docker");
        let log = self.evidence.log.as_ref();
        let first = log.map(Log::suspects).unwrap_or_default();
        let runtime = self.answer(&self.ask(&first))?;
        let uses_docker = log.is_some_and(|log| log.uses_docker.is_some());
        if runtime.socket_missing && !uses_docker {
            let endpoint = &self.scene.endpoint;
            let cure = match self.args.docker.docker_host {
                Some(_) => "see whether that is Docker's socket",
                None => "name the socket with --docker-host, or leave Docker out with --no-docker",
            };
            let why = format!(
                "there is no socket at {endpoint}, and no log says that this kubelet uses Docker ({cure})"
            );
            self.evidence.gaps.push(Gap::new("Docker", why));
        } else {
            self.evidence.runtime = Some(runtime);
        }
        self.end("docker", part);
        Ok(())
    }

    /// Whether the host is left out, with the reason unless that was asked for: a log or a time that is not this
    /// machine's leaves out its processes as it does its Docker.
    fn host_unseen(&self, apart: Option<&str>) -> Option<Option<String>> {
        if let Source::Capture { has_host, .. } = self.source {
            return (!has_host).then_some(None);
        }
        // Docker that was named is asked for another time, too; processes are of now alone.
        let replayed = self.scene.moments.replayed.then_some(log::NOT_NOW);
        match (&self.args.host.host_root, apart.or(replayed)) {
            _ if self.args.host.no_host => Some(None),
            (None, Some(why)) => Some(Some(why.to_owned())),
            _ => None,
        }
    }

    fn start_host(&mut self) -> Option<Looking> {
        let tree = self.tree.clone();
        let timeout = match self.source {
            Source::Node { .. } => observe::TIMEOUT,
            Source::Capture { .. } => RECORDED_HOST_TIMEOUT,
        };
        let looking = thread::Builder::new()
            .name("host".to_owned())
            .spawn(move || {
                let began = Instant::now();
                let (host, gaps, notes) = observe::scan(&tree, timeout);
                (host, gaps, notes, began.elapsed())
            });
        let gaps = &mut self.evidence.gaps;
        looking
            .map_err(|error| gaps.push(Gap::new("this host", error.to_string())))
            .ok()
    }

    fn finish_host(&mut self, (host, gaps, notes, took): (Host, Vec<Gap>, Vec<String>, Duration)) {
        let evidence = &mut self.evidence;
        let before = evidence.gaps.len();
        if let Some(why) = host.blind.clone() {
            let what = "this host's processes";
            // Where nothing else was asked, nothing is known then.
            match evidence.log.is_none() && evidence.runtime.is_none() {
                true => evidence.gaps.push(Gap::new(what, why)),
                false => evidence.notes.push(format!("{what}: {why}")),
            }
        }
        evidence.host = Some(host);
        correct_versions(evidence);
        evidence.gaps.extend(gaps);
        evidence.notes.extend(notes);
        self.note_part("host", took, &self.evidence.gaps[before..]);
    }

    /// Sees what is left of the layers of containers that Docker could not remove.
    fn look_at_remains(&mut self) {
        let (Some(host), Some(runtime)) = (&mut self.evidence.host, &self.evidence.runtime) else {
            return;
        };
        let dead = runtime.containers.iter().filter(|one| one.is_dead());
        let inspected = dead.filter_map(|one| one.inspected.as_ref());
        let folders: Vec<String> = inspected.filter_map(|it| it.folder.clone()).collect();
        let (remains, gap) = leftover_layers::scan(&self.tree, &folders);
        host.remains = remains;
        self.evidence.gaps.extend(gap);
    }
}

/// Takes over what Docker says of the versions of its parts: it knows what runs.
fn correct_versions(evidence: &mut Evidence) {
    let (Some(host), Some(runtime)) = (&mut evidence.host, &evidence.runtime) else {
        return;
    };
    let part = |name: &str| runtime.versions.components.get(name);
    for (tool, version) in [
        (Component::Dockerd, runtime.versions.daemon.as_ref()),
        (Component::Containerd, part("containerd")),
        (Component::Runc, part("runc")),
    ] {
        let version = version.and_then(|version| Version::parse(version));
        host.versions.correct(tool, version);
    }
}

/// The root directory of the machine that is examined.
fn host_root(args: &LookArgs) -> &Path {
    let named = args.host.host_root.as_deref();
    named.unwrap_or(Path::new(DEFAULT_ROOT))
}
