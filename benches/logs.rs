//! Makes logs of any size, the same each time, from the fixtures' real lines: for `benches/run.sh`.
//!
//! `cargo bench --bench logs -- KIND MEGABYTES > FILE`. Times rise by 5 ms a line up to the same last moment, so that
//! a window of time means something.
//!
//! | kind | what |
//! |---|---|
//! | `mild` | one line in 500 is of interest, the rest is what a healthy kubelet says |
//! | `share-N` | one line in N is of interest |
//! | `flood` | every line is: a kubelet that can neither list nor collect its containers |
//! | `fresh` | every line is, and no two are alike: another container each |
//! | `json` | as `mild`, in klog's JSON |
//! | `structured` | as `mild`, what is of interest in the words of 1.28 |
//! | `journal` | as `mild`, behind `journalctl -o short-iso` |
//! | `long` | lines of 300 kB, every tenth of interest |

#![expect(
    clippy::unwrap_used,
    reason = "a generator stops at the first thing that is wrong"
)]

use chrono::{DateTime, TimeDelta, Utc};
use std::io::{self, BufWriter, Write};

/// The reader of cases.
#[path = "../tests/integration/support/case.rs"]
#[expect(dead_code, reason = "others take all cases at once")]
mod case;

/// What is of interest: a line that holds one of these.
const PHRASES: &str = include_str!("phrases");
/// The moment of the last line.
const END: &str = "2026-11-30T03:59:59Z";
const STEP: TimeDelta = TimeDelta::milliseconds(5);

/// Lines without their stamps: klog's letter, and what follows the time.
struct Pool(Vec<(char, String)>);

impl Pool {
    fn of(case: &str, wanted: impl Fn(&str) -> bool) -> Self {
        let found = case::case(case);
        let lines = found.text("kubelet.log").lines();
        let parts = lines.filter(|line| wanted(line)).filter_map(|line| {
            let letter = line.chars().next().filter(|c| "IWE".contains(*c))?;
            Some((letter, line.get(21..)?.to_owned()))
        });
        let pool: Vec<_> = parts.collect();
        assert!(pool.len() > 5, "{case}");
        Self(pool)
    }

    fn get(&self, number: u64) -> (char, &str) {
        let at = usize::try_from(number % self.0.len() as u64).unwrap();
        let (letter, rest) = &self.0[at];
        (*letter, rest)
    }
}

fn main() {
    // cargo passes --bench
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|w| w != "--bench")
        .collect();
    let [kind, megabytes] = &words[..] else {
        // `cargo bench` without words runs every bench: there is nothing to make then.
        return;
    };
    let bytes = megabytes.parse::<u64>().unwrap() * 1_000_000;
    let out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    make(kind, bytes, out).unwrap();
}

fn make(kind: &str, bytes: u64, mut out: impl Write) -> io::Result<()> {
    let is_of_interest = |line: &str| PHRASES.lines().any(|phrase| line.contains(phrase));
    let calm = Pool::of("healthy-log", |line| !is_of_interest(line));
    let sick = Pool::of("list-too-large", is_of_interest);
    let every = match kind.strip_prefix("share-") {
        Some(every) => every.parse().unwrap(),
        None => match kind {
            "flood" | "fresh" => 1,
            "long" => 10,
            _ => 500,
        },
    };
    // All sizes end at the same moment: the size decides when a log begins.
    let end: DateTime<Utc> = END.parse().unwrap();
    let begin = end - STEP * i32::try_from(bytes / 115).unwrap_or(i32::MAX);
    let (mut written, mut number) = (0, 0_u64);
    let mut line = Vec::new();
    let padding = "x".repeat(300_000);
    while written < bytes {
        let at = begin + STEP * i32::try_from(number).unwrap_or(i32::MAX);
        let stamp = at.format("%m%d %H:%M:%S%.6f");
        let ((letter, rest), of_interest) = match number % every {
            0 => (sick.get(number / every), true),
            _ => (calm.get(number), false),
        };
        line.clear();
        match kind {
            "json" => {
                let message = rest.split_once("] ").map_or("", |(_, message)| message);
                let millis = at.timestamp_millis();
                write!(line, "{{\"ts\":{millis}.0,\"msg\":{message:?},\"v\":0}}")?;
            }
            "structured" if of_interest => write!(
                line,
                "E{stamp}    2261 remote_runtime.go:277] \"ContainerStatus from runtime service failed\" err=\"rpc error: code = DeadlineExceeded desc = context deadline exceeded\" containerID=\"{:064x}\"",
                number % 7
            )?,
            "fresh" => write!(
                line,
                "E{stamp}    2261 remote_runtime.go:295] ContainerStatus \"{:064x}\" from runtime service failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
                u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
            )?,
            "journal" => write!(
                line,
                "{} worker-3 kubelet[2261]: {letter}{stamp}{rest}",
                at.format("%Y-%m-%dT%H:%M:%S+0000")
            )?,
            "long" => write!(line, "{letter}{stamp}{rest}{padding}")?,
            _ => write!(line, "{letter}{stamp}{rest}")?,
        }
        line.push(b'\n');
        out.write_all(&line)?;
        written += line.len() as u64;
        number += 1;
    }
    out.flush()
}
