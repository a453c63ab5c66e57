//! How far it is, on a terminal, for whoever has to wait: bytes of the log, speed, time left.
//!
//! On standard error, and only if that is a terminal; taken away before anything else is written there.

use crate::{
    log::{Gauge, Reached},
    syntax::duration,
};
use chrono::TimeDelta;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{self, IsTerminal as _},
    thread,
    time::Duration,
};

/// How long reading a log may take without a word.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Shows how far the log is as long as it is read, from the second second on.
    pub(super) fn of_log(gauge: &Gauge) -> Self {
        Self::start("{spinner} {msg}", gauge, PATIENCE)
    }

    /// As `of_log`, while the events go to standard output; if that is a terminal, they themselves show it.
    pub(super) fn beside_output(gauge: &Gauge) -> Self {
        if io::stdout().is_terminal() {
            Self(ProgressBar::hidden())
        } else {
            Self::of_log(gauge)
        }
    }

    /// Shows what is being done (`doing`) from the beginning to the end, and how far the log is.
    pub(super) fn of_all(gauge: &Gauge) -> Self {
        Self::start("{spinner} {msg} ({elapsed})", gauge, Duration::ZERO)
    }

    pub(super) fn teller(&self) -> impl Fn(&'static str) + use<> {
        let bar = self.0.clone();
        move |words| bar.set_message(words)
    }

    fn start(template: &str, gauge: &Gauge, patience: Duration) -> Self {
        let terminal = ProgressDrawTarget::stderr();
        if terminal.is_hidden() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let (turning, gauge) = (bar.clone(), gauge.clone());
        // Not by its own thread: where the node is out of tasks, the wish for one would end us. It then shows nothing.
        drop(
            thread::Builder::new()
                .name("progress".to_owned())
                .spawn(move || turn(&turning, terminal, &gauge, patience)),
        );
        Self(bar)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Turns the spinner until it is finished: at once where there is no patience, else while the log is read.
fn turn(bar: &ProgressBar, terminal: ProgressDrawTarget, gauge: &Gauge, patience: Duration) {
    let always = patience.is_zero();
    let mut terminal = Some(terminal);
    while !bar.is_finished() {
        let reached = gauge.reached();
        let slow = reached.filter(|reached| reached.since >= PATIENCE);
        if (always || slow.is_some())
            && let Some(terminal) = terminal.take()
        {
            bar.set_draw_target(terminal);
        }
        if let Some(reached) = slow {
            bar.set_message(words(&reached));
        } else if !always && gauge.is_over() {
            bar.finish_and_clear();
        }
        bar.tick();
        thread::sleep(TICK);
    }
}

/// `reading the log: 412.00 MiB of 1.00 GiB, 205.00 MiB/s, 3.0s left`
fn words(reached: &Reached) -> String {
    let done = HumanBytes(reached.done);
    let speed = HumanBytes(reached.speed());
    let of = reached
        .total
        .map(|total| format!(" of {}", HumanBytes(total)));
    let left = reached.left().map(|left| {
        let left = TimeDelta::from_std(left).unwrap_or(TimeDelta::MAX);
        format!(", {} left", duration::human(left))
    });
    format!(
        "reading the log: {done}{}, {speed}/s{}",
        of.unwrap_or_default(),
        left.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_bytes_speed_and_time_left_as_far_as_they_are_known() {
        let reached = |done, total| Reached {
            since: Duration::from_secs(2),
            done,
            total,
        };
        assert_eq!(
            words(&reached(100 << 20, Some(1 << 30))),
            "reading the log: 100.00 MiB of 1.00 GiB, 50.00 MiB/s, 18.0s left"
        );
        assert_eq!(
            words(&reached(3 << 10, None)),
            "reading the log: 3.00 KiB, 1.50 KiB/s"
        );
    }
}
