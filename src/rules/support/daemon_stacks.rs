//! What dockerd's stacks show of its hanging calls, as sentences and citations.

use super::{cite::call as cite_call, wording::count};
use crate::runtime::Runtime;
use crate::runtime::stacks::{Call, Guard, Held, Verb, Wait};
use crate::syntax::citation::Citation;
use crate::syntax::id::ContainerId;

/// Kinds of hanging calls named in one sentence.
const MAX_KINDS: usize = 4;

/// Whether the stacks are complete and show calls that hang.
pub(crate) fn show_all_hanging(runtime: &Runtime) -> bool {
    let pending = runtime.docker().stacks.as_ref();
    pending.is_some_and(|it| it.stacks.whole && !it.stacks.hanging().is_empty())
}

/// The lock that our only pending inspect waits for, if that is this container's, and the call that holds it.
pub(crate) fn lock_of<'a>(runtime: &'a Runtime, id: &ContainerId) -> Option<(Held<'a>, &'a Call)> {
    let pending = runtime.docker().stacks.as_ref()?;
    let [asked] = &pending.pending[..] else {
        return None;
    };
    let lock = pending.stacks.our_lock().filter(|_| id.matches(asked))?;
    let holder = lock.holder?;
    Some((lock, holder))
}

/// `a start that has waited for containerd (tasks.Create) for at least 14 minutes`.
pub(crate) fn doing(call: &Call) -> String {
    let noun = noun(call.verb);
    let minutes = usize::try_from(call.minutes).unwrap_or(usize::MAX);
    let minutes = count(minutes, "minute");
    match (waited_for(&call.waits), call.minutes) {
        (Some(what), 0) => format!("{noun} that waits for {what}"),
        (Some(what), _) => format!("{noun} that has waited for {what} for at least {minutes}"),
        (None, 0) => noun.to_owned(),
        (None, _) => format!("{noun} that has been in one place for at least {minutes}"),
    }
}

/// `a start that waits for containerd; 2 execs that …`, those alike counted together.
pub(crate) fn listed(calls: &[&Call]) -> String {
    let kind = |call: &Call| (call.verb, waited_for(&call.waits));
    let mut kinds: Vec<(&Call, usize)> = Vec::new();
    for call in calls {
        match kinds.iter_mut().find(|(it, _)| kind(it) == kind(call)) {
            Some((_, number)) => *number += 1,
            None => kinds.push((call, 1)),
        }
    }
    let named = kinds.iter().take(MAX_KINDS);
    let named = named.map(|&(call, number)| match number {
        1 => doing(call),
        _ => format!("{} (and {} more like it)", doing(call), number - 1),
    });
    let rest = kinds.len().saturating_sub(MAX_KINDS);
    let rest = (rest > 0).then(|| format!("{rest} other kinds"));
    named.chain(rest).collect::<Vec<_>>().join("; ")
}

/// The goroutines of calls.
pub(crate) fn cite(runtime: &Runtime, calls: &[&Call]) -> Citation {
    let goroutine = |call: &&Call| {
        let (outer, inner) = &call.functions;
        let minutes = match call.minutes {
            0 => String::new(),
            minutes => format!(", {minutes} min"),
        };
        let inner = match inner == outer {
            true => String::new(),
            false => format!(" … {inner}"),
        };
        let (number, state) = (call.goroutine, &call.state);
        format!("goroutine {number} [{state}{minutes}]: {outer}{inner}")
    };
    let text: Vec<_> = calls.iter().take(MAX_KINDS).map(goroutine).collect();
    cite_call("dockerd's stacks", runtime, text.join("; "))
}

/// What is waited for; `None` if it is not known.
fn waited_for(wait: &Wait) -> Option<String> {
    let name = match wait {
        Wait::Containerd(name)
        | Wait::LogDriver(name)
        | Wait::GraphDriver(name)
        | Wait::FileSystem { call: name, .. } => name.as_ref(),
        Wait::Lock {
            guard: Guard::Other(function),
            ..
        } => Some(function),
        _ => None,
    };
    let what = waited_for_kind(wait)?;
    Some(name.map_or_else(|| what.to_owned(), |name| format!("{what} ({name})")))
}

/// … without which call, driver or function of it.
pub(crate) fn waited_for_kind(wait: &Wait) -> Option<&'static str> {
    Some(match wait {
        Wait::Containerd(_) => "containerd",
        Wait::LogDriver(_) => "its log driver",
        Wait::GraphDriver(_) => "the graph driver",
        Wait::Plugin => "a plugin",
        Wait::Network => "Docker's networking",
        Wait::FileSystem { bind: true, .. } => "the file system of a bind mount's source",
        Wait::FileSystem { bind: false, .. } => "a file system",
        Wait::Lock { guard, .. } => match guard {
            Guard::Container => "a container's lock",
            Guard::Execs => "the lock of a container's execs",
            Guard::Other(_) => "a lock within dockerd",
        },
        Wait::Other => return None,
    })
}

fn noun(verb: Verb) -> &'static str {
    match verb {
        Verb::Start => "a start",
        Verb::Stop => "a stop",
        Verb::Kill => "a kill",
        Verb::Restart => "a restart",
        Verb::Remove => "a removal",
        Verb::Exec => "an exec",
        Verb::Inspect => "an inspect",
        Verb::Exit => "the clean-up after a container's end",
        Verb::Pause => "a pause",
        Verb::Unpause => "an unpause",
        Verb::Update => "an update",
        Verb::Copy => "a copy of files",
        Verb::Rename => "a rename",
        Verb::Create => "a create",
        Verb::Connect => "a change of networks",
        Verb::LogCopy => "a copy of output to the log",
        Verb::Logs => "a reading of logs",
        Verb::List => "a list",
        Verb::Info => "an info call",
        Verb::Version => "a version call",
    }
}
