//! Who holds the lock of iptables: the kernel tells who holds which lock, and runs of iptables take but one.

use crate::io::files::Tree;
use crate::node::locks::flocks;
use crate::node::parse::Stat;
use crate::node::{FileLock, parse};

/// Most locks that are kept; there is one where all that run share a network namespace.
const MAX_LOCKS: usize = 16;
const MAX_WAITERS: usize = 64;

/// The locks that these processes hold or wait for; `None` if the kernel does not show it.
pub(super) fn scan(tree: &Tree, pids: &[u32]) -> Option<Vec<FileLock>> {
    let mut locks = flocks(&tree.text("proc/locks").ok()?);
    locks.retain(|lock| {
        pids.contains(&lock.holder) || lock.waiters.iter().any(|it| pids.contains(it))
    });
    locks.truncate(MAX_LOCKS);
    for lock in &mut locks {
        lock.waiters.truncate(MAX_WAITERS);
        let stat = tree.text(&format!("proc/{}/stat", lock.holder)).ok();
        let stat = stat.as_deref().and_then(parse::stat);
        lock.comm = stat.map(|Stat { comm, .. }| comm);
    }
    Some(locks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FlockOperation, flock};
    use std::path::Path;

    #[test]
    fn the_kernel_shows_whoever_holds_a_lock_by_number_and_name() {
        let file = tempfile::tempfile().unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        let own = std::process::id();
        let live = Tree::at(Path::new("/"));
        let locks = scan(&live, &[own]).unwrap();
        let held = locks.iter().find(|lock| lock.holder == own).unwrap();
        let comm = std::fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(held.comm.as_deref(), Some(comm.trim_end()));
        // Those of others are left out.
        assert_eq!(scan(&live, &[]), Some(Vec::new()));
    }

    #[test]
    fn a_machine_that_does_not_tell_is_not_one_without_locks() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(scan(&Tree::at(empty.path()), &[7]), None);
    }
}
