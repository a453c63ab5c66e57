//! One line's message into what it says: the known message, its pod, ids, durations, error.
//!
//! Times, severity and citation are the parser's business. A line that lists reasons gives itself and one more
//! for each; a line that names several pods gives one for each.

mod other_programs;

pub(crate) use other_programs::foreign;
pub(super) use other_programs::wording;

use super::items::Item;
use super::template::Hole;
use super::{ErrorTail, Kind, MessageFields, bounded, items, names, template};
use crate::syntax::framing::json;
use crate::syntax::id::{ContainerId, PodName, PodUid};
use crate::syntax::klog;
use crate::syntax::klog::Values;
use crate::syntax::time::{Stamp, go_time, rfc3339};
use std::borrow::Cow;

/// Longest detail kept, in bytes.
const MAX_DETAIL: usize = 200;
/// Most pods that are taken out of one line; a node has 110, some have 500.
const MAX_PODS: usize = 512;

impl MessageFields {
    fn detail(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.detail = Some(bounded(text, MAX_DETAIL).to_owned());
        }
    }
}

/// Lists of reasons and of pods, and a version: kept until the message's own fields are whole.
#[derive(Default)]
struct Lists<'a> {
    reasons: Option<Cow<'a, str>>,
    pods: Option<Cow<'a, str>>,
    version: Option<Cow<'a, str>>,
}

/// Pushes what the klog message `text` says, unstructured or structured; nothing if it is not known.
pub(crate) fn text(text: &str, out: &mut Vec<MessageFields>) {
    if text.starts_with('"') {
        let (message, used) = klog::unquote_prefix(text);
        if let Some(kind) = template::new(&message) {
            let mut fields = MessageFields::new(kind);
            let mut lists = Lists::default();
            for (key, value) in Values::new(&text[used..]) {
                keyed(&mut fields, &mut lists, key, value);
            }
            push(fields, &lists, &message, out);
        } else {
            other_programs::locked(text, out);
        }
        return;
    }
    let text = text.trim_end();
    if let Some(found) = template::old(text) {
        let mut fields = MessageFields::new(found.kind);
        let mut lists = Lists::default();
        for &(hole, value) in found.holes() {
            filled(&mut fields, &mut lists, hole, value);
        }
        push(fields, &lists, text, out);
    } else {
        other_programs::locked(text, out);
    }
}

/// Pushes the end of the kubelet, with its last words.
pub(crate) fn fatal(text: &str, out: &mut Vec<MessageFields>) {
    let mut fields = MessageFields::new(Kind::KubeletFatal);
    fields.error = Some(ErrorTail::new(text));
    out.push(fields);
}

/// Pushes what a klog JSON record says.
pub(crate) fn record(object: &[u8], out: &mut Vec<MessageFields>) {
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
            other_programs::locked(&String::from_utf8_lossy(object), out);
        }
        return;
    };
    let mut fields = MessageFields::new(kind);
    let mut lists = Lists::default();
    for (key, value) in json::members(object) {
        if !matches!(key, b"ts" | b"msg" | b"v" | b"caller" | b"logger") {
            let key = String::from_utf8_lossy(key);
            keyed(&mut fields, &mut lists, &key, decode(value));
        }
    }
    push(fields, &lists, message, out);
}

fn filled<'a>(fields: &mut MessageFields, lists: &mut Lists<'a>, hole: Hole, value: &'a str) {
    match hole {
        Hole::Error => fields.error = Some(ErrorTail::new(&klog::unquote(value))),
        Hole::Pod => (fields.pod, fields.uid) = merged(fields, names::old_pod(value)),
        Hole::Pods => lists.pods = Some(Cow::Borrowed(value)),
        Hole::Reversed => fields.pod = names::reversed_pod(value),
        Hole::Uid => fields.uid = PodUid::parse(value),
        Hole::Sandbox => fields.sandbox = names::id(value),
        Hole::Container => fields.container = names::id(value),
        Hole::Node => fields.node = Some(bounded(value, MAX_DETAIL).to_owned()),
        Hole::Word => fields.detail(value),
        Hole::Version => lists.version = Some(Cow::Borrowed(value)),
        Hole::List => lists.reasons = Some(Cow::Borrowed(value)),
        Hole::State => ready_state(fields, value),
        Hole::Condition => lists.reasons = condition(fields, value),
        Hole::PlegEvent => pleg_event(fields, value),
        Hole::Filter => fields.uid = names::filter_uid(value),
        Hole::Dump | Hole::Any => {}
    }
}

