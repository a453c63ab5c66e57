//! Looks again whether the plan holds: before the first removal, and now and then while removals go on.
//!
//! A thread of its own looks, so that a slow list holds up neither Ctrl-C nor the answers to what is in flight;
//! until it has looked, nothing new is sent.

use crate::finding::plan::Plan;
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// How long a look is relied on. A kubelet starts a pod's next sandbox within seconds.
const RELIED_ON: Duration = Duration::from_secs(10);

/// Plans anew from what is there now, or says why it can't.
pub type Replan = Box<dyn FnMut() -> Result<Plan, String> + Send>;

pub(super) struct Revalidation {
    asks: Sender<()>,
    plans: Receiver<Result<Plan, String>>,
    is_asked: bool,
    last: Option<Instant>,
}

impl Revalidation {
    pub(super) fn start(mut replan: Replan) -> io::Result<Self> {
        let (asks, asked) = mpsc::channel();
        let (answers, plans) = mpsc::channel();
        thread::Builder::new()
            .name("revalidate".to_owned())
            .spawn(
                move || {
                    while asked.recv().is_ok() && answers.send(replan()).is_ok() {}
                },
            )?;
        Ok(Self {
            asks,
            plans,
            is_asked: false,
            last: None,
        })
    }

    pub(super) fn is_fresh(&self) -> bool {
        !self.is_asked && self.last.is_some_and(|last| last.elapsed() < RELIED_ON)
    }

    /// Asks for a look if one is due, and returns what a look has shown since this was called last.
    pub(super) fn poll(&mut self) -> Option<Result<Plan, String>> {
        if !self.is_asked && !self.is_fresh() {
            // If the thread is gone, the answer below says so.
            let _ = self.asks.send(());
            self.is_asked = true;
        }
        match self.plans.try_recv() {
            Ok(plan) => {
                self.is_asked = false;
                self.last = Some(Instant::now());
                Some(plan)
            }
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Err("the thread that plans anew ended".to_owned()))
            }
        }
    }
}
