//! `orphan-sandbox`: a sandbox or container outlives its pod.

use super::support::answer::{Answer, Draft};
use super::support::case::Case;
use super::support::log_lines::LogMatches;
use super::support::remedies::stop_container;
use super::support::wording::{clock, count, display_name};
use super::support::{step, subject};
use super::{Detection, EACH, Explains, Rule, Tier};
use crate::evidence::Evidence;
use crate::finding::{Remedy, Severity, Subject};
use crate::kubelet::event::{ErrorClass, ErrorTail, Event, Kind};
use crate::kubelet::summary::{Group, Log};
use crate::runtime::Container;
use crate::runtime::on_disk::Liveness;
use crate::syntax::citation::Citation;
use crate::syntax::id::ContainerId;
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "orphan-sandbox",
    title: "A sandbox or container outlives its pod",
    page: include_str!("../../docs/findings/orphan-sandbox.md"),
    explains: Explains::Nothing,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

const CALLS: &[Kind] = &[
    Kind::StopSandboxFailed,
    Kind::RemoveSandboxFailed,
    Kind::StopContainerFailed,
    Kind::RemoveContainerFailed,
];
/// How long the kubelet's clean-up may take on top of a pod's own grace.
const CLEAN_UP: TimeDelta = TimeDelta::minutes(5);
/// The grace of a pod whose containers do not show theirs: databases are given up to an hour.
const LONGEST_GRACE: TimeDelta = TimeDelta::hours(1);
/// What the kubelet cannot remove it tries again at least each minute.
const RETRIES: TimeDelta = TimeDelta::minutes(5);
/// Where dockershim and cri-dockerd note the seconds of grace, the pod's and its deletion's.
const GRACE_LABELS: [&str; 2] = [
    "annotation.io.kubernetes.pod.deletionGracePeriod",
    "annotation.io.kubernetes.pod.terminationGracePeriod",
];

fn evaluate(case: &Case) -> Answer {
    let Some(log) = case.log() else {
        return Answer::Silent;
    };
    let mut left = in_docker(case.evidence, log);
    for group in case.lines(CALLS).0 {
        let id = group.first.subject();
        let is_same = |one: &Left| {
            let ids = one.subject.id.as_ref().zip(id);
            ids.is_some_and(|(one, other)| one.matches(other))
        };
        if !left.iter().any(is_same) {
            left.extend(stuck_in_log(case.evidence, log, group));
        }
    }
    match left.as_slice() {
        [] => Answer::Silent,
        [first, ..] => describe(case.evidence, first, &left).into(),
    }
}

/// Something left of a pod.
struct Left {
    subject: Subject,
    removal: Event,
    citations: Vec<Citation>,
    /// What Docker lists it as, if it runs there.
    status: Option<String>,
    /// Whether it runs only by its last on-disk state.
    on_disk: bool,
    /// Why it cannot be stopped or removed, where the log says so.
    error: Option<ErrorTail>,
    /// Whether the log shows that it has ended since.
    ended: bool,
    active: bool,
}

/// What runs in Docker although the log shows its pod being removed for longer than it should take.
fn in_docker(evidence: &Evidence, log: &Log) -> Vec<Left> {
    let containers = evidence.runtime.iter().flat_map(|it| &it.containers);
    let containers: Vec<_> = containers.collect();
    let is_running =
        |container: &Container| container.inspected.as_ref().is_some_and(|i| i.running);
    // What is only on disk counts where its process is seen, for else it may be long gone.
    let is_there = |container: &Container| {
        let state = container.disk.as_ref();
        container.is_only_stored() && state.is_some_and(|it| it.life == Liveness::There)
    };
    let orphan = |container: &&Container| {
        // By UID only: a pod of the same name may have taken its place (StatefulSets).
        let uid = container.uid.as_ref()?;
        let removal = log.deletion_of(None, Some(uid), None)?;
        let of_pod = containers.iter().filter(|it| it.uid.as_ref() == Some(uid));
        let grace = of_pod.filter_map(|it| grace(it)).max();
        if evidence.now - removal.at? < grace.unwrap_or(LONGEST_GRACE) + CLEAN_UP {
            return None;
        }
        let on_disk = container.inspected.is_none();
        Some(Left {
            subject: subject::container(container),
            removal: removal.clone(),
            citations: vec![removal.citation.clone()],
            status: (!on_disk).then(|| container.listed_status.clone()),
            on_disk,
            error: None,
            ended: false,
            active: true,
        })
    };
    let present = containers.iter().copied();
    let present = present.filter(|it| is_running(it) || is_there(it));
    present.filter_map(|it| orphan(&it)).collect()
}

