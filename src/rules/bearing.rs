//! How a rule bears on the others: what follows from its cause, what that only adds to, and what speaks against it.
//!
//! A rule says all this for itself, beside its `check`; the report puts the findings in order by it and lists what is
//! ruled out. What was not looked at speaks against nothing: it is told as open, with what would decide.

use super::engine::{self, Engine, Setup, engine};
use crate::{
    evidence::Evidence,
    finding::Finding,
    io::{gap::GapKind, probe::Outcome},
    kubelet::{
        event::{ErrorClass, Kind},
        incident::{CALL_TIMEOUT, Incident},
        summary::Log,
    },
    node::Host,
    runtime::Runtime,
};
use chrono::TimeDelta;

/// How a rule's finding bears on those of other rules.
#[derive(Debug)]
pub struct Bearing {
    /// The rules whose trouble would not be there without this one: theirs is how it shows.
    pub behind: &'static [&'static str],
    /// Which of its findings are behind which of those, where it is not all.
    pub shows: fn(&Finding, &Finding) -> bool,
    /// The rules whose trouble this one makes likelier or worse, which has a cause of its own nevertheless.
    pub feeds: &'static [&'static str],
    /// Which of its findings feed which of those: a rule may find several things.
    pub fits: fn(&Finding, &Finding) -> bool,
    /// What speaks against it, asked where the rule found nothing.
    pub judge: fn(&Scene) -> Judged,
}

impl Bearing {
    /// Of a rule that stands for itself, and of which nobody asks whether it was ruled out.
    pub const NONE: Self = Self {
        behind: &[],
        shows: |_, _| true,
        feeds: &[],
        fits: |_, _| true,
        judge: |_| Judged::Unasked,
    };
}

/// What is to be said of a cause that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Nothing: it is no cause of this trouble, or there is nothing to ask.
    Unasked,
    /// What was looked at speaks against it.
    Out {
        /// What speaks against it, a clause.
        because: String,
        /// What was looked at: a log, a call, a file of the kernel.
        by: Vec<String>,
    },
    /// What would show it was not looked at, or tells nothing of the trouble's time.
    Open {
        /// Why it could not be judged, a clause.
        why: String,
        /// The command that would decide; `None` for what is over and left no trace.
        decide: Option<String>,
    },
}

impl Judged {
    /// Ruled out by one thing that was looked at.
    pub(super) fn out(because: impl Into<String>, by: &str) -> Self {
        Self::Out {
            because: because.into(),
            by: vec![by.to_owned()],
        }
    }

    /// Ruled out by what the log tells, or does not.
    pub(super) fn silent(log: &Log, because: &str) -> Self {
        Self::Out {
            because: because.to_owned(),
            by: log.sources.iter().map(|it| it.name.clone()).collect(),
        }
    }
}

/// What decides what only a look at the node can tell.
pub(super) const LOOK: &str = "plegdoctor diagnose # as root, on the node";
const AGAIN: &str = "plegdoctor diagnose # again, once the runtime answers";
/// So much of an outage a log must cover before its silence says something: what fails at once is logged each second.
const COVERED: TimeDelta = TimeDelta::seconds(60);

/// The trouble that is to be explained, and what there is to judge it by.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// All that was observed.
    pub evidence: &'a Evidence,
    /// Whether the trouble is there now: what answers now says nothing of what is over.
    pub now: bool,
    /// The outage that the log shows, if that is the trouble.
    pub outage: Option<&'a Incident>,
}

impl<'a> Scene<'a> {
    /// Returns the scene of the primary finding.
    pub fn of(evidence: &'a Evidence, primary: &Finding) -> Self {
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

    /// Returns the runtime, if it was asked while the trouble was there, and is the one that the kubelet drives.
    pub fn runtime(&self) -> Option<&'a Runtime> {
        let runtime = self.evidence.runtime.as_ref();
        runtime.filter(|runtime| self.now && may_drive(self.evidence, runtime))
    }

