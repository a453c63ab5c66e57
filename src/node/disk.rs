//! Disks: how busy each was over a moment, how long it let wait, and which of them hold the runtime's data.
//!
//! From `/proc/diskstats` read twice (Documentation/admin-guide/iostats.rst), `mountinfo`, and the names of the disks
//! below a mapped one. Nothing here touches a file system.

use super::{Process, Role};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// The kernel's number for it: `254:0`.
    pub device: String,
    pub name: String,
    /// For which share of the moment at least one request was in flight, in per cent. On a disk that serves many at a
    /// time, such as NVMe, 100 % is no want by itself.
    pub busy: f64,
    pub queue: f64,
    pub finished: u64,
    /// How long these had taken at the mean; `None` if there were none.
    pub wait: Option<Duration>,
    pub in_flight: u64,
    /// The folders of the runtime and the kubelet that it holds: `/var/lib/docker`.
    pub holds: Vec<String>,
    /// The mapped disk above it through which it does, if not directly.
    pub through: Option<String>,
}

impl Disk {
    pub fn is_stuck(&self) -> bool {
        self.finished == 0 && self.in_flight > 0 && self.queue > 0.0
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub before: String,
    pub after: String,
    pub elapsed: Duration,
    pub mounts: String,
    /// The names of the disks right below each mapped one (`/sys/dev/block/MAJOR:MINOR/slaves`), by its name.
    pub below: BTreeMap<String, Vec<String>>,
}

/// A disk's counters; times in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    finished: u64,
    took: u64,
    in_flight: u64,
    busy: u64,
    queued: u64,
}

struct Line<'a> {
    device: String,
    name: &'a str,
    counters: Counters,
}

/// The device mapper and the RAID driver, which stand above other disks.
pub fn is_mapped(name: &str) -> bool {
    ["dm-", "md", "bcache"]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(begins_with_digit))
}

pub fn mapped(diskstats: &str) -> Vec<(String, String)> {
    let lines = diskstats.lines().filter_map(line);
    lines
        .filter(|line| is_mapped(line.name))
        .map(|line| (line.device, line.name.to_owned()))
        .collect()
}

/// The disks that did something, or hold one of these folders; partitions count with their disk. Empty if the moment
/// has no length.
pub fn disks(sample: &Sample, folders: &BTreeSet<String>) -> Vec<Disk> {
    let before: BTreeMap<String, Counters> = sample
        .before
        .lines()
        .filter_map(line)
        .map(|line| (line.device, line.counters))
        .collect();
    let after: Vec<Line> = sample.after.lines().filter_map(line).collect();
    let names: BTreeSet<&str> = after.iter().map(|line| line.name).collect();
    let mut holds: BTreeMap<String, (BTreeSet<String>, Option<String>)> = BTreeMap::new();
    for folder in folders {
        for (name, through) in disks_of(folder, sample, &after, &names) {
            let entry = holds.entry(name).or_insert((BTreeSet::new(), through));
            entry.0.insert(folder.clone());
        }
    }
    let whole = after
        .iter()
        .filter(|line| whole_disk(line.name, &names) == line.name);
    whole
        .filter_map(|line| {
            let (held, through) = holds.remove(line.name).unwrap_or_default();
            let mut disk = over(line, before.get(&line.device)?, sample.elapsed)?;
            (disk.holds, disk.through) = (held.into_iter().collect(), through);
            let idle = disk.finished == 0 && disk.in_flight == 0;
            (!idle || !disk.holds.is_empty()).then_some(disk)
        })
        .collect()
}

/// The folders in which the runtime and the kubelet keep their data: as their words tell, or else the mounts of their
/// containers' layers (a file of settings may have moved them), or else as usual.
pub fn data_folders<'a>(
    mounts: &str,
    daemons: impl Iterator<Item = &'a Process>,
) -> BTreeSet<String> {
    let layers: BTreeSet<(Role, String)> = mounts.lines().filter_map(layers).collect();
    let mut folders = BTreeSet::new();
    for daemon in daemons.filter(|daemon| !daemon.is_contained()) {
        let (options, usual): (&[&str], _) = match daemon.role {
            Role::Dockerd => (&["--data-root", "--graph", "-g"], "/var/lib/docker"),
            Role::Containerd => (&["--root"], "/var/lib/containerd"),
            Role::Kubelet => (&["--root-dir"], "/var/lib/kubelet"),
            _ => continue,
        };
        let mounted = layers.iter().filter(|(role, _)| *role == daemon.role);
        let mut own: Vec<String> = match daemon.option(options) {
            Some(named) => vec![named.to_owned()],
            None => mounted.map(|(_, folder)| folder.clone()).collect(),
        };
        if own.is_empty() {
            own.push(usual.to_owned());
        }
        folders.extend(own);
    }
    folders
}

