//! What findings are about.

use crate::evidence::Evidence;
use crate::finding::{Subject, SubjectKind};
use crate::kubelet::event::Event;
use crate::node::Process;
use crate::runtime::{Container, ContainerKind};

fn named(kind: SubjectKind, name: Option<String>) -> Subject {
    Subject {
        kind,
        id: None,
        name,
        pod: None,
        uid: None,
        pid: None,
    }
}

pub(crate) fn node(evidence: &Evidence) -> Subject {
    let name = evidence.log.as_ref().and_then(|log| log.node.clone());
    named(SubjectKind::Node, name)
}

pub(crate) fn daemon(name: &str) -> Subject {
    named(SubjectKind::Daemon, Some(name.to_owned()))
}

/// A process that belongs to no pod, by the name of its program or as the kernel calls it.
pub(crate) fn process(pid: u32, name: Option<&str>) -> Subject {
    Subject {
        pid: Some(pid),
        ..named(SubjectKind::Process, name.map(str::to_owned))
    }
}

/// A process, perhaps of a pod.
pub(crate) fn process_of_pod(process: &Process) -> Subject {
    Subject {
        uid: process.uid.clone(),
        ..self::process(process.pid, Some(&process.comm))
    }
}

pub(crate) fn container(container: &Container) -> Subject {
    let kind = match container.kind {
        ContainerKind::Sandbox => SubjectKind::Sandbox,
        ContainerKind::Container | ContainerKind::Other => SubjectKind::Container,
    };
    let name = Some(container.name.clone()).filter(|name| !name.is_empty());
    Subject {
        id: Some(container.id.clone()),
        pod: container.pod.clone(),
        uid: container.uid.clone(),
        ..named(kind, name)
    }
}

/// The container or sandbox that an event is about.
pub(crate) fn of_event(event: &Event) -> Subject {
    let kind = match event.container {
        Some(_) => SubjectKind::Container,
        None => SubjectKind::Sandbox,
    };
    Subject {
        id: event.subject().cloned(),
        pod: event.pod.clone(),
        uid: event.uid.clone(),
        ..named(kind, None)
    }
}
