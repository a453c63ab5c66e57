//! `cni-hang`: a network plugin does not end, so its sandbox is neither made nor removed.
//!
//! The kubelet (with Docker) or containerd calls the plugin and waits; Docker itself answers all the while.

use super::support::answer::{Absent, Answer, Draft};
use super::support::case::Case;
use super::support::holders::{doing, span};
use super::support::log_lines::LogMatches;
use super::support::wording::clock;
use super::support::{calls, cite, holders, step, subject};
use super::{Detection, Explains, Rule, Tier};
use crate::finding::Severity;
use crate::kubelet::event::ErrorClass;
use crate::kubelet::incident::CALL_TIMEOUT;
use crate::kubelet::summary::Log;
use crate::node::{Host, Process, Role, State};
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "cni-hang",
    title: "A network plugin hangs",
    page: include_str!("../../docs/findings/cni-hang.md"),
    explains: Explains::Lag,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// One that waited in vain may have met an agent that was just restarted.
const MIN_LINES: u64 = 3;
/// The kubelet tries again at least that often.
const RETRIES: TimeDelta = TimeDelta::minutes(5);

fn evaluate(case: &Case) -> Answer {
    let hung = case.host().map(hung).unwrap_or_default();
    let found = match hung.first() {
        Some(oldest) => Some(from_host(case, oldest, &hung)),
        None => from_log(case),
    };
    found.map_or_else(|| absent(case).into(), Answer::from)
}

fn absent(case: &Case) -> Absent {
    // A plugin is known by who called it: CRI-O's are not.
    let known = case.whole_host().is_some() && !holders::daemons(case.evidence).is_empty();
    let absent = Absent::needs_host();
    let absent = match known {
        true => absent.ruled_out(
            "no network plugin has run for 2 minutes",
            &["the host's processes"],
        ),
        false => absent,
    };
    absent
        .no_line_if(calls::NETWORK_AND_STATUS, ErrorClass::Deadline, |outage| {
            let at_the_list = outage.list_errors > 0 && outage.rises == 1;
            // Each relist came to its end, so that no status waits for ever, and what waits for a while is given up.
            match outage.rises > 1 {
                _ if at_the_list => Some("each relist failed at its list, before any sandbox's status was asked for"),
                true => Some("no call that waits for a network plugin timed out: to make, stop or inspect a sandbox"),
                false => None,
            }
            .map(str::to_owned)
        })
}

fn from_host(case: &Case, oldest: &Process, hung: &[&Process]) -> Draft {
    let (name, pid) = (oldest.program(), oldest.pid);
    let age = oldest.age.unwrap_or_default();
    let started = TimeDelta::from_std(age)
        .ok()
        .map(|age| case.evidence.now - age);
    let lines = case.failed(calls::NETWORK, ErrorClass::Deadline).latest();
    // Relists may go on all the while: what counts is that the call was given up while the plugin ran.
    let given_up = lines
        .last()
        .zip(started)
        .is_some_and(|(last, started)| last >= started);
    let lines = Some(lines).filter(|_| given_up).unwrap_or_default();
    let severity = match given_up && lines.go_on(case.evidence) {
        true => Severity::Critical,
        false => Severity::Warning,
    };
    let more = match hung.len() {
        1 => String::new(),
        number => format!(" So are {} others.", number - 1),
    };
    let state = doing(oldest.state, oldest.wchan.as_deref());
    Draft::new(severity, format!("The network plugin {name} (process {pid}) does not end"))
        .say(format!(
            "The network plugin {name}, process {pid}, has run for {} ({state}); plugins take seconds, and the kubelet gives up after 2 minutes.{more} Until it ends, the pod's sandbox is neither made nor removed, and a kubelet that calls the plugin itself may wait with its relist.",
            span(age),
        ))
        .about(hung.iter().map(|it| subject::process(it.pid, Some(it.program()))))
        .lines(&lines, 2)
        .seen(hung.iter().take(3).map(|it| cite::process(case.evidence, it)))
        .steps([
            step::look(
                "See what it waits for",
                format!("ps -o pid,ppid,stat,etime,wchan:24,args --pid {pid} --ppid {pid}; ls -l /proc/{pid}/fd"),
            )
            .note("mostly it waits for its agent or its address server, and fixing that is the cure"),
            step::disruptive(
                "Kill that one plugin",
                format!("kill {pid}"),
                "that one sandbox fails, and the kubelet tries again; an address may be left reserved",
            ),
        ])
}

/// What the log alone shows: again and again a plugin gave up waiting, and the runtime passes that on.
fn from_log(case: &Case) -> Option<Draft> {
    let lines =
        LogMatches::failed_network(case.evidence, calls::NETWORK, ErrorClass::Deadline).latest();
    let error = lines.last_error()?;
    // Only dockershim and cri-dockerd ask a plugin within a status. In an outage of another runtime, whose words are
    // others, this would hide that its cause is not known.
    let elsewhere =
        case.log().is_some_and(Log::has_outage) && !error.text.contains("etworkPlugin ");
    if lines.number() < MIN_LINES || !lines.are_recent(case.evidence, RETRIES) || elsewhere {
        return None;
    }
    let (first, last) = (
        clock(case.evidence, lines.first()),
        clock(case.evidence, lines.last()),
    );
    Some(
        Draft::new(Severity::Warning, "A network plugin times out, and its sandboxes are neither made nor removed")
            .say(format!(
                "The runtime passes on that a network plugin gave up waiting ({}, {first} to {last}): \"{}\". The sandbox is neither made nor removed meanwhile, and a kubelet that calls the plugin itself may wait with its relist.",
                lines.counted(),
                error.text
            ))
            .about(lines.0.iter().map(|group| subject::of_event(&group.first)))
            .lines(&lines, 4)
            .spans(&lines)
            .steps([step::look(
                "See which plugins run, and since when (they take a second or two)",
                "ps -eo pid,ppid,stat,etime,wchan:24,args | grep -E '/opt/cni/bin/[a-z]'",
            )
            .note("mostly a plugin waits for its agent or for the API server, and fixing that is the cure")]),
    )
}

/// The plugins that have outlasted the kubelet's call, the oldest first; of a plugin and the one that it called in turn,
/// the latter.
fn hung(host: &Host) -> Vec<&Process> {
    let limit = CALL_TIMEOUT.to_std().unwrap_or(holders::STUCK);
    let is_plugin = |it: &&Process| it.role == Role::CniPlugin && it.state != State::Dead;
    let plugins = || host.processes.iter().filter(is_plugin);
    let mut hung: Vec<_> = plugins()
        .filter(|it| it.age.is_some_and(|age| age >= limit))
        .filter(|it| !plugins().any(|other| other.ppid == it.pid))
        .collect();
    hung.sort_by_key(|process| process.start_ticks);
    hung
}
