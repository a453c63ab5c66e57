//! A real Docker daemon, asked, broken and mended. Each test has a daemon of its own.

use crate::support::daemon::{Daemon, Pod, SLEEP, TRUE};
use plegdoctor::{
    id::ContainerId,
    runtime::{
        Container, ContainerKind, Outcome, Runtime,
        docker::{Ask, Docker, probe},
    },
};
use serde_json::json;
use std::time::{Duration, Instant};

/// Short, so that hanging ones cost little; long enough for a busy machine.
const PROBE_TIMEOUT: Duration = Duration::from_millis(1500);

fn asked(daemon: &Daemon, first: &[ContainerId]) -> Runtime {
    let endpoint = daemon.endpoint();
    probe(&Ask {
        endpoint: &endpoint,
        named: true,
        probe_timeout: PROBE_TIMEOUT,
        max_unanswered: 16,
        first,
        now: chrono::DateTime::UNIX_EPOCH.fixed_offset(),
        inspect_budget: Duration::from_secs(10),
    })
    .unwrap_or_else(|error| panic!("{error:#}"))
}

fn of<'a>(runtime: &'a Runtime, id: &str) -> &'a Container {
    let found = runtime
        .containers
        .iter()
        .find(|container| container.id.as_str() == id);
    found.unwrap_or_else(|| panic!("{id} is not listed"))
}

/// Returns the states that list and inspect tell.
fn states<'a>(runtime: &'a Runtime, id: &str) -> (&'a str, Option<&'a str>) {
    let container = of(runtime, id);
    (
        &container.listed_state,
        container
            .inspected
            .as_ref()
            .map(|inspected| inspected.state.as_str()),
    )
}

#[test]
fn a_healthy_daemon_answers_all_at_once_and_containers_are_joined_with_their_pods() {
    let daemon = Daemon::start();
    let pod = Pod::new("default", "web-2", 2);
    let sandbox = daemon.sandbox(&pod);
    let app = daemon.pod_container(&pod, "app", &sandbox, SLEEP);
    daemon.start_container(&app);
    let created = daemon.pod_container(&pod, "never", &sandbox, TRUE);
    let exited = daemon.exited("kubelet", &json!({}));

    let started = Instant::now();
    let runtime = asked(&daemon, &[]);
    assert!(
        started.elapsed() < Duration::from_millis(500),
        "{:?}",
        started.elapsed()
    );

    for (what, probe) in [
        ("ping", &runtime.ping),
        ("version", &runtime.version_probe),
        ("info", &runtime.info),
        ("list", &runtime.list),
    ] {
        assert_eq!(
            (probe.outcome, &probe.error),
            (Outcome::Answered, &None),
            "{what}"
        );
    }
    let told = daemon.api("GET", "/version", &json!(null)).good();
    assert_eq!(runtime.version.as_deref(), told["Version"].as_str());
    assert_eq!(runtime.api_version.as_deref(), told["ApiVersion"].as_str());
    assert_eq!(runtime.containers.len(), 4);
    assert_eq!(states(&runtime, &sandbox), ("running", Some("running")));
    assert_eq!(states(&runtime, &app), ("running", Some("running")));
    assert_eq!(states(&runtime, &created), ("created", Some("created")));
    assert_eq!(states(&runtime, &exited), ("exited", Some("exited")));
    assert_eq!(of(&runtime, &sandbox).kind, ContainerKind::Sandbox);
    assert_eq!(of(&runtime, &app).kind, ContainerKind::Container);
    assert_eq!(
        of(&runtime, &app)
            .pod
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("default/web-2")
    );
    assert_eq!(of(&runtime, &app).sandbox, ContainerId::parse(&sandbox));
    assert_eq!(
        (
            of(&runtime, &exited).kind,
            of(&runtime, &exited).name.as_str()
        ),
        (ContainerKind::Other, "kubelet")
    );
    let times = |id: &str| {
        of(&runtime, id)
            .inspected
            .as_ref()
            .map(|i| (i.started.is_some(), i.finished.is_some()))
    };
    assert_eq!(times(&created), Some((false, false)), "year 1 means never");
    assert_eq!(times(&exited), Some((true, true)));
}

#[test]
fn a_dead_container_lists_as_removing_then_as_dead_and_goes_once_the_obstacle_is_gone() {
    let daemon = Daemon::start();
    let dead = daemon.dead("job-1", &json!({}));

    let runtime = asked(&daemon, &[]);
    assert_eq!(states(&runtime, &dead), ("removing", Some("dead")));
    assert_eq!(of(&runtime, &dead).listed_status, "Removal In Progress");
    let error = of(&runtime, &dead)
        .inspected
        .as_ref()
        .map(|inspected| inspected.error.as_str());
    assert!(
        error.is_some_and(|error| error.contains("operation not permitted")),
        "{error:?}"
    );

    daemon.restart_dockerd();
    assert_eq!(states(&asked(&daemon, &[]), &dead), ("dead", Some("dead")));

    let docker =
        Docker::open(&daemon.endpoint(), PROBE_TIMEOUT).unwrap_or_else(|error| panic!("{error:#}"));
    let id = ContainerId::parse(&dead).unwrap_or_else(|| panic!("{dead}"));
    let refused = docker.remove(&id, Duration::from_secs(20));
    assert_eq!(
        (refused.probe.outcome, refused.status),
        (Outcome::Error, Some(500))
    );
    assert!(
        refused
            .probe
            .error
            .is_some_and(|words| words.contains("operation not permitted"))
    );

    daemon.undead();
    let removed = docker.remove(&id, Duration::from_secs(20));
    assert_eq!(
        (removed.probe.outcome, removed.status),
        (Outcome::Answered, Some(204))
    );
    assert!(!daemon.exists(&dead));
    let again = docker.remove(&id, Duration::from_secs(20));
    assert_eq!(
        (again.probe.outcome, again.status),
        (Outcome::Gone, Some(404))
    );
}
