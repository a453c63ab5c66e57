//! What is left of the layers of containers that could not be removed. Their folders are on the runtime's disk,
//! which may be dead: a child lists them and is abandoned at its deadline.

use super::programs;
use crate::io::child;
use crate::io::files::Tree;
use crate::io::gap::Gap;
use crate::node::leftover_layers::LeftoverLayer;
use crate::node::mount_holder;
use crate::node::mount_holder::Place;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const MAX_FOLDERS: usize = 64;
/// Most names that are told of one: a whole one has five.
const MAX_NAMES: usize = 16;
/// How long the child may take; an ordinary one needs some milliseconds.
const TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    folder: String,
    /// The names in it; of one that could not be listed nothing but the reason.
    names: Option<Vec<String>>,
    error: Option<String>,
}

/// What is left in these folders of layers, at most 64 of them. One that is not there is left out.
pub fn scan(tree: &Tree, folders: &[String]) -> (Vec<LeftoverLayer>, Option<Gap>) {
    let folders = &folders[..folders.len().min(MAX_FOLDERS)];
    let (seen, gap) = if tree.is_live() && !folders.is_empty() {
        read(tree, folders)
    } else {
        (BTreeMap::new(), None)
    };
    let layers = folders.iter().filter_map(|folder| {
        let Place::Layer(name) = mount_holder::place(folder)? else {
            return None;
        };
        let names = tree.told(&format!("layers/{name}"), || {
            seen.get(folder).map(|names| names.join("\n"))
        })?;
        Some(LeftoverLayer {
            folder: folder.clone(),
            names: names.lines().map(str::to_owned).collect(),
        })
    });
    (layers.collect(), gap)
}

fn read(tree: &Tree, folders: &[String]) -> (BTreeMap<String, Vec<String>>, Option<Gap>) {
    match programs::list(tree.root(), folders, Instant::now() + TIMEOUT).output() {
        Ok(lines) => parse(&lines),
        Err(why) => (BTreeMap::new(), Some(gap(why))),
    }
}

fn parse(words: &str) -> (BTreeMap<String, Vec<String>>, Option<Gap>) {
    let (mut seen, mut first) = (BTreeMap::new(), None);
    for line in words.lines() {
        match serde_json::from_str(line) {
            Ok(Line {
                folder,
                names: Some(names),
                ..
            }) => drop(seen.insert(folder, names)),
            Ok(Line {
                folder,
                error: Some(error),
                ..
            }) => first = first.or_else(|| Some(gap(format!("{folder}: {error}")))),
            Ok(_) | Err(_) => {}
        }
    }
    (seen, first)
}

fn gap(why: String) -> Gap {
    Gap::new("what is left of dead containers' layers", why)
}

/// The child's part: writes what is in these folders, each at once.
///
/// # Errors
/// What `out` says.
pub fn write(root: &Path, folders: &[String], out: &mut dyn Write) -> io::Result<()> {
    child::detach();
    list(&Tree::at(root), folders, out)
}

fn list(tree: &Tree, folders: &[String], out: &mut dyn Write) -> io::Result<()> {
    for folder in folders {
        let (names, error) = match tree.names(folder) {
            Ok(mut names) => {
                names.sort_unstable();
                names.truncate(MAX_NAMES);
                (Some(names), None)
            }
            // Removed meanwhile, or of a daemon that sees another file system.
            Err(error) if error.kind() == ErrorKind::NotFound => (None, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let folder = folder.clone();
        let line = Line {
            folder,
            names,
            error,
        };
        serde_json::to_writer(&mut *out, &line)?;
        writeln!(out)?;
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    const LAYER: &str = "64d2c21ca68e90bb8a672363d3185117729811a53ac756e735f3e5cd07dfefcb";

    #[test]
    fn what_a_child_lists_is_read_back_and_what_is_not_there_left_out() {
        let root = tempfile::tempdir().unwrap();
        let folder = format!("/data/overlay2/{LAYER}");
        let own = root.path().join(folder.trim_start_matches('/'));
        fs::create_dir_all(own.join("diff")).unwrap();
        fs::write(own.join("lower"), "l/X").unwrap();
        fs::write(root.path().join("data/file"), "").unwrap();
        let asked = ["/data/overlay2/gone", &folder, "/data/file"].map(str::to_owned);
        let mut out = Vec::new();
        list(&Tree::at(root.path()), &asked, &mut out).unwrap();
        let (seen, gap) = parse(&String::from_utf8(out).unwrap());
        let names = ["diff", "lower"].map(str::to_owned).to_vec();
        assert_eq!(seen, BTreeMap::from([(folder, names)]));
        assert!(gap.unwrap().why.starts_with("/data/file: "));
    }

    #[test]
    fn a_recorded_machine_tells_what_was_seen_then() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("told/layers")).unwrap();
        fs::write(root.path().join("told/layers").join(LAYER), "diff").unwrap();
        let folder = format!("/data/overlay2/{LAYER}");
        let asked = [
            folder.clone(),
            format!("/data/overlay2/{}", LAYER.replace('6', "7")),
        ];
        let tree = Tree::at(root.path());
        let (layers, gap) = scan(&tree, &asked);
        let names = vec!["diff".to_owned()];
        assert_eq!(layers, [LeftoverLayer { folder, names }]);
        assert_eq!(gap, None);
    }

    #[test]
    fn what_looks_like_a_machine_and_says_nothing_is_no_layer() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/1")).unwrap();
        symlink("1", root.path().join("proc/self")).unwrap();
        let (layers, gap) = scan(&Tree::at(root.path()), &[]);
        assert_eq!((layers, gap), (Vec::new(), None));
    }
}
