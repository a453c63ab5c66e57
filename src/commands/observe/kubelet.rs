//! Asks the kubelet beside the log, Docker and the host, or sees again what it answered.

use super::{begin, end};
use crate::{
    capture::{Capture, Keep},
    cli::LookArgs,
    evidence::Evidence,
    io::{gap::Gap, probe::Outcome},
    kubelet::{
        Answer, Kubelet,
        ask::{self, Ask, Target},
        recording,
    },
    node::DEFAULT_ROOT,
    rules::probe_text,
};
use anyhow::Context as _;
use std::{
    path::Path,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The part's name in a capture.
const PART: &str = "kubelet";

/// The kubelet's answers, and how long they took.
pub(super) type Asking = JoinHandle<(Vec<Answer>, Duration)>;

/// Returns where the metrics were said to be.
///
/// # Errors
/// That is a URL that can't be asked.
pub(super) fn named(args: &LookArgs) -> anyhow::Result<Option<Target>> {
    let metrics = args.kubelet.kubelet_metrics.as_deref();
    metrics.map(Target::parse).transpose()
}

/// Starts to ask the kubelet: that of this machine where its present state is meant (`present`), and where it was named.
pub(super) fn start(
    args: &LookArgs,
    named: Option<Target>,
    present: bool,
    keep: Option<&Keep>,
    evidence: &mut Evidence,
) -> Option<Asking> {
    // Another root is another machine's: its ports are not here.
    let root = args.host.host_root.as_deref();
    let own = root.is_none_or(|root| root == Path::new(DEFAULT_ROOT));
    let here = present && own && !args.kubelet.no_kubelet;
    let timeout = args.probe_timeout;
    if named.is_none() && !here {
        return None;
    }
    begin(keep, PART);
    let asking = thread::Builder::new().name(PART.to_owned()).spawn(move || {
        let began = Instant::now();
        let answers = ask::ask(&Ask {
            named: named.as_ref(),
            here,
            timeout,
        });
        (answers, began.elapsed())
    });
    asking
        .map_err(|error| {
            evidence
                .gaps
                .push(Gap::new("the kubelet", error.to_string()));
        })
        .ok()
}

/// Takes what the kubelet answered.
pub(super) fn finish(asking: Option<Asking>, keep: Option<&Keep>, evidence: &mut Evidence) {
    let Some(Ok((answers, took))) = asking.map(JoinHandle::join) else {
        return;
    };
    take(answers, took, keep, evidence);
}

/// Takes what a capture's kubelet answered.
///
/// # Errors
/// What is there makes no sense.
pub(super) fn replay(
    capture: &mut Capture,
    keep: Option<&Keep>,
    evidence: &mut Evidence,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let files = capture.take(PART);
    if files.is_empty() {
        return Ok(());
    }
    begin(keep, PART);
    let answers = recording::read(PART, &|name| files.get(name).cloned());
    let answers = answers.context("the capture's answers of the kubelet can't be read")?;
    take(answers, began.elapsed(), keep, evidence);
    Ok(())
}

fn take(answers: Vec<Answer>, took: Duration, keep: Option<&Keep>, evidence: &mut Evidence) {
    if let Some(keep) = keep {
        for (name, bytes) in recording::files(&answers) {
            keep.add(&format!("{PART}/{name}"), &bytes);
        }
    }
    let gaps: Vec<Gap> = answers.iter().filter_map(unanswered).collect();
    end(keep, PART, took, &gaps);
    evidence.kubelet = Some(Kubelet::read(answers, evidence.now));
}

/// Returns what a capture lacks for want of this answer. What it means is for the report to say, which has the rest.
fn unanswered(answer: &Answer) -> Option<Gap> {
    (answer.probe.outcome != Outcome::Answered)
        .then(|| Gap::new(answer.source.clone(), probe_text(&answer.probe)))
}
