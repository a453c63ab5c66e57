//! The same pages as Markdown: one topic, or all of them as one document, `docs/findings.md`.

use super::{sentence, source};
use crate::{
    explain::{
        self, Sort, Topic,
        gloss::GLOSSES,
        paste::{Example, Heard, Other, Pasted},
    },
    render::layout::visible,
    syntax::page::{Cure, Look},
};
use std::io::{self, Write};

const INTRODUCTION: &str = "# Findings and messages explained

What each finding of `plegdoctor diagnose` and each message of the kubelet's log means, why it matters for PLEG, how to
see whether it is so, what helps and what that costs, and what nobody has shown. `plegdoctor explain ID` prints one of
these pages, `plegdoctor explain -` explains lines that are pasted.

Words in capitals (`ID`, `PID`, `NODE`) stand for what you know. The commands under \"How to see whether it is so\" change
nothing. A source such as `moby:daemon/delete.go` is a file of that project; \"run\" is what was seen on a node with those
versions.

<!-- Written by `plegdoctor explain --format markdown`: change the pages in src/rules and src/event/pages instead. -->
";

/// Writes the whole document.
///
/// # Errors
/// What `out` says.
pub fn document(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(INTRODUCTION.as_bytes())?;
    for (sort, head) in [(Sort::Finding, "Findings"), (Sort::Message, "Messages")] {
        let topics = || explain::topics().filter(|topic| topic.sort == sort);
        writeln!(out, "\n## {head}\n\n| id | in short |\n|---|---|")?;
        for topic in topics() {
            writeln!(
                out,
                "| {} | {} |",
                link(&topic),
                escaped(&sentence(topic.title))
            )?;
        }
        for topic in topics() {
            writeln!(out)?;
            page(&topic, 3, out)?;
        }
    }
    glosses(out)
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
        page(topic, 1, out)?;
    }
    Ok(())
}

/// Writes what was pasted, as for a terminal.
///
/// # Errors
/// What `out` says.
pub fn pasted(pasted: &Pasted, out: &mut dyn Write) -> io::Result<()> {
    for Heard {
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
        for Example { event, told } in examples {
            quoted(&event.citation.text, told, out)?;
        }
        body(&topic, 2, out)?;
        writeln!(out)?;
    }
    if pasted.unknown > 0 {
        writeln!(
            out,
            "# No message that plegdoctor knows\n\n{} of the lines.\n",
            pasted.unknown
        )?;
        for Other { text, told, .. } in &pasted.others {
            quoted(text, told, out)?;
        }
    }
    Ok(())
}

/// Writes a line, and what it holds.
fn quoted(text: &str, told: &[String], out: &mut dyn Write) -> io::Result<()> {
    fenced(&visible(text.trim()), "text", out)?;
    writeln!(out)?;
    for sentence in told {
        writeln!(out, "- {}", escaped(&visible(sentence)))?;
    }
    match told.is_empty() {
        true => Ok(()),
        false => writeln!(out),
    }
}

fn page(topic: &Topic, level: usize, out: &mut dyn Write) -> io::Result<()> {
    let marks = "#".repeat(level);
    writeln!(out, "{marks} {}\n", heading(topic))?;
    writeln!(out, "{}\n", escaped(&sentence(topic.title)))?;
    let texts = topic.texts();
    if !texts.is_empty() {
        fenced(&texts.join("\n"), "text", out)?;
        writeln!(out)?;
    }
    body(topic, level + 1, out)
}

/// A finding and a message may share an id: the heading, and so the place that links lead to, tells which.
fn heading(topic: &Topic) -> String {
    match topic.sort {
        Sort::Finding => format!("`{}`", topic.id),
        Sort::Message => format!("Message `{}`", topic.id),
    }
}

fn link(topic: &Topic) -> String {
    match topic.sort {
        Sort::Finding => format!("[`{0}`](#{0})", topic.id),
        Sort::Message => format!("[`{0}`](#message-{0})", topic.id),
    }
}

fn body(topic: &Topic, level: usize, out: &mut dyn Write) -> io::Result<()> {
    let (page, marks) = (topic.page, "#".repeat(level));
    writeln!(out, "{}\n", escaped(page.means))?;
    writeln!(
        out,
        "**Why it matters for PLEG.** {}\n",
        escaped(page.matters)
    )?;
    if !page.confirm.is_empty() {
        writeln!(out, "{marks} How to see whether it is so\n")?;
    }
    for Look { what, command } in page.confirm {
        writeln!(out, "{}:\n", escaped(what))?;
        fenced(command, "sh", out)?;
        writeln!(out)?;
    }
    if !page.remedies.is_empty() {
        writeln!(out, "{marks} What to do, mildest first\n")?;
    }
    for (index, cure) in page.remedies.iter().enumerate() {
        remedy(index + 1, cure, out)?;
    }
    if !page.unproved.is_empty() {
        writeln!(out, "**What is not proved.** {}\n", escaped(page.unproved))?;
    }
    writeln!(out, "**Versions.** {}\n", escaped(page.versions))?;
    if !page.see.is_empty() {
        let see: Vec<String> = page.see.iter().map(|id| reference(id)).collect();
        writeln!(out, "**See** {}\n", see.join(", "))?;
    }
    let sources: Vec<String> = page.sources.iter().map(|source| cited(source)).collect();
    writeln!(out, "**Known from** {}", sources.join(", "))
}

/// Writes a point of a numbered list: what, the command if there is one, the cost.
fn remedy(number: usize, cure: &Cure, out: &mut dyn Write) -> io::Result<()> {
    let (end, command) = match cure.command {
        "" => (".", String::new()),
        command => (":", format!("   ```sh\n   {command}\n   ```\n\n")),
    };
    let (what, cost) = (escaped(cure.what), escaped(cure.cost));
    writeln!(out, "{number}. {what}{end}\n\n{command}   Cost: {cost}.\n")
}

/// Returns a link to the first topic of that id.
fn reference(id: &str) -> String {
    let topic = explain::named(id).into_iter().next();
    topic.map_or_else(|| format!("`{id}`"), |topic| link(&topic))
}

fn cited(source: &str) -> String {
    match source::address(source) {
        Some(address) => format!("[{source}]({address})"),
        None if source.starts_with("run: ") => source.to_owned(),
        None => format!("`{source}`"),
    }
}

fn glosses(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\n## Words in messages and errors\n\n| words | what they mean | known from |\n|---|---|---|"
    )?;
    for gloss in GLOSSES {
        let words: Vec<String> = gloss
            .holds
            .iter()
            .map(|words| format!("`{words}`"))
            .collect();
        let sources: Vec<String> = gloss.sources.iter().map(|source| cited(source)).collect();
        let (words, sources) = (words.join(" … "), sources.join(", "));
        writeln!(out, "| {words} | {} | {sources} |", escaped(gloss.means))?;
    }
    Ok(())
}

fn fenced(text: &str, language: &str, out: &mut dyn Write) -> io::Result<()> {
    // A fence is longer than any row of backticks inside.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{fence}{language}\n{text}\n{fence}")
}

/// Returns text with what Markdown would read as its own made plain, except between backticks.
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
