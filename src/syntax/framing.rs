//! What stands around a message: the journal's forms, syslog's, container log files', collectors' prefixes.
//!
//! Envelopes nest (a container's log file inside syslog, JSON inside JSON): layers are taken off until a klog
//! header, a klog JSON record, or plain text is left. Lines that only together make a record are put together
//! by the parser.

mod entry;
pub mod json;
mod objects;
mod text;

pub use entry::{Entry, Gathered, MAX_ENTRY};

use crate::syntax::klog;
use crate::syntax::klog::Header;
use crate::syntax::time::Stamp;
use std::borrow::Cow;

/// Deepest nesting that is followed.
const MAX_LAYERS: usize = 5;

/// The writer of a line, by its envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Unnamed,
    /// The kubelet, or the program that it runs in.
    Kubelet(Program),
    Kernel,
    /// systemd, the machine's or a user's.
    Systemd,
    Other,
}

impl Owner {
    /// Whether the kubelet wrote it, or the program that it runs in.
    pub fn is_kubelet(self) -> bool {
        matches!(self, Self::Kubelet(_))
    }

    /// Whether it is known that the kubelet did not write it.
    pub fn is_another(self) -> bool {
        matches!(self, Self::Kernel | Self::Systemd | Self::Other)
    }
}

/// The program that a kubelet is, or runs in, as a syslog tag or a systemd unit names it. A tag is the program's name:
/// `k3s` and `rke2` are server and agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The plain kubelet, or a unit that shows nothing of its runtime.
    Kubelet,
    K3s,
    /// k3s' unit on a worker.
    K3sAgent,
    /// RKE2, server or agent.
    Rke2,
    /// RKE2's unit on a server.
    Rke2Server,
    /// RKE2's unit on a worker.
    Rke2Agent,
    /// MicroK8s' kubelite.
    MicroK8s,
    /// OpenShift's wrapper from 4.11 on.
    OpenShift,
}

/// A line without its envelopes.
#[derive(Clone, Debug, PartialEq)]
pub struct Unframed<'a> {
    /// The outermost time.
    pub stamp: Option<Stamp>,
    pub host: Option<Cow<'a, str>>,
    pub owner: Owner,
    pub message: Cow<'a, [u8]>,
    /// Whether the message goes on in the next line's envelope, without a newline between.
    pub partial: bool,
    pub enveloped: bool,
    /// The klog header that the message starts with.
    pub header: Option<Header>,
}

/// One layer that was text in front of a message.
struct Layer {
    /// Its length: where the message starts.
    len: usize,
    stamp: Option<Stamp>,
    host: Option<(usize, usize)>,
    owner: Owner,
    partial: bool,
}

/// Takes all layers off `raw`.
pub fn unframe(raw: &[u8]) -> Unframed<'_> {
    unframe_rest(Unframed::bare(Cow::Borrowed(raw)))
}

/// Takes the outermost layer off `raw`, for a line that goes on with a part of a message.
pub fn unframe_one(raw: &[u8]) -> Unframed<'_> {
    let mut unframed = Unframed::bare(Cow::Borrowed(raw));
    unframed.enveloped = unframe_layer(&mut unframed);
    unframed
}

impl<'a> Unframed<'a> {
    fn bare(message: Cow<'a, [u8]>) -> Self {
        Self {
            stamp: None,
            host: None,
            owner: Owner::Unnamed,
            message,
            partial: false,
            enveloped: false,
            header: None,
        }
    }
}

