//! What the kernel and systemd log about the machine, in a log of all programs: memory that ran out, tasks that hang,
//! servers that are silent, disks that fail, daemons that ended.
//!
//! The words are those that a look at the host's kernel goes by (`node::pressure`). The same words from any other
//! program are only its words.

use super::{DETAIL, MessageFields, aside};
use crate::{
    kubelet::event::{ErrorTail, Kind, bounded},
    node::{
        KernelKind,
        pressure::{answering, kernel_words},
    },
    syntax::framing::{Owner, owner_of},
};

/// What a message of another program than the kubelet says, where that matters.
pub(crate) fn foreign(message: &str, owner: Owner) -> Option<MessageFields> {
    let told = match owner {
        Owner::Kernel => kernel(message),
        Owner::Systemd => unit(message),
        _ => None,
    };
    told.or_else(|| aside::clock(message))
}

pub(super) fn wording(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::OutOfMemory => &["Out of memory: Killed process <any> (<word>) <any>"],
        Kind::HungTask => &["INFO: task <word>:<any> blocked for more than <any> seconds."],
        Kind::ServerSilent => &[
            "nfs: server <word> not responding, still trying",
            "<any> <word> has not responded in <any> seconds. Reconnecting...",
        ],
        Kind::ServerAnswers => &["nfs: server <word> OK"],
        Kind::NetdeviceHeld => {
            &["unregister_netdevice: waiting for <word> to become free. Usage count = <any>"]
        }
        Kind::DiskError => &["<any>I/O error, dev <word>, sector <any>"],
        Kind::UnitEnded => &["<word>.service: Main process exited, code=<any>, status=<any>"],
        _ => &[],
    }
}

/// A line of the kernel, perhaps with the time since boot in front (`[12345.678901] `), as syslog daemons write it.
fn kernel(message: &str) -> Option<MessageFields> {
    let text = message.trim();
    let text = match text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        Some((stamp, rest)) if is_since_boot(stamp) => rest.trim_start(),
        _ => text,
    };
    if let Some(server) = answering(text) {
        return Some(about(Kind::ServerAnswers, Some(server)));
    }
    Some(match kernel_words(text)? {
        KernelKind::OutOfMemory => about(Kind::OutOfMemory, between(text, "(", ")")),
        KernelKind::HungTask => {
            let task = between(text, "task ", " blocked for more than")?;
            about(Kind::HungTask, task.rsplit_once(':').map(|(name, _)| name))
        }
        // Other devices and drivers do not respond either: it is a file system's server that counts.
        KernelKind::SilentServer => about(Kind::ServerSilent, Some(silent(text)?)),
        KernelKind::NetDevice => about(
            Kind::NetdeviceHeld,
            between(text, "waiting for ", " to become"),
        ),
        KernelKind::DiskError => about(Kind::DiskError, disk(text)),
        // A container at its own limit is not the machine's want.
        KernelKind::ContainerLimit => return None,
    })
}

