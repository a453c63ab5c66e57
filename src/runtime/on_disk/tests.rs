use super::*;
use crate::runtime::RuntimeKind;
use crate::{io::probe::Probe, node::DEFAULT_ENDPOINT, runtime::ContainerKind};
use serde_json::json;
use std::time::Duration;

const ID: &str = "b15929dfcea116df995b79d3dec656be07e9652f4685064f9d27cfc0b7d857b0";
const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";

/// A sandbox's file, as Docker 20.10 writes it, with what must not be kept.
fn file() -> Value {
    json!({
        "StreamConfig": {},
        "State": {"Running": true, "Paused": false, "Restarting": false, "OOMKilled": false,
            "RemovalInProgress": false, "Dead": false, "Pid": 2261, "ExitCode": 0, "Error": "",
            "StartedAt": "2026-11-30T03:00:00.5Z", "FinishedAt": "0001-01-01T00:00:00Z", "Health": null},
        "ID": ID, "Created": "2026-11-30T02:59:59Z", "Managed": false, "Path": "/pause", "Args": ["SECRET"],
        "Config": {"Env": ["TOKEN=SECRET"], "Cmd": ["SECRET"], "Entrypoint": ["SECRET"], "Image": "pause:3.2",
            "Labels": {"io.kubernetes.docker.type": "podsandbox", "io.kubernetes.container.name": "POD",
                "io.kubernetes.pod.name": "web-2", "io.kubernetes.pod.namespace": "default",
                "io.kubernetes.pod.uid": UID, "annotation.kubectl.kubernetes.io/last-applied": "SECRET",
                "annotation.io.kubernetes.pod.terminationGracePeriod": "30"}},
        "LogPath": format!("/var/lib/docker/containers/{ID}/{ID}-json.log"),
        "Name": format!("/k8s_POD_web-2_default_{UID}_0"), "Driver": "overlay2",
        "MountPoints": {
            "/data": {"Type": "bind", "Source": "/mnt/nfs/data", "Destination": "/data", "Name": "", "Driver": ""},
            "/v": {"Type": "volume", "Source": "", "Destination": "/v", "Name": "vol", "Driver": "local", "Spec": {"x": "SECRET"}}},
    })
}

fn raw(file: &Value) -> Raw {
    Raw {
        id: ID.to_owned(),
        config: config(file, Some("2026-11-30T03:00:01Z")),
        host: host_config(&json!({
            "Binds": ["/mnt/nfs/data:/data", "vol:/v", "/srv:/s:ro", 7], "LogConfig": {"Type": "json-file", "Config": {}},
            "Mounts": [{"Type": "bind", "Source": "/mnt/m", "Target": "/m"}], "SecurityOpt": ["SECRET"],
        })),
    }
}

fn state(flags: Value) -> OnDiskState {
    let mut file = file();
    file["State"] = flags;
    raw(&file).container("/d").unwrap().disk.unwrap()
}

#[test]
fn a_sandbox_is_read_with_its_pod_process_log_and_binds() {
    let container = raw(&file()).container("/var/lib/docker").unwrap();
    assert_eq!(container.kind, ContainerKind::Sandbox);
    assert_eq!(container.pod.as_ref().unwrap().to_string(), "default/web-2");
    assert_eq!(container.labels.len(), 6);
    assert!(container.is_only_stored());
    assert_eq!(container.inspected, None, "nobody inspected it");
    let stored = container.disk.unwrap();
    assert_eq!(
        (stored.state.state.as_str(), stored.pid),
        ("running", Some(2261))
    );
    assert_eq!(
        stored.written.unwrap().to_rfc3339(),
        "2026-11-30T03:00:01+00:00"
    );
    assert_eq!(stored.log_driver, "json-file");
    assert_eq!(stored.log_file, Some(format!("{ID}-json.log")));
    let volume = "/var/lib/docker/volumes/vol/_data";
    assert_eq!(stored.binds, ["/mnt/m", "/mnt/nfs/data", "/srv", volume]);
}

#[test]
fn environment_commands_and_annotations_are_not_kept() {
    let kept = serde_json::to_string(&raw(&file())).unwrap();
    assert!(!kept.contains("SECRET"), "{kept}");
    assert!(kept.contains("terminationGracePeriod"), "the kubelet's own");
}

#[test]
fn what_was_stripped_is_stripped_to_the_same_and_keeps_its_time() {
    let once = raw(&file());
    assert_eq!(
        config(&once.config, Some("2031-01-01T00:00:00Z")),
        once.config
    );
    assert_eq!(host_config(&once.host), once.host);
}

