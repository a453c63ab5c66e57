//! One process at this moment: what the kernel answers about it at once, however sick it is.

use crate::io::files::Tree;
use crate::node::mount::MountPoint;
use crate::node::parse::Stat;
use crate::node::{DEFAULT_ROOT, mount, parse};
use rustix::fs::{Mode, OFlags, openat};
use std::fs::File;
use std::io;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

pub fn stat(pid: u32) -> Option<Stat> {
    let text = here().text(&format!("proc/{pid}/stat")).ok()?;
    parse::stat(&text)
}

/// The mounts that process `pid` sees. A list of names: no file system is touched.
pub fn mounts(pid: u32) -> io::Result<Vec<MountPoint>> {
    let text = here().text(&format!("proc/{pid}/mountinfo"))?;
    Ok(mount::mount_points(&text))
}

/// This machine's `/proc`, held open: what is read through it is the kernel's word also where something else, or
/// nothing, is mounted under that name.
pub struct Proc(File);

impl Proc {
    pub fn open() -> io::Result<Self> {
        File::open(here().path("proc")).map(Self)
    }

    pub fn own_mounts(&self) -> io::Result<Vec<MountPoint>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.0, "self/mountinfo", flags, Mode::empty())?;
        let mut text = Vec::new();
        File::from(file).take(MOST).read_to_end(&mut text)?;
        Ok(mount::mount_points(&String::from_utf8_lossy(&text)))
    }
}

/// Most that is read of a `mountinfo`: what is beyond is not found, and not touched.
const MOST: u64 = 64 << 20;

/// Opens the mount namespace of process `pid`; returns it with its number.
pub fn mount_namespace(pid: u32) -> io::Result<(File, u64)> {
    let file = File::open(here().path(&format!("proc/{pid}/ns/mnt")))?;
    let number = file.metadata()?.ino();
    Ok((file, number))
}

fn here() -> Tree {
    Tree::at(Path::new(DEFAULT_ROOT))
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_process_is_seen_with_its_mounts_and_its_namespace() {
        let pid = std::process::id();
        assert_eq!(super::stat(pid).unwrap().pid, pid);
        let mounts = super::mounts(pid).unwrap();
        assert!(mounts.iter().any(|mount| mount.point == "/"));
        let (_, number) = super::mount_namespace(pid).unwrap();
        let link = std::fs::read_link("/proc/self/ns/mnt").unwrap();
        assert_eq!(link.to_str().unwrap(), format!("mnt:[{number}]"));
    }

    #[test]
    fn what_is_not_there_is_none() {
        // Above the kernel's largest number (proc(5), pid_max).
        assert!(super::stat(1 << 23).is_none());
        assert!(super::mounts(1 << 23).is_err());
    }
}
