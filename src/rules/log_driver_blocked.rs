//! `log-driver-blocked`: a container's output goes to a log driver that takes nothing, and dockerd waits for it with the
//! container's lock held.
//!
//! The daemon's own stacks show that wait. Without them a driver that is no file of this machine is only suspected,
//! where a container hangs and nothing else is known to hold it. From a log alone nothing of a driver is known.

use super::{
    EACH, daemon_stacks, holders, hung_container, is_behind,
    lines::Lines,
    remedies::{is_other_than_docker, remedy, restart_runtime, save_stacks},
    runtime_down, subject_of,
    support::old_form::{Bearing, Judged, OldRule as Rule, Scene},
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant},
    io::probe::Outcome,
    kubelet::{event::ErrorClass, summary::PAUSE},
    node::Version,
    runtime::{
        Container, Runtime,
        stacks::{Call, Verb, Wait},
    },
    syntax::citation::Citation,
};

pub(super) const RULE: Rule = Rule {
    id: "log-driver-blocked",
    title: "A container's log driver takes nothing, and dockerd waits for it",
    explains: true,
    bearing: Bearing {
        behind: &["hung-container", "hung-runtime"],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/log-driver-blocked.md"),
    check,
};

/// The drivers that write files of this machine themselves, or nothing at all.
const LOCAL: &[&str] = &["json-file", "local", "none"];
/// From here on a container's end no longer waits for its driver without limit.
const MENDED: &str = "20.10.13";

/// What is known of the driver, and of who waits for it.
struct Blocked<'a> {
    driver: String,
    /// The containers that do not answer.
    silent: Vec<&'a Container>,
    /// The daemon's calls that wait for the driver, where its stacks show any.
    calls: Vec<&'a Call>,
    /// Of those, the one that holds the lock of the one container that does not answer.
    holder: Option<&'a Call>,
    /// The kubelet's calls for such containers that timed out, if they go on.
    logged: Lines<'a>,
}

/// Log drivers are Docker's: nobody asks for one beside another runtime.
fn judge(scene: &Scene) -> Judged {
    if is_other_than_docker(scene.evidence) {
        return Judged::Unasked;
    }
    if scene.all_answer().is_some() {
        return Judged::out("each container answers its inspect", "docker inspect");
    }
    let told = scene.runtime().filter(|it| {
        let stacks = it.docker().stacks.as_ref().map(|pending| &pending.stacks);
        stacks.is_some_and(|stacks| stacks.whole && !stacks.hanging().is_empty())
    });
    // Docker's default says nothing of a container that was created with another, and it does not answer itself.
    match told {
        Some(runtime) if waiting(runtime).is_empty() => Judged::out(
            "of the calls that hang none waits for a log driver, by dockerd's own stacks",
            "dockerd's stacks",
        ),
        _ if scene.listed().is_some() => scene.open(
            "what does not answer does not tell its log driver",
            "grep -o '\"LogConfig\":{[^}]*}' /var/lib/docker/containers/*/hostconfig.json",
        ),
        _ => scene.needs_runtime("docker info -f '{{.LoggingDriver}}'"),
    }
}

fn check(evidence: &Evidence, found: &[Finding]) -> Vec<Finding> {
    let Some(runtime) = &evidence.runtime else {
        return Vec::new();
    };
    let silent: Vec<_> = runtime
        .told()
        .filter(|container| container.probe.outcome == Outcome::TimedOut)
        .collect();
    let calls = waiting(runtime);
    let blocked = match driver(runtime, &calls) {
        Some(driver) if !LOCAL.contains(&driver.as_str()) => Blocked {
            holder: holder(runtime, &silent),
            logged: logged(evidence, &silent),
            driver,
            silent,
            calls,
        },
        _ => return Vec::new(),
    };
    // Who tells the cause of a hang better, where they speak.
    let better = |finding: &Finding| {
        is_behind(finding, hung_container::RULE.id) || finding.id == runtime_down::RULE.id
    };
    let told = found
        .iter()
        .any(|finding| finding.active && better(finding));
    if blocked.calls.is_empty() && (told || !may_be(evidence, runtime, &blocked)) {
        return Vec::new();
    }
    vec![accuse(evidence, runtime, &blocked)]
}

