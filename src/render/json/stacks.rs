//! The daemon's stacks for scripts.

use crate::{
    runtime::{
        PendingStacks,
        stacks::{Call, Guard, Verb, Wait},
    },
    syntax::id::ContainerId,
};
use serde::Serialize;

/// Calls told at most; the rest is counted.
const MOST_CALLS: usize = 200;

#[derive(Serialize)]
pub(super) struct StacksV1<'a> {
    goroutines: u64,
    whole: bool,
    pending: Vec<&'a str>,
    calls: Vec<CallV1<'a>>,
    calls_left_out: u64,
}

#[derive(Serialize)]
struct CallV1<'a> {
    goroutine: u64,
    state: &'a str,
    call: &'static str,
    waits_for: &'static str,
    detail: Option<&'a str>,
    minutes: u64,
    holds_lock: bool,
    lock: Option<String>,
}

impl<'a> From<&'a PendingStacks> for StacksV1<'a> {
    fn from(PendingStacks { stacks, pending }: &'a PendingStacks) -> Self {
        let beyond = stacks.calls.len().saturating_sub(MOST_CALLS);
        Self {
            goroutines: stacks.goroutines,
            whole: stacks.whole,
            pending: pending.iter().map(ContainerId::as_str).collect(),
            calls: stacks
                .calls
                .iter()
                .take(MOST_CALLS)
                .map(CallV1::from)
                .collect(),
            calls_left_out: stacks.calls_left_out + beyond as u64,
        }
    }
}

impl<'a> From<&'a Call> for CallV1<'a> {
    fn from(call: &'a Call) -> Self {
        Self {
            goroutine: call.goroutine,
            state: &call.state,
            call: name(call.verb),
            waits_for: call.waits.name(),
            detail: match &call.waits {
                Wait::Containerd(detail) | Wait::LogDriver(detail) | Wait::GraphDriver(detail) => {
                    detail.as_deref()
                }
                Wait::FileSystem { call, .. } => call.as_deref(),
                Wait::Lock { guard, .. } => Some(match guard {
                    Guard::Container => "container",
                    Guard::Execs => "execs",
                    Guard::Other(function) => function,
                }),
                Wait::Plugin | Wait::Network | Wait::Other => None,
            },
            minutes: call.minutes,
            holds_lock: call.holds,
            lock: call.waits.lock().map(|address| format!("{address:#x}")),
        }
    }
}

fn name(verb: Verb) -> &'static str {
    match verb {
        Verb::Start => "start",
        Verb::Stop => "stop",
        Verb::Kill => "kill",
        Verb::Restart => "restart",
        Verb::Remove => "remove",
        Verb::Exec => "exec",
        Verb::Inspect => "inspect",
        Verb::Exit => "exit",
        Verb::Pause => "pause",
        Verb::Unpause => "unpause",
        Verb::Update => "update",
        Verb::Copy => "copy",
        Verb::Rename => "rename",
        Verb::Create => "create",
        Verb::Connect => "connect",
        Verb::LogCopy => "log_copy",
        Verb::Logs => "logs",
        Verb::List => "list",
        Verb::Info => "info",
        Verb::Version => "version",
    }
}
