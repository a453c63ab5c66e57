//! Fetches the daemon's own stacks while calls of ours are pending, so that their goroutines are among them.
//!
//! A call that has no answer after half its deadline is a reason; the stacks then have the other half. They take
//! no container's lock, so a daemon that answers anything answers them; one that is stopped does not, and one
//! before 1.13 serves them only if it was started with --debug.

use super::{Container, Docker, Outcome, Probe};
use crate::io::http;
use crate::runtime::PendingStacks;
use crate::runtime::stacks::{Reader, Stacks};
use crate::syntax::id::ContainerId;
use futures_util::future::{Either, select};
use std::{cell::RefCell, collections::BTreeMap, pin::pin, time::Duration};
use tokio::time::{Instant, sleep_until};

/// Where dockerd serves them (moby api/server/router/debug).
pub(super) const PATH: &str = "/debug/pprof/goroutine?debug=2";
/// Most bytes read of them: 100,000 goroutines that wait for one lock have some 300 MiB, and the first tell enough.
const MAX_STACKS_BYTES: usize = 64 << 20;
/// How often to see whether a call has become late.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Our calls that are pending.
#[derive(Debug, Default)]
pub(super) struct Flights {
    pending: RefCell<BTreeMap<(Instant, u64), Option<ContainerId>>>,
    begun: std::cell::Cell<u64>,
}

/// One pending call; it ends when this is dropped.
pub(super) struct Flight<'a> {
    flights: &'a Flights,
    key: (Instant, u64),
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.flights.pending.borrow_mut().remove(&self.key);
    }
}

impl Flights {
    /// Notes that a call begins; which container it inspects, if it does.
    pub(super) fn begin(&self, inspected: Option<&ContainerId>) -> Flight<'_> {
        let number = self.begun.get();
        self.begun.set(number + 1);
        let key = (Instant::now(), number);
        self.pending.borrow_mut().insert(key, inspected.cloned());
        Flight { flights: self, key }
    }

    /// Runs a call of the daemon's own.
    pub(super) async fn of<F: Future>(&self, call: F) -> F::Output {
        let _flight = self.begin(None);
        call.await
    }

    fn oldest(&self) -> Option<Instant> {
        let pending = self.pending.borrow();
        pending.keys().next().map(|&(begun, _)| begun)
    }

    fn inspected(&self) -> Vec<ContainerId> {
        self.pending.borrow().values().flatten().cloned().collect()
    }
}

/// The stacks as they came, or did not.
#[derive(Debug)]
pub(super) struct Taken {
    probe: Probe,
    stacks: Stacks,
    /// The inspects that were pending when they were asked for.
    pending: Vec<ContainerId>,
}

impl Taken {
    /// Returns them with those inspects that were never answered.
    pub(super) fn judged(self, containers: &[Container]) -> (Option<PendingStacks>, Probe) {
        let Self {
            mut probe,
            stacks,
            mut pending,
        } = self;
        pending.retain(|id| {
            let found = containers.iter().find(|container| container.id.matches(id));
            found.is_some_and(|container| container.probe.outcome == Outcome::TimedOut)
        });
        let came = probe.outcome == Outcome::Answered && stacks.goroutines > 0;
        if probe.outcome == Outcome::Answered && !came {
            probe.outcome = Outcome::Error;
            probe.error = Some("its answer has no goroutines".to_owned());
        }
        (came.then_some(PendingStacks { stacks, pending }), probe)
    }
}

impl Docker {
    /// Runs `asking`; once one of its calls is late, takes the daemon's stacks beside it, and, if they are wanted
    /// `anyway`, after it otherwise: they are kept then, but explain nothing.
    pub(super) async fn watched<F: Future>(
        &self,
        asking: F,
        anyway: bool,
        flights: &Flights,
    ) -> (F::Output, Option<Taken>) {
        if let Some(recording) = &self.recording {
            let answers = asking.await;
            let taken = recording.has(PATH).then(|| {
                let answer = recording.answer(PATH);
                let came = recording.length(PATH);
                let came = came.unwrap_or((answer.body.len() as u64, true));
                let (_, whole) = came;
                let pending = recording.pending();
                if let Some(transcript) = &self.transcript {
                    transcript.stacks(&answer.probe, answer.body.clone(), came, &pending);
                }
                let mut reader = Reader::default();
                reader.push(&answer.body);
                Taken {
                    stacks: reader.finish(whole),
                    probe: answer.probe,
                    pending,
                }
            });
            return (answers, taken);
        }
        let fetching = std::cell::Cell::new(false);
        let stacks = async {
            self.one_is_late(flights).await;
            fetching.set(true);
            self.stacks(flights.inspected()).await
        };
        let (asking, stacks) = (pin!(asking), pin!(stacks));
        match select(asking, stacks).await {
            Either::Left((answers, stacks)) if fetching.get() => (answers, Some(stacks.await)),
            Either::Left((answers, _)) => {
                if anyway {
                    self.stacks(Vec::new()).await;
                }
                (answers, None)
            }
            Either::Right((taken, asking)) => (asking.await, Some(taken)),
        }
    }

    async fn one_is_late(&self, flights: &Flights) {
        loop {
            let now = Instant::now();
            let late = flights.oldest().map(|begun| begun + self.timeout / 2);
            if late.is_some_and(|late| late <= now) {
                return;
            }
            sleep_until(late.unwrap_or(now + LOOK_AGAIN).min(now + LOOK_AGAIN)).await;
        }
    }

    async fn stacks(&self, pending: Vec<ContainerId>) -> Taken {
        let (mut reader, mut kept) = (Reader::default(), Vec::new());
        let (started, mut left) = (Instant::now(), MAX_STACKS_BYTES);
        let mut take = |bytes: &[u8]| {
            let bytes = &bytes[..bytes.len().min(left)];
            left -= bytes.len();
            reader.push(bytes);
            if self.transcript.is_some() {
                kept.extend_from_slice(bytes);
            }
            left > 0
        };
        let deadline = started + self.timeout / 2;
        let end = http::stream(self.peer(), PATH, deadline, &mut take).await;
        let whole = matches!(end, Ok(true));
        // What came before it broke off tells enough.
        let end = end.or_else(|failure| match left < MAX_STACKS_BYTES {
            true => Ok(false),
            false => Err(failure),
        });
        let (probe, _) = http::probe(started.elapsed(), end);
        if let Some(transcript) = &self.transcript {
            let came = (kept.len() as u64, whole);
            transcript.stacks(&probe, kept, came, &pending);
        }
        Taken {
            probe,
            stacks: reader.finish(whole),
            pending,
        }
    }
}
