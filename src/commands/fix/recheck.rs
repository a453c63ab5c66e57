//! The second check that a restart needs: what it stops cannot be brought back, and the problem may have been resolved
//! since, while the user decided or another remedy worked.

use super::{Observation, Run, observe, output::Output};
use crate::finding::outcome::{Asked, Outcome, Status};
use crate::remedy::fix;
use crate::remedy::fix::Step;
use crate::report::Report;
use crate::syntax::duration;
use std::time::Instant;

impl Run<'_> {
    /// Notes since when restarts are asked for; one that is not any more begins anew, and one that was left as a guess
    /// is none any more once a second source asks for it.
    pub(super) fn note_restarts(&mut self, report: &Report) {
        let steps = fix::steps(report);
        let actions = steps.iter().flat_map(|step| &step.actions);
        let wanted: Vec<_> = actions.filter(|action| action.restarts()).collect();
        self.asked_for.retain(|action, _| wanted.contains(&action));
        for action in wanted {
            let now = Instant::now();
            self.asked_for.entry(action.clone()).or_insert(now);
        }
        let sure = steps.iter().filter(|step| !step.is_guess());
        for action in sure.flat_map(|step| &step.actions) {
            if self.unsure.remove(action) {
                self.settled.remove(action);
            }
        }
    }

    /// Looks once more, not before `--confirm-after` is over since the first look that asked for it. Returns what of
    /// the step is still to be done; what is not is recorded.
    pub(super) fn recheck(
        &mut self,
        step: &Step,
        asked: Asked,
        last: &mut Observation,
        output: &mut Output<'_>,
    ) -> Option<Step> {
        let confirm_after = self.args.fix.confirm_after;
        let since = step.actions.iter().filter_map(|it| self.asked_for.get(it));
        let waited = since.max().map(Instant::elapsed).unwrap_or_default();
        output.show(&format!(
            "Checking once more, {} after the first time, whether this is still the case.",
            duration::spoken(confirm_after.max(waited))
        ));
        let interrupted = self.sleep(confirm_after.saturating_sub(waited));
        if !interrupted {
            match observe(self.args, None) {
                Ok(now) => *last = now,
                Err(error) => {
                    let why = format!("cannot observe the node again: {error:#}");
                    self.skip_because(step, asked, &Outcome::because(Status::Failed, why.clone()));
                    self.stop(Some(why));
                    return None;
                }
            }
            self.note_restarts(&last.report);
        }
        if interrupted || self.interrupts.count() > 0 {
            self.skip(step, asked, Status::Interrupted);
            self.stop(Some("interrupted".to_owned()));
            return None;
        }
        let still = fix::still(&last.report, step);
        let kept = still.as_ref().map_or(&[][..], |still| &still.actions);
        let resolved = Step {
            actions: step
                .actions
                .iter()
                .filter(|it| !kept.contains(it))
                .cloned()
                .collect(),
            ..step.clone()
        };
        let why = "a second check no longer asks for it";
        self.skip_because(&resolved, asked, &Outcome::because(Status::NotNeeded, why));
        still
    }
}
