//! One line's message into what it says: the known message, its pod, ids, durations, error.
//!
//! Times, severity and citation are the parser's business. A line that lists reasons gives itself and one more
//! for each; a line that names several pods gives one for each.

mod aside;
mod machine;

pub(super) use aside::wording;
pub(crate) use machine::foreign;

use super::{
    ErrorTail, Facts, Kind, bounded,
    items::{self, Item},
    names,
    template::{self, Hole},
};
use crate::syntax::{
    framing::json,
    id::{ContainerId, PodName, PodUid},
    klog::{self, Values},
    time::{Stamp, go_time, rfc3339},
};
use std::borrow::Cow;

/// Longest detail kept, in bytes.
const DETAIL: usize = 200;
/// Most pods that are taken out of one line; a node has 110, some have 500.
const PODS: usize = 512;

impl Facts {
    fn detail(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.detail = Some(bounded(text, DETAIL).to_owned());
        }
    }
}

/// Lists of reasons and of pods, and a version: kept until the message's own facts are whole.
#[derive(Default)]
struct Lists<'a> {
    reasons: Option<Cow<'a, str>>,
    pods: Option<Cow<'a, str>>,
    version: Option<Cow<'a, str>>,
}

/// Pushes what the klog message `text` says, unstructured or structured; nothing if it is not known.
pub(crate) fn text(text: &str, out: &mut Vec<Facts>) {
    if text.starts_with('"') {
        let (message, used) = klog::unquote_prefix(text);
        if let Some(kind) = template::new(&message) {
            let mut facts = Facts::new(kind);
            let mut lists = Lists::default();
            for (key, value) in Values::new(&text[used..]) {
                keyed(&mut facts, &mut lists, key, value);
            }
            push(facts, &lists, &message, out);
        } else {
            aside::locked(text, out);
        }
        return;
    }
    let text = text.trim_end();
    if let Some(found) = template::old(text) {
        let mut facts = Facts::new(found.kind);
        let mut lists = Lists::default();
        for &(hole, value) in found.holes() {
            filled(&mut facts, &mut lists, hole, value);
        }
        push(facts, &lists, text, out);
    } else {
        aside::locked(text, out);
    }
}

/// Pushes the end of the kubelet, with its last words.
pub(crate) fn fatal(text: &str, out: &mut Vec<Facts>) {
    let mut facts = Facts::new(Kind::KubeletFatal);
    facts.error = Some(ErrorTail::new(text));
    out.push(facts);
}

/// Pushes what a klog JSON record says.
pub(crate) fn record(object: &[u8], out: &mut Vec<Facts>) {
    let decode = |value| match json::string(value) {
        Cow::Borrowed(text) => String::from_utf8_lossy(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    };
    let Some((_, message)) = json::members(object).find(|(key, _)| *key == b"msg") else {
        return;
    };
    let message = decode(message);
    let message = message.trim_end();
    let Some(kind) = template::new(message) else {
        // Up to 1.21 the whole unstructured text stands in `msg`.
        text(message, out);
        if out.is_empty() {
            aside::locked(&String::from_utf8_lossy(object), out);
        }
        return;
    };
    let mut facts = Facts::new(kind);
    let mut lists = Lists::default();
    for (key, value) in json::members(object) {
        if !matches!(key, b"ts" | b"msg" | b"v" | b"caller" | b"logger") {
            let key = String::from_utf8_lossy(key);
            keyed(&mut facts, &mut lists, &key, decode(value));
        }
    }
    push(facts, &lists, message, out);
}

/// Takes in what filled a template's hole.
fn filled<'a>(facts: &mut Facts, lists: &mut Lists<'a>, hole: Hole, value: &'a str) {
    match hole {
        Hole::Error => facts.error = Some(ErrorTail::new(&klog::unquote(value))),
        Hole::Pod => (facts.pod, facts.uid) = merged(facts, names::old_pod(value)),
        Hole::Pods => lists.pods = Some(Cow::Borrowed(value)),
        Hole::Reversed => facts.pod = names::reversed_pod(value),
        Hole::Uid => facts.uid = PodUid::parse(value),
        Hole::Sandbox => facts.sandbox = names::id(value),
        Hole::Container => facts.container = names::id(value),
        Hole::Node => facts.node = Some(bounded(value, DETAIL).to_owned()),
        Hole::Word => facts.detail(value),
        Hole::Version => lists.version = Some(Cow::Borrowed(value)),
        Hole::List => lists.reasons = Some(Cow::Borrowed(value)),
        Hole::State => ready_state(facts, value),
        Hole::Condition => lists.reasons = condition(facts, value),
        Hole::PlegEvent => pleg_event(facts, value),
        Hole::Filter => facts.uid = names::filter_uid(value),
        Hole::Dump | Hole::Any => {}
    }
}

