//! A private Docker daemon: own socket, directories and containerd, and ways to break it like a sick node's.
//!
//! It shares nothing with the machine's Docker, and takes all it made with it when dropped, also after a failed
//! test. Needs root, dockerd, containerd, runc, a static busybox and chattr.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use super::{
    http::{self, Reply},
    process::{of, remove_cgroups, signal, unmount_below, wait_until},
};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// The image that all containers have: nothing but `/busybox`.
const IMAGE: &str = "private/busybox:1";
/// How long a call of the tests' own may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A private daemon.
pub(crate) struct Daemon {
    root: TempDir,
    dockerd: RefCell<Child>,
    obstacles: RefCell<Vec<PathBuf>>,
}

/// A pod, as the kubelet labels its containers.
#[derive(Clone, Debug)]
pub(crate) struct Pod {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
}

impl Pod {
    /// Returns the pod of that name; `number` makes its UID.
    pub(crate) fn new(namespace: &str, name: &str, number: u32) -> Self {
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            uid: format!("00000000-0000-4000-8000-{number:012}"),
        }
    }

    fn container_name(&self, container: &str) -> String {
        format!(
            "k8s_{container}_{}_{}_{}_0",
            self.name, self.namespace, self.uid
        )
    }

    fn labels(&self, container: &str, sandbox: Option<&str>) -> Value {
        let kind = if sandbox.is_some() {
            "container"
        } else {
            "podsandbox"
        };
        let mut labels = json!({
            "io.kubernetes.docker.type": kind,
            "io.kubernetes.container.name": container,
            "io.kubernetes.pod.name": self.name,
            "io.kubernetes.pod.namespace": self.namespace,
            "io.kubernetes.pod.uid": self.uid,
        });
        if let Some(sandbox) = sandbox {
            labels["io.kubernetes.sandbox.id"] = sandbox.into();
        }
        labels
    }
}

/// Runs until it is killed.
pub(crate) const SLEEP: &[&str] = &["/busybox", "sleep", "100000"];
/// Ends at once, well.
pub(crate) const TRUE: &[&str] = &["/busybox", "true"];

