//! `orphan-sandbox`: a sandbox or container outlives its pod.

use super::lines::Lines;
use super::remedies::{remedy, stop_container};
use super::support::old_form::{Bearing, OldRule as Rule};
use super::{EACH, called, clock, count, subject_from, subject_of};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, Variant};
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
    explains: false,
    bearing: Bearing::NONE,
    page: include_str!("../../docs/findings/orphan-sandbox.md"),
    check,
};

const CALLS: &[Kind] = &[
    Kind::StopSandboxFailed,
    Kind::RemoveSandboxFailed,
    Kind::StopContainerFailed,
    Kind::RemoveContainerFailed,
];
/// How long the kubelet's clean-up may take on top of a pod's own grace.
const CLEAN_UP: TimeDelta = TimeDelta::minutes(5);
/// The grace of a pod whose containers do not tell theirs: databases are given up to an hour.
const LONGEST_GRACE: TimeDelta = TimeDelta::hours(1);
/// What the kubelet cannot remove it tries again at least each minute.
const RETRIES: TimeDelta = TimeDelta::minutes(5);
/// Where dockershim and cri-dockerd note the seconds of grace, the pod's and its deletion's.
const GRACE_LABELS: [&str; 2] = [
    "annotation.io.kubernetes.pod.deletionGracePeriod",
    "annotation.io.kubernetes.pod.terminationGracePeriod",
];

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let Some(log) = &evidence.log else {
        return Vec::new();
    };
    let mut left: Vec<Left> = in_docker(evidence, log);
    for group in Lines::of(evidence, CALLS).0 {
        let id = group.first.subject();
        let known = |l: &Left| {
            l.subject
                .id
                .as_ref()
                .zip(id)
                .is_some_and(|(a, b)| a.matches(b))
        };
        if !left.iter().any(known) {
            left.extend(stuck_in_log(evidence, log, group));
        }
    }
    if left.is_empty() {
        Vec::new()
    } else {
        vec![tell(evidence, &left)]
    }
}

/// Something left of a pod.
struct Left {
    subject: Subject,
    removal: Event,
    citations: Vec<Citation>,
    /// What Docker lists it as, if it runs there.
    status: Option<String>,
    /// Whether it runs only by what Docker last wrote of it.
    stored: bool,
    /// Why it cannot be stopped or removed, where the log says so.
    error: Option<ErrorTail>,
    /// Whether the log shows that it has ended since.
    ended: bool,
    active: bool,
}

/// Returns what runs in Docker although the log shows its pod being removed for longer than it should take.
fn in_docker(evidence: &Evidence, log: &Log) -> Vec<Left> {
    let containers: Vec<_> = evidence
        .runtime
        .iter()
        .flat_map(|runtime| &runtime.containers)
        .collect();
    let runs = |container: &&&Container| container.inspected.as_ref().is_some_and(|i| i.running);
    // What is only written down counts where its process is seen, for else it may be long gone.
    let there = |container: &Container| {
        let stored = container.disk.as_ref();
        stored.is_some_and(|stored| stored.life == Liveness::There)
    };
    let orphan = |container: &&Container| {
        // By UID only: a pod of the same name may have taken its place (StatefulSets).
        let uid = container.uid.as_ref()?;
        let removal = log.deletion_of(None, Some(uid), None)?;
        let of_pod = containers.iter().filter(|c| c.uid.as_ref() == Some(uid));
        let grace = of_pod
            .filter_map(|c| grace(c))
            .max()
            .unwrap_or(LONGEST_GRACE);
        if evidence.now - removal.at? < grace + CLEAN_UP {
            return None;
        }
        Some(Left {
            subject: subject_of(container),
            removal: removal.clone(),
            citations: vec![removal.citation.clone()],
            status: Some(container.listed_status.clone()),
            stored: container.inspected.is_none(),
            error: None,
            ended: false,
            active: true,
        })
    };
    containers
        .iter()
        .filter(|it| runs(it) || (it.is_only_stored() && there(it)))
        .filter_map(orphan)
        .map(|mut left| {
            left.status = left.status.filter(|_| !left.stored);
            left
        })
        .collect()
}

