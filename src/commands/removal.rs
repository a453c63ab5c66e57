//! Containers observed and removed: what `clean` and `diagnose --fix` share.

use crate::finding::plan::{Plan, Request};
use crate::io::probe::{Outcome, Probe};
use crate::remedy::apply::{Audit, Clock, RemoveOptions, Replan};
use crate::runtime::docker::{Bounds, Docker, Listed};
use crate::runtime::{Container, ContainerKind};
use crate::syntax::duration;
use crate::syntax::id::ContainerId;
use anyhow::bail;
use chrono::TimeDelta;
use std::{collections::HashMap, sync::Arc, time::Duration};

/// How long to go on sending inspects. Eighteen thousand containers take some ten seconds on a healthy daemon; a sick
/// one is given time, since what is not inspected is not removed, and the user can press Ctrl-C.
const INSPECT_BUDGET: Duration = Duration::from_secs(600);

/// Where Docker is, and how long it may take.
pub(super) struct Limits {
    pub(super) endpoint: String,
    pub(super) probe_timeout: Duration,
    pub(super) timeout: Duration,
    /// Unanswered inspects after which no more are sent: each leaves a goroutine and a descriptor in the daemon.
    pub(super) max_unanswered: usize,
}

pub(super) struct Scanner {
    limits: Limits,
    lists: Docker,
    inspects: Docker,
    request: Request,
    clock: Clock,
}

pub(super) struct Scan {
    pub(super) containers: Vec<Container>,
    pub(super) plan: Plan,
    /// That the list held entries without an id.
    pub(super) unreadable: Option<String>,
}

impl Scanner {
    pub(super) fn new(limits: Limits, request: Request, clock: Clock) -> anyhow::Result<Self> {
        let list_timeout = limits.timeout.max(limits.probe_timeout);
        Ok(Self {
            lists: Docker::open(&limits.endpoint, list_timeout)?,
            inspects: Docker::open(&limits.endpoint, limits.probe_timeout)?,
            limits,
            request,
            clock,
        })
    }

    /// An attempt may take two inspects, a removal, two lines of audit, and some slack.
    pub(super) fn remove_options(&self, jobs: usize, audit: Option<Arc<Audit>>) -> RemoveOptions {
        let Limits {
            timeout,
            probe_timeout,
            ..
        } = self.limits;
        RemoveOptions {
            docker: self.inspects.clone(),
            jobs,
            timeout,
            patience: timeout
                .saturating_add(probe_timeout.saturating_mul(2))
                .saturating_add(Duration::from_secs(30)),
            audit,
        }
    }

    /// Lists and inspects all containers, and plans.
    ///
    /// # Errors
    /// There is no list.
    pub(super) fn scan(&self) -> anyhow::Result<Scan> {
        let Listed {
            probe,
            mut containers,
            ..
        } = self.lists.list();
        let endpoint = &self.limits.endpoint;
        match (probe.outcome, &probe.error) {
            (Outcome::Answered, _) => {}
            (Outcome::TimedOut, None) => bail!(
                "Docker at {endpoint} does not answer: listing containers timed out after {} (many thousands may need a longer --timeout)",
                waited(&probe)
            ),
            (_, Some(words)) => bail!("can't list the containers of Docker at {endpoint}: {words}"),
            (_, None) => bail!("can't list the containers of Docker at {endpoint}"),
        }
        self.inspect(&mut containers, self.limits.max_unanswered);
        Ok(Scan {
            plan: self.plan(&containers),
            containers,
            unreadable: probe.error.map(|words| format!("Docker's list: {words}")),
        })
    }

    /// Plans anew whenever it is called, from what was `seen` before and what has changed since.
    pub(super) fn into_replan(self, mut seen: Vec<Container>) -> Replan {
        Box::new(move || self.rescan(&mut seen))
    }

    /// Lists again, inspects the sandboxes and containers that are new or in another state, and plans anew. `seen` is
    /// what the scan before this one showed, and becomes what this one does.
    fn rescan(&self, seen: &mut Vec<Container>) -> Result<Plan, String> {
        let Listed {
            probe, containers, ..
        } = self.lists.list();
        match (probe.outcome, &probe.error) {
            (Outcome::Answered, _) => {}
            (Outcome::Refused, Some(words)) => return Err(format!("Docker is down ({words})")),
            (_, Some(words)) => return Err(format!("cannot check the pods again: {words}")),
            (_, None) => {
                return Err(format!(
                    "cannot check the pods again: listing containers timed out after {}",
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
        // One at a time if there may be no more, since what is not seen again is kept.
        let bound = self.limits.max_unanswered.saturating_sub(hung.count());
        self.inspect(&mut due, bound.max(1));
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
