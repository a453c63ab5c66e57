//! The kubelet's answers as files: `index`, `metrics`, and one for each health check.
//!
//! `index` has a line for each answer (`Exchange`): what was asked (`metrics`, `saved_metrics`, `health`,
//! `health_by_metrics`); its own fields are the place, and whether that was `named` or is the `default`. A folder with `metrics` alone is metrics saved at an unknown time.

use super::{Answer, Query};
use crate::io::exchange::Exchange;
use crate::io::probe::{Outcome, Probe};
use anyhow::{Context as _, bail};
use std::time::Duration;

const INDEX: &str = "index";
const METRICS: &str = "metrics";

const WHATS: [(Query, &str, &str); 4] = [
    (Query::Metrics, "metrics", METRICS),
    (Query::SavedMetrics, "saved_metrics", METRICS),
    (Query::Health, "health", "healthz"),
    (
        Query::HealthByMetrics,
        "health_by_metrics",
        "healthz-by-metrics",
    ),
];
/// The files that record these answers, by name; `read` reads them back.
pub fn files(answers: &[Answer]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut index = String::new();
    for answer in answers {
        let found = WHATS.iter().find(|(what, ..)| *what == answer.what);
        let (request, file) = found.map_or(("", ""), |(_, word, file)| (word, file));
        let body = match answer.probe.outcome {
            Outcome::Answered => answer.body.clone(),
            _ => answer.probe.error.clone().unwrap_or_default().into_bytes(),
        };
        let source = answer.source.replace(['\t', '\n', '\r'], " ");
        let exchange = Exchange {
            request,
            outcome: answer.probe.outcome,
            missing: false,
            status: answer.status,
            took: answer.probe.took,
            file: (!body.is_empty()).then_some(file),
            more: vec![&source, if answer.named { "named" } else { "default" }],
        };
        index.push_str(&exchange.to_string());
        if !body.is_empty() {
            files.push((file.to_owned(), body));
        }
    }
    files.push((INDEX.to_owned(), index.into_bytes()));
    files
}

/// Reads answers from the files that `file` returns by name, `None` for those that are not there; `folder` is what
/// they are called together.
///
/// # Errors
/// What is there makes no sense.
pub fn read(folder: &str, file: &dyn Fn(&str) -> Option<Vec<u8>>) -> anyhow::Result<Vec<Answer>> {
    let Some(index) = file(INDEX) else {
        return Ok(file(METRICS)
            .into_iter()
            .map(|body| saved(folder, body))
            .collect());
    };
    let index = String::from_utf8_lossy(&index);
    let lines = index.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            entry(line, file).with_context(|| format!("{folder}/{INDEX}: {line:?} is no answer"))
        })
        .collect()
}

fn saved(folder: &str, body: Vec<u8>) -> Answer {
    Answer {
        what: Query::SavedMetrics,
        source: format!("{folder}/{METRICS}"),
        named: true,
        probe: Probe {
            outcome: Outcome::Answered,
            took: Duration::ZERO,
            error: None,
        },
        status: None,
        body,
    }
}

fn entry(line: &str, file: &dyn Fn(&str) -> Option<Vec<u8>>) -> anyhow::Result<Answer> {
    let exchange = Exchange::parse(line)?;
    let [source, named] = exchange.more[..] else {
        bail!("it has {} fields, not 7", exchange.more.len() + 5)
    };
    let what = WHATS.iter().find(|(_, own, _)| *own == exchange.request);
    let (what, _, own_file) = what.context("what was asked")?;
    let body = match exchange.file {
        None => Vec::new(),
        // No other file's name is taken from an index that somebody else may have written.
        Some(name) if name == *own_file => {
            file(name).with_context(|| format!("there is no {name}"))?
        }
        Some(_) => bail!("its file is not named {own_file}"),
    };
    let answered = exchange.outcome == Outcome::Answered;
    let words = String::from_utf8_lossy(&body).into_owned();
    Ok(Answer {
        what: *what,
        source: source.to_owned(),
        named: named == "named",
        probe: Probe {
            outcome: exchange.outcome,
            took: exchange.took,
            error: (!answered && !words.is_empty()).then_some(words),
        },
        status: exchange.status,
        body: if answered { body } else { Vec::new() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn answer(what: Query, outcome: Outcome) -> Answer {
        let answered = outcome == Outcome::Answered;
        Answer {
            what,
            source: "http://127.0.0.1:1/x".to_owned(),
            named: answered,
            probe: Probe {
                outcome,
                took: Duration::from_nanos(12_345_678),
                error: (!answered).then(|| "why\nnot".to_owned()),
            },
            status: answered.then_some(500),
            body: if answered {
                b"a\xff\n".to_vec()
            } else {
                Vec::new()
            },
        }
    }

    fn back(files: Vec<(String, Vec<u8>)>) -> anyhow::Result<Vec<Answer>> {
        let files: BTreeMap<_, _> = files.into_iter().collect();
        read("kubelet", &|name| files.get(name).cloned())
    }

    #[test]
    fn what_is_kept_is_read_back_as_it_was() {
        for outcome in Outcome::ALL {
            let answers: Vec<_> = [Query::Metrics, Query::Health, Query::HealthByMetrics]
                .map(|what| answer(what, outcome))
                .into();
            assert_eq!(back(files(&answers)).unwrap(), answers);
        }
        let silent = Answer {
            probe: Probe {
                error: None,
                ..answer(Query::Health, Outcome::TimedOut).probe
            },
            ..answer(Query::Health, Outcome::TimedOut)
        };
        let answers = vec![silent, answer(Query::SavedMetrics, Outcome::Answered)];
        assert_eq!(back(files(&answers)).unwrap(), answers);
        assert_eq!(back(Vec::new()).unwrap(), []);
    }

    #[test]
    fn metrics_alone_are_saved_ones() {
        let read = back(vec![(METRICS.to_owned(), b"x 1".to_vec())]).unwrap();
        assert_eq!(read[0].what, Query::SavedMetrics);
        assert_eq!(read[0].source, "kubelet/metrics");
    }

    #[test]
    fn a_hostile_index_is_an_error_and_opens_no_other_file() {
        for line in [
            "metrics",
            "metrics\tanswered\t200\t1\t../../etc/shadow\tx\tnamed",
            "metrics\tanswered\t200\t1\thealthz\tx\tnamed",
            "metrics\tanswered\t200\t-1\t-\tx\tnamed",
            "metrics\tanswered\t200\tNaN\t-\tx\tnamed",
            "metrics\tanswered\t99999\t1\t-\tx\tnamed",
            "metrics\twell\t200\t1\t-\tx\tnamed",
            "shadow\tanswered\t200\t1\t-\tx\tnamed",
        ] {
            let error = back(vec![(INDEX.to_owned(), line.as_bytes().to_vec())]).unwrap_err();
            assert!(format!("{error:#}").contains("is no answer"), "{line}");
        }
    }
}
