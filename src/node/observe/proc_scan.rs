//! All processes of the machine, briefly: what each one's `stat` says, and whether all of them are seen.

use crate::io::files::Tree;
use crate::{
    io::deadline::{self, Ended},
    node::parse::{self, Stat},
};
use std::{
    collections::BTreeMap,
    io::{self, ErrorKind},
    time::Instant,
};

const PROCESSES: usize = 32 << 10;

/// What the walk through all processes yields.
#[derive(Default)]
pub(super) struct ProcScan {
    pub(super) stats: BTreeMap<u32, Stat>,
    /// Processes that are listed and may not be looked at.
    pub(super) hidden: usize,
    /// Why that may not be all.
    pub(super) complaint: Option<String>,
}

impl ProcScan {
    /// Whether all of the machine's processes were seen. Every machine's second process is `kthreadd`, a thread of the
    /// kernel (init/main.c); a recording of a few processes, and a pid namespace, have none.
    pub(super) fn is_whole(&self) -> bool {
        let kthreadd = self.stats.get(&2).is_some_and(|stat| stat.kernel);
        kthreadd && self.hidden == 0 && self.complaint.is_none()
    }
}

pub(super) enum Told {
    Stat(Stat),
    Hidden,
    Failed(String),
}

/// Every process's `stat`.
pub(super) fn walk(tree: &Tree, until: Instant) -> ProcScan {
    let tree = tree.clone();
    let mut walk = ProcScan::default();
    let ended = deadline::pump(
        until,
        move |to| {
            let pids = match tree.numbers("proc") {
                Ok(pids) => pids,
                Err(error) => {
                    let folder = tree.path("proc");
                    drop(to.send(Told::Failed(format!("{}: {error}", folder.display()))));
                    return;
                }
            };
            for pid in pids.into_iter().take(PROCESSES) {
                let told = match tree.text(&format!("proc/{pid}/stat")) {
                    Ok(text) => parse::stat(&text).map(Told::Stat),
                    Err(error) => told_by(&error),
                };
                if let Some(told) = told
                    && to.send(told).is_err()
                {
                    return;
                }
            }
        },
        &mut |told| {
            match told {
                Told::Stat(stat) => drop(walk.stats.insert(stat.pid, stat)),
                Told::Hidden => walk.hidden += 1,
                Told::Failed(why) => walk.complaint = Some(why),
            }
            walk.stats.len() < PROCESSES
        },
    );
    let late = match ended {
        Ok(Ended::Whole) => None,
        Ok(Ended::Late) => Some("not all could be read in time".to_owned()),
        Ok(Ended::Enough) => Some(format!("there are more than {PROCESSES}")),
        Err(error) => Some(error.to_string()),
    };
    walk.complaint = walk.complaint.or(late);
    walk
}

/// What an error with a process's `stat` tells: one that has ended meanwhile is none, one that may not be looked at is
/// hidden (`hidepid=1`, `proc(5)`).
pub(super) fn told_by(error: &io::Error) -> Option<Told> {
    (error.kind() == ErrorKind::PermissionDenied).then_some(Told::Hidden)
}

/// Why only some of the machine's processes are seen, if so. Every machine's second process is `kthreadd`, a thread of
/// the kernel (init/main.c); where it is missing, a pid namespace or `hidepid=2` hides the machine.
pub(super) fn blind(walk: &ProcScan) -> Option<String> {
    let kthreadd = walk.stats.get(&2).is_some_and(|stat| stat.kernel);
    match walk.hidden {
        0 if kthreadd => None,
        0 => Some("only this place's own processes are seen, not the machine's (root sees them on the host, a pod with hostPID)".to_owned()),
        1 => Some("1 process of another user is hidden (root sees it)".to_owned()),
        hidden => Some(format!("{hidden} processes of other users are hidden (root sees them)")),
    }
}
