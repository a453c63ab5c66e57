//! Asks the log and the runtime, each bounded in time, and puts what they say (and do not say) together.
//!
//! Decides one thing: whether log and runtime are about the same node at the same time, so that they may be
//! joined. Judges nothing.

mod again;
mod files;
mod kubelet;
pub(super) mod live;
mod replay;

pub use files::ReadFiles;
pub use replay::{replay, replay_logs};

use crate::{
    capture::{Keep, manifest::Options},
    cli::LookArgs,
    evidence::{Evidence, FRESH},
    io::{files::Tree, gap::Gap},
    kubelet::summary::{Digest, Log},
    log::{self, DockerFiles, DockerLog, Gauge, options::Moments},
    node::{
        Component, Host, Version,
        observe::{self, leftover_layers},
    },
    runtime::{Runtime, docker},
    syntax::{duration::human, id::ContainerId},
};
use again::Again;
use anyhow::bail;
use chrono::TimeDelta;
use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// A line is received within some milliseconds, unless what stands between holds it up.
const LATE: TimeDelta = TimeDelta::minutes(1);

/// Returns what can be seen, and keeps it in `keep`; `ask` asks Docker (`docker::probe`), `read_files` reads its files
/// where it does not answer (`disk::read`). How far the log is read shows on `gauge`.
///
/// # Errors
/// Nothing was asked for, an option's value makes no sense, or a log that was named can't be read.
pub fn gather(
    args: &LookArgs,
    moments: &Moments,
    keep: Option<&Keep>,
    gauge: &Gauge,
    ask: &dyn Fn(&docker::Ask<'_>) -> anyhow::Result<Runtime>,
    read_files: &ReadFiles<'_>,
) -> anyhow::Result<Evidence> {
    let metrics = kubelet::named(args)?;
    if args.log.no_log && args.no_docker && args.host.no_host && metrics.is_none() {
        bail!("--no-log, --no-docker and --no-host together leave nothing to look at");
    }
    if args.log.no_log
        && args.no_docker
        && args.host.host_root.is_none()
        && moments.replayed
        && metrics.is_none()
    {
        bail!(
            "--no-log and --no-docker leave only this host to look at, and --now is not the present"
        );
    }
    let endpoint = args.docker.endpoint();
    if !args.no_docker && args.docker.docker_host.is_some() {
        docker::Docker::open(&endpoint, args.probe_timeout)?;
    }
    if let Some(keep) = keep {
        keep.scene(options(args, moments, &endpoint), observe::name().ok());
    }
    let mut evidence = Evidence {
        now: moments.now,
        log: None,
        runtime: None,
        host: None,
        kubelet: None,
        gaps: Vec::new(),
        notes: Vec::new(),
    };
    let mut apart = None;
    if !args.log.no_log {
        let over_docker = DockerLog {
            endpoint: &endpoint,
            timeout: args.probe_timeout,
            asked: !args.no_docker,
            files: (!args.no_docker_files).then(|| DockerFiles {
                root: args.docker_root.as_deref(),
                host_root: files::root(args),
                look: !args.host.no_host,
            }),
        };
        let began = begin(keep, "log");
        apart = read_log(args, moments, over_docker, keep, gauge, &mut evidence)?;
        end(keep, "log", began.elapsed(), &evidence.gaps);
    }
    let started = Instant::now();
    // Both at the same time: what Docker does not answer and what holds it up are then one moment's.
    let unseen = host_unseen(args, moments, apart.as_deref());
    let looking = match unseen {
        None => look_at_host(args, keep, &mut evidence),
        Some(_) => None,
    };
    let present = apart.is_none() && unseen.is_none();
    let asking = kubelet::start(args, metrics, present, keep, &mut evidence);
    // Each of the two is joined all the same if it was named.
    match apart.filter(|_| args.docker.docker_host.is_none()) {
        _ if args.no_docker => {}
        Some(why) => evidence.notes.push(format!(
            "Docker was not asked: {why} (--docker-host asks it all the same)"
        )),
        None => {
            let (began, before) = (begin(keep, "docker"), evidence.gaps.len());
            let ask = |first: &[ContainerId]| {
                ask(&docker::Ask {
                    endpoint: &endpoint,
                    probe_timeout: args.probe_timeout,
                    max_unanswered: usize::from(args.max_unanswered),
                    first,
                    now: moments.now,
                    inspect_budget: docker::INSPECT_BUDGET,
                    stacks_anyway: keep.is_some_and(|keep| keep.thorough),
                    tape: keep.map(|keep| &keep.tape),
                    again: &[],
                })
            };
            ask_docker(args, &endpoint, &ask, &mut evidence)?;
            end(keep, "docker", began.elapsed(), &evidence.gaps[before..]);
        }
    }
    // Nobody expects a look at this machine without Docker, or with one that was named.
    if let Some(Some(why)) = unseen
        && !args.no_docker
        && args.docker.docker_host.is_none()
    {
        evidence.notes.push(format!(
            "This host was not looked at: {why} (--host-root / looks all the same)"
        ));
    }
    if let Some(looking) = looking
        && let Ok((host, gaps, notes, took)) = looking.join()
    {
        let before = evidence.gaps.len();
        blind(&host, &mut evidence);
        evidence.host = Some(host);
        correct_versions(&mut evidence);
        evidence.gaps.extend(gaps);
        evidence.notes.extend(notes);
        end(keep, "host", took, &evidence.gaps[before..]);
    }
    let files_of = tree(args, keep);
    if !args.no_docker {
        let odd = Again {
            ask,
            endpoint: &endpoint,
            probe_timeout: args.probe_timeout,
            tape: keep.map(|keep| &keep.tape),
            tree: &files_of,
        };
        // A recording has heard of it, or not.
        odd.ask(files_of.is_live().then_some(started), &mut evidence);
    }
    look_at_remains(&files_of, &mut evidence);
    // Last, for the machine tells where the files are, and what of them is stale.
    let (began, before) = (begin(keep, "docker-files"), evidence.gaps.len());
    if files::read(args, &endpoint, &files_of, keep, read_files, &mut evidence) {
        end(
            keep,
            "docker-files",
            began.elapsed(),
            &evidence.gaps[before..],
        );
    }
    kubelet::finish(asking, keep, &mut evidence);
    Ok(evidence)
}

/// Returns what the run goes by, for whoever replays it.
fn options(args: &LookArgs, moments: &Moments, endpoint: &str) -> Options {
    Options {
        since: moments.since.map(|since| since.to_rfc3339()),
        until: moments.until.map(|until| until.to_rfc3339()),
        utc_offset: moments.utc_offset.map(|offset| offset.to_string()),
        docker_host: endpoint.to_owned(),
        probe_timeout_seconds: args.probe_timeout.as_secs_f64(),
        max_unanswered: args.max_unanswered,
        host_root: files::root(args).display().to_string(),
    }
}

/// Tells whoever watches that a part begins; returns when it did.
fn begin(keep: Option<&Keep>, part: &str) -> Instant {
    if let Some(keep) = keep {
        keep.begin(part);
    }
    Instant::now()
}

/// Notes that a part is done, and which gaps are its own.
fn end(keep: Option<&Keep>, part: &str, took: Duration, gaps: &[Gap]) {
    if let Some(keep) = keep {
        keep.part(part, took, gaps);
    }
}

/// Notes what Docker says of the versions of its parts: it knows what runs.
fn correct_versions(evidence: &mut Evidence) {
    let (Some(host), Some(runtime)) = (&mut evidence.host, &evidence.runtime) else {
        return;
    };
    let part = |name: &str| runtime.components.get(name);
    for (tool, version) in [
        (Component::Dockerd, runtime.version.as_ref()),
        (Component::Containerd, part("containerd")),
        (Component::Runc, part("runc")),
    ] {
        let version = version.and_then(|version| Version::parse(version));
        host.versions.correct(tool, version);
    }
}

/// Tells that the machine's processes are hidden: a gap where nothing else was asked, for nothing is known then.
fn blind(host: &Host, evidence: &mut Evidence) {
    let Some(why) = host.blind.clone() else {
        return;
    };
    if evidence.log.is_none() && evidence.runtime.is_none() {
        evidence.gaps.push(Gap::new("this host's processes", why));
    } else {
        evidence.notes.push(format!("this host's processes: {why}"));
    }
}

/// What looking at the host yields: what is seen, what is not, what there is to say of that, and how long it took.
type Looking = JoinHandle<(Host, Vec<Gap>, Vec<String>, Duration)>;

/// Returns whether the host is left out, with the reason unless that was asked for: a log, or a present, that is not
/// this machine's leaves out its processes as it does its Docker.
fn host_unseen(args: &LookArgs, moments: &Moments, apart: Option<&str>) -> Option<Option<String>> {
    // Docker that was named is asked for another time, too; processes are of the present alone.
    let replayed = moments.replayed.then_some("--now is not the present");
    match (&args.host.host_root, apart.or(replayed)) {
        _ if args.host.no_host => Some(None),
        (None, Some(why)) => Some(Some(why.to_owned())),
        _ => None,
    }
}

/// Sees what is left of the layers of containers that Docker could not remove.
fn look_at_remains(tree: &Tree, evidence: &mut Evidence) {
    let (Some(host), Some(runtime)) = (&mut evidence.host, &evidence.runtime) else {
        return;
    };
    let dead = runtime.containers.iter().filter(|one| one.is_dead());
    let inspected = dead.filter_map(|one| one.inspected.as_ref());
    let folders: Vec<String> = inspected.filter_map(|it| it.folder.clone()).collect();
    let (remains, gap) = leftover_layers::scan(tree, &folders);
    host.remains = remains;
    evidence.gaps.extend(gap);
}

/// Returns the files of the machine that is looked at; what is read of them is kept.
fn tree(args: &LookArgs, keep: Option<&Keep>) -> Tree {
    let tree = Tree::at(files::root(args));
    match keep {
        Some(keep) => tree.tapped(Arc::clone(&keep.host)),
        None => tree,
    }
}

/// Starts to look at the host.
fn look_at_host(args: &LookArgs, keep: Option<&Keep>, evidence: &mut Evidence) -> Option<Looking> {
    let tree = tree(args, keep);
    let looking = thread::Builder::new()
        .name("host".to_owned())
        .spawn(move || {
            let began = Instant::now();
            let (host, gaps, notes) = observe::scan(&tree, observe::TIMEOUT);
            (host, gaps, notes, began.elapsed())
        });
    looking
        .map_err(|error| {
            evidence.gaps.push(Gap::new("this host", error.to_string()));
        })
        .ok()
}

/// Reads the log into `evidence`; returns why it may not be joined with this machine and its Docker, if so.
fn read_log(
    args: &LookArgs,
    moments: &Moments,
    docker: DockerLog<'_>,
    keep: Option<&Keep>,
    gauge: &Gauge,
    evidence: &mut Evidence,
) -> anyhow::Result<Option<String>> {
    let mut digest = Digest::default();
    let mut reel = keep.map(Keep::reel);
    let reel = reel.as_deref_mut();
    let reading = log::read(
        &args.log.options(),
        moments,
        docker,
        reel,
        gauge,
        &mut |event| {
            digest.observe(event);
        },
    )?;
    evidence.gaps.extend(reading.gaps);
    evidence.notes.extend(reading.notes);
    if reading.sources.is_empty() {
        return Ok(None);
    }
    let log = digest.finish(reading.sources, moments.until);
    evidence.gaps.extend(log_gaps(args, moments, &log));
    evidence.notes.extend(late(&log));
    let apart = apart(args, moments, &reading.hosts, &log);
    evidence.log = Some(log);
    Ok(apart)
}

/// Returns why the log and this machine's Docker do not tell one story, if they do not.
fn apart(
    args: &LookArgs,
    moments: &Moments,
    hosts: &BTreeSet<String>,
    log: &Log,
) -> Option<String> {
    let here = observe::name();
    let same = |host: &&String| {
        here.as_deref()
            .is_ok_and(|here| short(host).eq_ignore_ascii_case(short(here)))
    };
    // A journal or a container of this machine is of here, whatever name it gives.
    let foreign: Vec<_> = hosts.iter().filter(|host| !same(host)).collect();
    if moments.replayed {
        return Some("--now is not the present".to_owned());
    }
    if let ([host, ..], false) = (foreign.as_slice(), !args.log.names_files()) {
        return Some(format!("the log is of another host, {host}"));
    }
    if let (Some(name), None) = (&log.runtime_name, &log.uses_docker) {
        return Some(format!("the log says that this kubelet uses {name}"));
    }
    let last = log
        .last
        .filter(|last| (moments.now - *last).abs() > FRESH)?;
    Some(format!(
        "the log ends at {}, more than 10 minutes from now",
        last.format("%Y-%m-%d %H:%M:%S")
    ))
}

/// Returns the note that lines came late, and which of their two times counts.
fn late(log: &Log) -> Option<String> {
    let delay = log.delay.filter(|delay| *delay >= LATE)?;
    Some(format!(
        "lines of the log were received up to {} after the kubelet wrote them: times here are those of writing",
        human(delay)
    ))
}

/// Returns what the log as a whole leaves unseen.
fn log_gaps(args: &LookArgs, moments: &Moments, log: &Log) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut gap = |what: &str, why: String| {
        gaps.push(Gap::new(what.to_owned(), why));
    };
    let lost = [
        (
            log.dropped,
            "messages found no room, the earlier of those that name too many different things",
        ),
        (
            log.forgotten,
            "names, signs and removals of pods found no room, the earlier of too many",
        ),
        (
            log.outages_dropped,
            "outages found no room, the earliest of too many",
        ),
    ];
    for (count, what) in lost.into_iter().filter(|(count, _)| *count > 0) {
        gap("a part of the log", format!("{count} {what}"));
    }
    let picked = !args.log.names_files();
    if let Some(last) = log.last.filter(|last| moments.now - *last > FRESH)
        && picked
        && moments.until.is_none()
        && !moments.replayed
    {
        let last = last.format("%Y-%m-%d %H:%M:%S");
        gap(
            "the present of the kubelet",
            format!(
                "it has logged nothing since {last}: see whether it runs (systemctl status kubelet)"
            ),
        );
    }
    gaps
}

/// Returns a host name without its domain; an address is a whole.
fn short(host: &str) -> &str {
    match host.parse::<IpAddr>() {
        Ok(_) => host,
        Err(_) => host.split('.').next().unwrap_or(host),
    }
}

fn ask_docker(
    args: &LookArgs,
    endpoint: &str,
    ask: &dyn Fn(&[ContainerId]) -> anyhow::Result<Runtime>,
    evidence: &mut Evidence,
) -> anyhow::Result<()> {
    let first = evidence.log.as_ref().map(Log::suspects).unwrap_or_default();
    let runtime = ask(&first)?;
    let uses_docker = evidence
        .log
        .as_ref()
        .is_some_and(|log| log.uses_docker.is_some());
    if runtime.socket_missing && !uses_docker {
        let cure = match args.docker.docker_host {
            Some(_) => "see whether that is Docker's socket",
            None => "name the socket with --docker-host, or leave Docker out with --no-docker",
        };
        evidence.gaps.push(Gap::new("Docker", format!(
                "there is no socket at {endpoint}, and no log says that this kubelet uses Docker ({cure})"
            )));
    } else {
        evidence.runtime = Some(runtime);
    }
    Ok(())
}
