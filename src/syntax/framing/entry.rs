//! The journal's forms in which an entry is several lines: `export`, `verbose`, `json-pretty`.
//!
//! Also any other JSON that is printed over several lines, such as `kubectl get node -o json`.

use super::{Owner, Unframed, objects, owner_of, unframe_rest};
use crate::syntax::time::{Stamp, plain};
use std::borrow::Cow;

/// Longest entry that is kept, in bytes.
pub const MAX_ENTRY: usize = 1 << 20;

/// Lines of which several make one entry.
#[derive(Debug)]
pub enum Entry {
    /// `KEY=value` lines up to an empty one; a value with a newline is a key alone and a counted block.
    Export(Fields),
    /// A line with a stamp, then indented `KEY=value` lines.
    Verbose(Fields),
    /// JSON over several lines.
    Object {
        text: Vec<u8>,
        /// The bracket that ends it, alone on its line.
        close: u8,
    },
}

#[derive(Debug, Default)]
pub struct Fields {
    stamp: Option<Stamp>,
    host: Option<String>,
    ident: Option<Owner>,
    unit: Option<Owner>,
    message: Option<Vec<u8>>,
    /// A block that is being read: whether it is the message, and its bytes with the length in front.
    block: Option<(bool, Vec<u8>)>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Gathered {
    /// It belongs to the entry, which goes on.
    More,
    /// It ends the entry, and belongs to it.
    Ended,
    /// The entry ended before it: it is a line of its own.
    Another,
}

impl Entry {
    /// The entry that `line` begins, if it begins one.
    pub fn begin(line: &[u8]) -> Option<Self> {
        match line {
            b"{" => Some(Self::object(b'{', b'}')),
            b"[" => Some(Self::object(b'[', b']')),
            [b'_', ..] if line.starts_with(b"__CURSOR=") => Some(Self::Export(Fields::default())),
            [.., b']'] => {
                let start = memchr::memmem::find(line, b" [s=")?;
                let first = memchr::memchr(b' ', line)?;
                let (local, used) = plain(line.get(first + 1..start)?)?;
                let zone = line.get(first + 1 + used + 1..start)?;
                let stamp = if zone == b"UTC" {
                    Stamp::Exact(local.and_utc().fixed_offset())
                } else {
                    Stamp::Local(local)
                };
                Some(Self::Verbose(Fields {
                    stamp: Some(stamp),
                    ..Fields::default()
                }))
            }
            _ => None,
        }
    }

    fn object(open: u8, close: u8) -> Self {
        Self::Object {
            text: vec![open, b'\n'],
            close,
        }
    }

    /// Takes in the next line, as it was before a `\r` was cut off.
    pub fn gather(&mut self, line: &[u8]) -> Gathered {
        match self {
            Self::Export(fields) => fields.export(line),
            Self::Verbose(fields) => fields.verbose(line),
            Self::Object { text, close } => gather_object(text, *close, line),
        }
    }

    /// The entry as a line without its envelope; `None` where it has no message.
    pub fn unframed(self) -> Option<Unframed<'static>> {
        let fields = match self {
            Self::Export(fields) | Self::Verbose(fields) => fields,
            Self::Object { text, .. } => {
                let inner = objects::open(&text)?;
                Fields {
                    stamp: inner.stamp,
                    host: inner.host,
                    ident: Some(inner.owner),
                    message: Some(inner.message),
                    ..Fields::default()
                }
            }
        };
        let owner = match (fields.unit, fields.ident) {
            (Some(unit), _) if unit.is_kubelet() => unit,
            (_, ident) => ident.unwrap_or(Owner::Unnamed),
        };
        Some(unframe_rest(Unframed {
            stamp: fields.stamp,
            host: fields.host.map(Cow::Owned),
            owner,
            message: Cow::Owned(fields.message?),
            partial: false,
            enveloped: true,
            header: None,
        }))
    }

    /// The text of JSON that is no journal entry.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Object { text, .. } => Some(text),
            _ => None,
        }
    }
}

impl Fields {
    fn export(&mut self, line: &[u8]) -> Gathered {
        if let Some((is_message, mut bytes)) = self.block.take() {
            bytes.extend_from_slice(line);
            let length = bytes
                .first_chunk()
                .map(|length| usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX));
            match length.map(|length| length.saturating_add(8)) {
                Some(whole) if whole == bytes.len() => {
                    if is_message {
                        self.message = Some(bytes.split_off(8));
                    }
                }
                // Cut short, or no block at all: the line is believed to be one of its own.
                Some(whole) if whole < bytes.len() || whole > MAX_ENTRY => {
                    return Gathered::Another;
                }
                _ => {
                    bytes.push(b'\n');
                    self.block = Some((is_message, bytes));
                }
            }
            return Gathered::More;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Gathered::Ended;
        }
        let is_key = |key: &[u8]| {
            !key.is_empty()
                && key
                    .iter()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
        };
        match memchr::memchr(b'=', line) {
            Some(equals) if is_key(&line[..equals]) => {
                self.field(&line[..equals], &line[equals + 1..]);
            }
            None if is_key(line) => self.block = Some((line == b"MESSAGE", Vec::new())),
            _ => return Gathered::Another,
        }
        Gathered::More
    }

    fn verbose(&mut self, line: &[u8]) -> Gathered {
        let Some(inside) = line.strip_prefix(b"    ") else {
            return Gathered::Another;
        };
        let inside = inside.strip_suffix(b"\r").unwrap_or(inside);
        match (memchr::memchr(b'=', inside), &mut self.message) {
            (Some(equals), _)
                if inside[..equals]
                    .iter()
                    .all(|b| b.is_ascii_uppercase() || *b == b'_') =>
            {
                self.field(&inside[..equals], &inside[equals + 1..]);
            }
            // A message's further lines are indented to its first character.
            (_, Some(message)) if message.len() < MAX_ENTRY => {
                message.push(b'\n');
                message.extend_from_slice(inside.strip_prefix(b"        ").unwrap_or(inside));
            }
            _ => {}
        }
        Gathered::More
    }

    fn field(&mut self, key: &[u8], value: &[u8]) {
        match key {
            b"__REALTIME_TIMESTAMP" => self.stamp = objects::realtime(value),
            b"_HOSTNAME" => self.host = Some(String::from_utf8_lossy(value).into_owned()),
            b"SYSLOG_IDENTIFIER" => self.ident = Some(owner_of(value)),
            b"_SYSTEMD_UNIT" => self.unit = Some(owner_of(value)),
            b"MESSAGE" => self.message = Some(value.to_vec()),
            _ => {}
        }
    }
}

fn gather_object(text: &mut Vec<u8>, close: u8, line: &[u8]) -> Gathered {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let inside = matches!(
        line.first(),
        None | Some(b' ' | b'\t' | b'"' | b'{' | b'}' | b'[' | b']')
    );
    // A bracket alone, or a record of one line: what was begun was nothing, or cut short.
    let first = text.len() == 2 && !matches!(line.first(), Some(b' ' | b'\t' | b'"'));
    let another = close == b'}' && (first || line.starts_with(b"{\""));
    if !inside || another || text.len() > MAX_ENTRY {
        return Gathered::Another;
    }
    text.extend_from_slice(line);
    text.push(b'\n');
    let ends = line.first() == Some(&close) && matches!(line.len(), 1 | 2);
    if ends {
        Gathered::Ended
    } else {
        Gathered::More
    }
}
