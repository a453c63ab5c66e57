//! How far it is, on a terminal, for whoever has to wait: bytes of the log, speed, time left.
//!
//! On standard error, and only if that is a terminal; taken away before anything else is written there.

use crate::log::{ScanProgress, ScanStatus};
use crate::syntax::duration;
use chrono::TimeDelta;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::Duration;
use std::{io, thread};

/// How long reading a log may take without a word.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Shows how far the log is as long as it is read, from the second second on.
    pub(super) fn of_log(scan: &ScanProgress) -> Self {
        Self::start("{spinner} {msg}", scan, PATIENCE)
    }

    /// As `of_log`, while the events go to standard output; if that is a terminal, they themselves show it.
    pub(super) fn beside_output(scan: &ScanProgress) -> Self {
        match io::stdout().is_terminal() {
            true => Self(ProgressBar::hidden()),
            false => Self::of_log(scan),
        }
    }

    /// Shows what is being done (`doing`) from the beginning to the end, and how far the log is.
    pub(super) fn of_all(scan: &ScanProgress) -> Self {
        Self::start("{spinner} {msg} ({elapsed})", scan, Duration::ZERO)
    }

    pub(super) fn teller(&self) -> impl Fn(&'static str) + use<> {
        let bar = self.0.clone();
        move |words| bar.set_message(words)
    }

    fn start(template: &str, scan: &ScanProgress, patience: Duration) -> Self {
        let terminal = ProgressDrawTarget::stderr();
        if terminal.is_hidden() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let (turning, scan) = (bar.clone(), scan.clone());
        // Not by its own thread: where the node is out of tasks, the wish for one would end us. It then shows nothing.
        drop(
            thread::Builder::new()
                .name("progress".to_owned())
                .spawn(move || turn(&turning, terminal, &scan, patience)),
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
fn turn(bar: &ProgressBar, terminal: ProgressDrawTarget, scan: &ScanProgress, patience: Duration) {
    let always = patience.is_zero();
    let mut terminal = Some(terminal);
    while !bar.is_finished() {
        let status = scan.status();
        let slow = status.filter(|status| status.since >= PATIENCE);
        if (always || slow.is_some())
            && let Some(terminal) = terminal.take()
        {
            bar.set_draw_target(terminal);
        }
        if let Some(status) = slow {
            bar.set_message(words(&status));
        } else if !always && scan.has_ended() {
            bar.finish_and_clear();
        }
        bar.tick();
        thread::sleep(TICK);
    }
}

/// `reading the log: 412.00 MiB of 1.00 GiB, 205.00 MiB/s, 3.0s left`
fn words(status: &ScanStatus) -> String {
    let done = HumanBytes(status.done);
    let speed = HumanBytes(status.speed());
    let of = status
        .total
        .map(|total| format!(" of {}", HumanBytes(total)));
    let left = status.left().map(|left| {
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
        let status = |done, total| ScanStatus {
            since: Duration::from_secs(2),
            done,
            total,
        };
        assert_eq!(
            words(&status(100 << 20, Some(1 << 30))),
            "reading the log: 100.00 MiB of 1.00 GiB, 50.00 MiB/s, 18.0s left"
        );
        assert_eq!(
            words(&status(3 << 10, None)),
            "reading the log: 3.00 KiB, 1.50 KiB/s"
        );
    }
}
