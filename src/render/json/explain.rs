//! Pages, and what pasted lines say: `plegdoctor.explain/1`.

use crate::explain::page::{Page, Step};
use crate::explain::paste::{Example, Pasted, PastedMessage, UnknownLine};
use crate::explain::{Sort, Topic};
use crate::kubelet::event::Event;
use crate::syntax::json::json_object;

/// The pages asked for, and what was pasted if anything was.
pub struct Explained<'a> {
    /// The pages.
    pub topics: &'a [Topic],
    /// What was pasted.
    pub pasted: Option<&'a Pasted>,
}

json_object! {
    Explained<'_> as it, document "plegdoctor.explain/1",
    "`plegdoctor explain --format json`: pages of findings and messages, and what pasted lines say" {
        /// The pages asked for: both where a finding and a message share an id, all without an id, those of the pasted
        /// messages with -
        topics: Vec<TopicPage<'_>> = it.topics.iter().map(|topic| TopicPage(topic, topic.page())).collect(),
        /// What the lines on standard input say; null unless they were to be explained
        pasted: Option<&Pasted> = it.pasted,
    }
}

struct TopicPage<'a>(&'a Topic, Page);

json_object! {
    TopicPage<'_> as it {
        kind: Sort = it.0.sort,
        id: &str = it.0.id => {"pattern": "^[a-z]+(-[a-z]+)*$"},
        title: &str = it.0.title => {"minLength": 1},
        /// How a message is logged: unstructured text, in which <err>, <pod> and so on stand for what varies, then
        /// structured text in its quotes; empty for findings, and for what is known by its form alone
        texts: Vec<String> = it.0.texts() => {"items": {"type": "string", "minLength": 1}},
        /// What it says; paragraphs are separated by an empty line, code is between backticks, here and below
        means: &str = &it.1.means => {"minLength": 1},
        /// Its effect on the relist, or why it has none
        matters: &str = &it.1.matters => {"minLength": 1},
        /// How to confirm it, the most telling command first; these commands change nothing
        confirm: Vec<Check<'_>> = it.1.confirm.iter().map(Check).collect(),
        /// Remedies, mildest first
        remedies: Vec<Remedy<'_>> = it.1.remedies.iter().map(Remedy).collect(),
        /// Affected versions
        versions: &str = &it.1.versions => {"minLength": 1},
        /// What is unproven, and what it is easily mistaken for
        unproved: Option<&str> = some(&it.1.unproven),
        /// What to read next
        see: &[&str] = &it.1.see => {"items": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"}},
        /// PROJECT#NUMBER an issue or pull request, PROJECT:PATH a file of its source, `run: …` what was seen on such a
        /// node
        sources: &[&str] = &it.1.sources => {"minItems": 1, "items": {"type": "string", "minLength": 1}},
    }
}

struct Check<'a>(&'a Step);

json_object! {
    Check<'_> as it {
        what: &str = &it.0.what => {"minLength": 1},
        /// Words in capitals (ID, PID, NODE) are placeholders
        command: &str = &it.0.command => {"minLength": 1},
    }
}

struct Remedy<'a>(&'a Step);

json_object! {
    Remedy<'_> as it {
        what: &str = &it.0.what => {"minLength": 1},
        /// null for a change of a setting or a machine
        command: Option<&str> = some(&it.0.command),
        cost: &str = &it.0.cost => {"minLength": 1},
    }
}

json_object! {
    Pasted as it {
        /// Lines that are not blank
        lines: u64 => {"minimum": 1},
        /// Those that are no known message, nor go on with one
        unknown: u64,
        /// The messages, each once, in the order in which they came
        messages: Vec<PastedMessage>,
        /// The first of the lines that are no known message; those that hold known words before the others
        others: Vec<UnknownLine> => {"maxItems": 5},
    }
}

json_object! {
    PastedMessage as it {
        id: &str = it.kind.id() => {"pattern": "^[a-z]+(-[a-z]+)*$"},
        /// How often it was pasted
        count: u64 => {"minimum": 1},
        /// The first of them
        examples: Vec<Example> => {"minItems": 1, "maxItems": 3},
    }
}

json_object! {
    Example as it {
        /// As a line of `plegdoctor events`
        event: Event,
        /// What the line contains, a sentence each
        told: &[String] = &it.sentences => {"items": {"type": "string", "minLength": 1}},
    }
}

json_object! {
    UnknownLine as it {
        line: u64 => {"minimum": 1},
        text: String,
        /// What the line contains, a sentence each
        told: &[String] = &it.sentences => {"items": {"type": "string", "minLength": 1}},
    }
}

/// A text, unless it is empty.
fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
