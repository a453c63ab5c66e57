//! The kubelet's health check (`/healthz`): whether it is well, and which of its parts is not.
//!
//! The PLEG is no part of it. On the ports of its API (10250, 10255) it has `syncloop`, which fails where the sync
//! loop has not come round for 5 minutes, as it does while the PLEG or the runtime is unhealthy; on 10248 older
//! releases have nothing but `ping`.

use super::{Answer, with_status};
use crate::io::probe::{Outcome, Probe};

/// Most checks that are kept; a kubelet has three or four.
const MAX_CHECKS: usize = 64;
const MAX_MESSAGE: usize = 400;

/// What one health check said, or did not.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    pub source: String,
    /// How the call ended. Answered means well or not well; see `well`.
    pub probe: Probe,
    /// Whether it says that the kubelet is well; `None` where it says nothing.
    pub well: Option<bool>,
    /// Its parts, where it lists them.
    pub checks: Vec<Check>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// `ping`, `log`, `syncloop`.
    pub name: String,
    pub ok: bool,
}

impl Health {
    /// Reads an answer to `/healthz?verbose`. The status 500 is an answer: not well.
    pub(super) fn read(answer: Answer) -> Self {
        let checks = checks(&answer.body);
        let asked = answer.probe.outcome == Outcome::Answered;
        let well = match answer.status {
            Some(200) if asked => Some(true),
            Some(500) if asked => Some(false),
            _ => None,
        };
        let probe = match well {
            Some(true) => answer.probe,
            Some(false) => Probe {
                error: Some(message(&answer.body)).filter(|text| !text.is_empty()),
                ..answer.probe
            },
            None => with_status(answer.probe, answer.status, &answer.body),
        };
        Self {
            source: answer.source,
            probe,
            well,
            checks: if well.is_some() { checks } else { Vec::new() },
        }
    }

    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| !check.ok)
    }
}

/// Reads `[+]ping ok` and `[-]syncloop failed: reason withheld` (k8s.io/apiserver/pkg/server/healthz).
fn checks(body: &[u8]) -> Vec<Check> {
    let text = String::from_utf8_lossy(&body[..body.len().min(64 << 10)]);
    let check = |line: &str| {
        let (ok, rest) = match line.strip_prefix("[+]") {
            Some(rest) => (true, rest),
            None => (false, line.strip_prefix("[-]")?),
        };
        let name = rest.split([' ', ':']).next()?;
        let sane = !name.is_empty() && name.len() <= 64;
        sane.then(|| Check {
            name: name.to_owned(),
            ok,
        })
    };
    text.lines().filter_map(check).take(MAX_CHECKS).collect()
}

/// The other side's words in one line, cut to a bearable length.
pub(super) fn message(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * MAX_MESSAGE)]).into_owned();
    let lines: Vec<_> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let line = lines.join("; ");
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet::Query;
    use std::time::Duration;

    fn read(status: u16, body: &str) -> Health {
        Health::read(Answer {
            what: Query::Health,
            source: "http://127.0.0.1:10248/healthz?verbose".to_owned(),
            named: false,
            probe: Probe {
                outcome: Outcome::Answered,
                took: Duration::from_millis(1),
                error: None,
            },
            status: Some(status),
            body: body.as_bytes().to_vec(),
        })
    }

    #[test]
    fn well_is_well_with_and_without_its_parts() {
        let plain = read(200, "ok");
        assert_eq!((plain.well, plain.checks.len()), (Some(true), 0));
        let verbose = read(
            200,
            "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n",
        );
        assert_eq!((verbose.well, verbose.checks.len()), (Some(true), 3));
        assert_eq!(verbose.failed().count(), 0);
    }

    #[test]
    fn the_part_that_failed_is_named() {
        let health = read(
            500,
            "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n",
        );
        assert_eq!(health.well, Some(false));
        assert_eq!(health.probe.outcome, Outcome::Answered);
        let failed: Vec<_> = health.failed().map(|check| &check.name[..]).collect();
        assert_eq!(failed, ["syncloop"]);
        let told = health.probe.error.unwrap();
        assert!(told.contains("[-]syncloop failed"), "{told}");
    }

    #[test]
    fn what_is_no_health_check_says_nothing() {
        for (status, outcome) in [
            (401, Outcome::Denied),
            (403, Outcome::Denied),
            (302, Outcome::Error),
            (404, Outcome::Error),
        ] {
            let health = read(status, "[-]syncloop failed");
            assert_eq!(health.well, None, "{status}");
            assert_eq!(health.probe.outcome, outcome, "{status}");
            assert_eq!(health.checks, [], "{status}");
        }
    }

    #[test]
    fn words_are_one_line_of_bearable_length() {
        assert_eq!(message(b"a\n\n b \n"), "a; b");
        assert!(message("ä".repeat(10_000).as_bytes()).chars().count() <= MAX_MESSAGE + 1);
        assert_eq!(message(b"\xff"), "\u{fffd}");
    }
}
