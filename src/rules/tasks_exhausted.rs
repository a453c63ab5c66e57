//! `tasks-exhausted`: the machine, or a daemon's unit, has (nearly) as many tasks as it may have: nothing new can be
//! started, and Go programs die of it.

mod told;

use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{daemon, holders, node};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, Variant};
use crate::node::Process;

pub(super) const RULE: Rule = Rule {
    id: "tasks-exhausted",
    title: "Task (PID) limit reached",
    // Only where calls failed of it (`is_told`): that a limit is near must not silence that nothing is known.
    explains: false,
    bearing: Bearing {
        behind: &[],
        feeds: &["runtime-down", "hung-runtime", "hung-container", "cni-hang"],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/tasks-exhausted.md"),
    check,
};

/// From this share of the limit on, in per cent, a start may fail: a container's start needs some dozens of tasks at
/// once.
const NEARLY: u64 = 95;

fn judge(scene: &Scene) -> Judged {
    let pressure = scene.host().map(|host| &host.pressure);
    // A unit's own limit is mostly the lower one.
    let daemons = holders::daemons(scene.evidence);
    let seen = pressure.filter(|pressure| {
        let counted = |own: &&Process| {
            let mut limits = pressure.daemons.iter();
            limits.any(|it| it.pid == own.pid && it.tasks.is_some())
        };
        !daemons.is_empty() && daemons.iter().all(counted)
    });
    let machine = pressure.and_then(|pressure| pressure.tasks.zip(pressure.tasks_limit));
    match machine {
        Some((tasks, limit)) if seen.is_some() => Judged::out(
            format!(
                "the machine has {tasks} tasks of {limit}, and no daemon is near its unit's limit"
            ),
            "loadavg",
        ),
        Some(_) => scene.open(
            "the daemons' own limits were not seen",
            "systemctl show docker containerd -p TasksCurrent -p TasksMax",
        ),
        None => scene.needs_host(),
    }
}

/// Returns whether a finding of this rule's goes by calls that failed, and not by a limit that is near.
pub(super) fn is_told(finding: &Finding) -> bool {
    finding.id == RULE.id && finding.variant == Variant::TaskLimitHit
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let mut findings = near_a_limit(evidence);
    if findings.is_empty() {
        findings.extend(told::by_the_log(evidence));
    }
    findings
}

fn near_a_limit(evidence: &Evidence) -> Vec<Finding> {
    let Some(host) = &evidence.host else {
        return Vec::new();
    };
    let pressure = &host.pressure;
    let mut findings = Vec::new();
    if let Some((tasks, limit)) = nearly(pressure.tasks, pressure.tasks_limit) {
        findings.push(finding(
            evidence,
            node(evidence),
            &format!("The machine has {tasks} tasks of {limit} that its kernel allows"),
            ("loadavg, kernel.pid_max, kernel.threads-max", tasks, limit),
            remedies("sysctl kernel.pid_max kernel.threads-max", None),
        ));
    }
    let daemons = holders::daemons(evidence);
    let mut told = Vec::new();
    for limits in &pressure.daemons {
        let Some(process) = host.process(limits.pid) else {
            continue;
        };
        // Another Docker's daemons are not this node's runtime.
        let ours = daemons.iter().any(|own| own.pid == process.pid);
        let Some((tasks, limit)) = nearly(limits.tasks, limits.tasks_limit).filter(|_| ours) else {
            continue;
        };
        // Daemons of one cgroup have one limit.
        if told.contains(&(tasks, limit)) {
            continue;
        }
        told.push((tasks, limit));
        let mut subject = daemon(&process.comm);
        subject.pid = Some(process.pid);
        findings.push(finding(
            evidence,
            subject,
            &format!(
                "{} (process {}) and what shares its cgroup have {tasks} tasks of {limit} that its unit allows",
                process.comm, process.pid
            ),
            ("pids.current, pids.max", tasks, limit),
            remedies(
                &format!("cat /proc/{}/cgroup; systemd-cgls -u {}.service", process.pid, unit(&process.comm)),
                Some(unit(&process.comm)),
            ),
        ));
    }
    findings
}

fn unit(comm: &str) -> &str {
    match comm {
        "dockerd" => "docker",
        other => other,
    }
}

fn nearly(tasks: Option<u64>, limit: Option<u64>) -> Option<(u64, u64)> {
    let (tasks, limit) = tasks.zip(limit)?;
    (limit > 0 && tasks.saturating_mul(100) >= limit.saturating_mul(NEARLY))
        .then_some((tasks, limit))
}

fn finding(
    evidence: &Evidence,
    subject: Subject,
    what: &str,
    (source, tasks, limit): (&str, u64, u64),
    remedies: Vec<Remedy>,
) -> Finding {
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: what.to_owned(),
        severity: Severity::Warning,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "{what}. At the limit nothing new starts (\"resource temporarily unavailable\"): no container, no probe, no thread of the daemon itself, which may die of it."
        ),
        subjects: vec![subject],
        citations: vec![holders::cite(
            evidence,
            source,
            format!("{tasks} of {limit}"),
        )],
        remedies,
        spans: Vec::new(),
    }
}

fn remedies(look: &str, unit: Option<&str>) -> Vec<Remedy> {
    let mut remedies = vec![
        Remedy {
            title: "See which processes have the most threads".to_owned(),
            risk: Risk::Safe,
            command: "ps -eo nlwp,pid,ppid,args --sort=-nlwp | head -20".to_owned(),
            cost: "nothing; ending the one that leaks is the cure".to_owned(),
            actions: Vec::new(),
        },
        Remedy {
            title: "See the limit".to_owned(),
            risk: Risk::Safe,
            command: look.to_owned(),
            cost: "nothing".to_owned(),
            actions: Vec::new(),
        },
    ];
    remedies.extend(unit.map(|unit| Remedy {
        title: "Lift the unit's limit".to_owned(),
        risk: Risk::Disruptive,
        command: format!("systemctl set-property {unit}.service TasksMax=infinity"),
        cost: "nothing restarts; a leak then continues up to the machine's own limit".to_owned(),
        actions: Vec::new(),
    }));
    remedies
}
