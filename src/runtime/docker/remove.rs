//! Removes one container, never by force.
//!
//! A forced removal that waits in the daemon kills the container that it finds running when its turn comes
//! (moby daemon/delete.go), so force is never sent; nor are volumes or links removed. Whether a removal is
//! wanted is decided elsewhere.

use super::{Docker, Outcome, Probe, block_on, bollard_over, not_started};
use crate::io::http;
use crate::syntax::id::ContainerId;
use bollard::query_parameters::RemoveContainerOptions;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How a removal ended. Not answered means just that: it may still happen.
#[derive(Clone, Debug, PartialEq)]
pub struct Removal {
    /// How the call ended; `Gone` where the container was not there, the daemon's words in `error`.
    pub probe: Probe,
    /// The answer's HTTP status: 204 removed, 409 running or being removed already, 500 tried and failed.
    pub status: Option<u16>,
}

impl Docker {
    /// Asks for the container's removal and waits for at most `timeout`.
    pub fn remove(&self, id: &ContainerId, timeout: Duration) -> Removal {
        block_on(self.removed(id, timeout)).unwrap_or_else(|error| Removal {
            probe: not_started(&error),
            status: None,
        })
    }

    async fn removed(&self, id: &ContainerId, timeout: Duration) -> Removal {
        const OPTIONS: RemoveContainerOptions = RemoveContainerOptions {
            v: false,
            force: false,
            link: false,
        };
        let started = Instant::now();
        let deadline = started + timeout;
        let call = async {
            bollard_over::bollard(self.socket(), deadline)?
                .remove_container(id.as_str(), Some(OPTIONS))
                .await
        };
        let (end, status) = match timeout_at(deadline, call).await {
            Ok(Ok(())) => (Ok(()), Some(204)),
            Ok(Err(error)) => {
                let (failure, status) = bollard_over::failure(&error);
                (Err(failure), status)
            }
            Err(_) => (Err(http::Failure::SILENCE), None),
        };
        let took = started.elapsed();
        let (outcome, error) = match end {
            Ok(()) => (Outcome::Answered, None),
            Err(http::Failure { outcome, error }) => (outcome, error),
        };
        Removal {
            probe: Probe {
                outcome,
                took,
                error,
            },
            status,
        }
    }
}