/// A UID that stood elsewhere in the line is not forgotten.
fn merged(
    fields: &MessageFields,
    (pod, uid): (Option<PodName>, Option<PodUid>),
) -> (Option<PodName>, Option<PodUid>) {
    (pod, uid.or_else(|| fields.uid.clone()))
}

fn keyed<'a>(fields: &mut MessageFields, lists: &mut Lists<'a>, key: &str, value: Cow<'a, str>) {
    match key {
        "err" | "error" if fields.kind == Kind::SkipSync => lists.reasons = Some(value),
        "err" | "error" => fields.error = Some(ErrorTail::new(&value)),
        "pod" => fields.pod = object_name(&value).or_else(|| names::new_pod(&value)),
        "pods" => lists.pods = Some(value),
        "podUID" | "podID" => fields.uid = PodUid::parse(&value),
        "podSandboxID" | "sandboxID" => fields.sandbox = names::id(&value),
        "containerID" => fields.container = names::id(&value),
        "node" => fields.node = Some(node_name(&value)),
        "condition" => {
            lists.reasons = condition(fields, &value).map(|text| Cow::Owned(text.into_owned()));
        }
        "event" if fields.kind == Kind::RecordingEvent => fields.detail(&value),
        "event" => pleg_event(fields, &value),
        "runtimeReady" | "networkReady" => ready_state(fields, &value),
        "containerRuntime" | "seconds" | "actual" | "oldState" => fields.detail(&value),
        "newState" => {
            let old = fields.detail.take().unwrap_or_default();
            fields.detail(&format!("{old} -> {value}"));
        }
        "cmd" if fields.kind == Kind::ExecSyncFailed => fields.detail(&value),
        "filter" => fields.uid = names::filter_uid(&value),
        "version" if fields.kind == Kind::RuntimeInitialized => lists.version = Some(value),
        _ => {}
    }
}

fn push(mut fields: MessageFields, lists: &Lists<'_>, message: &str, out: &mut Vec<MessageFields>) {
    let kind = fields.kind;
    match kind {
        // Some releases log it without an error: noise.
        Kind::PlegWriteStatus
            if fields
                .error
                .as_ref()
                .is_none_or(|error| &*error.text == "<nil>") =>
        {
            return;
        }
        Kind::RecordingEvent if fields.detail.as_deref() == Some("NodeReady") => {
            fields.kind = Kind::NodeReady;
        }
        Kind::SoftwareVersion => {
            let version = lists.version.as_deref().unwrap_or_default();
            fields.detail(&format!("kernel {version}"));
        }
        Kind::KillPodFailed if fields.uid.is_none() => fields.uid = sync_target(&fields),
        Kind::PodRemoved => {
            let deleted = message.contains("DELETE");
            fields.detail(if deleted { "DELETE" } else { "REMOVE" });
            let mut pods = names::pods_or_objects(lists.pods.as_deref().unwrap_or(""));
            let each = |(pod, uid)| MessageFields {
                pod,
                uid,
                ..fields.clone()
            };
            out.extend(pods.by_ref().take(MAX_PODS).map(each));
            if let Some(last) = out.last_mut() {
                last.left_out = pods.count() as u64;
            }
            return;
        }
        _ => {}
    }
    let reasons = lists.reasons.as_deref().unwrap_or("");
    // A terminal's width broke it; the width of a pasted mail's lines takes a blank besides.
    let [joined, spaced] = ["", " "].map(|between| {
        if reasons.contains('\n') {
            Cow::Owned(reasons.replace('\n', between))
        } else {
            Cow::Borrowed(reasons)
        }
    });
    let (items, left_out) = match items::items(&joined) {
        (none, 0) if none.is_empty() => items::items(&spaced),
        some => some,
    };
    fields.left_out = left_out;
    if kind == Kind::SkipSync && items.is_empty() && !reasons.is_empty() {
        fields.error = Some(ErrorTail::new(reasons));
    }
    if fields.pod.is_none() {
        let error = fields.error.as_ref();
        fields.pod = error.and_then(|error| names::network_pod(&error.text));
    }
    let drives_docker =
        kind == Kind::RuntimeInitialized && fields.detail.as_deref() == Some("docker");
    let version = other_programs::runtime_version(&fields, lists.version.as_deref());
    out.push(fields);
    out.extend(version);
    out.extend(items.into_iter().map(|item| carried(&item, kind)));
    if drives_docker {
        out.push(MessageFields {
            carrier: Some(kind),
            ..MessageFields::new(Kind::DockershimUsed)
        });
    }
}

