//! The pod of a container, by the line after: a failed call names the container alone, and the kubelet's next line, mostly
//! within a millisecond, the pod alone. So a hang has its pod also where the line with both is hours before, or missing.

use crate::kubelet::event::{ErrorClass, Event, Kind};
use crate::syntax::id::ContainerId;
use crate::syntax::time::Time;
use chrono::TimeDelta;

/// `getPodContainerStatuses for pod …` names the pod of the `ContainerStatus "<id>" …` line right before it.
const MAX_STATUS_DELAY: TimeDelta = TimeDelta::seconds(1);
/// `Error syncing pod …` comes from the same call, but other pods' come between: on a real node after 0.3 to 0.7 ms.
const MAX_SYNC_DELAY: TimeDelta = TimeDelta::milliseconds(50);

/// What failed, and how the line that names its pod calls that (`pkg/kubelet/container/sync_result.go`).
const CALLS: &[(Kind, &str)] = &[
    (Kind::StartContainerFailed, "StartContainer"),
    (Kind::StopContainerFailed, "KillContainer"),
    (Kind::StopSandboxFailed, "KillPodSandbox"),
];

/// A container or sandbox that a line named without its pod.
#[derive(Debug)]
struct Unnamed {
    kind: Kind,
    class: Option<ErrorClass>,
    at: Time,
    /// `None`: two failed so at one time, and the next line is of one of them.
    id: Option<ContainerId>,
}

/// Puts the two lines together. It holds one line.
#[derive(Debug, Default)]
pub(super) struct Correlator(Option<Unnamed>);

impl Correlator {
    /// Takes in the next event; returns the container or sandbox whose pod it names, if that is a line before it.
    pub(super) fn observe(&mut self, event: &Event) -> Option<ContainerId> {
        let at = event.at?;
        let class = event.error_class();
        match event.kind {
            Kind::PodContainersStatusFailed => {
                let before = self
                    .0
                    .take_if(|it| it.kind == Kind::ContainerStatusFailed)?;
                before
                    .id
                    .filter(|_| follows(at, before.at, MAX_STATUS_DELAY))
            }
            Kind::PodSyncError => {
                let text = event.error.as_ref()?.text.as_ref();
                let fits = |it: &mut Unnamed| {
                    let mut calls = CALLS.iter();
                    let named = calls.any(|(kind, name)| *kind == it.kind && mentions(text, name));
                    named && class == it.class
                };
                let before = self.0.take_if(fits)?;
                before.id.filter(|_| follows(at, before.at, MAX_SYNC_DELAY))
            }
            kind if event.pod.is_none() && event.error.is_some() => {
                let id = event.subject().cloned()?;
                if kind == Kind::ContainerStatusFailed {
                    self.0 = Some(Unnamed {
                        kind,
                        class,
                        at,
                        id: Some(id),
                    });
                } else if CALLS.iter().any(|(call, _)| *call == kind) {
                    self.call_failed(kind, class, at, id);
                }
                None
            }
            _ => None,
        }
    }

    fn call_failed(&mut self, kind: Kind, class: Option<ErrorClass>, at: Time, id: ContainerId) {
        let another = |it: &Unnamed| {
            it.kind == kind && follows(at, it.at, MAX_SYNC_DELAY) && it.id.as_ref() != Some(&id)
        };
        let mixed = self.0.as_ref().is_some_and(another);
        self.0 = Some(Unnamed {
            kind,
            class,
            at,
            id: (!mixed).then_some(id),
        });
    }
}

fn follows(at: Time, before: Time, within: TimeDelta) -> bool {
    at >= before && at - before <= within
}

/// Whether an error says that this failed: `failed to "StartContainer" for …`, in quotes of any depth.
fn mentions(text: &str, call: &str) -> bool {
    let mut places = text.match_indices(call);
    places.any(|(at, _)| {
        text[..at].ends_with('"') && text[at + call.len()..].starts_with(['"', '\\'])
    })
}
