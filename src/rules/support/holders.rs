//! Who holds a container up, and how to tell it: an OCI runtime process, or a thread of dockerd that waits for a file
//! system. Several rules name them.

use crate::evidence::Evidence;
use crate::finding::action::{Action, RuntimeProcess};
use crate::finding::{Remedy, Risk, Subject, SubjectKind};
use crate::node;
use crate::node::{DEFAULT_ENDPOINT, Host, OciCommand, Process, Role, State, Thread};
use crate::syntax::citation::Citation;
use crate::syntax::duration;
use crate::syntax::id::ContainerId;
use chrono::TimeDelta;
use std::{sync::Arc, time::Duration};

/// An OCI runtime command is done within seconds, on a loaded node too; one of this age is stuck.
pub(crate) const STUCK: Duration = Duration::from_secs(30);

/// What holds a container's lock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holder<'a> {
    /// A run of the OCI runtime for that container.
    Runtime(&'a Process),
    /// A thread of the daemon itself: no OCI runtime runs, but this waits for a file system.
    Thread(&'a Process, &'a Thread),
}

/// A task that sleeps: a thread of a process, or the process itself where its threads were not looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) process: &'a Process,
    pub(crate) tid: u32,
    pub(crate) state: State,
    /// The function of the kernel that it sleeps in.
    pub(crate) wchan: Option<&'a str>,
    /// Its kernel stack, the innermost function first.
    pub(crate) stack: &'a [String],
    /// Whether it was watched and did not wake up.
    pub(crate) still: bool,
}

/// Returns those of a process's tasks that may wait in the kernel for something outside of it.
pub(crate) fn tasks(process: &Process) -> impl Iterator<Item = Task<'_>> {
    let threads = process.threads.waiting.iter().map(move |thread| Task {
        process,
        tid: thread.tid,
        state: thread.state,
        wchan: thread.wchan.as_deref(),
        stack: &thread.stack,
        still: thread.still.is_some(),
    });
    let alone = (process.threads.seen == 0).then(|| Task {
        process,
        tid: process.pid,
        state: process.state,
        wchan: process.wchan.as_deref(),
        stack: &process.stack,
        still: process.still.is_some(),
    });
    threads.chain(alone)
}

/// Returns the OCI runtime process that works on a container.
pub(crate) fn of_container<'a>(evidence: &'a Evidence, id: &ContainerId) -> Option<Holder<'a>> {
    let host = evidence.host.as_ref()?;
    host.oci_processes(id).first().copied().map(Holder::Runtime)
}

/// Returns the thread of dockerd that waits for a file system, if there is one.
pub(crate) fn waiting_thread(evidence: &Evidence) -> Option<Holder<'_>> {
    let dockerd = dockerd(evidence, evidence.host.as_ref()?)?;
    // One that was not seen to stay asleep may only be slow.
    let waiting = dockerd.threads.waiting.iter();
    let waiting = waiting.filter(|thread| thread.still.is_some());
    let thread = waiting.max_by_key(|thread| (thread.still, std::cmp::Reverse(thread.tid)))?;
    Some(Holder::Thread(dockerd, thread))
}

/// Returns the dockerd that was asked, or the usual one.
pub(crate) fn dockerd<'a>(evidence: &Evidence, host: &'a Host) -> Option<&'a Process> {
    match &evidence.runtime {
        Some(runtime) => host.dockerd(&runtime.endpoint),
        // Nobody says which one the kubelet drives; one alone leaves no choice.
        None => host
            .dockerd(DEFAULT_ENDPOINT)
            .or_else(|| node::only(host.daemons(Role::Dockerd))),
    }
}

/// Returns the daemons of the runtime that was asked; on a node without Docker, containerd.
pub(crate) fn daemons(evidence: &Evidence) -> Vec<&Process> {
    let Some(host) = &evidence.host else {
        return Vec::new();
    };
    match dockerd(evidence, host) {
        Some(dockerd) => [Some(dockerd), host.containerd_of(dockerd)]
            .into_iter()
            .flatten()
            .collect(),
        None if evidence.runtime.is_some() => Vec::new(),
        None => node::only(host.containerds()).into_iter().collect(),
    }
}