/// A UID that stood elsewhere in the line is not forgotten.
fn merged(
    facts: &Facts,
    (pod, uid): (Option<PodName>, Option<PodUid>),
) -> (Option<PodName>, Option<PodUid>) {
    (pod, uid.or_else(|| facts.uid.clone()))
}

/// Takes in a key of a structured message.
fn keyed<'a>(facts: &mut Facts, lists: &mut Lists<'a>, key: &str, value: Cow<'a, str>) {
    match key {
        "err" | "error" if facts.kind == Kind::SkipSync => lists.reasons = Some(value),
        "err" | "error" => facts.error = Some(ErrorTail::new(&value)),
        "pod" => facts.pod = object_name(&value).or_else(|| names::new_pod(&value)),
        "pods" => lists.pods = Some(value),
        "podUID" | "podID" => facts.uid = PodUid::parse(&value),
        "podSandboxID" | "sandboxID" => facts.sandbox = names::id(&value),
        "containerID" => facts.container = names::id(&value),
        "node" => facts.node = Some(node_name(&value)),
        "condition" => {
            lists.reasons = condition(facts, &value).map(|text| Cow::Owned(text.into_owned()));
        }
        "event" if facts.kind == Kind::RecordingEvent => facts.detail(&value),
        "event" => pleg_event(facts, &value),
        "runtimeReady" | "networkReady" => ready_state(facts, &value),
        "containerRuntime" | "seconds" | "actual" | "oldState" => facts.detail(&value),
        "newState" => {
            let old = facts.detail.take().unwrap_or_default();
            facts.detail(&format!("{old} -> {value}"));
        }
        "cmd" if facts.kind == Kind::ExecSyncFailed => facts.detail(&value),
        "filter" => facts.uid = names::filter_uid(&value),
        "version" if facts.kind == Kind::RuntimeInitialized => lists.version = Some(value),
        _ => {}
    }
}

/// Finishes a line's facts, and pushes them with those of its lists.
fn push(mut facts: Facts, lists: &Lists<'_>, message: &str, out: &mut Vec<Facts>) {
    let kind = facts.kind;
    match kind {
        // Some releases log it without an error: noise.
        Kind::PlegWriteStatus
            if facts
                .error
                .as_ref()
                .is_none_or(|error| &*error.text == "<nil>") =>
        {
            return;
        }
        Kind::RecordingEvent if facts.detail.as_deref() == Some("NodeReady") => {
            facts.kind = Kind::NodeReady;
        }
        Kind::SoftwareVersion => {
            let version = lists.version.as_deref().unwrap_or_default();
            facts.detail(&format!("kernel {version}"));
        }
        Kind::KillPodFailed if facts.uid.is_none() => facts.uid = sync_target(&facts),
        Kind::PodRemoved => {
            let deleted = message.contains("DELETE");
            facts.detail(if deleted { "DELETE" } else { "REMOVE" });
            let mut pods = names::pods_or_objects(lists.pods.as_deref().unwrap_or(""));
            let each = |(pod, uid)| Facts {
                pod,
                uid,
                ..facts.clone()
            };
            out.extend(pods.by_ref().take(PODS).map(each));
            if let Some(last) = out.last_mut() {
                last.left_out = pods.count() as u64;
            }
            return;
        }
        _ => {}
    }
    let reasons = lists.reasons.as_deref().unwrap_or("");
    // A terminal's width broke it; the width of a pasted mail's lines takes a blank besides.
    let [mended, spaced] = ["", " "].map(|between| match reasons.contains('\n') {
        true => Cow::Owned(reasons.replace('\n', between)),
        false => Cow::Borrowed(reasons),
    });
    let (items, left_out) = match items::items(&mended) {
        (none, 0) if none.is_empty() => items::items(&spaced),
        some => some,
    };
    facts.left_out = left_out;
    if kind == Kind::SkipSync && items.is_empty() && !reasons.is_empty() {
        facts.error = Some(ErrorTail::new(reasons));
    }
    if facts.pod.is_none() {
        let error = facts.error.as_ref();
        facts.pod = error.and_then(|error| names::network_pod(&error.text));
    }
    let drives_docker =
        kind == Kind::RuntimeInitialized && facts.detail.as_deref() == Some("docker");
    let version = aside::runtime_version(&facts, lists.version.as_deref());
    out.push(facts);
    out.extend(version);
    out.extend(items.into_iter().map(|item| carried(&item, kind)));
    if drives_docker {
        out.push(Facts {
            carrier: Some(kind),
            ..Facts::new(Kind::DockershimUsed)
        });
    }
}

