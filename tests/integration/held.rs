//! A container's layer, held in another mount namespace, on a real Docker daemon.
//!
//! This kernel detaches such a mount when the container is removed, so that the removal does not fail: it is looked for
//! while it is there. What fails elsewhere is played (`mount-held` among the cases).
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use crate::support::{daemon::Daemon, process::wait_until, program};
use plegdoctor::{
    io::files::Tree,
    node::{Host, Namespace, mount_holder::Place, observe},
    syntax::id::ContainerId,
};
use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A process in a mount namespace of its own, which follows no other; ends with the test.
struct Holder(Child);

impl Holder {
    fn start() -> Self {
        let mut command = Command::new("unshare");
        command.args(["-m", "--propagation", "private", "sleep", "1000"]);
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn look() -> Host {
    observe::scan(&Tree::at(Path::new("/")), Duration::from_secs(20)).0
}

/// Returns the holder's namespace, if it holds that layer.
fn of(host: &Host, holder: &Holder, layer: &str) -> Option<Namespace> {
    let place = [Place::Layer(layer.to_owned())];
    let lives = |namespace: &&Namespace| {
        let pids = namespace.keepers.iter().map(|keeper| keeper.pid);
        pids.into_iter().any(|pid| pid == holder.pid())
    };
    let namespace = host.namespaces.iter().find(lives)?;
    namespace
        .of(&place)
        .next()
        .is_some()
        .then(|| namespace.clone())
}

fn layer(daemon: &Daemon, id: &str) -> String {
    let merged = &daemon.inspect(id)["GraphDriver"]["Data"]["MergedDir"];
    let path = merged.as_str().unwrap().trim_end_matches("/merged");
    path.rsplit('/').next().unwrap().to_owned()
}

#[test]
fn who_holds_a_layer_is_seen_while_it_is_mounted_and_accused_of_nothing_while_the_container_is_well()
 {
    let daemon = Daemon::start();
    let id = daemon.running("etcd");
    let layer = layer(&daemon, &id);
    let holder = Holder::start();
    let held = || of(&look(), &holder, &layer).is_some();
    assert!(wait_until(Duration::from_secs(20), held));

    let host = look();
    let namespace = of(&host, &holder, &layer).unwrap();
    assert!(!namespace.own);
    assert_eq!(namespace.keepers[0].comm, "sleep");
    // The daemon's own namespace holds it, too, and is no holder; nor is the container's own.
    let places = [Place::Layer(layer.clone())];
    let container = ContainerId::parse(&id).unwrap();
    let others: Vec<_> = host.holders(&container, &places).map(|it| &it.id).collect();
    assert!(others.contains(&&namespace.id), "{others:?}");
    assert!(
        host.namespaces
            .iter()
            .any(|it| it.own && it.of(&places).next().is_some())
    );
    assert!(!host.left(&namespace).any(|left| left.place == places[0]));

    let report = program::judged(&daemon.endpoint());
    let findings = report["findings"].to_string();
    assert!(
        !findings.contains("busy-mount") && !findings.contains("leaked-shim"),
        "{findings}"
    );
    let namespaces = report["host"]["mount_namespaces"].as_array().unwrap();
    let known = namespaces
        .iter()
        .find(|it| it["id"] == namespace.id.as_str())
        .unwrap();
    assert_eq!(known["keepers"][0]["pid"], holder.pid());

    // The command that the finding gives, on what it gives it for.
    let point = &namespace.of(&places).next().unwrap().point;
    let detached = Command::new("nsenter")
        .args(["-m", "-t", &holder.pid().to_string(), "umount", "-l", point])
        .status()
        .unwrap();
    assert!(detached.success());
    assert_eq!(of(&look(), &holder, &layer), None);
    assert_eq!(daemon.inspect(&id)["State"]["Status"], "running");
}
