//! One call in progress: what it does with a container, for what it waits, whether it holds the container's lock.
//!
//! What holds the lock was taken from moby's sources (daemon/start.go, kill.go, exec.go, pause.go, monitor.go,
//! inspect.go, archive.go, update.go, rename.go): a stop that waits for the process to end holds nothing, the
//! signal that it sends does; a removal holds it while it kills, not while the layer goes.

use super::{Frame, Goroutine, Guard, Wait};

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Starts a container.
    Start,
    /// Stops one.
    Stop,
    /// Sends a signal.
    Kill,
    /// Restarts one.
    Restart,
    /// Removes one.
    Remove,
    /// Starts a command in one.
    Exec,
    /// Inspects one.
    Inspect,
    /// Deals with a container's end.
    Exit,
    /// Freezes one.
    Pause,
    /// Goes on with a frozen one.
    Unpause,
    /// Changes limits.
    Update,
    /// Copies files in or out.
    Copy,
    /// Renames one.
    Rename,
    /// Creates one.
    Create,
    /// Connects one to a network, or disconnects it.
    Connect,
    /// Copies a container's output to its log.
    LogCopy,
    /// Reads a log.
    Logs,
    /// Lists.
    List,
    /// Tells of the daemon.
    Info,
    /// Tells the versions.
    Version,
}

/// A daemon's methods, and what they do.
const METHODS: &[(&str, Verb)] = &[
    ("ContainerStart", Verb::Start),
    ("containerStart", Verb::Start),
    ("ContainerStop", Verb::Stop),
    ("containerStop", Verb::Stop),
    ("ContainerKill", Verb::Kill),
    ("Kill", Verb::Kill),
    ("killWithSignal", Verb::Kill),
    ("ContainerRestart", Verb::Restart),
    ("containerRestart", Verb::Restart),
    ("ContainerRm", Verb::Remove),
    ("containerRm", Verb::Remove),
    ("cleanupContainer", Verb::Remove),
    ("ContainerExecStart", Verb::Exec),
    ("ContainerExecCreate", Verb::Exec),
    ("ContainerInspect", Verb::Inspect),
    ("ContainerInspectCurrent", Verb::Inspect),
    ("containerInspectCurrent", Verb::Inspect),
    ("getInspectData", Verb::Inspect),
    ("ProcessEvent", Verb::Exit),
    ("StateChanged", Verb::Exit),
    ("handleContainerExit", Verb::Exit),
    ("ContainerPause", Verb::Pause),
    ("containerPause", Verb::Pause),
    ("ContainerUnpause", Verb::Unpause),
    ("containerUnpause", Verb::Unpause),
    ("ContainerUpdate", Verb::Update),
    ("ContainerArchivePath", Verb::Copy),
    ("ContainerStatPath", Verb::Copy),
    ("ContainerExtractToDir", Verb::Copy),
    ("ContainerCopy", Verb::Copy),
    ("ContainerRename", Verb::Rename),
    ("ContainerCreate", Verb::Create),
    ("CreateManagedContainer", Verb::Create),
    ("ConnectContainerToNetwork", Verb::Connect),
    ("DisconnectContainerFromNetwork", Verb::Connect),
    ("ContainerLogs", Verb::Logs),
    ("Containers", Verb::List),
    ("SystemInfo", Verb::Info),
    ("SystemVersion", Verb::Version),
];

/// The daemon's methods that hold a container's lock for as long as they last.
const HOLDING: &[&str] = &[
    "containerStart",
    "killWithSignal",
    "containerPause",
    "containerUnpause",
    "handleContainerExit",
    "StateChanged",
    "ContainerInspect",
    "ContainerInspectCurrent",
    "containerInspectCurrent",
    "getInspectData",
    "update",
    "ContainerRename",
    "containerArchivePath",
    "containerStatPath",
    "containerExtractToDir",
    "containerCopy",
    "ConnectToNetwork",
    "DisconnectFromNetwork",
];

/// The daemon's methods whose second argument is the container.
const TAKES_CONTAINER: &[&str] = &[
    "containerStart",
    "containerStop",
    "containerRestart",
    "killWithSignal",
    "killPossiblyDeadProcess",
    "Kill",
    "containerPause",
    "containerUnpause",
    "handleContainerExit",
    "cleanupContainer",
    "getInspectData",
];

/// How far before the name a request's API version lies in memory, both being parts of its path:
/// `1.41/containers/` and a little more. A path without a version takes it from elsewhere.
const WITHIN_PATH: u64 = 64;

