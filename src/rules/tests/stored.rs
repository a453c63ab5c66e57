//! Docker is silent, and its files are read: what each rule may and may not conclude from them.

use super::*;
use crate::runtime::Call;
use crate::{
    finding::{Confidence, Severity},
    node::{OciCommand, Thread, mount::mountinfo},
    rules::{
        container_pileup, dead_container, hung_container, hung_runtime, list_too_large,
        network_storage, orphan_sandbox, runtime_down,
    },
    runtime::on_disk::{Disk, Liveness, OnDiskState},
    syntax::id::PodName,
};

/// A container that only Docker's files tell of.
fn stored(id: &str, state: &str) -> Container {
    let inspected = sandbox(id, Some(state)).inspected.unwrap();
    Container {
        inspected: None,
        probe: Probe::NONE,
        listed_state: "".into(),
        listed_status: String::new(),
        disk: Some(OnDiskState {
            written: Some(at("03:30:00")),
            state: inspected,
            pid: (state == "running").then_some(2261),
            life: Liveness::Unknown,
            log_driver: "json-file".to_owned(),
            log_file: None,
            binds: Vec::new(),
        }),
        ..sandbox(id, Some(state))
    }
}

fn with_life(mut container: Container, life: Liveness) -> Container {
    container.disk.as_mut().unwrap().life = life;
    container
}

/// A daemon whose every call ends so, and whose files name these containers.
fn silent(outcome: Outcome, containers: Vec<Container>) -> Runtime {
    let disk = Disk {
        root: "/var/lib/docker".to_owned(),
        whole: true,
        containers: containers.len(),
        live_restore: None,
    };
    let mut daemon = daemon_with(containers).with_own_calls(&probe(outcome, 3000));
    daemon.docker_mut().disk = Some(disk);
    daemon
}

fn busy(time: &str) -> String {
    line(
        time,
        &format!(
            "RemoveContainer \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = failed to remove container \"{ID}\": Error response from daemon: driver \"overlay2\" failed to remove root filesystem: unlinkat /x: device or resource busy"
        ),
    )
}

#[test]
fn a_dead_container_of_the_files_is_suspected_even_with_the_log() {
    let mut dead = stored(ID, "dead");
    dead.disk.as_mut().unwrap().state.error = "container x: device or resource busy".to_owned();
    let runtime = silent(Outcome::TimedOut, vec![dead, stored(OTHER, "exited")]);
    let found = only(
        &dead_container::RULE,
        &evidence(&[busy("03:59:00")], Some(runtime)),
    );
    assert_eq!(found.confidence, Confidence::Suspected);
    assert_eq!(found.subjects.len(), 1);
    assert!(
        found.explanation.contains("(\"device or resource busy\")"),
        "{}",
        found.explanation
    );
    assert!(found.explanation.contains("may be stale"));
    assert!(found.remedies[0].command.starts_with("grep -l"));
}

#[test]
fn what_docker_tells_beats_its_files() {
    let mut well = sandbox(ID, Some("running"));
    well.disk = stored(ID, "dead").disk;
    quiet(
        &dead_container::RULE,
        &evidence(&[], Some(daemon_with(vec![well]))),
    );
}

#[test]
fn a_removed_pods_sandbox_is_left_over_only_if_its_process_is_seen() {
    let removal = line(
        "03:00:00",
        "SyncLoop (DELETE, \"api\"): \"web-2_default(9b0e4a32-7fe5-45b4-b69e-1c76355b4249)\"",
    );
    let end = line("04:30:00", "x");
    let told = |life| {
        let container = with_life(stored(ID, "running"), life);
        let runtime = silent(Outcome::TimedOut, vec![container]);
        evidence(&[removal.clone(), end.clone()], Some(runtime))
    };
    let found = only(&orphan_sandbox::RULE, &told(Liveness::There));
    assert_eq!(found.confidence, Confidence::Suspected);
    assert!(
        found.explanation.contains("last recorded it as running"),
        "{}",
        found.explanation
    );
    quiet(&orphan_sandbox::RULE, &told(Liveness::Gone));
    quiet(&orphan_sandbox::RULE, &told(Liveness::Unknown));
}

