//! A dead container: removed if Docker can, and told why not if it can't.

use super::{Place, has, outcomes};
use crate::support::daemon::{Daemon, Pod};
use serde_json::json;

#[test]
fn a_dead_container_is_removed_once_docker_can() {
    let daemon = Daemon::start();
    let etcd = daemon.running("etcd");
    let stopped = daemon.exited("job", &json!({}));
    let dead = daemon.dead("stuck", &json!({}));
    let place = Place::new();

    let (code, report) = place.json(&daemon, &["--yes"]);
    assert_eq!(
        (code, outcomes(&report)),
        (1, vec![("remove-container", "failed")])
    );
    let action = &report["actions"][0];
    assert_eq!(
        (&action["risk"], &action["target"]["container"]),
        (&json!("safe"), &json!(dead))
    );
    let why = action["reason"].as_str().unwrap();
    assert!(why.contains("an immutable file"), "{why}");
    assert!(has(&report, "dead-container") && daemon.exists(&dead));

    daemon.undead();
    let told = place.text(&daemon, &["--yes", "--no-collect"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    assert!(
        told.out.contains("Remove them [safe], for dead-container"),
        "{}",
        told.out
    );
    assert!(told.out.contains("no such container"), "{}", told.out);
    assert!(!daemon.exists(&dead));
    assert!(daemon.exists(&stopped) && daemon.exists(&etcd));

    let lines = place.audit();
    let told: Vec<_> = lines.iter().map(|line| &line["outcome"]).collect();
    assert_eq!(
        told,
        [
            &json!(null),
            &json!("failed"),
            &json!(null),
            &json!("removed")
        ]
    );
    assert!(lines.iter().all(|line| line["id"] == dead.as_str()));
}

#[test]
fn on_a_node_that_is_well_nothing_is_done_or_left_behind() {
    let daemon = Daemon::start();
    let sandbox = daemon.sandbox(&Pod::new("default", "web-2", 2));
    let stopped = daemon.exited("job", &json!({}));
    let place = Place::new();
    let (code, report) = place.json(&daemon, &["--yes", "--max-risk", "node"]);
    assert_eq!((code, outcomes(&report)), (0, vec![]), "{report:#}");
    assert!(daemon.exists(&sandbox) && daemon.exists(&stopped));
    place.is_empty();
}
