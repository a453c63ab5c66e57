//! Which entries of an archive are logs of the kubelet. In each of its directories the names decide as on a disk; any
//! other file counts if it begins with lines of the kubelet. An archive inside it is skipped, and named. Only beginnings
//! are kept in memory, one at a time.

use super::file_range::Prefixed;
use super::rotation::Family;
use super::sniff::LineFormat;
use super::tar_reader::{TarEntry, TarReader, TarSource, is_tar};
use super::{file_kind, rotation, sniff};
use crate::io::decompress::{Compression, Decoder, MAX_WINDOW};
use crate::kubelet::parser::{Hints, Parser};
use crate::syntax::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::Read;

/// Bytes that show whether a file is compressed.
const MAGIC: u64 = 16;
const MAX_LOGS: usize = 4096;
/// Skipped archives that are named.
const MAX_NAMED: usize = 4;

/// A file in an archive that is a log, or may be one.
pub(super) struct LogEntry {
    pub(super) entry: TarEntry,
    pub(super) compressed: bool,
    pub(super) first: Option<Time>,
    of_kubelet: bool,
    pub(super) format: LineFormat,
    pub(super) refused: Option<String>,
}

#[derive(Default)]
pub(super) struct Seen {
    files: usize,
    logs: usize,
    /// Logs beyond `MAX_LOGS`.
    left_out: usize,
    archives: Vec<String>,
    names: BTreeMap<String, usize>,
}

/// The logs in an archive, in its order.
pub(super) struct Contents {
    pub(super) logs: Vec<LogEntry>,
    pub(super) seen: Seen,
    pub(super) error: Option<String>,
    pub(super) memory: u64,
}

/// Reads the whole archive, and looks at the beginning of each file.
pub(super) fn list<R: TarSource>(mut reader: TarReader<R>, hints: Hints) -> Contents {
    let (mut logs, mut seen) = (Vec::new(), Seen::default());
    let mut each = |log: LogEntry, _: &mut dyn Read| {
        logs.push(log);
        true
    };
    let error = each_log(&mut reader, hints, &mut seen, &mut each).err();
    // The file in which it is cut counts up to there.
    if error.is_some()
        && let Some(last) = logs.last_mut()
    {
        let size = reader.at().saturating_sub(last.entry.start);
        last.entry.size = last.entry.size.min(size);
    }
    keep_chosen(&mut logs);
    Contents {
        logs,
        seen,
        error,
        memory: reader.memory(),
    }
}

/// Hands each file that may be a log to `each`, with its text, until that returns false. Returns whether it never did.
///
/// # Errors
/// The archive cannot be read to its end, in words.
pub(super) fn each_log<R: TarSource>(
    reader: &mut TarReader<R>,
    hints: Hints,
    seen: &mut Seen,
    each: &mut dyn FnMut(LogEntry, &mut dyn Read) -> bool,
) -> Result<bool, String> {
    while let Some(entry) = reader.next()? {
        seen.files += 1;
        let room = MAX_WINDOW.saturating_sub(reader.memory());
        let (mut text, compressed) = decompressed(reader, room);
        let (head, error) = sniff::read_head(&mut text);
        if !entry.sparse && is_tar(&head) {
            seen.archives.push(entry.path);
            continue;
        }
        let mut log = LogEntry::from_head(entry, compressed, (&head, error.as_ref()), hints);
        if !log.is_named() && !log.of_kubelet {
            continue;
        }
        if seen.logs == MAX_LOGS {
            seen.left_out += 1;
            continue;
        }
        seen.logs += 1;
        // An archive may hold one name several times.
        let number = seen.names.entry(log.entry.path.clone()).or_default();
        *number += 1;
        if *number > 1 {
            log.entry.path = format!("{}#{number}", log.entry.path);
        }
        if !each(log, &mut Prefixed::new(head, error, text)) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Seen {
    pub(super) fn none(&self) -> Option<String> {
        if self.logs > 0 {
            return None;
        }
        let files = self.files;
        let none =
            format!("it is an archive, and none of its {files} files is a log of the kubelet");
        let skipped = self.skipped();
        Some(skipped.map_or(none.clone(), |skipped| format!("{none}; {skipped}")))
    }
    pub(super) fn left_out(&self) -> impl Iterator<Item = String> {
        let more = (self.left_out > 0).then(|| {
            format!(
                "{} logs beyond the first {MAX_LOGS} were skipped",
                self.left_out
            )
        });
        more.into_iter().chain(self.skipped())
    }

    fn skipped(&self) -> Option<String> {
        let count = self.archives.len();
        let named = self.archives[..count.min(MAX_NAMED)].join(", ");
        let more = match count.saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (count > 0).then(|| {
            format!(
                "skipped archives inside it ({named}{more}): unpack them and pass them with --log"
            )
        })
    }
}

/// Keeps what the names choose in each directory, and what begins with lines of the kubelet under any other name.
fn keep_chosen(logs: &mut Vec<LogEntry>) {
    let mut directories: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for log in logs.iter().filter(|log| log.is_named()) {
        let (directory, base) = split(&log.entry.path);
        directories.entry(directory).or_default().push(base);
    }
    let chosen: BTreeSet<String> = directories
        .into_iter()
        .flat_map(|(directory, bases)| {
            let chosen = rotation::choose(Family::Any, &bases).into_iter();
            chosen.map(move |base| format!("{directory}{base}"))
        })
        .collect();
    logs.retain(|log| !log.is_named() || chosen.contains(&log.entry.path));
}

/// The directory of a path, with its slash, and the name in it.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |at| at + 1))
}

impl LogEntry {
    /// Judges a file by its beginning, decompressed, and by the error that ended that early.
    fn from_head(
        entry: TarEntry,
        compressed: bool,
        (head, error): (&[u8], Option<&io::Error>),
        hints: Hints,
    ) -> Self {
        let refused = match error {
            Some(error) if head.is_empty() => Some(error.to_string()),
            _ if entry.sparse => Some("the archive left out its holes: unpack it first".to_owned()),
            _ if Compression::detect(head).is_some() => Some("it is compressed twice".to_owned()),
            _ => file_kind::require_text(head, "FILE")
                .err()
                .map(|it| it.to_string()),
        };
        let mut log = Self {
            entry,
            compressed,
            first: None,
            of_kubelet: false,
            format: LineFormat::default(),
            refused,
        };
        if log.refused.is_none() {
            let mut parser = Parser::new(&log.entry.path, hints);
            let mut events = Vec::new();
            for line in head.split(|byte| *byte == b'\n') {
                parser.line(line, &mut events);
                events.clear();
            }
            parser.finish(&mut events);
            log.first = parser.source_info().oldest;
            log.of_kubelet = parser.source_info().of_kubelet;
            log.format = LineFormat::detect(head);
        }
        log
    }

    /// Whether its name is that of a kubelet's or a system's log.
    fn is_named(&self) -> bool {
        rotation::is_log(split(&self.entry.path).1)
    }
}

/// Reads the text of `from`; also returns whether it is compressed.
fn decompressed(from: &mut impl Read, room: u64) -> (Box<dyn Read + '_>, bool) {
    let mut head = Vec::new();
    let error = from.by_ref().take(MAGIC).read_to_end(&mut head).err();
    let compressed = Compression::detect(&head).is_some();
    let whole = Prefixed::new(head, error, from);
    if compressed {
        (Box::new(Decoder::new(whole, room, "FILE")), true)
    } else {
        (Box::new(whole), false)
    }
}
