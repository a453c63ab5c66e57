//! Inspects containers, bounded in number and time.
//!
//! An inspect waits for the container's lock. One that is never answered leaves a goroutine and a descriptor in
//! the daemon for as long as the lock is held (moby daemon/inspect.go), so each container is asked once, and not
//! more than a given number are ever left waiting.

use super::{Ask, Container, Docker, Outcome, Runtime, read, stacks::Flights};
use crate::{io::http, runtime::ContainerKind, syntax::id::ContainerId};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::time::Duration;
use tokio::time::Instant;

/// Inspects in flight: enough to hide the waiting, few enough not to be felt by a sick daemon.
const ABREAST: usize = 16;

/// How far inspecting goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// Whom to inspect first; after them come the sandboxes, then the rest.
    pub first: &'a [ContainerId],
    /// How many inspects may be left unanswered; a bound that holds, so no more than that are in flight.
    pub max_unanswered: usize,
    /// For how long to send.
    pub budget: Duration,
}

impl Docker {
    pub(super) async fn inspected(&self, id: &ContainerId) -> Container {
        self.inspected_at(id, &format!("/containers/{id}/json"))
            .await
    }

    async fn inspected_at(&self, id: &ContainerId, path: &str) -> Container {
        let http::Answer {
            mut probe, body, ..
        } = self.get(path).await;
        if probe.outcome == Outcome::Answered {
            match read::inspection(&body) {
                Some(container) if container.id.matches(id) => {
                    return Container { probe, ..container };
                }
                _ => {
                    probe.outcome = Outcome::Error;
                    probe.error = Some("its answer is no such container".to_owned());
                }
            }
        }
        Container {
            probe,
            ..Container::unlisted(id.clone())
        }
    }

    /// Inspects these once more, by a path that a recording tells from the first one; the option says what is the case
    /// without it.
    pub(super) async fn asked_again(&self, ask: &Ask<'_>) -> Runtime {
        let asked = |id: &ContainerId| {
            let (id, path) = (id.clone(), format!("/containers/{id}/json?size=0"));
            async move { self.inspected_at(&id, &path).await }
        };
        let asked: FuturesUnordered<_> = ask.again.iter().take(ABREAST).map(asked).collect();
        Runtime {
            containers: asked.collect().await,
            ..Runtime::unasked("docker", ask.endpoint, (ask.now, ask.probe_timeout))
        }
    }

    pub(super) async fn inspect_each(
        &self,
        containers: &mut [Container],
        bounds: &Bounds<'_>,
        flights: &Flights,
    ) {
        let order = order(containers, bounds.first);
        let ids: Vec<ContainerId> = containers
            .iter()
            .map(|container| container.id.clone())
            .collect();
        let started = Instant::now();
        let mut waiting = order.into_iter().peekable();
        let mut flying = FuturesUnordered::new();
        let mut unanswered = 0;
        loop {
            while flying.len() < ABREAST
                && unanswered + flying.len() < bounds.max_unanswered
                && started.elapsed() < bounds.budget
                && let Some(index) = waiting.next()
            {
                let id = &ids[index];
                let flight = flights.begin(Some(id));
                flying.push(async move {
                    let found = self.inspected(id).await;
                    drop(flight);
                    (index, found)
                });
            }
            let Some((index, found)) = flying.next().await else {
                break;
            };
            unanswered += usize::from(found.probe.outcome == Outcome::TimedOut);
            take(&mut containers[index], found);
        }
        let why = if unanswered >= bounds.max_unanswered {
            format!("not asked: {unanswered} inspects were left unanswered")
        } else {
            format!(
                "not asked: inspecting took longer than {} s",
                bounds.budget.as_secs_f64()
            )
        };
        for index in waiting {
            containers[index].probe.error = Some(why.clone());
        }
    }

    /// Inspects those that must be seen though there is no list.
    pub(super) async fn inspect_unlisted(
        &self,
        bounds: &Bounds<'_>,
        flights: &Flights,
    ) -> Vec<Container> {
        let mut ids: Vec<&ContainerId> = Vec::new();
        for id in bounds.first {
            if !ids.iter().any(|known| known.matches(id)) {
                ids.push(id);
            }
        }
        let mut containers: Vec<Container> =
            ids.into_iter().cloned().map(Container::unlisted).collect();
        self.inspect_each(&mut containers, bounds, flights).await;
        containers
    }
}

/// Puts what inspect found into what was listed. Where there was no list, it tells the rest too.
fn take(container: &mut Container, found: Container) {
    let unlisted = container.listed_state.is_none() && container.name.is_empty();
    if unlisted && found.inspected.is_some() {
        *container = found;
    } else {
        container.probe = found.probe;
        container.inspected = found.inspected;
    }
}

/// Returns the indexes of `containers` in the order of asking.
fn order(containers: &[Container], first: &[ContainerId]) -> Vec<usize> {
    let rank = |container: &Container| {
        let named = first.iter().position(|id| id.matches(&container.id));
        named.unwrap_or(first.len() + usize::from(container.kind != ContainerKind::Sandbox))
    };
    let mut indexes: Vec<usize> = (0..containers.len()).collect();
    indexes.sort_by_cached_key(|&index| rank(&containers[index]));
    indexes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(digit: char, kind: ContainerKind) -> Container {
        let id = ContainerId::parse(&digit.to_string().repeat(64)).unwrap();
        Container {
            kind,
            ..Container::unlisted(id)
        }
    }

    #[test]
    fn the_logs_ids_come_first_then_sandboxes_then_the_rest() {
        let containers = [
            container('0', ContainerKind::Other),
            container('1', ContainerKind::Container),
            container('2', ContainerKind::Sandbox),
            container('3', ContainerKind::Container),
            container('4', ContainerKind::Sandbox),
        ];
        let first = ["3333333333333", "111111111111"].map(|id| ContainerId::parse(id).unwrap());
        assert_eq!(order(&containers, &first), [3, 1, 2, 4, 0]);
        assert_eq!(order(&containers, &[]), [2, 4, 0, 1, 3]);
    }
}
