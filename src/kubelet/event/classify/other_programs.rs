//! What other programs log, in a log of all programs or in the kubelet's own messages: the kernel (out of memory, hung
//! tasks, silent servers, failing disks), systemd (daemons that ended), iptables (its lock), and whoever sets the clock.
//!
//! The kernel's phrases are those of `node::pressure`. The same words from any other program are only its words.

use super::MAX_DETAIL;
use crate::kubelet::event::{ErrorTail, Kind, MessageFields, bounded};
use crate::node::KernelKind;
use crate::node::pressure::{answering, kernel_words};
use crate::syntax::framing::{Owner, owner_of};

/// What a message of another program than the kubelet says, where that matters.
pub(crate) fn foreign(message: &str, owner: Owner) -> Option<MessageFields> {
    let found = match owner {
        Owner::Kernel => kernel(message),
        Owner::Systemd => unit(message),
        _ => None,
    };
    found.or_else(|| clock(message))
}

/// How these are logged, where no template says so.
pub(in crate::kubelet::event) fn wording(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::XtablesLocked => &["<any>Another app is currently holding the xtables lock<any>"],
        Kind::ClockStepped => &[
            "Time has been changed",
            "<any> clock_step <any> s",
            "System clock was stepped by <any> seconds",
        ],
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

/// A daemon's end, as systemd logs it: `docker.service: Main process exited, code=killed, status=9/KILL`. One that was
/// asked to end is none.
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
    fields.detail(bounded(what.unwrap_or_default(), MAX_DETAIL));
    fields
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

/// iptables says so on standard error; whoever ran it repeats it in some message of its own.
const LOCK: &str = "holding the xtables lock";

/// Pushes that iptables found its lock taken, if a message of no other kind says so.
pub(super) fn locked(text: &str, out: &mut Vec<MessageFields>) {
    if memchr::memmem::find(text.as_bytes(), LOCK.as_bytes()).is_some() {
        let mut fields = MessageFields::new(Kind::XtablesLocked);
        fields.error = Some(ErrorTail::new(text));
        out.push(fields);
    }
}

/// Returns the runtime's version, as a kubelet logs it when it has found its runtime.
pub(super) fn runtime_version(
    fields: &MessageFields,
    version: Option<&str>,
) -> Option<MessageFields> {
    let (name, version) = fields.detail.as_deref().zip(version)?;
    if fields.kind != Kind::RuntimeInitialized {
        return None;
    }
    let mut found = MessageFields::new(Kind::SoftwareVersion);
    found.detail(&format!("{name} {version}"));
    found.carrier = Some(fields.kind);
    Some(found)
}

/// Returns what a message of another program says of the clock, if it was set:
///
/// - systemd (src/core/manager.c): `Time has been changed`
/// - ntpd: `0.0.0.0 061c 0c clock_step +28799.938451 s`
/// - chronyd: `System clock was stepped by 28799.938451 seconds`
pub(super) fn clock(message: &str) -> Option<MessageFields> {
    let message = message.trim();
    let mut fields = MessageFields::new(Kind::ClockStepped);
    if matches!(message, "Time has been changed" | "Time has been changed.") {
        return Some(fields);
    }
    let by = match message.strip_prefix("System clock was stepped by ") {
        Some(rest) => rest.strip_suffix(" seconds")?,
        None => message.split_once("clock_step ")?.1.strip_suffix(" s")?,
    };
    by.parse::<f64>().ok().filter(|by| by.is_finite())?;
    fields.detail(&format!("{by} s"));
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_foreign(message: &str, owner: Owner) -> Option<(Kind, Option<String>)> {
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
            assert_eq!(read_foreign(text, Owner::Kernel), expected, "{text}");
            for other in [Owner::Systemd, Owner::Other] {
                assert_eq!(read_foreign(text, other), None, "{text}");
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
            assert_eq!(read_foreign(text, Owner::Kernel), None, "{text}");
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
            assert_eq!(read_foreign(text, Owner::Other), None);
        }
        for text in [
            "docker.service: Main process exited, code=killed, status=15/TERM",
            "docker.service: Main process exited, code=exited, status=0/SUCCESS",
            "containerd.service: Main process exited, code=exited, status=143/n/a",
            "backup.service: Main process exited, code=exited, status=1/FAILURE",
            "docker.socket: Main process exited, code=killed, status=9/KILL",
            "docker.service: Succeeded.",
        ] {
            assert_eq!(read_foreign(text, Owner::Systemd), None, "{text}");
        }
    }

    fn read(text: &str) -> Vec<MessageFields> {
        let mut out = Vec::new();
        crate::kubelet::event::classify::text(text, &mut out);
        out
    }

    #[test]
    fn a_lock_is_known_in_whatever_message_it_stands() {
        for text in [
            "Failed to ensure that nat chain KUBE-MARK-DROP exists: error creating chain \"KUBE-MARK-DROP\": exit status 4: Another app is currently holding the xtables lock; still 4s 0us time ahead to have a chance to grab the lock...",
            "\"Could not set up iptables canary\" err=\"error creating chain \\\"KUBE-KUBELET-CANARY\\\": exit status 4: Another app is currently holding the xtables lock.\" table=\"mangle\"",
        ] {
            let fields = read(text);
            assert_eq!(fields.len(), 1, "{text}");
            assert_eq!(fields[0].kind, Kind::XtablesLocked, "{text}");
        }
        assert!(
            read("Failed to ensure that nat chain KUBE-MARK-DROP exists: exit status 3").is_empty()
        );
        let mut out = Vec::new();
        let record = br#"{"ts":1796010357319.6,"msg":"Could not set up iptables canary","err":"exit status 4: Another app is currently holding the xtables lock."}"#;
        super::super::record(record, &mut out);
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn versions_are_told_with_their_program() {
        for (text, expected) in [
            (
                "Version: {KernelVersion:5.4.214-120.368.amzn2.x86_64 ContainerOsVersion:Amazon Linux 2 DockerVersion:Unknown DockerAPIVersion:Unknown CadvisorVersion: CadvisorRevision:}",
                "kernel 5.4.214-120.368.amzn2.x86_64",
            ),
            (
                "Container runtime docker initialized, version: 20.10.24+dfsg1, apiVersion: 1.41.0",
                "docker 20.10.24+dfsg1",
            ),
            (
                r#""Container runtime initialized" containerRuntime="containerd" version="1.7.14" apiVersion="v1""#,
                "containerd 1.7.14",
            ),
        ] {
            let fields = read(text);
            let version = fields
                .iter()
                .find(|fields| fields.kind == Kind::SoftwareVersion);
            assert_eq!(version.unwrap().detail.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn others_tell_of_the_clock_and_of_nothing_else() {
        for (text, by) in [
            ("Time has been changed", None),
            (
                "0.0.0.0 061c 0c clock_step +28799.938451 s",
                Some("+28799.938451 s"),
            ),
            ("0.0.0.0 c61c 0c clock_step -0.213 s", Some("-0.213 s")),
            (
                "System clock was stepped by -3600.000012 seconds",
                Some("-3600.000012 s"),
            ),
        ] {
            let fields = clock(text).unwrap();
            assert_eq!(fields.kind, Kind::ClockStepped);
            assert_eq!(fields.detail.as_deref(), by, "{text}");
        }
        for text in [
            "",
            "The time has been changed by the user",
            "Time has been changed to noon",
            "clock_step",
            "clock_step soon s",
            "clock_step inf s",
            "System clock was stepped by a lot",
        ] {
            assert!(clock(text).is_none(), "{text}");
        }
    }
}
