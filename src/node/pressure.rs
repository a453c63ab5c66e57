//! What the machine is short of: memory, tasks, open files, and time (pressure stall information).

use super::parse::field;
use std::time::Duration;

/// The machine's pressures; what its kernel does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pressure {
    pub cpu: Option<Stall>,
    pub io: Option<Stall>,
    pub memory: Option<Stall>,
    pub load: Option<f64>,
    pub tasks: Option<u64>,
    pub tasks_limit: Option<u64>,
    pub memory_total: Option<u64>,
    /// Memory that could be used without swapping, in bytes.
    pub memory_available: Option<u64>,
    /// Processes killed for lack of memory since boot, those over a container's own limit included.
    pub oom_kills: Option<u64>,
    pub daemons: Vec<DaemonLimits>,
}

/// Pressure stall information (Documentation/accounting/psi.rst): shares of the last ten seconds, in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    pub some: f64,
    /// All tasks that had something to do waited; not told for processors by old kernels.
    pub full: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaemonLimits {
    pub pid: u32,
    pub tasks: Option<u64>,
    /// How many there may be; `None` for no limit.
    pub tasks_limit: Option<u64>,
    pub files: Option<u64>,
    pub files_limit: Option<u64>,
}

pub fn stall(text: &str) -> Option<Stall> {
    let average = |kind: &str| -> Option<f64> {
        let mut words = field(text, kind)?.split_ascii_whitespace();
        let share = words.find_map(|word| word.strip_prefix("avg10="));
        share?.parse().ok()
    };
    Some(Stall {
        some: average("some ")?,
        full: average("full "),
    })
}

/// The load average and the number of tasks, from `/proc/loadavg`: `12.33 10.29 8.62 11/404 22448`.
pub fn loadavg(text: &str) -> (Option<f64>, Option<u64>) {
    let mut words = text.split_ascii_whitespace();
    let load = words.next().and_then(|word| word.parse().ok());
    let tasks = words
        .nth(2)
        .and_then(|word| word.split_once('/')?.1.parse().ok());
    (load, tasks)
}

