//! Asks systemd for its version over D-Bus, as the kubelet and the OCI runtime do for more, beside the other looks.

use super::{
    Unseen,
    programs::{self, Answer},
};
use crate::io::files::Tree;
use crate::{
    io::gap::Gap,
    node::{Bus, Component, DEFAULT_ROOT, Host, Systemd},
};
use std::{
    fs, io,
    path::Path,
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::{Duration, Instant},
};

/// Where it is; what `PATH` says is nobody's word.
const BUSCTL: &[&str] = &["/usr/bin/busctl", "/bin/busctl"];
const QUESTION: &[&str] = &[
    "--system",
    "--no-pager",
    "get-property",
    "org.freedesktop.systemd1",
    "/org/freedesktop/systemd1",
    "org.freedesktop.systemd1.Manager",
    "Version",
];
const TOLD: &str = "systemd";
/// There is this folder where systemd is what runs (sd_booted(3)).
const RUNS: &str = "run/systemd/system";
/// What there is to say where the one who is to ask does not get to it.
const NOT_ASKED: &str =
    "busctl did not get to ask in time: the machine is too slow, or the disk hangs that it is on";
/// How long systemd may take; callers over D-Bus wait for 25 s.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long the thread may take to say that time was up.
const GRACE: Duration = Duration::from_millis(300);

#[derive(Default)]
struct Heard {
    /// What was heard; `None` if it was not asked, or nothing was written down.
    systemd: Option<Systemd>,
    /// What there is to say of what was not.
    unseen: Option<Unseen>,
}

pub(super) struct Asked(Receiver<Heard>, Instant);

pub(super) fn ask(tree: &Tree) -> io::Result<Asked> {
    let tree = tree.clone();
    let until = Instant::now() + PATIENCE;
    let (sender, receiver) = sync_channel(1);
    thread::Builder::new()
        .name("systemd".to_owned())
        // Nobody listens any more where the send fails.
        .spawn(move || drop(sender.send(heard(&tree, until))))?;
    Ok(Asked(receiver, until + GRACE))
}

/// Fills in what was heard in time; returns what there is to say of what was not.
pub(super) fn fill(asked: io::Result<Asked>, host: &mut Host) -> Option<Unseen> {
    let late = |why: String| Heard {
        unseen: Some(gap(why)),
        ..Heard::default()
    };
    let heard = match asked {
        Ok(Asked(receiver, until)) => {
            let left = until.saturating_duration_since(Instant::now());
            let heard = receiver.recv_timeout(left);
            heard.unwrap_or_else(|_| late("it was not asked in time".to_owned()))
        }
        Err(error) => late(error.to_string()),
    };
    host.systemd = heard.systemd;
    if let Some(Bus::Answered(_, version)) = host.systemd.as_ref().map(|systemd| &systemd.bus) {
        host.versions.correct(Component::Systemd, version.clone());
    }
    heard.unseen
}

fn heard(tree: &Tree, until: Instant) -> Heard {
    const STAT: &str = "proc/1/stat";
    // Kept apart: the look at all processes reads the same file at another moment.
    let before = tree.told("systemd-stat", || tree.aside().text(STAT).ok());
    let before = before
        .or_else(|| tree.aside().text(STAT).ok())
        .unwrap_or_default();
    let (mut note, mut survivor) = (None, None);
    let written = tree.told(TOLD, || match bus(tree.root(), until) {
        Ok((bus, survives)) => {
            survivor = survives;
            Some(bus.written())
        }
        Err(why) => {
            note = Some(why);
            None
        }
    });
    let Some(bus) = written.as_deref().and_then(Bus::read) else {
        let unseen = note.map(Unseen::Note);
        return Heard {
            systemd: None,
            unseen,
        };
    };
    let after = tree.later(STAT).unwrap_or_default();
    let wchan = tree.text("proc/1/wchan").ok();
    let failed = match (&bus, survivor) {
        (_, Some(pid)) => Some(programs::survives(pid)),
        (Bus::Failed(words), _) => Some(words.clone()),
        _ => None,
    };
    let systemd = Systemd::heard(bus, &before, &after, wchan.as_deref());
    Heard {
        systemd: Some(systemd),
        unseen: failed.map(|why| match is_missing(&why) {
            true => Unseen::Note(format!("left out systemd's D-Bus: {why}")),
            false => gap(why),
        }),
    }
}

/// Asks the machine's own; the error is why it was not asked.
fn bus(root: &Path, until: Instant) -> Result<(Bus, Option<u32>), String> {
    if root != Path::new(DEFAULT_ROOT) {
        return Err("left out systemd: it is asked on the machine itself only".to_owned());
    }
    if fs::symlink_metadata(root.join(RUNS)).is_err() {
        return Err("left out systemd: it is not what runs here".to_owned());
    }
    let mut words = String::new();
    for program in BUSCTL {
        match programs::ask(Path::new(program), QUESTION, until) {
            Answer::Told(printed, took) => {
                return Ok((Bus::Answered(took, Bus::version(&printed)), None));
            }
            Answer::Silent(waited, survivor) => return Ok((Bus::Silent(waited), survivor)),
            Answer::Hung(survivor) => return Ok((Bus::Failed(NOT_ASKED.to_owned()), survivor)),
            Answer::Failed(why) => {
                let missing = programs::is_not_there(&why);
                words = why;
                if !missing {
                    break;
                }
            }
        }
    }
    match programs::is_not_there(&words) {
        true => Err(format!("left out systemd's D-Bus: {words}")),
        false => Ok((Bus::Failed(words), None)),
    }
}

/// Whether the bus is not there for us: in a container, or for a user who may not use it.
fn is_missing(words: &str) -> bool {
    [
        "connect to bus: No such file",
        "ermission denied",
        "ccess denied",
    ]
    .iter()
    .any(|sign| words.contains(sign))
}

fn gap(why: String) -> Unseen {
    Unseen::Gap(Gap {
        what: "whether systemd answers over D-Bus".to_owned(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_down_is_heard_again() {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree::at(root.path());
        let again = || heard(&tree, Instant::now() + PATIENCE);
        let nothing = again();
        assert!(nothing.systemd.is_none() && nothing.unseen.is_none());
        fs::create_dir(root.path().join("told")).unwrap();
        let write = |text: &str| fs::write(root.path().join("told/systemd"), text).unwrap();
        write("silent 3.002\n");
        let silent = again();
        let bus = Bus::Silent(Duration::from_millis(3002));
        assert_eq!(silent.systemd.map(|systemd| systemd.bus), Some(bus));
        assert!(silent.unseen.is_none());
        write("failed Connection timed out\n");
        assert!(matches!(again().unseen, Some(Unseen::Gap(_))));
        write("failed Failed to connect to bus: No such file or directory\n");
        let missing = again();
        assert!(matches!(missing.unseen, Some(Unseen::Note(_))) && missing.systemd.is_some());
    }

    #[test]
    fn another_root_and_a_machine_without_systemd_are_not_asked() {
        let root = tempfile::tempdir().unwrap();
        let note = bus(root.path(), Instant::now()).unwrap_err();
        assert!(note.contains("on the machine itself only"), "{note}");
        if !Path::new("/run/systemd/system").exists() {
            let note = bus(Path::new("/"), Instant::now()).unwrap_err();
            assert!(note.contains("not what runs here"), "{note}");
        }
    }

    #[test]
    fn programs_are_named_by_their_whole_paths() {
        assert!(BUSCTL.iter().all(|path| path.starts_with('/')));
    }
}
