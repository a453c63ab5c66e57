//! Asks the kubelet on this machine, or reads its saved metrics; each call on a connection and a deadline of its own.
//!
//! Only what answers without credentials is asked: `/healthz` on 10248, which listens on this machine alone, and the
//! read-only port 10255, which many clusters turn off. 10250 wants a certificate or a token; who has one saves its
//! metrics to a file. Nothing is judged here.

use super::{Answer, Query};
use crate::io::deadline::Ended;
use crate::io::http::{Failure, Peer, Reply, Url};
use crate::io::probe::{Outcome, Probe};
use crate::io::{deadline, http};
use anyhow::{Context as _, bail};
use futures_util::future::join_all;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};
use std::{io, thread};

/// Where the kubelet's health check listens (`--healthz-port`).
const HEALTH: &str = "http://127.0.0.1:10248/healthz?verbose";
/// Where its metrics can be had without credentials (`--read-only-port`).
const METRICS: &str = "http://127.0.0.1:10255/metrics";
/// What its metrics' path ends in, and what its health check's does beside them.
const METRICS_END: &str = "/metrics";
const HEALTH_END: &str = "/healthz?verbose";
/// Most bytes of metrics: a node with hundreds of pods has a few MiB.
const MAX_METRICS: usize = 32 << 20;
const MAX_HEALTH: usize = 64 << 10;
/// How long a file may take: it may be a pipe from the program that asks for it.
const FILE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where to get the metrics, if somebody said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(Place);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Url(Url),
    File(PathBuf),
}

impl Target {
    /// Reads what `--kubelet-metrics` says: a URL with `http://`, or a file.
    ///
    /// # Errors
    /// It is a URL that can't be asked.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let Some((scheme, _)) = text.split_once("://") else {
            return Ok(Self(Place::File(PathBuf::from(text))));
        };
        if scheme.eq_ignore_ascii_case("https") {
            bail!(
                "can't query the kubelet at {text:?}: https needs client certificates; save the metrics with kubectl get --raw /api/v1/nodes/NODE/proxy/metrics > FILE and pass the file"
            );
        }
        let url =
            Url::parse(text).with_context(|| format!("can't query the kubelet at {text:?}"))?;
        Ok(Self(Place::Url(match url.path.as_str() {
            "/" => url.with_path(METRICS_END),
            _ => url,
        })))
    }
}

/// What to ask, and how patiently.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Where somebody said that the metrics are.
    pub named: Option<&'a Target>,
    /// Whether the kubelet of this machine, as it is now, is meant.
    pub here: bool,
    pub timeout: Duration,
}

/// Ends within `timeout`, or 10 s where a file was named.
pub fn ask(ask: &Ask<'_>) -> Vec<Answer> {
    let named = ask.named.map(|Target(place)| place);
    let calls = calls(named, ask.here);
    let mut answers = Vec::new();
    thread::scope(|scope| {
        let named_thread = thread::Builder::new().name("kubelet".to_owned());
        let asking = named_thread.spawn_scoped(scope, || make(&calls, ask.timeout));
        if let Some(Place::File(path)) = named {
            answers.push(saved(path, FILE_TIMEOUT));
        }
        answers.extend(match asking {
            Ok(asking) => asking.join().unwrap_or_default(),
            Err(_) => make(&calls, ask.timeout),
        });
    });
    answers
}

struct Call {
    what: Query,
    url: Url,
    named: bool,
}

fn calls(named: Option<&Place>, here: bool) -> Vec<Call> {
    let own = |what, url: &str| {
        let url = Url::parse(url).ok()?;
        Some(Call {
            what,
            url,
            named: false,
        })
    };
    let mut calls = Vec::new();
    match named {
        Some(Place::Url(url)) => calls.push(Call {
            what: Query::Metrics,
            url: url.clone(),
            named: true,
        }),
        None if here => calls.extend(own(Query::Metrics, METRICS)),
        Some(Place::File(_)) | None => {}
    }
    let beside = calls.first().and_then(|call| {
        let base = call.url.path.strip_suffix(METRICS_END)?;
        Some(Call {
            what: Query::HealthByMetrics,
            url: call.url.with_path(format!("{base}{HEALTH_END}")),
            named: call.named,
        })
    });
    calls.extend(beside);
    if here {
        calls.extend(own(Query::Health, HEALTH));
    }
    calls
}

/// Makes all calls at the same time.
fn make(calls: &[Call], timeout: Duration) -> Vec<Answer> {
    let all = join_all(calls.iter().map(|call| call.make(timeout)));
    http::block_on(all).unwrap_or_else(|error| {
        let words = format!("can't start the calls: {error}");
        let failure = Failure::new(Outcome::Error, words);
        let failed = |call: &Call| call.ended(Duration::ZERO, Err(failure.clone()));
        calls.iter().map(failed).collect()
    })
}

impl Call {
    async fn make(&self, timeout: Duration) -> Answer {
        let most = match self.what {
            Query::Metrics | Query::SavedMetrics => MAX_METRICS,
            Query::Health | Query::HealthByMetrics => MAX_HEALTH,
        };
        let peer = Peer::Tcp(&self.url.authority);
        let (took, reply) = http::ask(peer, &self.url.path, timeout, most).await;
        self.ended(took, reply)
    }

