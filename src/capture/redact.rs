//! Replaces names and addresses, the same one by the same one everywhere: of pods, namespaces, nodes, containers,
//! images, volumes and servers, so that a capture can be given away and still tells the same story.
//!
//! Ids and UIDs stay: they are random, and join the parts. Of a log's other words only what looks like a password or a
//! token is masked; the rest stays, whatever it tells.

mod allowlist;
mod names;

use super::Recording;
use crate::io::packed::Packed;
use crate::node::redact_args;
use names::Names;
use regex::Regex;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::io::Read as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// How much of a log is replaced at a time, up to the next line's end.
const PIECE: usize = 1 << 20;

/// Labels of metrics whose values are the kubelet's own words.
const OWN_LABELS: &[&str] = &[
    "operation_type",
    "le",
    "quantile",
    "container_state",
    "git_version",
    "gitVersion",
];

impl Recording {
    /// Replaces names and addresses in all parts.
    ///
    /// # Errors
    /// What was kept can't be read again.
    pub fn redact(&mut self) -> anyhow::Result<()> {
        let mut names = Names::default();
        names.node(self.manifest.node.as_deref());
        names.node(self.node.as_deref());
        names.find_in_log(serde_json::to_string(&self.manifest)?.as_bytes());
        for (path, bytes) in &self.files {
            names.find_in_file(path, bytes);
        }
        let mut logs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (path, pieces) in std::mem::take(&mut self.logs) {
            let bytes = unpacked(pieces)?;
            names.find_in_log(&bytes);
            logs.insert(path, bytes);
        }
        let mut replacer = Replacer::of(&names)?;
        for (path, bytes) in &mut self.files {
            *bytes = replacer.file(path, bytes);
        }
        for log in &mut self.manifest.logs {
            let bytes = logs.remove(&log.file).unwrap_or_default();
            let (pieces, skips) = replacer.log(&bytes, &log.skips);
            self.logs.insert(log.file.clone(), pieces);
            log.skips = skips;
        }
        let json = serde_json::to_string(&self.manifest)?;
        self.manifest = serde_json::from_str(&replacer.text(&json))?;
        self.manifest.redacted = true;
        Ok(())
    }
}