impl Holder<'_> {
    /// Returns whether it has held for longer than any ordinary work takes. A thread's age says nothing.
    pub(crate) fn is_stuck(&self) -> bool {
        self.age().is_some_and(|age| age >= STUCK)
    }

    /// Returns how long an OCI runtime process has run.
    pub(crate) fn age(&self) -> Option<Duration> {
        match self {
            Self::Runtime(process) => process.age,
            Self::Thread(..) => None,
        }
    }

    /// Returns the process to end, if ending one process is the cure.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Runtime(process) => Some(process.pid),
            Self::Thread(..) => None,
        }
    }

    /// Returns the action that ends it, if that is an OCI runtime process whose words and container are known: what
    /// can't be told again right before is not ended.
    pub(crate) fn end(&self) -> Option<Action> {
        match self {
            Self::Runtime(process) => Some(Action::EndProcess(RuntimeProcess {
                pid: process.pid,
                start_ticks: process.start_ticks,
                command: process.command.clone().filter(|words| !words.is_empty())?,
                container: process.container.clone()?,
            })),
            Self::Thread(..) => None,
        }
    }

    /// Returns what is told of it, as a sentence.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Runtime(process) => {
                let command = match process.role {
                    Role::OciRuntime(command) => command.word(),
                    _ => "call",
                };
                let age = process.age.map_or_else(
                    || "for an unknown time".to_owned(),
                    |age| format!("for {}", span(age)),
                );
                format!(
                    "The OCI runtime's {command} for it, process {}, has run {age} ({}).",
                    process.pid,
                    doing(process.state, process.wchan.as_deref())
                )
            }
            Self::Thread(daemon, thread) => format!(
                "No OCI runtime process works on it, but thread {} of {} (process {}) waits for a file system ({}).",
                thread.tid,
                daemon.comm,
                daemon.pid,
                doing(thread.state, thread.wchan.as_deref())
            ),
        }
    }

    /// Returns it as proof.
    pub(crate) fn cite(&self, evidence: &Evidence) -> Citation {
        let (source, text) = match self {
            Self::Runtime(process) => cited(process),
            Self::Thread(daemon, thread) => (
                format!("process {}", daemon.pid),
                format!(
                    "{}: thread {}, {}{}",
                    daemon.comm,
                    thread.tid,
                    doing(thread.state, thread.wchan.as_deref()),
                    stack(thread.state, &thread.stack)
                ),
            ),
        };
        cite(evidence, source, text)
    }

    /// Returns it as a subject, which belongs to container `id`.
    pub(crate) fn subject(&self, id: &ContainerId) -> Subject {
        let process = match self {
            Self::Runtime(process) | Self::Thread(process, _) => process,
        };
        Subject {
            kind: SubjectKind::Process,
            id: Some(id.clone()),
            name: Some(process.program().to_owned()),
            pod: None,
            uid: process.uid.clone(),
            pid: Some(process.pid),
        }
    }

    /// Returns the remedy that looks at it again, and at `others` like it.
    pub(crate) fn look(&self, others: &[Holder]) -> Remedy {
        let pid = |holder: &Holder| match holder {
            Holder::Runtime(process) => Some(process.pid.to_string()),
            Holder::Thread(..) => None,
        };
        let (title, command) = match self {
            Self::Runtime(_) => (
                "See that the process is still there, and still the same",
                format!(
                    "ps -o pid,ppid,stat,etime,wchan:24,args -p {}",
                    [self]
                        .into_iter()
                        .chain(others)
                        .filter_map(pid)
                        .collect::<Vec<_>>()
                        .join(",")
                ),
            ),
            Self::Thread(daemon, thread) => (
                "See where in the kernel the thread waits",
                format!("cat /proc/{}/task/{}/stack", daemon.pid, thread.tid),
            ),
        };
        Remedy {
            title: title.to_owned(),
            risk: Risk::Safe,
            command,
            cost: "nothing".to_owned(),
            actions: Vec::new(),
        }
    }
}

