//! The looks that `clean` (and `diagnose --fix`, for removals) takes at the node: the one that the plan is made from, and those that tell whether it
//! still holds.

use crate::{
    finding::plan::{Plan, Request},
    io::probe::{Outcome, Probe},
    remedy::apply::Clock,
    runtime::{
        Container, ContainerKind,
        docker::{Bounds, Docker, Listed},
    },
    syntax::{duration, id::ContainerId},
};
use anyhow::bail;
use chrono::TimeDelta;
use std::{collections::HashMap, time::Duration};

/// How long to go on sending inspects. Eighteen thousand containers take some ten seconds on a healthy daemon; a sick
/// one is given time, since what is not inspected is not removed, and the user can press Ctrl-C.
const INSPECT_BUDGET: Duration = Duration::from_secs(600);

pub(in crate::commands) struct Eyes {
    /// The daemon, with the patience that a long list needs.
    pub(in crate::commands) lists: Docker,
    pub(in crate::commands) inspects: Docker,
    pub(in crate::commands) endpoint: String,
    /// Unanswered inspects after which no more are sent: each leaves a goroutine and a descriptor in the daemon.
    pub(in crate::commands) max_unanswered: usize,
    pub(in crate::commands) request: Request,
    pub(in crate::commands) clock: Clock,
}

/// What the first look showed.
pub(in crate::commands) struct Look {
    pub(in crate::commands) containers: Vec<Container>,
    pub(in crate::commands) plan: Plan,
    pub(in crate::commands) unreadable: Option<String>,
}

impl Eyes {
    pub(in crate::commands) fn first(&self) -> anyhow::Result<Look> {
        let Listed {
            probe,
            mut containers,
            ..
        } = self.lists.list();
        let endpoint = &self.endpoint;
        match (probe.outcome, &probe.error) {
            (Outcome::Answered, _) => {}
            (Outcome::TimedOut, None) => bail!(
                "Docker at {endpoint} does not answer: no list of containers in {} (many thousands may need a longer --timeout)",
                waited(&probe)
            ),
            (_, Some(words)) => bail!("can't list the containers of Docker at {endpoint}: {words}"),
            (_, None) => bail!("can't list the containers of Docker at {endpoint}"),
        }
        self.inspect(&mut containers, self.max_unanswered);
        Ok(Look {
            plan: self.plan(&containers),
            containers,
            unreadable: probe.error.map(|words| format!("Docker's list: {words}")),
        })
    }

    /// Lists again, inspects the sandboxes and what the list tells something new of, and plans anew. `seen` is what the
    /// look before this one showed, and becomes what this one does.
    ///
    /// # Errors
    /// There is no list; says so in words.
    pub(in crate::commands) fn again(&self, seen: &mut Vec<Container>) -> Result<Plan, String> {
        let Listed {
            probe, containers, ..
        } = self.lists.list();
        match (probe.outcome, &probe.error) {
            (Outcome::Answered, _) => {}
            (Outcome::Refused, Some(words)) => return Err(format!("Docker is gone ({words})")),
            (_, Some(words)) => return Err(format!("no second look at the pods: {words}")),
            (_, None) => {
                return Err(format!(
                    "no second look at the pods: no list of containers in {}",
                    waited(&probe)
                ));
            }
        }
        let before: HashMap<ContainerId, Container> =
            seen.drain(..).map(|it| (it.id.clone(), it)).collect();
        let mut due = Vec::new();
        for mut container in containers {
            match before.get(&container.id) {
                Some(before) if !is_due(before, &container) => {
                    container.inspected.clone_from(&before.inspected);
                    container.probe = before.probe.clone();
                    seen.push(container);
                }
                _ => due.push(container),
            }
        }
        let hung = seen
            .iter()
            .filter(|it| it.probe.outcome == Outcome::TimedOut);
        // One at a time if there may be no more, since what is not seen again is spared.
        let bound = self.max_unanswered.saturating_sub(hung.count()).max(1);
        self.inspect(&mut due, bound);
        seen.append(&mut due);
        Ok(self.plan(seen))
    }

    fn inspect(&self, containers: &mut [Container], max_unanswered: usize) {
        let bounds = Bounds {
            first: &[],
            max_unanswered,
            budget: INSPECT_BUDGET,
        };
        self.inspects.inspect_all(containers, &bounds);
    }

    fn plan(&self, containers: &[Container]) -> Plan {
        Plan::new(containers, &self.request, self.clock.now())
    }
}

/// Whether a container must be inspected again. One whose inspect was not answered never is: each such call stays in
/// the daemon.
fn is_due(before: &Container, now: &Container) -> bool {
    before.inspected.is_some()
        && (before.kind == ContainerKind::Sandbox || before.listed_state != now.listed_state)
}

fn waited(probe: &Probe) -> String {
    duration::human(TimeDelta::from_std(probe.took).unwrap_or(duration::NEVER))
}
