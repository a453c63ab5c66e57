//! Two questions that need no look at the whole machine: where its Docker daemons are, and what has become of some
//! processes. As everywhere, nothing here waits for a sick process.

use super::{files::Tree, tasks, walk, words};
use crate::{
    id::ContainerId,
    log::pump,
    node::{Host, Role, State, parse, role},
};
use std::{
    collections::BTreeMap,
    io::ErrorKind,
    time::{Duration, Instant},
};

/// What was seen of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// There is none of that number, or only its exit status.
    Absent,
    /// There is one, and its cgroup names that container, or none.
    Present(Option<ContainerId>),
}

/// Returns the machine's Docker daemons with their words, and nothing else of it.
pub fn dockerds(tree: &Tree, patience: Duration) -> Host {
    let until = Instant::now() + patience;
    let stats = walk::walk(tree, until).stats;
    let named = |comm: &str| role::by_name(comm, Role::Other) == Role::Dockerd;
    let pids: Vec<u32> = stats
        .values()
        .filter(|stat| named(&stat.comm) && stat.state != State::Dead)
        .map(|stat| stat.pid)
        .collect();
    let mut told = words::Told::default();
    words::read(tree, &pids, until, &mut told);
    let processes = pids.iter().filter_map(|pid| {
        let mut process = tasks::process(stats.get(pid)?, Role::Dockerd);
        let cgroup = tree.text(&format!("proc/{pid}/cgroup")).ok();
        (process.uid, process.container) = cgroup.as_deref().map(parse::cgroup).unwrap_or_default();
        process.command = told.words.remove(pid);
        Some(process)
    });
    Host {
        root: tree.root().display().to_string(),
        seen: stats.len(),
        processes: processes.collect(),
        ..Host::default()
    }
}

/// Returns what is seen of these processes; what does not tell is left out.
pub fn presence(tree: &Tree, pids: Vec<u32>, patience: Duration) -> BTreeMap<u32, Presence> {
    let tree = tree.clone();
    let mut found = BTreeMap::new();
    // Late, or without a thread: what came is true all the same.
    let _ = pump::pump(
        Instant::now() + patience,
        move |to| {
            for pid in pids {
                let seen = look(&tree, pid);
                if seen.is_some_and(|seen| to.send((pid, seen)).is_err()) {
                    return;
                }
            }
        },
        &mut |(pid, seen)| {
            found.insert(pid, seen);
            true
        },
    );
    found
}

fn look(tree: &Tree, pid: u32) -> Option<Presence> {
    let stat = match tree.text(&format!("proc/{pid}/stat")) {
        Ok(text) => parse::stat(&text)?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(Presence::Absent),
        Err(_) => return None,
    };
    if stat.state == State::Dead {
        return Some(Presence::Absent);
    }
    let cgroup = tree.text(&format!("proc/{pid}/cgroup")).ok()?;
    // Without cgroups nothing tells whose it is.
    let told = !cgroup.trim().is_empty();
    told.then(|| Presence::Present(parse::cgroup(&cgroup).1))
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
