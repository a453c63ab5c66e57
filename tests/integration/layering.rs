//! Who may name what: the boundaries that `src/lib.rs` states, checked on the sources.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A name, and the only files (or folders) that may use it.
const OWNERS: &[(&str, &[&str])] = &[
    ("hyper::", &["io/http", "runtime/docker"]),
    ("tokio::", &["io/http", "runtime/docker", "remedy/apply"]),
    ("std::fs", FILES),
    ("fs::", FILES),
    ("flate2::", &["capture", "io"]),
    ("zstd::", &["io/decompress"]),
    ("liblzma::", &["io/decompress"]),
    ("bzip2::", &["io/decompress"]),
    ("tar::", &["capture", "log/tar_reader"]),
    ("std::process::Command", STARTERS),
    ("Command::new", STARTERS),
    // … and the names of signals and system calls that change something.
    ("kill_process", &["remedy/apply", "io/child"]),
    ("kill_process_group", &["io/child"]),
    ("pidfd_", &["remedy/apply/pidfd"]),
    ("Signal::", &["remedy/apply", "io/child"]),
    ("rustix::mount", &["remedy/apply/mount"]),
    ("move_into_link_name_space", &["remedy/apply/mount"]),
    ("\"/proc", &["node/observe", "io"]),
    ("openat(", &["runtime/disk", "node/observe/process"]),
    ("Local::now", &["cli"]),
    ("std::env", &["cli"]),
    ("comfy_table", &["render", "cli"]),
    ("indicatif", &["remedy/apply", "commands"]),
];
/// Files that may open files.
const FILES: &[&str] = &[
    "io",
    "log",
    "node/observe",
    "remedy/apply",
    "runtime/docker",
    "runtime/disk",
    "kubelet/ask",
    "capture",
];
/// Files that may start programs.
const STARTERS: &[&str] = &[
    "io/child",
    "log",
    "node/observe",
    "remedy/apply",
    "commands/explain/pager",
];

/// Values in, values out: what touches the outside is not named here.
const PURE: &[&str] = &[
    "syntax",
    "node.rs",
    "node/parse",
    "runtime.rs",
    "kubelet.rs",
    "kubelet/event",
    "kubelet/parser",
    "kubelet/incident",
    "kubelet/summary",
    "evidence",
    "finding",
    "rules",
    "report",
    "explain",
    "remedy/fix",
];
/// What touches the outside.
const EDGES: &[&str] = &[
    "io::child",
    "io::deadline",
    "io::files",
    "io::http",
    "node::observe",
    "runtime::disk",
    "runtime::docker",
    "kubelet::ask",
    "std::io",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns each source's path below `src`, and its lines of code: no comments, no test modules.
fn code() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    let relative = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    files
        .iter()
        .filter(|path| {
            !path
                .components()
                .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
        })
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let lines: Vec<_> = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect();
            (relative(path), lines.join("\n"))
        })
        .collect()
}

fn belongs(file: &str, owner: &str) -> bool {
    file == format!("{owner}.rs") || file == owner || file.starts_with(&format!("{owner}/"))
}

#[test]
fn each_outside_thing_is_named_by_its_edge_alone() {
    for (file, text) in code() {
        for (name, owners) in OWNERS {
            let used = text.match_indices(name).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            });
            assert!(
                !used || owners.iter().any(|owner| belongs(&file, owner)),
                "{file} names {name}"
            );
        }
    }
}

/// Returns the paths that follow `root` in a text, with groups unfolded: `{a::{self, B}}` is a::self and a::B.
fn paths(text: &str, root: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(root) {
        unfold(&text[at + root.len()..], "", &mut found);
    }
    found
}

/// Unfolds the tree that a text begins with; returns what follows it.
fn unfold<'a>(text: &'a str, parent: &str, found: &mut Vec<String>) -> &'a str {
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if let Some(end) = rest.strip_prefix('}') {
                return end;
            }
            rest = unfold(rest, parent, found);
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    let path = match parent {
        "" => word.to_owned(),
        parent => format!("{parent}::{word}"),
    };
    match rest.strip_prefix("::") {
        Some(rest) if rest.starts_with(|c: char| c.is_alphabetic() || c == '{' || c == '_') => {
            unfold(rest, &path, found)
        }
        _ => {
            found.push(path);
            // A name of its own, a glob or generic arguments end the path.
            rest.trim_start_matches(|c: char| !matches!(c, ',' | '}' | ';'))
        }
    }
}

