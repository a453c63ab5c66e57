//! What a rule may look at, and the trouble that an absent cause is judged against.

use super::answer::{Absent, Clause, Exclusion, Needs};
use super::log_lines::LogMatches;
use super::old_form::Scene;
use super::remedies::{RuntimeKind, RuntimeStack, is_other_than_docker};
use crate::evidence::{Evidence, runtime_stack};
use crate::finding::Finding;
use crate::io::gap::GapKind;
use crate::io::probe::Outcome;
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::incident::{CALL_TIMEOUT, Incident};
use crate::kubelet::summary::Log;
use crate::node::Host;
use crate::runtime::{Call, Runtime};
use chrono::TimeDelta;

/// All that was observed, and what was concluded from it so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case<'a> {
    pub(crate) evidence: &'a Evidence,
    /// For a rule of the second tier: what the first found, and the second before it.
    pub(crate) findings: &'a [Finding],
}

impl<'a> Case<'a> {
    /// Whether one of these rules found something that holds now.
    pub(crate) fn has_active(&self, ids: &[&str]) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|it| it.active && ids.contains(&it.id))
    }

    /// The runtime, if it was asked and is the one that the kubelet drives.
    pub(crate) fn runtime(&self) -> Option<&'a Runtime> {
        let runtime = self.evidence.runtime.as_ref();
        runtime.filter(|runtime| may_drive(self.evidence, runtime))
    }

    /// … if it listed its containers.
    pub(crate) fn listed(&self) -> Option<&'a Runtime> {
        let listed = |runtime: &&Runtime| runtime.probe(Call::List).outcome == Outcome::Answered;
        self.runtime().filter(listed)
    }

    /// … and all of these answered.
    pub(crate) fn all_answer(&self) -> Option<&'a Runtime> {
        let answers = |runtime: &&Runtime| {
            let mut containers = runtime.containers.iter();
            containers.all(|it| matches!(it.probe.outcome, Outcome::Answered | Outcome::Gone))
        };
        self.listed().filter(answers)
    }

    pub(crate) fn host(&self) -> Option<&'a Host> {
        self.evidence.host.as_ref()
    }

    /// The host, if all of its processes were seen: only then is one that was not seen not there.
    pub(crate) fn whole_host(&self) -> Option<&'a Host> {
        self.host().filter(|host| host.whole)
    }

    pub(crate) fn log(&self) -> Option<&'a Log> {
        self.evidence.log.as_ref()
    }

    /// The lines of these messages.
    pub(crate) fn lines(&self, kinds: &[Kind]) -> LogMatches<'a> {
        LogMatches::of(self.evidence, kinds)
    }

    /// The lines of these messages that ended in an error of this class, of the runtime's.
    pub(crate) fn failed(&self, kinds: &[Kind], class: ErrorClass) -> LogMatches<'a> {
        LogMatches::failed(self.evidence, kinds, class)
    }
}

/// What decides what only a look at the node can show.
pub(crate) const LOOK: &str = "plegdoctor diagnose # as root, on the node";
pub(crate) const AGAIN: &str = "plegdoctor diagnose # again, once the runtime answers";
/// So much of an outage a log must cover before its silence says something: what fails at once is logged each second.
const COVERED: TimeDelta = TimeDelta::seconds(60);

/// The trouble that is to be explained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trouble<'a> {
    pub(crate) evidence: &'a Evidence,
    /// Whether the trouble is there now: what answers now says nothing of what is over.
    pub(crate) now: bool,
    /// The outage that the log shows, if that is the trouble.
    pub(crate) outage: Option<&'a Incident>,
}

impl<'a> Trouble<'a> {
    /// The trouble of the primary finding.
    pub(crate) fn new(evidence: &'a Evidence, primary: &Finding) -> Self {
        let spoken_of = |outage: &Incident, slack: TimeDelta| {
            let (start, end) = (outage.start - slack, outage.last_line + slack);
            let during = |&(from, to): &_| from <= end && to >= start;
            primary.spans.iter().any(during)
        };
        let near = |outage: &&Incident| primary.spans.is_empty() || spoken_of(outage, CALL_TIMEOUT);
        // Of a node that flaps no outage is open while it is Ready.
        let open = |outage: &&Incident| outage.ongoing || spoken_of(outage, TimeDelta::zero());
        let incidents = evidence.log.iter().flat_map(|log| &log.incidents);
        let mut last_first = incidents.rev();
        let outage = match primary.active {
            true => last_first.next().filter(open),
            false => last_first.find(near),
        };
        Self {
            evidence,
            now: primary.active,
            outage,
        }
    }

    /// The log and the outage, if it covers enough of it that its silence says something.
    pub(crate) fn covered(&self) -> Option<(&'a Log, &'a Incident)> {
        let (log, outage) = (self.evidence.log.as_ref()?, self.outage?);
        let from = log.first?.max(outage.start);
        let lossy = |name: &str| {
            let mut gaps = self.evidence.gaps.iter();
            gaps.any(|gap| gap.kind == GapKind::LogSource && gap.what == name)
        };
        let whole = log.dropped == 0 && !log.sources.iter().any(|source| lossy(&source.name));
        let fits = whole && outage.last_line - from >= COVERED && !is_extract(log);
        fits.then_some((log, outage))
    }

    /// The log and the outage, if it covers that and none of these calls ended so in it.
    pub(crate) fn without(
        &self,
        calls: &[Kind],
        class: ErrorClass,
    ) -> Option<(&'a Log, &'a Incident)> {
        let (log, outage) = self.covered()?;
        let mut failed = log.failed(calls, class);
        let during = |from: Option<_>, to: Option<_>| {
            from.is_none_or(|from| from <= outage.last_line)
                && to.is_none_or(|to| to >= outage.start)
        };
        let none = !failed.any(|group| during(group.first.at, group.last.at));
        none.then_some((log, outage))
    }

