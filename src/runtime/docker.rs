//! Asks Docker, and removes containers; over `io::http`.
//!
//! Each call is on a connection and a deadline of its own, so that one that hangs holds up nothing and every
//! answer has its own time. Paths carry no API version, and nothing waits for `/version`: a daemon whose
//! containerd hangs answers lists and inspects, but not that. What was asked for and did not come is in the
//! values, never an error; nothing is judged, and nothing asked twice.

mod inspect;
mod logs;
mod pending_call;
mod read;
mod recording;
mod remove;
mod stacks;
mod transcript;

pub use inspect::Bounds;
pub use logs::{ContainerLog, LogRequest};
pub use pending_call::{Answered, PendingCall, Request};
pub use recording::Files;
pub use remove::Removal;
pub use transcript::{Sanitize, Transcript};

use super::*;
use crate::io::http;
use crate::io::http::{Peer, block_on};
use crate::syntax::id::ContainerId;
use crate::syntax::time::Time;
use anyhow::{Context as _, bail};
use recording::Recording;
use serde_json::Value;
use stacks::Flights;
use std::{io, os::unix::net::SocketAddr, path::PathBuf, time::Duration};

/// For how long inspects are sent; a daemon that needs longer shows enough by then.
pub const INSPECT_BUDGET: Duration = Duration::from_secs(10);
/// Largest answer that is taken: a list of ten thousand containers with large annotations has some 100 MiB.
const LARGEST: usize = 512 << 20;

/// What to ask Docker, and how patiently.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Where: `unix:///var/run/docker.sock`.
    pub endpoint: &'a str,
    /// The deadline of each call.
    pub probe_timeout: Duration,
    /// After how many unanswered inspects to stop sending.
    pub max_unanswered: usize,
    /// What the log names in errors: inspected first, and even if the list fails.
    pub first: &'a [ContainerId],
    /// The present, for the record.
    pub now: Time,
    /// For how long to send inspects.
    pub inspect_budget: Duration,
    /// If there are any, these alone are inspected, once more, and nothing else is asked.
    pub again: &'a [ContainerId],
    /// Whether to ask for the daemon's stacks though nothing hangs, to keep them.
    pub stacks_anyway: bool,
    /// Where to keep what is answered.
    pub transcript: Option<&'a Transcript>,
}

/// Asks for all that tells how the daemon and its containers are.
///
/// Ends within `probe_timeout` where the daemon answers nothing, else within `inspect_budget` and twice
/// `probe_timeout`.
///
/// # Errors
/// The endpoint is none that can be asked.
pub fn probe(ask: &Ask<'_>) -> anyhow::Result<Runtime> {
    let docker = Docker {
        transcript: ask.transcript.cloned(),
        ..Docker::open(ask.endpoint, ask.probe_timeout)?
    };
    block_on(docker.probe(ask)).context("can't start asking Docker")
}

/// Returns what a daemon answered when it was recorded, in the order and within the bounds of `probe`.
///
/// # Errors
/// `files` are no recording, or an endpoint as for `probe`.
pub fn replay(files: &Files, ask: &Ask<'_>) -> anyhow::Result<Runtime> {
    let recording = Recording::open(files)?;
    let docker = Docker {
        recording: Some(recording),
        transcript: ask.transcript.cloned(),
        ..Docker::open(ask.endpoint, ask.probe_timeout)?
    };
    block_on(docker.probe(ask)).context("can't start asking Docker")
}

/// A Docker daemon that can be asked; nothing is connected between calls. Calls block, and may be made from
/// several threads at a time.
#[derive(Clone, Debug)]
pub struct Docker {
    socket: PathBuf,
    timeout: Duration,
    /// Answers from the past, in place of the socket's.
    recording: Option<Recording>,
    /// Where answers are kept.
    transcript: Option<Transcript>,
}

/// What the list said, or did not.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// How the call ended. Answered with an error text: some entries could not be read.
    pub probe: Probe,
    /// Bytes of the answer.
    pub bytes: u64,
    /// The containers, not inspected.
    pub containers: Vec<Container>,
}

impl Docker {
    /// Returns the daemon at `endpoint`, each call of which gets `timeout`. Does not connect.
    ///
    /// # Errors
    /// The endpoint is no `unix://` one, or its path cannot be a socket's.
    pub fn open(endpoint: &str, timeout: Duration) -> anyhow::Result<Self> {
        let Some(path) = endpoint
            .strip_prefix("unix://")
            .filter(|path| !path.is_empty())
        else {
            bail!(
                "can't ask Docker at {endpoint:?}: only Unix sockets can be asked, such as unix:///var/run/docker.sock"
            );
        };
        SocketAddr::from_pathname(path)
            .with_context(|| format!("can't ask Docker at {endpoint:?}"))?;
        Ok(Self {
            socket: PathBuf::from(path),
            timeout,
            recording: None,
            transcript: None,
        })
    }

