//! What one line holds besides its message: whom it is about, how late the relist is, how the call ended.

use super::notes::notes;
use crate::{
    kubelet::event::{ErrorClass, Event, Kind},
    syntax::duration::{self, human},
};
use chrono::TimeDelta;

/// The limit of the evented PLEG's own relists (kubelet `pkg/kubelet/kubelet.go`, 1.26 and later).
const EVENTED: TimeDelta = TimeDelta::minutes(10);

/// Returns what a line holds, a sentence each: what it is about first, then how late, then how the call ended.
pub fn describe(event: &Event) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(about(event));
    sentences.extend(lag(event));
    sentences.extend(detail(event));
    sentences.extend(error(event));
    if let Some(carrier) = event.carrier {
        sentences.push(format!(
            "It is one of the reasons that a line of `{}` gives.",
            carrier.id()
        ));
    }
    sentences
}

/// Returns whom the line is about.
fn about(event: &Event) -> Option<String> {
    let mut whom = Vec::new();
    whom.extend(
        event
            .container
            .as_ref()
            .map(|id| format!("container {}", id.short())),
    );
    whom.extend(
        event
            .sandbox
            .as_ref()
            .map(|id| format!("sandbox {}", id.short())),
    );
    whom.extend(event.pod.as_ref().map(|pod| format!("pod {pod}")));
    whom.extend(
        event
            .uid
            .as_ref()
            .map(|uid| format!("pod UID {}", uid.as_str())),
    );
    whom.extend(event.node.as_ref().map(|node| format!("node {node}")));
    (!whom.is_empty()).then(|| format!("It is about {}.", whom.join(", ")))
}

/// Returns how late the relist is.
fn lag(event: &Event) -> Option<String> {
    let lag = event.lag.filter(|lag| *lag != duration::NEVER)?;
    let limit = match event.threshold {
        None => String::new(),
        Some(EVENTED) => "; the limit is 10m, that of a kubelet with the evented PLEG".to_owned(),
        Some(limit) => format!("; the limit is {}", human(limit)),
    };
    let began = event.at.and_then(|at| at.checked_sub_signed(lag));
    let began = began.map_or_else(String::new, |began| {
        format!(
            " The last relist that listed began at {}: what is wrong came after that.",
            began.format("%H:%M:%S")
        )
    });
    Some(format!(
        "No relist has listed for {}{limit}.{began}",
        human(lag)
    ))
}

/// Returns the word that the message carries.
fn detail(event: &Event) -> Option<String> {
    let word = event.detail.as_ref()?;
    Some(match event.kind {
        Kind::RecordingEvent | Kind::NodeReady => format!("The event's name is {word}."),
        Kind::ExecSyncFailed => format!("The command is {word}."),
        Kind::ReadyCondition | Kind::NodeNotReady | Kind::RuntimeNotReady | Kind::CniNotReady => {
            format!("The reason given is {word}.")
        }
        Kind::RuntimeInitialized => format!("The runtime is {word}."),
        Kind::SoftwareVersion => format!("It names {word}."),
        Kind::UnitEnded => format!("The unit is {word}."),
        Kind::OutOfMemory => format!("It killed {word}."),
        Kind::HungTask => format!("The task is {word}."),
        Kind::ServerSilent | Kind::ServerAnswers => format!("The server is {word}."),
        Kind::NetdeviceHeld | Kind::DiskError => format!("The device is {word}."),
        Kind::ClockStepped => format!("It was set by {word}."),
        Kind::PodRemoved if word == "REMOVE" => "REMOVE: the pods are gone.".to_owned(),
        Kind::PodRemoved => format!("{word}: the pods are to end."),
        Kind::PlegEvent => format!("The event's type is {word}."),
        Kind::PlegStateChange => format!("The state went {word}."),
        Kind::HousekeepingSlow => format!("It took {word}{}.", unit(word)),
        _ => format!("It adds: {word}."),
    })
}

/// Kubelets up to 1.26 write the time of housekeeping as a bare number of seconds.
fn unit(word: &str) -> &'static str {
    match word.parse::<f64>() {
        Ok(_) => " s",
        Err(_) => "",
    }
}

/// Returns how the call ended, and what the words of that mean.
fn error(event: &Event) -> Vec<String> {
    // The text of a list of reasons is told by its reasons.
    let error = event
        .error
        .as_ref()
        .map(|error| (error.class, &*error.text));
    let text = error.map_or("", |(_, text)| text);
    let whole = &*event.citation.text;
    let mut found: Vec<String> = sizes(event).into_iter().collect();
    found.extend(notes(text).iter().map(|note| note.means.clone()));
    if event.lag == Some(duration::NEVER) || (event.kind == Kind::PlegNever && text.is_empty()) {
        let never = notes(whole)
            .into_iter()
            .find(|note| note.subject == "never");
        found.extend(never.map(|note| note.means.clone()));
    }
    if found.is_empty() {
        found.extend(
            error
                .and_then(|(class, _)| plainly(class))
                .map(str::to_owned),
        );
    }
    found
}

/// Returns how large an answer was that was too large.
fn sizes(event: &Event) -> Option<String> {
    let (got, limit) = event.error.as_ref()?.sizes?;
    let times = got as f64 / limit.max(1) as f64;
    Some(format!(
        "The answer had {got} bytes, {times:.1} times the {limit} that are let through."
    ))
}

/// Returns what a class of errors means, where no note fits its words.
fn plainly(class: ErrorClass) -> Option<&'static str> {
    Some(match class {
        ErrorClass::TooLarge => "The call's answer was larger than gRPC lets through.",
        ErrorClass::NotFound => {
            "What the call was about is not there any more: a race with its removal."
        }
        ErrorClass::Unavailable => "The runtime could not be reached.",
        ErrorClass::Busy => "A removal cannot finish: something is still in use.",
        ErrorClass::NameReserved => "An earlier try of the same is still going on.",
        ErrorClass::NoResources => "The machine gave no process, thread or memory for it.",
        ErrorClass::Deadline => "The call was not answered in time.",
        ErrorClass::Canceled => "The caller gave up: a consequence.",
        ErrorClass::Other => return None,
    })
}
