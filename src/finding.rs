//! Findings: what plegdoctor concludes, with proof and remedies, as plain data.
//!
//! Rules make them, the report orders them, printers show them. Nothing here decides.

pub mod action;
pub mod outcome;
pub mod plan;

use crate::syntax::citation::Citation;
use crate::syntax::id::{ContainerId, PodName, PodUid};
use crate::syntax::time::Time;
use action::Action;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The node is, or was, NotReady because of it.
    Critical,
    Warning,
    /// Good to know; nothing to do.
    Info,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Two independent sources agree. (A runtime's list and inspect are one source.)
    Confirmed,
    Suspected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Removes what is stopped, or only looks.
    Safe,
    Disruptive,
    Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    pub title: String,
    pub risk: Risk,
    pub command: String,
    pub cost: String,
    /// What of it plegdoctor can do by itself, if asked to; empty for what only people can.
    pub actions: Vec<Action>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubjectKind {
    Sandbox,
    Container,
    Pod,
    Daemon,
    Process,
    Mount,
    Disk,
    Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub kind: SubjectKind,
    pub id: Option<ContainerId>,
    pub name: Option<String>,
    pub pod: Option<PodName>,
    pub uid: Option<PodUid>,
    pub pid: Option<u32>,
}

/// Which case of its rule a finding is, where other rules depend on that. Not printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// The rule's only case, or one like the others.
    #[default]
    Plain,
    /// Sandboxes and containers start too slowly, and all else answers: no relist waits for that.
    SlowStarts,
    /// Calls failed at the task limit; otherwise it is only near.
    TaskLimitHit,
    /// By the node's clock a certificate is expired or not yet valid.
    ExpiredCertificate,
    /// A release that may be a factor in the trouble that this rule finds.
    FactorIn(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable, kebab-case, never reused: the rule's.
    pub id: &'static str,
    /// Which case of the rule.
    pub variant: Variant,
    pub title: String,
    pub severity: Severity,
    pub confidence: Confidence,
    /// Whether it holds now; false once recovery is proved.
    pub active: bool,
    /// Two or three sentences for a reader who never heard of PLEG.
    pub explanation: String,
    pub subjects: Vec<Subject>,
    pub citations: Vec<Citation>,
    pub remedies: Vec<Remedy>,
    /// The stretches of time of which the log's lines speak, for what they explain. Not printed.
    pub spans: Vec<(Time, Time)>,
}
