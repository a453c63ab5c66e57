//! What is shown, what is asked, and what counts as a yes.

use super::{clean, command, stopped_pod, text};
use crate::support::{
    daemon::{Daemon, Pod, SLEEP},
    proxy::{Pass, Proxy},
};
use serde_json::json;
use std::{
    io::{Read as _, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
};

/// Starts `clean` on a terminal (util-linux's script makes one); returns it and its keyboard.
fn terminal(endpoint: &str, args: &str) -> (Child, ChildStdin) {
    let line = format!(
        "{} clean --docker-host {endpoint} {args}",
        env!("CARGO_BIN_EXE_plegdoctor")
    );
    let mut child = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let typing = child.stdin.take().unwrap();
    (child, typing)
}

/// Runs `clean` on a terminal and types `keys`; returns the exit code and what the terminal shows.
fn on_a_terminal(endpoint: &str, args: &str, keys: &[u8]) -> (i32, String) {
    let (child, mut typing) = terminal(endpoint, args);
    typing.write_all(keys).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(typing);
    (
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[test]
fn on_a_terminal_only_a_yes_removes() {
    let daemon = Daemon::start();
    let id = daemon.exited("job", &json!({}));
    let endpoint = daemon.endpoint();
    // The last one is the end of input.
    for keys in [&b"n\n"[..], b"\n", b"yup\n", b" no \n", b"\xff\n", b"\x04"] {
        let (code, shown) = on_a_terminal(&endpoint, "--exited --include-non-pods", keys);
        assert_eq!(code, 1, "{shown}");
        assert!(shown.contains("To remove: 1 container"), "{shown}");
        assert!(shown.contains("Remove this container? [y/N] "), "{shown}");
        assert!(
            shown.contains("Nothing was removed: not confirmed."),
            "{shown}"
        );
        assert!(daemon.exists(&id));
    }
    let (code, shown) = on_a_terminal(&endpoint, "--exited --include-non-pods", b" Y \n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("Removed 1 of 1 container."), "{shown}");
    assert!(!daemon.exists(&id));
    // With nothing to do nobody is asked.
    let (code, shown) = on_a_terminal(&endpoint, "--exited --include-non-pods", b"");
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("[y/N]"), "{shown}");
}

#[test]
fn a_pod_that_comes_back_before_the_yes_is_spared() {
    let daemon = Daemon::start();
    let pod = Pod::new("jobs", "batch-1", 1);
    let (app, sandbox) = stopped_pod(&daemon, &pod);
    let endpoint = daemon.endpoint();
    let (mut child, mut typing) = terminal(&endpoint, "--exited");
    let mut shown = vec![0; 4096];
    let mut screen = child.stdout.take().unwrap();
    let mut text = String::new();
    while !text.contains("[y/N] ") {
        let read = screen.read(&mut shown).unwrap();
        assert!(read > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&shown[..read]));
    }
    // The kubelet starts the pod again: same UID, next sandbox.
    let labels = json!({
        "io.kubernetes.docker.type": "podsandbox", "io.kubernetes.container.name": "POD",
        "io.kubernetes.pod.name": "batch-1", "io.kubernetes.pod.namespace": "jobs",
        "io.kubernetes.pod.uid": pod.uid,
    });
    let next = daemon.create(
        &format!("k8s_POD_batch-1_jobs_{}_1", pod.uid),
        &labels,
        SLEEP,
    );
    daemon.start_container(&next);
    typing.write_all(b"y\n").unwrap();
    screen.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{text}");
    assert_eq!(
        text.matches("its pod is running again").count(),
        2,
        "{text}"
    );
    assert!(daemon.exists(&app) && daemon.exists(&sandbox));
}

#[test]
fn without_a_terminal_it_needs_a_yes_beforehand() {
    let daemon = Daemon::start();
    let id = daemon.exited("job", &json!({}));
    let proxy = Proxy::start(daemon.socket(), |_| Pass::On);
    for format in ["text", "json"] {
        let request = ["--exited", "--include-non-pods", "--format", format];
        let (code, out, err) = text(&proxy.endpoint(), &request);
        assert_eq!(code, 2, "{err}");
        assert!(
            format!("{out}{err}").contains(&id[..12]),
            "the plan is shown: {out}{err}"
        );
        let last = err.lines().last().unwrap();
        assert!(last.starts_with("plegdoctor: nothing was removed"), "{err}");
        assert!(
            last.contains("--yes") && last.contains("--dry-run"),
            "{err}"
        );
    }
    assert_eq!(proxy.removals(), [""; 0]);
    assert!(daemon.exists(&id));
}

#[test]
fn a_dry_run_shows_the_plan_and_changes_nothing() {
    let daemon = Daemon::start();
    let id = daemon.exited("job", &json!({}));
    let proxy = Proxy::start(daemon.socket(), |_| Pass::On);
    let request = ["--exited", "--include-non-pods", "--dry-run"];
    let (code, out, err) = text(&proxy.endpoint(), &request);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("To remove: 1 container\n"), "{out}");
    assert!(out.contains(&id[..12]) && out.contains("job"), "{out}");
    assert!(out.contains("Volumes are kept."), "{out}");
    assert!(!out.contains("Removed"), "{out}");
    let (code, cleaned) = clean(&proxy.endpoint(), &request);
    assert_eq!((code, cleaned.outcome(&id)), (0, Some("planned")));
    assert!(proxy.lines().iter().all(|line| line.starts_with("GET ")));
}

#[test]
fn a_closed_pipe_removes_nothing_that_was_not_shown() {
    let daemon = Daemon::start();
    let id = daemon.exited("job", &json!({}));
    let request = ["--exited", "--include-non-pods", "--yes"];
    let mut child = command(&daemon.endpoint(), &request).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert!(daemon.exists(&id));
}

#[test]
fn a_filter_that_makes_no_sense_is_refused_before_anything_is_asked() {
    for (filter, words) in [
        ("status=dead", "known are label, label!, name and until"),
        ("label", "KEY=VALUE"),
        ("name=(", "regular expression"),
        ("until=soon", "is no time"),
    ] {
        let (code, out, err) = text("unix:///nowhere", &["--dead", "--yes", "--filter", filter]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(
            err.starts_with(&format!("plegdoctor: --filter {filter}: ")),
            "{err}"
        );
        assert!(err.contains(words) && err.lines().count() == 1, "{err}");
    }
    let (code, _, err) = text("unix:///nowhere", &["--yes"]);
    assert_eq!(code, 2);
    assert!(err.contains("--dead"), "one kind must be named: {err}");
}
