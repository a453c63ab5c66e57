//! What a run goes by: times, endpoint, bounds. Of a capture its manifest says it; a case has none.

use super::host_root;
use crate::capture::manifest::Options;
use crate::capture::{Capture, Manifest};
use crate::cli::{LogArgs, LookArgs};
use crate::log;
use crate::log::options::Moments;
use crate::log::{Reading, ReplayedLog, Sink};
use crate::node::observe;
use anyhow::{Context as _, bail};
use std::time::Duration;

/// What a host is called that has no name of its own.
const ROOT: &str = "host";

pub(super) struct Scene {
    pub(super) moments: Moments,
    pub(super) endpoint: String,
    pub(super) probe_timeout: Duration,
    pub(super) max_unanswered: u16,
    pub(super) host_root: String,
    pub(super) node: Option<String>,
}

impl Scene {
    pub(super) fn of_node(args: &LookArgs) -> anyhow::Result<Self> {
        Ok(Self {
            moments: args.log.moments()?,
            endpoint: args.docker.endpoint(),
            probe_timeout: args.probe_timeout,
            max_unanswered: args.max_unanswered,
            host_root: host_root(args).display().to_string(),
            node: observe::name().ok(),
        })
    }

    pub(super) fn of_capture(args: &LookArgs, manifest: Option<&Manifest>) -> anyhow::Result<Self> {
        let moments = moments(&args.log, manifest)?;
        Ok(match manifest {
            Some(Manifest { options, node, .. }) => Self {
                moments,
                endpoint: options.docker_host.clone(),
                probe_timeout: options.probe_timeout()?,
                max_unanswered: options.max_unanswered,
                host_root: options.host_root.clone(),
                node: node.clone(),
            },
            None => Self {
                moments,
                endpoint: args.docker.endpoint(),
                probe_timeout: args.probe_timeout,
                max_unanswered: args.max_unanswered,
                host_root: ROOT.to_owned(),
                node: None,
            },
        })
    }

    pub(super) fn options(&self) -> Options {
        let moments = &self.moments;
        Options {
            since: moments.since.map(|since| since.to_rfc3339()),
            until: moments.until.map(|until| until.to_rfc3339()),
            utc_offset: moments.utc_offset.map(|offset| offset.to_string()),
            docker_host: self.endpoint.clone(),
            probe_timeout_seconds: self.probe_timeout.as_secs_f64(),
            max_unanswered: self.max_unanswered,
            host_root: self.host_root.clone(),
        }
    }
}

/// The times that the run spoke of, narrowed by what `args` say.
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

/// Hands the events of the logs in `capture` to `sink`. Of `args` counts what narrows them, and for a capture without
/// manifest how to read their times.
///
/// # Errors
/// The capture holds no log, or contradicts itself; or an option makes no sense for it.
pub fn replay_logs(
    args: &LogArgs,
    capture: &Capture,
    sink: &mut dyn Sink,
) -> anyhow::Result<Reading> {
    let moments = moments(args, capture.manifest.as_ref())?;
    let logs = logs(capture, &moments)?;
    if logs.is_empty() {
        bail!("the capture holds no log");
    }
    Ok(log::replay(&logs, &moments, None, sink))
}

/// The logs in `capture`, in order.
///
/// # Errors
/// The manifest names one that is not there.
pub(super) fn logs<'a>(
    capture: &'a Capture,
    moments: &Moments,
) -> anyhow::Result<Vec<ReplayedLog<'a>>> {
    let Some(manifest) = &capture.manifest else {
        let mut logs = capture.unnamed_logs().map(ReplayedLog::from).collect();
        log::sort_by_time(&mut logs, moments);
        return Ok(logs);
    };
    let named = manifest.logs.iter().map(|log| {
        let bytes = capture.file(&log.file).with_context(|| {
            let file = &log.file;
            format!("the capture's manifest names {file:?}, which is not there")
        });
        log.recorded(bytes?)
    });
    named.collect()
}
