//! `container-pileup`: so many stopped containers that listing or inspecting them is slow.

use super::support::answer::{Absent, Answer, Draft};
use super::support::case::Case;
use super::support::list_size::{LIMIT, cite_list, stopped};
use super::support::remedies::{RuntimeStack, bound_dead_containers, clean_exited};
use super::support::wording::{count, took};
use super::support::{cite, list_size, on_disk, step};
use super::{Detection, Explains, Rule, Tier};
use crate::evidence::Evidence;
use crate::finding::{Remedy, Severity};
use crate::io::probe::Outcome;
use crate::kubelet::incident::Incident;
use crate::runtime::{Call, Runtime};
use crate::syntax::duration;
use chrono::TimeDelta;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "container-pileup",
    title: "Too many stopped containers slow every relist",
    page: include_str!("../../docs/findings/container-pileup.md"),
    explains: Explains::Lag,
    tier: Tier::Second,
    detection: Detection::Custom(evaluate),
};

/// Fewer stopped containers are no pile: a node with the default 110 pods keeps one or two for each container.
const PILE: usize = 300;
/// Three quarters of what gRPC lets through.
const NEAR_LIMIT: u64 = LIMIT / 4 * 3;
/// A relist is meant to run every second; one that takes longer is late for the next.
const SLOW_LIST: Duration = Duration::from_secs(1);
/// Inspects that take this long at the median are 100 times slower than normal (a few milliseconds).
const SLOW_INSPECT: Duration = Duration::from_millis(500);

fn evaluate(case: &Case) -> Answer {
    let found = match case.evidence.listed() {
        Some(runtime) => from_list(case, runtime),
        None => from_disk(case),
    };
    found.map_or_else(|| absent(case).into(), Answer::from)
}

fn absent(case: &Case) -> Absent {
    let absent = Absent::needs_runtime("docker ps -aq | wc -l");
    let Some(runtime) = case.listed() else {
        return absent;
    };
    let (all, pile) = (
        count(runtime.containers.len(), "container"),
        stopped(runtime),
    );
    let took = took(runtime.probe(Call::List));
    absent.ruled_out(
        format!("Docker has {all}, {pile} of them stopped, and lists them in {took}"),
        &["docker list"],
    )
}

fn from_list(case: &Case, runtime: &Runtime) -> Option<Draft> {
    let pile = stopped(runtime);
    let inspect = median_inspect(runtime);
    let mostly_stopped = pile * 2 >= runtime.containers.len();
    if runtime.list_bytes() >= NEAR_LIMIT && mostly_stopped && !case.has_active(&["list-too-large"])
    {
        return Some(near_the_limit(case.evidence, runtime));
    }
    let slow = runtime.probe(Call::List).took >= SLOW_LIST || inspect >= SLOW_INSPECT;
    (pile >= PILE && slow).then(|| slow_relists(case, runtime, inspect))
}

fn slow_relists(case: &Case, runtime: &Runtime, inspect: Duration) -> Draft {
    // An outage that goes on, in which no call failed: the relist works, and takes too long.
    let slow_relist = |it: &&Incident| it.ongoing && it.list_errors == 0 && it.culprits.is_empty();
    let outage = case
        .log()
        .and_then(|log| log.incidents.iter().find(slow_relist));
    // In magnitude: of how many pods the statuses were asked for is not known, and the disk is not always equally slow.
    let relist = TimeDelta::from_std(runtime.relist().all_changed()).unwrap_or(TimeDelta::MAX);
    let explains = |outage: &Incident| relist.checked_mul(2).is_none_or(|it| it >= outage.peak_lag);
    let rest = match outage.filter(|outage| !explains(outage)) {
        Some(outage) => format!(
            ", which does not explain the lag of {}: something else is slow, too",
            duration::human(outage.peak_lag)
        ),
        None => String::new(),
    };
    let (list, median) = (
        runtime.probe(Call::List).took.as_secs_f64(),
        inspect.as_secs_f64() * 1000.0,
    );
    let (pile, all) = (
        stopped(runtime),
        count(runtime.containers.len(), "container"),
    );
    let severity = match outage {
        Some(_) => Severity::Critical,
        None => Severity::Warning,
    };
    Draft::new(severity, format!("{pile} stopped containers make every relist slow"))
        .say(format!(
            "Docker has {all}, {pile} of them stopped. Listing them takes {list:.1} s and the kubelet lists twice each time, so a relist that should run every second takes {:.1} s at least; on top come its inspects, {median:.0} ms each while 16 were asked at a time. With the statuses of all pods a relist comes to {}{rest}. At 3 minutes the node is NotReady.",
            list * 2.0,
            duration::human(relist),
        ))
        .say(list_size::told(runtime).unwrap_or_default())
        .seen([
            cite::probe("docker list", runtime, runtime.probe(Call::List)),
            cite::call("docker inspect", runtime, format!("{median:.0} ms each at the median")),
        ])
        .confirmed_if(outage.is_some_and(explains))
        .steps(steps(case.evidence))
}

