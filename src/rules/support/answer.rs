//! What a rule answers, and how a finding is made of it.

use super::log_lines::LogMatches;
use super::old_form::{Judged, Scene};
use super::subject;
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Severity, Subject, Variant};
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::incident::Incident;
use crate::syntax::citation::Citation;
use crate::syntax::time::Time;

/// Whether a cause is at work.
#[derive(Debug)]
pub(crate) enum Answer {
    Found(Vec<Draft>),
    /// It was not seen; what that says of a trouble is told once the trouble is known.
    Absent(Absent),
    /// It is no cause of a lag here, or there is nothing to ask.
    Silent,
}

impl From<Draft> for Answer {
    fn from(draft: Draft) -> Self {
        Self::Found(vec![draft])
    }
}

impl From<Absent> for Answer {
    fn from(absent: Absent) -> Self {
        Self::Absent(absent)
    }
}

/// What a look at the node shows of a cause.
#[derive(Debug)]
pub(crate) enum Live {
    /// It is there: a second source beside the log.
    Yes(Citation),
    /// It is not there: what is shown instead, and why that speaks against it.
    No(Citation, String),
    /// Nobody looked, or what was seen says nothing.
    NotSeen,
}

/// What is said of a cause that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exclusion {
    /// What was looked at speaks against it.
    RuledOut {
        /// What speaks against it, a clause.
        because: String,
        /// What was looked at: a log, a call, a file of the kernel.
        by: Vec<String>,
    },
    /// What would show it was not looked at, or says nothing of the trouble's time.
    Unknown {
        /// Why it could not be judged, a clause.
        why: String,
        /// The command that would decide; `None` for what is resolved and left no trace.
        decide: Option<String>,
    },
    /// Nothing.
    Silent,
}

/// A cause that was not seen: the reasons that speak against it, of which the first that fits the trouble counts.
#[derive(Debug)]
pub(crate) struct Absent {
    pub(super) clauses: Vec<Clause>,
    pub(super) needs: Needs,
}

#[derive(Debug)]
pub(super) enum Clause {
    /// Seen on the node: it counts for a trouble that is there now.
    Now(Exclusion),
    /// The log of an outage: no such call failed so in it, and what it shows gives the reason.
    Log {
        calls: &'static [Kind],
        /// `None` if what the outage itself shows is enough.
        class: Option<ErrorClass>,
        because: Because,
    },
}

/// Why the outage's log speaks against a cause.
#[derive(Debug)]
pub(super) enum Because {
    Always(&'static str),
    If(fn(&Incident) -> Option<String>),
}

impl Because {
    pub(super) fn reason(&self, outage: &Incident) -> Option<String> {
        match self {
            Self::Always(reason) => Some((*reason).to_owned()),
            Self::If(reason) => reason(outage),
        }
    }
}

/// What would have to be seen to judge a cause, where no clause counts.
#[derive(Debug)]
pub(super) enum Needs {
    Host,
    Runtime(String),
    Look { why: String, decide: String },
    Nothing,
    Old(fn(&Scene) -> Judged),
}

impl Absent {
    /// Not seen; only a look at all of the host decides.
    pub(crate) fn needs_host() -> Self {
        Self::needs(Needs::Host)
    }

    /// Not seen; only the runtime decides, which this command asks.
    pub(crate) fn needs_runtime(decide: impl Into<String>) -> Self {
        Self::needs(Needs::Runtime(decide.into()))
    }

    /// Not seen; why that says nothing, and the command that decides.
    pub(crate) fn unknown(why: &str, decide: &str) -> Self {
        let (why, decide) = (why.to_owned(), decide.to_owned());
        Self::needs(Needs::Look { why, decide })
    }

    /// Not seen; unless a clause speaks against it, there is nothing to say.
    pub(crate) fn unless_seen() -> Self {
        Self::needs(Needs::Nothing)
    }

    pub(crate) fn old(judge: fn(&Scene) -> Judged) -> Self {
        Self::needs(Needs::Old(judge))
    }

    fn needs(needs: Needs) -> Self {
        let clauses = Vec::new();
        Self { clauses, needs }
    }

    /// What is seen now speaks against it: a clause, and what was looked at.
    #[must_use]
    pub(crate) fn ruled_out(self, because: impl Into<String>, by: &[&str]) -> Self {
        self.now(Exclusion::RuledOut {
            because: because.into(),
            by: by.iter().map(|&it| it.to_owned()).collect(),
        })
    }

    /// What is seen now leaves it open: why, and the command that decides.
    #[must_use]
    pub(crate) fn left_open(self, why: impl Into<String>, decide: impl Into<String>) -> Self {
        self.now(Exclusion::Unknown {
            why: why.into(),
            decide: Some(decide.into()),
        })
    }

    /// What is seen now says nothing of it.
    #[must_use]
    pub(crate) fn silent(self) -> Self {
        self.now(Exclusion::Silent)
    }

    fn now(mut self, exclusion: Exclusion) -> Self {
        self.clauses.push(Clause::Now(exclusion));
        self
    }

    /// The log of the whole outage has no such failed call, which speaks against it.
    #[must_use]
    pub(crate) fn no_line(
        self,
        calls: &'static [Kind],
        class: ErrorClass,
        because: &'static str,
    ) -> Self {
        self.log(calls, Some(class), Because::Always(because))
    }

