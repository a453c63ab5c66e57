//! What the log alone tells of a systemd that does not answer: the words in which calls to the runtime failed.
//!
//! They are the runtime's, passed on by the kubelet: one source, and a suspicion.

use super::{RULE, naming, remedies};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Severity, Subject, Variant};
use crate::kubelet::summary::PAUSE;
use crate::rules::daemon;
use crate::rules::lines::Episode;

/// The words that tell of an answer that did not come. That a unit could not be started has other reasons, too.
const WAITED: &[&str] = &[
    "org.freedesktop.systemd1': timed out",
    "aiting for systemd to create",
    "message bus without replying",
    "ailed to list units: Connection timed out",
];
/// One may be a reload of systemd.
const OFTEN: u64 = 2;

/// Returns the finding, where several calls in one episode failed so.
pub(super) fn by_the_log(evidence: &Evidence) -> Option<Finding> {
    let all = naming(evidence, WAITED);
    let Episode {
        lines: logged,
        active,
        first,
        last,
    } = all.episode(evidence, OFTEN, PAUSE)?;
    let while_it_lasted = match active {
        true => "",
        false => " It is resolved.",
    };
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: match active {
            true => "systemd does not answer over D-Bus, as failed calls say",
            false => "systemd did not answer over D-Bus for a time, as failed calls say",
        }
        .to_owned(),
        severity: match active {
            true => Severity::Critical,
            false => Severity::Warning,
        },
        confidence: Confidence::Suspected,
        active,
        explanation: format!(
            "Calls to the runtime failed since systemd did not answer it over D-Bus ({}, {first} to {last}). With the cgroup driver systemd each start and stop of a container waits for it, the container's status with it, and so does the kubelet's relist.{while_it_lasted}",
            logged.counted()
        ),
        subjects: vec![Subject {
            pid: Some(1),
            ..daemon("systemd")
        }],
        citations: logged.cite(4),
        remedies: match active {
            true => remedies(false),
            false => Vec::new(),
        },
        spans: all.spans(),
    })
}
