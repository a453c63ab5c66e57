//! Removes one container, never by force.
//!
//! A forced removal that waits in the daemon kills the container that it finds running when its turn comes
//! (moby daemon/delete.go), so force is never sent; nor are volumes or links removed. Whether a removal is
//! wanted is decided elsewhere.

use super::{Docker, block_on, not_started};
use crate::io::http;
use crate::io::probe::Probe;
use crate::syntax::id::ContainerId;
use hyper::Method;
use std::time::Duration;

/// Most bytes read of a refusal.
const MAX_REFUSAL_BYTES: usize = 1 << 20;

/// How a removal ended. Not answered means just that: it may still happen.
#[derive(Clone, Debug, PartialEq)]
pub struct Removal {
    /// How the call ended; `Gone` where the container was not there.
    pub probe: Probe,
    /// The answer's HTTP status: 204 removed, 409 running or being removed already, 500 tried and failed.
    pub status: Option<u16>,
    /// The daemon's own words, if it refused with any.
    pub message: Option<String>,
}

impl Docker {
    /// Asks for the container's removal and waits for at most `timeout`.
    pub fn remove(&self, id: &ContainerId, timeout: Duration) -> Removal {
        block_on(self.removed(id, timeout)).unwrap_or_else(|error| Removal {
            probe: not_started(&error),
            status: None,
            message: None,
        })
    }

    async fn removed(&self, id: &ContainerId, timeout: Duration) -> Removal {
        let path = format!("/containers/{id}?v=false&force=false&link=false");
        let request = (Method::DELETE, path.as_str());
        let (took, reply) = http::exchange(self.peer(), request, timeout, MAX_REFUSAL_BYTES).await;
        let refusal = reply.as_ref().ok().filter(|it| !it.status.is_success());
        let message = refusal.map(|reply| http::message(&reply.body));
        Removal {
            status: reply.as_ref().ok().map(|reply| reply.status.as_u16()),
            message: message.filter(|message| !message.is_empty()),
            probe: http::probe(took, reply.and_then(http::succeeded)).0,
        }
    }
}
