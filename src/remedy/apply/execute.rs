//! Single actions of `diagnose --fix`: each looked at again right before, recorded before and after, and proved.

use super::{
    Audit, Clock, Interrupts,
    audit::Entry,
    daemon, mount, process,
    unit::{self, SYSTEMCTL},
};
use crate::{
    finding::{
        action::Action,
        outcome::{Ending, Fate},
    },
    io::files::Tree,
    node::{DEFAULT_ROOT, Host, observe},
    runtime::docker::{Docker, OpenCall},
    syntax::id::ContainerId,
};
use std::{cell::RefCell, collections::BTreeMap, path::Path, time::Duration};

pub struct Executor<'a> {
    pub docker: &'a Docker,
    pub endpoint: &'a str,
    /// For how long an inspect must stay unanswered before a process is ended.
    pub confirm_after: Duration,
    pub audit: &'a Audit,
    pub clock: Clock,
    pub interrupts: &'a Interrupts,
    pub tell: &'a dyn Fn(&str),
    /// Looks at this machine's processes as they are now: `machine`.
    pub look: &'a dyn Fn() -> Host,
    pub open: RefCell<BTreeMap<ContainerId, OpenCall>>,
}

pub struct Done {
    pub ending: Ending,
    /// Why nothing more must be done, if so.
    pub stop: Option<String>,
}

impl Executor<'_> {
    /// Carries out an action. A container's removal is none of these: those are planned together.
    pub fn act(&self, action: &Action) -> Done {
        let mut recorded = None;
        let mut intent = || {
            let written = self.audit.record(Entry::intent(action));
            recorded = Some(written.is_ok());
            written.map_err(|error| format!("not done: {error:#}"))
        };
        let ending = match action {
            Action::RemoveContainer { .. } => {
                Ending::because(Fate::Failed, "removals are planned together")
            }
            Action::EndProcess(target) => process::end(self, target, &mut intent),
            Action::ContinueDaemon {
                pid,
                start_ticks,
                name,
            } => daemon::go_on(self, (*pid, *start_ticks, name), &mut intent),
            Action::DetachMount {
                path,
                mount,
                namespace,
                pid,
                start_ticks,
            } => {
                let place = mount::Place {
                    path,
                    mount: *mount,
                    namespace: *namespace,
                    pid: *pid,
                    start_ticks: *start_ticks,
                };
                mount::detach(self, &place, &mut intent)
            }
            Action::ReexecSystemd => unit::reexec(self, SYSTEMCTL, &mut intent),
            Action::RestartUnit { unit } => unit::restart(self, SYSTEMCTL, *unit, &mut intent),
        };
        let stop = match recorded {
            Some(true) => {
                let written = self.audit.record(Entry::result(action, &ending));
                written
                    .err()
                    .map(|error| format!("the audit is incomplete: {error:#}"))
            }
            Some(false) => Some("the audit can't be written".to_owned()),
            None => None,
        };
        Done { ending, stop }
    }

    /// Sends the inspects that these actions will need, so that several are waited for at the same time. One that can't
    /// be sent now is sent, or complained of, when its turn comes.
    pub fn open_inspects(&self, actions: &[Action]) {
        let ends: Vec<_> = actions
            .iter()
            .filter_map(|action| match action {
                Action::EndProcess(target) => Some(&target.container),
                _ => None,
            })
            .collect();
        let turns = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        let mut open = self.open.borrow_mut();
        for container in ends {
            if let Ok(call) = process::open(self, container, turns) {
                open.insert(container.clone(), call);
            }
        }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupts.count() > 0
    }
}

/// Writes the intent to the audit; to be called right before the first change. An error says why nothing may be done.
pub(super) type Intent<'a> = &'a mut dyn FnMut() -> Result<(), String>;

pub fn machine() -> Host {
    observe::look(&Tree::at(Path::new(DEFAULT_ROOT)), observe::PATIENCE).0
}