/// The pod's grace, by its containers' labels.
fn grace(container: &Container) -> Option<TimeDelta> {
    let seconds = GRACE_LABELS
        .iter()
        .filter_map(|label| container.labels.get(*label)?.parse().ok());
    seconds.filter_map(TimeDelta::try_seconds).max()
}

/// What the kubelet fails to stop or remove after its pod went; time-outs are another finding.
fn stuck_in_log(evidence: &Evidence, log: &Log, group: &Group) -> Option<Left> {
    let class = group.first.error.as_ref()?.class;
    let others = [
        ErrorClass::Deadline,
        ErrorClass::NotFound,
        ErrorClass::Busy,
        ErrorClass::Unavailable,
    ];
    if others.contains(&class) {
        return None;
    }
    let event = &group.first;
    let id = event.subject()?;
    let listed = evidence.listed();
    if listed.is_some_and(|runtime| runtime.find(id).is_none()) {
        return None;
    }
    let removal = log.deletion_of(event.pod.as_ref(), event.uid.as_ref(), event.at)?;
    let lines = LogMatches(vec![group]);
    let mut citations = vec![removal.citation.clone()];
    citations.extend(lines.cite(2));
    Some(Left {
        subject: subject::of_event(event),
        removal: removal.clone(),
        citations,
        status: None,
        on_disk: false,
        error: group.last.error.clone(),
        ended: has_ended(log, id),
        active: lines.are_recent(evidence, RETRIES),
    })
}

/// Whether the last event of the relist about it is its end.
fn has_ended(log: &Log, id: &ContainerId) -> bool {
    let about = |group: &&Group| group.last.subject().is_some_and(|it| it.matches(id));
    let events = log.of(&[Kind::PlegEvent]).filter(about);
    let last = events.max_by_key(|group| group.last.at);
    last.is_some_and(|group| group.last.detail.as_deref() == Some("ContainerDied"))
}

fn describe(evidence: &Evidence, first: &Left, left: &[Left]) -> Draft {
    let since = clock(evidence, first.removal.at);
    let state = match &first.status {
        Some(status) => format!(", and Docker still lists it as \"{status}\""),
        None if first.on_disk => {
            ", and Docker, which does not answer now, last recorded it as running; its process exists"
                .to_owned()
        }
        None => String::new(),
    };
    let error = first.error.as_ref().map(|error| {
        let ended = match first.ended {
            true => " It has ended: what fails is the clean-up after it.",
            false => "",
        };
        format!("The last try failed with: \"{}\".{ended}", error.text)
    });
    let title = match left {
        [_] => format!("{} outlives its pod", display_name(&first.subject)),
        many => format!("{} outlive their pods", count(many.len(), "container")),
    };
    Draft::new(Severity::Warning, title)
        .active(left.iter().any(|one| one.active))
        .say(format!("The kubelet was asked to remove the pod at {since}{state}."))
        .say(error.unwrap_or_default())
        .say("What is left of a pod holds its resources and its mounts, and each failed removal costs a call to the runtime. It does not block the relist unless its inspect hangs.")
        .about(left.iter().map(|one| one.subject.clone()))
        .cite(left.iter().take(EACH).flat_map(|one| one.citations.clone()))
        .confirmed_if(left.iter().any(|one| one.status.is_some()))
        .steps(steps(evidence, first))
}

/// What a network plugin and dockershim keep of a sandbox: an empty file cannot be read, and fails each try (kubernetes
/// pkg/kubelet/dockershim/docker_checkpoint.go; containernetworking libcni).
fn see_kept(id: &ContainerId) -> Remedy {
    let id = id.as_str();
    step::look(
        "See whether what is kept of its network is empty or truncated",
        format!("ls -l /var/lib/dockershim/sandbox/{id} /var/lib/cni/cache/results/*{id}*"),
    )
    .note("a file of 0 bytes can be moved away: the next try runs without it")
}

fn steps(evidence: &Evidence, left: &Left) -> Vec<Remedy> {
    let look = left.subject.pod.as_ref().map(|pod| {
        step::look(
            "See first whether the pod is really gone",
            format!("kubectl get pod -n {} {}", pod.namespace, pod.name),
        )
        .note("a pod that is still terminating may be using its grace")
    });
    let is_of_network = left.error.as_ref().is_some_and(ErrorTail::is_of_network);
    let next = left.subject.id.as_ref().and_then(|id| match is_of_network {
        true => Some(see_kept(id)),
        // What has ended is not to be stopped.
        false => (!left.ended).then(|| stop_container(evidence, id)),
    });
    look.into_iter().chain(next).collect()
}
