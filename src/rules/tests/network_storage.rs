use super::*;
use crate::{
    finding::{Confidence, Remedy, Severity, SubjectKind},
    node::{KernelKind, KernelLine, Mount, Thread, mount::mountinfo},
    rules::network_storage::RULE,
};

/// dockerd with a thread in that function of the kernel, watched in one sleep for a second, or not.
fn dockerd(wchan: &str, watched: bool) -> Process {
    let mut dockerd = process(80, 1, "dockerd", Role::Dockerd, 9000);
    dockerd.threads.waiting = vec![Thread {
        tid: 85,
        state: State::Uninterruptible,
        wchan: Some(wchan.to_owned()),
        stack: Vec::new(),
        still: watched.then_some(Duration::from_secs(1)),
    }];
    dockerd
}

fn mounts(of: &[(&str, &str)]) -> Vec<Mount> {
    let line = |(kind, source): &(&str, &str)| {
        format!(
            "90 29 0:51 / /var/lib/kubelet/pods/{UID}/volumes/x/{kind} rw - {kind} {source} rw\n"
        )
    };
    mountinfo(&of.iter().map(line).collect::<String>())
}

fn seen(process: Process, remote: Vec<Mount>, runtime: Option<Runtime>) -> Evidence {
    let mut evidence = evidence(&[], runtime);
    let mut host = host(vec![process]);
    host.remote = remote;
    evidence.host = Some(host);
    evidence
}

const NFS: &[(&str, &str)] = &[("nfs4", "10.0.0.5:/export"), ("fuse", "/srv")];

fn one_hangs() -> Option<Runtime> {
    Some(daemon_with(vec![
        sandbox(ID, None),
        sandbox(OTHER, Some("running")),
    ]))
}

#[test]
fn server_and_pod_are_named_and_docker_confirms() {
    let found = only(
        &RULE,
        &seen(
            dockerd("rpc_wait_bit_killable", true),
            mounts(NFS),
            one_hangs(),
        ),
    );
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Confirmed)
    );
    assert_eq!(
        found.title,
        "1 task waits for 10.0.0.5, which does not answer"
    );
    assert_eq!(found.subjects[0].kind, SubjectKind::Mount);
    assert_eq!(
        found.subjects[0].pod.as_ref().unwrap().to_string(),
        "default/web-2"
    );
    assert_eq!(found.subjects[1].pid, Some(80));
    assert!(
        found.explanation.contains("(nfs4, from 10.0.0.5:/export)"),
        "{}",
        found.explanation
    );
    let commands: Vec<_> = found
        .remedies
        .iter()
        .map(|remedy| remedy.command.as_str())
        .collect();
    assert!(
        commands
            .iter()
            .any(|command| command.starts_with("umount -f -l ")),
        "{commands:?}"
    );
}

#[test]
fn without_docker_or_log_it_is_suspected() {
    let found = only(
        &RULE,
        &seen(dockerd("rpc_wait_bit_killable", true), mounts(NFS), None),
    );
    assert_eq!(found.confidence, Confidence::Suspected);
}

#[test]
fn the_log_makes_it_critical() {
    let mut seen = seen(dockerd("rpc_wait_bit_killable", true), mounts(NFS), None);
    seen.log = evidence(&[status_deadline("03:35:50", ID)], None).log;
    let found = only(&RULE, &seen);
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Critical, Confidence::Confirmed)
    );
}

#[test]
fn who_woke_up_meanwhile_or_waits_for_a_local_disk_is_not_stuck_here() {
    quiet(
        &RULE,
        &seen(
            dockerd("rpc_wait_bit_killable", false),
            mounts(NFS),
            one_hangs(),
        ),
    );
    quiet(
        &RULE,
        &seen(
            dockerd("folio_wait_bit_common", true),
            mounts(NFS),
            one_hangs(),
        ),
    );
    quiet(
        &RULE,
        &seen(dockerd("futex_do_wait", true), mounts(NFS), one_hangs()),
    );
}

#[test]
fn between_two_servers_nothing_is_detached_on_a_guess() {
    let two = mounts(&[("nfs4", "10.0.0.5:/export"), ("nfs", "10.0.0.6:/export")]);
    let found = only(
        &RULE,
        &seen(dockerd("rpc_wait_bit_killable", true), two, one_hangs()),
    );
    assert!(!found.title.contains("10.0.0."), "{}", found.title);
    assert!(
        found.explanation.contains("one of these mounts"),
        "{}",
        found.explanation
    );
    assert!(
        !found
            .remedies
            .iter()
            .any(|remedy| remedy.command.contains("umount"))
    );
}

/// A workload in uninterruptible sleep.
fn workload(container: Option<&str>) -> Process {
    let mut workload = process(90, 1, "postgres", Role::Other, 9000);
    workload.state = State::Uninterruptible;
    workload.wchan = None;
    workload.stack = vec!["rpc_wait_bit_killable".to_owned()];
    workload.still = Some(Duration::from_secs(1));
    workload.threads.seen = 0;
    workload.container = container.and_then(ContainerId::parse);
    workload
}

