//! The node's kernel side, as values: the processes and threads that matter, mounts, and what they wait for.
//!
//! `observe` looks; nothing here does. `parse` reads the kernel's files, `role` tells what a process is to a
//! container runtime.

pub mod component;
pub mod disk;
pub mod leftover_layers;
pub mod locks;
pub mod mount;
pub mod mount_holder;
pub mod observe;
pub mod parse;
pub mod pressure;
pub mod redact_args;
pub mod role;
pub mod settings;
pub mod systemd;
pub mod version;

use crate::syntax::id::{ContainerId, PodUid};
use crate::syntax::json::json_words;
use std::{collections::BTreeSet, time::Duration};

pub use component::{Component, Versions};
pub use disk::Disk;
pub use leftover_layers::LeftoverLayer;
pub use locks::FileLock;
pub use mount::Mount;
pub use mount_holder::Namespace;
pub use pressure::{KernelKind, KernelLine, Pressure};
pub use role::{OciCommand, Role};
pub use settings::Settings;
pub use systemd::{Bus, Systemd};
pub use version::Version;

/// Where Docker listens unless told otherwise.
pub const DEFAULT_ENDPOINT: &str = "unix:///var/run/docker.sock";

/// Where the kernel's files are, unless told otherwise.
pub const DEFAULT_ROOT: &str = "/";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Whose: `/`, or what was named.
    pub root: String,
    pub kernel: Option<String>,
    pub versions: Versions,
    /// The kubelet's settings that matter; `None` if there is no kubelet, or not one alone.
    pub kubelet_settings: Option<Settings>,
    /// What was heard of systemd; `None` if it was not asked, or is not what runs.
    pub systemd: Option<Systemd>,
    pub seen: usize,
    /// Why only some of the machine's processes are seen, if so.
    pub blind: Option<String>,
    /// Whether all of the machine's processes were seen: only then is one that was not seen not there.
    pub whole: bool,
    pub living: BTreeSet<u32>,
    /// The processes that matter: daemons, shims, OCI runtimes, plugins, and all that sleep uninterruptibly.
    pub processes: Vec<Process>,
    /// The locks of files that runs of iptables hold or wait for; `None` if nobody asked, or the kernel does not tell.
    pub locks: Option<Vec<FileLock>>,
    pub remote: Vec<Mount>,
    pub namespaces: Vec<Namespace>,
    pub remains: Vec<LeftoverLayer>,
    pub pressure: Pressure,
    /// Its disks that did something while it was looked at, or hold the runtime's data.
    pub disks: Vec<Disk>,
    pub kernel_lines: Vec<KernelLine>,
    /// Whether its kernel's messages could not be read: then none seen says nothing.
    pub kernel_messages_unread: bool,
}

/// What a task is doing (`proc_pid_stat(5)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// `R`
    Running,
    /// `S`, and `I` of kernel threads
    Sleeping,
    /// `D`: in the kernel, and no signal but perhaps KILL wakes it
    Uninterruptible,
    /// `T`: stopped by a signal
    Stopped,
    /// `t`: stopped by who traces it
    Traced,
    /// `Z`, `X`: dead
    Dead,
}

impl State {
    pub fn from_letter(letter: char) -> Option<Self> {
        Some(match letter {
            'R' => Self::Running,
            'S' | 'I' | 'P' | 'K' | 'W' => Self::Sleeping,
            'D' => Self::Uninterruptible,
            'T' => Self::Stopped,
            't' => Self::Traced,
            'Z' | 'X' | 'x' => Self::Dead,
            _ => return None,
        })
    }

    pub fn is_stopped(self) -> bool {
        matches!(self, Self::Stopped | Self::Traced)
    }
}

json_words!(State, letter {
    Running => "R", Sleeping => "S", Uninterruptible => "D", Stopped => "T", Traced => "t", Dead => "Z",
});

