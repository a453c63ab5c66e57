use super::*;
use crate::runtime::Call;
use crate::{
    finding::{Confidence, Severity},
    rules::hung_runtime::RULE,
};

fn list_deadline(time: &str) -> String {
    line(
        time,
        &format!("GenericPLEG: Unable to retrieve pods: {DEADLINE}"),
    )
}

#[test]
fn a_daemon_that_answers_nothing_is_hung() {
    let mut daemon = daemon_with(Vec::new());
    for probed in Call::OWN {
        *daemon.probe_mut(probed) = probe(Outcome::TimedOut, 3000);
    }
    let found = only(&RULE, &evidence(&[], Some(daemon)));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Critical, Confidence::Suspected)
    );
    assert_eq!(found.subjects[0].name.as_deref(), Some("dockerd"));
}

#[test]
fn version_and_info_alone_point_to_containerd() {
    let mut daemon = daemon_with(vec![sandbox(ID, Some("running"))]);
    *daemon.probe_mut(Call::Version) = probe(Outcome::TimedOut, 3000);
    *daemon.probe_mut(Call::Info) = probe(Outcome::TimedOut, 3000);
    let found = only(&RULE, &evidence(&[], Some(daemon)));
    assert_eq!(found.subjects[0].name.as_deref(), Some("containerd"));
}

#[test]
fn a_restart_of_containerd_that_may_take_docker_along_says_so() {
    for (live_restore, takes) in [
        (
            None,
            "stops every container of the node unless live-restore is on",
        ),
        (Some(false), "stops every container of the node"),
        (Some(true), "containers keep running; calls in flight fail"),
    ] {
        let mut daemon = daemon_with(vec![sandbox(ID, Some("running"))]);
        *daemon.probe_mut(Call::Version) = probe(Outcome::TimedOut, 3000);
        daemon.docker_mut().live_restore = live_restore;
        let found = only(&RULE, &evidence(&[], Some(daemon)));
        let mut remedies = found.remedies.iter();
        let restart = remedies
            .find(|it| it.title == "Restart containerd")
            .unwrap();
        assert!(restart.cost.ends_with(takes), "{}", restart.cost);
    }
}

#[test]
fn log_and_daemon_together_confirm() {
    let mut daemon = daemon_with(Vec::new());
    *daemon.probe_mut(Call::List) = probe(Outcome::TimedOut, 3000);
    let found = only(&RULE, &evidence(&[list_deadline("03:37:50")], Some(daemon)));
    assert_eq!(found.confidence, Confidence::Confirmed);
}

#[test]
fn one_silent_container_is_no_hung_daemon() {
    quiet(
        &RULE,
        &evidence(
            &[],
            Some(daemon_with(vec![
                sandbox(ID, None),
                sandbox(OTHER, Some("running")),
            ])),
        ),
    );
    quiet(
        &RULE,
        &evidence(&[], Some(daemon_with(vec![sandbox(ID, None)]))),
    );
}

#[test]
fn containers_that_are_all_silent_are_the_daemons_fault() {
    let ids: Vec<String> = (0..3).map(|n| format!("{n}{}", &ID[1..])).collect();
    let daemon = daemon_with(ids.iter().map(|id| sandbox(id, None)).collect());
    assert!(only(&RULE, &evidence(&[], Some(daemon))).active);
}

#[test]
fn list_deadlines_last_until_a_sign_of_recovery() {
    assert!(only(&RULE, &evidence(&[list_deadline("03:37:50")], None)).active);
    let over = only(
        &RULE,
        &evidence(&[list_deadline("03:37:50"), ready("03:38:20")], None),
    );
    assert!(!over.active);
    // A daemon that answers all its calls now is well, whatever the log's end says.
    let now = only(
        &RULE,
        &evidence(&[list_deadline("03:37:50")], Some(daemon_with(Vec::new()))),
    );
    assert!(!now.active);
}

#[test]
fn a_daemon_that_refuses_is_another_finding() {
    let mut daemon = daemon_with(Vec::new());
    for probed in Call::OWN {
        *daemon.probe_mut(probed) = probe(Outcome::Refused, 1);
    }
    quiet(&RULE, &evidence(&[], Some(daemon)));
}

#[test]
fn containers_that_were_not_asked_prove_nothing_of_the_daemon() {
    let ids: Vec<String> = (0..9).map(|n| format!("{n}{}", &ID[1..])).collect();
    let mut containers: Vec<_> = ids.iter().map(|id| sandbox(id, None)).collect();
    containers[8].probe = probe(Outcome::NotProbed, 0);
    quiet(&RULE, &evidence(&[], Some(daemon_with(containers))));
}

#[test]
fn a_silent_ping_alone_is_no_failed_list() {
    let mut daemon = daemon_with(vec![sandbox(ID, Some("running"))]);
    *daemon.probe_mut(Call::Ping) = probe(Outcome::TimedOut, 3000);
    let found = only(&RULE, &evidence(&[], Some(daemon)));
    assert!(
        !found.explanation.contains("cannot list"),
        "{}",
        found.explanation
    );
}

#[test]
fn the_daemons_stacks_tell_what_most_of_its_calls_wait_for() {
    let dump = "\
goroutine 1 [select]:
github.com/containerd/containerd/api/services/version/v1.(*versionClient).Version(0x1)
github.com/docker/docker/daemon.(*Daemon).SystemVersion(0x1)

goroutine 2 [select]:
github.com/containerd/containerd/api/services/version/v1.(*versionClient).Version(0x1)
github.com/docker/docker/daemon.(*Daemon).SystemInfo(0x1)

goroutine 3 [semacquire]:
sync.(*Mutex).Lock(0x5)
github.com/docker/docker/daemon.(*Daemon).ContainerInspect(0x1)
";
    let mut daemon = daemon_with(vec![sandbox(ID, Some("running"))]);
    *daemon.probe_mut(Call::Version) = probe(Outcome::TimedOut, 3000);
    *daemon.probe_mut(Call::Info) = probe(Outcome::TimedOut, 3000);
    daemon.docker_mut().stacks = Some(crate::runtime::PendingStacks {
        stacks: crate::runtime::stacks::Stacks::read(dump.as_bytes()),
        pending: Vec::new(),
    });
    let found = only(&RULE, &evidence(&[], Some(daemon)));
    let says = "of 3 calls in progress, 2 wait for containerd.";
    assert!(found.explanation.contains(says), "{}", found.explanation);
}

#[test]
fn a_list_error_that_passed_does_not_confirm_a_slow_list_now() {
    let lines = [
        list_deadline("01:00:00"),
        ready("01:01:00"),
        ready("03:00:00"),
    ];
    let mut daemon = daemon_with(Vec::new());
    *daemon.probe_mut(Call::List) = probe(Outcome::TimedOut, 3000);
    assert_eq!(
        only(&RULE, &evidence(&lines, Some(daemon))).confidence,
        Confidence::Suspected
    );
}

#[test]
fn sandboxes_that_are_not_made_in_time_are_a_warning() {
    let failed = |m: u32| {
        line(
            &format!("03:{m}:00"),
            &format!("RunPodSandbox from runtime service failed: {DEADLINE}"),
        )
    };
    let many: Vec<_> = (20..26).map(failed).collect();
    let found = only(&RULE, &evidence(&many, None));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    quiet(&RULE, &evidence(&[failed(20)], None));
}
