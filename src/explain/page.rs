//! Pages of findings and messages: Markdown files with fixed headings, `docs/findings/<id>.md` and
//! `docs/messages/<id>.md`.
//!
//! Only what those files hold is read: a title, sections of paragraphs, commands in fences, lists. A section with nothing
//! to say is left out of the file.

/// The headings of a page's sections, in their order.
pub const HEADINGS: [&str; 8] = [
    "What it means",
    "Why it matters",
    "How to confirm",
    "What to do",
    "Versions",
    "What is unproven",
    "See also",
    "Sources",
];

/// A page, by section. Texts are paragraphs with an empty line between them; code stands between backticks.
#[derive(Debug, Default)]
pub struct Page {
    /// What the finding or message says.
    pub means: String,
    /// What it does to the relist, or why it does nothing to it.
    pub matters: String,
    /// Read-only commands that confirm it, the most telling first.
    pub confirm: Vec<Step>,
    /// Remedies, the mildest first.
    pub remedies: Vec<Step>,
    /// Affected versions of the kubelet, the runtime, the kernel.
    pub versions: String,
    /// What is unproven, and what it is easily mistaken for.
    pub unproven: String,
    /// Ids of the findings and messages to read next.
    pub see: Vec<&'static str>,
    /// `kubernetes#45419` (an issue or pull request), `moby:daemon/delete.go` (a file of the source),
    /// `run: kubelet 1.20.2, Docker 20.10.24` (seen on such a node).
    pub sources: Vec<&'static str>,
}

/// A check or a remedy.
#[derive(Debug, Default)]
pub struct Step {
    /// What it shows or does.
    pub what: String,
    /// The command; words in capitals (`ID`, `PID`) are placeholders. Empty for a change of a setting or a machine.
    pub command: String,
    /// What it costs; empty for a check, which changes nothing.
    pub cost: String,
}

impl Page {
    /// Reads a page.
    pub fn new(markdown: &'static str) -> Self {
        let [
            means,
            matters,
            confirm,
            remedies,
            versions,
            unproven,
            see,
            sources,
        ] = HEADINGS.map(|heading| section(markdown, heading));
        Self {
            means: paragraphs(means),
            matters: paragraphs(matters),
            confirm: checks(confirm),
            remedies: numbered_steps(remedies),
            versions: paragraphs(versions),
            unproven: paragraphs(unproven),
            see: items(see).collect(),
            sources: items(sources).collect(),
        }
    }
}

/// The title: the text of the first heading.
pub fn title(markdown: &str) -> &str {
    let first = markdown.lines().next().unwrap_or_default();
    first.trim_start_matches('#').trim()
}

/// The text below a heading, up to the next one.
fn section<'a>(markdown: &'a str, heading: &str) -> &'a str {
    let rest = markdown.split_once(&format!("\n## {heading}\n"));
    rest.map_or("", |(_, rest)| {
        rest.split_once("\n## ").map_or(rest, |(text, _)| text)
    })
}

/// A paragraph or the content of a fence; an item of a list begins a paragraph.
pub(super) enum Block {
    Text(String),
    Command(String),
}

/// Splits a section into paragraphs and commands.
pub(super) fn blocks(section: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut in_fence, mut in_paragraph) = (false, false);
    for line in section.lines().map(str::trim) {
        if line.starts_with("```") {
            in_fence = !in_fence;
            in_paragraph = false;
            if in_fence {
                blocks.push(Block::Command(String::new()));
            }
            continue;
        }
        let begins = line.starts_with("- ") || without_number(line).is_some();
        match blocks.last_mut() {
            Some(Block::Command(command)) if in_fence => {
                if !command.is_empty() {
                    command.push('\n');
                }
                command.push_str(line);
            }
            _ if line.is_empty() => in_paragraph = false,
            Some(Block::Text(text)) if in_paragraph && !begins => {
                text.push(' ');
                text.push_str(line);
            }
            _ => {
                in_paragraph = true;
                blocks.push(Block::Text(line.to_owned()));
            }
        }
    }
    blocks
}

fn without_number(line: &str) -> Option<&str> {
    let (number, text) = line.split_once(". ")?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(text)
}

fn paragraphs(section: &str) -> String {
    let texts = blocks(section).into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::Command(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Each command with the paragraph before it.
fn checks(section: &str) -> Vec<Step> {
    let (mut steps, mut what) = (Vec::new(), String::new());
    for block in blocks(section) {
        match block {
            Block::Text(text) => what = unpunctuated(&text),
            Block::Command(command) => steps.push(Step {
                what: std::mem::take(&mut what),
                command,
                cost: String::new(),
            }),
        }
    }
    steps
}

/// Each numbered item with its command and its cost.
fn numbered_steps(section: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(section) {
        match (block, steps.last_mut()) {
            (Block::Command(command), Some(step)) => step.command = command,
            (Block::Text(text), last) => {
                if let Some(what) = without_number(&text) {
                    steps.push(Step {
                        what: unpunctuated(what),
                        ..Step::default()
                    });
                } else if let (Some(cost), Some(step)) = (text.strip_prefix("Cost: "), last) {
                    step.cost = unpunctuated(cost);
                }
            }
            (Block::Command(_), None) => {}
        }
    }
    steps
}

/// A text without the full stop or colon at its end.
fn unpunctuated(text: &str) -> String {
    text.strip_suffix(['.', ':']).unwrap_or(text).to_owned()
}

fn items(section: &'static str) -> impl Iterator<Item = &'static str> {
    let items = section.lines().filter_map(|line| line.strip_prefix("- "));
    items.map(unlinked)
}

/// The text of a link or of code.
pub(super) fn unlinked(item: &str) -> &str {
    let link = item
        .strip_prefix('[')
        .and_then(|link| link.split_once("]("));
    link.map_or(item.trim_matches('`'), |(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A title

## What it means

One sentence
of two lines.

A second paragraph.

## How to confirm

Which `X`
it is:

```sh
cat X
cat Y
```

## What to do

1. Stop it:

   ```sh
   stop X
   ```

   Cost: a line
   or two.

2. Buy another one.

   Cost: money.

## See also

- [hung-container](hung-container.md)

## Sources

- [moby#1](https://github.com/moby/moby/issues/1)
- `moby:daemon/delete.go`
- run: Docker 20.10.24
";

    #[test]
    fn a_page_is_read_by_its_headings() {
        let page = Page::new(PAGE);
        assert_eq!(title(PAGE), "A title");
        assert_eq!(
            page.means,
            "One sentence of two lines.\n\nA second paragraph."
        );
        assert_eq!((page.matters.as_str(), page.versions.as_str()), ("", ""));
        let steps = |steps: &[Step]| -> Vec<[String; 3]> {
            let texts = steps
                .iter()
                .map(|it| [&it.what, &it.command, &it.cost].map(String::clone));
            texts.collect()
        };
        assert_eq!(
            steps(&page.confirm),
            [["Which `X` it is", "cat X\ncat Y", ""]]
        );
        assert_eq!(
            steps(&page.remedies),
            [
                ["Stop it", "stop X", "a line or two"],
                ["Buy another one", "", "money"]
            ]
        );
        assert_eq!(page.see, ["hung-container"]);
        assert_eq!(
            page.sources,
            ["moby#1", "moby:daemon/delete.go", "run: Docker 20.10.24"]
        );
    }
}
