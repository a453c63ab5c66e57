//! Reads the kubelet's settings: its words, and the file that they name.

use super::{
    files,
    programs::{self, Answer},
    words,
};
use crate::{
    evidence::Gap,
    node::{self, Process, Role, Settings, settings},
};
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// How long the file may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// Where what matters of the file was written down, by the kubelet's number.
const TOLD: &str = "told/kubelet-config";

/// Returns the settings of the machine's kubelet, if there is one alone, and what could not be read.
pub(super) fn look(
    root: &Path,
    processes: &[Process],
    until: Instant,
) -> (Option<Settings>, Option<Gap>) {
    let Some(kubelet) = kubelet(processes) else {
        return (None, None);
    };
    let proc = root.join("proc");
    let words = match &kubelet.command {
        Some(words) => words.clone(),
        // As for a workload, a contained one's words were not kept: of these only the settings are.
        None => {
            let mut told = words::Told::default();
            words::read(&proc, &[kubelet.pid], until, &mut told);
            told.words.remove(&kubelet.pid).unwrap_or_default()
        }
    };
    if words.is_empty() {
        return (None, None);
    }
    let set = Settings::of_words(&words);
    // What files beside it set is not known, so neither is what it sets itself.
    let Some(file) = set
        .file
        .clone()
        .filter(|_| !Settings::has_more_files(&words))
    else {
        return (Some(set), None);
    };
    match read(root, kubelet.pid, &file, until) {
        Ok(None) => (Some(set), None),
        Ok(Some(text)) => match settings::file(&text) {
            Some(read) => (Some(set.with_file(&read)), None),
            None => (Some(set), Some(gap(&file, "it is no YAML".to_owned()))),
        },
        Err(why) => (Some(set), Some(gap(&file, why))),
    }
}

/// Returns the machine's kubelet: the one outside of containers, or else the only one in a container of no pod (Rancher
/// runs it so).
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

/// Returns the file's text, as the kubelet sees it; `None` if nothing was written down.
fn read(root: &Path, pid: u32, file: &str, until: Instant) -> Result<Option<String>, String> {
    let proc = root.join("proc");
    if !files::is_live(&proc) {
        return Ok(files::text(&root.join(TOLD)).ok());
    }
    let own = proc.join(format!("{pid}/root"));
    let path = match file.strip_prefix('/') {
        Some(inner) => own.join(inner),
        None => proc.join(format!("{pid}/cwd")).join(file),
    };
    match programs::read(&path, until.min(Instant::now() + PATIENCE)) {
        Answer::Told(text, _) => Ok(Some(text)),
        Answer::Failed(why) => Err(why),
        Answer::Silent(_, Some(pid)) => Err(programs::survives(pid)),
        Answer::Silent(_, None) => Err("not read in time".to_owned()),
    }
}

fn gap(file: &str, why: String) -> Gap {
    Gap {
        what: format!("the kubelet's settings in {file}"),
        why,
    }
}
