//! `systemd-unresponsive`: systemd does not answer over D-Bus, so that nothing that asks it for a cgroup can start or
//! end a container.
//!
//! One question without an answer is one source: a busy machine may need longer. What its process does, who waits for
//! it, or what the kubelet logs, is another.

mod told;

use super::holders::{doing, span};
use super::lines::Lines;
use super::remedies::remedy;
use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{EACH, count, daemon, holders};
use crate::evidence::Evidence;
use crate::finding::action::Action;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant};
use crate::kubelet::event::Event;
use crate::node::{Bus, Host, Process, Role, State, Systemd};
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "systemd-unresponsive",
    title: "systemd does not answer over D-Bus",
    explains: true,
    bearing: Bearing {
        behind: &["hung-container", "hung-runtime"],
        feeds: &[],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/systemd-unresponsive.md"),
    check,
};

/// What a call says that waited in vain for systemd, in the words of libcontainer, its D-Bus client and the bus.
const SIGNS: &[&str] = &[
    "org.freedesktop.systemd1",
    "aiting for systemd to create",
    "unable to start unit",
    "dbus: connection closed",
    "message bus without replying",
    "ailed to list units",
];
/// From this share of a processor on, in per cent, its process does nothing but turn in a circle.
const SPINS: f64 = 90.0;

/// What else shows that systemd does not answer.
struct Signs<'a> {
    /// What its process does, if that is not its ordinary wait.
    process: Option<String>,
    /// The OCI runtime's processes that need it and do not end.
    waiting: Vec<&'a Process>,
    /// The kubelet's lines that name it.
    logged: Lines<'a>,
}

impl Signs<'_> {
    /// Returns whether one of them is proof. One OCI runtime may hang by itself; those of several containers do not.
    fn are_proof(&self) -> bool {
        let mut containers: Vec<_> = self
            .waiting
            .iter()
            .map(|process| &process.container)
            .collect();
        containers.sort_unstable();
        containers.dedup();
        self.process.is_some() || !self.logged.is_empty() || containers.len() > 1
    }
}

fn judge(scene: &Scene) -> Judged {
    let systemd = scene.host().and_then(|host| host.systemd.as_ref());
    match systemd.map(|systemd| &systemd.bus) {
        Some(Bus::Answered(took, _)) => {
            let millis = took.as_millis().max(1);
            Judged::out(
                format!("systemd answers over D-Bus in {millis} ms"),
                "busctl get-property … Version",
            )
        }
        Some(_) => Judged::Unasked,
        None if scene.host().is_none() => scene.needs_host(),
        None => scene.open(
            "systemd was not asked",
            "timeout 10 busctl status org.freedesktop.systemd1",
        ),
    }
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let asked = evidence.host.as_ref().and_then(|host| {
        let systemd = host.systemd.as_ref()?;
        Some((host, systemd))
    });
    let Some((host, systemd)) = asked else {
        return told::by_the_log(evidence).into_iter().collect();
    };
    let Bus::Silent(waited) = systemd.bus else {
        return Vec::new();
    };
    let signs = Signs {
        process: odd(systemd),
        waiting: waiting(host),
        logged: logged(evidence),
    };
    vec![accuse(evidence, host, waited, &signs)]
}

/// Returns what systemd's process does, if that is why it does not answer.
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

/// Returns the OCI runtime's processes that were told to ask systemd for their cgroup, and have run for too long.
fn waiting(host: &Host) -> Vec<&Process> {
    let asks = |process: &&Process| {
        let mut words = process.command.iter().flatten();
        matches!(process.role, Role::OciRuntime(_))
            && process.age.is_some_and(|age| age >= holders::STUCK)
            && words.any(|word| word == "--systemd-cgroup")
    };
    host.processes.iter().filter(asks).collect()
}

/// Returns the log's last lines that name systemd, if they go on.
fn logged(evidence: &Evidence) -> Lines<'_> {
    let lines = naming(evidence, SIGNS).latest();
    match lines.go_on(evidence) {
        true => lines,
        false => Lines::default(),
    }
}

/// Returns the log's lines whose error holds one of these words.
fn naming<'a>(evidence: &'a Evidence, words: &[&str]) -> Lines<'a> {
    let names = |event: &Event| {
        let error = event.error.as_ref().map_or("", |error| &*error.text);
        words.iter().any(|word| error.contains(word))
    };
    let log = evidence.log.iter().flat_map(|log| &log.groups);
    Lines(log.filter(|group| names(&group.last)).collect())
}

