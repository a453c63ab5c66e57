//! Mounts, from `mountinfo`. A list of names: no file system is touched.

use crate::syntax::id::PodUid;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number for it, `0:51`; the second half names a FUSE connection.
    pub device: String,
    pub point: String,
    /// The file system's type: `nfs4`, `fuse.bindfs`.
    pub fs_type: String,
    /// What is mounted: `10.0.0.5:/export`, `/dev/sda1`.
    pub source: String,
    /// Whether a server stands behind it: over a network, or a process (FUSE).
    pub remote: bool,
    pub uid: Option<PodUid>,
    /// The process in whose mount namespace it is; `None` for that of the machine's first process.
    pub within: Option<u32>,
}

const REMOTE: &[&str] = &[
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "glusterfs",
    "9p",
    "lustre",
    "gfs2",
    "ocfs2",
    "beegfs",
    "afs",
    "gpfs",
    "orangefs",
];

impl Mount {
    /// Whether who sleeps in that function of the kernel may wait for this mount's server.
    pub fn is_waited_for_in(&self, wchan: &str) -> bool {
        let wchan = wchan.trim_start_matches('_');
        let begins = |names: &[&str]| names.iter().any(|name| wchan.starts_with(name));
        match self.fs_type.as_str() {
            "nfs" | "nfs4" => begins(&["rpc_", "nfs"]),
            "cifs" | "smb3" | "smbfs" => begins(&["cifs_", "smb2_"]),
            "ceph" => begins(&["ceph_"]),
            kind if kind == "fuse" || kind.starts_with("fuse.") => {
                begins(&["request_wait_answer", "fuse_"]) && !super::serves(wchan)
            }
            _ => false,
        }
    }

    /// The number of its FUSE connection, below `/sys/fs/fuse/connections`.
    pub fn fuse_connection(&self) -> Option<&str> {
        let fuse = self.fs_type == "fuse" || self.fs_type.starts_with("fuse.");
        let (_, minor) = self.device.split_once(':')?;
        fuse.then_some(minor)
    }

    /// The server's name: `10.0.0.5` of `10.0.0.5:/export`, `files` of `//files/share`; for FUSE its source.
    pub fn server(&self) -> &str {
        if let Some(rest) = self.source.strip_prefix("//") {
            return rest.split('/').next().unwrap_or(rest);
        }
        match self.source.split_once(":/") {
            Some((server, _)) if !server.is_empty() => server,
            _ => &self.source,
        }
    }
}

/// The mount that a path is on, by the longest mount point that is a folder of the path. Names are compared: what links
/// lead elsewhere is not seen.
pub fn holding<'a>(mounts: &'a [Mount], path: &str) -> Option<&'a Mount> {
    let path = Path::new(path);
    // Of two at one place the later one hides the earlier.
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| Path::new(&mount.point).components().count())
}

/// The mounts of a `mountinfo` (`proc_pid_mountinfo(5)`); lines that make no sense are left out.
pub fn mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Mount> {
    let (head, tail) = line.split_once(" - ")?;
    let device = head.split(' ').nth(2)?.to_owned();
    let point = point(head)?;
    let mut tail = tail.split(' ');
    let (fs_type, source) = (tail.next()?.to_owned(), unescaped(tail.next()?));
    let remote = REMOTE.contains(&fs_type.as_str())
        || fs_type == "fuse"
        || (fs_type.starts_with("fuse.") && fs_type != "fuse.lxcfs");
    Some(Mount {
        uid: pod_of(&point),
        device,
        point,
        fs_type,
        source,
        remote,
        within: None,
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountPoint {
    /// Its number: no two mounts have one at a time, whatever namespace they are in.
    pub id: u64,
    pub parent: u64,
    pub point: String,
}

/// The places of the mounts of a `mountinfo`; lines that make no sense are left out.
pub fn mount_points(text: &str) -> Vec<MountPoint> {
    let spot = |line: &str| {
        let mut fields = line.split(' ');
        Some(MountPoint {
            id: fields.next()?.parse().ok()?,
            parent: fields.next()?.parse().ok()?,
            point: point(line)?,
        })
    };
    text.lines().filter_map(spot).collect()
}

/// The number of the mount that is seen at `path`, of several that are stacked there the upper one; `None` if there is
/// none, or if it can't be told (one lies below another mount that hides its folder).
pub fn top(spots: &[MountPoint], path: &str) -> Option<u64> {
    let at = || spots.iter().filter(|spot| spot.point == path);
    let mut free = at().filter(|spot| !at().any(|upper| upper.parent == spot.id));
    let first = free.next()?;
    free.next().is_none().then_some(first.id)
}

pub(super) fn point(line: &str) -> Option<String> {
    line.split(' ').nth(4).map(unescaped)
}

/// The pod of a path in the kubelet's folder: `/var/lib/kubelet/pods/<uid>/volumes/…`.
fn pod_of(path: &str) -> Option<PodUid> {
    let (_, rest) = path.split_once("/pods/")?;
    PodUid::parse(rest.split('/').next()?)
}

/// A field as it is: the kernel writes blank, tab, newline, backslash and `#` as `\040` and so on.
fn unescaped(field: &str) -> String {
    let bytes = field.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes.get(at + 1..at + 4).filter(|_| bytes[at] == b'\\');
        let value = octal
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(value.unwrap_or(bytes[at]));
        at += if value.is_some() { 4 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}
