//! Asks systemd for its version over D-Bus, as the kubelet and the OCI runtime do for more, beside the other looks.

use super::background::{Pending, spawn};
use super::programs::Reply;
use super::{Unobserved, programs};
use crate::io::files::Tree;
use crate::node::{Bus, Component, DEFAULT_ROOT, Host, Systemd};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

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
const RECORD: &str = "systemd";
/// There is this folder where systemd is what runs (sd_booted(3)).
const BOOTED: &str = "run/systemd/system";
const NOT_ASKED: &str =
    "busctl did not start in time: the node is too slow, or the disk with busctl hangs";
/// How long systemd may take; callers over D-Bus wait for 25 s.
const TIMEOUT: Duration = Duration::from_secs(3);
/// How long the thread may take to say that time was up.
const GRACE: Duration = Duration::from_millis(300);

#[derive(Default)]
struct Answer {
    /// `None` if it was not asked, or nothing was recorded.
    systemd: Option<Systemd>,
    unobserved: Option<Unobserved>,
}

pub(super) struct Asked(Pending<Answer>, Instant);

pub(super) fn ask(tree: &Tree) -> Asked {
    let tree = tree.clone();
    let until = Instant::now() + TIMEOUT;
    let pending = spawn("systemd", move || query(&tree, until));
    Asked(pending, until + GRACE)
}

pub(super) fn fill(Asked(pending, until): &Asked, host: &mut Host) -> Option<Unobserved> {
    let answer = pending.wait(*until).unwrap_or_else(|why| Answer {
        unobserved: Some(gap(why)),
        ..Answer::default()
    });
    host.systemd = answer.systemd;
    if let Some(Bus::Answered(_, version)) = host.systemd.as_ref().map(|systemd| &systemd.bus) {
        host.versions.correct(Component::Systemd, version.clone());
    }
    answer.unobserved
}

fn query(tree: &Tree, until: Instant) -> Answer {
    const STAT: &str = "proc/1/stat";
    // Recorded apart: the scan of all processes reads the same file at another moment.
    let before = tree.told("systemd-stat", || tree.unrecorded().text(STAT).ok());
    let before = before
        .or_else(|| tree.unrecorded().text(STAT).ok())
        .unwrap_or_default();
    let (mut note, mut survivor) = (None, None);
    let written = tree.told(RECORD, || match bus(tree.root(), until) {
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
        return Answer {
            systemd: None,
            unobserved: note.map(Unobserved::Note),
        };
    };
    let after = tree.later(STAT).unwrap_or_default();
    let wchan = tree.text("proc/1/wchan").ok();
    let failed = match (&bus, survivor) {
        (_, Some(pid)) => Some(programs::stuck_child(pid)),
        (Bus::Failed(words), _) => Some(words.clone()),
        _ => None,
    };
    Answer {
        systemd: Some(Systemd::heard(bus, &before, &after, wchan.as_deref())),
        unobserved: failed.map(|why| {
            if is_missing(&why) {
                Unobserved::Note(format!("skipped systemd's D-Bus: {why}"))
            } else {
                gap(why)
            }
        }),
    }
}

fn bus(root: &Path, until: Instant) -> Result<(Bus, Option<u32>), String> {
    if root != Path::new(DEFAULT_ROOT) {
        return Err("skipped systemd: it can only be asked on the node itself".to_owned());
    }
    if fs::symlink_metadata(root.join(BOOTED)).is_err() {
        return Err("skipped systemd: not the init system here".to_owned());
    }
    let mut missing = String::new();
    for program in BUSCTL {
        return Ok(match programs::run(Path::new(program), QUESTION, until) {
            Reply::Output(printed, took) => (Bus::Answered(took, Bus::version(&printed)), None),
            Reply::TimedOut(waited, survivor) => (Bus::Silent(waited), survivor),
            Reply::Stuck(survivor) => (Bus::Failed(NOT_ASKED.to_owned()), survivor),
            Reply::Failed(why) if programs::is_not_there(&why) => {
                missing = why;
                continue;
            }
            Reply::Failed(why) => (Bus::Failed(why), None),
        });
    }
    Err(format!("skipped systemd's D-Bus: {missing}"))
}

fn is_missing(words: &str) -> bool {
    [
        "connect to bus: No such file",
        "ermission denied",
        "ccess denied",
    ]
    .iter()
    .any(|sign| words.contains(sign))
}

fn gap(why: String) -> Unobserved {
    Unobserved::gap("whether systemd responds over D-Bus", why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_down_is_heard_again() {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree::at(root.path());
        let again = || query(&tree, Instant::now() + TIMEOUT);
        let nothing = again();
        assert!(nothing.systemd.is_none() && nothing.unobserved.is_none());
        fs::create_dir(root.path().join("told")).unwrap();
        let write = |text: &str| fs::write(root.path().join("told/systemd"), text).unwrap();
        write("silent 3.002\n");
        let silent = again();
        let bus = Bus::Silent(Duration::from_millis(3002));
        assert_eq!(silent.systemd.map(|systemd| systemd.bus), Some(bus));
        assert!(silent.unobserved.is_none());
        write("failed Connection timed out\n");
        assert!(matches!(again().unobserved, Some(Unobserved::Gap(_))));
        write("failed Failed to connect to bus: No such file or directory\n");
        let missing = again();
        assert!(
            matches!(missing.unobserved, Some(Unobserved::Note(_))) && missing.systemd.is_some()
        );
    }

    #[test]
    fn another_root_and_a_machine_without_systemd_are_not_asked() {
        let root = tempfile::tempdir().unwrap();
        let note = bus(root.path(), Instant::now()).unwrap_err();
        assert!(note.contains("on the node itself"), "{note}");
        if !Path::new("/run/systemd/system").exists() {
            let note = bus(Path::new("/"), Instant::now()).unwrap_err();
            assert!(note.contains("not the init system here"), "{note}");
        }
    }

    #[test]
    fn programs_are_named_by_their_whole_paths() {
        assert!(BUSCTL.iter().all(|path| path.starts_with('/')));
    }
}