/// Returns what was seen of the host as a citation.
pub(crate) fn cite(evidence: &Evidence, source: impl Into<Arc<str>>, text: String) -> Citation {
    Citation {
        source: source.into(),
        // Nor is it a line of a log.
        is_call: true,
        line: None,
        time: Some(evidence.now),
        text: text.into(),
    }
}

/// Returns the source and the text of a citation of a process.
pub(crate) fn cited(process: &Process) -> (String, String) {
    let age = process
        .age
        .map_or_else(String::new, |age| format!(", {} old", span(age)));
    (
        format!("process {}", process.pid),
        format!(
            "{}, {}{age}{}: {}",
            process.program(),
            doing(process.state, process.wchan.as_deref()),
            stack(process.state, &process.stack),
            process.command_line()
        ),
    )
}

/// Returns the remedy that ends OCI runtime processes.
pub(crate) fn end(holders: &[Holder<'_>]) -> Option<Remedy> {
    let pids: Vec<_> = holders
        .iter()
        .filter_map(Holder::pid)
        .map(|pid| pid.to_string())
        .collect();
    if pids.is_empty() {
        return None;
    }
    let asleep = holders.iter().any(|holder| {
        matches!(holder, Holder::Runtime(process) if process.state == State::Uninterruptible)
    });
    let young = !holders.iter().all(Holder::is_stuck);
    let init = holders.iter().any(|holder| {
        matches!(holder, Holder::Runtime(process) if process.role == Role::OciRuntime(OciCommand::Init))
    });
    let what = if pids.len() == 1 {
        "that one OCI runtime process"
    } else {
        "those OCI runtime processes"
    };
    let when = if young {
        ", if it is still there in a minute"
    } else {
        ""
    };
    let mut cost = "that one start, stop or exec fails, and the kubelet tries again".to_owned();
    if asleep {
        cost.push_str("; one in state D may not end before what it waits for answers");
    }
    if init {
        cost.push_str(
            "; `init` is the container's own process to be, so that container dies with it",
        );
    }
    Some(Remedy {
        title: format!("End {what}{when}"),
        risk: Risk::Disruptive,
        command: format!("kill {}", pids.join(" ")),
        cost,
        actions: Vec::new(),
    })
}

/// Returns the action that lets a stopped daemon go on; none where nobody knows whether it is traced.
pub(crate) fn go_on(process: &Process) -> Vec<Action> {
    let action = Action::ContinueDaemon {
        pid: process.pid,
        start_ticks: process.start_ticks,
        name: process.comm.clone(),
    };
    let untraced = process.tracer == Some(0);
    untraced.then_some(action).into_iter().collect()
}

/// Returns "state S, in do_wait".
pub(crate) fn doing(state: State, wchan: Option<&str>) -> String {
    match wchan {
        Some(wchan) => format!("state {}, in {wchan}", state.letter()),
        None => format!("state {}", state.letter()),
    }
}

/// Returns where in the kernel it sleeps; of interest where it can't be woken.
fn stack(state: State, stack: &[String]) -> String {
    match stack {
        _ if state != State::Uninterruptible => String::new(),
        [] => String::new(),
        functions => format!(
            ", below {}",
            functions
                .iter()
                .take(6)
                .cloned()
                .collect::<Vec<_>>()
                .join(" < ")
        ),
    }
}

/// Returns a duration for people, in whole seconds.
pub(crate) fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds => {
            let span = TimeDelta::from_std(Duration::from_secs(seconds));
            duration::human(span.unwrap_or(TimeDelta::MAX))
        }
    }
}
