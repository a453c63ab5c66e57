//! Sees again what a capture holds, in place of a machine: by the same readers, with the same options, so that it is
//! judged the same.
//!
//! What could not be seen is taken from the manifest, for only the run itself could tell. A case has none: there it
//! is what the readers say.

use super::{
    again::Again, ask_docker, blind, correct_versions, files, kubelet, late, log_gaps,
    look_at_remains, options,
};
use crate::{
    capture::{Capture, Keep, Manifest, manifest::Options},
    cli::{LogArgs, LookArgs},
    evidence::Evidence,
    io::files::Tree,
    kubelet::summary::Digest,
    log::{self, Reading, Recorded, Sink, options::Moments},
    node::observe,
    runtime::{
        disk,
        docker::{self, Ask, Files},
    },
    syntax::id::ContainerId,
};
use anyhow::{Context as _, bail};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// For how long the host's recorded files may be looked at: they hold nobody up, a slow machine only itself.
const PATIENCE: Duration = Duration::from_secs(120);
/// What a host is called that has no name of its own.
const ROOT: &str = "host";

/// Returns what `capture` holds; with `keep`, keeps it again. Of `args` counts what narrows the log, and for a capture
/// without manifest all that is not this machine's.
///
/// # Errors
/// The capture contradicts itself, or an option makes no sense for it.
pub fn replay(
    args: &LookArgs,
    mut capture: Capture,
    keep: Option<&Keep>,
) -> anyhow::Result<Evidence> {
    let manifest = capture.manifest.take();
    let scene = Scene::of(args, manifest.as_ref())?;
    if let Some(keep) = keep {
        let moments = &scene.moments;
        let options = Options {
            probe_timeout_seconds: scene.probe_timeout.as_secs_f64(),
            max_unanswered: scene.max_unanswered,
            host_root: scene.host_root.clone(),
            ..options(args, moments, &scene.endpoint)
        };
        let node = manifest.as_ref().and_then(|it| it.node.clone());
        keep.scene(options, node);
    }
    let mut evidence = Evidence {
        now: scene.moments.now,
        log: None,
        runtime: None,
        host: None,
        kubelet: None,
        gaps: Vec::new(),
        notes: Vec::new(),
    };
    read_logs(
        args,
        &scene,
        &capture,
        manifest.as_ref(),
        keep,
        &mut evidence,
    )?;
    let narrowed = args.log.since.is_some() || args.log.until.is_some();
    let of_the_log = evidence.gaps.clone();
    let answers = capture.take("docker");
    ask_recording(args, &scene, &answers, keep, &mut evidence)?;
    let host = capture.take("host");
    let is_seen = !host.is_empty();
    let tree = tree(&scene, host, keep);
    if is_seen {
        look_at(&tree, keep, &mut evidence);
    }
    if !answers.is_empty() {
        let odd = Again {
            ask: &|ask| docker::replay(&answers, ask),
            endpoint: &scene.endpoint,
            probe_timeout: scene.probe_timeout,
            tape: keep.map(|keep| &keep.tape),
            tree: &tree,
        };
        odd.ask(None, &mut evidence);
    }
    look_at_remains(&tree, &mut evidence);
    read_files(&mut capture, &tree, keep, &mut evidence);
    kubelet::replay(&mut capture, keep, &mut evidence)?;
    if let Some(manifest) = &manifest {
        evidence.gaps = manifest.gaps();
        evidence
            .gaps
            .extend(of_the_log.into_iter().filter(|_| narrowed));
        evidence.notes.clone_from(&manifest.notes);
        if let Some(host) = &mut evidence.host {
            host.kernel_messages_unread |= manifest.kernel_messages_unread;
        }
    }
    Ok(evidence)
}

/// What the run went by.
struct Scene {
    moments: Moments,
    endpoint: String,
    probe_timeout: Duration,
    max_unanswered: u16,
    host_root: String,
}

impl Scene {
    fn of(args: &LookArgs, manifest: Option<&Manifest>) -> anyhow::Result<Self> {
        let Some(manifest) = manifest else {
            return Ok(Self {
                moments: moments(&args.log, None)?,
                endpoint: args.docker.endpoint(),
                probe_timeout: args.probe_timeout,
                max_unanswered: args.max_unanswered,
                host_root: ROOT.to_owned(),
            });
        };
        let options = &manifest.options;
        Ok(Self {
            moments: moments(&args.log, Some(manifest))?,
            endpoint: options.docker_host.clone(),
            probe_timeout: options.probe_timeout()?,
            max_unanswered: options.max_unanswered,
            host_root: options.host_root.clone(),
        })
    }
}

/// Returns the moments that the run spoke of, narrowed by what `args` say.
///
/// # Errors
/// An option is given that the capture itself says, or makes no sense.
fn moments(args: &LogArgs, manifest: Option<&Manifest>) -> anyhow::Result<Moments> {
    let Some(manifest) = manifest else {
        return Ok(Moments {
            replayed: true,
            ..args.moments()?
        });
    };
    for (option, given) in [
        ("--now", args.now.is_some()),
        ("--utc-offset", args.utc_offset.is_some()),
    ] {
        if given {
            bail!("{option} can't be given: the capture says it itself");
        }
    }
    let given = args.moments_at(manifest.moment()?)?;
    let (since, until) = manifest.options.window()?;
    Ok(Moments {
        replayed: true,
        utc_offset: manifest.options.zone()?,
        since: given.since.or(since),
        until: given.until.or(until),
        ..given
    })
}

