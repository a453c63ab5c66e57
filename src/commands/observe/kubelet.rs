//! The kubelet's own answers, live or recorded.

use super::{Observer, Source};
use crate::cli::LookArgs;
use crate::io::gap::Gap;
use crate::io::probe::Outcome;
use crate::kubelet::ask::{Ask, Target};
use crate::kubelet::{Answer, Kubelet, ask, recording};
use crate::node::DEFAULT_ROOT;
use crate::rules::probe_text;
use anyhow::Context as _;
use std::path::Path;
use std::thread;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The part's name in a capture.
const PART: &str = "kubelet";

/// The kubelet's answers, and how long they took.
pub(super) type Asking = JoinHandle<(Vec<Answer>, Duration)>;

/// Where the metrics were said to be.
///
/// # Errors
/// That is a URL that can't be asked.
pub(super) fn named(args: &LookArgs) -> anyhow::Result<Option<Target>> {
    let metrics = args.kubelet.kubelet_metrics.as_deref();
    metrics.map(Target::parse).transpose()
}

impl Observer<'_> {
    /// Starts to ask the kubelet: that of this machine where its current state is meant (`present`), and where it was
    /// named.
    pub(super) fn start_kubelet(&mut self, present: bool) -> Option<Asking> {
        let Source::Node { metrics, .. } = &mut self.source else {
            return None;
        };
        let named = metrics.take();
        // Another root is another machine's: its ports are not here.
        let root = self.args.host.host_root.as_deref();
        let own = root.is_none_or(|root| root == Path::new(DEFAULT_ROOT));
        let here = present && own && !self.args.kubelet.no_kubelet;
        let timeout = self.args.probe_timeout;
        if named.is_none() && !here {
            return None;
        }
        self.begin(PART);
        let asking = thread::Builder::new().name(PART.to_owned()).spawn(move || {
            let began = Instant::now();
            let answers = ask::ask(&Ask {
                named: named.as_ref(),
                here,
                timeout,
            });
            (answers, began.elapsed())
        });
        let gaps = &mut self.evidence.gaps;
        asking
            .map_err(|error| gaps.push(Gap::new("the kubelet", error.to_string())))
            .ok()
    }

    /// Takes what the kubelet answered, or a capture's answers.
    ///
    /// # Errors
    /// The capture's answers make no sense.
    pub(super) fn finish_kubelet(&mut self, asking: Option<Asking>) -> anyhow::Result<()> {
        let answers = match &mut self.source {
            Source::Node { .. } => asking.and_then(|asking| asking.join().ok()),
            Source::Capture { capture, .. } => {
                let began = Instant::now();
                let files = capture.take(PART);
                let answers = recording::read(PART, &|name| files.get(name).cloned());
                let answers =
                    answers.context("the capture's answers of the kubelet can't be read")?;
                (!files.is_empty()).then(|| (answers, began.elapsed()))
            }
        };
        let Some((answers, took)) = answers else {
            return Ok(());
        };
        if let Some(recorder) = self.recorder {
            recorder.add(PART, recording::files(&answers));
        }
        let gaps: Vec<Gap> = answers.iter().filter_map(unanswered).collect();
        self.note_part(PART, took, &gaps);
        self.evidence.kubelet = Some(Kubelet::read(answers, self.evidence.now));
        Ok(())
    }
}

/// What a capture lacks for want of this answer; what it means the report says.
fn unanswered(answer: &Answer) -> Option<Gap> {
    (answer.probe.outcome != Outcome::Answered)
        .then(|| Gap::new(answer.source.clone(), probe_text(&answer.probe)))
}
