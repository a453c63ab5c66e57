//! Who may name what: the boundaries that `src/lib.rs` states, checked on the sources.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A name, and the only files (or folders) that may use it.
const OWNERS: &[(&str, &[&str])] = &[
    ("bollard::", &["runtime/docker"]),
    ("hyper::", &["http", "runtime/docker"]),
    ("tokio::", &["http", "runtime/docker", "apply"]),
    (
        "std::fs",
        &[
            "log",
            "host",
            "apply",
            "runtime/docker",
            "kubelet/ask",
            "runtime/disk",
            "capture",
        ],
    ),
    (
        "fs::",
        &[
            "log",
            "host",
            "apply",
            "runtime/docker",
            "kubelet/ask",
            "runtime/disk",
            "capture",
        ],
    ),
    ("flate2::", &["capture", "log/unpack"]),
    ("zstd::", &["log/unpack"]),
    ("liblzma::", &["log/unpack"]),
    ("bzip2::", &["log/unpack"]),
    ("tar::", &["capture", "log/archive"]),
    ("std::process::Command", &["log", "child", "host", "apply"]),
    (
        "Command::new",
        &["log", "host", "apply", "child", "commands/explain/pager"],
    ),
    // … and the names of signals and system calls that change something.
    ("kill_process", &["apply", "child"]),
    ("kill_process_group", &["child"]),
    ("pidfd_", &["apply/pinned"]),
    ("Signal::", &["apply", "child"]),
    ("rustix::mount", &["apply/mount"]),
    ("move_into_link_name_space", &["apply/mount"]),
    ("\"/proc", &["host", "child"]),
    ("openat(", &["runtime/disk", "host/one"]),
    ("Local::now", &["cli"]),
    ("std::env", &["cli"]),
    ("comfy_table", &["render", "cli"]),
    ("indicatif", &["apply", "commands"]),
];

/// The pure core: it may name no edge.
const CORE: &[&str] = &[
    "id",
    "duration",
    "envelope",
    "klog",
    "time",
    "event",
    "parser",
    "digest",
    "incident",
    "action",
    "fix",
    "kubelet.rs",
    "kubelet/exposition",
    "kubelet/health",
    "kubelet/metrics",
    "kubelet/recording",
    "kubelet/spread",
    "evidence",
    "explain",
    "finding",
    "node",
    "plan",
    "report",
    "rules",
    "runtime.rs",
    "runtime/calls",
    "runtime/name",
    "runtime/relist",
    "runtime/room",
    "runtime/stored",
    "stacks",
];
const EDGES: &[&str] = &[
    "crate::cli",
    "crate::commands",
    "crate::gather",
    "crate::host",
    "crate::http",
    "crate::log",
    "crate::render",
    "crate::apply",
    "crate::capture",
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

#[test]
fn the_core_names_no_edge() {
    let mut checked = 0;
    for (file, text) in code() {
        if CORE.iter().any(|core| belongs(&file, core)) {
            checked += 1;
            for edge in EDGES {
                let text = text
                    .replace("pub mod docker", "")
                    .replace("pub mod disk", "");
                assert!(!text.contains(edge), "{file} names {edge}");
            }
        }
    }
    assert!(checked > 20, "only {checked} core files found");
}

#[test]
fn no_file_outgrows_a_subject() {
    for (file, text) in code() {
        let lines = text.lines().count();
        let limit = if file == "event/table.rs" { 700 } else { 420 };
        assert!(
            lines <= limit,
            "{file} has {lines} lines: what is the second subject?"
        );
    }
}
