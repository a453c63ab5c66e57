//! All that rules may look at: what the log told, what the runtime, the host and the kubelet answered, what could not be seen.

pub mod runtime_stack;
pub mod shims;

use crate::io::gap::Gap;
use crate::io::probe::Outcome;
use crate::kubelet::Kubelet;
use crate::kubelet::summary::Log;
use crate::node::Host;
use crate::runtime::{Call, Runtime};
use crate::syntax::time::Time;
use chrono::TimeDelta;

/// All that was observed.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The present moment.
    pub now: Time,
    /// What the log told; `None` if none was read.
    pub log: Option<Log>,
    /// What the runtime answered; `None` if it was not asked.
    pub runtime: Option<Runtime>,
    /// What was seen of the host itself; `None` if nobody looked.
    pub host: Option<Host>,
    /// What the kubelet itself said; `None` if it was not asked.
    pub kubelet: Option<Kubelet>,
    /// What could not be seen.
    pub gaps: Vec<Gap>,
    /// What was left out on purpose, with the reason, for the reader: no gap.
    pub notes: Vec<String>,
}

impl Evidence {
    /// Returns the runtime if it listed its containers: only then is one that is not listed not there.
    pub fn listed(&self) -> Option<&Runtime> {
        let listed = |runtime: &&Runtime| runtime.probe(Call::List).outcome == Outcome::Answered;
        self.runtime.as_ref().filter(listed)
    }
}

/// How far apart a log's end and the present may be for the two to be one story.
pub const FRESH: TimeDelta = TimeDelta::minutes(10);
