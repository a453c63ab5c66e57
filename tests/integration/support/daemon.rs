//! A private Docker daemon: own socket, directories and containerd, and ways to break it like a sick node's.
//!
//! It shares nothing with the machine's Docker, and takes all it made with it when dropped, also after a failed
//! test. Needs root, dockerd, containerd, runc, a static busybox and chattr.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod life;

use super::{
    http::{self, Reply},
    process::{of, wait_until},
};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// The image that all containers have: nothing but `/busybox`.
pub(crate) const IMAGE: &str = "private/busybox:1";
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
            "Image": IMAGE, "Entrypoint": command, "Labels": labels, "HostConfig": {"NetworkMode": "none"}, "StopSignal": "SIGKILL",
        });
        let made = self
            .api("POST", &format!("/containers/create?name={name}"), &wanted)
            .good();
        made["Id"].as_str().unwrap().to_owned()
    }

    /// Creates a container with a bind mount (`SOURCE:TARGET`) and returns its id.
    #[track_caller]
    pub(crate) fn create_with_bind(&self, name: &str, bind: &str, command: &[&str]) -> String {
        let wanted = json!({
            "Image": IMAGE, "Entrypoint": command, "StopSignal": "SIGKILL",
            "HostConfig": {"NetworkMode": "none", "Binds": [bind]},
        });
        let made = self
            .api("POST", &format!("/containers/create?name={name}"), &wanted)
            .good();
        made["Id"].as_str().unwrap().to_owned()
    }

    /// Asks for a container's start; the answer is nobody's concern.
    pub(crate) fn start_without_waiting(&self, id: &str) {
        let (socket, path) = (self.socket(), format!("/containers/{id}/start"));
        thread::spawn(move || http::ask(&socket, "POST", &path, b"", PATIENCE));
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
            "Image": IMAGE, "Entrypoint": command, "Tty": terminal, "HostConfig": {"NetworkMode": "none"}, "StopSignal": "SIGKILL",
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

    /// Returns the process of a running container, as Docker knows it.
    #[track_caller]
    pub(crate) fn workload(&self, id: &str) -> u32 {
        let pid = self.inspect(id)["State"]["Pid"].as_u64().unwrap();
        assert!(pid > 0, "{id} must run");
        u32::try_from(pid).unwrap()
    }

    /// Returns the shims of a container that live.
    pub(crate) fn shims(&self, id: &str) -> Vec<u32> {
        let is_shim = |pid: &u32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            command.contains("containerd-shim") && command.contains(&format!(" -id {id} "))
        };
        of(&self.root()).into_iter().filter(is_shim).collect()
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

    /// Makes `count` stopped containers of as many pods that are not there.
    #[track_caller]
    pub(crate) fn many_exited(&self, count: u32) {
        for id in self.many_created(count) {
            self.start_container(&id);
            self.wait_for(&id);
        }
    }

    /// Makes a large number of them, and restarts the daemon: to run that many would take minutes, so they are
    /// created, and their stored states say that they ran.
    #[track_caller]
    pub(crate) fn pile(&self, count: u32) {
        let made = self.many_created(count);
        self.stop_dockerd();
        for id in made {
            let file = self
                .root()
                .join(format!("data/containers/{id}/config.v2.json"));
            let mut stored: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            stored["State"]["StartedAt"] = "2026-11-29T03:00:00.1Z".into();
            stored["State"]["FinishedAt"] = "2026-11-29T03:00:01.2Z".into();
            fs::write(&file, stored.to_string()).unwrap();
        }
        self.restart_dockerd();
    }

    /// Creates containers of as many pods that are not there, four at a time, and returns their ids.
    fn many_created(&self, count: u32) -> Vec<String> {
        let socket = &self.socket();
        thread::scope(|scope| {
            let lane = |lane| {
                scope.spawn(move || {
                    (lane..count)
                        .step_by(4)
                        .map(|number| make_job(socket, number))
                        .collect()
                })
            };
            let lanes: Vec<thread::ScopedJoinHandle<'_, Vec<String>>> = (0..4).map(lane).collect();
            lanes
                .into_iter()
                .flat_map(|lane| lane.join().unwrap())
                .collect()
        })
    }

    /// Makes a container that can't be removed, and tries to: the list says removing, inspect says dead.
    #[track_caller]
    pub(crate) fn dead(&self, name: &str, labels: &Value) -> String {
        let id = self.exited(name, labels);
        let obstacle = self.layer(&id).join("obstacle");
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

    /// Returns the directory of a container's own layer.
    fn layer(&self, id: &str) -> PathBuf {
        if let Some(upper) = self.inspect(id)["GraphDriver"]["Data"]["UpperDir"].as_str() {
            return PathBuf::from(upper);
        }
        // Where overlays can't be stacked, as in a container, Docker falls back to whole copies.
        let data = self.root().join("data");
        let mount =
            fs::read_to_string(data.join(format!("image/vfs/layerdb/mounts/{id}/mount-id")))
                .unwrap();
        data.join("vfs/dir").join(mount)
    }

    /// Takes away what keeps containers from being removed.
    pub(crate) fn undead(&self) {
        for obstacle in self.obstacles.borrow_mut().drain(..) {
            chattr("-i", &obstacle);
        }
    }

    /// Starts a container so that it hangs in the OCI runtime: the daemon holds its lock for as long.
    #[track_caller]
    pub(crate) fn hang_start(&self, id: &str) {
        self.hang(id, &format!("/containers/{id}/start"), "");
    }

    /// Lets the OCI runtime hang where `line` is in its arguments or its container's configuration, and calls for
    /// that with a POST, whose answer comes when the hang is over.
    #[track_caller]
    pub(crate) fn hang(&self, line: &str, path: &str, body: &'static str) {
        let mut hang = File::options()
            .create(true)
            .append(true)
            .open(self.root().join("hang"))
            .unwrap();
        writeln!(hang, "{line}").unwrap();
        let before = self.hung();
        let (socket, path) = (self.socket(), path.to_owned());
        thread::spawn(move || http::ask(&socket, "POST", &path, body.as_bytes(), PATIENCE));
        assert!(
            wait_until(PATIENCE, || self.hung().len() > before.len()),
            "the call must reach the OCI runtime"
        );
    }

    /// Returns the OCI runtime processes that hang, as they wrote it down themselves.
    pub(crate) fn hung(&self) -> Vec<u32> {
        let hung = fs::read_dir(self.root().join("hung")).unwrap().flatten();
        hung.filter_map(|file| file.file_name().to_str()?.parse().ok())
            .collect()
    }

    /// Lets hanging starts go on.
    pub(crate) fn unhang(&self) {
        let _ = fs::remove_file(self.root.path().join("hang"));
    }
}

/// Creates a container of a pod that is not there.
fn make_job(socket: &Path, number: u32) -> String {
    let pod = Pod::new("jobs", &format!("batch-{number}"), number);
    let sandbox = format!("{number:064x}");
    let wanted = json!({
        "Image": IMAGE, "Entrypoint": TRUE, "Labels": pod.labels("job", Some(&sandbox)),
        "HostConfig": {"NetworkMode": "none"}, "StopSignal": "SIGKILL",
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
