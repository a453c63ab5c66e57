//! The options of `explain`, and what the environment says of a pager.

use super::ColorChoice;
use clap::{Args, ValueEnum};
use std::{ffi::OsString, io::IsTerminal as _};

/// `plegdoctor explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The id of a finding or a message, or - for lines on standard input [default: a list of all ids]
    #[arg(value_name = "ID|-")]
    pub id: Option<String>,
    /// How to print; without an ID, json and markdown give all pages
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub format: PageFormat,
    /// Print at once, also on a terminal [default there: through PAGER, else less]
    #[arg(long, help_heading = "Output")]
    pub no_pager: bool,
    /// Whether to use colour
    #[arg(long, value_enum, default_value = "auto", help_heading = "Output")]
    pub color: ColorChoice,
}

/// How to print pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// For people
    Text,
    /// For scripts; `plegdoctor schema explain` describes it
    Json,
    /// For documents
    Markdown,
}

/// A program that shows a long text a screen at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pager {
    /// The program and its arguments; there is a program.
    pub words: Vec<OsString>,
    /// Whether `less` gets our options: the user has set none.
    pub tell_less: bool,
}

impl Pager {
    /// Returns the pager to use, if standard output is a terminal that one can work on and the user wants one.
    pub fn wanted() -> Option<Self> {
        let told = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let able = std::io::stdout().is_terminal() && told("TERM").is_some_and(|it| it != "dumb");
        let named = std::env::var_os("PAGER").unwrap_or_else(|| "less".into());
        able.then(|| Self::named(&named, told("LESS").is_none()))?
    }

    /// Reads the words of `PAGER`; an empty one, and `cat`, mean none.
    fn named(words: &OsString, tell_less: bool) -> Option<Self> {
        let words: Vec<OsString> = match words.to_str() {
            Some(words) => words.split_whitespace().map(OsString::from).collect(),
            None => vec![words.clone()],
        };
        let first = words.first()?;
        (first != "cat").then_some(Self { words, tell_less })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_pager_are_its_arguments() {
        let words = |text: &str| Some(Pager::named(&text.into(), true)?.words);
        let strings = |words: &[&str]| Some(words.iter().map(OsString::from).collect());
        assert_eq!(words("less"), strings(&["less"]));
        assert_eq!(words(" less -R  -X"), strings(&["less", "-R", "-X"]));
        assert_eq!(words(""), None);
        assert_eq!(words(" "), None);
        assert_eq!(words("cat"), None);
    }
}
