use super::*;
use crate::runtime::Call;
use crate::{
    finding::{Confidence, Risk, Severity, SubjectKind},
    node::{OciCommand, Thread},
    rules::hung_container::RULE,
};

#[test]
fn an_unanswered_inspect_alone_is_a_suspected_warning() {
    let daemon = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]);
    let found = only(&RULE, &evidence(&[], Some(daemon)));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    assert!(found.active);
    assert!(
        found.explanation.contains("An ordinary start or stop"),
        "{}",
        found.explanation
    );
}

#[test]
fn a_deadline_alone_is_critical_and_suspected() {
    let found = only(&RULE, &evidence(&[status_deadline("03:35:50", ID)], None));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Critical, Confidence::Suspected)
    );
    assert_eq!(found.subjects[0].id.as_ref().unwrap().as_str(), ID);
    assert_eq!(
        found.subjects[0].pod.as_ref().unwrap().to_string(),
        "default/web-2"
    );
}

#[test]
fn deadline_and_inspect_together_confirm() {
    let daemon = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]);
    let found = only(
        &RULE,
        &evidence(&[status_deadline("03:35:50", ID)], Some(daemon)),
    );
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Critical, Confidence::Confirmed)
    );
}

#[test]
fn an_id_cut_short_in_the_log_meets_its_container() {
    let daemon = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]);
    let found = only(
        &RULE,
        &evidence(&[status_deadline("03:35:50", &ID[..13])], Some(daemon)),
    );
    assert_eq!(found.confidence, Confidence::Confirmed);
}

#[test]
fn another_containers_deadline_confirms_nothing() {
    let daemon = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]);
    let found = found(
        &RULE,
        &evidence(&[status_deadline("03:35:50", OTHER)], Some(daemon)),
    );
    assert_eq!(found.len(), 2);
    assert!(
        found
            .iter()
            .all(|finding| finding.confidence == Confidence::Suspected)
    );
}

#[test]
fn ready_after_the_last_deadline_ends_it() {
    let found = only(
        &RULE,
        &evidence(&[status_deadline("03:35:50", ID), ready("03:36:00")], None),
    );
    assert!(!found.active);
    assert!(found.remedies.is_empty());
}

#[test]
fn the_pods_time_outs_after_ready_show_that_it_goes_on() {
    let again = line(
        "03:36:10",
        &format!("Error syncing pod {UID} (\"web-2_default({UID})\"), skipping: {DEADLINE}"),
    );
    let lines = [status_deadline("03:35:50", ID), ready("03:36:00"), again];
    assert!(only(&RULE, &evidence(&lines, None)).active);
}

#[test]
fn an_inspect_that_answers_now_ends_it_whatever_the_log_says() {
    let daemon = daemon_with(vec![sandbox(ID, Some("running"))]);
    let found = only(
        &RULE,
        &evidence(&[status_deadline("03:35:50", ID)], Some(daemon)),
    );
    assert!(!found.active);
    assert!(
        found.explanation.contains("answers again"),
        "{}",
        found.explanation
    );
}

#[test]
fn a_container_that_is_gone_hangs_no_more() {
    let daemon = daemon_with(vec![sandbox(OTHER, Some("running"))]);
    let found = only(
        &RULE,
        &evidence(&[status_deadline("03:35:50", ID)], Some(daemon)),
    );
    assert!(!found.active);
    assert!(
        found.explanation.contains("not in Docker any more"),
        "{}",
        found.explanation
    );
}

#[test]
fn a_list_that_failed_proves_nobody_gone() {
    let mut daemon = daemon_with(Vec::new());
    *daemon.probe_mut(Call::List) = probe(Outcome::Error, 1);
    assert!(
        only(
            &RULE,
            &evidence(&[status_deadline("03:35:50", ID)], Some(daemon))
        )
        .active
    );
}

#[test]
fn a_hang_of_the_whole_runtime_blames_no_container() {
    let lines = [
        line(
            "03:35:50",
            &format!("ListPodSandbox with filter nil from runtime service failed: {DEADLINE}"),
        ),
        status_deadline("03:35:51", ID),
    ];
    quiet(&RULE, &evidence(&lines, None));
    // A daemon that answers nothing at all is no container's fault either.
    let mut daemon = daemon_with(vec![sandbox(ID, None)]);
    *daemon.probe_mut(Call::Ping) = probe(Outcome::TimedOut, 3000);
    *daemon.probe_mut(Call::List) = probe(Outcome::TimedOut, 3000);
    quiet(&RULE, &evidence(&[], Some(daemon)));
}

