//! Pasted lines, in any framing: which messages they are, and which lines are none.
//!
//! What `kubectl`, an event or a chat shows is often a reason alone (`PLEG is not healthy: …`): such a line is read as
//! the list of reasons that the kubelet logs. However long the paste, little of it is kept.

use super::{describe, notes::notes};
use crate::kubelet::event::{Event, Kind};
use crate::kubelet::parser::{Hints, Parser};
use std::sync::Arc;

const EXAMPLES: usize = 3;
const OTHERS: usize = 5;
/// Lines that are looked at twice, should no message come of them.
const DOUBTED: usize = 2000;
/// Longest part of a line that is kept, in bytes.
const LONGEST: usize = 4096;
/// How the kubelet logs a list of reasons.
const CARRIER: &str = "skipping pod synchronization - ";

/// What a paste came to.
#[derive(Debug, Default)]
pub struct Pasted {
    /// Lines that are not blank.
    pub lines: u64,
    /// The messages, each once, in the order in which they came.
    pub messages: Vec<PastedMessage>,
    /// Lines that are no known message, and do not go on with one.
    pub unknown: u64,
    /// The first of them; of those that could be kept, what holds known words before what does not.
    pub others: Vec<UnknownLine>,
}

/// A message that was pasted, perhaps often.
#[derive(Debug)]
pub struct PastedMessage {
    /// Which message.
    pub kind: Kind,
    /// How many lines say it.
    pub count: u64,
    /// The first of them.
    pub examples: Vec<Example>,
}

/// One line of a message.
#[derive(Debug)]
pub struct Example {
    /// The line, as read.
    pub event: Event,
    /// What it holds, a sentence each.
    pub sentences: Vec<String>,
}

/// A line that is no known message.
#[derive(Debug)]
pub struct UnknownLine {
    /// Its number, from 1.
    pub line: u64,
    /// What it says, cut to a bearable length.
    pub text: String,
    /// What words in it mean.
    pub sentences: Vec<String>,
}

/// Takes in a paste, line by line.
#[derive(Debug)]
pub struct Paste {
    parser: Parser,
    hints: Hints,
    number: u64,
    last: u64,
    known: u64,
    /// The first lines, each with whether a message begins in it.
    first: Vec<(UnknownLine, bool)>,
    pasted: Pasted,
    events: Vec<Event>,
}

impl Paste {
    /// An empty paste; `hints` date lines without a year or zone.
    pub fn new(hints: Hints) -> Self {
        let mut parser = Parser::new("pasted", hints);
        parser.keep_context();
        Self {
            parser,
            hints,
            number: 0,
            last: 0,
            known: 0,
            first: Vec::new(),
            pasted: Pasted::default(),
            events: Vec::new(),
        }
    }

    /// Takes in one line, without its newline.
    pub fn line(&mut self, raw: &[u8]) {
        self.number += 1;
        let blank = raw.trim_ascii().is_empty();
        self.pasted.lines += u64::from(!blank);
        if !blank && self.first.len() < DOUBTED {
            let text = String::from_utf8_lossy(&raw[..raw.len().min(LONGEST)]);
            let other = UnknownLine {
                line: self.number,
                text: text.into_owned(),
                sentences: Vec::new(),
            };
            self.first.push((other, false));
        }
        self.parser.line(raw, &mut self.events);
        self.take();
    }

    /// Ends it.
    pub fn finish(mut self) -> Pasted {
        self.parser.finish(&mut self.events);
        self.take();
        let mut goes_on = false;
        for (other, is_known) in std::mem::take(&mut self.first) {
            goes_on = is_known || (goes_on && is_indented(&other.text));
            if !goes_on && !self.is_reason(&other) {
                self.keep(other);
            } else if !is_known {
                self.known += 1;
            }
        }
        self.pasted.unknown = self.pasted.lines.saturating_sub(self.known);
        // What holds known words says more than what does not; the sort keeps the order of the lines else.
        self.pasted
            .others
            .sort_by_key(|other| other.sentences.is_empty());
        self.pasted.others.truncate(OTHERS);
        self.pasted
    }

    /// Takes in the events that are ready; they come in the order of their lines.
    fn take(&mut self) {
        for event in std::mem::take(&mut self.events) {
            let line = event.citation.line.unwrap_or(0);
            if line != self.last {
                self.last = line;
                self.known += 1;
                let at = self
                    .first
                    .binary_search_by_key(&line, |(other, _)| other.line);
                if let Ok(at) = at {
                    self.first[at].1 = true;
                }
            }
            self.hear(event);
        }
    }

