//! A daemon's goroutine stacks, read: which calls hang, for what they wait, and who holds a container's lock.
//!
//! Takes what `/debug/pprof/goroutine?debug=2` answers, or the file that dockerd writes on SIGUSR1; both are Go's
//! own traceback, which differs a little from version to version. Functions are matched by the ends of their
//! names, so that neither the module's path (github.com/docker/docker, github.com/moby/moby/v2) nor the line
//! matters. Seen in real dumps: Docker 20.10.24 built with Go 1.19; taken from the sources: Docker 1.11 to 28, Go
//! 1.5 to 1.25. What is not known is counted and left out; nothing here fails.
//!
//! A dump prints addresses, no ids: what can be said of one container is in `Stacks::our_lock`.

mod call;
mod frame;
mod holder;
mod parse;
mod wait;

pub use call::{Call, Verb};
pub use frame::Frame;
pub use holder::Held;
pub use parse::{Goroutine, Parser};
pub use wait::{Guard, Wait};

/// Most calls kept; a daemon whose lock is held for hours piles up tens of thousands of inspects.
const MOST_CALLS: usize = 2_000;

/// What a daemon's stacks tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// Goroutines seen.
    pub goroutines: u64,
    /// Whether the dump was read to its end.
    pub whole: bool,
    /// Calls that concern containers, in the dump's order.
    pub calls: Vec<Call>,
    /// Calls beyond the number that is kept.
    pub calls_left_out: u64,
}

/// Reads a dump, piece by piece.
#[derive(Debug, Default)]
pub struct Reader {
    parser: Parser,
    stacks: Stacks,
}

impl Reader {
    /// Reads on; a piece may end anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { parser, stacks } = self;
        parser.push(bytes, &mut |goroutine| stacks.take(&goroutine));
    }

    /// Returns what was read; `whole` tells whether that was all there was.
    pub fn finish(mut self, whole: bool) -> Stacks {
        let Self { parser, stacks } = &mut self;
        parser.finish(&mut |goroutine| stacks.take(&goroutine));
        self.stacks.whole = whole;
        self.stacks
    }
}

impl Stacks {
    /// Reads a dump that is at hand.
    pub fn read(dump: &[u8]) -> Self {
        let mut reader = Reader::default();
        reader.push(dump);
        reader.finish(true)
    }

    fn take(&mut self, goroutine: &Goroutine) {
        self.goroutines += 1;
        let Some(call) = Call::of(goroutine) else {
            return;
        };
        // Whoever holds or hangs elsewhere is worth more than one more waiter.
        if self.calls.len() < MOST_CALLS || call.holds && self.calls.len() < 2 * MOST_CALLS {
            self.calls.push(call);
        } else {
            self.calls_left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests;