#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    pub pid: u32,
    pub ppid: u32,
    /// Its name, of 15 bytes at most.
    pub comm: String,
    pub role: Role,
    pub state: State,
    /// When it was started, in the kernel's ticks since boot: with the pid it names the process for good.
    pub start_ticks: u64,
    pub age: Option<Duration>,
    /// How many living children it has, also those that it adopted; `None` if not all processes were seen.
    pub children: Option<usize>,
    pub wchan: Option<String>,
    /// Its kernel stack, the innermost function first; empty if it may not be read.
    pub stack: Vec<String>,
    /// For how long it was watched in that one sleep or stop, where it was watched.
    pub still: Option<Duration>,
    /// Its words; `None` if they could not be read in time, or are nobody's business (a workload's).
    pub command: Option<Vec<String>>,
    pub container: Option<ContainerId>,
    pub uid: Option<PodUid>,
    /// Who traces it; 0 for nobody, `None` if that was not asked.
    pub tracer: Option<u32>,
    pub threads: Threads,
}

impl Process {
    pub fn new((pid, ppid): (u32, u32), comm: &str, role: Role, state: State) -> Self {
        Self {
            pid,
            ppid,
            comm: comm.to_owned(),
            role,
            state,
            start_ticks: 0,
            age: None,
            children: None,
            wchan: None,
            stack: Vec::new(),
            still: None,
            command: None,
            container: None,
            uid: None,
            tracer: None,
            threads: Threads::default(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Threads {
    /// How many were seen; 0 if nobody looked.
    pub seen: usize,
    pub stopped: usize,
    pub uninterruptible: usize,
    pub waiting: Vec<Thread>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    pub tid: u32,
    pub state: State,
    pub wchan: Option<String>,
    /// Its kernel stack, the innermost function first; empty if it may not be read.
    pub stack: Vec<String>,
    /// For how long it was watched in that one sleep: a server that answers is waited for some milliseconds.
    pub still: Option<Duration>,
}

/// Functions of the kernel in which one waits for what only a server over a network (or a process, for FUSE) can end.
/// FUSE: `request_wait_answer` (fs/fuse/dev.c); NFS: `rpc_wait_bit_killable` (net/sunrpc/sched.c) and `nfs…`; CIFS:
/// `cifs_…` (fs/smb/client); Ceph: `ceph_…`.
const SERVER_WAITS: &[&str] = &[
    "request_wait_answer",
    "fuse_",
    "rpc_wait",
    "nfs",
    "cifs_",
    "smb2_",
    "ceph_",
];
/// … for any other file system's disk.
const FILE_SYSTEM_WAITS: &[&str] = &[
    "wait_on_page",
    "folio_wait",
    "io_schedule",
    "wait_on_buffer",
    "bit_wait_io",
    "jbd2_",
    "xfs_",
];

/// Functions of the kernel in which one waits for a local disk, or for whom a local disk holds up: its queue (block),
/// its writers (mm/page-writeback.c), a journal (jbd2, xfs), or a page that comes from it. Pages come from servers,
/// too.
const DISK_WAITS: &[&str] = &[
    "io_schedule",
    "bit_wait_io",
    "wait_on_bit_io",
    "wait_on_page",
    "wait_on_buffer",
    "folio_wait",
    "submit_bio_wait",
    "blk_",
    "rq_qos_wait",
    "wbt_wait",
    "wb_wait_for_completion",
    "balance_dirty_pages",
    "jbd2_",
    "wait_transaction_locked",
    "do_get_write_access",
    "ext4_",
    "xfs_",
    "xlog_",
    "btrfs_",
];

/// Whether a task that sleeps there waits for a local disk, and not for a file system's server.
pub fn waits_for_disk(wchan: Option<&str>, stack: &[String]) -> bool {
    let mut functions = wchan.into_iter().chain(stack.iter().map(String::as_str));
    server_wait(wchan, stack).is_none() && functions.any(|function| begins(function, DISK_WAITS))
}
/// A server's side of FUSE: it reads `/dev/fuse` until somebody wants something of it, and that is idleness.
const SERVES: &[&str] = &["fuse_dev_", "fuse_uring_"];

pub fn waits_for_file_system(wchan: &str) -> bool {
    (begins(wchan, FILE_SYSTEM_WAITS) || begins(wchan, SERVER_WAITS)) && !serves(wchan)
}

pub fn waits_for_server(wchan: &str) -> bool {
    begins(wchan, SERVER_WAITS) && !serves(wchan)
}

fn serves(wchan: &str) -> bool {
    begins(wchan, SERVES)
}

/// The function in which a task waits for a file system's server, if it does. Some kernels show a stack where they show
/// no wait channel.
pub fn server_wait<'a>(wchan: Option<&'a str>, stack: &'a [String]) -> Option<&'a str> {
    let mut functions = wchan.into_iter().chain(stack.iter().map(String::as_str));
    // A server that answers runs through functions of the file system, too.
    if functions.clone().any(serves) {
        return None;
    }
    functions.find(|function| waits_for_server(function))
}

fn begins(wchan: &str, names: &[&str]) -> bool {
    let wchan = wchan.trim_start_matches('_');
    names.iter().any(|name| wchan.starts_with(name))
}

impl Host {
    pub fn display_name(&self) -> String {
        match self.root.as_str() {
            DEFAULT_ROOT => "this host".to_owned(),
            root => format!("the host at {root}"),
        }
    }

    pub fn process(&self, pid: u32) -> Option<&Process> {
        self.processes.iter().find(|process| process.pid == pid)
    }

    /// The OCI runtime processes that work on this container, the one to blame first: a command before the `init` that
    /// it made, the innermost before the wrapper that waits for it, then the oldest.
    pub fn oci_processes(&self, id: &ContainerId) -> Vec<&Process> {
        let works_on = |process: &&Process| {
            matches!(process.role, Role::OciRuntime(_))
                && process.state != State::Dead
                && process
                    .container
                    .as_ref()
                    .is_some_and(|own| own.matches(id))
        };
        let mut found: Vec<_> = self.processes.iter().filter(works_on).collect();
        found.sort_by_key(|process| {
            (
                process.role == Role::OciRuntime(OciCommand::Init),
                std::cmp::Reverse(self.depth(process)),
                process.start_ticks,
            )
        });
        found
    }

    fn depth(&self, process: &Process) -> usize {
        let above = |process: &Process| {
            self.process(process.ppid)
                .filter(|parent| matches!(parent.role, Role::OciRuntime(_)))
        };
        // Bounded: a forged tree may be a ring.
        std::iter::successors(above(process), |parent| above(parent))
            .take(8)
            .count()
    }

    /// The dockerd that listens on this endpoint; `None` where several might.
    pub fn dockerd(&self, endpoint: &str) -> Option<&Process> {
        let all = || self.daemons(Role::Dockerd);
        let wanted = socket_below(endpoint, &self.root);
        let by_name = || all().filter(|process| process.sockets().any(|own| own == wanted));
        if by_name().next().is_some() || wanted != socket(DEFAULT_ENDPOINT) {
            return only(by_name());
        }
        // One without a socket of its own listens on the usual one.
        only(all().filter(|process| match &process.command {
            Some(_) => process.sockets().next().is_none(),
            None => all().count() == 1,
        }))
    }

    /// The containerd that this dockerd works with: its child, or the one at the address that it was given; `None`
    /// where several might be.
    pub fn containerd_of(&self, dockerd: &Process) -> Option<&Process> {
        let child = |process: &&Process| process.ppid == dockerd.pid;
        if self.daemons(Role::Containerd).any(|own| child(&own)) {
            return only(self.daemons(Role::Containerd).filter(child));
        }
        let wanted = dockerd.option(&["--containerd"]);
        let wanted = socket(wanted.unwrap_or(CONTAINERD_SOCKET));
        let at = |process: &&Process| process.containerd_socket() == Some(wanted);
        // Its file of settings may name another address than the usual one.
        let unnamed = |process: &&Process| process.option(&["--address", "-a"]).is_none();
        let all = || self.containerds();
        if all().any(|process| at(&process)) {
            return only(all().filter(at));
        }
        only(all().filter(unnamed))
    }

    /// The machine's containerds that no dockerd started: a test daemon's or another's own is no one else's.
    pub fn containerds(&self) -> impl Iterator<Item = &Process> {
        self.daemons(Role::Containerd).filter(|process| {
            self.process(process.ppid)
                .is_none_or(|parent| parent.role != Role::Dockerd)
        })
    }

    /// The machine's daemons of that role; one within a container (Docker in Docker) is a workload.
    pub(crate) fn daemons(&self, role: Role) -> impl Iterator<Item = &Process> {
        self.processes
            .iter()
            .filter(move |process| process.role == role && !process.is_contained())
    }
}

/// Where containerd listens unless told otherwise.
pub const CONTAINERD_SOCKET: &str = "/run/containerd/containerd.sock";

/// The only one; of several nobody knows which is meant.
pub fn only<'a>(mut processes: impl Iterator<Item = &'a Process>) -> Option<&'a Process> {
    let first = processes.next()?;
    processes.next().is_none().then_some(first)
}

/// Whether Docker listens there unless told otherwise, on the machine whose root directory is `root`.
pub fn is_default_endpoint(endpoint: &str, root: &str) -> bool {
    socket_below(endpoint, root) == socket(DEFAULT_ENDPOINT)
}

/// The path of a socket as the machine itself calls it whose root directory is `root`.
fn socket_below<'a>(endpoint: &'a str, root: &str) -> &'a str {
    let path = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
    let below = path.strip_prefix(root.trim_end_matches('/'));
    socket(below.filter(|rest| rest.starts_with('/')).unwrap_or(path))
}