    fn hear(&mut self, event: Event) {
        let messages = &mut self.pasted.messages;
        let at = messages
            .iter()
            .position(|message| message.kind == event.kind);
        let at = at.unwrap_or_else(|| {
            messages.push(PastedMessage {
                kind: event.kind,
                count: 0,
                examples: Vec::new(),
            });
            messages.len() - 1
        });
        let message = &mut messages[at];
        message.count += 1;
        if message.examples.len() < EXAMPLES {
            let sentences = describe(&event);
            message.examples.push(Example { event, sentences });
        }
    }

    /// Reads a line that is no message as reasons alone; returns whether it is that.
    fn is_reason(&mut self, other: &UnknownLine) -> bool {
        let text = other.text.trim();
        let mut parser = Parser::new("pasted", self.hints);
        let mut events = Vec::new();
        parser.line(format!("{CARRIER}{text}").as_bytes(), &mut events);
        parser.finish(&mut events);
        let mut is_reason = false;
        for mut event in events {
            if event.carrier == Some(Kind::SkipSync) {
                is_reason = true;
                Arc::make_mut(&mut event.fields).carrier = None;
                event.citation.line = Some(other.line);
                event.citation.text = text.into();
                self.hear(event);
            }
        }
        is_reason
    }

    fn keep(&mut self, mut other: UnknownLine) {
        other.sentences = notes(&other.text)
            .iter()
            .map(|note| note.means.clone())
            .collect();
        self.pasted.others.push(other);
    }
}

