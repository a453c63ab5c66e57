//! All processes of the machine, briefly: what each one's `stat` says, and whether all of them are seen.

use crate::io::deadline;
use crate::io::deadline::Ended;
use crate::io::files::Tree;
use crate::node::parse;
use crate::node::parse::Stat;
use std::collections::BTreeMap;
use std::io;
use std::io::ErrorKind;
use std::time::Instant;

const MAX_PROCESSES: usize = 32 << 10;

#[derive(Default)]
pub(super) struct ProcScan {
    pub(super) stats: BTreeMap<u32, Stat>,
    pub(super) hidden: usize,
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

pub(super) enum Entry {
    Stat(Stat),
    Hidden,
    Failed(String),
}

pub(super) fn scan(tree: &Tree, until: Instant) -> ProcScan {
    let tree = tree.clone();
    let mut scan = ProcScan::default();
    let ended = deadline::read_until_deadline(
        until,
        move |to| {
            let pids = match tree.numbers("proc") {
                Ok(pids) => pids,
                Err(error) => {
                    let folder = tree.path("proc");
                    drop(to.send(Entry::Failed(format!("{}: {error}", folder.display()))));
                    return;
                }
            };
            for pid in pids.into_iter().take(MAX_PROCESSES) {
                let entry = match tree.text(&format!("proc/{pid}/stat")) {
                    Ok(text) => parse::stat(&text).map(Entry::Stat),
                    Err(error) => entry_of(&error),
                };
                if let Some(entry) = entry
                    && to.send(entry).is_err()
                {
                    return;
                }
            }
        },
        &mut |entry| {
            match entry {
                Entry::Stat(stat) => drop(scan.stats.insert(stat.pid, stat)),
                Entry::Hidden => scan.hidden += 1,
                Entry::Failed(why) => scan.complaint = Some(why),
            }
            scan.stats.len() < MAX_PROCESSES
        },
    );
    let late = match ended {
        Ok(Ended::Whole) => None,
        Ok(Ended::Late) => Some("not all could be read in time".to_owned()),
        Ok(Ended::Enough) => Some(format!("there are more than {MAX_PROCESSES}")),
        Err(error) => Some(error.to_string()),
    };
    scan.complaint = scan.complaint.or(late);
    scan
}

/// What an error with a process's `stat` tells: one that has ended meanwhile is none, one that may not be looked at is
/// hidden (`hidepid=1`, `proc(5)`).
pub(super) fn entry_of(error: &io::Error) -> Option<Entry> {
    (error.kind() == ErrorKind::PermissionDenied).then_some(Entry::Hidden)
}

/// Why only some of the machine's processes are seen, if so. Every machine's second process is `kthreadd`, a thread of
/// the kernel (init/main.c); where it is missing, a pid namespace or `hidepid=2` hides the machine.
pub(super) fn hidden_reason(scan: &ProcScan) -> Option<String> {
    let kthreadd = scan.stats.get(&2).is_some_and(|stat| stat.kernel);
    match scan.hidden {
        0 if kthreadd => None,
        0 => Some("only processes of this PID namespace are visible, not the node's (run as root on the host, or in a pod with hostPID)".to_owned()),
        1 => Some("1 process of another user is hidden (visible to root)".to_owned()),
        hidden => Some(format!("{hidden} processes of other users are hidden (visible to root)")),
    }
}