    /// Lists all containers, running or not.
    pub fn list(&self) -> Listed {
        block_on(self.listed("/containers/json?all=1")).unwrap_or_else(|error| Listed {
            probe: not_started(&error),
            bytes: 0,
            containers: Vec::new(),
        })
    }

    /// Inspects one container: `probe` tells how that ended, and the rest is what inspect said. The list's
    /// fields stay empty.
    pub fn inspect(&self, id: &ContainerId) -> Container {
        block_on(self.inspected(id)).unwrap_or_else(|error| Container {
            probe: not_started(&error),
            ..Container::unlisted(id.clone())
        })
    }

    /// Inspects listed containers, within bounds, and fills in what was said.
    pub fn inspect_all(&self, containers: &mut [Container], bounds: &Bounds<'_>) {
        if let Err(error) = block_on(self.inspect_each(containers, bounds, &Flights::default())) {
            for container in containers {
                container.probe = not_started(&error);
            }
        }
    }

    /// Looks for the container of exactly that name, running or not.
    pub fn find(&self, name: &str) -> (Probe, Option<Container>) {
        if !is_name(name) {
            return (
                Probe {
                    outcome: Outcome::Gone,
                    took: Duration::ZERO,
                    error: None,
                },
                None,
            );
        }
        // The filter takes a pattern, where a dot in the name stands for anything: what else matches is left out.
        let path = format!(
            "/containers/json?all=1&filters=%7B%22name%22%3A%5B%22%5E%2F{name}%24%22%5D%7D"
        );
        let Listed {
            probe, containers, ..
        } = block_on(self.listed(&path)).unwrap_or_else(|error| Listed {
            probe: not_started(&error),
            bytes: 0,
            containers: Vec::new(),
        });
        let found = containers
            .into_iter()
            .find(|container| container.name == name);
        (probe, found)
    }

    async fn probe(&self, ask: &Ask<'_>) -> Runtime {
        if !ask.again.is_empty() {
            return self.asked_again(ask).await;
        }
        let bounds = Bounds {
            first: ask.first,
            max_unanswered: ask.max_unanswered,
            budget: ask.inspect_budget,
        };
        let flights = Flights::default();
        // One after the other would add up deadlines; and what hangs here must not keep the inspects waiting.
        let asking = async {
            let (ping, version, info, mut list) = tokio::join!(
                flights.of(self.asked("/_ping")),
                flights.of(self.asked("/version")),
                flights.of(self.asked("/info")),
                async {
                    let mut list = flights.of(self.listed("/containers/json?all=1")).await;
                    if list.probe.outcome == Outcome::Answered {
                        let containers = &mut list.containers;
                        self.inspect_each(containers, &bounds, &flights).await;
                    }
                    list
                }
            );
            if list.probe.outcome != Outcome::Answered && ping.probe.outcome == Outcome::Answered {
                list.containers = self.inspect_unlisted(&bounds, &flights).await;
            }
            (ping, version, info, list)
        };
        let ((ping, version, info, list), taken) =
            self.watched(asking, ask.stacks_anyway, &flights).await;
        let containers = list.containers;
        if let Some(transcript) = &self.transcript {
            transcript.not_asked(&containers);
        }
        let unanswered = [&ping.probe, &version.probe, &info.probe, &list.probe]
            .into_iter()
            .chain(containers.iter().map(|container| &container.probe))
            .any(|probe| probe.outcome == Outcome::TimedOut);
        let (stacks, stacks_probe) = match taken {
            Some(taken) if unanswered => taken.judged(&containers),
            _ => (None, Probe::NONE),
        };
        let header = |name: &str| Some(ping.headers.get(name)?.to_str().ok()?.to_owned());
        let told: Value = serde_json::from_slice(&version.body).unwrap_or_default();
        let of_itself: Value = serde_json::from_slice(&info.body).unwrap_or_default();
        let field = |name: &str| told[name].as_str().map(str::to_owned);
        let versions = Versions {
            daemon: field("Version")
                .or_else(|| header("server").as_deref().and_then(server_version)),
            api: header("api-version").or_else(|| field("ApiVersion")),
            kernel: field("KernelVersion"),
            components: read::components(&told),
        };
        Runtime {
            socket_missing: ping.probe.outcome == Outcome::Refused && self.is_missing(),
            versions,
            calls: vec![
                (Call::Ping, ping.probe),
                (Call::Version, version.probe),
                (Call::Info, info.probe),
                (Call::List, list.probe),
            ],
            lists: vec![ListAnswer {
                call: Call::List,
                bytes: list.bytes,
                encoding: Encoding::Json,
                limit: None,
            }],
            containers,
            own: Own::Docker(DockerOnly {
                live_restore: of_itself["LiveRestoreEnabled"].as_bool(),
                log_driver: of_itself["LoggingDriver"].as_str().map(str::to_owned),
                disk: None,
                stacks,
                stacks_probe,
            }),
            ..Self::unasked(ask)
        }
    }