    fn ended(&self, took: Duration, reply: Result<Reply, Failure>) -> Answer {
        let (outcome, error, status, body) = match reply {
            Ok(reply) => (
                Outcome::Answered,
                None,
                Some(reply.status.as_u16()),
                reply.body,
            ),
            Err(failure) => (failure.outcome, failure.error, None, Vec::new()),
        };
        Answer {
            what: self.what,
            source: self.url.to_string(),
            named: self.named,
            probe: Probe {
                outcome,
                took,
                error,
            },
            status,
            body,
        }
    }
}

fn saved(path: &Path, timeout: Duration) -> Answer {
    let started = Instant::now();
    let mut body = Err((
        Outcome::TimedOut,
        format!("reading timed out after {} s", timeout.as_secs_f64()),
    ));
    let own = path.to_owned();
    let ended = deadline::read_until_deadline(
        started + timeout,
        move |to: &SyncSender<io::Result<Vec<u8>>>| drop(to.send(bytes(&own))),
        &mut |read: io::Result<Vec<u8>>| {
            body = read.map_err(|error| (outcome(&error), error.to_string()));
            false
        },
    );
    let (outcome, error, body) = match (ended, body) {
        (Err(error), _) => (Outcome::Error, Some(error.to_string()), Vec::new()),
        (Ok(Ended::Whole | Ended::Late | Ended::Enough), Ok(body)) if body.len() > MAX_METRICS => {
            let error = format!("larger than {} MiB", MAX_METRICS >> 20);
            (Outcome::Error, Some(error), Vec::new())
        }
        (Ok(_), Ok(body)) => (Outcome::Answered, None, body),
        (Ok(_), Err((outcome, error))) => (outcome, Some(error), Vec::new()),
    };
    Answer {
        what: Query::SavedMetrics,
        source: path.display().to_string(),
        named: true,
        probe: Probe {
            outcome,
            took: started.elapsed(),
            error,
        },
        status: None,
        body,
    }
}

fn outcome(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Outcome::Denied,
        _ => Outcome::Error,
    }
}

/// A file's bytes, one more than are taken at the most.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(MAX_METRICS as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(named: Option<&str>, here: bool) -> Vec<String> {
        let target = named.map(|text| Target::parse(text).unwrap());
        let calls = calls(target.as_ref().map(|Target(place)| place), here);
        calls.iter().map(|call| call.url.to_string()).collect()
    }

    #[test]
    fn the_places_follow_from_what_was_named_and_whether_it_is_here() {
        let by_default = [METRICS, "http://127.0.0.1:10255/healthz?verbose", HEALTH];
        assert_eq!(urls(None, true), by_default);
        assert_eq!(urls(None, false), [""; 0]);
        assert_eq!(urls(Some("metrics.txt"), true), [HEALTH]);
        assert_eq!(urls(Some("metrics.txt"), false), [""; 0]);
        assert_eq!(
            urls(Some("http://n3:10255"), false),
            ["http://n3:10255/metrics", "http://n3:10255/healthz?verbose"]
        );
        assert_eq!(
            urls(
                Some("http://127.0.0.1:8001/api/v1/nodes/n3/proxy/metrics"),
                false
            ),
            [
                "http://127.0.0.1:8001/api/v1/nodes/n3/proxy/metrics",
                "http://127.0.0.1:8001/api/v1/nodes/n3/proxy/healthz?verbose"
            ]
        );
        // Where the health check is beside it is not known.
        assert_eq!(
            urls(Some("http://n3/kubelet"), true),
            ["http://n3:80/kubelet", HEALTH]
        );
    }

    #[test]
    fn a_file_that_never_ends_or_never_begins_ends_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let started = Instant::now();
        let answer = saved(&pipe, Duration::from_millis(200));
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(answer.probe.outcome, Outcome::TimedOut);
        let words = answer.probe.error.unwrap();
        assert_eq!(words, "reading timed out after 0.2 s");
        let endless = saved(Path::new("/dev/zero"), FILE_TIMEOUT);
        assert_eq!(endless.probe.outcome, Outcome::Error);
        let words = endless.probe.error.unwrap();
        assert_eq!(words, "larger than 32 MiB");
        assert!(endless.body.is_empty());
    }

    #[test]
    fn a_file_that_can_not_be_read_says_why() {
        for (path, words) in [
            ("/nonexistent/metrics", "No such file"),
            ("/", "Is a directory"),
        ] {
            let answer = saved(Path::new(path), FILE_TIMEOUT);
            assert_eq!(answer.probe.outcome, Outcome::Error, "{path}");
            let told = answer.probe.error.unwrap();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn https_is_refused_with_what_to_do_instead() {
        let error = Target::parse("https://n3:10250/metrics").unwrap_err();
        let words = error.to_string();
        assert!(words.contains("kubectl get --raw"), "{words}");
        for text in ["ftp://x/y", "http://", "unix:///x"] {
            let words = format!("{:#}", Target::parse(text).unwrap_err());
            assert!(words.contains(text) && !words.contains('\n'), "{words}");
        }
    }
}
