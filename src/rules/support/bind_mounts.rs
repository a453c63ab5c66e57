//! Which file system with a server behind it a container that does not answer waits for: what of the host is mounted in
//! it stands in Docker's files, and the machine's mounts tell whose that is. Paths are compared, nothing is looked up.

use super::{subject, wording::display_name};
use crate::evidence::Evidence;
use crate::node::{Mount, mount};
use crate::runtime::Container;
use crate::runtime::stacks::Wait;
use std::collections::BTreeSet;

/// A folder of a remote file system that is mounted in a container.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share<'a> {
    /// Whose.
    pub(crate) container: &'a Container,
    /// The folder, as the host calls it.
    pub(crate) bind: &'a str,
    /// The file system.
    pub(crate) mount: &'a Mount,
}

/// Returns the shares of a container.
pub(crate) fn of<'a>(evidence: &'a Evidence, container: &'a Container) -> Vec<Share<'a>> {
    let remote = evidence.host.as_ref().map(|host| host.remote.as_slice());
    let binds = container.disk.iter().flat_map(|stored| &stored.binds);
    binds
        .filter_map(|bind| {
            Some(Share {
                container,
                bind,
                mount: mount::holding(remote?, bind)?,
            })
        })
        .collect()
}

/// Whether the daemon's own stacks show a start that waits for the source of a bind mount.
pub(crate) fn is_waited_for_by_a_start(evidence: &Evidence) -> bool {
    let pending = evidence
        .runtime
        .as_ref()
        .and_then(|it| it.docker().stacks.as_ref());
    let mut calls = pending.iter().flat_map(|pending| &pending.stacks.calls);
    calls.any(|call| matches!(call.waits, Wait::FileSystem { bind: true, .. }))
}

/// Returns "container b15929dfcea1 of pod default/web-2 has /mnt/x of the host mounted, which is on nfs4 from
/// 10.0.0.5:/export".
pub(crate) fn told(shares: &[Share<'_>]) -> String {
    let told: BTreeSet<String> = shares
        .iter()
        .map(|share| {
            let Share {
                container,
                bind,
                mount,
            } = share;
            let who = display_name(&subject::container(container));
            let who = who.replacen("Container", "container", 1);
            let who = who.replacen("Sandbox", "sandbox", 1);
            let (kind, source) = (&mount.fs_type, &mount.source);
            format!("{who} has {bind} of the host mounted, which is on {kind} from {source}")
        })
        .collect();
    told.into_iter().collect::<Vec<_>>().join("; ")
}
