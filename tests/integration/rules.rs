//! The table of rules, and what belongs to each row.

use crate::support::case;
use plegdoctor::rules::RULES;
use std::{collections::BTreeSet, fs, path::Path};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn names_are_unique_and_stable() {
    let ids: BTreeSet<_> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), RULES.len());
    // A name that changes or goes breaks scripts: it belongs into the changelog, then here. New ones join at a release.
    let known = [
        "busy-mount",
        "clock-step",
        "cni-hang",
        "container-pileup",
        "dead-container",
        "disk-saturated",
        "evented-pleg",
        "frozen-daemon",
        "hung-container",
        "hung-runtime",
        "known-bad-version",
        "leaked-shim",
        "list-too-large",
        "log-driver-blocked",
        "memory-starved",
        "network-storage",
        "not-pleg",
        "orphan-sandbox",
        "pleg-unexplained",
        "removal-race",
        "runtime-down",
        "slow-relist",
        "starting-up",
        "systemd-unresponsive",
        "tasks-exhausted",
        "windows-node",
        "xtables-lock",
    ];
    let gone: Vec<_> = known.iter().filter(|id| !ids.contains(*id)).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn each_rule_has_a_row_in_the_readme_and_each_row_a_rule() {
    let readme = read("README.md");
    let table = readme.split("| finding |").nth(1).unwrap();
    let rows = table.lines().skip(2).map_while(|row| {
        let (id, rest) = row.strip_prefix("| `")?.split_once("` | ")?;
        assert!(rest.split(" | ").count() == 2, "{row}");
        Some(id)
    });
    let ids = RULES.iter().map(|rule| rule.id);
    assert_eq!(
        rows.collect::<BTreeSet<_>>(),
        ids.collect::<BTreeSet<_>>(),
        "README.md's table of findings"
    );
}

#[test]
fn each_rule_fires_in_a_case_and_is_forbidden_in_another() {
    let files = case::files();
    let cases = files.iter().flat_map(|file| case::cases_of(file));
    let expectations: Vec<String> = cases.map(|case| case.text("expect").to_owned()).collect();
    let words = |text: &str, keys: &[&str]| -> BTreeSet<String> {
        text.lines()
            .filter(|line| keys.iter().any(|key| line.starts_with(&format!("{key} "))))
            .flat_map(|line| {
                line.split(' ')
                    .skip(1)
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    for rule in RULES {
        let fires = |text: &&String| words(text, &["first", "also", "findings"]).contains(rule.id);
        assert!(
            expectations.iter().any(|text| fires(&text)),
            "no case expects {}",
            rule.id
        );
        let quiet = |text: &&String| {
            words(text, &["never"]).contains(rule.id)
                || (text
                    .lines()
                    .any(|line| line == "findings" || line.starts_with("findings "))
                    && !fires(text))
        };
        assert!(
            expectations.iter().any(|text| quiet(&text)),
            "no case forbids {}",
            rule.id
        );
    }
}
