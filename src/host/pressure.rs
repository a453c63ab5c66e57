//! The machine's pressures and its kernel's words.

use super::files;
use crate::node::pressure::{self, DaemonLimits, KernelLine, Pressure, kernel_line};
use rustix::fs::OFlags;
use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::Duration,
};

/// Kernel lines that are kept, the last ones.
const LINES: usize = 50;
/// Most records that are read; the kernel keeps some thousands.
const RECORDS: usize = 200_000;
/// Most open files that are counted.
const FILES: usize = 1 << 20;

/// Returns what the machine is short of, and these daemons of it.
pub(super) fn look(root: &Path, daemons: &[u32]) -> Pressure {
    let proc = root.join("proc");
    let text = |name: &str| files::text(&proc.join(name)).unwrap_or_default();
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
        daemons: daemons.iter().map(|&pid| limits_of(root, pid)).collect(),
    }
}

fn limits_of(root: &Path, pid: u32) -> DaemonLimits {
    let own = root.join("proc").join(pid.to_string());
    let text = |path: &Path| files::text(path).ok();
    let folder = text(&own.join("cgroup"))
        .and_then(|cgroup| pressure::pids_folder(&cgroup))
        .map(|folder| root.join("sys/fs/cgroup").join(folder));
    let pids = |name: &str| pressure::number(&text(&folder.as_ref()?.join(name))?);
    // Only names are listed; none is followed.
    let files = fs::read_dir(own.join("fd")).map(|entries| entries.take(FILES).count());
    DaemonLimits {
        pid,
        tasks: pids("pids.current"),
        tasks_limit: pids("pids.max"),
        files: files.ok().and_then(|files| u64::try_from(files).ok()),
        files_limit: text(&own.join("limits"))
            .as_deref()
            .and_then(pressure::open_files),
    }
}

/// Returns what the kernel said that matters, the last lines.
///
/// # Errors
/// Its log can't be opened.
pub(super) fn kernel_lines(root: &Path, uptime: Option<Duration>) -> io::Result<Vec<KernelLine>> {
    let mut lines = VecDeque::new();
    let mut keep = |record: &str| {
        if let Some(line) = kernel_line(record, uptime) {
            if lines.len() == LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    };
    // Without this flag a read at the end would wait for the kernel's next word.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut log = File::options()
        .read(true)
        .custom_flags(flags)
        .open(root.join("dev/kmsg"))?;
    if log.metadata()?.is_file() {
        let mut text = String::new();
        log.take(1 << 20).read_to_string(&mut text)?;
        text.lines().for_each(&mut keep);
        return Ok(lines.into());
    }
    let mut record = [0; 8192];
    for _ in 0..RECORDS {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => keep(&String::from_utf8_lossy(&record[..length])),
            // Overwritten while we read (EPIPE), or too long a record (EINVAL): the next one.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::BrokenPipe
                        | io::ErrorKind::InvalidInput
                        | io::ErrorKind::Interrupted
                ) => {}
            // The end.
            Err(_) => break,
        }
    }
    Ok(lines.into())
}
