//! What was looked at, for people: an item for Docker, its files, and the host.

use crate::{
    node::Host,
    rules::count,
    runtime::{Outcome, Runtime, stored::Disk},
};

/// Returns the item for Docker.
pub(super) fn docker(runtime: &Runtime) -> String {
    let version = runtime.version.as_deref().unwrap_or("(version not told)");
    let listed = match runtime.list.outcome {
        Outcome::Answered => count(runtime.told().count(), "container"),
        _ => "no list".to_owned(),
    };
    format!("Docker {version} at {} ({listed})", runtime.endpoint)
}

/// Returns the item for what Docker wrote of its containers.
pub(super) fn files(disk: &Disk) -> String {
    let containers = count(disk.containers, "container");
    let which = match disk.whole {
        true => "",
        false => " that did not answer",
    };
    format!(
        "Docker's files in {}: {containers}{which}, as Docker last wrote it (may be stale)",
        disk.root
    )
}

/// Returns the item for the host: its kernel, its software, how many processes were seen.
pub(super) fn host(host: &Host) -> String {
    let kernel = host.kernel.as_deref().unwrap_or("(release not told)");
    let tools = host.versions.iter();
    let tools: String = tools
        .map(|(tool, version)| format!("{} {version}, ", tool.name()))
        .collect();
    let seen = match host.seen {
        1 => "1 process".to_owned(),
        seen => format!("{seen} processes"),
    };
    format!("{}: kernel {kernel}, {tools}{seen}", host.called())
}
