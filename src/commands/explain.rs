//! `plegdoctor explain`: the page of a finding or a message, the list of all, or what pasted lines say.

mod pager;

use crate::cli::{ExplainArgs, PageFormat, Pager};
use crate::explain::Topic;
use crate::explain::paste::{Paste, Pasted};
use crate::kubelet::parser::{Hints, MAX_LINE};
use crate::render::layout::visible;
use crate::render::{Style, json};
use crate::{cli, explain, log, render};
use anyhow::{Context as _, bail};
use std::io;
use std::io::{BufRead, BufReader, IsTerminal as _, Read as _, Write};
use std::process::ExitCode;

/// Columns of a page at most: longer lines are hard to read.
const WIDEST: u16 = 80;

/// Runs it and returns the exit code: 1 where none of the pasted lines is a known message.
///
/// # Errors
/// There is no finding or message of that name, standard input can't be read, or `out` fails.
pub fn run(
    args: &ExplainArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let explained = match args.id.as_deref() {
        None => Explained::All,
        Some("-") => Explained::Pasted(read(err)?),
        Some(name) => Explained::Named(named(name)?),
    };
    // A paste may have had the terminal to itself; who asked for json wants no pager in between.
    let pager = Pager::wanted().filter(|_| !args.no_pager && args.format == PageFormat::Text);
    let style = Style {
        width: cli::width().min(WIDEST),
        color: cli::color(args.color),
    };
    let mut text = Vec::new();
    explained.write(args.format, style, &mut text)?;
    pager::show(&text, pager.as_ref(), out).context("can't write the explanation")?;
    Ok(ExitCode::from(match explained {
        Explained::Pasted(pasted) if pasted.messages.is_empty() => 1,
        _ => 0,
    }))
}

enum Explained {
    All,
    Named(Vec<Topic>),
    Pasted(Pasted),
}

impl Explained {
    fn write(&self, format: PageFormat, style: Style, out: &mut dyn Write) -> io::Result<()> {
        use render::explain::{self as text, markdown};
        match (self, format) {
            (Self::All, PageFormat::Text) => text::list(style, out),
            (Self::All, PageFormat::Markdown) => markdown::document(out),
            (Self::All, PageFormat::Json) => {
                write_json(&explain::topics().collect::<Vec<_>>(), None, out)
            }
            (Self::Named(topics), PageFormat::Text) => text::pages(topics, style, out),
            (Self::Named(topics), PageFormat::Markdown) => markdown::pages(topics, out),
            (Self::Named(topics), PageFormat::Json) => write_json(topics, None, out),
            (Self::Pasted(pasted), PageFormat::Text) => text::pasted(pasted, style, out),
            (Self::Pasted(pasted), PageFormat::Markdown) => markdown::pasted(pasted, out),
            (Self::Pasted(pasted), PageFormat::Json) => {
                let kinds = pasted.messages.iter().map(|heard| heard.kind);
                let topics: Vec<Topic> = kinds.map(explain::message).collect();
                write_json(&topics, Some(pasted), out)
            }
        }
    }
}

fn write_json(topics: &[Topic], pasted: Option<&Pasted>, out: &mut dyn Write) -> io::Result<()> {
    json::write(&json::Explained { topics, pasted }, out)
}

fn named(name: &str) -> anyhow::Result<Vec<Topic>> {
    let topics = explain::named(name);
    if !topics.is_empty() {
        return Ok(topics);
    }
    let name = visible(name);
    match explain::nearest(&name).as_slice() {
        [] => bail!(
            "there is no finding or message \"{name}\"; plegdoctor explain lists all, plegdoctor explain - reads lines"
        ),
        near => bail!(
            "there is no finding or message \"{name}\"; perhaps {}; plegdoctor explain lists all",
            near.join(", or ")
        ),
    }
}

fn read(err: &mut dyn Write) -> anyhow::Result<Pasted> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // Nobody may be listening; that is no reason to stop.
        let _ = writeln!(
            err,
            "plegdoctor: paste lines of the log, then press Ctrl-D on a line of its own"
        );
    }
    let mut paste = Paste::new(Hints {
        now: cli::clock(),
        utc_offset: None,
    });
    let input = BufReader::new(log::rewrapped(stdin.lock()));
    lines(input, &mut |line| paste.line(line)).context("can't read standard input")?;
    let pasted = paste.finish();
    if pasted.lines == 0 {
        bail!("there is nothing on standard input to explain");
    }
    Ok(pasted)
}

/// Executor on each line without its newline; of one that is too long, its beginning.
fn lines(mut input: impl BufRead, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if input
            .by_ref()
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(());
        }
        match line.strip_suffix(b"\n") {
            Some(whole) => each(whole),
            None => {
                each(&line);
                input.skip_until(b'\n')?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_one_line() {
        let mut text = vec![b'a'; MAX_LINE + 10];
        text.extend_from_slice(b"\nb\n\nc");
        let mut lengths = Vec::new();
        lines(&text[..], &mut |line| lengths.push(line.len())).unwrap();
        assert_eq!(lengths, [MAX_LINE, 1, 0, 1]);
    }
}
