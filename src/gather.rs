//! Asks the log and the runtime, each bounded in time, and puts what they say (and do not say) together.
//!
//! Decides one thing: whether log and runtime are about the same node at the same time, so that they may be
//! joined. Judges nothing.

use crate::{
    cli::{DiagnoseArgs, Moments},
    digest::{Digest, Log},
    evidence::{Evidence, FRESH, Gap},
    host,
    log::{self, DockerLog, Reading},
    node::{DEFAULT_ROOT, Host},
    runtime::{
        DEFAULT_ENDPOINT, Runtime,
        docker::{self, Ask},
    },
};
use anyhow::bail;
use std::{
    path::PathBuf,
    thread::{self, JoinHandle},
    time::Duration,
};

/// For how long inspects are sent; a daemon that needs longer shows enough by then.
const INSPECT_BUDGET: Duration = Duration::from_secs(10);

/// Returns what can be seen; `ask` asks Docker (`docker::probe`, or `docker::replay` for a recording).
///
/// # Errors
/// Nothing was asked for, an option's value makes no sense, or a log that was named can't be read.
pub fn gather(
    args: &DiagnoseArgs,
    moments: &Moments,
    ask: &dyn Fn(&Ask<'_>) -> anyhow::Result<Runtime>,
) -> anyhow::Result<Evidence> {
    if args.log.no_log && args.no_docker && args.host.no_host {
        bail!("--no-log, --no-docker and --no-host together leave nothing to look at");
    }
    let endpoint = args
        .docker
        .docker_host
        .as_deref()
        .unwrap_or(DEFAULT_ENDPOINT);
    if !args.no_docker {
        docker::Docker::open(endpoint, args.probe_timeout)?;
    }
    let mut evidence = Evidence {
        now: moments.now,
        log: None,
        runtime: None,
        host: None,
        gaps: Vec::new(),
        notes: Vec::new(),
    };
    let mut joined = Joined::Yes;
    if !args.log.no_log {
        let mut digest = Digest::default();
        let over_docker = DockerLog {
            endpoint,
            timeout: args.probe_timeout,
            asked: !args.no_docker,
        };
        let reading = log::read(&args.log, moments, over_docker, &mut |event| {
            digest.observe(event);
        })?;
        joined = join(args, moments, &reading);
        evidence.gaps.extend(reading.gaps);
        evidence.notes.extend(reading.notes);
        evidence.log = (!reading.sources.is_empty()).then(|| digest.finish(reading.sources));
    }
    // Both at the same time: what Docker does not answer and what holds it up are then one moment's.
    let looking = look_at_host(args, moments, &joined, &mut evidence);
    match joined {
        _ if args.no_docker => {}
        Joined::No(why) => evidence.notes.push(format!(
            "Docker was not asked: {why} (--docker-host asks it all the same)"
        )),
        Joined::Yes => ask_docker(args, endpoint, ask, &mut evidence)?,
    }
    if let Some(looking) = looking
        && let Ok((host, gaps)) = looking.join()
    {
        evidence.host = Some(host);
        evidence.gaps.extend(gaps);
    }
    Ok(evidence)
}

/// Starts to look at the host, unless the log is another's or of another time.
fn look_at_host(
    args: &DiagnoseArgs,
    moments: &Moments,
    joined: &Joined,
    evidence: &mut Evidence,
) -> Option<JoinHandle<(Host, Vec<Gap>)>> {
    let named = args.host.host_root.is_some();
    if args.host.no_host {
        return None;
    }
    match joined {
        _ if named => {}
        Joined::No(why) => {
            // Without Docker nobody expects a look at this machine.
            if !args.no_docker {
                evidence.notes.push(format!(
                    "This host was not looked at: {why} (--host-root / looks all the same)"
                ));
            }
            return None;
        }
        // A log that is named together with its present is read after the fact.
        Joined::Yes if moments.now_given && args.docker.docker_host.is_none() => return None,
        Joined::Yes => {}
    }
    let root = args
        .host
        .host_root
        .clone()
        .unwrap_or_else(|| PathBuf::from(DEFAULT_ROOT));
    let looking = thread::Builder::new()
        .name("host".to_owned())
        .spawn(move || host::look(&root, host::PATIENCE));
    match looking {
        Ok(looking) => Some(looking),
        Err(error) => {
            evidence.gaps.push(Gap {
                what: "this host".to_owned(),
                why: error.to_string(),
            });
            None
        }
    }
}

enum Joined {
    Yes,
    No(String),
}

/// Whether the log and this machine's Docker tell one story.
fn join(args: &DiagnoseArgs, moments: &Moments, reading: &Reading) -> Joined {
    // A journal or container of this machine, or a log that plegdoctor picked, is by its nature of here.
    let of_here = args.log.log.is_empty();
    if of_here || args.docker.docker_host.is_some() {
        return Joined::Yes;
    }
    let here = host::name();
    let same = |host: &String| {
        here.as_deref()
            .is_ok_and(|here| short(host).eq_ignore_ascii_case(short(here)))
    };
    if !reading.hosts.is_empty() && !reading.hosts.iter().any(same) {
        let named: Vec<_> = reading.hosts.iter().map(String::as_str).take(3).collect();
        return Joined::No(format!("the log is of another host, {}", named.join(", ")));
    }
    match reading
        .sources
        .iter()
        .filter_map(|source| source.last)
        .max()
    {
        Some(last) if (moments.now - last).abs() > FRESH => Joined::No(format!(
            "the log ends at {}, more than 10 minutes from now",
            last.format("%Y-%m-%d %H:%M:%S")
        )),
        _ => Joined::Yes,
    }
}

/// Returns a host name without its domain.
fn short(host: &str) -> &str {
    host.split('.').next().unwrap_or(host)
}

fn ask_docker(
    args: &DiagnoseArgs,
    endpoint: &str,
    ask: &dyn Fn(&Ask<'_>) -> anyhow::Result<Runtime>,
    evidence: &mut Evidence,
) -> anyhow::Result<()> {
    let first = evidence.log.as_ref().map(Log::suspects).unwrap_or_default();
    let runtime = ask(&Ask {
        endpoint,
        named: args.docker.docker_host.is_some(),
        probe_timeout: args.probe_timeout,
        max_unanswered: usize::from(args.max_unanswered),
        first: &first,
        now: evidence.now,
        inspect_budget: INSPECT_BUDGET,
    })?;
    if runtime.socket_missing
        && evidence
            .log
            .as_ref()
            .is_none_or(|log| log.uses_docker.is_none())
    {
        evidence.gaps.push(Gap {
            what: "Docker".to_owned(),
            why: format!("there is no socket at {endpoint}, and no log says that this kubelet uses Docker (name the socket with --docker-host, or leave Docker out with --no-docker)"),
        });
    } else {
        evidence.runtime = Some(runtime);
    }
    Ok(())
}
