//! `memory-starved`: the machine has no memory left, so that its daemons wait for it or were killed.
//!
//! A container that ran into its own limit is not the machine's want. The kernel alone says all this: suspected.

mod oom_before_outage;

use super::support::answer::{Absent, Answer, Draft};
use super::support::case::Case;
use super::support::holders::span;
use super::support::{cite, step};
use super::{Detection, Explains, Rule, Tier};
use crate::evidence::FRESH;
use crate::finding::{Remedy, Severity};
use crate::node::{Host, KernelKind, KernelLine};
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "memory-starved",
    title: "The node is out of memory",
    page: include_str!("../../docs/findings/memory-starved.md"),
    // Only suspected: what it says must not silence that nothing is known.
    explains: Explains::Nothing,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// In that share of the last ten seconds, in per cent, all that had something to do waited for memory. A machine that
/// is well has 0; systemd-oomd kills at 60.
const STALLED: f64 = 10.0;
/// The kubelet evicts pods below that (its default `memory.available<100Mi`).
const LOW: u64 = 100 << 20;

fn evaluate(case: &Case) -> Answer {
    let draft = now(case).or_else(|| oom_before_outage::draft(case));
    draft.map_or_else(|| absent(case).into(), Answer::from)
}

fn absent(case: &Case) -> Absent {
    const SEE: &str = "dmesg -T | grep -iE 'out of memory|oom-kill' | tail # as root";
    let absent = Absent::needs_host();
    let Some(host) = case.host() else {
        return absent;
    };
    let pressure = &host.pressure;
    let Some((left, total)) = pressure.memory_available.zip(pressure.memory_total) else {
        return absent;
    };
    let (left, total) = (left >> 20, total >> 20);
    if pressure.oom_kills == Some(0) {
        return absent.ruled_out(
            format!(
                "the kernel has killed no process for memory since boot, and {left} MiB of {total} are left"
            ),
            &["vmstat", "meminfo"],
        );
    }
    // It may have run out before, and have been given back by those that were killed.
    if host.kernel_messages_unread {
        return absent.left_open(
            "the kernel's messages were not read, and it may have killed for memory before",
            SEE,
        );
    }
    if shows_no_kill(host) {
        return absent.left_open(
            "memory that is left now says nothing of kills before, and the kernel's messages that were seen show none",
            SEE,
        );
    }
    absent.ruled_out(
        format!("{left} MiB of memory are left of {total}"),
        &["meminfo"],
    )
}

/// Whether the kernel may have killed, and what is there of its messages does not show whom and when: its buffer forgets,
/// and kernels before 4.13 do not count.
fn shows_no_kill(host: &Host) -> bool {
    let mut lines = host.kernel_lines.iter();
    match host.pressure.oom_kills {
        Some(_) => lines.all(|line| line.kind != KernelKind::OutOfMemory),
        None => lines.len() == 0,
    }
}

/// What the machine lacks now.
fn now(case: &Case) -> Option<Draft> {
    let host = case.host()?;
    let mut draft = Draft::new(Severity::Warning, RULE.title);
    let mut is_short = false;
    let mut add = |sentence: String, source: &str, text: String| {
        let empty = Draft::new(Severity::Warning, RULE.title);
        let own = std::mem::replace(&mut draft, empty);
        draft = own
            .say(sentence)
            .cite([cite::host(case.evidence, source, text)]);
        is_short = true;
    };
    if let Some(stalled) = stalled(host) {
        let sentence = format!(
            "All tasks were stalled on memory {stalled:.0} % of the last 10 s (PSI `memory full avg10`)."
        );
        add(
            sentence,
            "pressure/memory",
            format!("full avg10={stalled:.2}"),
        );
    }
    if let Some(left) = host.pressure.memory_available.filter(|&left| left < LOW) {
        let total = host.pressure.memory_total.unwrap_or(0) >> 20;
        let sentence = format!("{} MiB are left of {total} MiB.", left >> 20);
        add(
            sentence,
            "meminfo",
            format!("MemAvailable: {} kB", left >> 10),
        );
    }
    if let Some((killed, ago)) = killed(host) {
        let sentence = format!("The kernel killed a process for it {} ago.", span(ago));
        add(sentence, "kernel", killed.text.clone());
    }
    is_short.then(|| {
        draft
            .say("Daemons that wait for memory answer late or never, and a killed one leaves its containers unsupervised; the kubelet's relist is then slow or fails.")
            .steps(steps())
    })
}

fn stalled(host: &Host) -> Option<f64> {
    host.pressure.memory?.full.filter(|&full| full >= STALLED)
}

/// The machine's last kill for lack of memory and how long ago it was, if that was a moment ago.
fn killed(host: &Host) -> Option<(&KernelLine, Duration)> {
    let fresh = FRESH.to_std().unwrap_or_default();
    let kills = host.kernel_lines.iter().rev();
    kills
        .filter(|line| line.kind == KernelKind::OutOfMemory)
        .filter_map(|line| Some((line, line.ago?)))
        .find(|&(_, ago)| ago <= fresh)
}

fn steps() -> [Remedy; 2] {
    [
        step::look(
            "See which processes use the memory",
            "ps -eo rss,pid,ppid,args --sort=-rss | head -20",
        ),
        step::look(
            "See what the kernel killed",
            "dmesg -T | grep -iE 'out of memory|oom-kill' | tail",
        )
        .note("restart what was killed if needed, and give pods without limits some"),
    ]
}
