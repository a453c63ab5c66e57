//! `busy-mount`: a container cannot be removed, and a mount of its layer or its directory lives in another mount
//! namespace: who holds it, and how it is let go.
//!
//! `dead-container` tells of the removal itself. A mount in another namespace alone is no trouble: every process with a
//! namespace of its own has copies of what was mounted when it began, and most follow when the runtime unmounts. On
//! current kernels a removal detaches them; those of RHEL 7 refuse it.

mod trouble;
mod words;

use super::holders::span;
use super::remedies::{cost_of_unit, docker_command};
use super::support::old_form::{Bearing, OldRule as Rule};
use super::{EACH, holders, inspect_call, remedies};
use crate::evidence::Evidence;
use crate::finding::action::{Action, Unit};
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant};
use crate::node::mount_holder::{HeldMount, MountHolder};
use crate::node::{Host, Namespace};
use crate::syntax::citation::Citation;
use std::time::Duration;
use trouble::Trouble;

pub(super) const RULE: Rule = Rule {
    id: "busy-mount",
    title: "Another process holds the mount of a container that cannot be removed",
    explains: false,
    bearing: Bearing {
        behind: &["dead-container"],
        feeds: &["container-pileup", "list-too-large"],
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/busy-mount.md"),
    check,
};

/// Most mounts that one command detaches.
const PATHS: usize = 8;
/// Units whose restart is the node's: the runtime's, the kubelet's, systemd's own.
const NODES: &[&str] = &[
    "docker",
    "containerd",
    "crio",
    "kubelet",
    "rke2",
    "k3s",
    "systemd-",
];

/// A namespace that holds mounts of containers in trouble.
struct Hold<'a> {
    namespace: &'a Namespace,
    keeper: &'a MountHolder,
    held: Vec<(&'a Trouble<'a>, &'a HeldMount)>,
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let Some(host) = &evidence.host else {
        return Vec::new();
    };
    let troubles = trouble::all(evidence);
    let holds = holds(host, &troubles);
    if holds.is_empty() {
        return Vec::new();
    }
    let held = |trouble: &&Trouble<'_>| {
        let of = |hold: &Hold<'_>| hold.held.iter().any(|(own, _)| own.id == trouble.id);
        holds.iter().any(of)
    };
    let troubles: Vec<&Trouble<'_>> = troubles.iter().filter(held).collect();
    vec![tell(evidence, host, &troubles, &holds)]
}

fn holds<'a>(host: &'a Host, troubles: &'a [Trouble<'a>]) -> Vec<Hold<'a>> {
    let of = |namespace: &'a Namespace| {
        let held = troubles.iter().flat_map(|trouble| {
            let others = !namespace.own && !namespace.is_of(&trouble.id);
            // What the runtime itself has still mounted is busy by that, and the others only mirror it.
            let left = host
                .left(namespace)
                .filter(|held| trouble.places.contains(&held.place));
            let held = left.filter(move |_| others);
            held.map(move |held| (trouble, held))
        });
        Hold {
            namespace,
            // Without anyone seen in it nobody can be named, nor is there a way in.
            keeper: namespace.keepers.first()?,
            held: held.collect(),
        }
        .into()
    };
    let holds = host.namespaces.iter().filter_map(of);
    holds
        .filter(|hold: &Hold<'a>| !hold.held.is_empty())
        .collect()
}