fn accuse(evidence: &Evidence, host: &Host, waited: Duration, signs: &Signs) -> Finding {
    let mut citations = signs.logged.cite(3);
    let seconds = waited.as_secs_f64();
    let call = "busctl get-property … Version";
    citations.push(holders::cite(
        evidence,
        call,
        format!("no answer in {seconds:.1} s"),
    ));
    if let (Some(_), Some(systemd)) = (&signs.process, &host.systemd) {
        let state = systemd
            .state
            .map_or_else(String::new, |state| doing(state, systemd.wchan.as_deref()));
        let busy = systemd
            .busy
            .map_or_else(String::new, |busy| format!(", {busy:.0} % of a processor"));
        citations.push(holders::cite(
            evidence,
            "process 1",
            format!("systemd, {state}{busy}"),
        ));
    }
    for process in signs.waiting.iter().take(2) {
        let (source, text) = holders::cited(process);
        citations.push(holders::cite(evidence, source, text));
    }
    let mut subjects = vec![Subject {
        pid: Some(1),
        ..daemon("systemd")
    }];
    subjects.extend(signs.waiting.iter().take(EACH).map(|process| Subject {
        kind: SubjectKind::Process,
        id: process.container.clone(),
        name: Some(process.program().to_owned()),
        pod: None,
        uid: process.uid.clone(),
        pid: Some(process.pid),
    }));
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: RULE.title.to_owned(),
        severity: match signs.logged.is_empty() {
            true => Severity::Warning,
            false => Severity::Critical,
        },
        confidence: match signs.are_proof() {
            true => Confidence::Confirmed,
            false => Confidence::Suspected,
        },
        active: true,
        explanation: explain(host, seconds, signs),
        subjects,
        citations,
        remedies: remedies(signs.are_proof()),
        spans: signs.logged.spans(),
    }
}

fn explain(host: &Host, seconds: f64, signs: &Signs) -> String {
    let mut text = vec![format!(
        "systemd was asked for its version over D-Bus and did not answer in {seconds:.1} s; an answer takes some milliseconds."
    )];
    text.extend(signs.process.clone());
    if let Some(oldest) = signs.waiting.iter().filter_map(|process| process.age).max() {
        let waiting = count(signs.waiting.len(), "OCI runtime process");
        let (waiting, run) = match signs.waiting.len() {
            1 => (waiting, "does"),
            _ => (waiting.replace("processs", "processes"), "do"),
        };
        text.push(format!(
            "{waiting} that {run} not end (the oldest for {}) {} to ask it for a cgroup.",
            span(oldest),
            if signs.waiting.len() == 1 {
                "has"
            } else {
                "have"
            }
        ));
    }
    if !signs.logged.is_empty() {
        text.push(format!(
            "The kubelet's calls fail with its name ({}).",
            signs.logged.counted()
        ));
    }
    let driver = host
        .kubelet_settings
        .as_ref()
        .and_then(|settings| settings.cgroup_driver.as_deref());
    text.push(match driver {
        Some("cgroupfs") => "This kubelet makes its cgroups itself (cgroup driver cgroupfs), so containers may start all the same; units, such as Docker's, can be neither restarted nor looked at.".to_owned(),
        Some("systemd") => "This kubelet has its cgroups made by systemd (cgroup driver systemd): each start and stop of a container waits for it, the container's status with it, and so does the kubelet's relist.".to_owned(),
        _ => "With the cgroup driver systemd each start and stop of a container waits for it, the container's status with it, and so does the kubelet's relist.".to_owned(),
    });
    text.join(" ")
}

/// Returns what to do; with proof, plegdoctor may do the first that changes something.
fn remedies(proved: bool) -> Vec<Remedy> {
    vec![
        remedy(
            "See whether it still does not answer",
            Risk::Safe,
            "timeout 10 busctl get-property org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager Version",
            "nothing",
        ),
        remedy(
            "See what it does, and how many mounts and units it has to look after",
            Risk::Safe,
            "ps -o pid,stat,pcpu,wchan:24,args -p 1; wc -l < /proc/1/mountinfo; journalctl -n 50 --no-pager _PID=1",
            "nothing",
        ),
        Remedy {
            actions: proved
                .then_some(Action::ReexecSystemd)
                .into_iter()
                .collect(),
            ..remedy(
                "Let it begin anew",
                Risk::Node,
                "systemctl daemon-reexec # or, if that does not answer either: kill -TERM 1",
                "units and containers keep running; systemd keeps its state over it",
            )
        },
        remedy(
            "Reboot the node, if that does not help",
            Risk::Node,
            "systemctl reboot --force # drain the node first",
            "everything on the node ends",
        ),
    ]
}