/// Whose layers an overlay mount is made of, and in which folder they are: `<folder>/overlay2/<layer>/merged` is where
/// Docker mounts, `upperdir=<folder>/io.containerd.snapshotter.v1.overlayfs/…` what containerd does.
fn layers(line: &str) -> Option<(Role, String)> {
    let (head, tail) = line.split_once(" - overlay ")?;
    let before = |path: &str, inner: &str| Some(path[..path.find(inner)?].to_owned());
    let point = head.split(' ').nth(4)?;
    let docker = before(point, "/overlay2/").map(|folder| (Role::Dockerd, folder));
    docker.or_else(|| {
        let mut options = tail.split([' ', ',']);
        let upper = options.find_map(|option| option.strip_prefix("upperdir="))?;
        let folder = before(upper, "/io.containerd.snapshotter")?;
        Some((Role::Containerd, folder))
    })
}

fn disks_of(
    folder: &str,
    sample: &Sample,
    lines: &[Line],
    names: &BTreeSet<&str>,
) -> Vec<(String, Option<String>)> {
    let Some((device, source)) = mount_of(folder, &sample.mounts) else {
        return Vec::new();
    };
    // Some file systems (btrfs) have a number of their own; what they were mounted from tells then.
    let by_number = lines.iter().find(|line| line.device == device);
    let by_source = || {
        lines
            .iter()
            .find(|line| source.strip_prefix("/dev/") == Some(line.name))
    };
    let Some(line) = by_number.or_else(by_source) else {
        return Vec::new();
    };
    let top = whole_disk(line.name, names);
    let mut found = vec![(top.to_owned(), None)];
    // Bounded: what was recorded may be a ring.
    let mut next = vec![top.to_owned()];
    for _ in 0..4 {
        let below = next.iter().filter_map(|name| sample.below.get(name));
        next = below
            .flatten()
            .map(|name| whole_disk(name, names).to_owned())
            .filter(|name| found.iter().all(|(known, _)| known != name))
            .collect();
        found.extend(next.iter().map(|name| (name.clone(), Some(top.to_owned()))));
    }
    found
}

/// Number and source of the mount that a folder is on: the last one of the longest point above it.
fn mount_of(folder: &str, mounts: &str) -> Option<(String, String)> {
    let above = |point: &str| {
        folder == point
            || folder
                .strip_prefix(point)
                .is_some_and(|rest| point.ends_with('/') || rest.starts_with('/'))
    };
    let mounts = super::mount::mountinfo(mounts);
    let on = mounts.into_iter().filter(|mount| above(&mount.point));
    // Of equals `max_by_key` takes the last, which covers the others.
    on.max_by_key(|mount| mount.point.len())
        .map(|mount| (mount.device, mount.source))
}

/// The whole disk that a partition is of, itself if it is none (block/partitions/core.c: `sda1`, but `nvme0n1p1` after
/// a digit).
fn whole_disk<'a>(name: &'a str, names: &BTreeSet<&str>) -> &'a str {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if stem.len() == name.len() {
        return name;
    }
    let ends_in_digit = |text: &str| text.ends_with(|letter: char| letter.is_ascii_digit());
    match stem.strip_suffix('p').filter(|disk| ends_in_digit(disk)) {
        Some(disk) if names.contains(disk) => disk,
        None if names.contains(stem) => stem,
        _ => name,
    }
}

fn over(line: &Line, before: &Counters, elapsed: Duration) -> Option<Disk> {
    let after = &line.counters;
    let millis = elapsed.as_secs_f64() * 1000.0;
    if millis < 1.0 {
        return None;
    }
    let finished = after.finished.saturating_sub(before.finished);
    let since = |after: u64, before: u64| count(after.saturating_sub(before));
    let took = since(after.took, before.took);
    let stuck = finished == 0 && before.in_flight.min(after.in_flight) > 0;
    // Some kernels (5.0 to 5.11) count time only when a request begins or ends.
    let (busy, queue) = if stuck {
        (100.0, count(after.in_flight))
    } else {
        let busy = since(after.busy, before.busy) / millis * 100.0;
        (busy.min(100.0), since(after.queued, before.queued) / millis)
    };
    Some(Disk {
        device: line.device.clone(),
        name: line.name.to_owned(),
        busy: tenths(busy),
        queue: tenths(queue),
        finished,
        wait: (finished > 0)
            .then(|| Duration::try_from_secs_f64(tenths(took / count(finished)) / 1000.0).ok())
            .flatten(),
        in_flight: after.in_flight,
        holds: Vec::new(),
        through: None,
    })
}

fn line(line: &str) -> Option<Line<'_>> {
    let mut words = line.split_ascii_whitespace();
    let (major, minor): (u32, u32) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let name = words.next()?;
    let fields: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let field = |number: usize| fields.get(number - 1).copied();
    // Flushes are told since Linux 5.5.
    let flushes = field(16).zip(field(17)).unwrap_or_default();
    Some(Line {
        device: format!("{major}:{minor}"),
        name,
        counters: Counters {
            finished: field(1)?
                .saturating_add(field(5)?)
                .saturating_add(flushes.0),
            took: field(4)?
                .saturating_add(field(8)?)
                .saturating_add(flushes.1),
            in_flight: field(9)?,
            busy: field(10)?,
            queued: field(11)?,
        },
    })
}

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a second, and shares of them"
)]
fn count(number: u64) -> f64 {
    number as f64
}

/// To tenths: the clock of `/proc/uptime` has hundredths of a second.
fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests;