fn is_since_boot(stamp: &str) -> bool {
    let mut bytes = stamp.trim().bytes();
    !stamp.is_empty() && bytes.all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn silent(text: &str) -> Option<&str> {
    match text.split_once(" has not responded in") {
        Some((before, _)) => before.rsplit(' ').next(),
        None => between(text, "server ", " not responding"),
    }
    .filter(|server| !server.is_empty())
}

/// `I/O error, dev sda, sector 1`, `Buffer I/O error on dev sda1, logical block 1`.
fn disk(text: &str) -> Option<&str> {
    let (_, rest) = text
        .split_once("dev ")
        .or_else(|| text.split_once("device "))?;
    rest.split([',', ' ']).next()
}

/// A daemon's end, as systemd tells it: `docker.service: Main process exited, code=killed, status=9/KILL`. One that was
/// told to end is none.
fn unit(message: &str) -> Option<MessageFields> {
    let (unit, rest) = message.trim().split_once(": ")?;
    let ended = rest
        .strip_prefix("Main process exited, ")
        .or_else(|| rest.strip_prefix("main process exited, "))?;
    let status = ended.rsplit_once("status=")?.1;
    let in_order = ["0/", "15/", "143/"]
        .iter()
        .any(|end| status.starts_with(end))
        || status == "143";
    if in_order || !is_ours(unit) {
        return None;
    }
    let mut fields = about(Kind::UnitEnded, Some(unit));
    fields.error = Some(ErrorTail::new(rest));
    Some(fields)
}

fn is_ours(unit: &str) -> bool {
    let name = unit.strip_suffix(".service");
    owner_of(unit.as_bytes()).is_kubelet() || name.is_some_and(|name| RUNTIMES.contains(&name))
}

const RUNTIMES: &[&str] = &[
    "docker",
    "containerd",
    "crio",
    "cri-docker",
    "snap.docker.dockerd",
    "snap.microk8s.daemon-containerd",
];

fn about(kind: Kind, what: Option<&str>) -> MessageFields {
    let mut fields = MessageFields::new(kind);
    fields.detail(bounded(what.unwrap_or_default(), DETAIL));
    fields
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(message: &str, owner: Owner) -> Option<(Kind, Option<String>)> {
        foreign(message, owner).map(|fields| (fields.kind, fields.detail))
    }

    #[test]
    fn the_kernels_words_are_known_with_whom_they_are_about() {
        for (text, kind, what) in [
            (
                "Out of memory: Killed process 1201 (dockerd) total-vm:3456789kB, anon-rss:1kB",
                Kind::OutOfMemory,
                "dockerd",
            ),
            (
                "[98765.432100] Out of memory: Kill process 4711 (java) score 900 or sacrifice child",
                Kind::OutOfMemory,
                "java",
            ),
            (
                "INFO: task kworker/u16:3:1201 blocked for more than 120 seconds.",
                Kind::HungTask,
                "kworker/u16:3",
            ),
            (
                "nfs: server 10.0.0.5 not responding, still trying",
                Kind::ServerSilent,
                "10.0.0.5",
            ),
            (
                "CIFS: VFS: \\\\files has not responded in 180 seconds. Reconnecting...",
                Kind::ServerSilent,
                "\\\\files",
            ),
            ("nfs: server 10.0.0.5 OK", Kind::ServerAnswers, "10.0.0.5"),
            (
                "unregister_netdevice: waiting for eth0 to become free. Usage count = 1",
                Kind::NetdeviceHeld,
                "eth0",
            ),
            (
                "blk_update_request: I/O error, dev sda, sector 2048 op 0x1:(WRITE)",
                Kind::DiskError,
                "sda",
            ),
        ] {
            let expected = Some((kind, Some(what.to_owned())));
            assert_eq!(told(text, Owner::Kernel), expected, "{text}");
            for other in [Owner::Systemd, Owner::Other] {
                assert_eq!(told(text, other), None, "{text}");
            }
        }
    }

    #[test]
    fn what_the_kernel_says_of_other_things_is_nothing() {
        for text in [
            "",
            "[",
            "[12345.678901] ",
            "Memory cgroup out of memory: Killed process 4711 (java) total-vm:9kB",
            "hub 1-0:1.0: device not responding",
            "usb 1-1: new device",
            "docker.service: Main process exited, code=killed, status=9/KILL",
        ] {
            assert_eq!(told(text, Owner::Kernel), None, "{text}");
        }
    }

    #[test]
    fn daemons_ends_are_told_and_stops_are_not() {
        for (text, unit) in [
            (
                "docker.service: Main process exited, code=killed, status=9/KILL",
                "docker.service",
            ),
            (
                "kubelet.service: main process exited, code=exited, status=255/n/a",
                "kubelet.service",
            ),
            (
                "k3s-agent.service: Main process exited, code=dumped, status=6/ABRT",
                "k3s-agent.service",
            ),
        ] {
            let fields = foreign(text, Owner::Systemd).unwrap();
            assert_eq!(fields.kind, Kind::UnitEnded);
            assert_eq!(fields.detail.as_deref(), Some(unit));
            let ended = fields.error.as_ref().map(|error| &*error.text);
            assert_eq!(ended, text.split_once(": ").map(|(_, ended)| ended));
            assert_eq!(told(text, Owner::Other), None);
        }
        for text in [
            "docker.service: Main process exited, code=killed, status=15/TERM",
            "docker.service: Main process exited, code=exited, status=0/SUCCESS",
            "containerd.service: Main process exited, code=exited, status=143/n/a",
            "backup.service: Main process exited, code=exited, status=1/FAILURE",
            "docker.socket: Main process exited, code=killed, status=9/KILL",
            "docker.service: Succeeded.",
        ] {
            assert_eq!(told(text, Owner::Systemd), None, "{text}");
        }
    }
}