#[test]
fn states_have_inspects_words() {
    let started = "2026-11-30T03:00:00Z";
    let never = "0001-01-01T00:00:00Z";
    for (flags, word, runs) in [
        (json!({"Running": true, "Paused": true}), "paused", true),
        (
            json!({"Running": true, "Restarting": true}),
            "restarting",
            true,
        ),
        (
            json!({"Running": true, "StartedAt": started}),
            "running",
            true,
        ),
        // Docker keeps both, and takes the removal back in its memory only.
        (
            json!({"Dead": true, "RemovalInProgress": true}),
            "dead",
            false,
        ),
        (
            json!({"RemovalInProgress": true, "StartedAt": started}),
            "removing",
            false,
        ),
        (json!({"StartedAt": never}), "created", false),
        (json!({"StartedAt": started, "Pid": 0}), "exited", false),
    ] {
        let stored = state(flags);
        assert_eq!(
            (stored.state.state.as_str(), stored.state.running),
            (word, runs)
        );
        assert_eq!(stored.pid, None);
    }
}

#[test]
fn a_removal_that_has_just_begun_is_not_dead() {
    let now = |text: &str| DateTime::parse_from_rfc3339(text).unwrap();
    let begun = state(json!({"Dead": true}));
    assert!(!begun.is_dead(now("2026-11-30T03:00:30Z")));
    assert!(begun.is_dead(now("2026-11-30T03:02:00Z")));
    let failed = state(json!({"Dead": true, "Error": "device or resource busy"}));
    assert!(failed.is_dead(now("2026-11-30T03:00:02Z")));
}

#[test]
fn hostile_files_are_no_containers_and_odd_ones_lose_only_what_is_odd() {
    let other = Raw {
        id: ID.replace('b', "c"),
        ..raw(&file())
    };
    assert_eq!(other.container("/d"), None, "another's file");
    for file in [
        json!(null),
        json!([]),
        json!(7),
        json!({"ID": 7}),
        json!({}),
    ] {
        assert_eq!(raw(&file).container("/d"), None, "{file}");
    }
    let odd = json!({"ID": ID, "State": [], "Config": 3, "MountPoints": {"/x": 3, "/y": {"Source": {}}}, "Name": null,
        "LogPath": "/etc/..", "Created": "soon"});
    let container = raw(&odd).container("/d").unwrap();
    let stored = container.disk.unwrap();
    assert_eq!(
        (container.name.as_str(), stored.state.state.as_str()),
        ("", "created")
    );
    assert_eq!(stored.log_file, None, "no way out of its folder");
    let long = json!({"ID": ID, "Name": "ä".repeat(9000), "State": {"Error": "x".repeat(9000), "Pid": -1}});
    let container = raw(&long).container("/d").unwrap();
    assert!(container.name.len() <= 4096 && container.disk.unwrap().state.error.len() <= 4096);
}

fn silent(list: Outcome, containers: Vec<Container>) -> Runtime {
    let probe = |outcome| Probe {
        outcome,
        took: Duration::ZERO,
        error: None,
    };
    let asked_at = DateTime::parse_from_rfc3339("2026-11-30T04:00:00Z").unwrap();
    let timeout = Duration::from_secs(3);
    Runtime {
        containers,
        ..Runtime::new(RuntimeKind::Docker, DEFAULT_ENDPOINT, asked_at, timeout)
    }
    .with_own_calls(&probe(list))
}

#[test]
fn files_stand_for_a_list_that_did_not_come_and_add_nothing_to_one_that_did() {
    let stored = || raw(&file()).container("/d").unwrap();
    let mut down = silent(Outcome::Refused, Vec::new());
    assert_eq!(join(&mut down, vec![stored()]), 1);
    assert!(down.containers[0].is_only_stored());
    assert_eq!(down.told().count(), 0);

    let mut listed = silent(Outcome::Answered, Vec::new());
    assert_eq!(
        join(&mut listed, vec![stored()]),
        0,
        "Docker does not have it"
    );
    assert!(listed.containers.is_empty());

    let mut hung = Container::unlisted(ContainerId::parse(ID).unwrap());
    hung.probe.outcome = Outcome::TimedOut;
    let mut partly = silent(Outcome::Error, vec![hung]);
    assert_eq!(join(&mut partly, vec![stored()]), 1);
    let [only] = &partly.containers[..] else {
        panic!("{partly:?}")
    };
    assert_eq!(
        only.probe.outcome,
        Outcome::TimedOut,
        "its call stays unanswered"
    );
    assert_eq!(only.pod.as_ref().unwrap().to_string(), "default/web-2");
}
