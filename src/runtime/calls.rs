//! The calls that a runtime is asked, and how they ended, as one list: what the live part alone shows.

use super::{Container, Outcome, Probe, Runtime};
use std::{cmp::Reverse, fmt};

/// What a runtime can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Whether it is there: the daemon answers alone.
    Ping,
    /// Its version; Docker asks its containerd.
    Version,
    /// Its state as a whole: `info` of Docker.
    Info,
    /// All containers.
    List,
    /// One container.
    Inspect,
}

impl Call {
    /// Those that concern the daemon itself.
    pub const OWN: [Self; 4] = [Self::Ping, Self::Version, Self::Info, Self::List];

    /// The call's word, as in `docker list`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Version => "version",
            Self::Info => "info",
            Self::List => "list",
            Self::Inspect => "inspect",
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One call that was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallResult<'a> {
    /// What was asked.
    pub call: Call,
    /// Whom it inspects.
    pub container: Option<&'a Container>,
    /// How it ended.
    pub probe: &'a Probe,
}

/// What all calls together amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All answered, and a relist would take no time worth a word.
    Well,
    /// Something did not answer, or a relist would take long.
    Trouble,
    /// The runtime could not be asked: nothing listens, or one may not.
    Unasked,
}

impl CallResult<'_> {
    /// Returns whether it ended well. A container that is gone since it was listed is an answer.
    pub fn answered(&self) -> bool {
        let gone = self.container.is_some() && self.probe.outcome == Outcome::Gone;
        gone || (self.probe.outcome == Outcome::Answered && self.probe.error.is_none())
    }
}

impl Runtime {
    /// Returns all calls: those without an answer first, then the slowest.
    pub fn call_results(&self) -> Vec<CallResult<'_>> {
        let own = self.own_calls().map(|(call, probe)| CallResult {
            call,
            container: None,
            probe,
        });
        let inspects = self.containers.iter().map(|container| CallResult {
            call: Call::Inspect,
            container: Some(container),
            probe: &container.probe,
        });
        let mut calls: Vec<_> = own.chain(inspects).collect();
        calls.sort_by_key(|call| {
            let rank = match call.probe.outcome {
                Outcome::TimedOut => 0,
                _ if !call.answered() => 1,
                _ => 2,
            };
            (rank, Reverse(call.probe.took))
        });
        calls
    }

    /// Returns what all calls together amount to.
    pub fn ending(&self) -> Ending {
        let unasked = |probe: &Probe| matches!(probe.outcome, Outcome::Refused | Outcome::Denied);
        if unasked(self.probe(Call::Ping)) && unasked(self.probe(Call::List)) {
            return Ending::Unasked;
        }
        let well = self.call_results().iter().all(CallResult::answered);
        match well && !self.relist().is_slow() {
            true => Ending::Well,
            false => Ending::Trouble,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::relist::tests::{container, probe, runtime};

    #[test]
    fn what_gave_no_answer_comes_first_then_the_slowest() {
        let mut runtime = runtime(
            probe(Outcome::Answered, 700),
            vec![
                container(Some("a"), Outcome::Answered, 900),
                container(Some("b"), Outcome::NotProbed, 0),
                container(Some("c"), Outcome::TimedOut, 600),
            ],
        );
        *runtime.probe_mut(Call::Ping) = probe(Outcome::Answered, 3);
        let calls = runtime.call_results();
        let seen: Vec<_> = calls
            .iter()
            .map(|call| (call.call, call.probe.took.as_millis()))
            .collect();
        assert_eq!(
            seen[..5],
            [
                (Call::Inspect, 600),
                (Call::Inspect, 0),
                (Call::Inspect, 900),
                (Call::List, 700),
                (Call::Ping, 3)
            ]
        );
        assert_eq!(runtime.ending(), Ending::Trouble);
    }

    #[test]
    fn one_that_is_gone_is_no_trouble_and_a_slow_relist_is() {
        let gone = vec![container(Some("a"), Outcome::Gone, 1)];
        let well = runtime(probe(Outcome::Answered, 2), gone);
        assert_eq!(well.ending(), Ending::Well);
        let slow = runtime(probe(Outcome::Answered, 2600), Vec::new());
        assert_eq!(slow.ending(), Ending::Trouble);
        let mut odd = well.clone();
        odd.probe_mut(Call::List).error = Some("2 of its entries have no id".to_owned());
        assert_eq!(odd.ending(), Ending::Trouble);
    }

    #[test]
    fn who_is_not_there_or_not_to_be_asked_was_not_asked() {
        for outcome in [Outcome::Refused, Outcome::Denied] {
            let mut down = runtime(probe(outcome, 0), Vec::new());
            *down.probe_mut(Call::Ping) = probe(outcome, 0);
            assert_eq!(down.ending(), Ending::Unasked);
        }
        let mut frozen = runtime(probe(Outcome::TimedOut, 3000), Vec::new());
        *frozen.probe_mut(Call::Ping) = probe(Outcome::TimedOut, 3000);
        assert_eq!(frozen.ending(), Ending::Trouble);
    }
}
