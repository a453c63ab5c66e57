//! Findings: what plegdoctor concludes, with proof and remedies, as plain data.
//!
//! Rules make them, the report orders them, printers show them. Nothing here decides.

pub mod action;
pub mod outcome;
pub mod plan;

use crate::syntax::{
    citation::Citation,
    id::{ContainerId, PodName, PodUid},
    time::Time,
};
use action::Action;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The node is, or was, NotReady because of it.
    Critical,
    /// It harms, or will.
    Warning,
    /// Good to know; nothing to do.
    Info,
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Two independent sources agree. (A runtime's list and inspect are one source.)
    Confirmed,
    /// One source says so.
    Suspected,
}

/// What a remedy may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Removes what is stopped, or only looks.
    Safe,
    /// One container or pod.
    Disruptive,
    /// A daemon, systemd or the kubelet restarts.
    Node,
}

/// One thing to do, mildest first in its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// Imperative, a few words.
    pub title: String,
    /// What it touches.
    pub risk: Risk,
    /// The exact command.
    pub command: String,
    /// What it costs, in words.
    pub cost: String,
    /// What of it plegdoctor can do by itself, if asked to; empty for what only people can.
    pub actions: Vec<Action>,
}

/// What kind of thing a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubjectKind {
    /// A pod's sandbox.
    Sandbox,
    /// A container, of a pod or not.
    Container,
    /// A pod.
    Pod,
    /// A daemon: dockerd, containerd, the kubelet.
    Daemon,
    /// A process.
    Process,
    /// A mount.
    Mount,
    /// A disk.
    Disk,
    /// The node as a whole.
    Node,
}

/// The thing that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// What kind of thing.
    pub kind: SubjectKind,
    /// A container's or sandbox's id.
    pub id: Option<ContainerId>,
    /// Its name, as its runtime or the system calls it.
    pub name: Option<String>,
    /// Its pod.
    pub pod: Option<PodName>,
    /// Its pod's UID.
    pub uid: Option<PodUid>,
    /// Its process.
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

/// One conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable, kebab-case, never reused: the rule's.
    pub id: &'static str,
    /// Which case of the rule.
    pub variant: Variant,
    /// This case in a few words.
    pub title: String,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// Whether it holds now; false once recovery is proved.
    pub active: bool,
    /// Two or three sentences for a reader who never heard of PLEG.
    pub explanation: String,
    /// What it is about.
    pub subjects: Vec<Subject>,
    /// What proves it.
    pub citations: Vec<Citation>,
    /// What to do, mildest first.
    pub remedies: Vec<Remedy>,
    /// The stretches of time of which the log's lines speak, for what they explain. Not printed.
    pub spans: Vec<(Time, Time)>,
}
