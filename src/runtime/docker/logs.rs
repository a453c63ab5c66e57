//! Reads a container's log through the API, as `docker logs` does: for the kubelet that is itself a container.

use super::{Docker, Outcome, Probe, block_on, is_name, not_started};
use crate::io::http;
use crate::syntax::time::Time;
use std::time::Duration;
use tokio::time::Instant;

/// Bytes that a line is taken to have, since the API can be asked for the last lines only, not for the last bytes.
/// Kubelets' lines have 180 to 260 on the average, Docker's time stamp included; twice that, because what exceeds
/// the limit would be the newest lines.
const LINE_BYTES: u64 = 512;

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
        let end = self
            .pour(request, started + request.timeout, sink, log)
            .await;
        http::probe(started.elapsed(), end).0
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
        let tail = request.max_bytes.map(|bytes| (bytes / LINE_BYTES).max(1));
        let path = format!(
            "/containers/{}/logs?follow=false&stdout=true&stderr=true&since={}&until=0&timestamps=true&tail={}",
            request.name,
            request.since.map_or(0, |since| since.timestamp().max(0)),
            tail.map_or_else(|| "all".to_owned(), |lines| lines.to_string()),
        );
        let mut frames = Frames::default();
        let mut emit = |piece: &[u8]| {
            let limit = request.max_bytes.unwrap_or(u64::MAX);
            if log.bytes + piece.len() as u64 > limit {
                return false;
            }
            log.bytes += piece.len() as u64;
            log.lines += memchr::memchr_iter(b'\n', piece).count() as u64;
            log.older_left = tail.is_some_and(|tail| log.lines >= tail);
            sink(piece)
        };
        let push = &mut |bytes: &[u8]| frames.push(bytes, &mut emit);
        let ended = http::stream(self.peer(), &path, deadline, push).await?;
        log.ended = ended && frames.finish(&mut emit);
        Ok(())
    }
}

/// Takes apart a container's output: frames of 8 bytes (stream, 0, 0, 0, length) and text, or, where it has a terminal,
/// the text alone (moby api/types/container: multiplexed and raw stream).
#[derive(Default)]
struct Frames {
    pending: Vec<u8>,
    is_raw: Option<bool>,
}

impl Frames {
    /// Emits what is whole by now; false once no more is wanted.
    fn push(&mut self, bytes: &[u8], emit: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        self.pending.extend_from_slice(bytes);
        let mut at = 0;
        let mut goes_on = true;
        while goes_on && let Some((start, end)) = self.next(at) {
            goes_on = emit(&self.pending[start..end]);
            at = end;
        }
        self.pending.drain(..at);
        goes_on
    }

    /// Emits a last line without an end; false where a frame broke off, or no more is wanted.
    fn finish(self, emit: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        self.pending.is_empty() || (self.is_raw != Some(false) && emit(&self.pending))
    }

    /// Returns where the next piece from `at` on begins and ends.
    fn next(&mut self, at: usize) -> Option<(usize, usize)> {
        let rest = &self.pending[at..];
        let head: [u8; 8] = rest.get(..8)?.try_into().ok()?;
        if *self
            .is_raw
            .get_or_insert(head[0] > 3 || head[1..4] != [0; 3])
        {
            let line = memchr::memchr(b'\n', rest)? + 1;
            return Some((at, at + line));
        }
        let [.., a, b, c, d] = head;
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?;
        (rest.len() >= 8 + length).then_some((at + 8, at + 8 + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of an output that comes `size` bytes at a time, and whether it ended whole.
    fn pieces(bytes: &[u8], size: usize) -> (Vec<String>, bool) {
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        let mut emit = |piece: &[u8]| {
            found.push(String::from_utf8(piece.to_vec()).unwrap());
            true
        };
        for chunk in bytes.chunks(size) {
            assert!(frames.push(chunk, &mut emit));
        }
        let whole = frames.finish(&mut emit);
        (found, whole)
    }

    #[test]
    fn frames_and_a_terminals_lines_are_told_apart_however_they_come() {
        let framed = b"\x01\0\0\0\0\0\0\x02a\n\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\x01b";
        for size in [1, 3, 9, 100] {
            let (found, whole) = pieces(framed, size);
            assert_eq!((found.concat().as_str(), whole), ("a\nb", true), "{size}");
            let (found, whole) = pieces(&framed[..framed.len() - 1], size);
            assert_eq!((found.concat().as_str(), whole), ("a\n", false), "{size}");
            let (found, whole) = pieces(b"2026-11-30 one\ntwo", size);
            assert_eq!(found, ["2026-11-30 one\n", "two"]);
            assert!(whole);
        }
        assert_eq!(pieces(b"short", 2), (vec!["short".to_owned()], true));
        assert_eq!(pieces(b"", 1), (Vec::new(), true));
    }
}