/// Returns the facts of one reason of a list.
fn carried(item: &Item<'_>, carrier: Kind) -> Facts {
    let mut facts = Facts::new(item.kind);
    facts.carrier = Some(carrier);
    facts.lag = item.lag;
    facts.threshold = item.threshold;
    if matches!(item.kind, Kind::RuntimeNotReady | Kind::CniNotReady) {
        ready_state(&mut facts, item.text);
    }
    facts
}

/// Takes in `RuntimeReady=false reason:… message:…`.
fn ready_state(facts: &mut Facts, text: &str) {
    let (reason, message) = items::state(text);
    if let Some(reason) = reason {
        facts.detail(reason);
    }
    facts.error = message.map(ErrorTail::new);
}

/// Takes in a condition, Go struct or JSON; returns its message.
fn condition<'a>(facts: &mut Facts, text: &'a str) -> Option<Cow<'a, str>> {
    let message = if text.contains("\"reason\"") {
        let mut message = None;
        for (key, value) in json::members(text.as_bytes()) {
            let value = json::string(value);
            match key {
                b"reason" => facts.detail(&String::from_utf8_lossy(&value)),
                b"lastHeartbeatTime" => facts.told = exact(&value),
                b"message" => message = Some(String::from_utf8_lossy(&value).into_owned()),
                _ => {}
            }
        }
        Cow::Owned(message?)
    } else {
        if let Some((_, time)) = text.split_once("LastHeartbeatTime:") {
            facts.told = go_time(time);
        }
        let (_, rest) = text.split_once(" Reason:")?;
        let (reason, message) = rest.split_once(" Message:")?;
        facts.detail(reason);
        Cow::Borrowed(message.trim_end().trim_end_matches('}'))
    };
    facts.error = Some(ErrorTail::new(&message));
    Some(message)
}

/// Returns the time of RFC 3339 text with a zone.
fn exact(text: &[u8]) -> Option<super::Time> {
    match rfc3339(text) {
        Some((Stamp::Exact(time), _)) => Some(time),
        _ => None,
    }
}

/// Pushes the facts of a Ready condition with that reason and message.
pub(crate) fn ready_condition(reason: &str, message: &str, out: &mut Vec<Facts>) {
    let mut facts = Facts::new(Kind::ReadyCondition);
    facts.detail(reason);
    facts.error = Some(ErrorTail::new(message));
    let lists = Lists {
        // Of an unknown condition the node controller is the author: what it quotes is not the kubelet's word.
        reasons: (reason != "NodeStatusUnknown").then_some(Cow::Borrowed(message)),
        ..Lists::default()
    };
    push(facts, &lists, message, out);
}

/// Takes in a PLEG event: `&pleg.PodLifecycleEvent{ID:"…", Type:"…", Data:"…"}`, `&{ID:… Type:… Data:…}`, JSON.
fn pleg_event(facts: &mut Facts, text: &str) {
    let value = |key: &str| {
        let (_, rest) = text.split_once(key)?;
        let rest = rest.trim_start_matches(['"', ':']);
        let end = rest.find([' ', '"', ',', '}']).unwrap_or(rest.len());
        Some(&rest[..end])
    };
    if let Some(uid) = value("ID").and_then(PodUid::parse) {
        facts.uid = Some(uid);
    }
    if let Some(name) = value("Type") {
        facts.detail(name);
    }
    facts.container = value("Data").and_then(ContainerId::parse);
}

/// Returns the pod that a sync result names by its UID: `failed to "KillPodSandbox" for "<uid>" with …`.
fn sync_target(facts: &Facts) -> Option<PodUid> {
    let (_, rest) = facts.error.as_ref()?.text.split_once("\" for \"")?;
    PodUid::parse(rest.split('"').next()?)
}

/// Reads an object reference of klog JSON: `{"name":"web-0","namespace":"prod"}`.
fn object_name(text: &str) -> Option<PodName> {
    if !text.starts_with('{') {
        return None;
    }
    names::pods_or_objects(text).find_map(|(pod, _)| pod)
}

/// Reads a node's name, bare or as an object reference.
fn node_name(text: &str) -> String {
    let name = json::members(text.as_bytes())
        .find(|(key, _)| text.starts_with('{') && *key == b"name")
        .map(|(_, value)| String::from_utf8_lossy(&json::string(value)).into_owned());
    let name = name.unwrap_or_else(|| text.trim_start_matches('/').to_owned());
    bounded(&name, DETAIL).to_owned()
}
