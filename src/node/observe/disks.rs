//! Disks, watched for a second beside the other looks.

use super::background::{Pending, spawn};
use super::{Unobserved, mount_namespaces, unobserved};
use crate::io::files::Tree;
use crate::node::disk::Sample;
use crate::node::{Host, disk};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

const WATCH: Duration = Duration::from_secs(1);
/// Most mapped disks whose parts are looked up, and most parts of one.
const MAX_MAPPED: usize = 256;
const MAX_PARTS: usize = 64;
const COUNTERS: &str = "proc/diskstats";

pub(super) fn watch(tree: &Tree) -> Pending<io::Result<Sample>> {
    let tree = tree.clone();
    spawn("disks", move || sample(&tree))
}

pub(super) fn fill(
    watched: &Pending<io::Result<Sample>>,
    tree: &Tree,
    until: Instant,
    host: &mut Host,
) -> Option<Unobserved> {
    let what = "this host's disks";
    match watched.wait(until) {
        Ok(Ok(sample)) => {
            let folders = disk::data_folders(&sample.mounts, host.processes.iter());
            host.disks = disk::disks(&sample, &folders);
            None
        }
        // A recording need not have them.
        Ok(Err(_)) if !tree.is_live() => None,
        Ok(Err(error)) => Some(unobserved(what, &tree.path(COUNTERS), &error)),
        Err(why) => Some(Unobserved::gap(what, why)),
    }
}

fn sample(tree: &Tree) -> io::Result<Sample> {
    let before = tree.text(COUNTERS)?;
    let elapsed = tree.pass("disks", WATCH);
    let after = tree.later(COUNTERS)?;
    Ok(Sample {
        below: below(tree, &before),
        mounts: mount_namespaces::text_of_init(tree),
        before,
        after,
        elapsed,
    })
}

/// The names of the disks right below each mapped one. `/sys` is the kernel's: listing it waits for no disk.
fn below(tree: &Tree, diskstats: &str) -> BTreeMap<String, Vec<String>> {
    let parts = |device: &str| -> Vec<String> {
        let folder = format!("sys/dev/block/{device}/slaves");
        let mut names = tree.names(&folder).unwrap_or_default();
        names.sort_unstable();
        names.truncate(MAX_PARTS);
        // Read so that it is there again where this was recorded.
        for name in &names {
            drop(tree.text(&format!("{folder}/{name}/dev")));
        }
        names
    };
    let mapped = disk::mapped(diskstats).into_iter().take(MAX_MAPPED);
    mapped
        .map(|(device, name)| (name, parts(&device)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    const BEFORE: &str = " 253 0 dm-0 1 0 0 0 0 0 0 0 0 0 0\n";
    const AFTER: &str = " 253 0 dm-0 2 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn what_was_recorded_is_as_long_as_it_says_or_else_a_second_and_takes_no_time() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let look = || sample(&Tree::at(root.path()));
        let began = Instant::now();
        assert!(look().is_err());
        write("proc/diskstats", BEFORE);
        assert!(look().is_err());
        write("proc/diskstats.later", AFTER);
        write("sys/dev/block/253:0/slaves/sdb/dev", "8:16\n");
        write("sys/dev/block/253:0/slaves/sda3/dev", "8:3\n");
        let first = look().unwrap();
        assert_eq!(first.elapsed, Duration::from_secs(1));
        assert_eq!(first.below["dm-0"], ["sda3", "sdb"]);
        assert_eq!(
            (first.before.as_str(), first.after.as_str()),
            (BEFORE, AFTER)
        );
        write("told/disks-passed", "1250000");
        assert_eq!(look().unwrap().elapsed, Duration::from_millis(1250));
        assert!(began.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn this_machines_disks_are_watched_for_a_second() {
        let watched = watch(&Tree::at(Path::new("/")));
        assert!(watched.wait(Instant::now()).is_err());
        let sample = watched.wait(Instant::now() + Duration::from_secs(60));
        let sample = sample.unwrap().unwrap();
        assert!(sample.elapsed >= WATCH, "{:?}", sample.elapsed);
        let lines = |text: &str| text.lines().count();
        assert_eq!(lines(&sample.before), lines(&sample.after));
    }
}
