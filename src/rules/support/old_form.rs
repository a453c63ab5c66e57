//! The form of rules before `Answer`: `check` and `judge`. What is left of it goes with the last rule in this form.

use super::answer::Exclusion;
use super::case::{Case, Trouble};
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::kubelet::summary::Log;
use crate::node::Host;
use crate::rules::{Detection, Explains, Rule, Tier};
use crate::runtime::Runtime;
use std::ops::Deref;

/// A rule that is asked twice.
#[derive(Debug)]
pub(crate) struct OldRule {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) explains: bool,
    pub(crate) bearing: Bearing,
    pub(crate) page: &'static str,
    pub(crate) check: fn(&Evidence, &[Finding]) -> Vec<Finding>,
}

/// What speaks against it; the relations stand in `causality`.
#[derive(Debug)]
pub(crate) struct Bearing {
    pub(crate) behind: &'static [&'static str],
    pub(crate) feeds: &'static [&'static str],
    pub(crate) fits: fn(&Finding, &Finding) -> bool,
    pub(crate) judge: fn(&Scene) -> Judged,
}

impl Bearing {
    pub(crate) const NONE: Self = Self {
        behind: &[],
        feeds: &[],
        fits: |_, _| true,
        judge: |_| Judged::Unasked,
    };
}

impl OldRule {
    /// The row of the table that it is.
    pub(crate) const fn row(self) -> Rule {
        let Self {
            id,
            title,
            explains,
            bearing,
            page,
            check,
        } = self;
        let Bearing {
            judge,
            behind: _,
            feeds: _,
            fits: _,
        } = bearing;
        Rule {
            id,
            title,
            page,
            explains: if explains {
                Explains::Lag
            } else {
                Explains::Nothing
            },
            tier: Tier::Second,
            detection: Detection::Old { check, judge },
        }
    }
}

/// The trouble that a `judge` is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a>(Trouble<'a>);

impl<'a> Deref for Scene<'a> {
    type Target = Trouble<'a>;

    fn deref(&self) -> &Trouble<'a> {
        &self.0
    }
}

/// What speaks against a cause that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    Unasked,
    Out { because: String, by: Vec<String> },
    Open { why: String, decide: Option<String> },
}

impl From<Judged> for Exclusion {
    fn from(judged: Judged) -> Self {
        match judged {
            Judged::Unasked => Self::Silent,
            Judged::Out { because, by } => Self::RuledOut { because, by },
            Judged::Open { why, decide } => Self::Unknown { why, decide },
        }
    }
}

impl From<Exclusion> for Judged {
    fn from(exclusion: Exclusion) -> Self {
        match exclusion {
            Exclusion::Silent => Self::Unasked,
            Exclusion::RuledOut { because, by } => Self::Out { because, by },
            Exclusion::Unknown { why, decide } => Self::Open { why, decide },
        }
    }
}

impl Judged {
    /// Ruled out by one thing that was looked at.
    pub(crate) fn out(because: impl Into<String>, by: &str) -> Self {
        Self::Out {
            because: because.into(),
            by: vec![by.to_owned()],
        }
    }

    /// Ruled out by what the log tells, or does not.
    pub(crate) fn silent(log: &Log, because: &str) -> Self {
        Self::Out {
            because: because.to_owned(),
            by: log.sources.iter().map(|it| it.name.clone()).collect(),
        }
    }
}

impl<'a> Scene<'a> {
    pub(crate) fn of(trouble: Trouble<'a>) -> Self {
        Self(trouble)
    }

    fn case(&self) -> Option<Case<'a>> {
        let case = Case {
            evidence: self.evidence,
            findings: &[],
        };
        self.now.then_some(case)
    }

    pub(crate) fn runtime(&self) -> Option<&'a Runtime> {
        self.case()?.runtime()
    }

    pub(crate) fn listed(&self) -> Option<&'a Runtime> {
        self.case()?.listed()
    }

    pub(crate) fn all_answer(&self) -> Option<&'a Runtime> {
        self.case()?.all_answer()
    }

    pub(crate) fn host(&self) -> Option<&'a Host> {
        self.case()?.host()
    }

    pub(crate) fn whole_host(&self) -> Option<&'a Host> {
        self.case()?.whole_host()
    }

    pub(crate) fn needs_host(&self) -> Judged {
        self.0.needs_host().into()
    }

    pub(crate) fn needs_runtime(&self, decide: &str) -> Judged {
        self.0.needs_runtime(decide).into()
    }

    pub(crate) fn open(&self, why: &str, decide: &str) -> Judged {
        self.0.unknown(why, decide).into()
    }
}
