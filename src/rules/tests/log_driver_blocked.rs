use super::*;
use crate::{
    finding::{Confidence, Severity},
    rules::log_driver_blocked::RULE,
    runtime::{LogDriver, PendingStacks, stacks::Stacks},
};

fn with_stacks(mut daemon: Runtime, dump: &str) -> Runtime {
    let path = format!("{}/fixtures/stacks/{dump}.txt", env!("CARGO_MANIFEST_DIR"));
    daemon.docker_mut().stacks = Some(PendingStacks {
        stacks: Stacks::read(&std::fs::read(path).unwrap()),
        pending: vec![ContainerId::parse(ID).unwrap()],
    });
    daemon
}

/// A daemon whose containers' output goes there by default, one of which does not answer.
fn daemon_of(driver: Option<&str>) -> Runtime {
    let mut daemon = daemon_with(vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]);
    daemon.docker_mut().log_driver = driver.map(str::to_owned);
    daemon
}

fn with_driver(mut daemon: Runtime, name: &str, drops: bool) -> Runtime {
    for container in &mut daemon.containers {
        if let Some(inspected) = &mut container.inspected {
            inspected.logs = Some(LogDriver {
                name: name.to_owned(),
                drops,
            });
        }
    }
    daemon
}

#[test]
fn the_stacks_name_the_driver_whatever_is_configured() {
    for driver in [Some("syslog"), Some("json-file"), None] {
        let daemon = with_stacks(daemon_of(driver), "log-driver");
        let finding = only(&RULE, &evidence(&[], Some(daemon)));
        assert_eq!(
            finding.title,
            "dockerd is blocked writing to the log driver syslog"
        );
        assert_eq!(finding.confidence, Confidence::Suspected);
        assert_eq!(finding.severity, Severity::Warning);
    }
}

#[test]
fn no_process_is_to_be_ended_where_the_driver_holds_the_lock() {
    let ends = |dump: &str| {
        let evidence = evidence(&[], Some(with_stacks(daemon_of(Some("syslog")), dump)));
        let hung = only(&crate::rules::hung_container::RULE, &evidence);
        hung.remedies.iter().any(|it| it.command.contains("kill "))
    };
    assert!(!ends("log-driver"));
    assert!(ends("start"));
}

#[test]
fn the_kubelets_time_outs_for_that_container_confirm() {
    let lines = [
        status_deadline("03:58:00", ID),
        status_deadline("03:59:58", ID),
    ];
    let daemon = with_stacks(daemon_of(Some("syslog")), "log-driver");
    let finding = only(&RULE, &evidence(&lines, Some(daemon.clone())));
    assert_eq!(finding.confidence, Confidence::Confirmed);
    assert_eq!(finding.severity, Severity::Critical);
    let others = [
        status_deadline("03:58:00", OTHER),
        status_deadline("03:59:58", OTHER),
    ];
    let finding = only(&RULE, &evidence(&others, Some(daemon)));
    assert_eq!(finding.confidence, Confidence::Suspected);
}

#[test]
fn without_stacks_a_remote_driver_is_only_suspected() {
    let finding = only(&RULE, &evidence(&[], Some(daemon_of(Some("fluentd")))));
    assert_eq!(
        finding.title,
        "dockerd may be blocked writing to the log driver fluentd"
    );
    // Where info hangs, the other containers' driver tells.
    let daemon = with_driver(daemon_of(None), "gelf", false);
    let finding = only(&RULE, &evidence(&[], Some(daemon)));
    assert!(finding.explanation.contains("the log driver gelf"));
}

#[test]
fn a_driver_that_writes_files_or_waits_for_nobody_is_innocent() {
    for driver in [Some("json-file"), Some("local"), Some("none"), None] {
        quiet(&RULE, &evidence(&[], Some(daemon_of(driver))));
    }
    let daemon = with_driver(daemon_of(Some("fluentd")), "fluentd", true);
    quiet(&RULE, &evidence(&[], Some(daemon)));
}

#[test]
fn another_known_reason_and_a_node_that_is_well_leave_the_driver_alone() {
    let other = with_stacks(daemon_of(Some("fluentd")), "start");
    quiet(&RULE, &evidence(&[], Some(other)));
    let mut held = evidence(&[], Some(daemon_of(Some("fluentd"))));
    let mut create = process(
        4242,
        1,
        "runc",
        Role::OciRuntime(crate::node::OciCommand::Create),
        90,
    );
    create.container = ContainerId::parse(ID);
    held.host = Some(host(vec![create]));
    quiet(&RULE, &held);
    let mut well = daemon_with(vec![sandbox(ID, Some("running"))]);
    well.docker_mut().log_driver = Some("fluentd".to_owned());
    quiet(&RULE, &evidence(&[], Some(well)));
    // From a log alone nothing is known of a driver.
    quiet(&RULE, &evidence(&[status_deadline("03:58:00", ID)], None));
}

#[test]
fn dockers_default_says_nothing_of_a_container_that_does_not_answer() {
    let judge = |daemon| {
        let evidence = evidence(&[], Some(daemon));
        let findings = [only(&crate::rules::hung_container::RULE, &evidence)];
        let case = Case {
            evidence: &evidence,
            findings: &findings,
        };
        let (found, absent) = RULE.evaluate(&case);
        assert!(found.is_empty(), "{found:?}");
        Trouble::new(&evidence, &findings[0]).exclude(&absent.unwrap())
    };
    let judged = judge(daemon_of(Some("json-file")));
    assert!(matches!(judged, Exclusion::Unknown { .. }), "{judged:?}");
    // dockerd's stacks show another wait.
    let judged = judge(with_stacks(daemon_of(Some("json-file")), "start"));
    let Exclusion::RuledOut { because, .. } = judged else {
        panic!("{judged:?}")
    };
    assert!(because.contains("by dockerd's own stacks"), "{because}");
}

#[test]
fn what_never_waits_for_a_receiver_is_advised_and_no_buffer_behind_it() {
    let daemon = with_stacks(daemon_of(Some("syslog")), "log-driver");
    let finding = only(&RULE, &evidence(&[], Some(daemon)));
    let last = finding.remedies.last().unwrap();
    assert!(last.command.contains("\"log-driver\": \"local\""));
    assert!(last.command.contains("udp://") && !last.command.contains("fluentd"));
    assert!(!last.command.contains("non-blocking"), "{}", last.command);
}