/// Returns the daemon's calls that wait for a log driver; who only reads a log waits for new lines.
fn waiting(runtime: &Runtime) -> Vec<&Call> {
    let hanging = runtime
        .docker()
        .stacks
        .iter()
        .flat_map(|pending| pending.stacks.hanging());
    hanging
        .filter(|call| matches!(call.waits, Wait::LogDriver(_)) && call.verb != Verb::Logs)
        .collect()
}

/// Returns the driver that is waited for, else the one that containers have that name none.
fn driver(runtime: &Runtime, calls: &[&Call]) -> Option<String> {
    let waited = calls.iter().find_map(|call| match &call.waits {
        Wait::LogDriver(driver) => driver.clone(),
        _ => None,
    });
    let configured = || {
        let inspected = runtime.told().filter_map(|it| it.inspected.as_ref());
        let remote = inspected.filter_map(|it| it.logs.as_ref());
        let mut remote = remote.filter(|it| !LOCAL.contains(&it.name.as_str()));
        let of_others = remote.next().map(|it| it.name.clone());
        match &runtime.docker().log_driver {
            Some(driver) if !LOCAL.contains(&driver.as_str()) => Some(driver.clone()),
            // Where info does not answer, what the other containers have.
            driver => of_others.or_else(|| driver.clone()),
        }
    };
    // dockerd's own package for json-file is called otherwise.
    waited
        .map(|driver| match driver.as_str() {
            "jsonfilelog" => "json-file".to_owned(),
            _ => driver,
        })
        .or_else(configured)
}

/// Returns the call that holds the lock of the one container that does not answer, if it waits for a log driver.
fn holder<'a>(runtime: &'a Runtime, silent: &[&Container]) -> Option<&'a Call> {
    let pending = runtime.docker().stacks.as_ref()?;
    let ([one], [id]) = (silent, &pending.pending[..]) else {
        return None;
    };
    let holder = pending.stacks.our_lock()?.holder?;
    (one.id.matches(id) && matches!(holder.waits, Wait::LogDriver(_))).then_some(holder)
}

/// Returns the kubelet's calls for the containers that do not answer that timed out, if they go on.
fn logged<'a>(evidence: &'a Evidence, silent: &[&Container]) -> Lines<'a> {
    let all = Lines::failed(evidence, hung_container::CALLS, ErrorClass::Deadline);
    let theirs = all.0.into_iter().filter(|group| {
        let id = group.first.subject();
        id.is_some_and(|id| silent.iter().any(|container| container.id.matches(id)))
    });
    let lines = Lines(theirs.collect()).latest();
    match lines.go_on(evidence) && lines.are_recent(evidence, PAUSE) {
        true => lines,
        false => Lines::default(),
    }
}

/// Returns whether the driver may be what is waited for, where no stack shows it: a container hangs, nobody is known to
/// hold it, its output may be waited for, and no stacks show another wait.
fn may_be(evidence: &Evidence, runtime: &Runtime, blocked: &Blocked) -> bool {
    let held = |container: &&Container| holders::of_container(evidence, &container.id).is_some();
    let drops = {
        let inspected = runtime.told().filter_map(|it| it.inspected.as_ref());
        let mut drivers = inspected.filter_map(|it| it.logs.as_ref());
        drivers.any(|it| it.name == blocked.driver && it.drops)
    };
    let free = blocked.silent.iter().any(|container| !held(container));
    let stacks = runtime
        .docker()
        .stacks
        .as_ref()
        .is_some_and(|pending| pending.stacks.whole && !pending.stacks.hanging().is_empty());
    free && !drops && !stacks && holders::waiting_thread(evidence).is_none()
}

