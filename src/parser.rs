//! STUB: enough of a parser to compile and test the reading of logs against.

use crate::{
    event::{Event, Kind, Severity, Time},
    finding::Citation,
};
use chrono::{DateTime, Datelike as _, FixedOffset, NaiveDateTime, TimeZone as _};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
pub struct Hints {
    pub now: Time,
    pub utc_offset: Option<FixedOffset>,
}

#[derive(Clone, Debug, Default)]
pub struct Told {
    pub lines: u64,
    pub kubelet_lines: u64,
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub hosts: BTreeSet<String>,
    pub losses: Vec<String>,
    pub guessed_times: bool,
    pub cut: u64,
}

pub struct Parser {
    source: String,
    hints: Hints,
    told: Told,
}

impl Parser {
    pub fn new(source: &str, hints: Hints) -> Self {
        Self {
            source: source.to_owned(),
            hints,
            told: Told::default(),
        }
    }

    pub fn line(&mut self, raw: &[u8], out: &mut Vec<Event>) {
        self.told.lines += 1;
        let text = String::from_utf8_lossy(raw).into_owned();
        if text.contains("Suppressed") {
            self.told.losses.push(text);
            return;
        }
        let mut body = text.as_str();
        let mut received = None;
        if let Some((stamp, rest)) = text.split_once(' ') {
            received = DateTime::parse_from_rfc3339(stamp).ok().or_else(|| {
                let (seconds, micros) = stamp.split_once('.')?;
                DateTime::from_timestamp(
                    seconds.parse().ok()?,
                    micros.parse::<u32>().ok()?.checked_mul(1000)?,
                )
                .map(|time| time.fixed_offset())
            });
            if received.is_some() {
                body = rest;
                if let Some((head, message)) = rest.split_once("]: ") {
                    let mut words = head.split(' ');
                    let host = words.next().unwrap_or("");
                    if !words.next().is_some_and(|ident| {
                        ident.starts_with("kubelet") || ident.starts_with("k3s")
                    }) {
                        return;
                    }
                    self.told.hosts.insert(host.to_owned());
                    body = message;
                }
            }
        }
        let Some(at) = klog(body, self.hints) else {
            return;
        };
        self.told.kubelet_lines += 1;
        let at = received.unwrap_or(at);
        self.told.first.get_or_insert(at);
        self.told.last = Some(at);
        if !body.contains("PLEG is not healthy") {
            return;
        }
        out.push(Event {
            kind: Kind::PlegStale,
            at: Some(at),
            exact: false,
            received,
            severity: Severity::Error,
            pod: None,
            uid: None,
            sandbox: None,
            container: None,
            lag: None,
            threshold: None,
            error: None,
            node: None,
            detail: None,
            carrier: None,
            citation: Citation {
                source: self.source.clone(),
                line: Some(self.told.lines),
                time: Some(at),
                text: body.to_owned(),
            },
        });
    }

    pub fn finish(&mut self, _out: &mut Vec<Event>) {}

    pub fn told(&self) -> &Told {
        &self.told
    }
}

fn klog(body: &str, hints: Hints) -> Option<Time> {
    let stamp = body.get(1..21)?;
    if !body.starts_with(['I', 'W', 'E', 'F']) || !body.contains("] ") {
        return None;
    }
    let zone = hints.utc_offset.unwrap_or(*hints.now.offset());
    let naive = NaiveDateTime::parse_from_str(
        &format!("{}{stamp}", hints.now.year()),
        "%Y%m%d %H:%M:%S%.f",
    )
    .ok()?;
    zone.from_local_datetime(&naive).single()
}
