//! Asks the daemons' own programs for their versions, all at a time.

use super::programs::{self, Answer};
use crate::io::files::Tree;
use crate::{
    io::gap::Gap,
    node::{Component, DEFAULT_ROOT, Process, Role, Versions, component},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::mpsc::sync_channel,
    thread,
    time::{Duration, Instant},
};

/// How long a program may take; an ordinary one needs a tenth of that.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the thread may take to say that time was up, or what was recorded.
const GRACE: Duration = Duration::from_millis(250);
const RECORDED: Duration = Duration::from_secs(60);
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

/// What the programs behind these processes say. Only those that the machine itself runs are asked: not one within a
/// container, and not with another root.
pub(super) fn look(tree: &Tree, processes: &[Process], until: Instant) -> (Versions, Vec<Gap>) {
    let (mut versions, mut gaps) = (Versions::default(), Vec::new());
    let until = until.min(Instant::now() + PATIENCE);
    let (sender, receiver) = sync_channel(Component::ALL.len());
    for tool in Component::ALL {
        let programs = match tree.is_live() && tree.root() == Path::new(DEFAULT_ROOT) {
            true => programs_of(tool, tree, processes),
            false => Vec::new(),
        };
        let (tree, sender) = (tree.clone(), sender.clone());
        let asking = move || {
            let mut survivor = None;
            let name = format!("versions/{}", tool.name());
            let printed = tree.told(&name, || match ask(&programs, until) {
                Ok(printed) => printed,
                Err(pid) => {
                    survivor = Some(pid);
                    None
                }
            });
            // Nobody listens any more where the send fails.
            drop(sender.send((tool, printed, survivor)));
        };
        // What can't be asked stays unknown.
        drop(
            thread::Builder::new()
                .name("versions".to_owned())
                .spawn(asking),
        );
    }
    drop(sender);
    loop {
        // A child's last breath comes on top; what was recorded takes as long as it takes.
        let until = if tree.is_live() {
            until + GRACE
        } else {
            until + RECORDED
        };
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok((tool, printed, survivor)) => {
                let printed = printed.unwrap_or_default();
                versions.learn(tool, component::printed(tool, &printed));
                gaps.extend(survivor.map(|pid| Gap {
                    what: format!("the version of {}", tool.name()),
                    why: programs::survives(pid),
                }));
            }
            Err(_) => return (versions, gaps),
        }
    }
}

/// What the first of these programs that is there prints; the error is the child that the kernel does not let die.
fn ask(programs: &[PathBuf], until: Instant) -> Result<Option<String>, u32> {
    for program in programs {
        match programs::ask(program, &["--version"], until) {
            Answer::Told(printed, _) => return Ok(Some(printed)),
            Answer::Failed(why) if programs::is_not_there(&why) => {}
            Answer::Silent(_, Some(pid)) | Answer::Hung(Some(pid)) => return Err(pid),
            // One that can't be asked stays unknown.
            Answer::Failed(_) | Answer::Silent(..) | Answer::Hung(_) => break,
        }
    }
    Ok(None)
}

fn programs_of(tool: Component, tree: &Tree, processes: &[Process]) -> Vec<PathBuf> {
    let of = |role| running(tree, processes, role);
    match tool {
        Component::Systemd => paths(SYSTEMCTL),
        Component::Dockerd => of(Role::Dockerd).into_iter().collect(),
        Component::Containerd => of(Role::Containerd).into_iter().collect(),
        Component::Kubelet => of(Role::Kubelet).into_iter().collect(),
        // Only where something calls it.
        Component::Runc => match of(Role::Containerd).or_else(|| of(Role::Dockerd)) {
            Some(_) => paths(RUNC),
            None => Vec::new(),
        },
    }
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// The program that the machine's daemons of that role run: its path, if it is one, means the same to us, and is called
/// as it should be. (A link's target is the kernel's word, not the process's.)
fn running(tree: &Tree, processes: &[Process], role: Role) -> Option<PathBuf> {
    let link = |pid: &str, name: &str| tree.link(&format!("proc/{pid}/{name}")).ok();
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
    let program = found
        .pop_first()
        .map(PathBuf::from)
        .filter(|_| found.is_empty())?;
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
    use std::fs;

    #[test]
    fn what_was_written_down_is_read_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("told/versions");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("kubelet"), "Kubernetes v1.20.2\n").unwrap();
        fs::write(folder.join("runc"), "sh: runc: not found\n").unwrap();
        let (versions, _) = look(&Tree::at(root.path()), &[], Instant::now());
        let told: Vec<_> = versions
            .iter()
            .map(|(tool, version)| (tool, version.as_str()))
            .collect();
        assert_eq!(told, [(Component::Kubelet, "v1.20.2")]);
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
