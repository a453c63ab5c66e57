//! `memory-starved`: the machine has no memory left, so that its daemons wait for it or were killed.
//!
//! A container that ran into its own limit is not the machine's want. The kernel alone says all this: suspected.

mod storm;

use super::holders::span;
use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{holders, node};
use crate::evidence::{Evidence, FRESH};
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Variant};
use crate::node::{Host, KernelKind, KernelLine};
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "memory-starved",
    title: "The node is out of memory",
    // Only suspected: what it says must not silence that nothing is known.
    explains: false,
    bearing: Bearing {
        behind: &[],
        feeds: &[
            "runtime-down",
            "hung-runtime",
            "hung-container",
            "frozen-daemon",
            "slow-relist",
            "pleg-unexplained",
        ],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/memory-starved.md"),
    check,
};

/// In that share of the last ten seconds, in per cent, all that had something to do waited for memory. A machine that
/// is well has 0; systemd-oomd kills at 60.
const STALLED: f64 = 10.0;
/// The kubelet evicts pods below that (its default `memory.available<100Mi`).
const LOW: u64 = 100 << 20;

fn judge(scene: &Scene) -> Judged {
    const SEE: &str = "dmesg -T | grep -iE 'out of memory|oom-kill' | tail # as root";
    let pressure = scene.host().map(|host| &host.pressure);
    // It may have run out before, and have been given back by those that were killed.
    let killed = pressure.is_none_or(|pressure| pressure.oom_kills != Some(0));
    let host = scene.evidence.host.as_ref();
    let unread = host.is_some_and(|host| host.kernel_messages_unread);
    match pressure.and_then(|pressure| pressure.memory_available.zip(pressure.memory_total)) {
        Some(_) if killed && unread => scene.open(
            "the kernel's messages were not read, and it may have killed for memory before",
            SEE,
        ),
        Some(_) if killed && scene.host().is_some_and(tells_no_kill) => scene.open(
            "memory that is left now says nothing of kills before, and the kernel's messages that were seen show none",
            SEE,
        ),
        Some((left, total)) => {
            let (left, total) = (left >> 20, total >> 20);
            match killed {
                true => Judged::out(
                    format!("{left} MiB of memory are left of {total}"),
                    "meminfo",
                ),
                false => Judged::Out {
                    because: format!(
                        "the kernel has killed no process for memory since boot, and {left} MiB of {total} are left"
                    ),
                    by: ["vmstat", "meminfo"].map(str::to_owned).to_vec(),
                },
            }
        }
        None => scene.needs_host(),
    }
}

/// Whether the kernel may have killed, and what is there of its messages does not show whom and when: its buffer forgets,
/// and kernels before 4.13 do not count.
fn tells_no_kill(host: &Host) -> bool {
    let mut lines = host.kernel_lines.iter();
    match host.pressure.oom_kills {
        Some(_) => lines.all(|line| line.kind != KernelKind::OutOfMemory),
        None => lines.len() == 0,
    }
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let now = evidence.host.as_ref().and_then(|host| now(evidence, host));
    now.or_else(|| storm::before_the_lag(evidence))
        .into_iter()
        .collect()
}

/// What the machine lacks now.
fn now(evidence: &Evidence, host: &Host) -> Option<Finding> {
    let mut told = Vec::new();
    let mut citations = Vec::new();
    let mut cite = |source: &str, text: String| {
        citations.push(holders::cite(evidence, source, text));
    };
    if let Some(stalled) = stalled(host) {
        told.push(format!(
            "In {stalled:.0} % of the last ten seconds everything that had something to do waited for memory."
        ));
        cite("pressure/memory", format!("full avg10={stalled:.2}"));
    }
    if let Some(left) = host.pressure.memory_available.filter(|&left| left < LOW) {
        told.push(format!(
            "{} MiB are left of {} MiB.",
            left >> 20,
            host.pressure.memory_total.unwrap_or(0) >> 20
        ));
        cite("meminfo", format!("MemAvailable: {} kB", left >> 10));
    }
    if let Some((killed, ago)) = killed(host) {
        told.push(format!(
            "The kernel killed a process for it {} ago.",
            span(ago)
        ));
        cite("kernel", killed.text.clone());
    }
    if told.is_empty() {
        return None;
    }
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: RULE.title.to_owned(),
        severity: Severity::Warning,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "{} Daemons that wait for memory answer late or never, and one that was killed leaves its containers unsupervised; the kubelet's relist is then slow or fails.",
            told.join(" ")
        ),
        subjects: vec![node(evidence)],
        citations,
        remedies: remedies(),
        spans: Vec::new(),
    })
}

fn stalled(host: &Host) -> Option<f64> {
    host.pressure.memory?.full.filter(|&full| full >= STALLED)
}

/// Returns the machine's last kill for lack of memory and how long ago it was, if that was a moment ago.
fn killed(host: &Host) -> Option<(&KernelLine, Duration)> {
    let fresh = FRESH.to_std().unwrap_or_default();
    let kills = host.kernel_lines.iter().rev();
    kills
        .filter(|line| line.kind == KernelKind::OutOfMemory)
        .filter_map(|line| Some((line, line.ago?)))
        .find(|&(_, ago)| ago <= fresh)
}

fn remedies() -> Vec<Remedy> {
    vec![
        Remedy {
            title: "See who has the memory".to_owned(),
            risk: Risk::Safe,
            command: "ps -eo rss,pid,ppid,args --sort=-rss | head -20".to_owned(),
            cost: "nothing".to_owned(),
            actions: Vec::new(),
        },
        Remedy {
            title: "See whom the kernel killed".to_owned(),
            risk: Risk::Safe,
            command: "dmesg -T | grep -iE 'out of memory|oom-kill' | tail".to_owned(),
            cost: "nothing; what was killed may have to be started again, and pods without limits be given some".to_owned(),
            actions: Vec::new(),
        },
    ]
}