fn may_detach(found: &Finding) -> bool {
    let mut remedies = found.remedies.iter();
    remedies.any(|remedy| remedy.command.contains("umount"))
}

#[test]
fn a_workloads_own_wait_is_nothing_unless_the_kernel_says_so_too_and_explains_no_hang() {
    let mut seen = seen(workload(None), mounts(NFS), one_hangs());
    quiet(&RULE, &seen);
    seen.host.as_mut().unwrap().kernel_lines = vec![KernelLine {
        kind: KernelKind::SilentServer,
        ago: Some(Duration::from_secs(90)),
        text: "nfs: server 10.0.0.5 not responding, still trying".to_owned(),
    }];
    let found = only(&RULE, &seen);
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    assert!(may_detach(&found));
}

#[test]
fn the_wait_of_the_container_that_hangs_confirms_and_that_of_another_does_not() {
    let found = only(&RULE, &seen(workload(Some(ID)), mounts(NFS), one_hangs()));
    assert_eq!(found.confidence, Confidence::Confirmed);
    quiet(
        &RULE,
        &seen(workload(Some(OTHER)), mounts(NFS), one_hangs()),
    );
}

#[test]
fn another_dockers_daemon_confirms_nothing_and_is_not_restarted() {
    let mut inner = dockerd("rpc_wait_bit_killable", true);
    inner.container = ContainerId::parse(OTHER);
    let found = only(&RULE, &seen(inner, mounts(NFS), one_hangs()));
    assert_eq!(found.confidence, Confidence::Suspected);
    assert!(!may_detach(&found));
    let restarts = |remedy: &Remedy| remedy.command.contains("restart");
    assert!(!found.remedies.iter().any(restarts), "{found:#?}");
    let own = dockerd("rpc_wait_bit_killable", true);
    let found = only(&RULE, &seen(own, mounts(NFS), one_hangs()));
    assert!(found.remedies.iter().any(restarts), "{found:#?}");
}

#[test]
fn a_kubelet_that_measures_a_slow_volume_holds_up_no_container_that_hangs() {
    let mut kubelet = dockerd("rpc_wait_bit_killable", true);
    (kubelet.comm, kubelet.role) = ("kubelet".to_owned(), Role::Kubelet);
    let found = only(&RULE, &seen(kubelet, mounts(NFS), one_hangs()));
    assert_eq!(found.confidence, Confidence::Suspected);
    assert!(!found.explanation.contains("Docker does not answer"));
    assert!(!may_detach(&found));
}

#[test]
fn a_cifs_server_that_was_silent_hours_ago_is_not_so_now() {
    let mut seen = seen(workload(None), mounts(NFS), one_hangs());
    for (minutes, silent) in [(2, true), (200, false)] {
        seen.host.as_mut().unwrap().kernel_lines = vec![KernelLine {
            kind: KernelKind::SilentServer,
            ago: Some(Duration::from_secs(60 * minutes)),
            text: "CIFS: VFS: \\\\files has not responded in 180 seconds. Reconnecting..."
                .to_owned(),
        }];
        match silent {
            true => drop(only(&RULE, &seen)),
            false => quiet(&RULE, &seen),
        }
    }
}

#[test]
fn a_fuse_connection_may_be_aborted() {
    let found = only(
        &RULE,
        &seen(
            dockerd("request_wait_answer", true),
            mounts(NFS),
            one_hangs(),
        ),
    );
    let commands: Vec<_> = found
        .remedies
        .iter()
        .map(|remedy| remedy.command.as_str())
        .collect();
    assert!(
        commands.contains(&"echo 1 > /sys/fs/fuse/connections/51/abort"),
        "{commands:?}"
    );
}

#[test]
fn a_fuse_server_is_given_up_before_docker_is_restarted_if_somebody_waits_for_it() {
    let fuse = mounts(&[("fuse", "/srv")]);
    let alone = only(
        &RULE,
        &seen(dockerd("request_wait_answer", true), fuse, None),
    );
    let at = |word: &str| {
        let mut commands = alone.remedies.iter().map(|it| &it.command);
        commands.position(|it| it.contains(word)).unwrap()
    };
    assert!(at("waiting) -gt 0 ] && echo 1 >") < at("systemctl restart"));
    let several = mounts(&[("fuse", "/srv"), ("fuse", "/other")]);
    let found = only(
        &RULE,
        &seen(dockerd("request_wait_answer", true), several, None),
    );
    let commands: Vec<_> = found.remedies.iter().map(|it| &*it.command).collect();
    assert!(
        commands.iter().all(|it| !it.contains("/abort")),
        "{commands:?}"
    );
    assert!(
        commands
            .iter()
            .any(|it| it.ends_with("connections/*/waiting"))
    );
}