/// Returns the pod's grace, as its containers' labels tell it.
fn grace(container: &Container) -> Option<TimeDelta> {
    let seconds = GRACE_LABELS
        .iter()
        .filter_map(|label| container.labels.get(*label)?.parse().ok());
    seconds.filter_map(TimeDelta::try_seconds).max()
}

/// Returns what the kubelet tries in vain to stop or remove after its pod went; time-outs are another finding.
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
    let lines = Lines(vec![group]);
    let mut citations = vec![removal.citation.clone()];
    citations.extend(lines.cite(2));
    Some(Left {
        subject: subject_from(event),
        removal: removal.clone(),
        citations,
        status: None,
        stored: false,
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

fn tell(evidence: &Evidence, left: &[Left]) -> Finding {
    let first = &left[0];
    let since = clock(evidence, first.removal.at);
    let status = first.status.as_ref();
    let status = status.map(|status| format!(", and Docker still lists it as \"{status}\""));
    let stored = first.stored.then(|| {
        ", and Docker, which does not answer now, last wrote it down as running; its process is there".to_owned()
    });
    let active = left.iter().any(|one| one.active);
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: match left {
            [_] => format!("{} outlives its pod", called(&first.subject)),
            many => format!("{} outlive their pods", count(many.len(), "container")),
        },
        severity: Severity::Warning,
        confidence: match left.iter().any(|one| one.status.is_some()) {
            true => Confidence::Confirmed,
            false => Confidence::Suspected,
        },
        active,
        explanation: format!(
            "The kubelet was asked to remove the pod at {since}{}.{} What is left of a pod holds its resources and its mounts, and each failed try to remove it costs a call to the runtime. It does not hold up the relist unless its inspect hangs.",
            status.or(stored).unwrap_or_default(),
            why(first)
        ),
        subjects: left.iter().map(|one| one.subject.clone()).collect(),
        citations: left
            .iter()
            .take(EACH)
            .flat_map(|one| one.citations.clone())
            .collect(),
        remedies: if active {
            remedies(evidence, first)
        } else {
            Vec::new()
        },
        spans: Vec::new(),
    }
}

/// Returns why it is still there, in the words of whoever failed.
fn why(left: &Left) -> String {
    let Some(error) = &left.error else {
        return String::new();
    };
    let ended = match left.ended {
        true => " It has ended itself: what fails is to clean up after it.",
        false => "",
    };
    format!(" The last try failed with: \"{}\".{ended}", error.text)
}

/// Returns the look at what a network plugin and dockershim keep of a sandbox: an empty file cannot be read, and fails each
/// try (kubernetes pkg/kubelet/dockershim/docker_checkpoint.go; containernetworking libcni).
fn see_kept(id: &ContainerId) -> Remedy {
    let id = id.as_str();
    remedy(
        "See whether what is kept of its network is empty or cut off",
        Risk::Safe,
        format!("ls -l /var/lib/dockershim/sandbox/{id} /var/lib/cni/cache/results/*{id}*"),
        "nothing; a file of 0 bytes can be moved away: the next try goes without it",
    )
}

fn remedies(evidence: &Evidence, left: &Left) -> Vec<Remedy> {
    let subject = &left.subject;
    let look = subject.pod.as_ref().map(|pod| Remedy {
        title: "See first whether the pod is really gone".to_owned(),
        risk: Risk::Safe,
        command: format!("kubectl get pod -n {} {}", pod.namespace, pod.name),
        cost: "nothing; a pod that is still terminating may be using its grace".to_owned(),
        actions: Vec::new(),
    });
    let of_network = left.error.as_ref().is_some_and(ErrorTail::is_of_network);
    let next = subject.id.as_ref().and_then(|id| match of_network {
        true => Some(see_kept(id)),
        // What has ended is not to be stopped.
        false => (!left.ended).then(|| stop_container(evidence, id)),
    });
    look.into_iter().chain(next).collect()
}
