use super::*;
use crate::runtime::Call;
use crate::{finding::Confidence, rules::runtime_down::RULE};

const REFUSED: &str = "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused\"";

fn down() -> Runtime {
    let mut daemon = daemon_with(Vec::new());
    for probed in Call::OWN {
        *daemon.probe_mut(probed) = probe(Outcome::Refused, 1);
    }
    daemon
}

fn failed(time: &str) -> String {
    line(
        time,
        &format!("Status from runtime service failed: {REFUSED}"),
    )
}

#[test]
fn the_kubelets_words_alone_decide_nothing() {
    let lines: Vec<_> = (10..40)
        .map(|s| {
            line(
                &format!("03:38:{s}"),
                "skipping pod synchronization - container runtime is down",
            )
        })
        .collect();
    quiet(&RULE, &evidence(&lines, None));
}

#[test]
fn a_refusing_socket_is_down() {
    let found = only(&RULE, &evidence(&[], Some(down())));
    assert_eq!(
        (found.confidence, found.active),
        (Confidence::Suspected, true)
    );
}

#[test]
fn log_and_socket_together_confirm() {
    let lines = [line(
        "03:38:10",
        "GenericPLEG: Unable to retrieve pods: rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
    )];
    assert_eq!(
        only(&RULE, &evidence(&lines, Some(down()))).confidence,
        Confidence::Confirmed
    );
}

#[test]
fn an_unreachable_socket_in_the_log_is_down_until_it_recovers() {
    let mut lines = vec![failed("03:38:10"), failed("03:38:40")];
    assert!(only(&RULE, &evidence(&lines, None)).active);
    lines.push(ready("03:39:00"));
    assert!(!only(&RULE, &evidence(&lines, None)).active);
}

#[test]
fn a_restart_that_takes_less_than_the_kubelet_grants_is_not_worth_a_word() {
    let mut lines = vec![failed("03:38:10"), failed("03:38:39")];
    assert!(only(&RULE, &evidence(&lines, None)).active);
    lines.push(ready("03:39:00"));
    quiet(&RULE, &evidence(&lines, None));
    // … but in an outage it is.
    lines.extend(outage());
    only(&RULE, &evidence(&lines, None));
}

#[test]
fn the_socket_of_a_network_plugins_agent_is_not_the_runtimes() {
    let agent = "rpc error: code = Unknown desc = failed to setup network for sandbox \"9f2c4ab2e7d0\": plugin type=\"cilium-cni\" name=\"cilium\" failed (add): unable to connect to Cilium daemon: Get \"http:///var/run/cilium/cilium.sock/v1/config\": dial unix /var/run/cilium/cilium.sock: connect: no such file or directory";
    let sandbox = line(
        "03:38:10",
        &format!("RunPodSandbox from runtime service failed: {agent}"),
    );
    quiet(&RULE, &evidence(&[sandbox], None));
}

#[test]
fn only_the_socket_that_refused_can_end_it_by_answering() {
    let docker = line(
        "03:38:10",
        "GenericPLEG: Unable to retrieve pods: rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
    );
    assert!(!only(&RULE, &evidence(&[docker], Some(daemon_with(Vec::new())))).active);
    let cri = line(
        "03:38:10",
        &format!(
            "Status from runtime service failed: {}",
            REFUSED.replace("containerd/containerd.sock", "cri-dockerd.sock")
        ),
    );
    assert!(only(&RULE, &evidence(&[cri], Some(daemon_with(Vec::new())))).active);
}

#[test]
fn it_is_started_by_its_own_name() {
    let lines = [
        "I1130 03:30:00.201234    2201 kuberuntime_manager.go:257] \"Container runtime initialized\" containerRuntime=\"cri-o\" version=\"1.30.0\" apiVersion=\"v1\"".to_owned(),
        line("03:38:10", &format!("Status from runtime service failed: {REFUSED}")),
    ];
    let found = only(&RULE, &evidence(&lines, None));
    assert!(
        found
            .remedies
            .iter()
            .any(|remedy| remedy.command == "systemctl start crio")
    );
    assert_eq!(found.subjects[0].name.as_deref(), Some("crio"));
}

#[test]
fn a_time_out_is_no_refusal() {
    quiet(
        &RULE,
        &evidence(
            &[line(
                "03:38:10",
                &format!("Status from runtime service failed: {DEADLINE}"),
            )],
            None,
        ),
    );
}

#[test]
fn a_containerd_that_docker_misses_is_named_in_dockers_place() {
    let lines: Vec<_> = (10..14)
        .map(|s| {
            line(
                &format!("03:38:{s}"),
                "RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = failed to start sandbox container for pod \"web-1\": Error response from daemon: connection error: desc = \"transport: error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\": unavailable",
            )
        })
        .collect();
    let found = only(&RULE, &evidence(&lines, Some(daemon_with(Vec::new()))));
    assert_eq!(found.subjects[0].name.as_deref(), Some("containerd"));
    assert_eq!(found.title, "containerd, behind Docker, is down");
    let commands: Vec<_> = found.remedies.iter().map(|it| &*it.command).collect();
    assert_eq!(commands[1], "systemctl start containerd");
    // The kubelet's own runtime is another matter.
    let own = line("03:38:10", &format!("ListPodSandbox failed: {REFUSED}"));
    let found = only(&RULE, &evidence(&[own], None));
    assert_eq!(found.title, "The container runtime is down");
}

fn refused_at(minute: u32) -> [String; 2] {
    [0, 4].map(|second| {
        line(
            &format!("03:{minute:02}:{second:02}"),
            &format!("GenericPLEG: Unable to retrieve pods: {REFUSED}"),
        )
    })
}

#[test]
fn a_runtime_that_ends_again_and_again_is_no_trouble_that_is_over() {
    let well = line("03:14:30", "Recording NodeReady event message for node a");
    let lines = |minutes: &[u32]| {
        let times = minutes.iter().flat_map(|minute| refused_at(*minute));
        times.chain([well.clone()]).collect::<Vec<_>>()
    };
    let found = only(&RULE, &evidence(&lines(&[11, 12, 14]), None));
    assert!(found.active);
    assert!(
        found.explanation.contains("down 3 times")
            && found
                .explanation
                .contains("usually for 4.0s, at most 2m apart"),
        "{}",
        found.explanation
    );
    assert_eq!(found.remedies.len(), 2, "it need not be started");
    // Twice may be chance; and what has not come again for long is over.
    assert!(!only(&RULE, &evidence(&lines(&[12, 14]), None)).active);
    let mut long_ago = lines(&[11, 12, 14]);
    long_ago.push(line(
        "03:20:00",
        "Recording NodeReady event message for node a",
    ));
    let found = only(&RULE, &evidence(&long_ago, None));
    assert_eq!(
        (found.active, found.title.as_str()),
        (
            false,
            "The container runtime ended again and again for a time"
        )
    );
}
