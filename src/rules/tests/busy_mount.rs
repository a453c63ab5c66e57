use super::*;
use crate::{
    finding::{Confidence, Risk, action::Action},
    node::{
        Namespace,
        mount_holder::{HeldMount, MountHolder, Place},
    },
    rules::{busy_mount::RULE, dead_container},
};

const LAYER: &str = "370f804b80acea072af5c97284b1ca90ad243e80d05a7607b12d5dd1d92f2d34";

fn layer() -> Place {
    Place::Layer(LAYER.to_owned())
}

/// A dead sandbox, with the daemon's words.
fn dead(error: &str) -> Container {
    let mut container = sandbox(ID, Some("dead"));
    container.listed_state = "removing".into();
    if let Some(inspected) = &mut container.inspected {
        inspected.error = error.to_owned();
        inspected.layers = vec![layer()];
    }
    container
}

fn busy() -> String {
    format!(
        "container {ID}: driver \"overlay2\" failed to remove root filesystem: unlinkat /var/lib/docker/overlay2/{LAYER}/merged: device or resource busy"
    )
}

fn keeper(pid: u32, comm: &str, unit: Option<&str>) -> MountHolder {
    MountHolder {
        pid,
        comm: comm.to_owned(),
        start_ticks: 100,
        unit: unit.map(str::to_owned),
        container: None,
        uid: None,
    }
}

/// A namespace that holds the layer below that folder.
fn namespace(below: &str, keeper: MountHolder) -> Namespace {
    Namespace {
        id: format!("mnt:[{}]", 4_026_530_000 + keeper.pid),
        own: false,
        processes: 1,
        keepers: vec![keeper],
        held: vec![HeldMount {
            mount: 101,
            point: format!("{below}/var/lib/docker/overlay2/{LAYER}/merged"),
            place: layer(),
        }],
    }
}

fn exporter() -> Namespace {
    namespace(
        "",
        keeper(7, "node_exporter", Some("node_exporter.service")),
    )
}

fn story(lines: &[String], containers: Option<Vec<Container>>, held: Vec<Namespace>) -> Evidence {
    let mut evidence = evidence(lines, containers.map(daemon_with));
    evidence.host = Some(Host {
        namespaces: held,
        ..host(Vec::new())
    });
    evidence
}

fn removal(error: &str) -> String {
    line(
        "03:38:10",
        &format!(
            "RemoveContainer \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = failed to remove container \"{ID}\": Error response from daemon: {error}"
        ),
    )
}

fn commands(finding: &Finding) -> Vec<&str> {
    let remedies = finding.remedies.iter();
    remedies.map(|remedy| remedy.command.as_str()).collect()
}

#[test]
fn who_holds_a_dead_containers_layer_is_named_and_is_to_let_it_go() {
    let found = only(
        &RULE,
        &story(&[], Some(vec![dead(&busy())]), vec![exporter()]),
    );
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert_eq!(found.subjects[0].id.as_ref().unwrap().as_str(), ID);
    assert_eq!(found.subjects[1].pid, Some(7));
    assert!(
        found
            .title
            .contains("node_exporter (process 7 of node_exporter.service)"),
        "{}",
        found.title
    );
    assert_eq!(
        commands(&found),
        [
            format!("grep -l {LAYER} /proc/[0-9]*/mountinfo"),
            format!("nsenter -m -t 7 umount -l '/var/lib/docker/overlay2/{LAYER}/merged'"),
            "systemctl restart node_exporter.service".to_owned(),
        ]
    );
    assert!(found.remedies.iter().all(|remedy| remedy.risk < Risk::Node));
}