/// Executor the events of the logs in `capture` to `sink`. Of `args` counts what narrows them, and for a capture without
/// manifest how to read their times.
///
/// # Errors
/// The capture holds no log, or contradicts itself; or an option makes no sense for it.
pub fn replay_logs(
    args: &LogArgs,
    capture: &Capture,
    sink: &mut dyn Sink,
) -> anyhow::Result<Reading> {
    let manifest = capture.manifest.as_ref();
    let moments = moments(args, manifest)?;
    let logs = recorded(capture, manifest, &moments)?;
    if logs.is_empty() {
        bail!("the capture holds no log");
    }
    Ok(log::replay(&logs, &moments, None, sink))
}

/// Returns the logs in `capture`, in order.
fn recorded<'a>(
    capture: &'a Capture,
    manifest: Option<&'a Manifest>,
    moments: &Moments,
) -> anyhow::Result<Vec<Recorded<'a>>> {
    let mut logs: Vec<Recorded<'_>> = Vec::new();
    match manifest {
        Some(manifest) => {
            for log in &manifest.logs {
                let bytes = capture.file(&log.file);
                let bytes = bytes.with_context(|| {
                    format!(
                        "the capture's manifest names {:?}, which is not there",
                        log.file
                    )
                })?;
                logs.push(log.recorded(bytes)?);
            }
        }
        None => {
            logs.extend(capture.unnamed_logs().map(Recorded::from));
            log::order(&mut logs, moments);
        }
    }
    Ok(logs)
}

fn read_logs(
    args: &LookArgs,
    scene: &Scene,
    capture: &Capture,
    manifest: Option<&Manifest>,
    keep: Option<&Keep>,
    evidence: &mut Evidence,
) -> anyhow::Result<()> {
    let moments = &scene.moments;
    let logs = recorded(capture, manifest, moments)?;
    if logs.is_empty() {
        return Ok(());
    }
    let began = super::begin(keep, "log");
    let mut reel = keep.map(Keep::reel);
    let mut digest = Digest::default();
    let reading = log::replay(&logs, moments, reel.as_deref_mut(), &mut |event| {
        digest.observe(event);
    });
    evidence.gaps.extend(reading.gaps);
    evidence.notes.extend(reading.notes);
    let log = digest.finish(reading.sources, moments.until);
    evidence.gaps.extend(log_gaps(args, moments, &log));
    evidence.notes.extend(late(&log));
    evidence.log = Some(log);
    super::end(keep, "log", began.elapsed(), &evidence.gaps);
    Ok(())
}

fn ask_recording(
    args: &LookArgs,
    scene: &Scene,
    files: &Files,
    keep: Option<&Keep>,
    evidence: &mut Evidence,
) -> anyhow::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let (began, before) = (super::begin(keep, "docker"), evidence.gaps.len());
    let ask = |first: &[ContainerId]| {
        docker::replay(
            files,
            &Ask {
                endpoint: &scene.endpoint,
                probe_timeout: scene.probe_timeout,
                max_unanswered: usize::from(scene.max_unanswered),
                first,
                now: scene.moments.now,
                inspect_budget: docker::INSPECT_BUDGET,
                stacks_anyway: false,
                tape: keep.map(|keep| &keep.tape),
                again: &[],
            },
        )
    };
    ask_docker(args, &scene.endpoint, &ask, evidence)?;
    super::end(keep, "docker", began.elapsed(), &evidence.gaps[before..]);
    Ok(())
}

/// Returns the files of the machine that was looked at.
fn tree(scene: &Scene, files: crate::io::files::Recorded, keep: Option<&Keep>) -> Tree {
    let tree = Tree::recorded(&scene.host_root, Arc::new(files));
    match keep {
        Some(keep) => tree.tapped(Arc::clone(&keep.host)),
        None => tree,
    }
}

fn look_at(tree: &Tree, keep: Option<&Keep>, evidence: &mut Evidence) {
    let (began, before) = (Instant::now(), evidence.gaps.len());
    let (host, gaps, notes) = observe::scan(tree, PATIENCE);
    blind(&host, evidence);
    evidence.host = Some(host);
    correct_versions(evidence);
    evidence.gaps.extend(gaps);
    evidence.notes.extend(notes);
    super::end(keep, "host", began.elapsed(), &evidence.gaps[before..]);
}

/// Reads what Docker had written of its containers, where it did not tell of them.
fn read_files(capture: &mut Capture, tree: &Tree, keep: Option<&Keep>, evidence: &mut Evidence) {
    let recorded = capture.take(disk::PART);
    let wanted = evidence.runtime.as_ref().and_then(files::wanted);
    let (Some(wanted), false) = (wanted, recorded.is_empty()) else {
        return;
    };
    let (began, before) = (super::begin(keep, disk::PART), evidence.gaps.len());
    if let Some(keep) = keep {
        for (path, bytes) in &recorded {
            keep.add(&format!("{}/{path}", disk::PART), bytes);
        }
    }
    files::take(disk::recorded(&recorded, wanted.as_deref()), tree, evidence);
    super::end(keep, disk::PART, began.elapsed(), &evidence.gaps[before..]);
}
