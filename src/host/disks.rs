//! Disks, watched for a second beside the other looks.

use super::files;
use crate::node::{
    disk::{self, Sample},
    parse,
};
use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::{Duration, Instant},
};

/// How long they are watched.
const WATCH: Duration = Duration::from_secs(1);
/// Most mapped disks whose parts are looked up, and most parts of one.
const MAPPED: usize = 256;
const PARTS: usize = 64;

/// Disks that are being watched.
pub(super) struct Watched(Receiver<io::Result<Sample>>);

/// Begins to watch the disks of the machine whose root directory is `root`, `uptime` after its boot.
///
/// # Errors
/// No thread can be started.
pub(super) fn watch(root: &Path, uptime: Option<Duration>) -> io::Result<Watched> {
    let root = root.to_owned();
    let (sender, receiver) = sync_channel(1);
    thread::Builder::new()
        .name("disks".to_owned())
        // Nobody listens any more where the send fails.
        .spawn(move || drop(sender.send(sample(&root, uptime))))?;
    Ok(Watched(receiver))
}

impl Watched {
    /// Returns what was read, or `None` if not all came in time.
    pub(super) fn sample(&self, until: Instant) -> Option<io::Result<Sample>> {
        let left = until.saturating_duration_since(Instant::now());
        self.0.recv_timeout(left).ok()
    }
}

fn sample(root: &Path, uptime: Option<Duration>) -> io::Result<Sample> {
    let proc = root.join("proc");
    let (live, began) = (files::is_live(&proc), Instant::now());
    let before = files::text(&proc.join("diskstats"))?;
    let below = below(root, &before);
    let mounts = files::text(&proc.join("1/mountinfo")).unwrap_or_default();
    if live {
        thread::sleep(WATCH.saturating_sub(began.elapsed()));
    }
    let after = files::text(&files::later(&proc.join("diskstats"), live))?;
    // The kernel's own clock, so that what was recorded is as long as it was.
    let later = files::text(&files::later(&proc.join("uptime"), live)).ok();
    let later = later.as_deref().and_then(parse::uptime);
    let elapsed = later
        .zip(uptime)
        .map(|(later, uptime)| later.saturating_sub(uptime));
    Ok(Sample {
        before,
        after,
        elapsed: elapsed.filter(|time| !time.is_zero()).unwrap_or(WATCH),
        mounts,
        below,
    })
}

/// Returns the names of the disks right below each mapped one. `/sys` is the kernel's: listing it waits for no disk.
fn below(root: &Path, diskstats: &str) -> BTreeMap<String, Vec<String>> {
    let parts = |device: &str| -> Vec<String> {
        let folder = root.join(format!("sys/dev/block/{device}/slaves"));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<_> = names.take(PARTS).collect();
        names.sort_unstable();
        names
    };
    let mapped = disk::mapped(diskstats).into_iter().take(MAPPED);
    mapped
        .map(|(device, name)| (name, parts(&device)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_as_long_as_the_kernels_clock_says_or_else_a_second() {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        fs::create_dir(&proc).unwrap();
        let (began, up) = (Instant::now(), Some(Duration::from_secs(100)));
        assert!(sample(root.path(), up).is_err());
        fs::write(
            proc.join("diskstats"),
            " 253 0 dm-0 1 0 0 0 0 0 0 0 0 0 0\n",
        )
        .unwrap();
        assert!(sample(root.path(), up).is_err());
        fs::write(
            proc.join("diskstats.later"),
            " 253 0 dm-0 2 0 0 0 0 0 0 0 0 0 0\n",
        )
        .unwrap();
        let slaves = root.path().join("sys/dev/block/253:0/slaves");
        fs::create_dir_all(&slaves).unwrap();
        for name in ["sdb", "sda3"] {
            fs::write(slaves.join(name), "").unwrap();
        }
        let first = sample(root.path(), up).unwrap();
        assert_eq!(first.elapsed, Duration::from_secs(1));
        assert_eq!(first.below["dm-0"], ["sda3", "sdb"]);
        fs::write(proc.join("uptime.later"), "101.25 3.00\n").unwrap();
        let second = sample(root.path(), up).unwrap();
        assert_eq!(second.elapsed, Duration::from_millis(1250));
        assert_eq!(
            (second.before.as_str(), second.after.as_str()),
            (
                " 253 0 dm-0 1 0 0 0 0 0 0 0 0 0 0\n",
                " 253 0 dm-0 2 0 0 0 0 0 0 0 0 0 0\n"
            )
        );
        assert!(began.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn this_machines_disks_are_watched_for_a_second() {
        let uptime = files::text(Path::new("/proc/uptime")).unwrap();
        let uptime = parse::uptime(&uptime);
        let watched = watch(Path::new("/"), uptime).unwrap();
        assert!(watched.sample(Instant::now()).is_none());
        let sample = watched.sample(Instant::now() + Duration::from_secs(60));
        let sample = sample.unwrap().unwrap();
        assert!(
            sample.elapsed >= Duration::from_millis(980),
            "{:?}",
            sample.elapsed
        );
        let lines = |text: &str| text.lines().count();
        assert_eq!(lines(&sample.before), lines(&sample.after));
    }
}
