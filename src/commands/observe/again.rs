//! Looks once more where Docker and the kernel are at odds. A container that ended this very moment is known to the
//! kernel first, and to Docker soon: it is asked again. One that was removed this very moment is not listed, and its shim
//! was seen: it is looked for again.

use crate::{
    evidence::{
        Evidence,
        shims::{self, Odds},
    },
    io::{files::Tree, probe::Outcome},
    node::observe::quick_check,
    runtime::{
        Container, Runtime,
        docker::{Ask, Tape},
    },
    syntax::id::ContainerId,
};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Most that are asked for.
const MOST: usize = 16;
/// How long after the first question Docker has heard of an end. On a busy node it takes a second.
const HEARD: Duration = Duration::from_secs(2);
/// They answered before: for how long they are waited for now.
const SOON: Duration = Duration::from_secs(1);

/// Whom to ask, and how.
pub(super) struct Again<'a> {
    pub(super) ask: &'a dyn Fn(&Ask<'_>) -> anyhow::Result<Runtime>,
    pub(super) endpoint: &'a str,
    pub(super) probe_timeout: Duration,
    pub(super) tape: Option<&'a Tape>,
    pub(super) tree: &'a Tree,
}

impl Again<'_> {
    /// Asks, where Docker and the kernel are at odds; what changed is put in the place of what was said before.
    /// `started` is when Docker was asked first, if that is to be waited for.
    pub(super) fn ask(&self, started: Option<Instant>, evidence: &mut Evidence) {
        let odds = shims::at_odds(evidence);
        let unknown: Vec<u32> = odds.iter().filter_map(Odds::unlisted).collect();
        let ids: Vec<ContainerId> = odds
            .iter()
            .filter_map(Odds::said_to_run)
            .take(MOST)
            .map(|container| container.id.clone())
            .collect();
        if ids.is_empty() && unknown.is_empty() {
            return;
        }
        if let Some(started) = started {
            thread::sleep(HEARD.saturating_sub(started.elapsed()));
        }
        let ended = quick_check::ended(self.tree, &unknown);
        if let Some(host) = &mut evidence.host {
            host.processes
                .retain(|process| !ended.contains(&process.pid));
        }
        if ids.is_empty() {
            return;
        }
        let asked = (self.ask)(&Ask {
            endpoint: self.endpoint,
            probe_timeout: self.probe_timeout.min(SOON),
            max_unanswered: ids.len(),
            first: &[],
            now: evidence.now,
            inspect_budget: SOON,
            stacks_anyway: false,
            tape: self.tape,
            again: &ids,
        });
        // An endpoint that can't be asked has failed before.
        let (Ok(asked), Some(runtime)) = (asked, &mut evidence.runtime) else {
            return;
        };
        for found in asked.containers {
            let mut known = runtime.containers.iter_mut();
            if let Some(known) = known.find(|known| known.id == found.id) {
                update(known, found);
            }
        }
    }
}

fn update(known: &mut Container, found: Container) {
    match (&mut known.inspected, found.inspected) {
        (Some(before), Some(again)) if shims::is_same(before, &again) => before.again = true,
        (Some(before), Some(again)) => *before = again,
        (_, None) if found.probe.outcome == Outcome::Gone => {
            (known.inspected, known.probe) = (None, found.probe);
        }
        // No answer, this time: what it said before was true then.
        _ => {}
    }
}