fn pile(number: usize) -> Vec<Container> {
    let one = |n: usize| stored(&format!("{n:064x}"), "exited");
    (0..number).map(one).collect()
}

#[test]
fn a_pile_behind_a_list_that_times_out_is_suspected_and_no_other() {
    let hung = evidence(&[], Some(silent(Outcome::TimedOut, pile(300))));
    let found = only(&container_pileup::RULE, &hung);
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    assert!(found.title.starts_with("300 stopped containers may be why"));
    for (outcome, number) in [(Outcome::TimedOut, 299), (Outcome::Refused, 300)] {
        let runtime = silent(outcome, pile(number));
        quiet(&container_pileup::RULE, &evidence(&[], Some(runtime)));
    }
    let mut stopped = hung;
    let mut dockerd = process(80, 1, "dockerd", Role::Dockerd, 9000);
    dockerd.state = State::Stopped;
    dockerd.still = Some(Duration::from_secs(1));
    stopped.host = Some(host(vec![dockerd]));
    quiet(&container_pileup::RULE, &stopped);
}

#[test]
fn a_daemon_that_is_down_tells_what_runs_on() {
    let told = |lives: [Liveness; 2], live_restore| {
        let containers = vec![
            with_life(stored(ID, "running"), lives[0]),
            with_life(stored(OTHER, "running"), lives[1]),
        ];
        let mut runtime = silent(Outcome::Refused, containers);
        runtime.docker_mut().disk.as_mut().unwrap().live_restore = live_restore;
        let found = only(&runtime_down::RULE, &evidence(&[], Some(runtime)));
        assert_eq!(found.confidence, Confidence::Suspected);
        found.explanation
    };
    let text = told([Liveness::There, Liveness::There], Some(true));
    assert!(
        text.contains(
            "2 containers in /var/lib/docker, 2 of them running: all of these have their processes."
        ),
        "{text}"
    );
    assert!(text.contains("live-restore is on"), "{text}");
    let text = told([Liveness::There, Liveness::Gone], None);
    assert!(
        text.contains(
            "1 of these have their processes, those of 1 are gone. Unless live-restore is on"
        ),
        "{text}"
    );
    let text = told([Liveness::Gone, Liveness::Gone], None);
    assert!(
        text.ends_with("the processes of all of these are gone."),
        "{text}"
    );
    let text = told([Liveness::Unknown, Liveness::Unknown], Some(false));
    assert!(
        text.ends_with("2 of them running (that may be stale)."),
        "{text}"
    );
}

#[test]
fn files_do_not_make_a_daemon_answer_or_hang() {
    // Its own calls answer, and none of the three inspects: the files of others change nothing.
    let mut containers: Vec<_> = (1..4)
        .map(|n| sandbox(&format!("{n:064x}"), None))
        .collect();
    containers.push(stored(ID, "running"));
    let mut runtime = daemon_with(containers);
    *runtime.probe_mut(Call::List) = probe(Outcome::Error, 1);
    let found = only(&hung_runtime::RULE, &evidence(&[], Some(runtime)));
    assert!(
        found
            .explanation
            .contains("docker inspect of every container")
    );
}

#[test]
fn a_hung_container_of_the_log_gets_its_name_from_the_files_and_is_not_confirmed_by_them() {
    let mut container = stored(ID, "created");
    container.pod = Some(PodName::new("default", "from-its-file"));
    let runtime = silent(Outcome::TimedOut, vec![container]);
    let lines = [line(
        "03:40:00",
        &format!("ContainerStatus \"{ID}\" from runtime service failed: {DEADLINE}"),
    )];
    let found = only(&hung_container::RULE, &evidence(&lines, Some(runtime)));
    assert_eq!(found.confidence, Confidence::Suspected);
    assert!(
        found.title.contains("default/from-its-file"),
        "{}",
        found.title
    );
    assert!(
        found
            .explanation
            .contains("By Docker's files, which may be stale: state created, written at 03:30:00."),
        "{}",
        found.explanation
    );
    assert!(
        !found.explanation.contains("lists it as"),
        "{}",
        found.explanation
    );
}