#[test]
fn other_ends_than_a_time_out_are_no_hang() {
    let lines = [
        line(
            "03:35:50",
            &format!(
                "ContainerStatus \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = Error: No such container: {ID}"
            ),
        ),
        line(
            "03:35:51",
            &format!("ExecSync {ID} '/bin/true' from runtime service failed: {DEADLINE}"),
        ),
    ];
    quiet(&RULE, &evidence(&lines, None));
}

#[test]
fn many_are_one_finding() {
    let ids: Vec<String> = (0..9).map(|n| format!("{n}{}", &ID[1..])).collect();
    let lines: Vec<String> = ids
        .iter()
        .map(|id| status_deadline("03:35:50", id))
        .collect();
    let found = only(&RULE, &evidence(&lines, None));
    assert_eq!(found.subjects.len(), 9);
    assert_eq!(found.title, "9 containers do not answer");
}

#[test]
fn the_deletion_of_its_pod_is_told() {
    let lines = [
        line(
            "03:33:00",
            &format!("SyncLoop (DELETE, \"api\"): \"web-2_default({UID})\""),
        ),
        status_deadline("03:35:50", ID),
    ];
    let found = only(&RULE, &evidence(&lines, None));
    assert!(
        found.explanation.contains("being deleted (since 03:33:00)"),
        "{}",
        found.explanation
    );
}

#[test]
fn its_remedies_go_from_looking_to_restarting() {
    let found = only(&RULE, &evidence(&[status_deadline("03:35:50", ID)], None));
    let risks: Vec<_> = found.remedies.iter().map(|remedy| remedy.risk).collect();
    assert!(risks.is_sorted(), "{risks:?}");
    assert_eq!(risks.first(), Some(&Risk::Safe));
    // Never the shim, whose command line names the container too.
    let kill = found
        .remedies
        .iter()
        .find(|remedy| remedy.command.starts_with("pkill"))
        .unwrap();
    let pattern = kill.command.split('\'').nth(1).unwrap();
    let pattern = regex::Regex::new(pattern).unwrap();
    assert!(pattern.is_match(&format!("/usr/sbin/runc --root /run start {ID}")));
    assert!(!pattern.is_match(&format!(
        "/usr/bin/containerd-shim-runc-v2 -namespace moby -id {ID}"
    )));
}

#[test]
fn on_a_containerd_node_the_remedies_are_containerds() {
    let lines = [
        "I1130 03:30:00.201234    2201 kuberuntime_manager.go:257] \"Container runtime initialized\" containerRuntime=\"containerd\" version=\"1.6.20\" apiVersion=\"v1\"".to_owned(),
        status_deadline("03:35:50", ID),
    ];
    let found = only(&RULE, &evidence(&lines, None));
    let commands: Vec<_> = found
        .remedies
        .iter()
        .map(|remedy| remedy.command.as_str())
        .collect();
    assert!(
        commands.contains(&"systemctl restart containerd"),
        "{commands:?}"
    );
    assert!(
        !commands.iter().any(|command| command.contains("docker")),
        "{commands:?}"
    );
}

#[test]
fn a_time_out_of_the_past_confirms_no_hang_of_the_present() {
    let lines = [
        status_deadline("01:00:00", ID),
        ready("01:00:30"),
        ready("03:59:00"),
    ];
    let daemon = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]);
    let found = only(&RULE, &evidence(&lines, Some(daemon)));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
}

#[test]
fn many_suspects_do_not_share_the_best_ones_proof() {
    let ids: Vec<String> = (0..6).map(|n| format!("{n}{}", &ID[1..])).collect();
    let mut containers: Vec<_> = ids.iter().map(|id| sandbox(id, None)).collect();
    containers.push(sandbox(OTHER, Some("running")));
    let found = found(
        &RULE,
        &evidence(
            &[status_deadline("03:35:50", &ids[0])],
            Some(daemon_with(containers)),
        ),
    );
    let told: Vec<_> = found
        .iter()
        .map(|f| (f.subjects.len(), f.severity, f.confidence))
        .collect();
    assert_eq!(
        told,
        [
            (1, Severity::Critical, Confidence::Confirmed),
            (5, Severity::Warning, Confidence::Suspected)
        ]
    );
}

#[test]
fn a_stop_that_takes_long_is_no_blocked_status() {
    let stop = line(
        "03:35:50",
        &format!("StopContainer \"{ID}\" from runtime service failed: {DEADLINE}"),
    );
    let found = only(&RULE, &evidence(&[stop], None));
    assert_eq!(found.severity, Severity::Warning);
    assert!(
        found.explanation.contains("may just need longer"),
        "{}",
        found.explanation
    );
}

