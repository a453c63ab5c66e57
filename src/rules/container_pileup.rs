//! `container-pileup`: so many stopped containers that listing or inspecting them is slow.

use super::{
    Bearing, Judged, Rule, Scene, cite_probe, count,
    engine::Setup,
    list_too_large::{self, stopped},
    node,
    remedies::{bound_dead_containers, clean_exited, remedy},
    room, stored, took,
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Variant},
    io::probe::Outcome,
    kubelet::incident::Incident,
    runtime::Runtime,
    syntax::{citation::Citation, duration},
};
use chrono::TimeDelta;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "container-pileup",
    title: "So many stopped containers that every relist is slow",
    explains: true,
    bearing: Bearing {
        behind: &["slow-relist"],
        feeds: &["list-too-large", "hung-runtime"],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/container-pileup.md"),
    check,
};

/// Fewer stopped containers are no pile: a node with the default 110 pods keeps one or two for each container.
const MANY: usize = 300;
/// Three quarters of what gRPC lets through.
const NEAR: u64 = room::LIMIT / 4 * 3;
/// A relist is meant to run every second; one that takes longer is late for the next.
const SLOW_LIST: Duration = Duration::from_secs(1);
/// Inspects that take this long at the median are 100 times slower than normal (a few milliseconds).
const SLOW_INSPECT: Duration = Duration::from_millis(500);

fn judge(scene: &Scene) -> Judged {
    let Some(runtime) = scene.listed() else {
        return scene.needs_runtime("docker ps -aq | wc -l");
    };
    let (all, pile) = (
        count(runtime.containers.len(), "container"),
        stopped(runtime),
    );
    let took = took(&runtime.list);
    Judged::out(
        format!("Docker has {all}, {pile} of them stopped, and lists them in {took}"),
        "docker list",
    )
}

fn check(evidence: &Evidence, found: &[Finding]) -> Vec<Finding> {
    let Some(runtime) = evidence.listed() else {
        return behind_silence(evidence, found).into_iter().collect();
    };
    let pile = stopped(runtime);
    let inspect = median_inspect(runtime);
    let too_large = |finding: &Finding| finding.id == list_too_large::RULE.id && finding.active;
    if runtime.list_bytes >= NEAR
        && pile * 2 >= runtime.containers.len()
        && !found.iter().any(too_large)
    {
        return vec![near_the_limit(evidence, runtime)];
    }
    if pile < MANY || (runtime.list.took < SLOW_LIST && inspect < SLOW_INSPECT) {
        return Vec::new();
    }
    // An outage that goes on, in which no call failed: the relist works, and takes too long.
    let slow_relist = |i: &&Incident| i.ongoing && i.list_errors == 0 && i.culprits.is_empty();
    let mut incidents = evidence.log.iter().flat_map(|log| &log.incidents);
    let outage = incidents.find(slow_relist);
    let adds_up = outage.is_some_and(|outage| adds_up(runtime, outage));
    let all = runtime.containers.len();
    // A relist lists twice: sandboxes, then containers.
    let relist = (runtime.list.took * 2).as_secs_f64();
    let list = runtime.list.took.as_secs_f64();
    let median = inspect.as_secs_f64() * 1000.0;
    let containers = count(all, "container");
    let room = room::told(runtime).map_or_else(String::new, |room| format!(" {room}"));
    vec![Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: format!("{pile} stopped containers make every relist slow"),
        severity: if outage.is_some() {
            Severity::Critical
        } else {
            Severity::Warning
        },
        confidence: if adds_up {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active: true,
        explanation: format!(
            "Docker has {containers}, {pile} of them stopped. Listing them takes {list:.1} s and the kubelet lists twice each time, so a relist that should run every second takes {relist:.1} s at least; on top come its inspects, {median:.0} ms each while 16 were asked at a time.{} At 3 minutes the node goes NotReady.{room}",
            sum(runtime, outage.filter(|_| !adds_up))
        ),
        subjects: vec![node(evidence)],
        citations: vec![
            cite_probe("docker list", runtime, &runtime.list),
            Citation {
                source: "docker inspect".to_owned().into(),
                is_call: true,
                line: None,
                time: Some(runtime.asked_at),
                text: format!("{median:.0} ms each at the median").into(),
            },
        ],
        remedies: remedies(evidence),
        spans: Vec::new(),
    }]
}

