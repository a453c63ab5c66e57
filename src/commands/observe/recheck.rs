//! Looks once more where Docker and the kernel disagree. A container that ended just now is known to the kernel first
//! and to Docker soon: it is asked again. One that was removed just now is not listed though its shim was seen: the
//! shim is looked for again.

use super::Observer;
use crate::evidence::shims;
use crate::evidence::shims::Odds;
use crate::io::probe::Outcome;
use crate::node::observe::quick_check;
use crate::runtime::Container;
use crate::runtime::docker::Ask;
use crate::syntax::id::ContainerId;
use std::thread;
use std::time::{Duration, Instant};

/// Containers asked for again at most.
const MAX_AGAIN: usize = 16;
/// How long after the first question Docker knows of an end. On a busy node it takes a second.
const SETTLE_TIME: Duration = Duration::from_secs(2);
/// The timeout of the second question: they answered before.
const AGAIN_TIMEOUT: Duration = Duration::from_secs(1);

impl Observer<'_> {
    /// Asks again where Docker and the kernel disagree; what changed replaces the first answer. `started` is when
    /// Docker was asked first, if that is to be waited for.
    pub(super) fn recheck(&mut self, started: Option<Instant>) {
        let odds = shims::at_odds(&self.evidence);
        let unknown: Vec<u32> = odds.iter().filter_map(Odds::unlisted).collect();
        let ids: Vec<ContainerId> = odds
            .iter()
            .filter_map(Odds::said_to_run)
            .take(MAX_AGAIN)
            .map(|container| container.id.clone())
            .collect();
        if ids.is_empty() && unknown.is_empty() {
            return;
        }
        if let Some(started) = started {
            thread::sleep(SETTLE_TIME.saturating_sub(started.elapsed()));
        }
        let ended = quick_check::ended(&self.tree, &unknown);
        if let Some(host) = &mut self.evidence.host {
            host.processes
                .retain(|process| !ended.contains(&process.pid));
        }
        if ids.is_empty() {
            return;
        }
        let answered = self.answer(&Ask {
            probe_timeout: self.scene.probe_timeout.min(AGAIN_TIMEOUT),
            max_unanswered: ids.len(),
            inspect_budget: AGAIN_TIMEOUT,
            stacks_anyway: false,
            again: &ids,
            ..self.ask(&[])
        });
        // An endpoint that can't be asked has failed before.
        let (Ok(answered), Some(runtime)) = (answered, &mut self.evidence.runtime) else {
            return;
        };
        for found in answered.containers {
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
