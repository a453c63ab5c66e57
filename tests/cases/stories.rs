//! What each case of `fixtures/cases` stands for: a cause and a story, two lines in its hand-written `expect`.
//!
//! `cause ID` is the cause that the case is about; `story` says in what part: `plain` and `variant` (another format,
//! version or source) show it, `near-miss` looks like it and isn't, `healthy` is a well node, `odd` is hostile or
//! strange input.

use crate::case::Case;
use plegdoctor::{
    finding::{Confidence, Finding, Severity},
    report::Report,
    rules::RULES,
};

/// In what part a case shows its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The cause as it usually looks.
    Plain,
    /// The cause in another format or version, or told by other sources.
    Variant,
    /// What looks like the cause and isn't: it must not stand first there, and never be confirmed.
    NearMiss,
    /// A well node: nothing above `info`.
    Healthy,
    /// Hostile or strange input.
    Odd,
}

/// What a case is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Story {
    /// The cause, a rule's id; none on healthy nodes, and where the input alone is what's odd.
    pub(crate) cause: Option<&'static str>,
    pub(crate) kind: Kind,
}

/// What the text of an `expect` says that its case is about.
fn parse(expect: &str) -> Result<Story, String> {
    let cause = value(expect, "cause")?.map(rule).transpose()?;
    let kind = match value(expect, "story")?.ok_or("no line `story`")? {
        "plain" => Kind::Plain,
        "variant" => Kind::Variant,
        "near-miss" => Kind::NearMiss,
        "healthy" => Kind::Healthy,
        "odd" => Kind::Odd,
        other => return Err(format!("no such story: {other}")),
    };
    match (kind, cause) {
        (Kind::Plain | Kind::Variant | Kind::NearMiss, None) => Err("no line `cause`".to_owned()),
        (Kind::Healthy, Some(cause)) => Err(format!("a healthy node with the cause {cause}")),
        _ => Ok(Story { cause, kind }),
    }
}

/// What the one line of an `expect` that begins with a word says besides it.
fn value<'e>(expect: &'e str, word: &str) -> Result<Option<&'e str>, String> {
    let mut values = expect
        .lines()
        .filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    let value = values.next();
    match values.next() {
        Some(_) => Err(format!("more than one line `{word}`")),
        None => Ok(value),
    }
}

fn rule(id: &str) -> Result<&'static str, String> {
    let known = RULES.iter().map(|rule| rule.id).find(|known| *known == id);
    known.ok_or_else(|| format!("no such cause: {id}"))
}

/// What a case's `expect` says that it is about.
pub(crate) fn of(case: &Case) -> Result<Story, String> {
    parse(case.text("expect"))
}

/// Whether the report keeps to the story; the error is what it says instead.
pub(crate) fn keeps_to(story: Story, report: &Report) -> Result<(), String> {
    let findings = &report.findings;
    let is_cause = |finding: &&Finding| Some(finding.id) == story.cause;
    let wrong = match story.kind {
        Kind::Plain | Kind::Variant => match findings.iter().find(is_cause) {
            Some(_) => None,
            None => Some("is not found".to_owned()),
        },
        Kind::NearMiss => {
            let is_sure = |finding: &&Finding| finding.confidence == Confidence::Confirmed;
            match (
                findings.first().filter(is_cause),
                findings.iter().filter(is_cause).find(is_sure),
            ) {
                (_, Some(_)) => Some("is confirmed".to_owned()),
                (Some(_), _) => Some("stands first".to_owned()),
                (None, None) => None,
            }
        }
        Kind::Healthy => findings
            .iter()
            .find(|finding| finding.severity != Severity::Info)
            .map(|finding| format!("is {:?}: {}", finding.severity, finding.id)),
        Kind::Odd => None,
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(format!("{} {wrong}", story.cause.unwrap_or("a finding"))),
    }
}

/// The lines of an `expect` that make no sense are refused.
pub(crate) fn stories_that_make_no_sense_are_refused() {
    for (expect, wrong) in [
        ("cause hung-container\nexit 1", "no line `story`"),
        ("story plain", "no line `cause`"),
        ("story near-miss", "no line `cause`"),
        (
            "cause hung-conatiner\nstory plain",
            "no such cause: hung-conatiner",
        ),
        ("cause hung-container\nstory plane", "no such story: plane"),
        ("story odd\nstory odd", "more than one line `story`"),
        (
            "cause hung-container\nstory healthy",
            "a healthy node with the cause hung-container",
        ),
    ] {
        assert_eq!(parse(expect).unwrap_err(), wrong);
    }
}
