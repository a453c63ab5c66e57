//! How long a relist of the kubelet would take, by what our own calls took.
//!
//! A relist lists all sandboxes, then all containers; then, for each pod that changed, it asks the status of each of
//! its sandboxes and containers, one after the other. Most relists find nothing changed; right after a start of the
//! kubelet, or of the runtime, all pods have. Not counted are two lists with a filter for each changed pod. Our
//! inspects ran beside each other, which makes each slower than the kubelet's: the sum is rather too high.

use super::{Call, Container, ContainerKind, Outcome, Runtime};
use crate::syntax::id::{PodName, PodUid};
use std::{collections::BTreeMap, time::Duration};

/// A relist is meant to run every second, and takes 10 to 300 ms on a well node: one in which a single pod changed and
/// that takes so long is late.
pub const LATE: Duration = Duration::from_secs(5);
/// A third of the kubelet's limit: where all pods changed, more comes near it.
pub const LATE_ALL: Duration = Duration::from_secs(60);

/// What a relist would take.
#[derive(Clone, Debug, PartialEq)]
pub struct Relist {
    /// Both lists: a relist in which nothing changed.
    pub lists: Duration,
    /// Whether the list answered.
    pub listed: bool,
    /// The pod whose statuses take longest; `None` where no container is a pod's.
    pub slowest: Option<Pod>,
    /// The statuses of all pods.
    pub statuses: Duration,
    /// How many pods have statuses.
    pub pods: usize,
    /// How many sandboxes and containers of pods were asked for.
    pub asked: usize,
    /// How many calls (the list among them) gave no answer in time: it takes longer than this.
    pub unanswered: usize,
    /// How many were not asked, or failed otherwise: it takes longer than this.
    pub unknown: usize,
}

/// A pod's statuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    /// Its name, if known.
    pub name: Option<PodName>,
    /// How many sandboxes and containers it has.
    pub containers: usize,
    /// How long their statuses take, one after the other.
    pub took: Duration,
}

impl Relist {
    /// Returns what a relist takes in which nothing but the slowest pod changed.
    pub fn one_changed(&self) -> Duration {
        self.lists + self.slowest.as_ref().map_or(Duration::ZERO, |pod| pod.took)
    }

    /// Returns what a relist takes in which all pods changed.
    pub fn all_changed(&self) -> Duration {
        self.lists + self.statuses
    }

    /// Returns whether it takes so long that the kubelet's limit is not far.
    pub fn is_slow(&self) -> bool {
        self.one_changed() >= LATE || self.all_changed() >= LATE_ALL
    }

    /// Returns whether every call that it counts was answered.
    pub fn is_whole(&self) -> bool {
        self.unanswered == 0 && self.unknown == 0
    }
}

impl Runtime {
    /// Returns how long a relist of the kubelet would take.
    pub fn relist(&self) -> Relist {
        let mut pods: BTreeMap<(Option<&PodUid>, Option<&PodName>), Pod> = BTreeMap::new();
        let ours = |container: &&Container| container.kind != ContainerKind::Other;
        let mut relist = Relist {
            lists: self.probe(Call::List).took * 2,
            listed: self.probe(Call::List).outcome == Outcome::Answered,
            slowest: None,
            statuses: Duration::ZERO,
            pods: 0,
            asked: 0,
            unanswered: usize::from(self.probe(Call::List).outcome == Outcome::TimedOut),
            unknown: usize::from(!matches!(
                self.probe(Call::List).outcome,
                Outcome::Answered | Outcome::TimedOut
            )),
        };
        for container in self.containers.iter().filter(ours) {
            // One that is gone since is none that the next relist asks for.
            match container.probe.outcome {
                Outcome::Answered => {}
                Outcome::TimedOut => relist.unanswered += 1,
                Outcome::Gone => continue,
                _ => relist.unknown += 1,
            }
            relist.asked += 1;
            relist.statuses += container.probe.took;
            let key = (container.uid.as_ref(), container.pod.as_ref());
            let pod = pods.entry(key).or_insert_with(|| Pod {
                name: container.pod.clone(),
                containers: 0,
                took: Duration::ZERO,
            });
            pod.containers += 1;
            pod.took += container.probe.took;
        }
        relist.pods = pods.len();
        relist.slowest = pods.into_values().max_by_key(|pod| pod.took);
        relist
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::io::probe::Probe;
    use crate::node::DEFAULT_ENDPOINT;
    use crate::runtime::RuntimeKind;
    use crate::syntax::id::ContainerId;

    pub(in crate::runtime) fn probe(outcome: Outcome, millis: u64) -> Probe {
        Probe {
            outcome,
            took: Duration::from_millis(millis),
            error: None,
        }
    }

    pub(in crate::runtime) fn container(
        pod: Option<&str>,
        outcome: Outcome,
        millis: u64,
    ) -> Container {
        let id = ContainerId::parse(&"a".repeat(64)).unwrap();
        Container {
            kind: match pod {
                Some(_) => ContainerKind::Container,
                None => ContainerKind::Other,
            },
            pod: pod.map(|name| PodName {
                namespace: "default".into(),
                name: name.into(),
            }),
            probe: probe(outcome, millis),
            ..Container::unlisted(id)
        }
    }

    pub(in crate::runtime) fn runtime(list: Probe, containers: Vec<Container>) -> Runtime {
        let (asked_at, timeout) = (
            chrono::DateTime::UNIX_EPOCH.fixed_offset(),
            Duration::from_secs(3),
        );
        let mut runtime = Runtime {
            containers,
            ..Runtime::new(RuntimeKind::Docker, DEFAULT_ENDPOINT, asked_at, timeout)
        }
        .with_own_calls(&probe(Outcome::Answered, 1))
        .with_list_bytes(2);
        *runtime.probe_mut(Call::List) = list;
        runtime
    }

    #[test]
    fn pods_are_asked_one_container_after_the_other() {
        let containers = vec![
            container(Some("web"), Outcome::Answered, 70),
            container(Some("web"), Outcome::Answered, 50),
            container(Some("db"), Outcome::Answered, 100),
            // Not the kubelet's: it is listed, and nobody asks for it.
            container(None, Outcome::Answered, 5000),
            // Gone since it was listed.
            container(Some("old"), Outcome::Gone, 900),
        ];
        let relist = runtime(probe(Outcome::Answered, 200), containers).relist();
        assert_eq!(relist.lists, Duration::from_millis(400));
        assert_eq!(relist.one_changed(), Duration::from_millis(520));
        assert_eq!(relist.all_changed(), Duration::from_millis(620));
        assert_eq!((relist.pods, relist.asked), (2, 3));
        assert_eq!(relist.slowest.as_ref().map(|pod| pod.containers), Some(2));
        assert!(relist.is_whole());
    }

    #[test]
    fn what_gave_no_answer_makes_it_a_lower_bound() {
        let containers = vec![
            container(Some("web"), Outcome::TimedOut, 3000),
            container(Some("db"), Outcome::NotProbed, 0),
        ];
        let relist = runtime(probe(Outcome::Answered, 1), containers).relist();
        assert_eq!((relist.unanswered, relist.unknown), (1, 1));
        assert_eq!(relist.one_changed(), Duration::from_millis(3002));
        assert!(!relist.is_whole());
        let silent = runtime(probe(Outcome::TimedOut, 3000), Vec::new()).relist();
        assert_eq!((silent.unanswered, silent.slowest.clone()), (1, None));
        assert_eq!(silent.all_changed(), Duration::from_secs(6));
    }
}