#[test]
fn an_old_oci_runtime_process_of_a_stored_container_holds_it_up_while_docker_is_silent() {
    let mut runc = process(90, 80, "runc", Role::OciRuntime(OciCommand::Kill), 600);
    runc.container = ContainerId::parse(ID);
    let told = |containers| {
        let mut told = evidence(&[], Some(silent(Outcome::TimedOut, containers)));
        told.host = Some(host(vec![runc.clone()]));
        told
    };
    let found = only(&hung_container::RULE, &told(vec![stored(ID, "running")]));
    assert_eq!(found.subjects[1].pid, Some(90));
    // Another daemon's container is nobody's concern here.
    quiet(&hung_container::RULE, &told(vec![stored(OTHER, "running")]));
}

#[test]
fn a_list_too_large_tells_how_many_were_written_down() {
    let lines = [line(
        "03:59:00",
        "ListContainers with filter nil from runtime service failed: rpc error: code = ResourceExhausted desc = grpc: received message larger than max (18000000 vs. 16777216)",
    )];
    let runtime = silent(Outcome::TimedOut, pile(12));
    let found = only(&list_too_large::RULE, &evidence(&lines, Some(runtime)));
    assert_eq!(found.confidence, Confidence::Suspected);
    assert!(
        found
            .explanation
            .contains("it last wrote down 12 containers, 12 of them stopped"),
        "{}",
        found.explanation
    );
}

/// A start hangs whose container has these binds, while dockerd waits for one of two servers.
fn two_servers(binds: &[&str]) -> Evidence {
    let mut hung = sandbox(ID, None);
    hung.disk = stored(ID, "created").disk;
    hung.disk.as_mut().unwrap().binds = binds.iter().map(|&bind| bind.to_owned()).collect();
    let mut dockerd = process(80, 1, "dockerd", Role::Dockerd, 9000);
    dockerd.threads.waiting = vec![Thread {
        tid: 85,
        state: State::Uninterruptible,
        wchan: Some("rpc_wait_bit_killable".to_owned()),
        stack: Vec::new(),
        still: Some(Duration::from_secs(1)),
    }];
    let mut host = host(vec![dockerd]);
    host.remote = mountinfo(
        "90 29 0:51 / /mnt/a rw - nfs4 10.0.0.5:/a rw\n91 29 0:52 / /mnt/a/b rw - nfs4 10.0.0.6:/b rw\n92 29 0:53 / /mnt/ab rw - nfs4 10.0.0.7:/ab rw\n",
    );
    let runtime = daemon_with(vec![hung, sandbox(OTHER, Some("running"))]);
    Evidence {
        host: Some(host),
        ..evidence(&[], Some(runtime))
    }
}

#[test]
fn a_hung_containers_bind_names_the_server_by_the_longest_mount_point_of_whole_names() {
    for (bind, server) in [
        ("/mnt/a", "10.0.0.5"),
        ("/mnt/a/bc", "10.0.0.5"),
        ("/mnt/a/b/c", "10.0.0.6"),
        ("/mnt/ab", "10.0.0.7"),
    ] {
        let found = only(&network_storage::RULE, &two_servers(&[bind, "/etc/x"]));
        assert_eq!(
            found.title,
            format!("1 task waits for {server}, which does not answer")
        );
        assert_eq!(
            found.subjects[0].pod.as_ref().unwrap().to_string(),
            "default/web-2"
        );
        assert!(
            found
                .explanation
                .contains(&format!("has {bind} of the host mounted")),
            "{}",
            found.explanation
        );
        // It points there, and proves nothing: no stack shows the start.
        let detach = |command: &str| command.starts_with("umount");
        assert!(!found.remedies.iter().any(|remedy| detach(&remedy.command)));
    }
}

#[test]
fn binds_of_local_disks_or_of_two_servers_name_none() {
    for binds in [&["/srv", "/mnt"][..], &["/mnt/a", "/mnt/ab"]] {
        let found = only(&network_storage::RULE, &two_servers(binds));
        assert!(!found.title.contains("10.0.0."), "{}", found.title);
    }
}