/// Whether the lag is what our own calls make of a relist in which many pods changed, in magnitude: of how many the
/// statuses were asked for is not known, and the disk is not always equally slow.
fn adds_up(runtime: &Runtime, outage: &Incident) -> bool {
    let relist = TimeDelta::from_std(runtime.relist().all_changed());
    relist.is_ok_and(|relist| relist * 2 >= outage.peak_lag)
}

/// Returns what the statuses of all pods come to; `beyond` is an outage that they do not explain.
fn sum(runtime: &Runtime, beyond: Option<&Incident>) -> String {
    let relist = TimeDelta::from_std(runtime.relist().all_changed());
    let relist = duration::human(relist.unwrap_or(TimeDelta::MAX));
    match beyond {
        None => format!(" With the statuses of all pods a relist comes to {relist}."),
        Some(outage) => format!(
            " With the statuses of all pods a relist comes to {relist}, which does not explain the lag of {}: something else is slow, too.",
            duration::human(outage.peak_lag)
        ),
    }
}

/// A list that will soon be too long, or is, whatever it takes now: then the kubelet can neither relist nor clean up.
/// Docker's alone does not tell which: it holds both of the kubelet's, in other words.
fn near_the_limit(evidence: &Evidence, runtime: &Runtime) -> Finding {
    let room = room::told(runtime).unwrap_or_default();
    let pile = stopped(runtime);
    let beyond = runtime.list_bytes >= room::LIMIT;
    let (title, meaning) = match beyond {
        false => (
            "bring the list of containers near to gRPC's limit",
            "Beyond it the kubelet can neither list its containers nor remove old ones, and the node goes NotReady. The kubelet's own two lists are somewhat shorter than Docker's.",
        ),
        true => (
            "make Docker's list of containers longer than gRPC's limit",
            "The kubelet gets it as two lists, of sandboxes and of containers, and each is shorter than Docker's. If one of them exceeds the limit, the kubelet can neither list its containers nor remove old ones, and the node is NotReady; its log tells.",
        ),
    };
    let see = beyond.then(|| see_the_kubelets_word(evidence));
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: format!("{pile} stopped containers {title}"),
        severity: Severity::Warning,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!("{room} {meaning}"),
        subjects: vec![node(evidence)],
        citations: vec![list_too_large::cite_list(runtime)],
        remedies: see.into_iter().chain(remedies(evidence)).collect(),
        spans: Vec::new(),
    }
}

/// A pile that Docker's files show while it does not even list: perhaps it lists, and takes too long.
fn behind_silence(evidence: &Evidence, found: &[Finding]) -> Option<Finding> {
    let runtime = evidence.runtime.as_ref()?;
    let (disk, stored) = stored::listed(evidence)?;
    let pile = stored::stopped(&stored);
    // What does not run at all, or is stopped, needs no pile to be silent.
    let known = ["frozen-daemon", "network-storage"];
    let explained = found.iter().any(|f| f.active && known.contains(&f.id));
    if pile < MANY || runtime.list.outcome != Outcome::TimedOut || explained {
        return None;
    }
    let containers = count(stored.len(), "container");
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: format!("{pile} stopped containers may be why Docker does not list them in time"),
        severity: Severity::Warning,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "Docker does not answer the list of containers, and by its files in {} it has {containers}, {pile} of them stopped (as it last wrote them; that may be stale). So many alone hang nothing; on a slow disk they make each list slow, and the kubelet lists twice for each relist.",
            disk.root
        ),
        subjects: vec![node(evidence)],
        citations: vec![cite_probe("docker list", runtime, &runtime.list)],
        remedies: remedies(evidence),
        spans: Vec::new(),
    })
}

/// Returns the look that tells whether the kubelet's own lists are too long.
fn see_the_kubelets_word(evidence: &Evidence) -> Remedy {
    remedy(
        "See whether the kubelet gets them",
        Risk::Safe,
        format!(
            "journalctl{} --since -15min --no-pager | grep -c 'larger than max'",
            Setup::of(evidence).own_units().of_journal()
        ),
        "nothing; 0 where its lists come",
    )
}

fn remedies(evidence: &Evidence) -> Vec<Remedy> {
    let mut remedies = clean_exited(evidence).unwrap_or_default();
    remedies.push(bound_dead_containers(evidence));
    remedies
}

fn median_inspect(runtime: &Runtime) -> Duration {
    let answered = runtime
        .containers
        .iter()
        .filter(|c| c.probe.outcome == Outcome::Answered);
    let mut took: Vec<_> = answered.map(|container| container.probe.took).collect();
    took.sort();
    took.get(took.len() / 2).copied().unwrap_or_default()
}
