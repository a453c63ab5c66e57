//! What `explain` says, for people: pages, the list of all, and what was pasted, for a terminal.

pub mod markdown;

use super::Style;
use super::layout::{brief, cut, cut_middle, paragraph, visible};
use crate::explain;
use crate::explain::page::{HEADINGS, Page, Step};
use crate::explain::paste::{Example, Pasted, PastedMessage, UnknownLine};
use crate::explain::{Sort, Topic};
use crate::rules::count;
use std::io::{self, Write};

/// Writes the ids of all topics, a line each.
///
/// # Errors
/// What `out` says.
pub fn list(style: Style, out: &mut dyn Write) -> io::Result<()> {
    for (sort, head) in [
        (Sort::Finding, "Findings of plegdoctor diagnose"),
        (Sort::Message, "Messages in a node's log"),
    ] {
        writeln!(out, "{}", style.paint(head, "1"))?;
        let topics = || explain::topics().filter(|topic| topic.sort == sort);
        let widest = topics().map(|topic| topic.id.len()).max().unwrap_or(0);
        for topic in topics() {
            let room = usize::from(style.width).saturating_sub(widest + 4);
            let (id, title) = (topic.id, cut(topic.title, room));
            writeln!(out, "  {id:widest$}  {title}")?;
        }
        writeln!(out)?;
    }
    let more =
        "plegdoctor explain ID explains one of them; plegdoctor explain - explains pasted lines.";
    write!(out, "{}", paragraph(more, 0, style.width))
}

/// Writes the pages of these topics, one after another.
///
/// # Errors
/// What `out` says.
pub fn pages(topics: &[Topic], style: Style, out: &mut dyn Write) -> io::Result<()> {
    for (index, topic) in topics.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        head(topic, style, out)?;
        texts(topic, style, out)?;
        page(&topic.page(), style, out)?;
    }
    Ok(())
}

/// Writes what was pasted: each message with its lines and its page, then the lines that are none.
///
/// # Errors
/// What `out` says.
pub fn pasted(pasted: &Pasted, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for (index, message) in pasted.messages.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let topic = explain::message(message.kind);
        head(&topic, style, out)?;
        lines(message, style, out)?;
        page(&topic.page(), style, out)?;
    }
    if pasted.unknown > 0 {
        if !pasted.messages.is_empty() {
            writeln!(out)?;
        }
        others(pasted, style, out)?;
    }
    Ok(())
}

fn head(topic: &Topic, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let what = match topic.sort {
        Sort::Finding => "finding",
        Sort::Message => "message of the kubelet",
    };
    writeln!(out, "{}  {what}", style.paint(topic.id, "1"))?;
    write!(out, "{}", paragraph(&sentence(topic.title), 0, style.width))
}

/// Writes how a message is logged; never wrapped, so that it can be searched for.
fn texts(topic: &Topic, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let texts = topic.texts();
    if texts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint("Logged as", "1"))?;
    texts.iter().try_for_each(|text| writeln!(out, "  {text}"))
}

fn sentence(title: &str) -> String {
    format!("{title}.")
}

fn page(page: &Page, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let [
        means,
        matters,
        confirm,
        remedies,
        versions,
        unproven,
        see,
        sources,
    ] = HEADINGS;
    section(means, &page.means, style, out)?;
    section(matters, &page.matters, style, out)?;
    steps(confirm, &page.confirm, |_| "- ".to_owned(), style, out)?;
    steps(
        remedies,
        &page.remedies,
        |number| format!("{number}. "),
        style,
        out,
    )?;
    section(versions, &page.versions, style, out)?;
    section(unproven, &page.unproven, style, out)?;
    section(see, &page.see.join(", "), style, out)?;
    section(sources, &page.sources.join(", "), style, out)
}

/// Writes a section of text, unless it is empty.
fn section(head: &str, text: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint(head, "1"))?;
    for (index, text) in text.split("\n\n").enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write!(out, "{}", paragraph(text, 2, style.width))?;
    }
    Ok(())
}

/// Writes a section of steps, unless it is empty; `mark` makes the mark of each from its number.
fn steps(
    head: &str,
    steps: &[Step],
    mark: fn(usize) -> String,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint(head, "1"))?;
    for (index, step) in steps.iter().enumerate() {
        item(&mark(index + 1), &step.what, style, out)?;
        command(&step.command, style, out)?;
        if !step.cost.is_empty() {
            let cost = format!("cost: {}", step.cost);
            write!(out, "{}", paragraph(&cost, 6, style.width))?;
        }
    }
    Ok(())
}

/// Writes a point of a list, its lines below one another.
fn item(mark: &str, text: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let text = paragraph(text, mark.len() + 2, style.width);
    write!(out, "  {mark}{}", text.trim_start())
}

/// Writes a command, if there is one; never wrapped: it must survive being copied.
fn command(command: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = command.lines();
    lines.try_for_each(|line| writeln!(out, "      {}", style.paint(line, "36")))
}

fn lines(message: &PastedMessage, style: Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", style.paint("What the line holds", "1"))?;
    for Example { event, sentences } in &message.examples {
        quote(event.citation.line, &event.citation.text, style, out)?;
        for sentence in sentences {
            write!(out, "{}", paragraph(&visible(sentence), 4, style.width))?;
        }
    }
    match message.count - message.examples.len() as u64 {
        0 => Ok(()),
        more => writeln!(out, "  … and {more} more lines of it"),
    }
}

/// Writes the lines that are no message, with what their known words mean.
fn others(pasted: &Pasted, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let number = usize::try_from(pasted.unknown).unwrap_or(usize::MAX);
    let (are, known) = match number {
        1 => ("is", "a known message"),
        _ => ("are", "known messages"),
    };
    let head = format!("{} {are} not {known}", count(number, "line"));
    writeln!(out, "{}", style.paint(&head, "1"))?;
    for UnknownLine {
        line,
        text,
        sentences,
    } in &pasted.others
    {
        quote(Some(*line), text, style, out)?;
        for sentence in sentences {
            write!(out, "{}", paragraph(&visible(sentence), 4, style.width))?;
        }
    }
    match number.saturating_sub(pasted.others.len()) {
        0 => Ok(()),
        more => writeln!(out, "  … and {more} more lines"),
    }
}

/// Writes a line as people quote it, cut to the width.
fn quote(line: Option<u64>, text: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let number = line.map_or_else(String::new, |line| format!("{line}: "));
    let room = usize::from(style.width).saturating_sub(number.chars().count() + 2);
    let text = cut_middle(&visible(&brief(text.trim())), room.max(20));
    writeln!(out, "  {}", style.paint(&format!("{number}{text}"), "2"))
}
