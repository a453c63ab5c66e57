//! Captures that are to be written where nothing answers or nothing can be started, and captures whose program is ended
//! meanwhile.

use crate::support::{
    fuse::Fuse,
    process::{own_folder, wait_until},
    program::{self, plegdoctor, run},
};
use plegdoctor::capture::Capture;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// As long as the program waits for a disk, and room for a busy machine.
const IN_TIME: Duration = Duration::from_secs(40);

/// A file system whose server may be stopped.
struct Mounted {
    // Goes before what it lies in.
    disk: Fuse,
    root: TempDir,
}

impl Mounted {
    fn new() -> Self {
        let root = own_folder();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("served")).unwrap();
        fs::create_dir_all(at("mounted")).unwrap();
        let disk = Fuse::mount(&at("served"), &at("mounted"));
        Self { disk, root }
    }

    /// Returns the path of a capture there.
    fn capture(&self) -> String {
        let path = self.root.path().join("mounted/x.tar.gz");
        path.display().to_string()
    }
}

/// Returns what lies in a folder.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// Returns the arguments of a run that sees nothing but a file of metrics.
fn metrics_only<'a>(metrics: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let alone = [
        "--no-log",
        "--no-docker",
        "--no-host",
        "--kubelet-metrics",
        metrics,
    ];
    [more, &alone].concat()
}

#[test]
fn a_capture_on_a_file_system_that_does_not_answer_is_given_up_in_time() {
    let mounted = Mounted::new();
    mounted.disk.freeze();
    let to = mounted.capture();
    for words in [&["collect", "-o", &to][..], &["diagnose", "--save", &to]] {
        let told = run(&metrics_only("/dev/null", words));
        assert_eq!(told.code, 2, "{told:?}");
        assert!(told.err.contains("may hang"), "{told:?}");
        assert!(told.took < IN_TIME, "{:?}", told.took);
    }
    mounted.disk.thaw();
    let told = run(&metrics_only("/dev/null", &["collect", "-o", &to]));
    assert!(told.out.starts_with(&format!("{to}: ")), "{told:?}");
    assert!(Path::new(&to).is_file());
}

#[test]
fn a_node_that_can_start_nothing_more_is_captured_all_the_same() {
    /// A user of no other process.
    const NOBODY: &str = "61234";
    let here = TempDir::new().unwrap();
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(here.path(), open).unwrap();
    let at = |name: &str| here.path().join(name).display().to_string();
    fs::copy(env!("CARGO_BIN_EXE_plegdoctor"), at("plegdoctor")).unwrap();
    for words in [
        &["collect", "--no-log", "--no-docker", "-o"][..],
        &["diagnose", "--no-log", "--no-docker", "--save"],
    ] {
        let to = at(words[0]);
        let told = program::told(
            Command::new("setpriv")
                .args(["--reuid", NOBODY, "--clear-groups"])
                .args(["prlimit", "--nproc=1"])
                .arg(at("plegdoctor"))
                .args(words)
                .arg(&to)
                .stdin(Stdio::null()),
        );
        assert!(told.err.is_empty(), "{told:?}");
        assert!(told.out.contains("temporarily unavailable"), "{told:?}");
        assert!(Capture::open(Path::new(&to)).is_ok(), "{told:?}");
    }
}

#[test]
fn nothing_is_left_of_a_capture_whose_program_was_ended() {
    let here = TempDir::new().unwrap();
    let at = |name: &str| here.path().join(name).display().to_string();
    let pipe = at("metrics");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let folder: PathBuf = here.path().join("to");
    fs::create_dir(&folder).unwrap();
    let to = at("to/x.tar.gz");
    let mut running = plegdoctor(&metrics_only(&pipe, &["collect", "-o", &to]))
        .spawn()
        .unwrap();
    assert!(wait_until(IN_TIME, || !files(&folder).is_empty()));
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(wait_until(IN_TIME, || files(&folder).is_empty()));
}

#[test]
fn a_name_that_is_taken_and_a_folder_that_is_not_there_are_told() {
    let here = TempDir::new().unwrap();
    let taken = here.path().join("x.tar.gz").display().to_string();
    fs::write(&taken, "theirs").unwrap();
    for (to, why) in [
        (taken.as_str(), "already exists: name another file"),
        ("/no/such/folder/x.tar.gz", "No such file or directory"),
    ] {
        run(&metrics_only("/dev/null", &["collect", "-o", to])).refused(&[why]);
    }
    assert_eq!(fs::read_to_string(&taken).unwrap(), "theirs");
}