/// Whether a line looks like the next line of the message before: of an error of several lines, of an entry.
fn is_indented(text: &str) -> bool {
    text.starts_with([' ', '\t', '}'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::time::rfc3339;

    const STALE: &str =
        "PLEG is not healthy: pleg was last seen active 3m57.2s ago; threshold is 3m0s";
    const STATUS: &str = "E1130 05:36:27.123456    2261 kuberuntime_manager.go:937] PodSandboxStatus of sandbox \
        \"fffba3fcf5d5fffba3fcf5d5fffba3fcf5d5fffba3fcf5d5fffba3fcf5d5fffb\" for pod \"web-2_default(9b0e4a32-7fe5-45b4-b69e-1c76355b4249)\" \
        error: rpc error: code = DeadlineExceeded desc = context deadline exceeded";

    fn pasted(text: &str) -> Pasted {
        let Some((crate::syntax::time::Stamp::Exact(now), _)) = rfc3339(b"2026-11-30T06:00:00Z")
        else {
            unreachable!("that is a time");
        };
        let mut paste = Paste::new(Hints {
            now,
            utc_offset: None,
        });
        text.lines().for_each(|line| paste.line(line.as_bytes()));
        paste.finish()
    }

    fn kinds(pasted: &Pasted) -> Vec<Kind> {
        pasted.messages.iter().map(|message| message.kind).collect()
    }

    #[test]
    fn a_line_tells_its_message_and_what_it_holds() {
        let pasted = pasted(STATUS);
        assert_eq!(kinds(&pasted), [Kind::SandboxStatusFailed]);
        assert_eq!((pasted.lines, pasted.unknown), (1, 0));
        let sentences = pasted.messages[0].examples[0].sentences.join(" ");
        assert!(
            sentences.starts_with(
                "It is about sandbox fffba3fcf5d5, pod default/web-2, pod UID 9b0e4a32"
            ),
            "{sentences}"
        );
        assert!(
            sentences.contains("DeadlineExceeded: the call hit the kubelet's limit, 2 minutes"),
            "{sentences}"
        );
    }

    #[test]
    fn a_reason_alone_is_a_message_too() {
        for text in [
            STALE.to_owned(),
            format!("  Message: {STALE}"),
            format!("Warning  x {STALE}."),
        ] {
            let pasted = pasted(&text);
            assert_eq!(kinds(&pasted), [Kind::PlegStale], "{text}");
            assert_eq!(pasted.unknown, 0);
            let sentences = &pasted.messages[0].examples[0].sentences;
            assert_eq!(
                sentences[0],
                "No relist has succeeded for 3m57s; the threshold is 3m."
            );
        }
    }

    #[test]
    fn a_list_of_reasons_gives_each() {
        let line = format!(
            "E1130 05:36:28.000000    2261 kubelet.go:1765] skipping pod synchronization - [container runtime is down, {STALE}]"
        );
        let pasted = pasted(&line);
        assert_eq!(
            kinds(&pasted),
            [Kind::SkipSync, Kind::RuntimeDown, Kind::PlegStale]
        );
        let sentences = pasted.messages[2].examples[0].sentences.join(" ");
        assert!(sentences.contains("began at 05:32:30"), "{sentences}");
        assert!(
            sentences.ends_with("It is one of the reasons in a `skip-sync` line."),
            "{sentences}"
        );
    }

    #[test]
    fn words_and_sizes_are_told_by_their_kind() {
        for (message, expected) in [
            (
                "kubelet_node_status.go:434] Recording NodeNotReady event message for node worker-3",
                "It is about node worker-3. The event's name is NodeNotReady.",
            ),
            (
                "kubelet.go:1] SyncLoop (DELETE, \"api\"): \"web-2_default(9b0e4a32-7fe5-45b4-b69e-1c76355b4249)\"",
                "It is about pod default/web-2, pod UID 9b0e4a32-7fe5-45b4-b69e-1c76355b4249. DELETE: the pods are to be terminated.",
            ),
            (
                "kuberuntime_manager.go:1] Container runtime docker initialized, version: 20.10.24, apiVersion: 1.41.0",
                "The runtime is docker.",
            ),
            (
                "kubelet.go:1] \"Housekeeping took longer than 15s\" err=\"housekeeping took too long\" seconds=17.5",
                "It took 17.5 s.",
            ),
        ] {
            let line = format!("E1130 05:36:28.000000    2261 {message}");
            let sentences = pasted(&line).messages[0].examples[0].sentences.join(" ");
            assert_eq!(sentences, expected);
        }
        let line = "E1130 05:36:28.000000    2261 generic.go:1] GenericPLEG: Unable to retrieve pods: rpc error: \
            code = ResourceExhausted desc = grpc: trying to send message larger than max (20086028 vs. 16777216)";
        let sentences = &pasted(line).messages[0].examples[0].sentences;
        assert_eq!(
            sentences[0],
            "The answer had 20086028 bytes, 1.2 times the limit of 16777216."
        );
    }

    #[test]
    fn never_is_said_of_the_largest_duration() {
        let text = "PLEG is not healthy: pleg was last seen active 2562047h47m16.854775807s ago; threshold is 3m0s";
        let pasted = pasted(text);
        assert_eq!(kinds(&pasted), [Kind::PlegNever]);
        let sentences = pasted.messages[0].examples[0].sentences.join(" ");
        assert!(sentences.contains("Here it means never"), "{sentences}");
    }

    #[test]
    fn what_is_no_message_is_counted_and_its_known_words_are_told() {
        let text = format!(
            "the node is sick\n\n{STATUS}\nerror: write tcp 10.0.0.1:1: use of closed network connection\n"
        );
        let pasted = pasted(&text);
        assert_eq!(kinds(&pasted), [Kind::SandboxStatusFailed]);
        assert_eq!((pasted.lines, pasted.unknown), (3, 2));
        let others: Vec<_> = pasted
            .others
            .iter()
            .map(|other| (other.line, other.sentences.len()))
            .collect();
        assert_eq!(others, [(4, 1), (1, 0)]);
    }

    #[test]
    fn a_message_of_several_lines_is_one() {
        let text = "E0314 09:26:53.589793    2261 remote_runtime.go:633] \"ExecSync cmd from runtime service failed\" err=<\n\
            \trpc error: code = Unknown desc = failed to exec in container:\n\
            \tsecond line\n \
            > containerID=\"3f1c3f1c3f1c\" cmd=[\"/bin/true\"]\n";
        let pasted = pasted(text);
        assert_eq!(kinds(&pasted), [Kind::ExecSyncFailed]);
        assert_eq!((pasted.lines, pasted.unknown), (4, 0));
    }

    #[test]
    fn of_many_lines_few_are_kept() {
        let text = format!("{STATUS}\n").repeat(5000) + &"nothing known\n".repeat(5000);
        let pasted = pasted(&text);
        assert_eq!((pasted.lines, pasted.unknown), (10_000, 5000));
        assert_eq!(pasted.messages[0].count, 5000);
        assert_eq!(pasted.messages[0].examples.len(), EXAMPLES);
        assert!(pasted.others.is_empty());
    }
}
