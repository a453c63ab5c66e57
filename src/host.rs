//! This machine, as the kernel tells it; only this file and its folder read `/proc` and `/sys`.
//!
//! Nothing here waits for a sick process. What the kernel answers by itself (`stat`, `wchan`, `stack`, `mountinfo`)
//! is read in a thread that is left behind when time is up; what takes a process's own locks (`cmdline`) is read by
//! a child that is killed. Nothing is asked of a file system that may be remote: no `stat`, no `statfs`, no listing.

mod files;
mod pressure;
mod tasks;
mod watch;
pub mod words;

use crate::{
    evidence::Gap,
    log::pump::{self, Ended},
    node::{Host, KernelLine, Mount, Pressure, Role, mount, parse},
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

/// How long mounts and pressures may take, however long the processes took.
const AT_LEAST: Duration = Duration::from_millis(300);

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
    look_around(root, uptime, until, &mut host, &mut gaps);
    (host, gaps)
}

/// What is seen of the machine as a whole.
enum Part {
    Mounts(Vec<Mount>),
    Pressure(Pressure),
    Kernel(Vec<KernelLine>),
    Unseen(Gap),
}

/// Fills in mounts, pressures and the kernel's words.
fn look_around(
    root: &Path,
    uptime: Option<Duration>,
    until: Instant,
    host: &mut Host,
    gaps: &mut Vec<Gap>,
) {
    let daemon = |role| matches!(role, Role::Dockerd | Role::Containerd | Role::Kubelet);
    let processes = host.processes.iter();
    let daemons: Vec<u32> = processes
        .filter(|process| daemon(process.role))
        .map(|process| process.pid)
        .collect();
    let root = root.to_owned();
    let ended = pump::pump(
        // Not nothing where the processes took all the time.
        until.max(Instant::now() + AT_LEAST),
        move |to| {
            // Nobody listens any more where a send fails.
            drop(to.send(mounts(&root)));
            drop(to.send(Part::Pressure(pressure::look(&root, &daemons))));
            drop(to.send(kernel(&root, uptime.unwrap_or_default())));
        },
        &mut |part| {
            match part {
                Part::Mounts(remote) => host.remote = remote,
                Part::Pressure(pressure) => host.pressure = pressure,
                Part::Kernel(lines) => host.kernel_lines = lines,
                Part::Unseen(gap) => gaps.push(gap),
            }
            true
        },
    );
    if !matches!(ended, Ok(Ended::Whole)) {
        gaps.push(Gap {
            what: "this host's mounts, pressures and kernel messages".to_owned(),
            why: "not all could be read in time".to_owned(),
        });
    }
}

fn mounts(root: &Path) -> Part {
    let file = root.join("proc/1/mountinfo");
    match files::text(&file) {
        Ok(text) => {
            let mut mounts = mount::mountinfo(&text);
            mounts.retain(|mount| mount.remote);
            Part::Mounts(mounts)
        }
        Err(error) => Part::Unseen(Gap {
            what: "this host's mounts".to_owned(),
            why: format!("{}: {error}", file.display()),
        }),
    }
}

fn kernel(root: &Path, uptime: Duration) -> Part {
    match pressure::kernel_lines(root, uptime) {
        Ok(lines) => Part::Kernel(lines),
        // A recording need not have them.
        Err(_) if !files::is_live(&root.join("proc")) => Part::Kernel(Vec::new()),
        Err(error) => Part::Unseen(Gap {
            what: "the kernel's messages".to_owned(),
            why: format!(
                "{}: {error} (root may read them)",
                root.join("dev/kmsg").display()
            ),
        }),
    }
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
