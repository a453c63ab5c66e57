//! Reads a container's log through the API, as `docker logs` does: for the kubelet that is itself a container.

use super::{Docker, Outcome, Probe, block_on, bollard_over, is_name, not_started};
use crate::io::http;
use crate::syntax::time::Time;
use bollard::query_parameters::LogsOptionsBuilder;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Bytes that a line is taken to have, since the API can be asked for the last lines only, not for the last bytes.
/// Kubelets' lines have 180 to 260 on the average, Docker's time stamp included; twice that, because what exceeds
/// the limit would be the newest lines.
const LINE: u64 = 512;

/// Which part of a container's log to read.
#[derive(Clone, Copy, Debug)]
pub struct LogRequest<'a> {
    /// The container's name or id.
    pub name: &'a str,
    /// Leave out what is older.
    pub since: Option<Time>,
    /// Read the end only, and never more than this; mostly about half of it. `None` for all.
    pub max_bytes: Option<u64>,
    /// How long it may take altogether.
    pub timeout: Duration,
}

/// How reading a container's log ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerLog {
    /// `Answered`: all that was asked for came, or the reader wanted no more. `TimedOut`: time was up, with or
    /// without something read. `Gone`: no such container. `Error`: the log cannot be read, see the words.
    pub probe: Probe,
    /// Bytes handed on.
    pub bytes: u64,
    /// Lines handed on.
    pub lines: u64,
    /// Whether the log's end was reached.
    pub ended: bool,
    /// Whether older lines may have been left out for `max_bytes`.
    pub older_left: bool,
}

impl Docker {
    /// Reads a container's log, oldest line first, each with the time stamp that Docker puts before it, and
    /// hands pieces to `sink` until it returns false. Pieces are mostly lines, of both streams in their order.
    pub fn log(
        &self,
        request: &LogRequest<'_>,
        sink: &mut dyn FnMut(&[u8]) -> bool,
    ) -> ContainerLog {
        let mut log = ContainerLog {
            probe: Probe {
                outcome: Outcome::Answered,
                took: Duration::ZERO,
                error: None,
            },
            bytes: 0,
            lines: 0,
            ended: false,
            older_left: false,
        };
        match block_on(self.read_log(request, sink, &mut log)) {
            Ok(probe) => log.probe = probe,
            Err(error) => log.probe = not_started(&error),
        }
        log
    }

    async fn read_log(
        &self,
        request: &LogRequest<'_>,
        sink: &mut dyn FnMut(&[u8]) -> bool,
        log: &mut ContainerLog,
    ) -> Probe {
        let started = Instant::now();
        let deadline = started + request.timeout;
        let end = timeout_at(deadline, self.pour(request, deadline, sink, log))
            .await
            .unwrap_or(Err(http::Failure::SILENCE));
        let (outcome, error) = match end {
            Ok(()) => (Outcome::Answered, None),
            Err(http::Failure { outcome, error }) => (outcome, error),
        };
        Probe {
            outcome,
            took: started.elapsed(),
            error,
        }
    }

    async fn pour(
        &self,
        request: &LogRequest<'_>,
        deadline: Instant,
        sink: &mut dyn FnMut(&[u8]) -> bool,
        log: &mut ContainerLog,
    ) -> Result<(), http::Failure> {
        if !is_name(request.name) {
            let words = format!("{:?} is no container's name", request.name);
            return Err(http::Failure::new(Outcome::Gone, words));
        }
        let tail = request.max_bytes.map(|bytes| (bytes / LINE).max(1));
        let since = request.since.map_or(0, |since| since.timestamp().max(0));
        let options = LogsOptionsBuilder::new()
            .stdout(true)
            .stderr(true)
            .timestamps(true)
            .since(i32::try_from(since).unwrap_or(i32::MAX))
            .tail(&tail.map_or_else(|| "all".to_owned(), |lines| lines.to_string()))
            .build();
        let of = |error| bollard_over::failure(&error).0;
        let docker = bollard_over::bollard(self.socket(), deadline).map_err(of)?;
        let mut pieces = std::pin::pin!(docker.logs(request.name, Some(options)));
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(of)?.into_bytes();
            if request
                .max_bytes
                .is_some_and(|most| log.bytes + piece.len() as u64 > most)
            {
                return Ok(());
            }
            log.bytes += piece.len() as u64;
            log.lines += memchr::memchr_iter(b'\n', &piece).count() as u64;
            log.older_left = tail.is_some_and(|tail| log.lines >= tail);
            if !sink(&piece) {
                return Ok(());
            }
            // A stream that always has a piece ready never yields to the timer.
            tokio::task::yield_now().await;
            if Instant::now() >= deadline {
                return Err(http::Failure::SILENCE);
            }
        }
        log.ended = true;
        Ok(())
    }
}
