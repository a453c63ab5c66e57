use super::*;
use crate::{node::pressure::DaemonLimits, rules::tasks_exhausted::RULE};

fn limits(pid: u32, tasks: u64, limit: Option<u64>) -> DaemonLimits {
    DaemonLimits {
        pid,
        tasks: Some(tasks),
        tasks_limit: limit,
        ..DaemonLimits::default()
    }
}

fn seen(machine: (u64, u64), daemons: Vec<DaemonLimits>) -> Evidence {
    let mut evidence = evidence(&[], None);
    let mut host = host(vec![
        process(70, 1, "containerd", Role::Containerd, 9000),
        process(80, 1, "dockerd", Role::Dockerd, 9000),
    ]);
    host.pressure.tasks = Some(machine.0);
    host.pressure.tasks_limit = Some(machine.1);
    host.pressure.daemons = daemons;
    evidence.host = Some(host);
    evidence
}

#[test]
fn the_machine_is_full_from_95_per_cent_on() {
    let found = only(&RULE, &seen((31_130, 32_768), Vec::new()));
    assert!(
        found.title.contains("31130 tasks of 32768"),
        "{}",
        found.title
    );
    quiet(&RULE, &seen((31_129, 32_768), Vec::new()));
}

#[test]
fn a_daemons_own_limit_counts_and_none_is_none() {
    let found = only(
        &RULE,
        &seen(
            (400, 32_768),
            vec![limits(80, 512, Some(512)), limits(70, 20, None)],
        ),
    );
    assert_eq!(found.subjects[0].pid, Some(80));
    let lift = "systemctl set-property docker.service TasksMax=infinity";
    assert!(found.remedies.iter().any(|remedy| remedy.command == lift));
    quiet(&RULE, &seen((400, 32_768), vec![limits(80, 5120, None)]));
}

#[test]
fn daemons_that_share_a_cgroup_are_one_finding() {
    only(
        &RULE,
        &seen(
            (400, 32_768),
            vec![limits(70, 512, Some(512)), limits(80, 512, Some(512))],
        ),
    );
}

#[test]
fn another_dockers_daemon_is_not_this_nodes_runtime() {
    let mut elsewhere = seen((400, 32_768), vec![limits(80, 512, Some(512))]);
    let mut runtime = daemon_with(Vec::new());
    runtime.endpoint = "unix:///tmp/other.sock".to_owned();
    elsewhere.runtime = Some(runtime);
    quiet(&RULE, &elsewhere);
}
