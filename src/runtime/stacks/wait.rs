//! For what a goroutine waits, as its innermost frames tell.

use super::{Frame, Goroutine};
use crate::syntax::json::json_words;

/// What a lock guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// A container.
    Container,
    /// A container's list of execs; an inspect takes it after the container's own.
    Execs,
    /// Something else within the daemon; the function that takes it.
    Other(String),
}

/// For what a goroutine waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A lock.
    Lock {
        /// Which one: an address, good for comparing within one dump.
        address: Option<u64>,
        /// What it guards.
        guard: Guard,
    },
    /// containerd's answer; which call of it: `tasks.Create`.
    Containerd(Option<String>),
    /// A log driver: `syslog`.
    LogDriver(Option<String>),
    /// A graph driver: `overlay2`.
    GraphDriver(Option<String>),
    /// A plugin of Docker's.
    Plugin,
    /// Docker's networking.
    Network,
    /// A file system.
    FileSystem {
        /// The system call: `fstatat`.
        call: Option<String>,
        /// Whether it is about the source of a bind mount or volume that a start sets up.
        bind: bool,
    },
    /// None of these, or it does not wait.
    Other,
}

json_words!(Wait, name {
    Lock => "lock", Containerd => "containerd", LogDriver => "log_driver", GraphDriver => "graph_driver",
    Plugin => "plugin", Network => "network", FileSystem => "file_system", Other => "other",
});

impl Wait {
    /// Returns for what the goroutine waits.
    pub(super) fn of(goroutine: &Goroutine) -> Self {
        let frames = &goroutine.frames;
        lock(frames).unwrap_or_else(|| {
            let part = frames.iter().find_map(part);
            match part {
                None if goroutine.state.starts_with("syscall") && !waits_for_child(frames) => {
                    Self::FileSystem {
                        call: system_call(frames),
                        bind: false,
                    }
                }
                None => Self::Other,
                Some(Self::FileSystem { bind, .. }) => Self::FileSystem {
                    call: system_call(frames),
                    bind,
                },
                Some(Self::Containerd(_)) => Self::Containerd(frames.iter().find_map(service_call)),
                Some(part) => part,
            }
        })
    }

    /// Returns the lock's address.
    pub fn lock(&self) -> Option<u64> {
        match self {
            Self::Lock { address, .. } => *address,
            _ => None,
        }
    }
}

/// Reads the wait for a lock: frames of `sync` (since Go 1.24 also `internal/sync`), and below them who wants it.
fn lock(frames: &[Frame]) -> Option<Wait> {
    let of_sync = |frame: &&Frame| {
        ["sync.", "internal/sync.", "runtime."]
            .iter()
            .any(|package| frame.function.starts_with(package))
    };
    let own = frames.iter().take_while(of_sync).count();
    let (sync, callers) = frames.split_at(own);
    let takes = |frame: &&Frame| {
        (frame.is_of("Mutex") || frame.is_of("RWMutex"))
            && ["Lock", "lockSlow", "RLock"].contains(&frame.name())
    };
    sync.iter().find(takes)?;
    let caller = callers.first()?;
    let of_mutex = sync
        .iter()
        .filter(|frame| frame.is_of("Mutex"))
        .find_map(|frame| *frame.arguments.first()?);
    // A read-write lock waits on one of its parts, whose address is not the lock's: its owner's serves as well.
    let readers = sync.iter().any(|frame| frame.is_of("RWMutex"));
    let of_owner = caller.arguments.first().copied().flatten();
    let execs = caller.is_of("ExecStore")
        || caller.is_of("Store") && caller.function.contains("exec.(*Store)");
    Some(Wait::Lock {
        address: if readers || of_mutex.is_none() && !caller.is_of("Daemon") {
            of_owner
        } else {
            of_mutex
        },
        guard: if execs {
            Guard::Execs
        } else if ["Daemon", "Container", "State"]
            .iter()
            .any(|receiver| caller.is_of(receiver))
        {
            Guard::Container
        } else {
            Guard::Other(caller.short().to_owned())
        },
    })
}

/// Returns the part of the world that a frame belongs to.
fn part(frame: &Frame) -> Option<Wait> {
    let function = frame.function.as_str();
    let has = |part: &str| function.contains(part);
    if has("/pkg/plugins.") || has("/volume/drivers.") || has("/plugin/executor") {
        Some(Wait::Plugin)
    } else if has("/daemon/logger") || ["StartLogger", "startLogging"].contains(&frame.name()) {
        Some(Wait::LogDriver(driver(function, "/logger/")))
    } else if has("/graphdriver") || has("docker/layer.") || has("/internal/layer.") {
        Some(Wait::GraphDriver(driver(function, "/graphdriver/")))
    } else if has("/libnetwork") {
        Some(Wait::Network)
    } else if has("google.golang.org/grpc")
        || has("containerd/ttrpc")
        || has("/containerd/api/")
        || has("containerd/fifo")
    {
        Some(Wait::Containerd(None))
    } else if frame.name() == "setupMounts" || frame.is_of("MountPoint") {
        Some(Wait::FileSystem {
            call: None,
            bind: true,
        })
    } else {
        None
    }
}

/// Returns `syslog` of `…/daemon/logger/syslog.New`.
fn driver(function: &str, parent: &str) -> Option<String> {
    let (_, rest) = function.split_once(parent)?;
    let name = rest.split(['.', '/']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns `tasks.Create` of `…/api/services/tasks/v1.(*tasksClient).Create`.
fn service_call(frame: &Frame) -> Option<String> {
    let (_, rest) = frame.function.split_once("/api/")?;
    let (receiver, call) = rest.split_once("(*")?.1.split_once("Client).")?;
    Some(format!("{}.{call}", receiver.trim_start_matches("ttrpc")))
}

/// Returns the innermost system call that has a name.
fn system_call(frames: &[Frame]) -> Option<String> {
    let named = |frame: &&Frame| {
        let function = &frame.function;
        (function.starts_with("syscall.") || function.contains("golang.org/x/sys/unix."))
            && !["yscall", "yscall6", "RawSyscall"]
                .iter()
                .any(|raw| function.ends_with(raw))
    };
    let innermost = frames.iter().take(8).find(named)?;
    Some(innermost.name().trim_start_matches('_').to_owned())
}

fn waits_for_child(frames: &[Frame]) -> bool {
    frames.iter().any(|frame| frame.is_of("Process"))
}
