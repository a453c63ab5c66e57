use super::*;
use crate::{
    finding::{Confidence, Risk, Severity, action::Action},
    node::{Bus, OciCommand, Settings, Systemd},
    rules::systemd_unresponsive::RULE,
};

fn systemd(bus: Bus) -> Systemd {
    Systemd {
        bus,
        state: Some(State::Sleeping),
        wchan: Some("ep_poll".to_owned()),
        busy: Some(0.0),
    }
}

fn silent() -> Systemd {
    systemd(Bus::Silent(Duration::from_millis(3001)))
}

fn seen(systemd: Option<Systemd>, processes: Vec<Process>, lines: &[String]) -> Evidence {
    let mut evidence = evidence(lines, None);
    let mut host = host(processes);
    host.systemd = systemd;
    evidence.host = Some(host);
    evidence
}

/// A run of the OCI runtime that asks systemd for a cgroup, so many seconds old.
fn runc(seconds: u64) -> Process {
    let mut runc = process(
        800,
        700,
        "runc",
        Role::OciRuntime(OciCommand::Create),
        seconds,
    );
    let words = ["runc", "--root", "/x", "--systemd-cgroup", "create", ID];
    runc.command = Some(words.map(str::to_owned).to_vec());
    runc.container = ContainerId::parse(ID);
    runc
}

#[test]
fn silence_alone_is_suspected() {
    let found = only(&RULE, &seen(Some(silent()), Vec::new(), &[]));
    assert_eq!(found.confidence, Confidence::Suspected);
    assert_eq!(found.severity, Severity::Warning);
    assert!(
        found.explanation.contains("did not answer in 3.0 s"),
        "{}",
        found.explanation
    );
    assert_eq!(found.subjects[0].pid, Some(1));
    // Nothing is done on one word.
    assert!(
        found
            .remedies
            .iter()
            .all(|remedy| remedy.actions.is_empty())
    );
    let risks: Vec<_> = found.remedies.iter().map(|remedy| remedy.risk).collect();
    assert_eq!(risks, [Risk::Safe, Risk::Safe, Risk::Node, Risk::Node]);
    assert!(
        found.remedies[2]
            .command
            .starts_with("systemctl daemon-reexec")
    );
}

#[test]
fn what_its_process_does_who_waits_for_it_or_the_log_confirm_it() {
    for (state, busy, words) in [
        (
            State::Uninterruptible,
            0.0,
            "Its process is not running (state D, in ep_poll).",
        ),
        (State::Traced, 0.0, "state t"),
        (State::Running, 98.0, "took 98 % of a processor"),
    ] {
        let odd = Systemd {
            state: Some(state),
            busy: Some(busy),
            ..silent()
        };
        let found = only(&RULE, &seen(Some(odd), Vec::new(), &[]));
        assert_eq!(found.confidence, Confidence::Confirmed, "{state:?}");
        assert_eq!(found.remedies[2].actions, [Action::ReexecSystemd]);
        assert!(found.explanation.contains(words), "{}", found.explanation);
    }
    let mut another = runc(40);
    (another.pid, another.container) = (801, ContainerId::parse(OTHER));
    let found = only(&RULE, &seen(Some(silent()), vec![runc(95), another], &[]));
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert_eq!(found.subjects[1].pid, Some(800));
    let words = "2 OCI runtime processes that do not end (the oldest for 1m35s) have to ask it";
    assert!(found.explanation.contains(words), "{}", found.explanation);
    let logged = line(
        "03:59:00",
        &format!(
            "RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = failed to create containerd task: OCI runtime create failed: unable to start unit \"docker-{ID}.scope\": Timeout waiting for systemd to create it"
        ),
    );
    let found = only(&RULE, &seen(Some(silent()), Vec::new(), &[logged]));
    assert_eq!(
        (found.confidence, found.severity),
        (Confidence::Confirmed, Severity::Critical)
    );
    assert!(
        found.explanation.contains("fail with its name (1 line)"),
        "{}",
        found.explanation
    );
}

#[test]
fn one_runtime_a_young_one_and_one_that_needs_no_systemd_confirm_nothing() {
    let mut other = runc(95);
    other.command = Some(
        ["runc", "--root", "/x", "create", ID]
            .map(str::to_owned)
            .to_vec(),
    );
    other.pid = 801;
    let mut init = runc(95);
    init.pid = 802;
    for others in [vec![], vec![other], vec![init]] {
        let mut processes = vec![runc(95)];
        processes.extend(others);
        let found = only(&RULE, &seen(Some(silent()), processes, &[]));
        assert_eq!(found.confidence, Confidence::Suspected);
    }
    let found = only(&RULE, &seen(Some(silent()), vec![runc(29)], &[]));
    assert!(
        !found.explanation.contains("OCI runtime process"),
        "{}",
        found.explanation
    );
}

#[test]
fn the_kubelets_cgroup_driver_tells_what_follows() {
    let told = |driver: Option<&str>| {
        let mut seen = seen(Some(silent()), Vec::new(), &[]);
        seen.host.as_mut().unwrap().kubelet_settings = Some(Settings {
            cgroup_driver: driver.map(str::to_owned),
            ..Settings::default()
        });
        only(&RULE, &seen).explanation
    };
    assert!(told(Some("cgroupfs")).contains("makes its cgroups itself"));
    assert!(told(Some("systemd")).contains("has its cgroups made by systemd"));
    assert!(told(None).contains("With the cgroup driver systemd"));
}

#[test]
fn who_answers_fails_at_once_or_is_not_there_is_not_silent() {
    let answered = systemd(Bus::Answered(Duration::from_millis(2900), None));
    quiet(&RULE, &seen(Some(answered), vec![runc(95)], &[]));
    let failed = systemd(Bus::Failed(
        "Failed to connect to bus: Connection refused".to_owned(),
    ));
    quiet(&RULE, &seen(Some(failed), vec![runc(95)], &[]));
    quiet(&RULE, &seen(None, vec![runc(95)], &[]));
    quiet(&RULE, &evidence(&[], None));
}
