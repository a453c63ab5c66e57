//! What one line holds besides its message: its subject, the lag, the error.

use super::notes::notes;
use crate::kubelet::event::{ErrorClass, Event, Kind};
use crate::syntax::duration;
use crate::syntax::duration::human;
use chrono::TimeDelta;

/// The limit of the evented PLEG's own relists (kubelet `pkg/kubelet/kubelet.go`, 1.26 and later).
const EVENTED: TimeDelta = TimeDelta::minutes(10);

/// What a line holds, a sentence each: its subject, then the lag, then the error.
pub fn describe(event: &Event) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(about(event));
    sentences.extend(lag(event));
    sentences.extend(detail(event));
    sentences.extend(error(event));
    if let Some(carrier) = event.carrier {
        sentences.push(format!(
            "It is one of the reasons in a `{}` line.",
            carrier.id()
        ));
    }
    sentences
}

fn about(event: &Event) -> Option<String> {
    let mut subjects = Vec::new();
    subjects.extend(
        event
            .container
            .as_ref()
            .map(|id| format!("container {}", id.short())),
    );
    subjects.extend(
        event
            .sandbox
            .as_ref()
            .map(|id| format!("sandbox {}", id.short())),
    );
    subjects.extend(event.pod.as_ref().map(|pod| format!("pod {pod}")));
    subjects.extend(
        event
            .uid
            .as_ref()
            .map(|uid| format!("pod UID {}", uid.as_str())),
    );
    subjects.extend(event.node.as_ref().map(|node| format!("node {node}")));
    (!subjects.is_empty()).then(|| format!("It is about {}.", subjects.join(", ")))
}

fn lag(event: &Event) -> Option<String> {
    let lag = event.lag.filter(|lag| *lag != duration::NEVER)?;
    let limit = match event.threshold {
        None => String::new(),
        Some(EVENTED) => "; the threshold is 10m, that of the evented PLEG".to_owned(),
        Some(limit) => format!("; the threshold is {}", human(limit)),
    };
    let began = event.at.and_then(|at| at.checked_sub_signed(lag));
    let began = began.map_or_else(String::new, |began| {
        format!(
            " The last successful relist began at {}; the trouble began after that.",
            began.format("%H:%M:%S")
        )
    });
    Some(format!(
        "No relist has succeeded for {}{limit}.{began}",
        human(lag)
    ))
}

fn detail(event: &Event) -> Option<String> {
    let word = event.detail.as_ref()?;
    Some(match event.kind {
        Kind::RecordingEvent | Kind::NodeReady => format!("The event's name is {word}."),
        Kind::ExecSyncFailed => format!("The command is {word}."),
        Kind::ReadyCondition | Kind::NodeNotReady | Kind::RuntimeNotReady | Kind::CniNotReady => {
            format!("The reason given is {word}.")
        }
        Kind::RuntimeInitialized => format!("The runtime is {word}."),
        Kind::SoftwareVersion => format!("It reports {word}."),
        Kind::UnitEnded => format!("The unit is {word}."),
        Kind::OutOfMemory => format!("It killed {word}."),
        Kind::HungTask => format!("The task is {word}."),
        Kind::ServerSilent | Kind::ServerAnswers => format!("The server is {word}."),
        Kind::NetdeviceHeld | Kind::DiskError => format!("The device is {word}."),
        Kind::ClockStepped => format!("It was set by {word}."),
        Kind::PodRemoved if word == "REMOVE" => "REMOVE: the pods are gone.".to_owned(),
        Kind::PodRemoved => format!("{word}: the pods are to be terminated."),
        Kind::PlegEvent => format!("The event's type is {word}."),
        Kind::PlegStateChange => format!("The state changed: {word}."),
        Kind::HousekeepingSlow => format!("It took {word}{}.", unit(word)),
        _ => format!("Detail: {word}."),
    })
}

/// Kubelets up to 1.26 write the time of housekeeping as a bare number of seconds.
fn unit(word: &str) -> &'static str {
    match word.parse::<f64>() {
        Ok(_) => " s",
        Err(_) => "",
    }
}

fn error(event: &Event) -> Vec<String> {
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
                .and_then(|(class, _)| class_text(class))
                .map(str::to_owned),
        );
    }
    found
}

fn sizes(event: &Event) -> Option<String> {
    let (got, limit) = event.error.as_ref()?.sizes?;
    let times = got as f64 / limit.max(1) as f64;
    Some(format!(
        "The answer had {got} bytes, {times:.1} times the limit of {limit}."
    ))
}

/// What a class of errors means, for errors without a note.
fn class_text(class: ErrorClass) -> Option<&'static str> {
    Some(match class {
        ErrorClass::TooLarge => "The answer was larger than gRPC allows.",
        ErrorClass::NotFound => {
            "The container or sandbox does not exist any more: a race with its removal."
        }
        ErrorClass::Unavailable => "The runtime was unreachable.",
        ErrorClass::Busy => "A removal failed because something is still in use.",
        ErrorClass::NameReserved => "An earlier attempt of the same request still runs.",
        ErrorClass::NoResources => "The node had no process, thread or memory left for it.",
        ErrorClass::Deadline => "The call timed out.",
        ErrorClass::Canceled => "The caller gave up: a consequence.",
        ErrorClass::Other => return None,
    })
}