fn unpacked(pieces: VecDeque<Packed>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for piece in pieces {
        piece.unpack()?.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

struct Replacer<'a> {
    names: &'a Names,
    searcher: aho_corasick::AhoCorasick,
    patterns: Vec<&'a str>,
    v4: Regex,
    v6: Regex,
    secret: Regex,
    label: Regex,
    addresses: BTreeMap<String, String>,
}

impl<'a> Replacer<'a> {
    fn of(names: &'a Names) -> anyhow::Result<Self> {
        let patterns: Vec<&str> = names.all().collect();
        let searcher = aho_corasick::AhoCorasick::builder()
            .match_kind(aho_corasick::MatchKind::LeftmostLongest)
            .build(&patterns)?;
        Ok(Self {
            names,
            searcher,
            patterns,
            // What stands after an escaped end of a line begins there.
            v4: Regex::new(r"(\\[nrt]|\b)((?:\d{1,3}\.){3}\d{1,3})\b")?,
            v6: Regex::new(r"[0-9a-fA-F]{1,4}(?::{1,2}[0-9a-fA-F]{1,4})+")?,
            secret: Regex::new(
                r#"(?i)\b(bearer\s+|(?:[a-z_]*token|password|passwd|client_secret)\\?["']?\s*[=:]\s*\\?["']?)[\w.~+/=-]{6,}"#,
            )?,
            label: Regex::new(r#"(\w+)="((?:[^"\\]|\\.)*)""#)?,
            addresses: BTreeMap::new(),
        })
    }

    /// Replaces in a log; returns it with the places where it goes on in the middle of a later line.
    fn log(&mut self, bytes: &[u8], skips: &[u64]) -> (VecDeque<Packed>, Vec<u64>) {
        let (mut packed, mut moved, mut at) = (Packed::default(), Vec::new(), 0);
        let ends = skips
            .iter()
            .filter_map(|&skip| usize::try_from(skip).ok())
            .chain([bytes.len()]);
        for end in ends {
            let mut part = bytes.get(at..end).unwrap_or_default();
            while !part.is_empty() {
                let from = part.len().min(PIECE);
                let line =
                    memchr::memchr(b'\n', &part[from..]).map_or(part.len(), |it| from + it + 1);
                let (piece, rest) = part.split_at(line);
                let piece = String::from_utf8_lossy(piece);
                let piece = self.secret.replace_all(&piece, "$1***").into_owned();
                packed.push(self.text(&piece).as_bytes());
                part = rest;
            }
            at = end;
            moved.push(packed.length());
        }
        moved.pop();
        (VecDeque::from([packed]), moved)
    }

    fn file(&mut self, path: &str, bytes: &[u8]) -> Vec<u8> {
        // Functions of the kernel and of the daemon: words, of which a container may be called like one.
        if ["/wchan", "/stack", "docker/stacks.txt"]
            .iter()
            .any(|end| path.ends_with(end))
        {
            return bytes.to_vec();
        }
        let text = String::from_utf8_lossy(bytes);
        match path {
            "kubelet/metrics" => text
                .split_inclusive('\n')
                .map(|line| self.sample(line))
                .collect(),
            _ => self.text(&text),
        }
        .into_bytes()
    }

    /// Replaces in a line of metrics: in its labels' values, but for those that are the kubelet's own words.
    fn sample(&mut self, line: &str) -> String {
        if line.starts_with('#') {
            return self.text(line);
        }
        let (mut out, mut copied) = (String::new(), 0);
        let pattern = self.label.clone();
        for found in pattern.captures_iter(line) {
            let (Some(name), Some(value)) = (found.get(1), found.get(2)) else {
                continue;
            };
            if !OWN_LABELS.contains(&name.as_str()) {
                out.push_str(&line[copied..value.start()]);
                out.push_str(&self.text(value.as_str()));
                copied = value.end();
            }
        }
        out.push_str(&line[copied..]);
        out
    }

    fn text(&mut self, text: &str) -> String {
        let text = match text.contains("://") {
            true => self.without_names(&redact_args::urls(text)),
            false => self.without_names(text),
        };
        let Self {
            v4, v6, addresses, ..
        } = self;
        let text = v4.replace_all(&text, |found: &regex::Captures<'_>| {
            let instead = v4_instead(&found[2], addresses);
            instead.map_or_else(|| found[0].to_owned(), |it| format!("{}{it}", &found[1]))
        });
        let text = v6.replace_all(&text, |found: &regex::Captures<'_>| {
            v6_instead(&found[0], addresses).unwrap_or_else(|| found[0].to_owned())
        });
        text.into_owned()
    }

    fn without_names(&self, text: &str) -> String {
        let (mut out, mut copied, mut at) = (String::with_capacity(text.len()), 0, 0);
        while let Some(found) = self.searcher.find(&text[at..]) {
            let (start, end) = (at + found.start(), at + found.end());
            let name = self.patterns[found.pattern().as_usize()];
            let before = letter_before(&text[..start]);
            let after = text[end..].chars().next();
            match self.names.instead(name, before, after) {
                Some(instead) => {
                    out.push_str(&text[copied..start]);
                    out.push_str(instead);
                    (copied, at) = (end, end);
                }
                None => at = start + text[start..].chars().next().map_or(1, char::len_utf8),
            }
        }
        out.push_str(&text[copied..]);
        out
    }
}

/// Returns the letter that a text ends in; the end of a line where it is written as `\n`.
fn letter_before(text: &str) -> Option<char> {
    let escaped = ["\\n", "\\r", "\\t"];
    match escaped.iter().any(|end| text.ends_with(end)) {
        true => Some('\n'),
        false => text.chars().next_back(),
    }
}

/// Returns what stands for an address: one of the range for benchmarks (RFC 2544). Addresses of this machine stay.
fn v4_instead(text: &str, addresses: &mut BTreeMap<String, String>) -> Option<String> {
    let address: Ipv4Addr = text.parse().ok()?;
    if address.is_loopback() || address.is_unspecified() || address.is_broadcast() {
        return None;
    }
    let number = u16::try_from(addresses.len() + 1).unwrap_or(u16::MAX);
    let [high, low] = number.to_be_bytes();
    let instead = || format!("198.18.{high}.{low}");
    Some(
        addresses
            .entry(text.to_owned())
            .or_insert_with(instead)
            .clone(),
    )
}

/// … and one of the range for documentation (RFC 3849).
fn v6_instead(text: &str, addresses: &mut BTreeMap<String, String>) -> Option<String> {
    let address: Ipv6Addr = text.parse().ok()?;
    if address.is_loopback() || address.is_unspecified() {
        return None;
    }
    let number = addresses.len() + 1;
    let instead = || format!("2001:db8::{number:x}");
    Some(
        addresses
            .entry(text.to_owned())
            .or_insert_with(instead)
            .clone(),
    )
}

#[cfg(test)]
mod tests;
