//! Asks the daemons' own programs for their versions, all at a time.

use super::{
    files,
    programs::{self, Answer},
};
use crate::{
    evidence::Gap,
    node::{DEFAULT_ROOT, Process, Role, Tool, Versions, tool},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::mpsc::sync_channel,
    thread,
    time::{Duration, Instant},
};

/// How long a program may take; an ordinary one needs a tenth of that.
const PATIENCE: Duration = Duration::from_secs(1);
/// Where the answers were written down, one file for each program.
const TOLD: &str = "told/versions";
/// Where systemd's own words come from; it asks nobody for its version.
const SYSTEMCTL: &[&str] = &["/usr/bin/systemctl", "/bin/systemctl"];
/// Where containerd looks for runc (the usual PATH of units).
const RUNC: &[&str] = &[
    "/usr/local/sbin/runc",
    "/usr/local/bin/runc",
    "/usr/sbin/runc",
    "/usr/bin/runc",
    "/sbin/runc",
    "/bin/runc",
];

/// Returns what the programs behind these processes say. Only those that the machine itself runs are asked: not one
/// within a container, and not with another root.
pub(super) fn look(root: &Path, processes: &[Process], until: Instant) -> (Versions, Vec<Gap>) {
    let proc = root.join("proc");
    let (mut versions, mut gaps) = (Versions::default(), Vec::new());
    if !files::is_live(&proc) {
        for tool in Tool::ALL {
            let printed = files::text(&root.join(TOLD).join(tool.name())).unwrap_or_default();
            versions.learn(tool, tool::printed(tool, &printed));
        }
        return (versions, gaps);
    }
    if root != Path::new(DEFAULT_ROOT) {
        return (versions, gaps);
    }
    let until = until.min(Instant::now() + PATIENCE);
    let (sender, receiver) = sync_channel(Tool::ALL.len());
    for tool in Tool::ALL {
        let (programs, sender) = (programs_of(tool, &proc, processes), sender.clone());
        // Nobody listens any more where the send fails.
        let asking = move || drop(sender.send((tool, ask(&programs, until))));
        let _ = thread::Builder::new()
            .name("versions".to_owned())
            .spawn(asking);
    }
    drop(sender);
    loop {
        // A child's last breath comes on top.
        let left = (until + PATIENCE / 4).saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok((tool, Ok(printed))) => versions.learn(tool, tool::printed(tool, &printed)),
            Ok((tool, Err(pid))) => gaps.push(Gap {
                what: format!("the version of {}", tool.name()),
                why: programs::survives(pid),
            }),
            Err(_) => return (versions, gaps),
        }
    }
}

/// Returns what the first of these programs that is there prints, or else the child that the kernel does not let die.
fn ask(programs: &[PathBuf], until: Instant) -> Result<String, u32> {
    for program in programs {
        match programs::ask(program, &["--version"], until) {
            Answer::Told(printed, _) => return Ok(printed),
            Answer::Failed(why) if programs::is_not_there(&why) => {}
            Answer::Silent(_, Some(pid)) => return Err(pid),
            // One that can't be asked stays unknown.
            Answer::Failed(_) | Answer::Silent(..) => break,
        }
    }
    Ok(String::new())
}

fn programs_of(tool: Tool, proc: &Path, processes: &[Process]) -> Vec<PathBuf> {
    let of = |role| running(proc, processes, role);
    match tool {
        Tool::Systemd => paths(SYSTEMCTL),
        Tool::Dockerd => of(Role::Dockerd).into_iter().collect(),
        Tool::Containerd => of(Role::Containerd).into_iter().collect(),
        Tool::Kubelet => of(Role::Kubelet).into_iter().collect(),
        // Only where something calls it.
        Tool::Runc => match of(Role::Containerd).or_else(|| of(Role::Dockerd)) {
            Some(_) => paths(RUNC),
            None => Vec::new(),
        },
    }
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// Returns the program that the machine's daemons of that role run: its path, if it is one, means the same to us, and
/// is called as it should be. (A link's target is the kernel's word, not the process's.)
fn running(proc: &Path, processes: &[Process], role: Role) -> Option<PathBuf> {
    let link = |pid: &str, name: &str| fs::read_link(proc.join(pid).join(name)).ok();
    let here = link("self", "ns/mnt")?;
    let mut found = BTreeSet::new();
    for process in processes {
        let pid = process.pid.to_string();
        if process.role == role
            && !process.is_contained()
            && link(&pid, "ns/mnt").as_ref() == Some(&here)
        {
            found.extend(link(&pid, "exe"));
        }
    }
    let program = found.pop_first().filter(|_| found.is_empty())?;
    let name = program.file_name()?.to_str()?;
    let names: &[&str] = match role {
        Role::Dockerd => &["dockerd", "dockerd-current"],
        Role::Containerd => &[
            "containerd",
            "docker-containerd",
            "docker-containerd-current",
        ],
        Role::Kubelet => &["kubelet"],
        _ => &[],
    };
    names.contains(&name).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_down_is_read_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(TOLD);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("kubelet"), "Kubernetes v1.20.2\n").unwrap();
        fs::write(folder.join("runc"), "sh: runc: not found\n").unwrap();
        let (versions, _) = look(root.path(), &[], Instant::now());
        let told: Vec<_> = versions
            .iter()
            .map(|(tool, version)| (tool, version.as_str()))
            .collect();
        assert_eq!(told, [(Tool::Kubelet, "v1.20.2")]);
    }

    #[test]
    fn programs_are_named_by_their_whole_paths() {
        assert!(
            SYSTEMCTL
                .iter()
                .chain(RUNC)
                .all(|path| path.starts_with('/'))
        );
    }
}
