//! Reads the kubelet's settings: its words, and the file that they name.

use super::helper::ProcFile;
use super::{helper, programs};
use crate::io::files::Tree;
use crate::io::gap::Gap;
use crate::node;
use crate::node::{Process, Role, Settings, settings};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(1);
/// What is recorded; nothing else of the command line and the file may be.
const RECORD: &str = "kubelet-settings";

pub(super) fn scan(
    tree: &Tree,
    processes: &[Process],
    until: Instant,
) -> (Option<Settings>, Option<Gap>) {
    let Some(kubelet) = kubelet(processes) else {
        return (None, None);
    };
    let mut gap = None;
    let told = tree.told(RECORD, || {
        let (settings, unread) = read(tree, kubelet, until)?;
        gap = unread;
        Some(settings.written())
    });
    let told = told.as_deref().and_then(Settings::read);
    // A folder may hold no more than words.
    let words = kubelet.command.as_deref();
    (told.or_else(|| words.map(Settings::of_words)), gap)
}

/// The machine's kubelet: the one outside of containers, or else the only one in a container of no pod (Rancher runs it
/// so).
fn kubelet(processes: &[Process]) -> Option<&Process> {
    let all = || {
        processes
            .iter()
            .filter(|process| process.role == Role::Kubelet)
    };
    let outside = || all().filter(|process| !process.is_contained());
    match outside().next() {
        Some(_) => node::only(outside()),
        None => node::only(all().filter(|process| process.uid.is_none())),
    }
}

fn read(tree: &Tree, kubelet: &Process, until: Instant) -> Option<(Settings, Option<Gap>)> {
    let words = match &kubelet.command {
        Some(words) => words.clone(),
        // As a workload's, a contained one's words were not kept.
        None => {
            let mut files = helper::FilesRead::default();
            helper::read(tree, ProcFile::Cmdline, &[kubelet.pid], until, &mut files);
            helper::command_line(&files.files.remove(&kubelet.pid)?)
        }
    };
    let set = Settings::of_words(&words);
    // What files beside it set is not known, so neither is what it sets itself.
    let Some(file) = set
        .file
        .clone()
        .filter(|_| !Settings::has_more_files(&words))
    else {
        return Some((set, None));
    };
    let text = file_of(tree, kubelet.pid, &file, until);
    let read =
        text.and_then(|text| settings::file(&text).ok_or_else(|| "it is not YAML".to_owned()));
    Some(match read {
        Ok(read) => (set.with_file(&read), None),
        Err(why) => {
            let what = format!("the kubelet's settings in {file}");
            (set, Some(Gap::new(what, why)))
        }
    })
}

fn file_of(tree: &Tree, pid: u32, file: &str, until: Instant) -> Result<String, String> {
    let path = match file.strip_prefix('/') {
        Some(inner) => tree.path(&format!("proc/{pid}/root/{inner}")),
        None => tree.path(&format!("proc/{pid}/cwd/{file}")),
    };
    programs::read(&path, until.min(Instant::now() + TIMEOUT)).output()
}
