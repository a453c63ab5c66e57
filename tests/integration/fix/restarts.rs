//! What restarts is done only if two sources agree and a second look still asks for it.
//!
//! The machine is played: a process and mount namespace with a Docker at its usual place that answers or does not, and
//! a `systemctl` that notes what it is told.

use super::{Place, outcomes};
use crate::support::replay::{Play, Played};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// A machine whose Docker answers once there is a file `well` in its folder; a restart makes one.
struct Machine {
    folder: TempDir,
    docker: Played,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/sh\ncd {}\necho \"$*\" >> called\n\
             case $1 in restart) touch well ;; esac\n\
             echo LoadState=loaded; [ -e well ] && echo MainPID=4711 || echo MainPID=0\n",
            folder.path().display()
        );
        let program = folder.path().join("systemctl");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let well = folder.path().join("well");
        let docker = Played::start(move |asked| match well.exists() {
            true if asked.contains("/_ping") => Play::ok("OK"),
            true if asked.contains("/containers/json") => Play::ok("[]"),
            true => Play::ok("{}"),
            false => Play::Never,
        });
        Self { folder, docker }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns what systemctl was told to restart.
    fn restarted(&self) -> Vec<String> {
        let called = fs::read_to_string(self.path().join("called")).unwrap_or_default();
        let restarts = called.lines().filter(|line| line.starts_with("restart"));
        restarts.map(str::to_owned).collect()
    }

    /// Writes a kubelet's log whose last list of containers was not answered.
    fn log(&self) -> String {
        let time = Command::new("date")
            .args(["-u", "-d", "2 seconds ago", "+%m%d %H:%M:%S.%6N"])
            .output()
            .unwrap();
        let time = String::from_utf8(time.stdout).unwrap();
        let path = self.path().join("kubelet.log");
        let line = format!(
            "E{}    2261 generic.go:205] GenericPLEG: Unable to retrieve pods: rpc error: code = DeadlineExceeded desc = context deadline exceeded\n",
            time.trim()
        );
        fs::write(&path, line).unwrap();
        path.display().to_string()
    }

    /// Runs `diagnose --fix` there, and calls `looking` once it says that it looks a second time; returns its report.
    fn fixed(&self, place: &Place, log: &[&str], looking: impl FnOnce()) -> Value {
        let words = [
            "diagnose --fix --yes --max-risk node --confirm-after 2s --settle 2s --probe-timeout 1s",
            "--no-kubelet --format json --docker-host unix:///var/run/docker.sock --utc-offset +00:00",
            &log.join(" "),
        ];
        let script = format!(
            "mount -t tmpfs none /run && touch /run/docker.sock && mount --bind {} /run/docker.sock && {} {}; exit $?",
            self.docker.endpoint().trim_start_matches("unix://"),
            env!("CARGO_BIN_EXE_plegdoctor"),
            words.join(" ")
        );
        let mut command = Command::new("unshare");
        command.args(["-m", "-p", "-f", "--mount-proc", "sh", "-c", &script]);
        let mut child = command
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.path().display()))
            .current_dir(place.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let second = lines.find(|line| line.as_ref().unwrap().contains("Checking once more"));
        if second.is_some() {
            looking();
        }
        let mut out = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut out)
            .unwrap();
        let rest: Vec<_> = lines.map(Result::unwrap).collect();
        child.wait().unwrap();
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{rest:?}"))
    }
}

#[test]
fn on_the_word_of_one_source_nothing_is_restarted() {
    let (machine, place) = (Machine::new(), Place::new());
    let report = machine.fixed(&place, &["--no-log"], || panic!("no second look is due"));
    assert_eq!(
        outcomes(&report),
        [("restart-unit", "suspected")],
        "{report:#}"
    );
    assert_eq!(machine.restarted(), [""; 0]);
    place.is_empty();
}

#[test]
fn docker_is_restarted_once_a_second_look_still_asks_for_it() {
    let (machine, place) = (Machine::new(), Place::new());
    let log = machine.log();
    let report = machine.fixed(&place, &["--log", &log], || {
        assert_eq!(machine.restarted(), [""; 0]);
    });
    assert_eq!(outcomes(&report), [("restart-unit", "done")], "{report:#}");
    assert_eq!(
        machine.restarted(),
        ["restart --no-ask-password docker.service"]
    );
    let proof = report["actions"][0]["proof"].as_str().unwrap();
    assert!(proof.starts_with("Docker answered a ping"), "{proof}");
    assert_eq!(place.audit().len(), 2);
}

#[test]
fn what_is_over_by_the_second_look_is_not_restarted_for() {
    let (machine, place) = (Machine::new(), Place::new());
    let log = machine.log();
    let report = machine.fixed(&place, &["--log", &log], || {
        fs::write(machine.path().join("well"), "").unwrap();
    });
    assert_eq!(
        outcomes(&report),
        [("restart-unit", "not_needed")],
        "{report:#}"
    );
    assert_eq!(machine.restarted(), [""; 0]);
    assert!(place.audit().is_empty());
}
