//! What `explain` says, for scripts: `plegdoctor.explain/1`.

use super::event::EventV1;
use crate::explain::{
    Sort, Topic,
    page::{Page, Step},
    paste::{Pasted, PastedMessage, UnknownLine},
};
use serde::Serialize;
use std::io::{self, Write};

/// Writes topics, and what was pasted if anything was, as one JSON object and a newline.
///
/// # Errors
/// What `out` says.
pub fn write(topics: &[Topic], pasted: Option<&Pasted>, out: &mut dyn Write) -> io::Result<()> {
    let explained = ExplainV1 {
        schema: "plegdoctor.explain/1",
        topics: topics.iter().map(TopicV1::from).collect(),
        pasted: pasted.map(PastedV1::from),
    };
    serde_json::to_writer_pretty(&mut *out, &explained)?;
    writeln!(out)
}

#[derive(Serialize)]
struct ExplainV1<'a> {
    schema: &'static str,
    topics: Vec<TopicV1>,
    pasted: Option<PastedV1<'a>>,
}

#[derive(Serialize)]
struct TopicV1 {
    kind: &'static str,
    id: &'static str,
    title: &'static str,
    texts: Vec<String>,
    means: String,
    matters: String,
    confirm: Vec<LookV1>,
    remedies: Vec<CureV1>,
    versions: String,
    unproved: Option<String>,
    see: Vec<&'static str>,
    sources: Vec<&'static str>,
}

#[derive(Serialize)]
struct LookV1 {
    what: String,
    command: String,
}

#[derive(Serialize)]
struct CureV1 {
    what: String,
    command: Option<String>,
    cost: String,
}

#[derive(Serialize)]
struct PastedV1<'a> {
    lines: u64,
    unknown: u64,
    messages: Vec<MessageV1<'a>>,
    others: Vec<UnknownLineV1<'a>>,
}

#[derive(Serialize)]
struct MessageV1<'a> {
    id: &'static str,
    count: u64,
    examples: Vec<ExampleV1<'a>>,
}

#[derive(Serialize)]
struct ExampleV1<'a> {
    event: EventV1<'a>,
    told: &'a [String],
}

#[derive(Serialize)]
struct UnknownLineV1<'a> {
    line: u64,
    text: &'a str,
    told: &'a [String],
}

/// A text, unless it is empty.
fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

impl From<&Topic> for TopicV1 {
    fn from(topic: &Topic) -> Self {
        let Page {
            means,
            matters,
            confirm,
            remedies,
            versions,
            unproven,
            see,
            sources,
        } = topic.page();
        let check = |Step { what, command, .. }| LookV1 { what, command };
        let remedy = |step: Step| CureV1 {
            what: step.what,
            command: some(step.command),
            cost: step.cost,
        };
        Self {
            kind: match topic.sort {
                Sort::Finding => "finding",
                Sort::Message => "message",
            },
            id: topic.id,
            title: topic.title,
            texts: topic.texts(),
            means,
            matters,
            confirm: confirm.into_iter().map(check).collect(),
            remedies: remedies.into_iter().map(remedy).collect(),
            versions,
            unproved: some(unproven),
            see,
            sources,
        }
    }
}

impl<'a> From<&'a Pasted> for PastedV1<'a> {
    fn from(pasted: &'a Pasted) -> Self {
        Self {
            lines: pasted.lines,
            unknown: pasted.unknown,
            messages: pasted.messages.iter().map(MessageV1::from).collect(),
            others: pasted.others.iter().map(UnknownLineV1::from).collect(),
        }
    }
}

impl<'a> From<&'a PastedMessage> for MessageV1<'a> {
    fn from(message: &'a PastedMessage) -> Self {
        let examples = message.examples.iter().map(|example| ExampleV1 {
            event: EventV1::from(&example.event),
            told: &example.sentences,
        });
        Self {
            id: message.kind.id(),
            count: message.count,
            examples: examples.collect(),
        }
    }
}

impl<'a> From<&'a UnknownLine> for UnknownLineV1<'a> {
    fn from(other: &'a UnknownLine) -> Self {
        Self {
            line: other.line,
            text: &other.text,
            told: &other.sentences,
        }
    }
}
