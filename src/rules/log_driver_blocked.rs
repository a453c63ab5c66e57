//! `log-driver-blocked`: a container's output goes to a log driver that accepts nothing, and dockerd waits for it with the
//! container's lock held.
//!
//! dockerd's stacks show that wait. Without them a driver that sends elsewhere is only suspected, where a container hangs
//! and nothing else is known to hold it. A log alone shows nothing of a driver.

use super::support::answer::{Absent, Answer, Draft};
use super::support::calls::ONE_CONTAINER;
use super::support::case::Case;
use super::support::log_lines::LogMatches;
use super::support::remedies::{restart_runtime, save_stacks};
use super::support::{cite, daemon_stacks, holders, step, subject};
use super::{Detection, EACH, Explains, Rule, Tier};
use crate::evidence::runtime_stack::is_other_than_docker;
use crate::finding::{Remedy, Severity};
use crate::io::probe::Outcome;
use crate::kubelet::event::ErrorClass;
use crate::kubelet::summary::PAUSE;
use crate::node::Version;
use crate::runtime::stacks::{Call, Verb, Wait};
use crate::runtime::{Container, Runtime};
use crate::syntax::citation::Citation;

pub(super) const RULE: Rule = Rule {
    id: "log-driver-blocked",
    title: "dockerd is blocked writing to a container's log driver",
    page: include_str!("../../docs/findings/log-driver-blocked.md"),
    explains: Explains::Lag,
    tier: Tier::Second,
    detection: Detection::Custom(evaluate),
};

/// The drivers that write files of this machine, or nothing at all.
const LOCAL: &[&str] = &["json-file", "local", "none"];
/// From here on a container's end waits for its driver with a limit.
const FIXED_IN: &str = "20.10.13";
/// What explains a hang better, and what makes calls fail at once.
const BETTER: &[&str] = &[
    "runtime-down",
    "frozen-daemon",
    "network-storage",
    "disk-saturated",
    "systemd-unresponsive",
    "netns-blocked",
    "hung-runtime",
];

/// What is known of the driver and of what waits for it.
struct Blocked<'a> {
    driver: String,
    /// The containers that do not answer.
    silent: Vec<&'a Container>,
    /// dockerd's calls that wait for the driver, by its stacks.
    calls: Vec<&'a Call>,
    /// Of those, the one that holds the lock of the only silent container.
    holder: Option<&'a Call>,
    /// The kubelet's calls for silent containers that time out.
    lines: LogMatches<'a>,
}

fn evaluate(case: &Case) -> Answer {
    let found = case.evidence.runtime.as_ref().and_then(|runtime| {
        let blocked = Blocked::new(case, runtime)?;
        let shown = !blocked.calls.is_empty();
        let suspected = || !case.has_active(BETTER) && blocked.is_suspect(case, runtime);
        (shown || suspected()).then(|| describe(case, runtime, &blocked))
    });
    found.map_or_else(|| absent(case), Answer::from)
}

/// Log drivers are Docker's: beside another runtime they are no question.
fn absent(case: &Case) -> Answer {
    if is_other_than_docker(case.evidence) {
        return Answer::Silent;
    }
    let absent = Absent::needs_runtime("docker info -f '{{.LoggingDriver}}'");
    let shows_others =
        |it: &&Runtime| daemon_stacks::show_all_hanging(it) && waiting(it).is_empty();
    // Docker's default says nothing of a container that was created with another driver and does not answer.
    if case.all_answer().is_some() {
        absent.ruled_out("each container answers its inspect", &["docker inspect"])
    } else if case.runtime().filter(shows_others).is_some() {
        absent.ruled_out(
            "none of the hanging calls waits for a log driver, by dockerd's own stacks",
            &["dockerd's stacks"],
        )
    } else if case.listed().is_some() {
        absent.left_open(
            "the log driver of a hung container cannot be read",
            "grep -o '\"LogConfig\":{[^}]*}' /var/lib/docker/containers/*/hostconfig.json",
        )
    } else {
        absent
    }
    .into()
}

