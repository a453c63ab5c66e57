//! What is told aside of the kubelet's own messages: the words of a program that it ran, versions, and what other
//! programs log about the machine's clock.

use super::{MessageFields, machine};
use crate::kubelet::event::{ErrorTail, Kind};

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

/// Returns how what is told aside is worded, where no template says so.
pub(in crate::kubelet::event) fn wording(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::XtablesLocked => &["<any>Another app is currently holding the xtables lock<any>"],
        Kind::ClockStepped => &[
            "Time has been changed",
            "<any> clock_step <any> s",
            "System clock was stepped by <any> seconds",
        ],
        kind => machine::wording(kind),
    }
}

/// Returns the runtime's version, as a kubelet that has just found its runtime tells it.
pub(super) fn runtime_version(
    fields: &MessageFields,
    version: Option<&str>,
) -> Option<MessageFields> {
    let (name, version) = fields.detail.as_deref().zip(version)?;
    if fields.kind != Kind::RuntimeInitialized {
        return None;
    }
    let mut told = MessageFields::new(Kind::SoftwareVersion);
    told.detail(&format!("{name} {version}"));
    told.carrier = Some(fields.kind);
    Some(told)
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

    fn told(text: &str) -> Vec<MessageFields> {
        let mut out = Vec::new();
        super::super::text(text, &mut out);
        out
    }

    #[test]
    fn a_lock_is_known_in_whatever_message_it_stands() {
        for text in [
            "Failed to ensure that nat chain KUBE-MARK-DROP exists: error creating chain \"KUBE-MARK-DROP\": exit status 4: Another app is currently holding the xtables lock; still 4s 0us time ahead to have a chance to grab the lock...",
            "\"Could not set up iptables canary\" err=\"error creating chain \\\"KUBE-KUBELET-CANARY\\\": exit status 4: Another app is currently holding the xtables lock.\" table=\"mangle\"",
        ] {
            let fields = told(text);
            assert_eq!(fields.len(), 1, "{text}");
            assert_eq!(fields[0].kind, Kind::XtablesLocked, "{text}");
        }
        assert!(
            told("Failed to ensure that nat chain KUBE-MARK-DROP exists: exit status 3").is_empty()
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
            let fields = told(text);
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
