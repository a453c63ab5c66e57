//! What one line says, without when and where it does.

use super::{ErrorClass, ErrorTail, Kind, Time, Weight};
use crate::syntax::id::{ContainerId, PodName, PodUid};
use chrono::TimeDelta;

/// What one line says, where it is one of the known messages. Equal lines share it.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageFields {
    pub kind: Kind,
    pub pod: Option<PodName>,
    pub uid: Option<PodUid>,
    /// The sandbox the call was about.
    pub sandbox: Option<ContainerId>,
    /// The container the call was about.
    pub container: Option<ContainerId>,
    /// `pleg-stale`: since when no relist has listed.
    pub lag: Option<TimeDelta>,
    /// `pleg-stale`: the limit that the kubelet applied.
    pub threshold: Option<TimeDelta>,
    pub error: Option<ErrorTail>,
    pub node: Option<String>,
    /// A word that the message carries: an event's name, a reason, a runtime's name, a PLEG event's type, a program and
    /// its version, by how much the clock was set.
    pub detail: Option<String>,
    /// For an item of a list: the message that carried it (`skip-sync`, `node-not-ready`, `ready-condition`).
    pub carrier: Option<Kind>,
    /// A time inside the message, close to when it was logged.
    pub(crate) reported_at: Option<Time>,
    /// Pods and reasons of its line that were not kept.
    pub(crate) left_out: u64,
}

impl MessageFields {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            pod: None,
            uid: None,
            sandbox: None,
            container: None,
            lag: None,
            threshold: None,
            error: None,
            node: None,
            detail: None,
            carrier: None,
            reported_at: None,
            left_out: 0,
        }
    }

    /// The id that the call was about, container before sandbox.
    pub fn subject(&self) -> Option<&ContainerId> {
        self.container.as_ref().or(self.sandbox.as_ref())
    }

    pub fn error_class(&self) -> Option<ErrorClass> {
        self.error.as_ref().map(|error| error.class)
    }

    pub fn is_deadline(&self) -> bool {
        self.error_class() == Some(ErrorClass::Deadline)
    }

    /// Whether only a finished relist lets it happen.
    pub(crate) fn is_recovery(&self) -> bool {
        matches!(self.kind, Kind::PlegEvent | Kind::PlegContainerFinished)
    }

    /// Whether it reports trouble, so that context around it is wanted.
    pub(crate) fn is_trouble(&self) -> bool {
        if self.kind == Kind::NodeReady {
            return false;
        }
        match self.kind.message().weight {
            Weight::Decisive | Weight::Strong => self.error_class() != Some(ErrorClass::NotFound),
            Weight::Moderate => self.is_deadline(),
            Weight::Weak | Weight::Context => false,
        }
    }
}