#[test]
fn where_the_runtime_itself_holds_it_the_restart_costs_what_the_runtimes_does() {
    for (unit, cost) in [
        (
            "docker.service",
            "stops every container of the node unless live-restore is on",
        ),
        ("containerd.service", "Docker restarts with it"),
        ("kubelet.service", "containers keep running"),
    ] {
        let held = namespace("", keeper(7, "helper", Some(unit)));
        let found = only(&RULE, &story(&[], Some(vec![dead(&busy())]), vec![held]));
        let restart = found.remedies.last().unwrap();
        assert_eq!((restart.risk, restart.actions.len()), (Risk::Node, 1));
        assert!(restart.cost.contains(cost), "{unit}: {}", restart.cost);
    }
}

#[test]
fn a_path_with_a_quote_stays_one_word_of_the_command() {
    let held = namespace("/a'; reboot '", keeper(7, "agent", None));
    let found = only(&RULE, &story(&[], Some(vec![dead(&busy())]), vec![held]));
    assert_eq!(
        commands(&found)[1],
        format!(
            "nsenter -m -t 7 umount -l '/a'\\''; reboot '\\''/var/lib/docker/overlay2/{LAYER}/merged'"
        )
    );
    // Nothing tells what to restart.
    assert_eq!(found.remedies.len(), 2);
}

#[test]
fn without_the_words_of_a_busy_mount_it_is_a_suspicion() {
    let found = only(&RULE, &story(&[], Some(vec![dead("")]), vec![exporter()]));
    assert_eq!(found.confidence, Confidence::Suspected);
    assert_eq!(actions(&found), [], "a person may judge");
}

fn actions(found: &Finding) -> Vec<Action> {
    let remedies = found.remedies.iter();
    remedies.flat_map(|remedy| remedy.actions.clone()).collect()
}

#[test]
fn mounts_of_what_docker_shows_ended_are_detached_the_upper_ones_first() {
    let mut held = exporter();
    let below = held.held[0].clone();
    held.held.push(HeldMount {
        mount: 103,
        point: format!("{}/proc", below.point),
        ..below.clone()
    });
    let found = only(&RULE, &story(&[], Some(vec![dead(&busy())]), vec![held]));
    let expected = [(103, format!("{}/proc", below.point)), (101, below.point)];
    let expected = expected.map(|(mount, path)| Action::DetachMount {
        path,
        mount,
        namespace: 4_026_530_007,
        pid: 7,
        start_ticks: 100,
    });
    assert_eq!(actions(&found), expected);
}

#[test]
fn nothing_is_detached_of_what_docker_was_not_seen_to_show_ended() {
    let found = only(&RULE, &story(&[removal(&busy())], None, vec![exporter()]));
    assert_eq!(actions(&found), []);
    let mut unknown = dead(&busy());
    unknown.inspected = None;
    let logged = [removal(&busy())];
    let evidence = story(&logged, Some(vec![unknown]), vec![exporter()]);
    assert_eq!(actions(&only(&RULE, &evidence)), []);
}

#[test]
fn the_kubelets_words_and_the_kernel_confirm_without_docker() {
    let shm = format!(
        "Unable to remove filesystem for {ID}: remove /var/lib/docker/containers/{ID}/shm: device or resource busy"
    );
    let mut held = exporter();
    held.held[0] = HeldMount {
        mount: 102,
        point: format!("/var/lib/docker/containers/{ID}/shm"),
        place: Place::Container(ContainerId::parse(ID).unwrap()),
    };
    let found = only(&RULE, &story(&[removal(&shm)], None, vec![held]));
    assert_eq!(found.confidence, Confidence::Confirmed);
    assert_eq!(found.subjects[1].pid, Some(7));

    let found = only(&RULE, &story(&[removal(&busy())], None, vec![exporter()]));
    assert_eq!(found.confidence, Confidence::Confirmed);
}

