//! `systemd-unresponsive`: systemd does not answer over D-Bus, so that nothing that asks it for a cgroup can start or
//! end a container.
//!
//! One question without an answer is one source: a busy machine may need longer. What its process does, who waits for
//! it, or what the kubelet logs, is another.

use super::support::answer::{Absent, Answer, Draft};
use super::support::case::Case;
use super::support::holders::{self, doing, span};
use super::support::log_lines::{Episode, LogMatches};
use super::support::{cite, step, subject};
use super::{Detection, EACH, Explains, Rule, Tier};
use crate::evidence::Evidence;
use crate::finding::action::Action;
use crate::finding::{Remedy, Severity, Subject};
use crate::kubelet::event::Event;
use crate::kubelet::summary::{Group, PAUSE};
use crate::node::{Bus, Host, Process, Role, State, Systemd};
use std::collections::BTreeSet;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "systemd-unresponsive",
    title: "systemd does not answer over D-Bus",
    page: include_str!("../../docs/findings/systemd-unresponsive.md"),
    explains: Explains::Lag,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// What a call says that waited for systemd without success, in the words of libcontainer, its D-Bus client and the bus.
const SIGNS: &[&str] = &[
    "org.freedesktop.systemd1",
    "aiting for systemd to create",
    "unable to start unit",
    "dbus: connection closed",
    "message bus without replying",
    "ailed to list units",
];
/// The words for an answer that did not come. That a unit could not be started has other reasons, too.
const WAITED: &[&str] = &[
    "org.freedesktop.systemd1': timed out",
    "aiting for systemd to create",
    "message bus without replying",
    "ailed to list units: Connection timed out",
];
/// One may be a reload of systemd.
const MIN_LINES: u64 = 2;

/// From this share of a processor on, in per cent, its process does nothing but turn in a circle.
const SPINS: f64 = 90.0;

/// What else shows that systemd does not answer.
struct Signs<'a> {
    /// What its process does, if that is not its ordinary wait.
    process: Option<String>,
    /// The OCI runtime's processes that need it and do not end.
    waiting: Vec<&'a Process>,
    /// The kubelet's lines that name it.
    logged: LogMatches<'a>,
}

impl Signs<'_> {
    /// Whether one of them is proof. One OCI runtime may hang alone; those of several containers do not.
    fn are_proof(&self) -> bool {
        let containers: BTreeSet<_> = self.waiting.iter().map(|it| &it.container).collect();
        self.process.is_some() || !self.logged.is_empty() || containers.len() > 1
    }
}

fn evaluate(case: &Case) -> Answer {
    let asked = case
        .host()
        .and_then(|host| Some((host, host.systemd.as_ref()?)));
    let Some((host, systemd)) = asked else {
        return from_log(case).map_or_else(|| absent(case).into(), Answer::from);
    };
    match systemd.bus {
        Bus::Silent(waited) => {
            let signs = Signs {
                process: odd(systemd),
                waiting: waiting(host),
                logged: logged(case.evidence),
            };
            describe(case, host, waited, &signs).into()
        }
        Bus::Answered(took, _) => {
            let millis = took.as_millis().max(1);
            let because = format!("systemd answers over D-Bus in {millis} ms");
            let absent = Absent::needs_host();
            absent
                .ruled_out(because, &["busctl get-property … Version"])
                .into()
        }
        _ => Absent::needs_host().silent().into(),
    }
}

fn absent(case: &Case) -> Absent {
    let absent = Absent::needs_host();
    match case.host() {
        Some(_) => absent.left_open(
            "systemd was not asked",
            "timeout 10 busctl status org.freedesktop.systemd1",
        ),
        None => absent,
    }
}

/// What systemd's process does, if that is why it does not answer.
fn odd(systemd: &Systemd) -> Option<String> {
    let state = systemd.state?;
    match state {
        State::Uninterruptible | State::Stopped | State::Traced | State::Dead => Some(format!(
            "Its process is not running ({}).",
            doing(state, systemd.wchan.as_deref())
        )),
        State::Running | State::Sleeping => systemd
            .busy
            .filter(|&busy| busy >= SPINS)
            .map(|busy| format!("Its process took {busy:.0} % of a processor meanwhile.")),
    }
}

/// The OCI runtime's processes that have to ask systemd for their cgroup, and have run for too long.
fn waiting(host: &Host) -> Vec<&Process> {
    let asks = |process: &&Process| {
        let mut words = process.command.iter().flatten();
        matches!(process.role, Role::OciRuntime(_))
            && process.age.is_some_and(|age| age >= holders::STUCK)
            && words.any(|word| word == "--systemd-cgroup")
    };
    host.processes.iter().filter(asks).collect()
}

/// The log's last lines that name systemd, if no recovery follows.
fn logged(evidence: &Evidence) -> LogMatches<'_> {
    let lines = naming(evidence, SIGNS).latest();
    match lines.go_on(evidence) {
        true => lines,
        false => LogMatches::default(),
    }
}

/// The log's lines whose error has one of these words.
fn naming<'a>(evidence: &'a Evidence, words: &[&str]) -> LogMatches<'a> {
    let names = |event: &Event| {
        let error = event.error.as_ref().map_or("", |error| &*error.text);
        words.iter().any(|word| error.contains(word))
    };
    LogMatches::all(evidence, |group: &Group| names(&group.last))
}