#[test]
fn an_event_of_its_pod_ends_it_even_on_a_node_that_flaps() {
    let event = line(
        "03:41:00",
        &format!(
            "SyncLoop (PLEG): \"web-2_default({UID})\", event: &pleg.PodLifecycleEvent{{ID:\"{UID}\", Type:\"ContainerDied\", Data:\"{ID}\"}}"
        ),
    );
    let mut lines = outage();
    lines.push(status_deadline("03:39:50", ID));
    assert!(only(&RULE, &evidence(&lines, None)).active);
    lines.push(event);
    assert!(!only(&RULE, &evidence(&lines, None)).active);
}

#[test]
fn two_blips_of_the_runtime_do_not_excuse_a_hang_between_them() {
    let blip = |time: &str| {
        line(
            time,
            &format!("GenericPLEG: Unable to retrieve pods: {DEADLINE}"),
        )
    };
    let lines = [
        blip("01:00:00"),
        ready("01:01:00"),
        status_deadline("02:00:00", ID),
        blip("03:30:00"),
    ];
    let found = only(&RULE, &evidence(&lines, None));
    assert_eq!(found.subjects[0].id.as_ref().unwrap().as_str(), ID);
}

/// A daemon whose stacks were taken while the inspects of these were pending.
fn with_stacks(mut daemon: Runtime, dump: &str, pending: &[&str]) -> Runtime {
    let path = format!("{}/fixtures/stacks/{dump}.txt", env!("CARGO_MANIFEST_DIR"));
    daemon.docker_mut().stacks = Some(crate::runtime::PendingStacks {
        stacks: crate::runtime::stacks::Stacks::read(&std::fs::read(path).unwrap()),
        pending: pending
            .iter()
            .map(|id| ContainerId::parse(id).unwrap())
            .collect(),
    });
    daemon
}

#[test]
fn the_daemons_stacks_name_the_call_that_holds_the_lock_but_confirm_nothing() {
    let daemon = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]);
    let daemon = with_stacks(daemon, "start-three-inspects", &[ID]);
    let found = only(&RULE, &evidence(&[], Some(daemon)));
    let says = "show what holds its lock: a start that waits for containerd (tasks.Create); 3 calls wait behind it.";
    assert!(found.explanation.contains(says), "{}", found.explanation);
    let cited = found.citations.last().unwrap();
    assert_eq!(&*cited.source, "dockerd's stacks");
    assert_eq!(
        &*cited.text,
        "goroutine 128 [select]: (*Daemon).ContainerStart … (*tasksClient).Create"
    );
    assert_eq!(found.confidence, Confidence::Suspected);
}

#[test]
fn the_stacks_name_no_container_where_another_inspect_or_none_of_ours_was_pending() {
    for pending in [&[][..], &[OTHER], &[ID, OTHER]] {
        let daemon = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]);
        let daemon = with_stacks(daemon, "start", pending);
        let found = only(&RULE, &evidence(&[], Some(daemon)));
        let says = "show which calls hang, but not for which container: a start that waits";
        assert!(found.explanation.contains(says), "{}", found.explanation);
    }
}

#[test]
fn a_start_blocked_in_a_bind_mounts_file_system_is_told_with_its_minutes() {
    let daemon = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]);
    let daemon = with_stacks(daemon, "stale-volume", &[ID]);
    let found = only(&RULE, &evidence(&[], Some(daemon)));
    let says = "a start that has waited for the file system of a bind mount's source (fstatat) for at least 5 minutes";
    assert!(found.explanation.contains(says), "{}", found.explanation);
}

#[test]
fn minutes_beyond_the_containers_age_are_not_told() {
    let path = format!("{}/fixtures/stacks/start.txt", env!("CARGO_MANIFEST_DIR"));
    let dump = std::fs::read_to_string(path)
        .unwrap()
        .replace("[select]:", "[select, 2 minutes]:");
    let told = |created: &str| {
        let mut hung = sandbox(ID, None);
        hung.created = Some(at(created));
        let mut daemon = daemon_with(vec![hung, sandbox(OTHER, Some("running"))]);
        daemon.docker_mut().stacks = Some(crate::runtime::PendingStacks {
            stacks: crate::runtime::stacks::Stacks::read(dump.as_bytes()),
            pending: vec![ContainerId::parse(ID).unwrap()],
        });
        only(&RULE, &evidence(&[], Some(daemon))).explanation
    };
    assert!(
        told("03:00:00")
            .contains("has waited for containerd (tasks.Create) for at least 2 minutes")
    );
    let young = told("03:59:10");
    assert!(
        young.contains("a start that waits for containerd (tasks.Create)"),
        "{young}"
    );
}