/// The path of a socket, of which `/var/run/…` and `/run/…` are the same.
pub fn socket(endpoint: &str) -> &str {
    let path = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
    path.strip_prefix("/var")
        .filter(|rest| rest.starts_with("/run/"))
        .unwrap_or(path)
}

impl Process {
    pub fn is_contained(&self) -> bool {
        self.container.is_some() || self.uid.is_some()
    }

    /// The value of the first of these options that its words hold: `--containerd X`, `--containerd=X`.
    pub fn option(&self, names: &[&str]) -> Option<&str> {
        let words = self.command.as_deref()?;
        words.iter().enumerate().find_map(|(at, word)| {
            let rest = names.iter().find_map(|name| word.strip_prefix(name))?;
            match rest {
                "" => words.get(at + 1).map(String::as_str),
                rest => rest.strip_prefix('='),
            }
        })
    }

    fn containerd_socket(&self) -> Option<&str> {
        let told = self.option(&["--address", "-a"]);
        let usual = self.command.is_some() && self.option(&["--config", "-c"]).is_none();
        told.map(socket)
            .or(usual.then(|| socket(CONTAINERD_SOCKET)))
    }

    /// The sockets that its words name: `-H unix:///run/docker.sock`, `--host=unix://…`.
    fn sockets(&self) -> impl Iterator<Item = &str> {
        let words = self.command.iter().flatten();
        words.filter_map(|word| Some(socket(&word[word.find("unix://")?..])))
    }

    /// What was called, without its folder: the last word before the options, so of `sh /opt/wrapper --root …` the
    /// wrapper.
    pub fn program(&self) -> &str {
        let words = self.command.iter().flatten();
        let last = words.take_while(|word| !word.starts_with('-')).last();
        let base = last.and_then(|path| path.rsplit('/').next());
        base.filter(|base| !base.is_empty()).unwrap_or(&self.comm)
    }

    pub fn command_line(&self) -> String {
        match &self.command {
            Some(words) if !words.is_empty() => words.join(" "),
            _ => self.comm.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