    /// … if the outage has the shape that gives a reason.
    #[must_use]
    pub(crate) fn no_line_if(
        self,
        calls: &'static [Kind],
        class: ErrorClass,
        because: fn(&Incident) -> Option<String>,
    ) -> Self {
        self.log(calls, Some(class), Because::If(because))
    }

    /// The outage itself, as the log shows it, speaks against it.
    #[must_use]
    pub(crate) fn outage(self, because: fn(&Incident) -> Option<String>) -> Self {
        self.log(&[], None, Because::If(because))
    }

    fn log(mut self, calls: &'static [Kind], class: Option<ErrorClass>, because: Because) -> Self {
        let clause = Clause::Log {
            calls,
            class,
            because,
        };
        self.clauses.push(clause);
        self
    }
}

/// A finding as its rule describes it. What follows from the rest is derived: confidence, severity, remedies.
#[derive(Debug)]
pub(crate) struct Draft {
    variant: Variant,
    title: String,
    sentences: Vec<String>,
    severity: Severity,
    severity_resolved: Severity,
    active: bool,
    from_log: bool,
    from_node: bool,
    subjects: Vec<Subject>,
    citations: Vec<Citation>,
    steps: Vec<Remedy>,
    keeps_steps: bool,
    spans: Vec<(Time, Time)>,
}

impl Draft {
    /// A finding of one source that holds now, about the node.
    pub(crate) fn new(severity: Severity, title: impl Into<String>) -> Self {
        Self {
            variant: Variant::Plain,
            title: title.into(),
            sentences: Vec::new(),
            severity,
            severity_resolved: severity,
            active: true,
            from_log: false,
            from_node: false,
            subjects: Vec::new(),
            citations: Vec::new(),
            steps: Vec::new(),
            keeps_steps: false,
            spans: Vec::new(),
        }
    }

    /// Which case of the rule it is, where other rules depend on that.
    #[must_use]
    pub(crate) fn variant(mut self, variant: Variant) -> Self {
        self.variant = variant;
        self
    }

    /// Adds a part of the explanation: one or more sentences; nothing for an empty one.
    #[must_use]
    pub(crate) fn say(mut self, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        if !sentence.is_empty() {
            self.sentences.push(sentence);
        }
        self
    }

    /// Whether it holds now; steps are left out where it does not.
    #[must_use]
    pub(crate) fn active(mut self, active: bool) -> Self {
        self.active = active;
        self
    }

    /// How bad it is where it does not hold any more.
    #[must_use]
    pub(crate) fn once_resolved(mut self, severity: Severity) -> Self {
        self.severity_resolved = severity;
        self
    }

    /// What it is about, if that is not the node.
    #[must_use]
    pub(crate) fn about(mut self, subjects: impl IntoIterator<Item = Subject>) -> Self {
        self.subjects.extend(subjects);
        self
    }

    /// The lines that prove it, `most` of them cited: one source.
    #[must_use]
    pub(crate) fn lines(mut self, lines: &LogMatches, most: usize) -> Self {
        self.from_log |= !lines.is_empty();
        self.cite(lines.cite(most))
    }

    /// What was seen on the node that proves it: the other source.
    #[must_use]
    pub(crate) fn seen(mut self, seen: impl IntoIterator<Item = Citation>) -> Self {
        let before = self.citations.len();
        self.citations.extend(seen);
        self.from_node |= self.citations.len() > before;
        self
    }

    /// What is worth a look beside the proof.
    #[must_use]
    pub(crate) fn cite(mut self, citations: impl IntoIterator<Item = Citation>) -> Self {
        self.citations.extend(citations);
        self
    }

    /// Two sources agree, where that does not follow from `lines` and `seen`.
    #[must_use]
    pub(crate) fn confirmed_if(mut self, agreed: bool) -> Self {
        (self.from_log, self.from_node) = (agreed, agreed);
        self
    }

    /// What to do while it holds, mildest first.
    #[must_use]
    pub(crate) fn steps(mut self, steps: impl IntoIterator<Item = Remedy>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Keeps the steps where it does not hold any more, too.
    #[must_use]
    pub(crate) fn keep_steps(mut self) -> Self {
        self.keeps_steps = true;
        self
    }

    /// The stretches of time that it explains.
    #[must_use]
    pub(crate) fn span(mut self, span: (Time, Time)) -> Self {
        self.spans.push(span);
        self
    }

    #[must_use]
    pub(crate) fn spans(mut self, lines: &LogMatches) -> Self {
        self.spans.extend(lines.spans());
        self
    }

    /// Puts the rule's own proof before what `describe` cites.
    pub(super) fn proof_first(mut self, proof: impl FnOnce(Self) -> Self) -> Self {
        let own = std::mem::take(&mut self.citations);
        proof(self).cite(own)
    }

    /// The finding, the only place where one is made.
    pub(crate) fn build(self, id: &'static str, evidence: &Evidence) -> Finding {
        let mut subjects = self.subjects;
        if subjects.is_empty() {
            subjects.push(subject::node(evidence));
        }
        Finding {
            id,
            variant: self.variant,
            title: self.title,
            severity: match self.active {
                true => self.severity,
                false => self.severity_resolved,
            },
            confidence: match self.from_log && self.from_node {
                true => Confidence::Confirmed,
                false => Confidence::Suspected,
            },
            active: self.active,
            explanation: self.sentences.join(" "),
            subjects,
            citations: self.citations,
            remedies: match self.active || self.keeps_steps {
                true => self.steps,
                false => Vec::new(),
            },
            spans: self.spans,
        }
    }
}
