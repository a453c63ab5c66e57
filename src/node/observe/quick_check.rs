//! Two questions that need no look at the whole machine: where its Docker daemons are, and what has become of some
//! processes. As everywhere, nothing here waits for a sick process.

use super::helper::ProcFile;
use super::{helper, proc_scan, tasks};
use crate::io::deadline;
use crate::io::files::Tree;
use crate::node::{Host, Role, State, parse, role};
use crate::syntax::id::ContainerId;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    Absent,
    /// There is one, and its cgroup names that container, or none.
    Present(Option<ContainerId>),
}

pub fn dockerds(tree: &Tree, patience: Duration) -> Host {
    let until = Instant::now() + patience;
    let stats = proc_scan::scan(tree, until).stats;
    let named = |comm: &str| role::by_name(comm, Role::Other) == Role::Dockerd;
    let pids: Vec<u32> = stats
        .values()
        .filter(|stat| named(&stat.comm) && stat.state != State::Dead)
        .map(|stat| stat.pid)
        .collect();
    let mut told = helper::FilesRead::default();
    helper::read(tree, ProcFile::Cmdline, &pids, until, &mut told);
    let mut cgroups = helper::FilesRead::default();
    helper::read(tree, ProcFile::Cgroup, &pids, until, &mut cgroups);
    let processes = pids.iter().filter_map(|pid| {
        let mut process = tasks::process(stats.get(pid)?, Role::Dockerd);
        let cgroup = cgroups.files.get(pid);
        let cgroup = cgroup.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        (process.uid, process.container) = cgroup.as_deref().map(parse::cgroup).unwrap_or_default();
        let words = told.files.get(pid);
        process.command = words.map(|bytes| helper::command_line(bytes));
        Some(process)
    });
    Host {
        root: tree.root().display().to_string(),
        seen: stats.len(),
        processes: processes.collect(),
        ..Host::default()
    }
}

/// What is seen of these processes; what does not tell is left out.
pub fn presence(tree: &Tree, pids: Vec<u32>, patience: Duration) -> BTreeMap<u32, Presence> {
    let until = Instant::now() + patience;
    let reading = tree.clone();
    let (mut found, mut there) = (BTreeMap::new(), Vec::new());
    // Late, or without a thread: what came is true all the same.
    let _ = deadline::read_until_deadline(
        until,
        move |to| {
            for pid in pids {
                let lives = lives(&reading, pid);
                if lives.is_some_and(|lives| to.send((pid, lives)).is_err()) {
                    return;
                }
            }
        },
        &mut |(pid, lives)| {
            if lives {
                there.push(pid);
            } else {
                found.insert(pid, Presence::Absent);
            }
            true
        },
    );
    let mut cgroups = helper::FilesRead::default();
    helper::read(tree, ProcFile::Cgroup, &there, until, &mut cgroups);
    for (pid, bytes) in cgroups.files {
        let cgroup = String::from_utf8_lossy(&bytes);
        // Without cgroups nothing tells whose it is.
        if !cgroup.trim().is_empty() {
            found.insert(pid, Presence::Present(parse::cgroup(&cgroup).1));
        }
    }
    found
}

pub fn ended(tree: &Tree, pids: &[u32]) -> Vec<u32> {
    let pids = pids.iter().copied();
    pids.filter(|&pid| lives(tree, pid) == Some(false))
        .collect()
}

fn lives(tree: &Tree, pid: u32) -> Option<bool> {
    let now = || match tree.unrecorded().text(&format!("proc/{pid}/stat")) {
        Ok(text) => Some(parse::stat(&text)?.state != State::Dead),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(false),
        Err(_) => None,
    };
    // Whoever looked at all processes before may have seen it in another state: that one is kept apart.
    let told = tree.told(&format!("lives/{pid}"), || now().map(|it| it.to_string()));
    match told {
        Some(told) => told.trim().parse().ok(),
        None if tree.is_live() => None,
        None => now(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ID: &str = "b15929dfcea116df995b79d3dec656be07e9652f4685064f9d27cfc0b7d857b0";

    #[test]
    fn a_process_is_there_with_its_container_or_gone() {
        let root = tempfile::tempdir().unwrap();
        let put = |pid: u32, state: char, cgroup: &str| {
            let folder = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            let stat =
                format!("{pid} (sh) {state} 1 1 1 0 -1 4194560 1 1 0 0 1 1 0 0 20 0 1 0 5 1 1 1\n");
            fs::write(folder.join("stat"), stat).unwrap();
            fs::write(folder.join("cgroup"), cgroup).unwrap();
        };
        put(7, 'S', &format!("4:pids:/kubepods/podx/{ID}\n"));
        put(8, 'S', "4:pids:/user.slice\n");
        put(9, 'Z', "4:pids:/\n");
        put(10, 'S', "");
        let seen = presence(
            &Tree::at(root.path()),
            vec![6, 7, 8, 9, 10],
            Duration::from_secs(9),
        );
        let id = ContainerId::parse(ID);
        let expected = [
            (6, Presence::Absent),
            (7, Presence::Present(id)),
            (8, Presence::Present(None)),
            (9, Presence::Absent),
        ];
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
    }
}