/// dockerd's calls that wait for a log driver; one that reads a log waits for new lines.
fn waiting(runtime: &Runtime) -> Vec<&Call> {
    let stacks = runtime.docker().stacks.iter();
    let hanging = stacks.flat_map(|pending| pending.stacks.hanging());
    hanging
        .filter(|call| matches!(call.waits, Wait::LogDriver(_)) && call.verb != Verb::Logs)
        .collect()
}

impl<'a> Blocked<'a> {
    fn new(case: &Case<'a>, runtime: &'a Runtime) -> Option<Self> {
        let calls = waiting(runtime);
        let driver = driver(runtime, &calls).filter(|it| !LOCAL.contains(&it.as_str()))?;
        let silent = runtime.told();
        let silent: Vec<_> = silent
            .filter(|it| it.probe.outcome == Outcome::TimedOut)
            .collect();
        let holder = match &silent[..] {
            [one] => daemon_stacks::lock_of(runtime, &one.id).map(|(_, holder)| holder),
            _ => None,
        };
        let all = case.failed(ONE_CONTAINER, ErrorClass::Deadline);
        let theirs = all.filter(|group| {
            let id = group.first.subject();
            id.is_some_and(|id| silent.iter().any(|it| it.id.matches(id)))
        });
        let lines = Some(theirs.latest());
        let lasts =
            |it: &LogMatches| it.go_on(case.evidence) && it.are_recent(case.evidence, PAUSE);
        Some(Self {
            holder: holder.filter(|it| matches!(it.waits, Wait::LogDriver(_))),
            lines: lines.filter(lasts).unwrap_or_default(),
            driver,
            silent,
            calls,
        })
    }

    /// Whether the driver may block where no stack shows it: a container hangs, nothing is known to hold it, its output
    /// is not dropped, and the stacks show no other wait.
    fn is_suspect(&self, case: &Case, runtime: &Runtime) -> bool {
        let evidence = case.evidence;
        let is_free = |it: &&Container| holders::of_container(evidence, &it.id).is_none();
        let mut drivers = runtime
            .told()
            .filter_map(|it| it.inspected.as_ref()?.logs.as_ref());
        self.silent.iter().any(is_free)
            && !drivers.any(|it| it.name == self.driver && it.drops)
            && !daemon_stacks::show_all_hanging(runtime)
            && holders::waiting_thread(evidence).is_none()
    }
}

/// The driver that is waited for, else that of containers which name none.
fn driver(runtime: &Runtime, calls: &[&Call]) -> Option<String> {
    let waited = calls.iter().find_map(|call| match &call.waits {
        // dockerd's package for json-file has another name.
        Wait::LogDriver(driver) if driver.as_deref() == Some("jsonfilelog") => {
            Some("json-file".to_owned())
        }
        Wait::LogDriver(driver) => driver.clone(),
        _ => None,
    });
    let is_remote = |name: &String| !LOCAL.contains(&name.as_str());
    let default = runtime.docker().log_driver.as_ref();
    let mut others = runtime
        .told()
        .filter_map(|it| Some(&it.inspected.as_ref()?.logs.as_ref()?.name));
    // Where info hangs or names a local one, what the other containers have.
    let mut configured = || {
        let remote = default.filter(|it| is_remote(it));
        remote
            .or_else(|| others.find(|it| is_remote(it)))
            .or(default)
    };
    waited.or_else(|| configured().cloned())
}

