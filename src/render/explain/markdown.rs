//! The pages as Markdown, as their files hold them.

use super::sentence;
use crate::explain;
use crate::explain::paste::{Example, Pasted, PastedMessage, UnknownLine};
use crate::explain::{Sort, Topic, notes};
use crate::render::layout::visible;
use std::io::{self, Write};

/// Writes all pages, then the notes on errors.
///
/// # Errors
/// What `out` says.
pub fn document(out: &mut dyn Write) -> io::Result<()> {
    for topic in explain::topics() {
        page(&topic, out)?;
        writeln!(out)?;
    }
    write!(out, "{}", notes::MARKDOWN)
}

/// Writes the pages of these topics.
///
/// # Errors
/// What `out` says.
pub fn pages(topics: &[Topic], out: &mut dyn Write) -> io::Result<()> {
    for (index, topic) in topics.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        page(topic, out)?;
    }
    Ok(())
}

/// Writes what was pasted, as for a terminal.
///
/// # Errors
/// What `out` says.
pub fn pasted(pasted: &Pasted, out: &mut dyn Write) -> io::Result<()> {
    for PastedMessage {
        kind,
        count,
        examples,
    } in &pasted.messages
    {
        let topic = explain::message(*kind);
        writeln!(
            out,
            "# {}\n\n{} Pasted {count} times.\n",
            heading(&topic),
            sentence(topic.title)
        )?;
        for Example { event, sentences } in examples {
            quoted(&event.citation.text, sentences, out)?;
        }
        body(&topic, out)?;
        writeln!(out)?;
    }
    if pasted.unknown > 0 {
        writeln!(
            out,
            "# Not known messages\n\n{} of the lines.\n",
            pasted.unknown
        )?;
        for UnknownLine {
            text, sentences, ..
        } in &pasted.others
        {
            quoted(text, sentences, out)?;
        }
    }
    Ok(())
}

/// Writes a line, and what it holds.
fn quoted(text: &str, sentences: &[String], out: &mut dyn Write) -> io::Result<()> {
    fenced(&visible(text.trim()), "text", out)?;
    writeln!(out)?;
    for sentence in sentences {
        writeln!(out, "- {}", escaped(&visible(sentence)))?;
    }
    match sentences.is_empty() {
        true => Ok(()),
        false => writeln!(out),
    }
}

fn page(topic: &Topic, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {}\n\n{}\n", heading(topic), sentence(topic.title))?;
    let texts = topic.texts();
    if !texts.is_empty() {
        fenced(&texts.join("\n"), "text", out)?;
        writeln!(out)?;
    }
    body(topic, out)
}

/// A finding and a message may share an id: the heading, and so the place that links lead to, tells which.
fn heading(topic: &Topic) -> String {
    match topic.sort {
        Sort::Finding => format!("`{}`", topic.id),
        Sort::Message => format!("Message `{}`", topic.id),
    }
}

/// Writes the page below its title, as it is.
fn body(topic: &Topic, out: &mut dyn Write) -> io::Result<()> {
    let sections = topic.markdown.split_once("\n\n");
    write!(out, "{}", sections.map_or("", |(_, sections)| sections))
}

fn fenced(text: &str, language: &str, out: &mut dyn Write) -> io::Result<()> {
    // A fence is longer than any row of backticks inside.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{fence}{language}\n{text}\n{fence}")
}

/// Text with Markdown characters escaped, except between backticks.
fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for (index, part) in text.split('`').enumerate() {
        if index > 0 {
            plain.push('`');
        }
        for c in part.chars() {
            let is_code = index % 2 == 1;
            if !is_code && matches!(c, '<' | '>' | '*' | '_' | '[' | ']') {
                plain.push('\\');
            }
            // Within a table's cell even code ends at a bar.
            if c == '|' {
                plain.push('\\');
            }
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        assert_eq!(escaped("a <b> `c_<d>` e_f"), "a \\<b\\> `c_<d>` e\\_f");
    }

    #[test]
    fn a_fence_outlasts_what_is_in_it() {
        let mut out = Vec::new();
        fenced("a ``` b", "text", &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "````text\na ``` b\n````\n");
    }
}