fn tell(
    evidence: &Evidence,
    host: &Host,
    troubles: &[&Trouble<'_>],
    holds: &[Hold<'_>],
) -> Finding {
    let busy = troubles.iter().all(|trouble| trouble.says_busy);
    let mut subjects: Vec<Subject> = troubles.iter().map(|trouble| trouble.subject()).collect();
    subjects.extend(holds.iter().map(|hold| subject(hold.keeper)));
    let mut citations: Vec<Citation> = troubles
        .iter()
        .take(EACH)
        .flat_map(|trouble| cite_trouble(evidence, trouble, troubles.len()))
        .collect();
    let cited = holds.iter().take(EACH);
    citations.extend(cited.filter_map(|hold| cite_hold(evidence, hold)));
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: words::title(evidence, troubles, holds),
        severity: Severity::Warning,
        confidence: if busy {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active: true,
        explanation: words::explain(evidence, host, troubles, holds),
        subjects,
        citations,
        remedies: remedies(evidence, host, holds),
        spans: troubles
            .iter()
            .flat_map(|trouble| trouble.lines.spans())
            .collect(),
    }
}

fn subject(keeper: &MountHolder) -> Subject {
    Subject {
        kind: SubjectKind::Process,
        id: keeper.container.clone(),
        name: Some(keeper.comm.clone()),
        pod: None,
        uid: keeper.uid.clone(),
        pid: Some(keeper.pid),
    }
}

fn cite_trouble(evidence: &Evidence, trouble: &Trouble<'_>, of: usize) -> Vec<Citation> {
    let mut citations = trouble.lines.cite(2);
    let inspected = trouble.container.zip(evidence.runtime.as_ref());
    if let Some((container, runtime)) = inspected
        && let Some(inspected) = &container.inspected
    {
        let error = match inspected.error.as_str() {
            "" => String::new(),
            error => format!("; {error}"),
        };
        citations.push(Citation {
            source: inspect_call(container, of).into(),
            is_call: true,
            line: None,
            time: Some(runtime.asked_at),
            text: format!("state {}{error}", inspected.state).into(),
        });
    }
    citations
}

fn cite_hold(evidence: &Evidence, hold: &Hold<'_>) -> Option<Citation> {
    let (_, held) = hold.held.first()?;
    let source = format!("mountinfo of process {}", hold.keeper.pid);
    let text = format!("{} ({})", held.point, hold.namespace.id);
    Some(holders::cite(evidence, source, text))
}

fn remedies(evidence: &Evidence, host: &Host, holds: &[Hold<'_>]) -> Vec<Remedy> {
    let mut remedies: Vec<Remedy> = look(holds).into_iter().collect();
    remedies.extend(holds.iter().map(detach));
    // Who holds mounts in several namespaces is restarted once.
    let mut again: Vec<Remedy> = Vec::new();
    for remedy in holds.iter().filter_map(|hold| restart(evidence, hold)) {
        if !again.contains(&remedy) {
            again.push(remedy);
        }
    }
    again.sort_by_key(|remedy| remedy.risk);
    remedies.extend(again);
    let (at, setting) = (remedies.len(), may_detach(host));
    remedies.splice(at..at, setting);
    remedies
}

fn look(holds: &[Hold<'_>]) -> Option<Remedy> {
    let (trouble, held) = holds.first()?.held.first()?;
    let name = words::name(&held.place, &trouble.id);
    Some(Remedy {
        title: "See who still holds it".to_owned(),
        risk: Risk::Safe,
        command: format!("grep -l {name} /proc/[0-9]*/mountinfo"),
        cost: "nothing".to_owned(),
        actions: Vec::new(),
    })
}

fn detach(hold: &Hold<'_>) -> Remedy {
    let mut points: Vec<_> = hold
        .held
        .iter()
        .map(|(_, held)| format!("'{}'", held.point.replace('\'', "'\\''")))
        .collect();
    let more = points.len().saturating_sub(PATHS);
    points.truncate(PATHS);
    let rest = match more {
        0 => String::new(),
        more => format!("; {more} more follow when this is run again"),
    };
    let inside = match hold.keeper.container {
        Some(_) => "; it needs a umount in that container's own image",
        None => "",
    };
    Remedy {
        title: format!("Detach it where {} sees it", hold.keeper.comm),
        risk: Risk::Disruptive,
        command: format!(
            "nsenter -m -t {} umount -l {}",
            hold.keeper.pid,
            points.join(" ")
        ),
        cost: format!(
            "nothing that runs: the container has ended; what is still open below it stays so until it is closed{inside}{rest}"
        ),
        actions: actions(hold),
    }
}

/// Returns what plegdoctor can detach of it by itself.
fn actions(hold: &Hold<'_>) -> Vec<Action> {
    let Some(namespace) = hold.namespace.number() else {
        return Vec::new();
    };
    // Where nobody says that a mount is in the way, or Docker was not seen to say that the container has ended, a person
    // may judge.
    let may = |(trouble, _): &&(&Trouble<'_>, &HeldMount)| trouble.says_busy && trouble.has_ended();
    let detach = |(_, held): &(&Trouble<'_>, &HeldMount)| Action::DetachMount {
        path: held.point.clone(),
        mount: held.mount,
        namespace,
        pid: hold.keeper.pid,
        start_ticks: hold.keeper.start_ticks,
    };
    // Of what is mounted within another mount, or upon it, the upper one first: the kernel lists it later.
    let some: Vec<_> = hold.held.iter().take(PATHS).filter(may).collect();
    some.into_iter().rev().map(detach).collect()
}

/// Returns the remedy that starts what holds it anew, if it is a service or a container.
fn restart(evidence: &Evidence, hold: &Hold<'_>) -> Option<Remedy> {
    let keeper = hold.keeper;
    if let Some(id) = &keeper.container {
        return Some(Remedy {
            title: format!("Restart the container of {}", keeper.comm),
            risk: Risk::Disruptive,
            command: format!("{} restart {}", docker_command(evidence), id.short()),
            cost: "what runs in it starts anew".to_owned(),
            actions: Vec::new(),
        });
    }
    let unit = keeper
        .unit
        .as_ref()
        .filter(|unit| unit.ends_with(".service"))?;
    let node = NODES.iter().any(|name| unit.starts_with(name));
    let known = [Unit::Docker, Unit::Containerd, Unit::Kubelet];
    let restarts = known.into_iter().find(|known| known.name() == unit);
    Some(Remedy {
        title: format!("Restart {unit}"),
        risk: if node { Risk::Node } else { Risk::Disruptive },
        command: format!("systemctl restart {unit}"),
        cost: restarts.map_or_else(
            || "that service starts anew, with the mounts of then".to_owned(),
            |unit| cost_of_unit(evidence, unit),
        ),
        actions: restarts.map_or_else(Vec::new, |unit| remedies::restart(evidence, unit)),
    })
}

/// Returns the setting that lets removals detach what others hold, for the kernels that have it and leave it off.
fn may_detach(host: &Host) -> Option<Remedy> {
    let kernel = host.kernel.as_deref()?;
    kernel.contains(".el7").then(|| Remedy {
        title: "Let removals detach what other namespaces hold, as later kernels do".to_owned(),
        risk: Risk::Node,
        command: "sysctl -w fs.may_detach_mounts=1".to_owned(),
        cost: "nothing; a file in /etc/sysctl.d keeps it".to_owned(),
        actions: Vec::new(),
    })
}

/// Returns how old a process is, if the kernel's uptime is known.
fn age(host: &Host, keeper: &MountHolder) -> Option<Duration> {
    host.process(keeper.pid).and_then(|process| process.age)
}

/// Returns an age for people.
fn old(age: Option<Duration>) -> String {
    age.map_or_else(String::new, |age| format!(", {} old", span(age)))
}
