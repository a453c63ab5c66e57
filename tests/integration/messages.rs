//! The log's reading from outside: lines in, events out.
//!
//! Lines and expectations are written by hand after the kubelet's sources and published logs, not after the
//! program's own table.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail the test they help"
)]

mod catalogue; // every known message in each version's form
mod envelopes; // what stands around a message
mod odd; // inputs seen in the field that fit no grammar
mod robust; // mutated lines must never panic
mod seen; // texts as people posted them
mod times; // years, zones, delays

use chrono::{DateTime, FixedOffset};
use plegdoctor::{
    kubelet::{
        event::Event,
        parser::{Hints, Parser, SourceInfo},
    },
    syntax::time::Time,
};

/// A klog header, as every unstructured and structured line has one.
const KLOG: &str = "E0314 09:26:53.589793    2261 kubelet.go:1765] ";
const SID: &str = "b15929dfcea1f936928eac739da685548d915c17d410c4b045b69597cf60d8d0";
const CID: &str = "16f838fe6438f936928eac739da685548d915c17d410c4b045b69597cf60d8d0";
const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";
const DEADLINE: &str = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";

/// Writes the ids and the usual error for their short names.
fn spelled(text: &str) -> String {
    text.replace("SID", SID)
        .replace("CID", CID)
        .replace("<UID>", UID)
        .replace("DEADLINE", DEADLINE)
}

fn time(text: &str) -> Time {
    DateTime::parse_from_rfc3339(text).unwrap()
}

/// Reads `log`, at noon UTC of 15 March 2023.
fn read(log: impl AsRef<[u8]>) -> (Vec<Event>, SourceInfo) {
    read_at(log, "2023-03-15T12:00:00Z", None)
}

fn hints() -> Hints {
    Hints {
        now: time("2023-03-15T12:00:00Z"),
        utc_offset: None,
    }
}

fn read_at(log: impl AsRef<[u8]>, now: &str, offset: Option<i32>) -> (Vec<Event>, SourceInfo) {
    let hints = Hints {
        now: time(now),
        utc_offset: offset.map(|seconds| FixedOffset::east_opt(seconds).unwrap()),
    };
    let mut parser = Parser::new("kubelet.log", hints);
    let mut events = Vec::new();
    for line in log.as_ref().split(|&b| b == b'\n') {
        parser.line(line, &mut events);
    }
    parser.finish(&mut events);
    (events, parser.source_info().clone())
}

/// Writes what an event says, without when and where; only what is there.
fn shown(event: &Event) -> String {
    let mut words = vec![event.kind.id().to_owned()];
    words.extend(event.pod.as_ref().map(ToString::to_string));
    words.extend(event.uid.as_ref().map(|uid| {
        let known = uid.as_str() == UID;
        if known {
            "uid".to_owned()
        } else {
            uid.to_string()
        }
    }));
    words.extend(event.sandbox.as_ref().map(|id| format!("s:{}", id.short())));
    words.extend(
        event
            .container
            .as_ref()
            .map(|id| format!("c:{}", id.short())),
    );
    words.extend(
        event
            .lag
            .map(|lag| format!("lag:{}ms", lag.num_milliseconds())),
    );
    words.extend(
        event
            .threshold
            .map(|limit| format!("limit:{}s", limit.num_seconds())),
    );
    words.extend(event.node.as_ref().map(|node| format!("node:{node}")));
    words.extend(event.detail.as_ref().map(|detail| format!("'{detail}'")));
    words.extend(
        event
            .error
            .as_ref()
            .map(|error| format!("{:?}", error.class)),
    );
    words.extend(event.carrier.map(|carrier| format!("in:{}", carrier.id())));
    words.join(" ")
}

fn shown_all(events: &[Event]) -> String {
    let all: Vec<String> = events.iter().map(shown).collect();
    all.join("; ")
}
