use super::*;
use crate::runtime::Call;
use crate::{
    finding::{Confidence, Risk},
    rules::leaked_shim::RULE,
};

const SHIM: u32 = 30;
const WORKLOAD: u32 = 31;
const ADDRESS: &str = "/run/containerd/containerd.sock";

/// A sandbox that Docker says, twice, is running as the workload.
fn running() -> Container {
    let mut container = sandbox(ID, Some("running"));
    let inspected = container.inspected.as_mut().unwrap();
    (inspected.pid, inspected.again) = (Some(WORKLOAD), true);
    container
}

/// A shim of that container, without a child.
fn shim(id: &str) -> Process {
    let mut shim = process(SHIM, 1, "containerd-shim", Role::Shim, 120);
    let words =
        format!("/usr/bin/containerd-shim-runc-v2 -namespace moby -id {id} -address {ADDRESS}");
    shim.command = Some(words.split(' ').map(str::to_owned).collect());
    shim.container = ContainerId::parse(id);
    shim.children = Some(0);
    shim
}

fn dockerd() -> Process {
    process(10, 1, "dockerd", Role::Dockerd, 9000)
}

/// A machine with dockerd and those, all of whose processes are seen.
fn machine(mut processes: Vec<Process>) -> Host {
    processes.insert(0, dockerd());
    Host {
        whole: true,
        living: processes.iter().map(|process| process.pid).collect(),
        ..host(processes)
    }
}

fn story(containers: Vec<Container>, host: Host) -> Evidence {
    let mut evidence = evidence(&[], Some(daemon_with(containers)));
    evidence.host = Some(host);
    evidence
}

fn commands(finding: &Finding) -> Vec<&str> {
    let remedies = finding.remedies.iter();
    remedies.map(|remedy| remedy.command.as_str()).collect()
}

fn with(container: &mut Container, change: impl FnOnce(&mut Inspected)) {
    change(container.inspected.as_mut().unwrap());
}

#[test]
fn a_shim_without_a_child_whose_container_runs_by_dockers_word_is_confirmed() {
    let found = only(&RULE, &story(vec![running()], machine(vec![shim(ID)])));
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert_eq!(found.subjects[0].id.as_ref().unwrap().as_str(), ID);
    assert_eq!(found.subjects[1].pid, Some(SHIM));
    assert_eq!(
        commands(&found),
        [
            "ps -o pid,ppid,stat,etime,args --pid 30 --ppid 30".to_owned(),
            format!("docker stop {}", &ID[..12]),
            "kill -9 30".to_owned(),
        ]
    );
    assert!(found.remedies.iter().all(|remedy| remedy.risk < Risk::Node));
}

#[test]
fn dockers_first_word_alone_is_a_suspicion() {
    let mut container = running();
    with(&mut container, |inspected| inspected.again = false);
    let found = only(&RULE, &story(vec![container], machine(vec![shim(ID)])));
    assert_eq!(found.confidence, Confidence::Suspected);
}

#[test]
fn a_shim_with_a_child_or_whose_container_lives_is_well() {
    let mut busy = shim(ID);
    busy.children = Some(1);
    quiet(&RULE, &story(vec![running()], machine(vec![busy])));
    let mut lives = machine(vec![shim(ID)]);
    lives.living.insert(WORKLOAD);
    quiet(&RULE, &story(vec![running()], lives));
}

#[test]
fn what_began_or_ended_just_now_is_left_alone() {
    let mut young = shim(ID);
    young.age = Some(Duration::from_secs(59));
    quiet(&RULE, &story(vec![running()], machine(vec![young])));

    // Without a shim: it may just have been started.
    let mut started = running();
    with(&mut started, |inspected| {
        inspected.started = Some(at("03:59:30"));
    });
    quiet(&RULE, &story(vec![started], machine(Vec::new())));

    let mut ended = sandbox(ID, Some("exited"));
    with(&mut ended, |inspected| {
        inspected.finished = Some(at("03:59:30"));
    });
    quiet(&RULE, &story(vec![ended], machine(vec![shim(ID)])));
}

#[test]
fn a_container_that_runs_without_a_shim_is_confirmed_whether_its_process_lives_or_not() {
    let gone = only(&RULE, &story(vec![running()], machine(Vec::new())));
    assert_eq!(gone.confidence, Confidence::Confirmed);
    assert!(
        gone.explanation
            .contains("neither such a process nor a shim"),
        "{}",
        gone.explanation
    );
    // A stop waits in vain.
    assert!(!commands(&gone).iter().any(|it| it.contains("docker stop")));
    assert!(commands(&gone).contains(&"systemctl restart docker"));
    let mut host = machine(Vec::new());
    host.living.insert(WORKLOAD);
    let lives = only(&RULE, &story(vec![running()], host));
    assert!(
        lives
            .explanation
            .contains("that process lives, but no shim"),
        "{}",
        lives.explanation
    );
}

