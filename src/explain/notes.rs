//! Notes on the words of messages and errors, for pasted lines: `docs/errors.md`.
//!
//! A note says what the words mean, not what is wrong with the node.

use super::page::{self, Block};
use std::sync::LazyLock;

/// The notes, as Markdown: a section for each subject; in it the words of each note, its text, its sources. The first
/// note of a subject that fits is given, so the more exact ones stand before the more general.
pub const MARKDOWN: &str = include_str!("../../docs/errors.md");

/// One note.
#[derive(Debug)]
pub struct Note {
    /// What it is about; a text gets at most one note for each subject.
    pub subject: &'static str,
    /// Words that the text must hold, all of them.
    pub words: Vec<String>,
    /// What the words mean.
    pub means: String,
    /// Sources, cited as in a page.
    pub sources: Vec<String>,
}

/// All notes, in the order of the file.
pub static NOTES: LazyLock<Vec<Note>> = LazyLock::new(|| {
    let sections = MARKDOWN.split("\n## ").skip(1);
    let sections = sections.filter_map(|section| section.split_once('\n'));
    sections
        .flat_map(|(subject, text)| read(subject, text))
        .collect()
});

const MAX_NOTES: usize = 3;

/// The notes on a text, at most three.
pub fn notes(text: &str) -> Vec<&'static Note> {
    let mut found: Vec<&'static Note> = Vec::new();
    for note in NOTES.iter() {
        let fits = note.words.iter().all(|words| text.contains(words));
        if fits && found.iter().all(|other| other.subject != note.subject) {
            found.push(note);
        }
    }
    found.truncate(MAX_NOTES);
    found
}

fn read(subject: &'static str, section: &str) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for block in page::blocks(section) {
        let Block::Text(text) = block else { continue };
        if let Some(words) = text.strip_prefix("- ") {
            notes.push(Note {
                subject,
                words: words
                    .split('`')
                    .skip(1)
                    .step_by(2)
                    .map(str::to_owned)
                    .collect(),
                means: String::new(),
                sources: Vec::new(),
            });
        } else if let Some(note) = notes.last_mut() {
            match text.strip_prefix("Sources: ") {
                Some(sources) => {
                    let sources = sources.split(", ").map(page::unlinked);
                    note.sources = sources.map(str::to_owned).collect();
                }
                None => note.means = text,
            }
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects(text: &str) -> Vec<&'static str> {
        notes(text).iter().map(|note| note.subject).collect()
    }

    #[test]
    fn the_exact_note_comes_before_the_general_one() {
        let first = |text: &str| notes(text)[0].means.as_str();
        let own = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
        let docker =
            "rpc error: code = Unknown desc = operation timeout: context deadline exceeded";
        let behind = "rpc error: code = Unknown desc = failed to stop: context deadline exceeded";
        assert!(
            first(own).starts_with("DeadlineExceeded: the call hit the kubelet's limit, 2 minutes")
        );
        assert!(first(docker).starts_with("Docker itself"));
        assert!(first(behind).starts_with("The runtime answered"));
        for text in [own, docker, behind] {
            assert_eq!(subjects(text), ["deadline"]);
        }
    }

    #[test]
    fn words_of_several_subjects_get_a_note_each() {
        let text = "failed to reserve sandbox name \"n\": name \"n\" is reserved for \"b1\"; context deadline exceeded";
        assert_eq!(subjects(text), ["deadline", "reserved"]);
        assert_eq!(subjects("all is well"), Vec::<&str>::new());
    }

    #[test]
    fn each_note_can_be_reached() {
        for note in NOTES.iter() {
            let text = note.words.join(" … ");
            let found = notes(&text);
            assert!(
                found.iter().any(|other| other.means == note.means),
                "{text}"
            );
        }
    }
}