fn describe(case: &Case, runtime: &Runtime, blocked: &Blocked) -> Draft {
    let Blocked {
        driver,
        silent,
        calls,
        holder,
        lines,
    } = blocked;
    // The stacks and the inspect are one source; the kubelet's time-outs are the other.
    let agreed = holder.is_some() && !lines.is_empty();
    let (severity, title) = match (calls.is_empty(), agreed) {
        (true, _) => (Severity::Warning, "dockerd may be blocked writing to"),
        (false, false) => (Severity::Warning, "dockerd is blocked writing to"),
        (false, true) => (Severity::Critical, "dockerd is blocked writing to"),
    };
    let what = match (holder, calls.is_empty()) {
        (Some(holder), _) => format!(
            "dockerd's own stacks show what holds the lock of the hung container: {}.",
            daemon_stacks::doing(holder)
        ),
        (None, false) => format!(
            "By dockerd's own stacks these calls wait for a log driver, for an unknown container: {}.",
            daemon_stacks::listed(calls)
        ),
        (None, true) => format!(
            "A container does not answer, no OCI runtime process is known to hold it, and containers' output goes to the log driver {driver}, which sends it elsewhere. dockerd's stacks would show whether it waits for that."
        ),
    };
    Draft::new(severity, format!("{title} the log driver {driver}"))
        .say(what)
        .say(format!(
            "Docker passes a container's output to {driver} and waits for it; while the receiver accepts nothing, the container's start or end hangs, and the kubelet's relist waits for its status."
        ))
        .say(version_text(runtime))
        .about(silent.iter().take(EACH).map(|it| subject::container(it)))
        .about([subject::daemon("dockerd")])
        .lines(lines, 3)
        .cite(cite_driver(runtime, blocked))
        .cite((!calls.is_empty()).then(|| daemon_stacks::cite(runtime, calls)))
        .confirmed_if(agreed)
        .spans(lines)
        .steps(steps(case, blocked))
}

fn version_text(runtime: &Runtime) -> String {
    let own = runtime.versions.daemon.as_deref().and_then(Version::parse);
    let old = own
        .zip(Version::parse(FIXED_IN))
        .filter(|(own, fixed)| own < fixed);
    old.map_or_else(String::new, |(own, _)| {
        format!(
            "At a container's end Docker {own} waits without limit; from {FIXED_IN} on it does not."
        )
    })
}

/// What shows which driver it is, where Docker said so.
fn cite_driver(runtime: &Runtime, blocked: &Blocked) -> Option<Citation> {
    let (call, text) = match &runtime.docker().log_driver {
        Some(driver) if *driver == blocked.driver => ("docker info", "the log driver is"),
        _ if blocked.calls.is_empty() => ("docker inspect", "other containers' log driver is"),
        _ => return None,
    };
    Some(cite::call(
        call,
        runtime,
        format!("{text} {}", blocked.driver),
    ))
}

fn steps(case: &Case, blocked: &Blocked) -> Vec<Remedy> {
    // `mode=non-blocking` puts a buffer behind a driver that is connected already (moby:container/container.go
    // `StartLogger`).
    let without_wait = match blocked.driver.as_str() {
        "fluentd" => {
            ", or \"log-opts\": {\"fluentd-async\": \"true\"} (before Docker 20.10: fluentd-async-connect)"
        }
        "syslog" => ", or \"log-opts\": {\"syslog-address\": \"udp://HOST:514\"}",
        _ => "",
    };
    let look = step::look(
        "See which driver it is and where it sends; then restore its receiver",
        "docker info --format '{{.LoggingDriver}}'; cat /etc/docker/daemon.json",
    )
    .note("once the receiver accepts lines again, all that waits resumes");
    let switch = step::node(
        "Prevent it: write to a file of this machine, or connect without waiting",
        format!(
            "# in /etc/docker/daemon.json: \"log-driver\": \"local\"{without_wait}; then: systemctl restart docker"
        ),
        "applies to containers created from then on; drain the node first. \"mode\": \"non-blocking\" does not help: it drops output in place of waiting, but a start still waits for the connection",
    );
    let restart = (!blocked.silent.is_empty()).then(|| restart_runtime(case.evidence));
    let mut steps = vec![look, save_stacks(case.evidence)];
    steps.extend(restart);
    steps.push(switch);
    steps
}