#[test]
fn stacks_of_a_container_that_answers_again_are_not_told() {
    let daemon = daemon_with(vec![sandbox(ID, Some("running"))]);
    let daemon = with_stacks(daemon, "start", &[]);
    let found = only(
        &RULE,
        &evidence(&[status_deadline("03:35:50", ID)], Some(daemon)),
    );
    assert!(
        !found.explanation.contains("stacks"),
        "{}",
        found.explanation
    );
}

/// A run of the OCI runtime for container `id`.
fn runc(pid: u32, command: OciCommand, id: &str, seconds: u64) -> Process {
    let mut process = process(pid, 50, "runc", Role::OciRuntime(command), seconds);
    process.container = ContainerId::parse(id);
    process.wchan = Some("do_wait".to_owned());
    process
}

fn on_host(lines: &[String], runtime: Option<Runtime>, processes: Vec<Process>) -> Evidence {
    let mut evidence = evidence(lines, runtime);
    evidence.host = Some(host(processes));
    evidence
}

fn one_hangs() -> Option<Runtime> {
    Some(daemon_with(vec![
        sandbox(ID, None),
        sandbox(OTHER, Some("running")),
    ]))
}

fn commands(found: &Finding) -> Vec<&str> {
    found
        .remedies
        .iter()
        .map(|remedy| remedy.command.as_str())
        .collect()
}

#[test]
fn an_old_runtime_process_confirms_names_itself_and_is_the_one_to_end() {
    let held = vec![
        runc(4711, OciCommand::Start, ID, 252),
        runc(4712, OciCommand::Kill, OTHER, 1),
    ];
    let found = only(&RULE, &on_host(&[], one_hangs(), held));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Critical, Confidence::Confirmed)
    );
    assert!(
        found.explanation.contains(
            "The OCI runtime's start for it, process 4711, has run for 4m12s (state S, in do_wait)."
        ),
        "{}",
        found.explanation
    );
    assert_eq!(found.subjects[1].kind, SubjectKind::Process);
    assert_eq!(found.subjects[1].pid, Some(4711));
    assert!(
        commands(&found).contains(&"kill 4711"),
        "{:?}",
        commands(&found)
    );
    assert!(
        !commands(&found)
            .iter()
            .any(|command| command.starts_with("pkill"))
    );
}

#[test]
fn a_runtime_process_as_young_as_an_ordinary_start_confirms_nothing() {
    let held = vec![runc(4711, OciCommand::Start, ID, 29)];
    let found = only(&RULE, &on_host(&[], one_hangs(), held));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    let end = found
        .remedies
        .iter()
        .find(|remedy| remedy.command == "kill 4711")
        .unwrap();
    assert!(
        end.title.contains("still there in a minute"),
        "{}",
        end.title
    );
}

#[test]
fn the_log_and_an_old_runtime_process_confirm_also_after_ready() {
    let lines = [status_deadline("03:35:50", ID), ready("03:36:00")];
    let held = vec![runc(4711, OciCommand::Kill, ID, 130)];
    let found = only(&RULE, &on_host(&lines, None, held));
    assert!(found.active);
    assert_eq!(found.confidence, Confidence::Confirmed);
}

#[test]
fn a_runtime_process_of_a_container_that_answers_is_in_nobodys_way() {
    let daemon = || Some(daemon_with(vec![sandbox(ID, Some("running"))]));
    quiet(
        &RULE,
        &on_host(&[], daemon(), vec![runc(4711, OciCommand::Exec, ID, 9000)]),
    );
    // Nor is one of a container that this Docker does not know.
    quiet(
        &RULE,
        &on_host(
            &[],
            daemon(),
            vec![runc(4711, OciCommand::Exec, OTHER, 9000)],
        ),
    );
}

#[test]
fn without_docker_only_what_outlasts_the_kubelets_calls_is_suspected() {
    let alone = |seconds| on_host(&[], None, vec![runc(4711, OciCommand::Create, ID, seconds)]);
    let found = only(&RULE, &alone(121));
    assert_eq!(
        (found.severity, found.confidence),
        (Severity::Warning, Confidence::Suspected)
    );
    quiet(&RULE, &alone(119));
    quiet(
        &RULE,
        &on_host(&[], None, vec![runc(4711, OciCommand::Init, ID, 9000)]),
    );
}