impl Daemon {
    /// Starts a daemon without containers.
    pub(crate) fn start() -> Self {
        // On a disk (an immutable file needs one) and with a short path: a socket's has at most 107 bytes.
        let root = tempfile::Builder::new()
            .prefix("pd.")
            .tempdir_in("/var/tmp")
            .unwrap();
        fs::write(root.path().join("daemon.json"), "{}").unwrap();
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

    /// Returns what to pass as `--docker-host`.
    pub(crate) fn endpoint(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Returns the socket's path.
    pub(crate) fn socket(&self) -> PathBuf {
        self.root.path().join("docker.sock")
    }

    /// Returns the directory that all of it is in.
    pub(crate) fn root(&self) -> PathBuf {
        self.root.path().to_owned()
    }

    /// Calls the API.
    #[track_caller]
    pub(crate) fn api(&self, method: &str, path: &str, body: &Value) -> Reply {
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        http::ask(&self.socket(), method, path, &body, PATIENCE).unwrap()
    }

    /// Returns what inspect says.
    #[track_caller]
    pub(crate) fn inspect(&self, id: &str) -> Value {
        self.api("GET", &format!("/containers/{id}/json"), &Value::Null)
            .good()
    }

    /// Returns whether there is such a container.
    #[track_caller]
    pub(crate) fn exists(&self, id: &str) -> bool {
        self.api("GET", &format!("/containers/{id}/json"), &Value::Null)
            .status
            == 200
    }

    /// Creates a container and returns its id.
    #[track_caller]
    pub(crate) fn create(&self, name: &str, labels: &Value, command: &[&str]) -> String {
        let wanted = json!({
            "Image": IMAGE, "Entrypoint": command, "Labels": labels, "HostConfig": {"NetworkMode": "none"},
        });
        let made = self
            .api("POST", &format!("/containers/create?name={name}"), &wanted)
            .good();
        made["Id"].as_str().unwrap().to_owned()
    }

    /// Starts a container.
    #[track_caller]
    pub(crate) fn start_container(&self, id: &str) {
        self.api("POST", &format!("/containers/{id}/start"), &Value::Null)
            .good();
    }

    /// Kills a container and waits until it has stopped.
    #[track_caller]
    pub(crate) fn kill_container(&self, id: &str) {
        self.api("POST", &format!("/containers/{id}/kill"), &Value::Null)
            .good();
        self.wait_for(id);
    }

    /// Waits until a container has stopped.
    #[track_caller]
    pub(crate) fn wait_for(&self, id: &str) {
        self.api("POST", &format!("/containers/{id}/wait"), &Value::Null)
            .good();
    }

    /// Makes a running container that is nobody's pod's.
    #[track_caller]
    pub(crate) fn running(&self, name: &str) -> String {
        let id = self.create(name, &json!({}), SLEEP);
        self.start_container(&id);
        id
    }

    /// Makes a stopped container.
    #[track_caller]
    pub(crate) fn exited(&self, name: &str, labels: &Value) -> String {
        let id = self.create(name, labels, TRUE);
        self.start_container(&id);
        self.wait_for(&id);
        id
    }

    /// Makes a stopped container that ran `command`, perhaps on a terminal.
    #[track_caller]
    pub(crate) fn exited_with(&self, name: &str, command: &[&str], terminal: bool) -> String {
        let wanted = json!({
            "Image": IMAGE, "Entrypoint": command, "Tty": terminal, "HostConfig": {"NetworkMode": "none"},
        });
        let made = self
            .api("POST", &format!("/containers/create?name={name}"), &wanted)
            .good();
        let id = made["Id"].as_str().unwrap().to_owned();
        self.start_container(&id);
        self.wait_for(&id);
        id
    }

    /// Waits until a container runs.
    #[track_caller]
    pub(crate) fn wait_until_running(&self, id: &str) {
        let runs = || self.inspect(id)["State"]["Running"] == true;
        assert!(wait_until(PATIENCE, runs), "{id} must come to run");
    }

    /// Makes a pod's sandbox, running.
    #[track_caller]
    pub(crate) fn sandbox(&self, pod: &Pod) -> String {
        let id = self.create(&pod.container_name("POD"), &pod.labels("POD", None), SLEEP);
        self.start_container(&id);
        id
    }

    /// Makes a pod's container, not yet started.
    #[track_caller]
    pub(crate) fn pod_container(
        &self,
        pod: &Pod,
        name: &str,
        sandbox: &str,
        command: &[&str],
    ) -> String {
        self.create(
            &pod.container_name(name),
            &pod.labels(name, Some(sandbox)),
            command,
        )
    }

    /// Makes `count` stopped containers of as many pods that are not there, and restarts the daemon: running
    /// that many would take minutes, so they are created, and their states say that they ran.
    #[track_caller]
    pub(crate) fn many_exited(&self, count: u32) {
        let made: Vec<String> = thread::scope(|scope| {
            let lanes: Vec<_> = (0..4)
                .map(|lane| {
                    let socket = self.socket();
                    let numbers = (lane..count).step_by(4);
                    scope.spawn(move || {
                        numbers
                            .map(|number| make_job(&socket, number))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            lanes
                .into_iter()
                .flat_map(|lane| lane.join().unwrap())
                .collect()
        });
        self.stop_dockerd();
        for id in &made {
            let file = self
                .root
                .path()
                .join(format!("data/containers/{id}/config.v2.json"));
            let mut stored: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            stored["State"]["StartedAt"] = "2026-11-29T03:00:00.1Z".into();
            stored["State"]["FinishedAt"] = "2026-11-29T03:00:01.2Z".into();
            fs::write(&file, stored.to_string()).unwrap();
        }
        self.restart_dockerd();
    }

    /// Makes a container that can't be removed, and tries to: the list says removing, inspect says dead.
    #[track_caller]
    pub(crate) fn dead(&self, name: &str, labels: &Value) -> String {
        let id = self.exited(name, labels);
        let inspected = self.inspect(&id);
        let layer = inspected["GraphDriver"]["Data"]["UpperDir"]
            .as_str()
            .unwrap()
            .to_owned();
        let obstacle = Path::new(&layer).join("obstacle");
        File::create(&obstacle).unwrap();
        chattr("+i", &obstacle);
        self.obstacles.borrow_mut().push(obstacle);
        let refused = self.api("DELETE", &format!("/containers/{id}"), &Value::Null);
        assert_eq!(
            refused.status,
            500,
            "the removal must fail: {:?}",
            refused.json()
        );
        id
    }

    /// Takes away what keeps containers from being removed.
    pub(crate) fn undead(&self) {
        for obstacle in self.obstacles.borrow_mut().drain(..) {
            chattr("-i", &obstacle);
        }
    }

    /// Makes a container whose start hangs in the OCI runtime: the daemon holds its lock for as long.
    #[track_caller]
    pub(crate) fn hang_start(&self, id: &str) {
        fs::write(self.root.path().join("hang"), id).unwrap();
        let (socket, path) = (self.socket(), format!("/containers/{id}/start"));
        // Nobody waits for the answer: it comes when the hang is over.
        thread::spawn(move || http::ask(&socket, "POST", &path, b"", PATIENCE));
        let hung = || {
            fs::read_dir(self.root.path().join("hung"))
                .unwrap()
                .next()
                .is_some()
        };
        assert!(
            wait_until(PATIENCE, hung),
            "the start must reach the OCI runtime"
        );
    }

    /// Lets hanging starts go on.
    pub(crate) fn unhang(&self) {
        let _ = fs::remove_file(self.root.path().join("hang"));
    }

    /// Stops dockerd as SIGSTOP does: its socket takes connections and nobody answers.
    pub(crate) fn freeze_dockerd(&self) {
        signal(self.dockerd_pid(), "STOP");
    }

    /// Undoes `freeze_dockerd`.
    pub(crate) fn thaw_dockerd(&self) {
        signal(self.dockerd_pid(), "CONT");
    }

    /// Stops containerd: dockerd answers what it knows by itself.
    pub(crate) fn freeze_containerd(&self) {
        signal(self.containerd_pid().unwrap(), "STOP");
    }

    /// Undoes `freeze_containerd`.
    pub(crate) fn thaw_containerd(&self) {
        signal(self.containerd_pid().unwrap(), "CONT");
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

    fn stop_dockerd(&self) {
        signal(self.dockerd_pid(), "TERM");
        let mut dockerd = self.dockerd.borrow_mut();
        if !wait_until(Duration::from_secs(20), || {
            !matches!(dockerd.try_wait(), Ok(None))
        }) {
            let _ = dockerd.kill();
            let _ = dockerd.wait();
        }
    }

    fn dockerd_pid(&self) -> u32 {
        self.dockerd.borrow().id()
    }

    fn containerd_pid(&self) -> Option<u32> {
        let file = self.root.path().join("x/containerd/containerd.pid");
        fs::read_to_string(file).ok()?.trim().parse().ok()
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
        let tar = Command::new("tar")
            .args(["c", "-C", "/bin", "busybox"])
            .output()
            .unwrap();
        assert!(tar.status.success(), "a static /bin/busybox is needed");
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
        let root = self.root.path().to_owned();
        self.unhang();
        self.thaw_dockerd();
        if let Some(pid) = self.containerd_pid().filter(|pid| of(&root).contains(pid)) {
            signal(pid, "CONT");
        }
        self.undead();
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

/// Writes the OCI runtime: runc, but for two things. It hangs on whatever has the text of the file `hang` in its
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
if [ -s ROOT/hang ] && { echo "$*"; cat "$config"; } | grep -qF -- "$(cat ROOT/hang)"; then
  : > "ROOT/hung/$$"
  while [ -e ROOT/hang ]; do sleep 0.1; done
  rm -f "ROOT/hung/$$"
fi
exec runc "$@"
"#;
    fs::write(&runtime, script.replace("ROOT", root.to_str().unwrap())).unwrap();
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Creates a container of a pod that is not there.
fn make_job(socket: &Path, number: u32) -> String {
    let pod = Pod::new("jobs", &format!("batch-{number}"), number);
    let sandbox = format!("{number:064x}");
    let wanted = json!({
        "Image": IMAGE, "Entrypoint": TRUE, "Labels": pod.labels("job", Some(&sandbox)),
        "HostConfig": {"NetworkMode": "none"},
    });
    let path = format!("/containers/create?name={}", pod.container_name("job"));
    let made = http::ask(
        socket,
        "POST",
        &path,
        wanted.to_string().as_bytes(),
        PATIENCE,
    );
    made.unwrap().good()["Id"].as_str().unwrap().to_owned()
}

fn chattr(flag: &str, file: &Path) {
    let done = Command::new("chattr").arg(flag).arg(file).status().unwrap();
    assert!(done.success(), "chattr {flag} {}", file.display());
}