    /// Returns the runtime, if it listed its containers while the trouble was there.
    pub fn listed(&self) -> Option<&'a Runtime> {
        let runtime = self.runtime()?;
        (runtime.list.outcome == Outcome::Answered).then_some(runtime)
    }

    /// Returns the runtime, if it listed and all its containers answered while the trouble was there.
    pub fn all_answer(&self) -> Option<&'a Runtime> {
        let answers = |runtime: &&Runtime| {
            let mut containers = runtime.containers.iter();
            containers.all(|it| matches!(it.probe.outcome, Outcome::Answered | Outcome::Gone))
        };
        self.listed().filter(answers)
    }

    /// Returns the host, if it was looked at while the trouble was there.
    pub fn host(&self) -> Option<&'a Host> {
        self.evidence.host.as_ref().filter(|_| self.now)
    }

    /// Returns the host, if all of its processes were seen: only then is one that was not seen not there.
    pub fn whole_host(&self) -> Option<&'a Host> {
        self.host().filter(|host| host.whole)
    }

    /// Returns the log and the outage, if it covers enough of it that its silence says something.
    pub fn covered(&self) -> Option<(&'a Log, &'a Incident)> {
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

    /// Returns the log and the outage, if it covers that and none of these calls ended so in it.
    pub fn without(&self, calls: &[Kind], class: ErrorClass) -> Option<(&'a Log, &'a Incident)> {
        let (log, outage) = self.covered()?;
        let mut failed = log.failed(calls, class);
        let during = |from: Option<_>, to: Option<_>| {
            from.is_none_or(|from| from <= outage.last_line)
                && to.is_none_or(|to| to >= outage.start)
        };
        let none = !failed.any(|group| during(group.first.at, group.last.at));
        none.then_some((log, outage))
    }

    /// The host was not looked at in time.
    pub fn needs_host(&self) -> Judged {
        self.open("not all of the host was seen", LOOK)
    }

    /// The runtime was not asked in time, or did not answer; `decide` asks it.
    pub fn needs_runtime(&self, decide: &str) -> Judged {
        match &self.evidence.runtime {
            Some(runtime) if !may_drive(self.evidence, runtime) => self.open(
                "Docker is not known to be this kubelet's runtime",
                &self.its_own(),
            ),
            Some(_) => self.open("the runtime does not answer", AGAIN),
            None if self.now && engine(self.evidence).is_others() => Judged::Open {
                why: "the runtime was not asked: plegdoctor asks Docker alone".to_owned(),
                decide: Some(self.its_own()),
            },
            None => self.open("the runtime was not asked", decide),
        }
    }

    /// What asks the kubelet's own runtime, where plegdoctor cannot.
    fn its_own(&self) -> String {
        let crictl = Setup::of(self.evidence).crictl();
        format!("timeout 10 {crictl} info; time timeout 150 {crictl} --timeout 120s ps -aq | wc -l")
    }

    /// It could not be judged, and why; of a log alone, or of what is over, there is nothing special to say.
    pub fn open(&self, why: &str, decide: &str) -> Judged {
        let Evidence { runtime, host, .. } = self.evidence;
        let (why, decide) = match (self.now, runtime, host) {
            (false, ..) => ("it is over, and the log does not tell", None),
            (true, None, None) if self.evidence.log.is_none() => {
                ("neither the runtime nor the host was looked at", Some(LOOK))
            }
            (true, None, None) => ("the log alone does not tell", Some(LOOK)),
            (true, Some(_), None) if decide == LOOK => ("the host was not looked at", Some(LOOK)),
            (true, ..) => (why, Some(decide)),
        };
        Judged::Open {
            why: why.to_owned(),
            decide: decide.map(str::to_owned),
        }
    }
}

/// Whether Docker may be what this kubelet drives: the log or the kubelet's settings say so, or it has containers of
/// pods. A Docker for other work may stand beside it, and its answers tell nothing of the kubelet's.
pub(super) fn may_drive(evidence: &Evidence, runtime: &Runtime) -> bool {
    if let Some(told) = engine::told(evidence) {
        return told == Engine::Docker;
    }
    // What does not list may have some.
    let unlisted = runtime.list.outcome != Outcome::Answered;
    unlisted || engine::has_pods(runtime)
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
pub(super) fn is_extract(log: &Log) -> bool {
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