#[test]
fn a_thread_of_dockerd_is_blamed_only_where_a_single_container_hangs_without_a_runtime_process() {
    let mut dockerd = process(80, 1, "dockerd", Role::Dockerd, 9000);
    dockerd.threads.waiting = vec![Thread {
        tid: 85,
        state: State::Sleeping,
        wchan: Some("request_wait_answer".to_owned()),
        stack: Vec::new(),
        still: Some(Duration::from_secs(1)),
    }];
    let found = only(&RULE, &on_host(&[], one_hangs(), vec![dockerd.clone()]));
    assert!(
        found.explanation.contains(
            "thread 85 of dockerd (process 80) waits for a file system (state S, in request_wait_answer)"
        ),
        "{}",
        found.explanation
    );
    assert!(
        !commands(&found)
            .iter()
            .any(|command| command.contains("kill")),
        "{:?}",
        commands(&found)
    );

    let mut slow = dockerd.clone();
    slow.threads.waiting[0].still = None;
    let found = only(&RULE, &on_host(&[], one_hangs(), vec![slow]));
    assert!(!found.explanation.contains("thread 85"), "{found:#?}");

    let two = Some(daemon_with(vec![sandbox(ID, None), sandbox(OTHER, None)]));
    let mut two = on_host(&[], two, vec![dockerd]);
    two.runtime
        .as_mut()
        .unwrap()
        .containers
        .push(sandbox(&ID.replace('b', "c"), Some("running")));
    for found in super::found(&RULE, &two) {
        assert!(
            !found.explanation.contains("thread 85"),
            "{}",
            found.explanation
        );
    }
}

#[test]
fn a_time_out_from_before_the_process_was_there_is_no_second_source_for_its_hold() {
    let lines = [status_deadline("03:30:00", ID), ready("03:36:00")];
    let held = |seconds| {
        on_host(
            &lines,
            None,
            vec![runc(4711, OciCommand::Kill, ID, seconds)],
        )
    };
    // At 03:36:01, so from 03:31:01 on, and from 03:29:01 on.
    for (seconds, confidence) in [(300, Confidence::Suspected), (420, Confidence::Confirmed)] {
        let found = only(&RULE, &held(seconds));
        assert!(found.active);
        assert_eq!(found.confidence, confidence, "{seconds}");
    }
}

#[test]
fn a_process_of_a_container_that_docker_has_no_more_holds_nobody_up() {
    let daemon = daemon_with(vec![sandbox(OTHER, Some("running"))]);
    let lines = [status_deadline("03:35:50", ID)];
    let held = vec![runc(4711, OciCommand::Delete, ID, 300)];
    let found = only(&RULE, &on_host(&lines, Some(daemon), held));
    assert!(!found.active);
    assert_eq!(found.confidence, Confidence::Suspected);
    assert!(!found.explanation.contains("4711"), "{}", found.explanation);
}

#[test]
fn of_many_only_those_that_a_process_holds_are_confirmed_by_it() {
    let ids: Vec<String> = (0..6).map(|n| format!("{n}{}", &ID[1..])).collect();
    let mut containers: Vec<_> = ids.iter().map(|id| sandbox(id, None)).collect();
    containers.push(sandbox(OTHER, Some("running")));
    let held = vec![runc(4711, OciCommand::Start, &ids[3], 60)];
    let found = found(&RULE, &on_host(&[], Some(daemon_with(containers)), held));
    let told: Vec<_> = found
        .iter()
        .map(|f| {
            (
                f.subjects.len(),
                f.confidence,
                commands(f)[2] == "kill 4711",
            )
        })
        .collect();
    // A container and its process; five containers.
    assert_eq!(
        told,
        [
            (2, Confidence::Confirmed, true),
            (5, Confidence::Suspected, false)
        ]
    );
}

#[test]
fn whose_an_unnamed_container_is_can_be_seen_without_asking_it() {
    let failed = line(
        "03:35:50",
        &format!("ContainerStatus \"{ID}\" from runtime service failed: {DEADLINE}"),
    );
    let looks = |lines: &[String]| {
        let found = only(&RULE, &evidence(lines, None));
        let commands = found.remedies.into_iter().map(|it| it.command);
        commands
            .filter(|it| it.contains("| grep"))
            .collect::<Vec<_>>()
    };
    let whose = |lines: &[String]| looks(lines).into_iter().any(|it| it.contains("PLEG.*"));
    assert!(whose(&[&[failed.clone()][..], &outage()].concat()));
    // A line that names it is enough.
    let named = status_deadline("03:35:50", ID);
    assert!(!whose(&[&[named][..], &outage()].concat()));
    let start = line(
        "03:30:00",
        "Container runtime containerd initialized, version: 1.6.20, apiVersion: v1",
    );
    let asked = looks(&[&[start, failed][..], &outage()].concat());
    assert!(asked[0].contains("crictl"), "{asked:?}");
}
