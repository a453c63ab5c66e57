//! The report: findings in order, the verdict, and the containers that matter. What all printers share.

mod containers;
mod exclusions;
mod kubelet;
mod rank;
mod timeline;

pub use exclusions::{RuledOut, Undecided};
pub use rank::Role;
pub use timeline::{Moment, MomentKind};

use crate::evidence::Evidence;
use crate::finding::outcome::ActionRecord;
use crate::finding::{Finding, Severity};
use crate::io::gap::Gap;
use crate::io::probe::Outcome;
use crate::kubelet::Kubelet;
use crate::kubelet::event::Kind;
use crate::kubelet::incident::Incident;
use crate::kubelet::summary::{Log, Source};
use crate::node::Host;
use crate::rules;
use crate::runtime::{Call, Container, Runtime};
use crate::syntax::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing was or is wrong, and all that was asked was seen.
    Healthy,
    /// Something was wrong and is not any more.
    Recovered,
    Problem,
    /// Nothing is known to be wrong, but something could not be seen.
    Unknown,
}

/// All that plegdoctor has to say.
#[derive(Clone, Debug)]
pub struct Report {
    pub generated_at: Time,
    /// The node's name, if the log names it.
    pub node: Option<String>,
    pub verdict: Verdict,
    /// … in the words of a headline: `NOT READY`.
    pub headline: &'static str,
    pub summary: String,
    pub findings: Vec<Finding>,
    /// What each finding is to the trouble, in their order.
    pub roles: Vec<Role>,
    pub ruled_out: Vec<RuledOut>,
    pub undecided: Vec<Undecided>,
    /// What was done about it (`--fix`).
    pub actions: Vec<ActionRecord>,
    pub incidents: Vec<Incident>,
    /// What happened in each, and before it, in their order.
    pub timelines: Vec<Vec<Moment>>,
    pub containers: Vec<Container>,
    pub sources: Vec<Source>,
    pub events: BTreeMap<&'static str, u64>,
    /// What the runtime answered; `None` if it was not asked.
    pub runtime: Option<Runtime>,
    /// What was seen of the host; `None` if it was not examined.
    pub host: Option<Host>,
    /// What the kubelet itself said; `None` if it was not asked.
    pub kubelet: Option<Kubelet>,
    /// What could not be seen.
    pub gaps: Vec<Gap>,
    /// What was left out on purpose.
    pub notes: Vec<String>,
}

/// What the evidence amounts to.
pub fn diagnose(evidence: &Evidence) -> Report {
    let log = evidence.log.as_ref();
    let rules::Evaluation {
        mut findings,
        absent,
    } = rules::evaluate(evidence);
    let outages = log.map_or(&[][..], |log| &log.incidents);
    let roles = rank::rank(&mut findings, outages);
    let (ruled_out, undecided) = exclusions::exclude(evidence, &findings, &absent);
    let (kubelet_gaps, kubelet_notes) = kubelet::unseen(evidence);
    let gaps: BTreeSet<Gap> = evidence
        .gaps
        .iter()
        .cloned()
        .chain(runtime_gaps(evidence))
        .chain(kubelet_gaps)
        .collect();
    let verdict = verdict(&findings, !gaps.is_empty());
    let containers = containers::that_matter(evidence, &findings);
    Report {
        generated_at: evidence.now,
        node: log.and_then(|log| log.node.clone()),
        verdict,
        headline: headline(evidence, verdict),
        summary: summary(evidence, verdict, &findings),
        findings,
        roles,
        ruled_out,
        undecided,
        actions: Vec::new(),
        incidents: log.map(|log| log.incidents.clone()).unwrap_or_default(),
        timelines: timeline::build(evidence),
        containers,
        sources: log.map(|log| log.sources.clone()).unwrap_or_default(),
        events: log.map(|log| log.counts.clone()).unwrap_or_default(),
        runtime: evidence.runtime.clone(),
        host: evidence.host.clone(),
        kubelet: evidence.kubelet.clone(),
        gaps: gaps.into_iter().collect(),
        notes: [&evidence.notes[..], &kubelet_notes].concat(),
    }
}

impl Report {
    /// Says of a node that is well that it is so since something was done at `at` about the trouble called `title`: the
    /// log of a short trouble knows nothing of it.
    pub fn note_healed(&mut self, evidence: &Evidence, at: Time, title: &str) {
        if matches!(self.verdict, Verdict::Healthy | Verdict::Recovered) {
            let log = evidence.log.as_ref();
            let since = log.and_then(|log| log.well_since).max(Some(at));
            self.verdict = Verdict::Recovered;
            self.headline = headline(evidence, self.verdict);
            self.summary = well_since(evidence, since, title);
        }
    }

    pub fn exit_code(&self) -> u8 {
        let only_a_log = self.runtime.is_none();
        let bad = |finding: &Finding| {
            finding.severity != Severity::Info && (finding.active || only_a_log)
        };
        if self.findings.iter().any(bad) {
            1
        } else if self.verdict == Verdict::Unknown {
            2
        } else {
            0
        }
    }
}