#[test]
fn a_shim_whose_words_are_unknown_may_be_anybodys() {
    let mut unknown = shim(OTHER);
    (unknown.command, unknown.container) = (None, None);
    quiet(&RULE, &story(vec![running()], machine(vec![unknown])));
}

#[test]
fn a_shim_of_a_container_that_ended_long_ago_or_that_docker_does_not_know_is_left_over() {
    let mut ended = sandbox(ID, Some("exited"));
    with(&mut ended, |inspected| {
        inspected.finished = Some(at("03:55:00"));
    });
    let found = only(&RULE, &story(vec![ended], machine(vec![shim(ID)])));
    assert!(
        found.explanation.contains("ended 5m ago"),
        "{}",
        found.explanation
    );
    assert_eq!(found.confidence, Confidence::Confirmed);

    let mut busy = shim(OTHER);
    busy.children = Some(2);
    let found = only(&RULE, &story(Vec::new(), machine(vec![busy])));
    assert_eq!(found.subjects[0].id.as_ref().unwrap().as_str(), OTHER);
    assert!(
        found.explanation.contains("2 children that live"),
        "{}",
        found.explanation
    );
    assert_eq!(
        commands(&found)[1],
        format!("ctr --address {ADDRESS} --namespace moby tasks delete --force {OTHER}")
    );
    // It has children: nobody kills it for keeping nothing.
    assert_eq!(found.remedies.len(), 2);
}

#[test]
fn another_containerds_or_the_kubelets_own_shims_are_not_dockers_to_know() {
    for (from, to) in [("moby", "k8s.io"), ("/run/containerd/", "/run/other/")] {
        let mut other = shim(OTHER);
        for word in other.command.iter_mut().flatten() {
            *word = word.replace(from, to);
        }
        quiet(&RULE, &story(Vec::new(), machine(vec![other])));
    }
    // A dockerd that has a containerd of its own: what counts is where that one listens.
    let mut host = machine(vec![shim(OTHER)]);
    let mut containerd = process(11, 10, "containerd", Role::Containerd, 9000);
    containerd.command = Some(
        [
            "containerd",
            "--config",
            "/var/run/docker/containerd/containerd.toml",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    host.processes.push(containerd);
    quiet(&RULE, &story(Vec::new(), host.clone()));
    for word in host.processes[1].command.iter_mut().flatten() {
        *word = word.replace("/run/containerd/", "/run/docker/containerd/");
    }
    only(&RULE, &story(Vec::new(), host));
}

#[test]
fn a_list_that_failed_proves_no_container_unknown() {
    let mut story = story(Vec::new(), machine(vec![shim(OTHER)]));
    *story.runtime.as_mut().unwrap().probe_mut(Call::List) = probe(Outcome::TimedOut, 3000);
    quiet(&RULE, &story);
}

#[test]
fn who_does_not_see_all_processes_or_another_machines_dockerd_says_nothing() {
    let mut blind = machine(vec![shim(ID)]);
    blind.whole = false;
    quiet(&RULE, &story(vec![running()], blind));
    let mut elsewhere = machine(vec![shim(ID)]);
    elsewhere.processes.remove(0);
    quiet(&RULE, &story(vec![running()], elsewhere));
    // Docker in Docker: numbers of processes are its own.
    let mut inner = machine(vec![shim(ID)]);
    inner.processes[0].container = ContainerId::parse(OTHER);
    quiet(&RULE, &story(vec![running()], inner));
}

#[test]
fn a_virtual_machines_shim_and_a_container_that_restarts_have_no_child_to_look_for() {
    let mut kata = shim(ID);
    for word in kata.command.iter_mut().flatten() {
        *word = word.replace("runc-v2", "kata-v2");
    }
    quiet(&RULE, &story(vec![running()], machine(vec![kata])));
    let mut restarting = running();
    with(&mut restarting, |inspected| {
        inspected.state = "restarting".into();
    });
    quiet(&RULE, &story(vec![restarting], machine(vec![shim(ID)])));
}

#[test]
fn a_stopped_shim_is_let_go_on_before_anything_else() {
    let mut stopped = shim(ID);
    stopped.state = State::Stopped;
    let found = only(&RULE, &story(vec![running()], machine(vec![stopped])));
    assert_eq!(commands(&found)[1], "kill -CONT 30");
    assert!(
        found.explanation.contains("stopped"),
        "{}",
        found.explanation
    );
}

#[test]
fn with_containerd_stopped_nothing_but_a_look_is_advised() {
    let mut host = machine(vec![shim(ID)]);
    let mut containerd = process(11, 1, "containerd", Role::Containerd, 9000);
    (containerd.state, containerd.still) = (State::Stopped, Some(Duration::from_secs(1)));
    containerd.tracer = Some(0);
    host.processes.push(containerd);
    let found = only(&RULE, &story(vec![running()], host));
    assert_eq!(found.remedies.len(), 1);
    assert!(
        found
            .explanation
            .contains("Docker learns of this automatically"),
        "{}",
        found.explanation
    );
}
