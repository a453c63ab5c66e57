//! Who takes the events of a log that is read.

use crate::kubelet::event::Event;

/// Takes events, in order. A closure that takes each is one, too.
pub trait Sink {
    /// Takes one.
    fn event(&mut self, event: Event);

    /// Learns that all events of the lines read so far were given; returns whether to go on reading.
    fn batch(&mut self) -> bool {
        true
    }

    /// Returns whether messages that are context only are wanted all the time, and not only around trouble.
    fn wants_context(&self) -> bool {
        false
    }
}

impl<F: FnMut(Event)> Sink for F {
    fn event(&mut self, event: Event) {
        self(event);
    }
}
