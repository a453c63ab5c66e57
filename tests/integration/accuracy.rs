//! How often the cases are judged rightly, cause by cause: `docs/accuracy.md`, made by the test that runs them.
//!
//! `PLEGDOCTOR_REFRESH=1 cargo test accuracy::` writes it. What is expected comes from the hand-written `expect` of each
//! case alone, what is found from its report.

use crate::{
    cases,
    stories::{self, Kind, Story},
};
use plegdoctor::{finding::Confidence, report::Report, rules::RULES};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// What stands first in a report without findings.
const NOTHING: &str = "nothing";

/// A case that was run.
struct Run {
    name: String,
    story: Story,
    /// The finding that its `expect` wants first, or `nothing`; `None` if it does not say.
    expected: Option<String>,
    report: Report,
    /// Whether every line of its `expect` is met, and its story kept to.
    right: bool,
}

impl Run {
    fn of(folder: &Path) -> Self {
        let report = cases::report(folder);
        let story = stories::of(folder);
        let expect = fs::read_to_string(folder.join("expect")).unwrap();
        Self {
            name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            story,
            expected: expected(&expect),
            right: cases::unmet(folder, &report).is_empty()
                && stories::keeps_to(story, &report).is_ok(),
            report,
        }
    }

    fn first(&self) -> &str {
        let first = self.report.findings.first();
        first.map_or(NOTHING, |finding| finding.id)
    }

    fn is(&self, cause: &str, kinds: &[Kind]) -> bool {
        self.story.cause == Some(cause) && kinds.contains(&self.story.kind)
    }

    /// What is found of the cause that the case names.
    fn of_cause(&self) -> &'static str {
        let mut found = self.report.findings.iter();
        match found.find(|finding| Some(finding.id) == self.story.cause) {
            None => "silent",
            Some(finding) if finding.confidence == Confidence::Confirmed => "confirmed",
            Some(_) => "suspected",
        }
    }

    fn verdict(&self) -> &'static str {
        if self.right { "right" } else { "**wrong**" }
    }
}

/// Returns what must stand first, by the line `first` or `findings`.
fn expected(expect: &str) -> Option<String> {
    let first = stories::value(expect, "first").unwrap();
    let all = || {
        expect
            .lines()
            .find_map(|line| line.strip_prefix("findings"))
    };
    let of_all = || all().map(|ids| ids.split_whitespace().next().unwrap_or(NOTHING));
    first.or_else(of_all).map(str::to_owned)
}

fn all() -> Vec<Run> {
    let folders: Vec<PathBuf> = cases::folders();
    folders.iter().map(|folder| Run::of(folder)).collect()
}

/// The document.
fn document(runs: &[Run]) -> String {
    let right = runs.iter().filter(|run| run.right).count();
    let mut out = format!(
        "# How often plegdoctor is right\n\n\
         Made by `PLEGDOCTOR_REFRESH=1 cargo test accuracy::` of the {} cases in `fixtures/cases`; a test fails where it\n\
         is not current. What is expected of a case was written by hand before its rule, and nothing refreshes it;\n\
         `fixtures/README.md` tells where each case comes from.\n\n\
         {right} of {} cases are judged rightly: every line of their expectation is met.\n",
        runs.len(),
        runs.len()
    );
    causes(&mut out, runs);
    confusion(&mut out, runs);
    let columns = "| case | looks like | found of that | first is | |\n|---|---|---|---|---|";
    let near = |run: &&Run| run.story.kind == Kind::NearMiss;
    section(&mut out, "Near misses", columns, runs, near, |run| {
        let cause = run.story.cause.unwrap_or("–");
        format!("`{cause}` | {} | {}", run.of_cause(), run.first())
    });
    let columns = "| case | findings | |\n|---|---|---|";
    let well = |run: &&Run| run.story.kind == Kind::Healthy;
    section(&mut out, "Healthy nodes", columns, runs, well, |run| {
        let found = run.report.findings.iter();
        let found: Vec<_> = found
            .map(|finding| format!("{} ({:?})", finding.id, finding.severity).to_lowercase())
            .collect();
        match found.is_empty() {
            true => NOTHING.to_owned(),
            false => found.join(", "),
        }
    });
    let columns = "| case | first is | |\n|---|---|---|";
    let odd = |run: &&Run| run.story.kind == Kind::Odd;
    section(&mut out, "Odd input", columns, runs, odd, |run| {
        run.first().to_owned()
    });
    out
}

