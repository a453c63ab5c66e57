use super::*;
use crate::runtime::Call;
use crate::{
    finding::{Confidence, Severity},
    node::Thread,
    rules::frozen_daemon::RULE,
};

/// A node's two daemons.
fn daemons() -> Vec<Process> {
    vec![
        process(70, 1, "containerd", Role::Containerd, 9000),
        process(80, 1, "dockerd", Role::Dockerd, 9000),
    ]
}

fn stopped(pid: u32, tracer: Option<u32>) -> Host {
    let mut processes = daemons();
    for process in processes.iter_mut().filter(|process| process.pid == pid) {
        process.state = State::Stopped;
        process.still = Some(Duration::from_secs(1));
        process.tracer = tracer;
        process.threads.stopped = process.threads.seen;
    }
    host(processes)
}

/// `asleep` of dockerd's ten threads sleep in the kernel.
fn asleep(asleep: usize) -> Host {
    let mut processes = daemons();
    processes[1].threads.uninterruptible = asleep;
    processes[1].threads.waiting = vec![Thread {
        tid: 81,
        state: State::Uninterruptible,
        wchan: Some("io_schedule".to_owned()),
        stack: Vec::new(),
        still: None,
    }];
    host(processes)
}

fn silent() -> Runtime {
    let mut daemon = daemon_with(Vec::new());
    *daemon.probe_mut(Call::Ping) = probe(Outcome::TimedOut, 3000);
    *daemon.probe_mut(Call::List) = probe(Outcome::TimedOut, 3000);
    daemon
}

fn told(host: Host, runtime: Option<Runtime>) -> Evidence {
    let mut evidence = evidence(&[], runtime);
    evidence.host = Some(host);
    evidence
}

#[test]
fn a_stopped_dockerd_that_does_not_answer_is_confirmed_and_may_go_on() {
    let found = only(&RULE, &told(stopped(80, Some(0)), Some(silent())));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Critical, Confidence::Confirmed)
    );
    assert_eq!(found.subjects[0].pid, Some(80));
    assert!(
        found
            .remedies
            .iter()
            .any(|remedy| remedy.command == "kill -CONT 80")
    );
}

#[test]
fn state_t_alone_is_suspected() {
    let found = only(&RULE, &told(stopped(80, Some(0)), None));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
}

#[test]
fn the_log_confirms_as_well_as_docker() {
    let line = line(
        "03:35:50",
        &format!("ListPodSandbox with filter nil from runtime service failed: {DEADLINE}"),
    );
    let mut evidence = evidence(&[line], None);
    evidence.host = Some(stopped(70, Some(0)));
    let found = only(&RULE, &evidence);
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert_eq!(found.subjects[0].name.as_deref(), Some("containerd"));
}

#[test]
fn what_a_debugger_holds_is_not_told_to_go_on() {
    let found = only(&RULE, &told(stopped(80, Some(4711)), Some(silent())));
    assert!(
        found.explanation.contains("traces it, 4711"),
        "{}",
        found.explanation
    );
    assert!(
        !found
            .remedies
            .iter()
            .any(|remedy| remedy.command.contains("CONT"))
    );
    assert!(
        found
            .remedies
            .iter()
            .any(|remedy| remedy.command.ends_with("-p 4711"))
    );
}

#[test]
fn most_threads_in_uninterruptible_sleep_count_only_with_silence() {
    let found = only(&RULE, &told(asleep(6), Some(silent())));
    assert!(
        found.explanation.contains("6 of 10 threads"),
        "{}",
        found.explanation
    );
    quiet(&RULE, &told(asleep(6), Some(daemon_with(Vec::new()))));
    quiet(&RULE, &told(asleep(6), None));
    quiet(&RULE, &told(asleep(5), Some(silent())));
}

#[test]
fn a_frozen_cgroup_is_told_and_to_be_thawed() {
    for (state, wchan) in [
        (State::Sleeping, "do_freezer_trap"),
        (State::Uninterruptible, "__refrigerator"),
    ] {
        let mut host = host(daemons());
        host.processes[1].state = state;
        host.processes[1].wchan = Some(wchan.to_owned());
        let found = only(&RULE, &told(host, Some(silent())));
        assert_eq!(found.confidence, Confidence::Confirmed, "{wchan}");
        assert_eq!(found.title, "dockerd (process 80) is in a frozen cgroup");
        let commands: Vec<_> = found.remedies.iter().map(|it| &*it.command).collect();
        assert_eq!(
            commands,
            ["cat /proc/80/cgroup", "systemctl thaw docker.service"]
        );
    }
    let mut host = host(daemons());
    host.processes[1].wchan = Some("do_freezer_trap_of_another_kind".to_owned());
    quiet(&RULE, &told(host, Some(silent())));
}

#[test]
fn another_daemons_state_is_no_matter() {
    // Docker was asked at a socket that this dockerd does not have.
    let mut elsewhere = silent();
    elsewhere.endpoint = "unix:///tmp/other.sock".to_owned();
    quiet(&RULE, &told(stopped(80, Some(0)), Some(elsewhere)));
    quiet(&RULE, &told(host(daemons()), Some(silent())));
    quiet(&RULE, &evidence(&[], Some(silent())));
}

#[test]
fn a_daemon_that_strace_stops_for_a_moment_is_none() {
    let mut host = stopped(80, Some(4711));
    for process in &mut host.processes {
        process.still = None;
    }
    quiet(&RULE, &told(host, Some(silent())));
}

#[test]
fn the_only_docker_of_a_machine_is_its_runtime_wherever_it_listens() {
    let mut dockerd = process(7, 1, "dockerd", Role::Dockerd, 900);
    dockerd.command = Some(vec![
        "dockerd".to_owned(),
        "-H".to_owned(),
        "unix:///srv/docker.sock".to_owned(),
    ]);
    dockerd.state = State::Stopped;
    dockerd.still = Some(Duration::from_secs(1));
    let mut evidence = evidence(&[], None);
    evidence.host = Some(host(vec![dockerd.clone()]));
    let finding = only(&RULE, &evidence);
    assert_eq!(finding.subjects[0].pid, Some(7));
    // Of two nobody knows.
    let other = Process { pid: 9, ..dockerd };
    evidence.host.as_mut().unwrap().processes.push(other);
    quiet(&RULE, &evidence);
}