fn accuse(evidence: &Evidence, runtime: &Runtime, blocked: &Blocked) -> Finding {
    let seen = !blocked.calls.is_empty();
    let logged = !blocked.logged.is_empty();
    let mut citations = blocked.logged.cite(3);
    citations.extend(cite_driver(runtime, blocked));
    if seen {
        citations.push(daemon_stacks::cite(runtime, &blocked.calls));
    }
    let mut subjects: Vec<_> = blocked
        .silent
        .iter()
        .take(EACH)
        .map(|container| subject_of(container))
        .collect();
    subjects.push(Subject {
        kind: SubjectKind::Daemon,
        id: None,
        name: Some("dockerd".to_owned()),
        pod: None,
        uid: None,
        pid: None,
    });
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: match seen {
            true => format!("dockerd waits for the log driver {}", blocked.driver),
            false => format!(
                "dockerd may be waiting for the log driver {}",
                blocked.driver
            ),
        },
        severity: match seen && logged && blocked.holder.is_some() {
            true => Severity::Critical,
            false => Severity::Warning,
        },
        // The stacks and the inspect are one source's; the kubelet's time-outs are another's.
        confidence: match blocked.holder.is_some() && logged {
            true => Confidence::Confirmed,
            false => Confidence::Suspected,
        },
        active: true,
        explanation: explain(runtime, blocked),
        subjects,
        citations,
        remedies: remedies(evidence, blocked),
        spans: blocked.logged.spans(),
    }
}

/// Cites what says which driver it is, where Docker told.
fn cite_driver(runtime: &Runtime, blocked: &Blocked) -> Option<Citation> {
    let (source, text) = match &runtime.docker().log_driver {
        Some(driver) if *driver == blocked.driver => ("docker info", "the log driver is"),
        _ if blocked.calls.is_empty() => ("docker inspect", "other containers' log driver is"),
        _ => return None,
    };
    Some(Citation {
        is_call: true,
        source: source.to_owned().into(),
        line: None,
        time: Some(runtime.asked_at),
        text: format!("{text} {}", blocked.driver).into(),
    })
}

fn explain(runtime: &Runtime, blocked: &Blocked) -> String {
    let driver = &blocked.driver;
    let mut text = Vec::new();
    match (blocked.holder, blocked.calls.is_empty()) {
        (Some(holder), _) => text.push(format!(
            "What holds the lock of the container that does not answer is, by dockerd's own stacks, {}.",
            daemon_stacks::doing(holder)
        )),
        (None, false) => text.push(format!(
            "By dockerd's own stacks these calls wait for a log driver, for which container they do not tell: {}.",
            daemon_stacks::listed(&blocked.calls)
        )),
        (None, true) => text.push(format!(
            "A container does not answer, no process of the OCI runtime is known to hold it, and containers' output goes to the log driver {driver}, which is no file of this machine. dockerd's stacks would tell whether that is what it waits for."
        )),
    }
    text.push(format!(
        "Docker hands a container's output to {driver} and waits for it; while the receiver takes nothing, a start or the end of a container goes no further, and the kubelet's relist waits for its status."
    ));
    let mended = Version::parse(MENDED);
    let own = runtime.versions.daemon.as_deref().and_then(Version::parse);
    if let Some((own, mended)) = own.zip(mended)
        && own < mended
    {
        text.push(format!(
            "Docker {own} waits so without limit at a container's end; from {MENDED} on it does not."
        ));
    }
    text.join(" ")
}

/// Returns the setting by which a driver does not wait for its connection, if it has one. `mode=non-blocking` puts a
/// buffer behind a driver that is connected already (moby:container/container.go `StartLogger`).
fn without_wait(driver: &str) -> &'static str {
    match driver {
        "fluentd" => {
            ", or \"log-opts\": {\"fluentd-async\": \"true\"} (before Docker 20.10: fluentd-async-connect)"
        }
        "syslog" => ", or \"log-opts\": {\"syslog-address\": \"udp://HOST:514\"}",
        _ => "",
    }
}

fn remedies(evidence: &Evidence, blocked: &Blocked) -> Vec<Remedy> {
    let mut remedies = vec![
        remedy(
            "See which driver it is and where it sends; then bring its receiver back",
            Risk::Safe,
            "docker info --format '{{.LoggingDriver}}'; cat /etc/docker/daemon.json",
            "nothing; a receiver that takes lines again frees all that waits",
        ),
        save_stacks(evidence),
    ];
    if !blocked.silent.is_empty() {
        remedies.push(restart_runtime(evidence));
    }
    remedies.push(remedy(
        "Never wait for it again: write to a file of this machine, or connect without a wait",
        Risk::Node,
        format!(
            "# in /etc/docker/daemon.json: \"log-driver\": \"local\"{}; then: systemctl restart docker",
            without_wait(&blocked.driver)
        ),
        "counts for containers that are created from then on; drain the node first. \"mode\": \"non-blocking\" would not do: it drops output in place of waiting, but a start still waits for the connection",
    ));
    remedies
}