/// Takes off what layers are left.
pub fn unframe_rest(mut unframed: Unframed<'_>) -> Unframed<'_> {
    let mut layers = 0;
    loop {
        unframed.header = klog::header(&unframed.message);
        // What the kernel says is in no further envelope: the time since boot, with which it may begin, is none.
        let innermost = unframed.owner == Owner::Kernel || layers == MAX_LAYERS;
        if unframed.header.is_some() || innermost || !unframe_layer(&mut unframed) {
            break;
        }
        unframed.enveloped = true;
        layers += 1;
    }
    if !unframed.owner.is_another()
        && unframed.header.is_none()
        && let Some(start) = klog::find_header(&unframed.message)
        && !is_record(&unframed.message)
    {
        unframed.message = cut(unframed.message, start);
        unframed.header = klog::header(&unframed.message);
    }
    if unframed.enveloped && unframed.owner.is_kubelet() {
        unescape_controls(&mut unframed.message);
    }
    unframed
}

/// Undoes rsyslog's escapes of control characters, `#012` or `\012`.
fn unescape_controls(message: &mut Cow<'_, [u8]>) {
    let code = |text: &[u8]| match text {
        [
            b'#' | b'\\',
            b'0',
            tens @ b'0'..=b'3',
            ones @ b'0'..=b'7',
            ..,
        ] => Some((tens - b'0') * 8 + (ones - b'0')),
        _ => None,
    };
    let found = memchr::memchr2_iter(b'#', b'\\', message).any(|at| code(&message[at..]).is_some());
    if !found {
        return;
    }
    let mut out = Vec::with_capacity(message.len());
    let mut at = 0;
    while let Some(&byte) = message.get(at) {
        if let Some(control) = code(&message[at..]) {
            out.push(control);
            at += 4;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    *message = Cow::Owned(out);
}

/// Whether `message` is a whole JSON record, or text in which a header can only be quoted.
fn is_record(message: &[u8]) -> bool {
    (message.starts_with(b"{") && message.ends_with(b"}")) || message.starts_with(b"time=\"")
}

fn unframe_layer(unframed: &mut Unframed<'_>) -> bool {
    if unframed.message.starts_with(b"{") {
        let Some(inner) = objects::open(&unframed.message) else {
            return false;
        };
        unframed.stamp = unframed.stamp.or(inner.stamp);
        if unframed.host.is_none() {
            unframed.host = inner.host.map(Cow::Owned);
        }
        note_owner(unframed, inner.owner);
        unframed.partial |= inner.partial;
        unframed.message = Cow::Owned(inner.message);
        return true;
    }
    let Some(layer) = text::open(&unframed.message) else {
        return false;
    };
    unframed.stamp = unframed.stamp.or(layer.stamp);
    if let (None, Some((from, to))) = (&unframed.host, layer.host) {
        unframed.host = match &unframed.message {
            Cow::Borrowed(text) => Some(String::from_utf8_lossy(&text[from..to])),
            Cow::Owned(text) => Some(Cow::Owned(
                String::from_utf8_lossy(&text[from..to]).into_owned(),
            )),
        };
    }
    note_owner(unframed, layer.owner);
    unframed.partial |= layer.partial;
    let message = std::mem::take(&mut unframed.message);
    unframed.message = cut(message, layer.len);
    true
}

/// The innermost name decides: a container's log file may lie inside another program's envelope.
fn note_owner(unframed: &mut Unframed<'_>, owner: Owner) {
    if owner != Owner::Unnamed {
        unframed.owner = owner;
    }
}

fn cut(message: Cow<'_, [u8]>, start: usize) -> Cow<'_, [u8]> {
    match message {
        Cow::Borrowed(text) => Cow::Borrowed(&text[start..]),
        Cow::Owned(mut text) => {
            text.drain(..start);
            Cow::Owned(text)
        }
    }
}

/// Who `ident` is: a syslog tag or a systemd unit, without its pid.
pub fn owner_of(ident: &[u8]) -> Owner {
    let ident = ident
        .strip_prefix(b"[")
        .and_then(|ident| ident.strip_suffix(b"]"))
        .unwrap_or(ident);
    let ident = ident.strip_suffix(b".service").unwrap_or(ident);
    let ident = ident.rsplit(|&b| b == b'/').next().unwrap_or(ident);
    let program = match ident {
        b"k3s" => Program::K3s,
        b"k3s-agent" => Program::K3sAgent,
        b"rke2" => Program::Rke2,
        b"rke2-agent" => Program::Rke2Agent,
        b"rke2-server" => Program::Rke2Server,
        b"kubelite" | b"microk8s.daemon-kubelite" | b"snap.microk8s.daemon-kubelite" => {
            Program::MicroK8s
        }
        b"kubenswrapper" => Program::OpenShift,
        b"kubelet"
        | b"kubelet-wrapper"
        | b"kubelet-containerd.sh"
        | b"start_kubelet.sh"
        | b"kubelet.sh"
        | b"origin-node"
        | b"atomic-openshift-node"
        | b"edged"
        | b"edgecore"
        // OpenShift's up to 4.10, and others'.
        | b"hyperkube" => Program::Kubelet,
        b"" => return Owner::Unnamed,
        b"kernel" => return Owner::Kernel,
        b"systemd" => return Owner::Systemd,
        _ => return Owner::Other,
    };
    Owner::Kubelet(program)
}

#[cfg(test)]
mod tests;
