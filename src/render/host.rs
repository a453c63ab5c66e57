//! The host in one line, for people: its kernel, its software, how many processes were seen.

use crate::node::Host;

/// Returns the line.
pub(super) fn line(host: &Host) -> String {
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
