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
    runtime::{
        DEFAULT_ENDPOINT, Runtime,
        docker::{self, Ask},
    },
};
use anyhow::bail;
use std::time::Duration;

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
    if args.log.no_log && args.no_docker {
        bail!("--no-log and --no-docker together leave nothing to look at");
    }
    let endpoint = args.docker.named().unwrap_or(DEFAULT_ENDPOINT);
    if !args.no_docker {
        docker::Docker::open(endpoint, args.probe_timeout)?;
    }
    let mut evidence = Evidence {
        now: moments.now,
        log: None,
        runtime: None,
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
    match joined {
        _ if args.no_docker => {}
        Joined::No(why) => evidence.notes.push(format!(
            "Docker was not asked: {why} (--docker-host asks it all the same)"
        )),
        Joined::Yes => ask_docker(args, endpoint, ask, &mut evidence)?,
    }
    Ok(evidence)
}

enum Joined {
    Yes,
    No(String),
}

/// Whether the log and this machine's Docker tell one story.
fn join(args: &DiagnoseArgs, moments: &Moments, reading: &Reading) -> Joined {
    // A journal or container of this machine, or a log that plegdoctor picked, is by its nature of here.
    let of_here = args.log.log.is_empty();
    if args.docker.named().is_some() {
        return Joined::Yes;
    }
    if moments.replayed {
        return Joined::No("--now is not the present".to_owned());
    }
    if of_here {
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
        named: args.docker.named().is_some(),
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
