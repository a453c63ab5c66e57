//! Reads what Docker wrote of its containers to its disk, for when it does not answer.
//!
//! The disk may be dead itself: a child of our own reads (`helper`), and is killed when nothing comes. Only regular
//! files are read, no link is followed below the data root, and what is huge or makes no sense is counted. What the
//! files mean is known in `on_disk`.

mod data_root;
mod helper;
mod log;
mod recorded;

use super::on_disk::{Disk, Raw};
use crate::io::child::Running;
use crate::io::deadline::Ended;
use crate::io::gap::Gap;
use crate::io::{child, deadline};
use crate::syntax::id::ContainerId;
use serde::{Deserialize, Serialize};
use std::io::{BufRead as _, BufReader};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

pub use data_root::{DataRoot, data_root};
pub use helper::write;
pub use log::{Log, read_log, write_log};
pub use recorded::{PART, record, recorded};

/// For how long the files are read; a well disk needs some 50 µs for each container.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// How long nothing may come.
const SILENCE: Duration = Duration::from_millis(1200);
/// How long a killed child is waited for.
const LAST_BREATH: Duration = Duration::from_millis(100);
/// Most bytes of a line that the child says: one container's two files, where each byte is no text and becomes three.
const LINE: u64 = 32 << 20;

/// What a child says, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// It has found its way.
    Start {
        root: String,
        live_restore: Option<bool>,
    },
    /// One container's files.
    Container(Raw),
    /// That is all.
    End {
        /// Files that make no sense.
        odd: usize,
        /// Containers that found no room.
        left: usize,
        /// Why nothing could be read.
        error: Option<String>,
        /// … and whether that is for there is nothing.
        missing: bool,
    },
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Reading {
    /// What was read; `None` where there is nothing.
    pub disk: Option<Disk>,
    /// The containers' files, by their ids.
    pub files: Vec<Raw>,
    /// What could not be seen.
    pub gaps: Vec<Gap>,
    /// Why there is nothing to see.
    pub notes: Vec<String>,
}

/// Reads the files of these containers, or of all, within `patience`.
pub fn read(place: &DataRoot, ids: Option<&[ContainerId]>, patience: Duration) -> Reading {
    let mut reading = Reading::default();
    let mut command = child::reader();
    command.arg("docker").args(place.words()).arg("--");
    command.args(ids.into_iter().flatten().map(ContainerId::as_str));
    let mut running = match Running::start(&mut command) {
        Ok(running) => running,
        Err(error) => {
            reading.unseen(
                place,
                format!("the child that reads them can't be run: {error}"),
            );
            return reading;
        }
    };
    let Some(stdout) = running.child.stdout.take() else {
        return reading;
    };
    let mut end = false;
    let ended = deadline::read_until_silent(
        Instant::now() + patience,
        SILENCE,
        move |to| send_lines(stdout, to),
        &mut |line| {
            end |= matches!(line, Line::End { .. });
            reading.take(place, ids.is_none(), line);
            true
        },
    );
    let survivor = running.kill(LAST_BREATH);
    reading.files.sort_by(|a, b| a.id.cmp(&b.id));
    match (end, ended) {
        (true, _) => {}
        (false, Ok(Ended::Late)) => {
            let read = reading.files.len();
            reading.unseen(place, format!("not all came in time, only {read} containers': the disk or file system that they are on may hang"));
        }
        (false, Ok(_)) => reading.unseen(place, "the child that reads them broke off".to_owned()),
        (false, Err(error)) => reading.unseen(place, error.to_string()),
    }
    if let Some(pid) = survivor {
        let why = format!(
            "process {pid}, a child of plegdoctor's own that reads them, hangs in the kernel and ends once it is let go"
        );
        reading.unseen(place, why);
    }
    reading
}

impl Reading {
    fn take(&mut self, place: &DataRoot, whole: bool, line: Line) {
        match line {
            Line::Start { root, live_restore } => {
                self.disk = Some(Disk {
                    root,
                    whole,
                    containers: 0,
                    live_restore,
                });
            }
            Line::Container(raw) => self.files.push(raw),
            Line::End { .. } => self.judge(place, &line),
        }
    }

    fn unseen(&mut self, place: &DataRoot, why: String) {
        let root = self.disk.as_ref().map(|disk| disk.root.as_str());
        let what = match root.or(place.root()) {
            Some(root) => format!("Docker's files in {root}"),
            None => "Docker's files".to_owned(),
        };
        self.gaps.push(Gap::new(what, why));
    }

    /// Takes note of what a child that came to its end could not read.
    fn judge(&mut self, place: &DataRoot, end: &Line) {
        let Line::End {
            odd,
            left,
            error,
            missing,
        } = end
        else {
            return;
        };
        match error {
            Some(why) if *missing && place.is_guess() => {
                self.notes
                    .push(format!("Docker's files were not found: {why}"));
                self.disk = None;
            }
            Some(why) => {
                self.unseen(place, why.clone());
                self.disk = self.disk.take().filter(|_| !self.files.is_empty());
            }
            None => {}
        }
        if *odd > 0 {
            let why = format!("{odd} of them are too large, no regular files, or make no sense");
            self.unseen(place, why);
        }
        if *left > 0 {
            let why = format!("there are more than can be read: {left} containers were left out");
            self.unseen(place, why);
        }
    }
}

/// Sends what the child says; what is no line of its own ends it.
fn send_lines(stdout: impl std::io::Read, to: &SyncSender<Line>) {
    let mut from = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let mut room = std::io::Read::take(&mut from, LINE);
        match room.read_until(b'\n', &mut line) {
            Ok(read) if read > 0 => {}
            _ => return,
        }
        let Ok(line) = serde_json::from_slice(&line) else {
            return;
        };
        if to.send(line).is_err() {
            return;
        }
    }
}