fn verdict(findings: &[Finding], unseen: bool) -> Verdict {
    let serious = |finding: &&Finding| finding.severity != Severity::Info;
    if findings
        .iter()
        .filter(serious)
        .any(|finding| finding.active)
    {
        Verdict::Problem
    } else if unseen {
        Verdict::Unknown
    } else if findings.iter().any(|finding| serious(&finding)) {
        Verdict::Recovered
    } else {
        Verdict::Healthy
    }
}

fn headline(evidence: &Evidence, verdict: Verdict) -> &'static str {
    let log = evidence.log.as_ref();
    let stale = log.is_some_and(Log::has_outage);
    let not_ready = log
        .and_then(|log| log.last_readiness.as_ref())
        .is_some_and(|event| event.kind != Kind::NodeReady);
    match verdict {
        Verdict::Problem if stale || not_ready => "NOT READY",
        Verdict::Problem => "PROBLEM",
        Verdict::Recovered => "RECOVERED",
        Verdict::Healthy => "HEALTHY",
        Verdict::Unknown => "UNKNOWN",
    }
}

fn summary(evidence: &Evidence, verdict: Verdict, findings: &[Finding]) -> String {
    let first = findings.first();
    let title = first.map_or("", |finding| finding.title.as_str());
    match verdict {
        Verdict::Problem => format!("{title}."),
        Verdict::Recovered => {
            let log = evidence.log.as_ref();
            let since = log.and_then(|log| log.well_since);
            well_since(
                evidence,
                since.filter(|since| is_after(*since, first)),
                title,
            )
        }
        Verdict::Unknown if first.is_some() => {
            format!("No current problem found, but some checks could not run. Previously: {title}.")
        }
        Verdict::Unknown => "No problem found, but some checks could not run.".to_owned(),
        // It says what is wrong, though not with the PLEG.
        Verdict::Healthy if first.is_some_and(|it| it.id == "not-pleg") => format!("{title}."),
        Verdict::Healthy if first.is_some() => format!("No problem found. {title}."),
        Verdict::Healthy => "No problem found.".to_owned(),
    }
}

/// Whether no line that the finding cites is later: a sign of health before the trouble says nothing of its end.
fn is_after(since: Time, finding: Option<&Finding>) -> bool {
    let mut cited = finding.into_iter().flat_map(|finding| &finding.citations);
    cited.all(|line| line.is_call || line.time.is_none_or(|at| at <= since))
}

fn well_since(evidence: &Evidence, since: Option<Time>, title: &str) -> String {
    match since {
        Some(_) => format!(
            "Recovered at {}. Previously: {title}.",
            rules::clock(evidence, since)
        ),
        None => format!("Resolved. Previously: {title}."),
    }
}

/// What the runtime did not show, where that is not a finding of its own.
fn runtime_gaps(evidence: &Evidence) -> Vec<Gap> {
    let Some(runtime) = &evidence.runtime else {
        return Vec::new();
    };
    let mut gaps = Vec::new();
    for (call, probe) in runtime.own_calls() {
        // A ping that is refused is a finding: the daemon is down. One call that is refused alone is odd.
        let refused = probe.outcome == Outcome::Refused
            && runtime.probe(Call::Ping).outcome != Outcome::Refused;
        let failed = matches!(probe.outcome, Outcome::Denied | Outcome::Error);
        // An answer with an error: a part of it made no sense.
        let partly = probe.outcome == Outcome::Answered && probe.error.is_some();
        if refused || failed || partly {
            let why = probe.error.clone();
            gaps.push(Gap::new(
                format!("Docker ({call})"),
                why.unwrap_or_else(|| "no reason given".to_owned()),
            ));
        }
    }
    let stored = runtime.containers.iter().filter(|it| it.is_only_stored());
    let number = stored.count();
    if number > 0 {
        gaps.push(Gap::new(
            format!("the state of {}", rules::count(number, "container")),
            "Docker did not respond; showing its last on-disk state, which may be stale",
        ));
    }
    let stacks = &runtime.docker().stacks_probe;
    let came = matches!(stacks.outcome, Outcome::Answered | Outcome::NotProbed);
    // A daemon that answers nothing at all is a finding of its own.
    if !came && runtime.probe(Call::Ping).outcome == Outcome::Answered {
        let why = match stacks.outcome {
            Outcome::Gone => "not served (before 1.13 only with --debug)".to_owned(),
            _ => rules::probe_text(stacks),
        };
        gaps.push(Gap::new(
            "dockerd's stacks",
            format!("not available: {why}"),
        ));
    }
    for outcome in [
        Outcome::NotProbed,
        Outcome::Error,
        Outcome::Denied,
        Outcome::Refused,
    ] {
        let fits = |container: &&Container| {
            container.probe.outcome == outcome && !container.is_only_stored()
        };
        let number = runtime.containers.iter().filter(fits).count();
        if number > 0 {
            let why = runtime
                .containers
                .iter()
                .filter(fits)
                .find_map(|c| c.probe.error.clone());
            gaps.push(Gap::new(
                format!("the state of {}", rules::count(number, "container")),
                why.unwrap_or_else(|| "no reason given".to_owned()),
            ));
        }
    }
    gaps
}
