//! The machine's pressures and its kernel's words.

use crate::io::files::Tree;
use crate::node::pressure::{self, DaemonLimits, KernelLine, Pressure, answers, kernel_line};
use std::{collections::VecDeque, io, time::Duration};

const LINES: usize = 50;
const FILES: usize = 1 << 20;

pub(super) fn scan(tree: &Tree, daemons: &[(u32, Option<String>)]) -> Pressure {
    let text = |name: &str| tree.text(&format!("proc/{name}")).unwrap_or_default();
    let (load, tasks) = pressure::loadavg(&text("loadavg"));
    let limits = ["sys/kernel/pid_max", "sys/kernel/threads-max"];
    let memory = text("meminfo");
    Pressure {
        cpu: pressure::stall(&text("pressure/cpu")),
        io: pressure::stall(&text("pressure/io")),
        memory: pressure::stall(&text("pressure/memory")),
        load,
        tasks,
        tasks_limit: limits
            .iter()
            .filter_map(|name| pressure::number(&text(name)))
            .min(),
        memory_total: pressure::meminfo(&memory, "MemTotal"),
        memory_available: pressure::meminfo(&memory, "MemAvailable"),
        oom_kills: pressure::vmstat(&text("vmstat"), "oom_kill"),
        daemons: daemons
            .iter()
            .map(|(pid, cgroup)| limits_of(tree, *pid, cgroup.as_deref()))
            .collect(),
    }
}

fn limits_of(tree: &Tree, pid: u32, cgroup: Option<&str>) -> DaemonLimits {
    let text = |name: &str| tree.text(&format!("proc/{pid}/{name}")).ok();
    let folder = cgroup.and_then(pressure::pids_folder);
    let pids = |name: &str| {
        let folder = folder.as_ref()?;
        let text = tree.text(&format!("sys/fs/cgroup/{folder}/{name}")).ok()?;
        pressure::number(&text)
    };
    DaemonLimits {
        pid,
        tasks: pids("pids.current"),
        tasks_limit: pids("pids.max"),
        files: tree.count(&format!("proc/{pid}/fd"), FILES).ok(),
        files_limit: text("limits").as_deref().and_then(pressure::open_files),
    }
}

pub(super) fn kernel_lines(tree: &Tree, uptime: Option<Duration>) -> io::Result<Vec<KernelLine>> {
    let mut lines = VecDeque::new();
    tree.records("dev/kmsg", &mut |record| {
        if let Some(server) = answers(record) {
            lines.retain(|line: &KernelLine| !line.is_silence_of(server));
        }
        if let Some(line) = kernel_line(record, uptime) {
            if lines.len() == LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    })?;
    Ok(lines.into())
}
