//! The words for what a daemon's stacks tell, for the rules that cite them.

use crate::{
    rules::count,
    runtime::{
        Runtime,
        stacks::{Call, Guard, Verb, Wait},
    },
    syntax::citation::Citation,
};

/// Kinds of hanging calls named in one sentence.
const NAMED: usize = 4;

/// Returns `a start that has waited for containerd (tasks.Create) for at least 14 minutes`.
pub(super) fn doing(call: &Call) -> String {
    let (article, noun) = noun(call.verb);
    let what = waited_for(&call.waits);
    match (what, call.minutes) {
        (Some(what), 0) => format!("{article} {noun} that waits for {what}"),
        (Some(what), minutes) => format!(
            "{article} {noun} that has waited for {what} for at least {}",
            count_minutes(minutes)
        ),
        (None, 0) => format!("{article} {noun}"),
        (None, minutes) => format!(
            "{article} {noun} that has been in one place for at least {}",
            count_minutes(minutes)
        ),
    }
}

/// Returns `a start that waits for containerd; 2 execs that …`, those alike counted together.
pub(super) fn listed(calls: &[&Call]) -> String {
    let mut kinds: Vec<(&Call, usize)> = Vec::new();
    for call in calls {
        let alike = kinds.iter_mut().find(|(first, _)| {
            (first.verb, waited_for(&first.waits)) == (call.verb, waited_for(&call.waits))
        });
        match alike {
            Some((_, number)) => *number += 1,
            None => kinds.push((call, 1)),
        }
    }
    let mut words: Vec<_> = kinds
        .iter()
        .take(NAMED)
        .map(|&(call, number)| match number {
            1 => doing(call),
            _ => format!("{} (and {} more like it)", doing(call), number - 1),
        })
        .collect();
    if kinds.len() > NAMED {
        words.push(format!("{} other kinds", kinds.len() - NAMED));
    }
    words.join("; ")
}

/// Cites the goroutines of calls.
pub(super) fn cite(runtime: &Runtime, calls: &[&Call]) -> Citation {
    let goroutine = |call: &&Call| {
        let (outer, inner) = &call.functions;
        let minutes = match call.minutes {
            0 => String::new(),
            minutes => format!(", {minutes} min"),
        };
        let inner = if inner == outer {
            String::new()
        } else {
            format!(" … {inner}")
        };
        format!(
            "goroutine {} [{}{minutes}]: {outer}{inner}",
            call.goroutine, call.state
        )
    };
    let told: Vec<_> = calls.iter().take(NAMED).map(goroutine).collect();
    Citation {
        source: "dockerd's stacks".to_owned().into(),
        is_call: true,
        line: None,
        time: Some(runtime.asked_at),
        text: told.join("; ").into(),
    }
}

/// Returns what is waited for, in words; `None` if it is not known.
pub(super) fn waited_for(wait: &Wait) -> Option<String> {
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

/// Returns what is waited for, without which call, driver or function of it.
pub(super) fn waited_for_kind(wait: &Wait) -> Option<&'static str> {
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

fn noun(verb: Verb) -> (&'static str, &'static str) {
    match verb {
        Verb::Start => ("a", "start"),
        Verb::Stop => ("a", "stop"),
        Verb::Kill => ("a", "kill"),
        Verb::Restart => ("a", "restart"),
        Verb::Remove => ("a", "removal"),
        Verb::Exec => ("an", "exec"),
        Verb::Inspect => ("an", "inspect"),
        Verb::Exit => ("the", "clean-up after a container's end"),
        Verb::Pause => ("a", "pause"),
        Verb::Unpause => ("an", "unpause"),
        Verb::Update => ("an", "update"),
        Verb::Copy => ("a", "copy of files"),
        Verb::Rename => ("a", "rename"),
        Verb::Create => ("a", "create"),
        Verb::Connect => ("a", "change of networks"),
        Verb::LogCopy => ("a", "copy of output to the log"),
        Verb::Logs => ("a", "reading of logs"),
        Verb::List => ("a", "list"),
        Verb::Info => ("an", "info call"),
        Verb::Version => ("a", "version call"),
    }
}

fn count_minutes(minutes: u64) -> String {
    count(usize::try_from(minutes).unwrap_or(usize::MAX), "minute")
}