    /// What an absent cause's rule says of this trouble.
    pub(crate) fn exclude(&self, absent: &Absent) -> Exclusion {
        let answers = absent.clauses.iter().find_map(|clause| match clause {
            Clause::Now(exclusion) => self.now.then(|| exclusion.clone()),
            Clause::Log {
                calls,
                class,
                because,
            } => {
                let (log, outage) = match class {
                    Some(class) => self.without(calls, *class)?,
                    None => (self.evidence.log.as_ref()?, self.outage?),
                };
                Some(Exclusion::RuledOut {
                    because: because.reason(outage)?,
                    by: log.sources.iter().map(|it| it.name.clone()).collect(),
                })
            }
        });
        match (answers, &absent.needs) {
            (Some(Exclusion::Unknown { why, decide }), _) => {
                self.unknown(&why, decide.as_deref().unwrap_or(LOOK))
            }
            (Some(exclusion), _) => exclusion,
            (None, Needs::Nothing) => Exclusion::Silent,
            (None, Needs::Host) => self.needs_host(),
            (None, Needs::Runtime(decide)) => self.needs_runtime(decide),
            (None, Needs::Old(judge)) => judge(&Scene::of(*self)).into(),
            (None, Needs::Look { why, decide }) => self.unknown(why, decide),
        }
    }

    /// The host was not looked at in time.
    pub(crate) fn needs_host(&self) -> Exclusion {
        self.unknown("not all of the host was seen", LOOK)
    }

    /// The runtime was not asked in time, or did not answer; `decide` asks it.
    pub(crate) fn needs_runtime(&self, decide: &str) -> Exclusion {
        match &self.evidence.runtime {
            Some(runtime) if !may_drive(self.evidence, runtime) => self.unknown(
                "Docker is not known to be this kubelet's runtime",
                &self.ask_with_crictl(),
            ),
            Some(_) => self.unknown("the runtime does not answer", AGAIN),
            None if self.now && is_other_than_docker(self.evidence) => Exclusion::Unknown {
                why: "the runtime was not asked: plegdoctor asks Docker alone".to_owned(),
                decide: Some(self.ask_with_crictl()),
            },
            None => self.unknown("the runtime was not asked", decide),
        }
    }

    /// What asks the kubelet's own runtime, where plegdoctor cannot.
    fn ask_with_crictl(&self) -> String {
        let crictl = RuntimeStack::new(self.evidence).crictl();
        format!("timeout 10 {crictl} info; time timeout 150 {crictl} --timeout 120s ps -aq | wc -l")
    }

    /// It could not be judged, and why; of a log alone, or of what is over, there is nothing special to say.
    pub(crate) fn unknown(&self, why: &str, decide: &str) -> Exclusion {
        let Evidence { runtime, host, .. } = self.evidence;
        let (why, decide) = match (self.now, runtime, host) {
            (false, ..) => ("resolved, and the log does not show it", None),
            (true, None, None) if self.evidence.log.is_none() => {
                ("neither the runtime nor the host was looked at", Some(LOOK))
            }
            (true, None, None) => ("the log alone does not show it", Some(LOOK)),
            (true, Some(_), None) if decide == LOOK => ("the host was not looked at", Some(LOOK)),
            (true, ..) => (why, Some(decide)),
        };
        Exclusion::Unknown {
            why: why.to_owned(),
            decide: decide.map(str::to_owned),
        }
    }
}

/// Whether Docker may be what this kubelet drives: the log or the kubelet's settings say so, or it has containers of
/// pods. A Docker for other work may stand beside it, and its answers tell nothing of the kubelet's.
pub(crate) fn may_drive(evidence: &Evidence, runtime: &Runtime) -> bool {
    if let Some(told) = runtime_stack::named_kind(evidence) {
        return told == Some(RuntimeKind::Docker);
    }
    // What does not list may have some.
    let unlisted = runtime.probe(Call::List).outcome != Outcome::Answered;
    unlisted || runtime_stack::has_pods(runtime)
}

/// What `grep PLEG` leaves beside the stale lines.
const PICKED: &[Kind] = &[
    Kind::RelistFailed,
    Kind::PlegInspectFailed,
    Kind::PlegReinspectFailed,
    Kind::PlegWriteStatus,
    Kind::PlegEventsDropped,
    Kind::PlegRelisting,
    Kind::PlegStateChange,
    Kind::PlegContainerFinished,
    Kind::PlegEvent,
];

/// Whether somebody cut all but the lines on the PLEG, the sync loop or the node's readiness out of the log, or some of
/// those, too, or there is no more than the node's condition: what it does not say means nothing then.
pub(crate) fn is_extract(log: &Log) -> bool {
    let mut own = log.sources.iter().filter(|source| source.of_kubelet);
    if own.clone().next().is_some() && own.all(|source| source.extract) {
        return true;
    }
    let lines: u64 = log.sources.iter().map(|source| source.lines).sum();
    let told: u64 = log.incidents.iter().map(|incident| incident.lines).sum();
    let of = |kind: Kind| log.counts.get(kind.id()).copied().unwrap_or(0);
    let picked: u64 = PICKED.iter().map(|&kind| of(kind)).sum();
    lines <= of(Kind::SkipSync).max(told) + picked
        || (told > 0 && told <= of(Kind::ReadyCondition))
        || log
            .incidents
            .last()
            .is_some_and(|outage| outage.has_holes(log.first))
}