    fn unasked(ask: &Ask<'_>) -> Runtime {
        Runtime::new(
            RuntimeKind::Docker,
            ask.endpoint,
            ask.now,
            ask.probe_timeout,
        )
    }

    async fn get(&self, path: &str) -> http::Answer {
        let answer = match &self.recording {
            Some(recording) => recording.answer(path),
            None => http::get(self.peer(), path, self.timeout, LARGEST).await,
        };
        if let Some(transcript) = &self.transcript {
            let refused = answer.probe.outcome == Outcome::Refused;
            let came = self.length(path, &answer.body);
            transcript.answer(path, &answer, came, refused && self.is_missing());
        }
        answer
    }

    /// Asks for what every daemon has, so that "not found" is no answer.
    async fn asked(&self, path: &str) -> http::Answer {
        let mut answer = self.get(path).await;
        if answer.probe.outcome == Outcome::Gone {
            answer.probe.outcome = Outcome::Error;
        }
        answer
    }

    async fn listed(&self, path: &str) -> Listed {
        let http::Answer {
            mut probe, body, ..
        } = self.asked(path).await;
        let mut list = read::List::default();
        if probe.outcome == Outcome::Answered {
            match read::list(&body) {
                Ok(read) => list = read,
                Err(error) => {
                    probe.outcome = Outcome::Error;
                    probe.error = Some(format!("its answer is no list of containers: {error}"));
                }
            }
        }
        if list.unreadable > 0 {
            probe.error = Some(format!("{} of its entries have no id", list.unreadable));
        }
        Listed {
            probe,
            bytes: self.length(path, &body),
            containers: list.containers,
        }
    }

    /// Returns how many bytes an answer had as it came: of a recorded body only a part may have been kept.
    fn length(&self, path: &str, body: &[u8]) -> u64 {
        let recorded = self.recording.as_ref();
        let told = recorded.and_then(|recording| recording.length(path));
        let came = told.filter(|_| !body.is_empty());
        came.map_or(body.len() as u64, |(length, _)| length)
    }

    /// Returns whether there is no socket at all.
    fn is_missing(&self) -> bool {
        match &self.recording {
            Some(recording) => recording.is_missing(),
            None => !self.socket.exists(),
        }
    }

    fn peer(&self) -> Peer<'_> {
        Peer::Unix(&self.socket)
    }
}

/// Returns whether a container can have that name (moby daemon/names/names.go), or it is an id.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.bytes().all(plain)
}

/// Returns the version in `Docker/20.10.24 (linux)`.
fn server_version(server: &str) -> Option<String> {
    let version = server.strip_prefix("Docker/")?.split(' ').next()?;
    Some(version.to_owned())
}

/// A call that could not even begin, for want of descriptors for instance.
fn not_started(error: &io::Error) -> Probe {
    Probe {
        outcome: Outcome::Error,
        took: Duration::ZERO,
        error: Some(format!("can't start asking: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unix_sockets_can_be_asked() {
        for endpoint in [
            "tcp://10.0.0.1:2375",
            "http://x",
            "npipe:////./pipe/docker_engine",
            "ssh://root@n",
            "unix://",
            "",
            "/var/run/docker.sock",
        ] {
            let error = Docker::open(endpoint, Duration::from_secs(1)).unwrap_err();
            let line = format!("{error:#}");
            assert!(line.contains(&format!("{endpoint:?}")), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
        assert!(Docker::open("unix:///var/run/docker.sock", Duration::from_secs(1)).is_ok());
    }

    #[test]
    fn a_path_longer_than_a_sockets_is_refused_before_asking() {
        let endpoint = format!("unix:///{}", "x".repeat(200));
        assert!(Docker::open(&endpoint, Duration::from_secs(1)).is_err());
    }

    #[test]
    fn what_could_lead_to_another_path_is_no_name() {
        for name in [
            "kubelet",
            "k8s_POD_web-2_default_x_0",
            "a.b",
            "0123456789ab",
        ] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "", "..", ".", "a/b", "a?b", "a b", "ä", "a%2f", "_a", "-a", "a\n",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn the_server_header_tells_the_version() {
        assert_eq!(
            server_version("Docker/20.10.24+dfsg1 (linux)").as_deref(),
            Some("20.10.24+dfsg1")
        );
        assert_eq!(server_version("Libpod/4.3.1 (linux)"), None);
    }
}
