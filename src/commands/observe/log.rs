//! The log, and whether it is about this machine now.

use super::{Observer, Source, host_root};
use crate::evidence::FRESH;
use crate::io::gap::Gap;
use crate::kubelet::summary::{Log, LogSummary};
use crate::log;
use crate::log::{DockerFiles, DockerLog};
use crate::node::observe;
use crate::syntax::duration::human;
use chrono::TimeDelta;
use std::{collections::BTreeSet, net::IpAddr};

/// A line is received within milliseconds, unless what stands between blocks.
const MIN_NOTED_DELAY: TimeDelta = TimeDelta::minutes(1);
/// Why a run for another time leaves out this machine.
pub(super) const NOT_NOW: &str = "--now is not the current time";

impl Observer<'_> {
    /// Reads the log; returns why it may not be joined with this machine and its Docker, if so.
    pub(super) fn read_log(&mut self) -> anyhow::Result<Option<String>> {
        let (args, moments) = (self.args, &self.scene.moments);
        let mut digest = LogSummary::default();
        let mut sink = |event| digest.observe(event);
        let mut recorder = self.recorder.map(super::Recorder::log);
        let recorder = recorder.as_deref_mut();
        let (part, reading) = match &self.source {
            Source::Node { .. } if args.log.no_log => return Ok(None),
            Source::Node { progress, .. } => {
                let over_docker = DockerLog {
                    endpoint: &self.scene.endpoint,
                    timeout: args.probe_timeout,
                    asked: !args.no_docker,
                    files: (!args.no_docker_files).then(|| DockerFiles {
                        root: args.docker_root.as_deref(),
                        host_root: host_root(args),
                        look: !args.host.no_host,
                    }),
                };
                let part = self.begin("log");
                let options = args.log.options();
                let reading = log::read(
                    &options,
                    moments,
                    over_docker,
                    recorder,
                    progress,
                    &mut sink,
                )?;
                (part, reading)
            }
            Source::Capture { capture, .. } => {
                let logs = super::scene::logs(capture, moments)?;
                if logs.is_empty() {
                    return Ok(None);
                }
                (
                    self.begin("log"),
                    log::replay(&logs, moments, recorder, &mut sink),
                )
            }
        };
        self.evidence.gaps.extend(reading.gaps);
        self.evidence.notes.extend(reading.notes);
        let mut apart = None;
        if !reading.sources.is_empty() {
            let log = digest.finish(reading.sources, moments.until);
            self.evidence.gaps.extend(self.log_gaps(&log));
            self.evidence.notes.extend(late(&log));
            apart = match self.source {
                Source::Node { .. } => self.apart(&reading.hosts, &log),
                Source::Capture { .. } => None,
            };
            self.evidence.log = Some(log);
        }
        self.end("log", part);
        Ok(apart)
    }

    /// Why the log and this machine's Docker are not about the same node and time, if so.
    fn apart(&self, hosts: &BTreeSet<String>, log: &Log) -> Option<String> {
        let here = observe::name();
        let same = |host: &&String| {
            here.as_deref()
                .is_ok_and(|here| short(host).eq_ignore_ascii_case(short(here)))
        };
        // A journal or a container of this machine is of here, whatever name it gives.
        let foreign: Vec<_> = hosts.iter().filter(|host| !same(host)).collect();
        let moments = &self.scene.moments;
        if moments.replayed {
            return Some(NOT_NOW.to_owned());
        }
        if let ([host, ..], false) = (foreign.as_slice(), !self.args.log.names_files()) {
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

    /// What the log as a whole leaves unseen.
    fn log_gaps(&self, log: &Log) -> Vec<Gap> {
        let lost = [
            (
                log.dropped,
                "older messages dropped: too many distinct objects to track",
            ),
            (
                log.forgotten,
                "older names, signs and removals of pods dropped: too many to track",
            ),
            (
                log.outages_dropped,
                "earliest outages dropped: too many to track",
            ),
        ];
        let mut gaps: Vec<Gap> = lost
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| Gap::new("a part of the log", format!("{count} {what}")))
            .collect();
        let moments = &self.scene.moments;
        if let Some(last) = log.last.filter(|last| moments.now - *last > FRESH)
            && !self.args.log.names_files()
            && moments.until.is_none()
            && !moments.replayed
        {
            let last = last.format("%Y-%m-%d %H:%M:%S");
            let why = format!(
                "it has logged nothing since {last}: see whether it runs (systemctl status kubelet)"
            );
            gaps.push(Gap::new("current kubelet state", why));
        }
        gaps
    }
}

/// The note that lines came late, and which of their two times counts.
fn late(log: &Log) -> Option<String> {
    let delay = log.delay.filter(|delay| *delay >= MIN_NOTED_DELAY)?;
    Some(format!(
        "lines of the log were received up to {} after the kubelet wrote them: times here are those of writing",
        human(delay)
    ))
}

/// A host name without its domain; an address is a whole.
fn short(host: &str) -> &str {
    match host.parse::<IpAddr>() {
        Ok(_) => host,
        Err(_) => host.split('.').next().unwrap_or(host),
    }
}
