//! One call that stays open: sent once, and waited for piece by piece, so that whoever waits can do something between.
//!
//! A call that hangs is itself the best sign of the end of the hang: the daemon answers it at that moment. It has a
//! thread of its own, which sleeps on a socket and keeps nobody from ending.

use super::{Container, Docker, Outcome, Probe, block_on, not_started};
use crate::syntax::id::ContainerId;
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Inspect that container.
    Inspect(ContainerId),
    /// `GET /_ping`: dockerd by itself.
    Ping,
    /// `GET /version`: dockerd asks its containerd.
    Version,
}

/// A call in flight, or answered.
#[derive(Debug)]
pub struct PendingCall {
    began: Instant,
    answers: Receiver<Answered>,
    answer: Option<Answered>,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// When.
    pub at: Instant,
    /// How.
    pub probe: Probe,
    /// What an inspect said.
    pub container: Option<Container>,
}

impl Docker {
    /// Sends `call`, which is given up after `patience`.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn open_call(&self, call: &Request, patience: Duration) -> io::Result<PendingCall> {
        let docker = Self {
            timeout: patience,
            ..self.clone()
        };
        let (call, began) = (call.clone(), Instant::now());
        let (tell, answers) = mpsc::channel();
        thread::Builder::new()
            .name("open call".to_owned())
            .spawn(move || {
                let (probe, container) = docker.made(&call);
                let at = Instant::now();
                // Nobody may be waiting any more.
                let _ = tell.send(Answered {
                    at,
                    probe,
                    container,
                });
            })?;
        Ok(PendingCall {
            began,
            answers,
            answer: None,
        })
    }

    fn made(&self, call: &Request) -> (Probe, Option<Container>) {
        let path = match call {
            Request::Inspect(id) => {
                let container = self.inspect(id);
                return (container.probe.clone(), Some(container));
            }
            Request::Ping => "/_ping",
            Request::Version => "/version",
        };
        let probe = block_on(self.asked(path)).map(|answer| answer.probe);
        (probe.unwrap_or_else(|error| not_started(&error)), None)
    }
}

impl PendingCall {
    /// Returns how it ended, if it does so within `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<&Answered> {
        if self.answer.is_none() {
            self.answer = match self.answers.recv_timeout(limit) {
                Ok(answer) => Some(answer),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Answered {
                    at: Instant::now(),
                    probe: Probe {
                        outcome: Outcome::Error,
                        took: self.began.elapsed(),
                        error: Some("the thread that waited for it ended".to_owned()),
                    },
                    container: None,
                }),
            };
        }
        self.answer.as_ref()
    }

    /// Returns for how long it has been open.
    pub fn open_for(&self) -> Duration {
        self.began.elapsed()
    }
}
