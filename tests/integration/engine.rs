//! A real Docker daemon, asked, broken and mended. Each test has a daemon of its own.

use crate::support::daemon::{Daemon, Pod, SLEEP, TRUE};
use plegdoctor::{
    io::probe::Outcome,
    runtime::{
        Container, ContainerKind, Runtime,
        docker::{Ask, Docker, probe},
        stacks::{Verb, Wait},
    },
    syntax::id::{ContainerId, PodName},
};
use serde_json::json;
use std::time::{Duration, Instant};

/// Short, so that hanging ones cost little; long enough for a busy machine.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

fn asked(daemon: &Daemon, first: &[ContainerId]) -> Runtime {
    let endpoint = daemon.endpoint();
    probe(&Ask {
        endpoint: &endpoint,
        probe_timeout: PROBE_TIMEOUT,
        max_unanswered: 16,
        first,
        now: chrono::DateTime::UNIX_EPOCH.fixed_offset(),
        inspect_budget: Duration::from_secs(10),
        again: &[],
        stacks_anyway: false,
        tape: None,
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
        container.listed_state.as_str(),
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
    daemon.many_exited(3);

    let started = Instant::now();
    let runtime = asked(&daemon, &[]);
    assert!(started.elapsed() < PROBE_TIMEOUT, "{:?}", started.elapsed());

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
    assert_eq!(runtime.containers.len(), 7);
    assert_eq!(runtime.stacks_probe.outcome, Outcome::NotProbed);
    let jobs = runtime.containers.iter().filter(|container| {
        let batch = |pod: &PodName| &*pod.namespace == "jobs" && pod.name.starts_with("batch-");
        container.pod.as_ref().is_some_and(batch)
    });
    assert!(
        jobs.clone()
            .all(|job| states(&runtime, job.id.as_str()) == ("exited", Some("exited")))
    );
    assert_eq!(jobs.count(), 3);
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
    // Docker from 28.2 on says "dead" in the list as well.
    let (listed, inspected) = states(&runtime, &dead);
    assert!(listed == "removing" || listed == "dead", "{listed}");
    assert_eq!(inspected, Some("dead"));
    if listed == "removing" {
        assert_eq!(of(&runtime, &dead).listed_status, "Removal In Progress");
    }
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

#[test]
fn a_container_whose_start_hangs_answers_no_inspect_while_all_others_do() {
    let daemon = Daemon::start();
    let pod = Pod::new("prod", "payments-db-node-1", 1);
    let sandbox = daemon.sandbox(&pod);
    let hung = daemon.pod_container(&pod, "db", &sandbox, SLEEP);
    let created = daemon.pod_container(&pod, "other", &sandbox, SLEEP);
    let exited = daemon.exited("etcd", &json!({}));
    daemon.hang_start(&hung);

    let started = Instant::now();
    let runtime = asked(&daemon, &[]);
    assert!(
        started.elapsed() < PROBE_TIMEOUT * 2,
        "{:?}",
        started.elapsed()
    );

    assert_eq!(runtime.list.outcome, Outcome::Answered);
    let silent = of(&runtime, &hung);
    assert_eq!(
        (silent.probe.outcome, &silent.inspected),
        (Outcome::TimedOut, &None)
    );
    assert!(silent.probe.took >= PROBE_TIMEOUT);
    assert_eq!(
        silent.listed_state,
        "created".into(),
        "the list looks healthy"
    );
    for id in [&sandbox, &created, &exited] {
        let probe = &of(&runtime, id).probe;
        assert_eq!(probe.outcome, Outcome::Answered);
        assert!(probe.took < PROBE_TIMEOUT / 2, "{:?}", probe.took);
    }
    let pending = runtime
        .stacks
        .unwrap_or_else(|| panic!("{:?}", runtime.stacks_probe));
    assert_eq!(pending.pending, [id(&hung)]);
    assert!(pending.stacks.whole);
    let holder = pending.stacks.our_lock().and_then(|held| held.holder);
    let containerd = |call: &str| Wait::Containerd(Some(call.to_owned()));
    assert_eq!(
        holder.map(|call| (call.verb, call.waits.clone())),
        Some((Verb::Start, containerd("tasks.Create")))
    );

    daemon.unhang();
    daemon.wait_until_running(&hung);
    assert_eq!(
        states(&asked(&daemon, &[]), &hung),
        ("running", Some("running"))
    );
}

#[test]
fn a_stopped_daemon_is_given_up_within_the_deadline() {
    let daemon = Daemon::start();
    let exited = daemon.exited("job", &json!({}));
    daemon.freeze_dockerd();

    let started = Instant::now();
    let runtime = asked(&daemon, &[id(&exited)]);
    assert!(
        started.elapsed() < PROBE_TIMEOUT * 2,
        "{:?}",
        started.elapsed()
    );
    for probe in [
        &runtime.ping,
        &runtime.version_probe,
        &runtime.info,
        &runtime.list,
    ] {
        assert_eq!((probe.outcome, &probe.error), (Outcome::TimedOut, &None));
        assert!(probe.took >= PROBE_TIMEOUT);
    }
    assert_eq!((runtime.containers.len(), runtime.version), (0, None));
    assert_eq!(runtime.stacks, None);
    assert_eq!(runtime.stacks_probe.outcome, Outcome::TimedOut);

    daemon.thaw_dockerd();
    let runtime = asked(&daemon, &[]);
    assert_eq!(runtime.ping.outcome, Outcome::Answered);
    assert_eq!(states(&runtime, &exited), ("exited", Some("exited")));
}

#[test]
fn with_containerd_stopped_lists_and_inspects_answer_while_version_and_info_hang() {
    let daemon = Daemon::start();
    let running = daemon.running("etcd");
    let told = asked(&daemon, &[]);
    daemon.freeze_containerd();

    let runtime = asked(&daemon, &[]);
    for (what, probe) in [("version", &runtime.version_probe), ("info", &runtime.info)] {
        assert_eq!(probe.outcome, Outcome::TimedOut, "{what}: {probe:?}");
    }
    for probe in [&runtime.ping, &runtime.list, &of(&runtime, &running).probe] {
        assert_eq!(probe.outcome, Outcome::Answered);
        assert!(probe.took < PROBE_TIMEOUT / 2, "{:?}", probe.took);
    }
    let stacks = runtime.stacks.unwrap_or_else(|| panic!("no stacks")).stacks;
    for verb in [Verb::Version, Verb::Info] {
        let waits = stacks.calls.iter().find(|call| call.verb == verb);
        let waits = waits.map(|call| call.waits.name());
        assert_eq!(waits, Some("containerd"), "{verb:?}: {stacks:#?}");
    }
    // The version comes with the ping.
    assert_eq!(
        (runtime.version, runtime.api_version),
        (told.version, told.api_version)
    );

    daemon.thaw_containerd();
    assert_eq!(asked(&daemon, &[]).info.outcome, Outcome::Answered);
}

#[test]
fn five_hundred_stopped_containers_are_all_inspected() {
    let daemon = Daemon::start();
    daemon.pile(500);

    let runtime = asked(&daemon, &[]);
    assert_eq!(runtime.containers.len(), 500);
    assert!(runtime.list_bytes > 500 * 500, "{}", runtime.list_bytes);
    for container in &runtime.containers {
        assert_eq!(container.probe.outcome, Outcome::Answered);
        assert_eq!(
            states(&runtime, container.id.as_str()),
            ("exited", Some("exited"))
        );
        assert_eq!(container.kind, ContainerKind::Container);
        assert!(
            container
                .inspected
                .as_ref()
                .is_some_and(|inspected| inspected.finished.is_some())
        );
    }
}

#[test]
fn a_killed_daemons_socket_refuses_and_a_missing_one_is_not_there() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    daemon.kill_dockerd();

    let runtime = asked(&daemon, &[]);
    for probe in [
        &runtime.ping,
        &runtime.version_probe,
        &runtime.info,
        &runtime.list,
    ] {
        assert_eq!(probe.outcome, Outcome::Refused);
        assert!(
            probe
                .error
                .as_deref()
                .is_some_and(|words| words.starts_with("nothing listens on /")),
            "{probe:?}"
        );
    }

    std::fs::remove_file(daemon.socket()).unwrap();
    let runtime = asked(&daemon, &[]);
    assert_eq!(runtime.list.outcome, Outcome::Refused);
    assert!(
        runtime
            .list
            .error
            .as_deref()
            .is_some_and(|words| words.starts_with("there is no /")),
        "{:?}",
        runtime.list
    );

    daemon.restart_dockerd();
    assert_eq!(asked(&daemon, &[]).ping.outcome, Outcome::Answered);
}

#[test]
fn a_running_container_is_never_removed() {
    let daemon = Daemon::start();
    let running = daemon.running("etcd");
    let docker = open(&daemon);
    let refused = docker.remove(&id(&running), Duration::from_secs(20));
    assert_eq!(
        (refused.probe.outcome, refused.status),
        (Outcome::Error, Some(409))
    );
    assert!(daemon.exists(&running));

    daemon.kill_container(&running);
    assert_eq!(
        docker.remove(&id(&running), Duration::from_secs(20)).status,
        Some(204)
    );
}

fn open(daemon: &Daemon) -> Docker {
    Docker::open(&daemon.endpoint(), PROBE_TIMEOUT).unwrap_or_else(|error| panic!("{error:#}"))
}

fn id(text: &str) -> ContainerId {
    ContainerId::parse(text).unwrap_or_else(|| panic!("{text}"))
}