fn systemd_itself() -> Subject {
    Subject {
        pid: Some(1),
        ..subject::daemon("systemd")
    }
}

fn describe(case: &Case, host: &Host, waited: Duration, signs: &Signs) -> Draft {
    let evidence = case.evidence;
    let seconds = waited.as_secs_f64();
    let call = "busctl get-property … Version";
    let state = host.systemd.as_ref().filter(|_| signs.process.is_some());
    let state = state.map(|systemd| {
        let state = systemd
            .state
            .map_or_else(String::new, |state| doing(state, systemd.wchan.as_deref()));
        let busy = systemd
            .busy
            .map_or_else(String::new, |busy| format!(", {busy:.0} % of a processor"));
        cite::host(evidence, "process 1", format!("systemd, {state}{busy}"))
    });
    let severity = match signs.logged.is_empty() {
        true => Severity::Warning,
        false => Severity::Critical,
    };
    let lines = match signs.logged.is_empty() {
        true => String::new(),
        false => format!(
            "The kubelet's calls fail with its name ({}).",
            signs.logged.counted()
        ),
    };
    let waiting = signs.waiting.iter().take(EACH).map(|process| Subject {
        id: process.container.clone(),
        name: Some(process.program().to_owned()),
        ..subject::process_of_pod(process)
    });
    Draft::new(severity, RULE.title)
        .say(format!(
            "systemd was asked for its version over D-Bus and did not answer in {seconds:.1} s; an answer takes some milliseconds."
        ))
        .say(signs.process.clone().unwrap_or_default())
        .say(processes_that_wait(&signs.waiting))
        .say(lines)
        .say(effect(host))
        .about([systemd_itself()])
        .about(waiting)
        .cite(signs.logged.cite(3))
        .cite([cite::host(evidence, call, format!("no answer in {seconds:.1} s"))])
        .cite(state)
        .cite(signs.waiting.iter().take(2).map(|it| cite::process(evidence, it)))
        .confirmed_if(signs.are_proof())
        .spans(&signs.logged)
        .steps(steps(signs.are_proof()))
}

fn processes_that_wait(waiting: &[&Process]) -> String {
    let Some(oldest) = waiting.iter().filter_map(|process| process.age).max() else {
        return String::new();
    };
    let oldest = span(oldest);
    match waiting.len() {
        1 => format!(
            "1 OCI runtime process that does not end (running for {oldest}) has to ask it for a cgroup."
        ),
        number => format!(
            "{number} OCI runtime processes that do not end (the oldest for {oldest}) have to ask it for a cgroup."
        ),
    }
}

const EFFECT: &str = "With the cgroup driver systemd each start and stop of a container waits for it, the container's status with it, and so does the kubelet's relist.";

fn effect(host: &Host) -> &'static str {
    let settings = host.kubelet_settings.as_ref();
    match settings.and_then(|settings| settings.cgroup_driver.as_deref()) {
        Some("cgroupfs") => {
            "This kubelet makes its cgroups itself (cgroup driver cgroupfs), so containers may start all the same; units, such as Docker's, can be neither restarted nor examined."
        }
        Some("systemd") => {
            "This kubelet has its cgroups made by systemd (cgroup driver systemd): each start and stop of a container waits for it, the container's status with it, and so does the kubelet's relist."
        }
        _ => EFFECT,
    }
}

/// Several calls of one episode that failed since systemd did not answer. The words are the runtime's, passed on by the
/// kubelet: one source, and a suspicion.
fn from_log(case: &Case) -> Option<Draft> {
    let all = naming(case.evidence, WAITED);
    let Episode {
        lines,
        active,
        first,
        last,
    } = all.episode(case.evidence, MIN_LINES, PAUSE)?;
    let (title, resolved) = if active {
        (
            "systemd does not answer over D-Bus, as failed calls say",
            "",
        )
    } else {
        (
            "systemd did not answer over D-Bus for a time, as failed calls say",
            "It is resolved.",
        )
    };
    Some(
        Draft::new(Severity::Critical, title)
            .active(active)
            .once_resolved(Severity::Warning)
            .say(format!(
                "Calls to the runtime failed because systemd did not answer it over D-Bus ({}, {first} to {last}).",
                lines.counted()
            ))
            .say(EFFECT)
            .say(resolved)
            .about([systemd_itself()])
            .cite(lines.cite(4))
            .spans(&all)
            .steps(steps(false)),
    )
}

/// What to do; with proof, plegdoctor may do the first step that changes something.
fn steps(proved: bool) -> [Remedy; 4] {
    let reexec = proved.then_some(Action::ReexecSystemd);
    [
        step::look(
            "Check that it still does not answer",
            "timeout 10 busctl get-property org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager Version",
        ),
        step::look(
            "See what it does, and how many mounts and units it manages",
            "ps -o pid,stat,pcpu,wchan:24,args -p 1; wc -l < /proc/1/mountinfo; journalctl -n 50 --no-pager _PID=1",
        ),
        step::node(
            "Re-execute systemd",
            "systemctl daemon-reexec # or, if that does not answer either: kill -TERM 1",
            "units and containers keep running; systemd keeps its state",
        )
        .actions(reexec.into_iter().collect()),
        step::node(
            "Reboot the node, if that does not help",
            "systemctl reboot --force # drain the node first",
            "everything on the node ends",
        ),
    ]
}
