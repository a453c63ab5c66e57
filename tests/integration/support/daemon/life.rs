//! The private daemon's life: started, frozen, killed, started again, and taken away with all it made.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use super::{Daemon, IMAGE, PATIENCE};
use crate::support::{
    http,
    process::{freeze, of, own_folder, remove_cgroups, signal, unmount_below, wait_until},
};
use std::{
    cell::RefCell,
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

impl Daemon {
    /// Starts a daemon without containers.
    pub(crate) fn start() -> Self {
        // On a disk (an immutable file needs one) and with a short path: a socket's has at most 107 bytes.
        let root = own_folder();
        // The file in place of the machine's. Layers must be Docker's own, not containerd's snapshots.
        let settings = r#"{"features": {"containerd-snapshotter": false}}"#;
        fs::write(root.path().join("daemon.json"), settings).unwrap();
        write_runtime(root.path());
        let dockerd = RefCell::new(spawn(root.path()));
        let daemon = Self {
            root,
            dockerd,
            obstacles: RefCell::default(),
        };
        daemon.wait_for_ping();
        daemon.import_image();
        daemon
    }

    /// Stops dockerd as SIGSTOP does: its socket takes connections and nobody answers.
    pub(crate) fn freeze_dockerd(&self) {
        freeze(self.dockerd_pid().unwrap());
    }

    /// Undoes `freeze_dockerd`.
    pub(crate) fn thaw_dockerd(&self) {
        if let Some(pid) = self.dockerd_pid() {
            signal(pid, "CONT");
        }
    }

    /// Stops containerd: dockerd answers what it knows by itself.
    pub(crate) fn freeze_containerd(&self) {
        freeze(self.containerd_pid().unwrap());
    }

    /// Undoes `freeze_containerd`.
    pub(crate) fn thaw_containerd(&self) {
        if let Some(pid) = self.containerd_pid() {
            signal(pid, "CONT");
        }
    }

    /// Kills containerd; dockerd starts another unless it is stopped.
    pub(crate) fn kill_containerd(&self) {
        let pid = self.containerd_pid().unwrap();
        signal(pid, "KILL");
        // Its parent may be stopped, and leave it a zombie, which has no words.
        let command = format!("/proc/{pid}/cmdline");
        let gone = || fs::read(&command).unwrap_or_default().is_empty();
        assert!(wait_until(PATIENCE, gone), "containerd must end");
    }

    /// Waits until dockerd has a containerd again.
    pub(crate) fn wait_for_containerd(&self) {
        let answers = || {
            let patience = Duration::from_secs(5);
            http::ask(&self.socket(), "GET", "/version", b"", patience)
                .is_ok_and(|reply| reply.status == 200)
        };
        let up = || self.containerd_pid().is_some() && answers();
        assert!(wait_until(PATIENCE, up), "containerd must come up");
    }

    /// Kills dockerd, as an OOM killer does; its socket stays behind.
    pub(crate) fn kill_dockerd(&self) {
        let mut dockerd = self.dockerd.borrow_mut();
        let _ = dockerd.kill();
        dockerd.wait().unwrap();
    }

    /// Stops dockerd in order, if it runs, and starts it again.
    pub(crate) fn restart_dockerd(&self) {
        self.stop_dockerd();
        *self.dockerd.borrow_mut() = spawn(self.root.path());
        self.wait_for_ping();
    }

    pub(super) fn stop_dockerd(&self) {
        if let Some(pid) = self.dockerd_pid() {
            signal(pid, "TERM");
        }
        let mut dockerd = self.dockerd.borrow_mut();
        if !wait_until(Duration::from_secs(20), || {
            !matches!(dockerd.try_wait(), Ok(None))
        }) {
            let _ = dockerd.kill();
            let _ = dockerd.wait();
        }
    }

    /// Returns dockerd's number while it is dockerd's: once it is waited for, it may become anybody's.
    fn dockerd_pid(&self) -> Option<u32> {
        let mut dockerd = self.dockerd.borrow_mut();
        matches!(dockerd.try_wait(), Ok(None)).then(|| dockerd.id())
    }

    /// Returns containerd's number, if that process is this daemon's.
    fn containerd_pid(&self) -> Option<u32> {
        let file = self.root().join("x/containerd/containerd.pid");
        let pid = fs::read_to_string(file).ok()?.trim().parse().ok()?;
        of(&self.root()).contains(&pid).then_some(pid)
    }

    fn answers(&self) -> bool {
        http::ask(&self.socket(), "GET", "/_ping", b"", Duration::from_secs(5))
            .is_ok_and(|reply| reply.status == 200)
    }

    #[track_caller]
    fn wait_for_ping(&self) {
        if !wait_until(PATIENCE, || self.answers()) {
            let log = fs::read_to_string(self.root.path().join("dockerd.log")).unwrap_or_default();
            panic!("the private dockerd does not come up:\n{log}");
        }
    }

    fn import_image(&self) {
        // tests/run.sh gets one where the machine's own is not static.
        let folder = std::env::var_os("STATIC_BUSYBOX_DIR").unwrap_or_else(|| "/bin".into());
        let tar = Command::new("tar")
            .arg("c")
            .arg("-C")
            .arg(&folder)
            .arg("busybox")
            .output()
            .unwrap();
        assert!(
            tar.status.success(),
            "{}/busybox is needed, a static one",
            folder.display()
        );
        let path = format!(
            "/images/create?fromSrc=-&repo={}",
            IMAGE.replace(':', "&tag=")
        );
        http::ask(&self.socket(), "POST", &path, &tar.stdout, PATIENCE)
            .unwrap()
            .good();
    }

    /// Removes what runs, by force; the rest goes with the directory.
    fn remove_running(&self) {
        let ask = |method, path: &str| {
            http::ask(&self.socket(), method, path, b"", Duration::from_secs(20))
        };
        let listed = ask("GET", "/containers/json")
            .map(|reply| reply.json())
            .unwrap_or_default();
        for container in listed.as_array().into_iter().flatten() {
            let id = container["Id"].as_str().unwrap_or_default();
            let _ = ask("DELETE", &format!("/containers/{id}?force=true&v=true"));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let root = self.root();
        if thread::panicking() {
            tell_log(&root);
        }
        self.unhang();
        self.thaw_dockerd();
        self.thaw_containerd();
        for obstacle in self.obstacles.take() {
            let _ = Command::new("chattr").arg("-i").arg(obstacle).status();
        }
        if self.answers() {
            self.remove_running();
        }
        self.stop_dockerd();
        // What outlives it: shims of a killed daemon, and what runs below them.
        let gone = wait_until(Duration::from_secs(20), || {
            let left = of(&root);
            left.iter().for_each(|&pid| signal(pid, "KILL"));
            left.is_empty()
        });
        unmount_below(&root);
        remove_cgroups(own_name(&root));
        let removed = fs::remove_dir_all(&root);
        if !thread::panicking() {
            assert!(gone, "processes of {} are left", root.display());
            removed.unwrap();
        }
    }
}

/// Shows what the daemon said last.
#[expect(
    clippy::print_stderr,
    reason = "the test program shows it with a failed test"
)]
fn tell_log(root: &Path) {
    let log = fs::read_to_string(root.join("dockerd.log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.len().saturating_sub(30);
    eprintln!(
        "the private dockerd's last words:\n{}",
        lines[last..].join("\n")
    );
}

/// Returns what the daemon's directory is called, and its cgroups too.
fn own_name(root: &Path) -> &str {
    root.file_name().unwrap().to_str().unwrap()
}

fn spawn(root: &Path) -> Child {
    // What a killed daemon left behind may by now be another process's number.
    for stale in ["docker.pid", "x/containerd/containerd.pid"] {
        let _ = fs::remove_file(root.join(stale));
    }
    let at = |name: &str| root.join(name).display().to_string();
    let log = File::options()
        .create(true)
        .append(true)
        .open(root.join("dockerd.log"))
        .unwrap();
    Command::new("dockerd")
        .args(["--host", &format!("unix://{}", at("docker.sock"))])
        .args([
            "--config-file",
            &at("daemon.json"),
            "--pidfile",
            &at("docker.pid"),
        ])
        .args(["--data-root", &at("data"), "--exec-root", &at("x")])
        .args([
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false",
            "--ip-forward=false",
        ])
        .args([
            "--add-runtime",
            &format!("private={}", at("runtime")),
            "--default-runtime",
            "private",
        ])
        .args(["--exec-opt", "native.cgroupdriver=cgroupfs"])
        .args(["--cgroup-parent", &format!("/{}", own_name(root))])
        .args(["--shutdown-timeout", "1"])
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// Writes the OCI runtime: runc, but for two things. It hangs on whatever has a line of the file `hang` in its
/// arguments or configuration. And it leaves the OOM score alone, which not every machine lets root lower.
fn write_runtime(root: &Path) {
    let runtime = root.join("runtime");
    fs::create_dir(root.join("hung")).unwrap();
    let script = r#"#!/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
config=/dev/null
previous=
for argument; do
  [ "$previous" = --bundle ] && [ -f "$argument/config.json" ] && config=$argument/config.json
  previous=$argument
done
if [ $config != /dev/null ]; then
  sed -e 's/,"oomScoreAdj":-\{0,1\}[0-9]*//' -e 's/"oomScoreAdj":-\{0,1\}[0-9]*,//' "$config" > "$config.new" &&
    cat "$config.new" > "$config"
fi
if [ -s ROOT/hang ] && { echo "$*"; cat "$config"; } | grep -qFf ROOT/hang; then
  echo "$*" > "ROOT/hung/$$"
  while [ -e ROOT/hang ]; do sleep 0.1; done
  rm -f "ROOT/hung/$$"
fi
exec runc "$@"
"#;
    fs::write(&runtime, script.replace("ROOT", root.to_str().unwrap())).unwrap();
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
}