/// One call in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its goroutine.
    pub goroutine: u64,
    /// The goroutine's state, in Go's word.
    pub state: String,
    /// For how many minutes it has waited, at least; 0 is unknown.
    pub minutes: u64,
    /// What it does.
    pub verb: Verb,
    /// For what it waits.
    pub waits: Wait,
    /// Whether it holds a container's lock (an exec: that of a container's execs).
    pub holds: bool,
    /// The container's address, if told.
    pub container: Option<u64>,
    /// Whether it may be an inspect of ours: one whose path names no API version.
    pub ours: bool,
    /// Its outermost and innermost functions that tell something.
    pub functions: (String, String),
}

impl Call {
    /// Returns the call that a goroutine serves; `None` for one that serves none that matters.
    pub(super) fn of(goroutine: &Goroutine) -> Option<Self> {
        let frames = &goroutine.frames;
        let (verb, outer) = verb(frames)?;
        let waits = Wait::of(goroutine);
        // Attached execs and ends of containers last as long as they please.
        if waits == Wait::Other && matches!(verb, Verb::Exec | Verb::LogCopy) {
            return None;
        }
        let container = frames
            .iter()
            .filter(|frame| frame.is_of("Daemon") && TAKES_CONTAINER.contains(&frame.name()))
            .find_map(|frame| *frame.arguments.get(1)?);
        Some(Self {
            goroutine: goroutine.id,
            state: goroutine.state.clone(),
            minutes: goroutine.minutes,
            verb,
            holds: holds(frames, verb, &waits),
            waits,
            container,
            ours: verb == Verb::Inspect && is_unversioned(frames),
            functions: (outer.short().to_owned(), inner(frames, outer)),
        })
    }
}

/// Returns what the goroutine does, by its outermost frame that tells.
fn verb(frames: &[Frame]) -> Option<(Verb, &Frame)> {
    let known = |frame: &Frame| {
        if frame.is_of("Copier") {
            let reads = frames.iter().any(|f| f.name() == "Read");
            return (!reads && frame.name() == "copySrc").then_some(Verb::LogCopy);
        }
        let of_daemon = frame.is_of("Daemon") && frame.function.contains("daemon.(*Daemon).");
        let row = METHODS.iter().find(|(name, _)| *name == frame.name())?;
        of_daemon.then_some(row.1)
    };
    frames
        .iter()
        .rev()
        .find_map(|frame| Some((known(frame)?, frame)))
}

fn holds(frames: &[Frame], verb: Verb, waits: &Wait) -> bool {
    if let Wait::Lock {
        guard: Guard::Container,
        ..
    } = waits
    {
        return false;
    }
    // A closure is run later, often after the method that made it gave the lock back: the wait before a restart is.
    let itself = |frame: &Frame| frame.function.ends_with(&format!(").{}", frame.name()));
    let runs = |frame: &&Frame| !frame.created && frame.is_of("Daemon") && itself(frame);
    let within = |method: &str| {
        frames
            .iter()
            .filter(runs)
            .any(|frame| frame.name() == method)
    };
    match verb {
        // Only while it is being started, which is when a call to containerd is on the stack.
        Verb::Exec => within("ContainerExecStart") && !matches!(waits, Wait::Lock { .. }),
        _ => HOLDING.iter().any(|method| within(method)),
    }
}

fn is_unversioned(frames: &[Frame]) -> bool {
    let Some(entry) = frames
        .iter()
        .find(|frame| frame.is_of("Daemon") && frame.name() == "ContainerInspect")
    else {
        return true;
    };
    // The name is the first string, the version a later one.
    let mut words = entry.arguments.iter().skip(1).flatten();
    let Some(&name) = words.next() else {
        return true;
    };
    !words.any(|&word| word < name && name - word <= WITHIN_PATH)
}

/// Returns the innermost function worth telling: what is asked of containerd, else the first that is not Go's own.
fn inner(frames: &[Frame], outer: &Frame) -> String {
    let of_go = |frame: &&Frame| {
        let function = frame.function.as_str();
        // Only a module's path begins with a domain.
        let domain = function.split_once('/').map_or("", |(domain, _)| domain);
        !domain.contains('.')
            || function.starts_with("google.golang.org/grpc")
            || function.contains("namespaceInterceptor")
    };
    let told = frames.iter().find(|frame| !of_go(frame)).unwrap_or(outer);
    told.short().to_owned()
}