pub fn meminfo(text: &str, name: &str) -> Option<u64> {
    let value = field(text, &format!("{name}:"))?;
    let kilobytes: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

pub fn vmstat(text: &str, name: &str) -> Option<u64> {
    field(text, &format!("{name} "))?.parse().ok()
}

/// A file with a number alone in it; `max` is none.
pub fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// The soft limit of open files, from `/proc/PID/limits`.
pub fn open_files(text: &str) -> Option<u64> {
    let limits = field(text, "Max open files")?;
    limits.split_ascii_whitespace().next()?.parse().ok()
}

/// The folder of a task's `pids` controller, below the cgroups' mount, from its `cgroup`: `pids/PATH` of version 1,
/// else version 2's path.
pub fn pids_folder(text: &str) -> Option<String> {
    let find = |wanted: fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let controllers = fields.nth(1)?;
            let path = fields.next()?;
            // A path that leads out of the cgroups leads nowhere.
            let safe = path.starts_with('/') && !path.split('/').any(|part| part == "..");
            (wanted(controllers) && safe).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let first = find(|controllers| controllers.split(',').any(|name| name == "pids"));
    first
        .map(|path| format!("pids/{path}"))
        .or_else(|| find(str::is_empty))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLine {
    pub kind: KernelKind,
    pub ago: Option<Duration>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelKind {
    /// A task has been in uninterruptible sleep for minutes (kernel/hung_task.c).
    HungTask,
    /// A file system's server does not respond (net/sunrpc, fs/smb/client).
    SilentServer,
    /// The machine ran out of memory (mm/oom_kill.c).
    OutOfMemory,
    ContainerLimit,
    /// A network device can't be removed (net/core/dev.c).
    NetDevice,
    /// A disk failed to read or write (block/blk-core.c).
    DiskError,
}

const KINDS: &[(&str, KernelKind)] = &[
    ("blocked for more than", KernelKind::HungTask),
    ("not responding", KernelKind::SilentServer),
    ("has not responded in", KernelKind::SilentServer),
    ("Memory cgroup out of memory", KernelKind::ContainerLimit),
    ("Out of memory:", KernelKind::OutOfMemory),
    ("unregister_netdevice: waiting for", KernelKind::NetDevice),
    ("I/O error", KernelKind::DiskError),
];

pub(crate) fn kernel_words(text: &str) -> Option<KernelKind> {
    let (_, kind) = KINDS.iter().find(|(words, _)| text.contains(words))?;
    Some(*kind)
}

/// The server that answers again, by the kernel's words (net/sunrpc/clnt.c): `nfs: server 10.0.0.5 OK`.
pub(crate) fn answering(text: &str) -> Option<&str> {
    let (_, server) = text.lines().next()?.split_once(": server ")?;
    server.strip_suffix(" OK")
}

/// How much later than the uptime a line may be that came while the rest was read.
const MEANWHILE: Duration = Duration::from_secs(5);

/// What matters of a record of `/dev/kmsg` (`6,339,5140900,-;TEXT`), read `uptime` after boot. A stamp that is later
/// than that is of another boot, or clock, and dates nothing.
pub fn kernel_line(record: &str, uptime: Option<Duration>) -> Option<KernelLine> {
    let (head, text) = record.split_once(';')?;
    let mut fields = head.split(',');
    // The low three bits of the first are the severity, the rest who speaks: 0 is the kernel.
    let who = fields.next()?.parse::<u32>().ok()? >> 3;
    let stamp = Duration::from_micros(fields.nth(1)?.parse().ok()?);
    let text = text.lines().next()?;
    let kind = kernel_words(text)?;
    (who == 0).then(|| KernelLine {
        kind,
        ago: uptime
            .filter(|&uptime| stamp <= uptime.saturating_add(MEANWHILE))
            .map(|uptime| uptime.saturating_sub(stamp)),
        text: text.chars().take(200).collect(),
    })
}

/// The server that answers again, if a record of `/dev/kmsg` tells of one (net/sunrpc/clnt.c): what the kernel said of
/// its silence before is over.
pub fn answers(record: &str) -> Option<&str> {
    let (head, text) = record.split_once(';')?;
    let who = head.split(',').next()?.parse::<u32>().ok()? >> 3;
    answering(text).filter(|_| who == 0)
}

impl KernelLine {
    pub fn is_silence_of(&self, server: &str) -> bool {
        let named = self.text.split_once(": server ");
        let rest = named.and_then(|(_, rest)| rest.strip_prefix(server));
        self.kind == KernelKind::SilentServer && rest.is_some_and(|rest| rest.starts_with(' '))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressures_are_read_as_kernels_write_them() {
        let text = "some avg10=92.14 avg60=92.97 avg300=83.55 total=3003580128\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(
            stall(text),
            Some(Stall {
                some: 92.14,
                full: Some(0.5)
            })
        );
        let old = "some avg10=1.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(
            stall(old),
            Some(Stall {
                some: 1.0,
                full: None
            })
        );
        assert_eq!(stall(""), None);
        assert_eq!(
            loadavg("12.33 10.29 8.62 11/404 22448\n"),
            (Some(12.33), Some(404))
        );
        assert_eq!(loadavg("x"), (None, None));
        let memory = "MemTotal:       24683652 kB\nMemAvailable:   21654600 kB\n";
        assert_eq!(meminfo(memory, "MemAvailable"), Some(21_654_600 * 1024));
        assert_eq!(meminfo(memory, "Mem"), None);
        assert_eq!(
            vmstat("oom_kill 3\noom_kill_disable 9\n", "oom_kill"),
            Some(3)
        );
        assert_eq!((number("max\n"), number("512\n")), (None, Some(512)));
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            20000                524288               files     \n";
        assert_eq!(open_files(limits), Some(20000));
    }

    #[test]
    fn the_task_limit_is_found_in_both_versions_of_cgroups() {
        let one = "9:name=systemd:/\n8:pids:/system.slice/docker.service\n0::/\n";
        assert_eq!(
            pids_folder(one).as_deref(),
            Some("pids/system.slice/docker.service")
        );
        let two = "0::/system.slice/docker.service\n";
        assert_eq!(
            pids_folder(two).as_deref(),
            Some("system.slice/docker.service")
        );
        assert_eq!(pids_folder("8:pids:/../../etc\n"), None);
    }

    #[test]
    fn words_from_after_the_uptime_or_without_one_have_no_age() {
        let ago = |uptime: Option<u64>| {
            let record = "3,339,940000000,-;Out of memory: Killed process 4711 (java)";
            kernel_line(record, uptime.map(Duration::from_secs))
                .unwrap()
                .ago
        };
        assert_eq!(ago(Some(1000)), Some(Duration::from_secs(60)));
        assert_eq!(ago(Some(935)), Some(Duration::ZERO));
        assert_eq!(ago(Some(934)), None);
        assert_eq!(ago(None), None);
    }

    #[test]
    fn a_servers_silence_ends_with_its_next_answer_and_no_others() {
        let silent = "4,1,5,-;nfs: server nas1 not responding, still trying";
        let silent = kernel_line(silent, None).unwrap();
        for (record, over) in [
            ("4,2,9,-;nfs: server nas1 OK\n SUBSYSTEM=x\n", true),
            ("4,2,9,-;nfs: server nas OK", false),
            ("4,2,9,-;nfs: server nas12 OK", false),
            ("4,2,9,-;nfs: server nas1 not responding, timed out", false),
            // A program's words.
            ("12,2,9,-;nfs: server nas1 OK", false),
            ("", false),
        ] {
            let ends = answers(record).is_some_and(|server| silent.is_silence_of(server));
            assert_eq!(ends, over, "{record}");
        }
    }

    #[test]
    fn the_kernels_words_are_dated_and_sorted() {
        let up = Some(Duration::from_secs(1000));
        for (text, kind) in [
            (
                "INFO: task dockerd:4698 blocked for more than 120 seconds.",
                KernelKind::HungTask,
            ),
            (
                "nfs: server 10.0.0.5 not responding, still trying",
                KernelKind::SilentServer,
            ),
            (
                "Out of memory: Killed process 4711 (java) total-vm:9kB",
                KernelKind::OutOfMemory,
            ),
            (
                "Memory cgroup out of memory: Killed process 4711 (java)",
                KernelKind::ContainerLimit,
            ),
            (
                "unregister_netdevice: waiting for lo to become free. Usage count = 1",
                KernelKind::NetDevice,
            ),
            (
                "blk_update_request: I/O error, dev sda, sector 1",
                KernelKind::DiskError,
            ),
        ] {
            let line =
                kernel_line(&format!("3,339,940000000,-;{text}\n SUBSYSTEM=x\n"), up).unwrap();
            assert_eq!(
                (line.kind, line.ago),
                (kind, Some(Duration::from_secs(60))),
                "{text}"
            );
            // The same words from a program are only its words.
            assert_eq!(kernel_line(&format!("12,339,940000000,-;{text}"), up), None);
        }
        assert_eq!(kernel_line("6,1,5,-;usb 1-1: new device", up), None);
        assert_eq!(kernel_line("nonsense", up), None);
    }
}