fn carried(item: &Item<'_>, carrier: Kind) -> MessageFields {
    let mut fields = MessageFields::new(item.kind);
    fields.carrier = Some(carrier);
    fields.lag = item.lag;
    fields.threshold = item.threshold;
    if matches!(item.kind, Kind::RuntimeNotReady | Kind::CniNotReady) {
        ready_state(&mut fields, item.text);
    }
    fields
}

fn ready_state(fields: &mut MessageFields, text: &str) {
    let (reason, message) = items::state(text);
    if let Some(reason) = reason {
        fields.detail(reason);
    }
    fields.error = message.map(ErrorTail::new);
}

/// Takes in a condition, Go struct or JSON; returns its message.
fn condition<'a>(fields: &mut MessageFields, text: &'a str) -> Option<Cow<'a, str>> {
    let message = if text.contains("\"reason\"") {
        let mut message = None;
        for (key, value) in json::members(text.as_bytes()) {
            let value = json::string(value);
            match key {
                b"reason" => fields.detail(&String::from_utf8_lossy(&value)),
                b"lastHeartbeatTime" => fields.reported_at = exact(&value),
                b"message" => message = Some(String::from_utf8_lossy(&value).into_owned()),
                _ => {}
            }
        }
        Cow::Owned(message?)
    } else {
        if let Some((_, time)) = text.split_once("LastHeartbeatTime:") {
            fields.reported_at = go_time(time);
        }
        let (_, rest) = text.split_once(" Reason:")?;
        let (reason, message) = rest.split_once(" Message:")?;
        fields.detail(reason);
        Cow::Borrowed(message.trim_end().trim_end_matches('}'))
    };
    fields.error = Some(ErrorTail::new(&message));
    Some(message)
}

fn exact(text: &[u8]) -> Option<super::Time> {
    match rfc3339(text) {
        Some((Stamp::Exact(time), _)) => Some(time),
        _ => None,
    }
}

pub(crate) fn ready_condition(reason: &str, message: &str, out: &mut Vec<MessageFields>) {
    let mut fields = MessageFields::new(Kind::ReadyCondition);
    fields.detail(reason);
    fields.error = Some(ErrorTail::new(message));
    let lists = Lists {
        // Of an unknown condition the node controller is the author: what it quotes is not the kubelet's word.
        reasons: (reason != "NodeStatusUnknown").then_some(Cow::Borrowed(message)),
        ..Lists::default()
    };
    push(fields, &lists, message, out);
}

/// Takes in a PLEG event: `&pleg.PodLifecycleEvent{ID:"…", Type:"…", Data:"…"}`, `&{ID:… Type:… Data:…}`, JSON.
fn pleg_event(fields: &mut MessageFields, text: &str) {
    let value = |key: &str| {
        let (_, rest) = text.split_once(key)?;
        let rest = rest.trim_start_matches(['"', ':']);
        let end = rest.find([' ', '"', ',', '}']).unwrap_or(rest.len());
        Some(&rest[..end])
    };
    if let Some(uid) = value("ID").and_then(PodUid::parse) {
        fields.uid = Some(uid);
    }
    if let Some(name) = value("Type") {
        fields.detail(name);
    }
    fields.container = value("Data").and_then(ContainerId::parse);
}

/// The pod that a sync result names by its UID: `failed to "KillPodSandbox" for "<uid>" with …`.
fn sync_target(fields: &MessageFields) -> Option<PodUid> {
    let (_, rest) = fields.error.as_ref()?.text.split_once("\" for \"")?;
    PodUid::parse(rest.split('"').next()?)
}

/// klog JSON: `{"name":"web-0","namespace":"prod"}`.
fn object_name(text: &str) -> Option<PodName> {
    if !text.starts_with('{') {
        return None;
    }
    names::pods_or_objects(text).find_map(|(pod, _)| pod)
}

fn node_name(text: &str) -> String {
    let name = json::members(text.as_bytes())
        .find(|(key, _)| text.starts_with('{') && *key == b"name")
        .map(|(_, value)| String::from_utf8_lossy(&json::string(value)).into_owned());
    let name = name.unwrap_or_else(|| text.trim_start_matches('/').to_owned());
    bounded(&name, MAX_DETAIL).to_owned()
}
