//! Single actions of `diagnose --fix`: each recorded before and after; each checks again right before that it still
//! fits.

use super::audit::Entry;
use super::unit::SYSTEMCTL;
use super::{Executor, daemon, mount, process, unit};
use crate::finding::action::Action;
use crate::finding::outcome::{Outcome, Status};

pub struct Execution {
    pub outcome: Outcome,
    /// Why nothing more must be done, if so.
    pub stop: Option<String>,
}

impl Executor<'_> {
    /// Carries out an action. A container's removal is none of these: those are planned together.
    pub fn execute(&self, action: &Action) -> Execution {
        let mut recorded = None;
        let mut intent = || {
            let written = self.audit.record(Entry::intent(action));
            recorded = Some(written.is_ok());
            written.map_err(|error| format!("not done: {error:#}"))
        };
        let done = match action {
            Action::RemoveContainer { .. } => Err(Outcome::because(
                Status::Failed,
                "removals are planned together",
            )),
            Action::EndProcess(target) => process::kill(self, target, &mut intent),
            Action::ContinueDaemon {
                pid,
                start_ticks,
                name,
            } => daemon::resume(self, (*pid, *start_ticks, name), &mut intent),
            Action::DetachMount {
                path,
                mount,
                namespace,
                pid,
                start_ticks,
            } => {
                let target = mount::MountTarget {
                    path,
                    mount: *mount,
                    namespace: *namespace,
                    pid: *pid,
                    start_ticks: *start_ticks,
                };
                mount::detach(self, &target, &mut intent)
            }
            Action::ReexecSystemd => unit::reexec(self, SYSTEMCTL, &mut intent),
            Action::RestartUnit { unit } => unit::restart(self, SYSTEMCTL, *unit, &mut intent),
        };
        let outcome = done.unwrap_or_else(|not_done| not_done);
        let stop = match recorded {
            Some(true) => {
                let written = self.audit.record(Entry::result(action, &outcome));
                let incomplete = |error| format!("the audit is incomplete: {error:#}");
                written.err().map(incomplete)
            }
            Some(false) => Some("the audit can't be written".to_owned()),
            None => None,
        };
        Execution { outcome, stop }
    }

    /// Sends the inspects that these actions will need, so that several are waited for at the same time. One that can't
    /// be sent now is sent, or reported, when its turn comes.
    pub fn open_inspects(&self, actions: &[Action]) {
        let containers = actions.iter().filter_map(|action| match action {
            Action::EndProcess(target) => Some(&target.container),
            _ => None,
        });
        let turns = u32::try_from(containers.clone().count()).unwrap_or(u32::MAX);
        let mut open = self.open.borrow_mut();
        for container in containers {
            if let Ok(call) = process::open_inspect(self, container, turns) {
                open.insert(container.clone(), call);
            }
        }
    }
}
