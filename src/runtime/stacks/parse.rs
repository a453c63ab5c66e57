//! Go's traceback, line by line: `goroutine 937 [syscall, 5 minutes]:` and the frames below it.
//!
//! Tolerant of what lies around it (a daemon's log), of lines cut short and of fields that newer versions add
//! (`goroutine 1 gp=0xc000002380 m=nil [select]:`, `locked to thread`). Only one goroutine is in memory.

use super::Frame;

/// Bytes kept of a line: real ones have some hundred.
const LONGEST_LINE: usize = 8 << 10;
/// Frames kept of a goroutine: Go itself prints 100.
const MOST_FRAMES: usize = 256;

/// One goroutine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goroutine {
    /// Its number.
    pub id: u64,
    /// What it does: `select`, `semacquire`, `IO wait`, `syscall`, `sync.Mutex.Lock`, …
    pub state: String,
    /// For how many minutes at least; 0 is unknown: Go counts from the first garbage collection that sees it wait,
    /// and collections may be two minutes apart.
    pub minutes: u64,
    /// Its frames, innermost first.
    pub frames: Vec<Frame>,
}

/// Splits a dump into goroutines.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    goroutine: Option<Goroutine>,
}

impl Parser {
    /// Reads on, and passes each goroutine that is complete.
    pub fn push(&mut self, bytes: &[u8], found: &mut dyn FnMut(Goroutine)) {
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = LONGEST_LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                self.take_line(found);
            }
        }
    }

    /// Passes what is left.
    pub fn finish(&mut self, found: &mut dyn FnMut(Goroutine)) {
        self.take_line(found);
        self.goroutine.take().into_iter().for_each(found);
    }

    fn take_line(&mut self, found: &mut dyn FnMut(Goroutine)) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', ' ']);
        if let Some(goroutine) = header(line) {
            self.goroutine
                .replace(goroutine)
                .into_iter()
                .for_each(found);
        } else if line.is_empty() {
            self.goroutine.take().into_iter().for_each(found);
        } else if let Some(goroutine) = &mut self.goroutine {
            frame(line, &mut goroutine.frames);
        }
    }
}

/// Reads `goroutine 937 [syscall, 5 minutes, locked to thread]:`.
fn header(line: &str) -> Option<Goroutine> {
    let rest = line.strip_prefix("goroutine ")?;
    let id = rest.split(' ').next()?.parse().ok()?;
    let (_, rest) = rest.split_once('[')?;
    let (inside, _) = rest.split_once(']')?;
    let mut parts = inside.split(", ");
    let state = parts.next()?.to_owned();
    let minutes = parts
        .filter_map(|part| part.strip_suffix(" minutes")?.parse().ok())
        .next();
    Some(Goroutine {
        id,
        state,
        minutes: minutes.unwrap_or(0),
        frames: Vec::new(),
    })
}

/// Reads a frame's line: its function, or where that stands.
fn frame(line: &str, frames: &mut Vec<Frame>) {
    if let Some(place) = line.strip_prefix('\t') {
        if let Some(last) = frames.last_mut() {
            last.set_place(place);
        }
    } else if frames.len() < MOST_FRAMES {
        frames.extend(Frame::read(line));
    }
}
