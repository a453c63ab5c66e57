//! What is told of shims and containers that do not fit.

use super::{Case, Kind};
use crate::evidence::Evidence;
use crate::node::Process;
use crate::rules::holders::span;
use crate::rules::{EACH, called, count, lower};

pub(super) fn title(cases: &[Case<'_>]) -> String {
    let number = count(cases.len(), "container");
    let one = match cases {
        [one] => one.subject().as_ref().map(called),
        _ => None,
    };
    let kind = cases.first().map(|case| case.kind);
    match (kind, one) {
        (Some(Kind::Childless), Some(one)) => {
            format!("{one} has ended, and Docker says that it runs")
        }
        (Some(Kind::Childless), None) => {
            format!("{number} have ended, and Docker says that they run")
        }
        (Some(Kind::Shimless), Some(one)) => {
            format!("{one} has no shim, and Docker says that it runs")
        }
        (Some(Kind::Shimless), None) => {
            format!("{number} have no shim, and Docker says that they run")
        }
        (Some(Kind::Finished), Some(one)) => format!("{one} has ended, and its shim has not"),
        (Some(Kind::Finished), None) => format!("{number} have ended, and their shims have not"),
        (_, Some(one)) => format!("{one} has a shim, and Docker does not know it"),
        (_, None) => format!("{number} have shims, and Docker does not know them"),
    }
}

pub(super) fn explain(evidence: &Evidence, cases: &[Case<'_>], frozen: bool) -> String {
    let Some(first) = cases.first() else {
        return String::new();
    };
    let mut text: Vec<String> = cases
        .iter()
        .take(EACH)
        .map(|it| told(evidence, it))
        .collect();
    if cases.len() > EACH {
        text.push(format!("So it is with {} more.", cases.len() - EACH));
    }
    text.push(
        match first.kind {
            Kind::Childless => "The workload has ended and Docker was not notified, as happens when containerd is down or stuck at that moment. To the kubelet it is Up: it is not started again, and its pod may stay Terminating.",
            Kind::Shimless => "Docker will never learn how it ended, and an exec or a stop hangs. That happens when a shim is killed while containerd is down. To the kubelet it is Up: it is not started again, and its pod may stay Terminating.",
            Kind::Finished => "A shim ends with its container. One that stays keeps what belongs to the container, so that its removal or its next start may fail.",
            Kind::Unknown => "Neither the kubelet nor docker ps sees it: what runs in it takes the node's memory, ports and volumes.",
        }
        .to_owned(),
    );
    if frozen {
        text.push(
            "A daemon of the runtime is stopped: once resumed, Docker learns of this automatically."
                .to_owned(),
        );
    }
    text.join(" ")
}

fn told(evidence: &Evidence, case: &Case<'_>) -> String {
    let name = case.subject().as_ref().map(called).unwrap_or_default();
    let pid = case.inspected().and_then(|inspected| inspected.pid);
    let process = pid.map_or_else(|| "its process".to_owned(), |pid| format!("process {pid}"));
    let lives = |pid: u32| {
        evidence
            .host
            .as_ref()
            .is_some_and(|host| host.living.contains(&pid))
    };
    let shim = case.shim.map(shim).unwrap_or_default();
    match case.kind {
        Kind::Childless => format!(
            "Docker says that {} runs as {process}, but there is no such process, and {shim} has no child.",
            lower(&name)
        ),
        Kind::Shimless => {
            let workload = match pid.is_some_and(lives) {
                true => "that process lives, but no shim keeps it",
                false => "there is neither such a process nor a shim for it",
            };
            format!(
                "Docker says that {} runs as {process}, but {workload}.",
                lower(&name)
            )
        }
        Kind::Finished => format!(
            "{name} ended {} ago, but {shim} is still there{}.",
            case.inspected()
                .zip(evidence.runtime.as_ref())
                .and_then(|(inspected, runtime)| Some(runtime.asked_at - inspected.finished?))
                .and_then(|ago| ago.to_std().ok())
                .map_or_else(|| "long".to_owned(), span),
            children(case.shim)
        ),
        Kind::Unknown => format!(
            "Docker does not list {}, but {shim} keeps it{}.",
            lower(&name),
            children(case.shim)
        ),
    }
}

fn shim(shim: &Process) -> String {
    let age = shim
        .age
        .map_or_else(String::new, |age| format!(", {} old", span(age)));
    let stopped = match shim.state.is_stopped() {
        true => ", stopped",
        false => "",
    };
    format!("its shim (process {}{age}{stopped})", shim.pid)
}

fn children(shim: Option<&Process>) -> String {
    match shim.and_then(|shim| shim.children) {
        Some(0) => ", without a child".to_owned(),
        Some(1) => ", with a child that lives".to_owned(),
        Some(number) => format!(", with {number} children that live"),
        None => String::new(),
    }
}