/// Causes × cases: how many of each kind are right, and what stands first in them.
fn causes(out: &mut String, runs: &[Run]) {
    out.push_str(
        "\n## Causes\n\n\
         Right of all, of cases that show the cause (plain, and in another format, version or source) and of those that\n\
         only look like it. Some causes never explain a lag by themselves: they stand beside another one.\n\n\
         | cause | plain | variant | near miss | where it shows, first is | in near misses, first is |\n\
         |---|---|---|---|---|---|\n",
    );
    for rule in RULES {
        let of = |kinds: &[Kind]| {
            let some: Vec<_> = runs.iter().filter(|run| run.is(rule.id, kinds)).collect();
            let right = some.iter().filter(|run| run.right).count();
            (format!("{right}/{}", some.len()), tally(&some))
        };
        let ((plain, _), (variant, _)) = (of(&[Kind::Plain]), of(&[Kind::Variant]));
        let ((near, instead), (_, first)) =
            (of(&[Kind::NearMiss]), of(&[Kind::Plain, Kind::Variant]));
        let id = rule.id;
        writeln!(
            out,
            "| `{id}` | {plain} | {variant} | {near} | {first} | {instead} |"
        )
        .unwrap();
    }
}

/// Expected first × found first, the cells that are not zero.
fn confusion(out: &mut String, runs: &[Run]) {
    out.push_str(
        "\n## What is taken for what\n\n\
         Of all cases whose expectation says what stands first: how often it does, and what else stood there.\n\n\
         | expected first | found first | taken for |\n|---|---|---|\n",
    );
    let ids = RULES.iter().map(|rule| rule.id).chain([NOTHING]);
    for id in ids {
        let expect = |run: &&Run| run.expected.as_deref() == Some(id);
        let (so, other): (Vec<&Run>, Vec<&Run>) = runs
            .iter()
            .filter(expect)
            .partition(|run| run.first() == id);
        if so.len() + other.len() > 0 {
            let (so, other) = (so.len(), tally(&other));
            writeln!(out, "| `{id}` | {so} | {other} |").unwrap();
        }
    }
}

/// Returns how often what stands first: `hung-container 3, nothing 1`.
fn tally(runs: &[&Run]) -> String {
    let mut times = BTreeMap::new();
    for run in runs {
        *times.entry(run.first()).or_insert(0) += 1;
    }
    let each: Vec<_> = times
        .iter()
        .map(|(id, times)| format!("{id} {times}"))
        .collect();
    match each.is_empty() {
        true => "–".to_owned(),
        false => each.join(", "),
    }
}

/// A table with a row for each of some cases.
fn section(
    out: &mut String,
    title: &str,
    columns: &str,
    runs: &[Run],
    of: impl Fn(&&Run) -> bool,
    cells: impl Fn(&Run) -> String,
) {
    writeln!(out, "\n## {title}\n\n{columns}").unwrap();
    for run in runs.iter().filter(of) {
        let (name, verdict) = (&run.name, run.verdict());
        writeln!(out, "| `{name}` | {} | {verdict} |", cells(run)).unwrap();
    }
}

#[test]
fn the_table_is_current_and_no_case_is_judged_wrongly() {
    let runs = all();
    let table = document(&runs);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/accuracy.md");
    if std::env::var_os("PLEGDOCTOR_REFRESH").is_some() {
        fs::write(&path, &table).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == table,
        "docs/accuracy.md is not what the cases give; it would be:\n{table}"
    );
    let wrong: Vec<_> = runs.iter().filter(|run| !run.right).collect();
    let wrong: Vec<_> = wrong.iter().map(|run| &run.name).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn every_cause_is_shown_twice_and_told_from_what_looks_like_it() {
    let stories: Vec<_> = cases::folders().iter().map(|it| stories::of(it)).collect();
    let mut missing = Vec::new();
    for rule in RULES {
        for kind in [Kind::Plain, Kind::Variant, Kind::NearMiss] {
            let is = |story: &&Story| story.cause == Some(rule.id) && story.kind == kind;
            if !stories.iter().any(|story| is(&story)) {
                missing.push(format!("{}: {kind:?}", rule.id));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    let well = stories.iter().filter(|story| story.kind == Kind::Healthy);
    assert!(well.count() >= 6, "too few healthy nodes");
}