#[test]
fn nobody_is_accused_of_the_mounts_of_those_that_are_well() {
    for state in ["running", "exited"] {
        let mut well = dead("");
        well.inspected.as_mut().unwrap().state = state.into();
        quiet(&RULE, &story(&[], Some(vec![well]), vec![exporter()]));
    }
    // Nor where the kubelet's words are old, and it runs meanwhile.
    let mut running = dead("");
    let inspected = running.inspected.as_mut().unwrap();
    (inspected.state, inspected.running) = ("running".into(), true);
    quiet(
        &RULE,
        &story(&[removal(&busy())], Some(vec![running]), vec![exporter()]),
    );
    // A text that names another container's layer.
    let mut other = sandbox(OTHER, Some("running"));
    other.inspected.as_mut().unwrap().layers = vec![layer()];
    let mut odd = dead(&busy());
    odd.inspected.as_mut().unwrap().layers.clear();
    quiet(&RULE, &story(&[], Some(vec![odd, other]), vec![exporter()]));
}

#[test]
fn the_runtimes_own_namespace_and_the_containers_are_no_holders() {
    let mut own = exporter();
    own.own = true;
    let mut inner = exporter();
    inner.keepers[0].container = ContainerId::parse(ID);
    let mut empty = exporter();
    empty.keepers.clear();
    for held in [own, inner, empty] {
        quiet(&RULE, &story(&[], Some(vec![dead(&busy())]), vec![held]));
    }
    quiet(&RULE, &story(&[], Some(vec![dead(&busy())]), Vec::new()));
}

#[test]
fn nobody_is_accused_of_mirroring_what_the_runtime_has_still_mounted() {
    let mut own = namespace("", keeper(80, "dockerd", Some("docker.service")));
    own.own = true;
    let both = vec![own, exporter()];
    quiet(&RULE, &story(&[], Some(vec![dead(&busy())]), both.clone()));
    // Of two places the one counts that the runtime let go.
    let mut both = both;
    both[0].held.clear();
    only(&RULE, &story(&[], Some(vec![dead(&busy())]), both));
}

#[test]
fn a_holder_within_a_container_is_restarted_as_one_and_a_daemon_of_the_node_as_the_nodes() {
    let mut agent = namespace("/rootfs", keeper(9, "cadvisor", None));
    agent.keepers[0].container = ContainerId::parse(OTHER);
    let kubelet = namespace("", keeper(5, "kubelet", Some("kubelet.service")));
    let found = only(
        &RULE,
        &story(&[], Some(vec![dead(&busy())]), vec![kubelet, agent]),
    );
    assert_eq!(
        commands(&found)[1..],
        [
            format!("nsenter -m -t 5 umount -l '/var/lib/docker/overlay2/{LAYER}/merged'"),
            format!("nsenter -m -t 9 umount -l '/rootfs/var/lib/docker/overlay2/{LAYER}/merged'"),
            format!("docker restart {}", &OTHER[..12]),
            "systemctl restart kubelet.service".to_owned(),
        ]
    );
    let risks: Vec<_> = found.remedies.iter().map(|remedy| remedy.risk).collect();
    assert!(risks.is_sorted(), "{risks:?}");
    assert_eq!(risks.last(), Some(&Risk::Node));
    assert!(
        found.title.starts_with("2 mount namespaces keep"),
        "{}",
        found.title
    );
}

#[test]
fn a_kernel_that_can_detach_and_does_not_is_told_to() {
    let mut story = story(&[], Some(vec![dead(&busy())]), vec![exporter()]);
    story.host.as_mut().unwrap().kernel = Some("3.10.0-1160.el7.x86_64".to_owned());
    let found = only(&RULE, &story);
    assert_eq!(
        commands(&found).last(),
        Some(&"sysctl -w fs.may_detach_mounts=1")
    );
}

#[test]
fn the_dead_container_is_told_besides_and_refers_to_it() {
    let story = story(&[], Some(vec![dead(&busy())]), vec![exporter()]);
    let dead = only(&dead_container::RULE, &story);
    assert!(
        dead.explanation
            .contains("busy-mount names what holds its mount"),
        "{}",
        dead.explanation
    );
    assert!(
        !commands(&dead)
            .iter()
            .any(|command| command.starts_with("grep"))
    );
}
