//! This machine, as the kernel tells it; only this file and its folder read `/proc` and `/sys`.
//!
//! Nothing here waits for a sick process. What the kernel answers by itself (`stat`, `wchan`, `stack`, `mountinfo`)
//! is read in a thread that is left behind when time is up; what takes a process's own locks (`cmdline`) is read by
//! a child that is killed. Nothing is asked of a file system that may be remote: no `stat`, no `statfs`, no listing.

mod files;
mod tasks;
mod watch;
pub mod words;

use crate::{
    evidence::Gap,
    node::{Host, mount, parse},
};
use anyhow::Context as _;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// Where the kernel tells the host's name.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";
/// For how long this machine is looked at; on a well one it takes a few hundredths of a second.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Returns this host's name, as `uname -n` prints it.
///
/// # Errors
/// The file cannot be read: `/proc` is not there.
pub fn name() -> anyhow::Result<String> {
    let name = fs::read_to_string(HOSTNAME).with_context(|| format!("can't read {HOSTNAME}"))?;
    Ok(name.trim_end().to_owned())
}

/// Returns what can be seen of the machine whose root directory is `root` within `patience`, and what can't.
pub fn look(root: &Path, patience: Duration) -> (Host, Vec<Gap>) {
    let until = Instant::now() + patience;
    let mut gaps = Vec::new();
    let proc = root.join("proc");
    let mut host = Host {
        root: root.display().to_string(),
        kernel: files::text(&proc.join("sys/kernel/osrelease"))
            .ok()
            .map(|text| text.trim_end().to_owned()),
        ..Host::default()
    };
    let uptime = files::text(&proc.join("uptime")).ok();
    let uptime = uptime.as_deref().and_then(parse::uptime);
    tasks::look(&proc, uptime, until, &mut host, &mut gaps);
    match files::text(&proc.join("1/mountinfo"))
        .or_else(|_| files::text(&proc.join("self/mountinfo")))
    {
        Ok(text) => {
            host.remote = mount::mountinfo(&text);
            host.remote.retain(|mount| mount.remote);
        }
        Err(error) => gaps.push(Gap {
            what: "this host's mounts".to_owned(),
            why: format!("{}: {error}", proc.join("1/mountinfo").display()),
        }),
    }
    (host, gaps)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn the_name_is_what_uname_prints() {
        let uname = Command::new("uname").arg("-n").output().unwrap();
        assert_eq!(
            super::name().unwrap(),
            String::from_utf8(uname.stdout).unwrap().trim_end()
        );
    }
}