/// Returns the rooms in the order in which `lib.rs` declares them.
fn rooms() -> Vec<String> {
    let (_, lib) = code()
        .into_iter()
        .find(|(file, _)| file == "lib.rs")
        .unwrap();
    let declared = lib
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub mod "));
    declared
        .map(|name| name.trim_end_matches(';').to_owned())
        .collect()
}

#[test]
fn each_room_uses_only_those_before_it() {
    let rooms = rooms();
    assert!(rooms.len() > 5 && rooms.len() <= 16, "{rooms:?}");
    let floor = |name: &str| rooms.iter().position(|room| room == name);
    let mut edges = 0;
    for (file, text) in code() {
        let own = file.split('/').next().unwrap().trim_end_matches(".rs");
        let Some(own) = floor(own) else { continue };
        for path in paths(&text, "crate::") {
            let room = path.split("::").next().unwrap();
            let other = floor(room).unwrap_or_else(|| panic!("{file} names crate::{path}"));
            edges += usize::from(other != own);
            assert!(other <= own, "{file} uses {path}");
        }
    }
    assert!(edges > 100, "only {edges} edges found");
}

/// Returns which parts of one room (the files and folders right below it) use which: `crate::room::part`, or as many
/// `super::` as lead from a file up to the room.
fn uses_between_parts(rooms: &[String]) -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut uses: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (file, text) in code() {
        let parts: Vec<_> = file.trim_end_matches(".rs").split('/').collect();
        let [room, part, ..] = parts[..] else {
            continue;
        };
        if !rooms.iter().any(|it| it == room) {
            continue;
        }
        let up = "super::".repeat(parts.len() - 1);
        let from_crate = paths(&text, "crate::");
        let within = format!("{room}::");
        let from_room = from_crate
            .iter()
            .filter_map(|path| path.strip_prefix(&within));
        let from_below = paths(&text, &up);
        let named = from_room.chain(from_below.iter().map(String::as_str));
        let others = named.filter_map(|path| path.split("::").next());
        let others = others.filter(|other| *other != part).map(str::to_owned);
        let own = uses.entry((room.to_owned(), part.to_owned())).or_default();
        own.extend(others);
    }
    uses
}

#[test]
fn no_parts_of_a_room_use_each_other_in_a_circle() {
    let mut uses = uses_between_parts(&rooms());
    assert!(uses.len() > 80, "only {} parts found", uses.len());
    let parts: BTreeSet<_> = uses.keys().cloned().collect();
    for ((room, _), others) in &mut uses {
        others.retain(|other| parts.contains(&(room.clone(), other.clone())));
    }
    // Whoever uses none of those that are left stands in no circle.
    loop {
        let free: Vec<_> = uses
            .iter()
            .filter(|(_, others)| others.is_empty())
            .map(|(part, _)| part.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        for (room, part) in free {
            uses.remove(&(room.clone(), part.clone()));
            for ((other, _), others) in &mut uses {
                if *other == room {
                    others.remove(&part);
                }
            }
        }
    }
    assert!(uses.is_empty(), "in a circle, or using one: {uses:#?}");
}

#[test]
fn paths_are_found_in_groups() {
    let text = "use crate::{a::{self, B}, c::D}; crate::e::f(1);";
    assert_eq!(paths(text, "crate::"), ["a::self", "a::B", "c::D", "e::f"]);
}

#[test]
fn pure_files_touch_nothing_outside() {
    let mut checked = 0;
    for (file, text) in code() {
        if PURE.iter().any(|pure| belongs(&file, pure)) {
            checked += 1;
            let named = paths(&text, "crate::");
            for edge in EDGES {
                let crosses = named.iter().any(|path| path.starts_with(edge));
                let std = *edge == "std::io" && text.contains(edge);
                assert!(!crosses && !std, "{file} names {edge}");
            }
        }
    }
    assert!(checked > 20, "only {checked} pure files found");
}

#[test]
fn no_file_outgrows_a_subject() {
    for (file, text) in code() {
        let lines = text.lines().count();
        let limit = if file == "kubelet/event/table.rs" {
            700
        } else {
            420
        };
        assert!(
            lines <= limit,
            "{file} has {lines} lines: what is the second subject?"
        );
    }
}
