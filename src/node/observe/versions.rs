//! Asks the daemons' own programs for their versions, all at a time.

use super::background::spawn;
use super::programs;
use super::programs::Reply;
use crate::io::files::Tree;
use crate::io::gap::Gap;
use crate::node::{Component, DEFAULT_ROOT, Process, Role, Versions, component};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(1);
/// How long the thread may take to say that time was up, or what was recorded.
const GRACE: Duration = Duration::from_millis(250);
const RECORDED: Duration = Duration::from_secs(60);
/// systemd's own programs print its version.
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

/// What the programs behind these processes print. Only those that the machine itself runs are run: not one within a
/// container, and not with another root.
pub(super) fn scan(tree: &Tree, processes: &[Process], until: Instant) -> (Versions, Vec<Gap>) {
    let (mut versions, mut gaps) = (Versions::default(), Vec::new());
    let until = until.min(Instant::now() + TIMEOUT);
    let is_here = tree.is_live() && tree.root() == Path::new(DEFAULT_ROOT);
    let asked = Component::ALL.map(|component| {
        let programs = is_here.then(|| programs_of(component, tree, processes));
        let tree = tree.clone();
        let pending = spawn("versions", move || {
            let mut survivor = None;
            let name = format!("versions/{}", component.name());
            let printed = tree.told(&name, || {
                let printed = run(&programs.unwrap_or_default(), until);
                printed.unwrap_or_else(|pid| {
                    survivor = Some(pid);
                    None
                })
            });
            (printed, survivor)
        });
        (component, pending)
    });
    // Killing a child comes on top; what was recorded takes as long as it takes.
    let until = until + if tree.is_live() { GRACE } else { RECORDED };
    for (component, pending) in asked {
        // One that can't be asked stays unknown.
        let Ok((printed, survivor)) = pending.wait(until) else {
            continue;
        };
        let printed = printed.unwrap_or_default();
        versions.learn(component, component::printed(component, &printed));
        gaps.extend(survivor.map(|pid| {
            Gap::new(
                format!("the version of {}", component.name()),
                programs::stuck_child(pid),
            )
        }));
    }
    (versions, gaps)
}

/// What the first of these programs that is there prints; the error is a child that survived KILL.
fn run(programs: &[PathBuf], until: Instant) -> Result<Option<String>, u32> {
    for program in programs {
        match programs::run(program, &["--version"], until) {
            Reply::Output(printed, _) => return Ok(Some(printed)),
            Reply::Failed(why) if programs::is_not_there(&why) => {}
            Reply::TimedOut(_, Some(pid)) | Reply::Stuck(Some(pid)) => return Err(pid),
            Reply::Failed(_) | Reply::TimedOut(..) | Reply::Stuck(_) => break,
        }
    }
    Ok(None)
}

fn programs_of(component: Component, tree: &Tree, processes: &[Process]) -> Vec<PathBuf> {
    let of = |role| running(tree, processes, role);
    match component {
        Component::Systemd => paths(SYSTEMCTL),
        Component::Dockerd => of(Role::Dockerd).into_iter().collect(),
        Component::Containerd => of(Role::Containerd).into_iter().collect(),
        Component::Kubelet => of(Role::Kubelet).into_iter().collect(),
        // Only where something calls it.
        Component::Runc => of(Role::Containerd)
            .or_else(|| of(Role::Dockerd))
            .map_or_else(Vec::new, |_| paths(RUNC)),
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
        let (versions, _) = scan(&Tree::at(root.path()), &[], Instant::now());
        let told: Vec<_> = versions
            .iter()
            .map(|(component, version)| (component, version.as_str()))
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
