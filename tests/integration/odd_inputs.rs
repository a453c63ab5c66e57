//! The table of odd inputs in `tests/odd-inputs.md`: each row names a case or a test that there is.

use crate::support::case;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const TABLE: &str = "| odd input | case or test |";

/// Returns the names of all functions in the Rust files below `folder`.
fn functions(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            functions(&path, names);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let found = text.lines().filter_map(|line| {
                let name = line.trim_start().strip_prefix("fn ")?;
                Some(name.split_once('(')?.0.to_owned())
            });
            names.extend(found);
        }
    }
}

/// Returns the rows of the table: what is odd, and the names behind it.
fn rows(readme: &str) -> Vec<(String, Vec<String>)> {
    let (_, table) = readme.split_once(TABLE).unwrap();
    table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let (entry, names) = line.trim_matches('|').rsplit_once('|').unwrap();
            let names = names.split('`').skip(1).step_by(2);
            (entry.trim().to_owned(), names.map(str::to_owned).collect())
        })
        .collect()
}

#[test]
fn each_odd_input_names_a_case_or_a_test_that_there_is() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("tests/odd-inputs.md")).unwrap();
    let mut tests = BTreeSet::new();
    functions(&root.join("src"), &mut tests);
    functions(&root.join("tests"), &mut tests);
    let files = case::files();
    let cases = files.iter().flat_map(|file| case::cases_of(file));
    let cases: BTreeSet<_> = cases.map(|case| case.name).collect();
    let rows = rows(&readme);
    assert!(rows.len() > 60, "only {} rows", rows.len());
    for (entry, names) in rows {
        assert!(!names.is_empty(), "{entry}: nothing is named");
        for name in names {
            assert!(
                cases.contains(&name) || tests.contains(&name),
                "{entry}: no {name}"
            );
        }
    }
}