/// A list that will soon be too long, or is, whatever it takes now: then the kubelet can neither relist nor clean up.
/// Docker's alone does not show which: it holds both of the kubelet's, in other words.
fn near_the_limit(evidence: &Evidence, runtime: &Runtime) -> Draft {
    let is_beyond = runtime.list_bytes() >= LIMIT;
    let (title, meaning) = match is_beyond {
        false => (
            "bring the list of containers near to gRPC's limit",
            "Beyond it the kubelet can neither list its containers nor remove old ones, and the node is NotReady. The kubelet's own two lists are somewhat shorter than Docker's.",
        ),
        true => (
            "make Docker's list of containers longer than gRPC's limit",
            "The kubelet gets it as two lists, of sandboxes and of containers, and each is shorter than Docker's. If one of them exceeds the limit, the kubelet can neither list its containers nor remove old ones, and the node is NotReady; its log shows it.",
        ),
    };
    let journal = RuntimeStack::new(evidence).own_units().of_journal();
    let log = step::look(
        "See whether the kubelet gets them",
        format!("journalctl{journal} --since -15min --no-pager | grep -c 'larger than max'"),
    );
    let title = format!("{} stopped containers {title}", stopped(runtime));
    Draft::new(Severity::Warning, title)
        .say(list_size::told(runtime).unwrap_or_default())
        .say(meaning)
        .seen([cite_list(runtime)])
        .steps(is_beyond.then(|| log.note("0 where its lists come")))
        .steps(steps(evidence))
}

/// A pile that Docker's files show while it does not even list: perhaps it lists, and takes too long.
fn from_disk(case: &Case) -> Option<Draft> {
    let runtime = case.evidence.runtime.as_ref()?;
    let (disk, stored) = on_disk::listed(case.evidence)?;
    let pile = on_disk::stopped(&stored);
    // What does not run at all, or is stopped, needs no pile to be silent.
    let is_explained = case.has_active(&["frozen-daemon", "network-storage"]);
    if pile < PILE || runtime.probe(Call::List).outcome != Outcome::TimedOut || is_explained {
        return None;
    }
    let all = count(stored.len(), "container");
    let title = format!("{pile} stopped containers may be why Docker does not list them in time");
    Some(
        Draft::new(Severity::Warning, title)
            .say(format!(
                "Docker does not answer the list of containers, and by its files in {} it has {all}, {pile} of them stopped (as it last wrote them; that may be stale). That many do not hang a call; on a slow disk they make each list slow, and the kubelet lists twice for each relist.",
                disk.root
            ))
            .seen([cite::probe("docker list", runtime, runtime.probe(Call::List))])
            .steps(steps(case.evidence)),
    )
}

fn steps(evidence: &Evidence) -> Vec<Remedy> {
    let mut steps = clean_exited(evidence).unwrap_or_default();
    steps.push(bound_dead_containers(evidence));
    steps
}

fn median_inspect(runtime: &Runtime) -> Duration {
    let answered = |it: &&crate::runtime::Container| it.probe.outcome == Outcome::Answered;
    let answered = runtime.containers.iter().filter(answered);
    let mut took: Vec<_> = answered.map(|container| container.probe.took).collect();
    took.sort();
    took.get(took.len() / 2).copied().unwrap_or_default()
}
