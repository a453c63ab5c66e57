//! What was looked at besides the log, an item each: for people.

use super::kubelet;
use crate::io::probe::Outcome;
use crate::node::Host;
use crate::report::Report;
use crate::rules;
use crate::runtime::{Call, Runtime};

pub(super) fn items(report: &Report) -> Vec<String> {
    let mut items = Vec::new();
    if let Some(runtime) = &report.runtime {
        items.push(docker(runtime));
        items.extend(files(runtime));
    }
    items.extend(report.host.as_ref().map(host));
    items.extend(report.kubelet.iter().flat_map(kubelet::items));
    items
}

fn docker(runtime: &Runtime) -> String {
    let version = runtime
        .versions
        .daemon
        .as_deref()
        .unwrap_or("(unknown version)");
    let listed = match runtime.probe(Call::List).outcome {
        Outcome::Answered => rules::count(runtime.told().count(), "container"),
        _ => "list failed".to_owned(),
    };
    format!("Docker {version} at {} ({listed})", runtime.endpoint)
}

fn files(runtime: &Runtime) -> Option<String> {
    let disk = runtime.docker().disk.as_ref()?;
    let containers = rules::count(disk.containers, "container");
    let which = if disk.whole {
        ""
    } else {
        " that did not respond"
    };
    let root = &disk.root;
    Some(format!(
        "Docker's files in {root}: {containers}{which}; may be stale"
    ))
}

fn host(host: &Host) -> String {
    let kernel = host.kernel.as_deref().unwrap_or("(unknown release)");
    let (which, seen) = (host.display_name(), processes(host.seen));
    let tools = host.versions.iter();
    let tools: String = tools
        .map(|(tool, version)| format!("{} {version}, ", tool.name()))
        .collect();
    format!("{which}: kernel {kernel}, {tools}{seen}")
}

fn processes(number: usize) -> String {
    match number {
        1 => "1 process".to_owned(),
        _ => format!("{number} processes"),
    }
}
