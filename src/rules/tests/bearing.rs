use super::*;
use crate::{
    io::gap::Gap,
    kubelet::summary::Source,
    node::{Bus, Disk, KernelKind, KernelLine, Settings, Systemd, Thread, pressure::DaemonLimits},
};

/// What each rule says of this evidence, where it found nothing.
fn judged(evidence: &Evidence) -> BTreeMap<&'static str, Judged> {
    let findings = check_all(evidence);
    let primary = findings.iter().find(|it| it.active).unwrap_or(&findings[0]);
    let scene = Scene::of(evidence, primary);
    let open = RULES
        .iter()
        .filter(|rule| findings.iter().all(|it| it.id != rule.id));
    open.map(|rule| (rule.id, (rule.bearing.judge)(&scene)))
        .collect()
}

fn is_out(judged: &Judged) -> bool {
    matches!(judged, Judged::Out { .. })
}

fn out(evidence: &Evidence) -> Vec<&'static str> {
    let all = judged(evidence).into_iter();
    all.filter(|(_, judged)| is_out(judged))
        .map(|(id, _)| id)
        .collect()
}

/// A machine on which nothing is wrong, all of it seen.
fn well() -> Host {
    let mut host = host(vec![
        process(7, 1, "dockerd", Role::Dockerd, 900),
        process(8, 1, "containerd", Role::Containerd, 900),
    ]);
    host.whole = true;
    let daemons = [7, 8].map(|pid| DaemonLimits {
        pid,
        tasks: Some(30),
        ..DaemonLimits::default()
    });
    host.pressure.daemons = daemons.to_vec();
    host.pressure.memory_total = Some(16 << 30);
    host.pressure.memory_available = Some(8 << 30);
    host.pressure.oom_kills = Some(0);
    (host.pressure.tasks, host.pressure.tasks_limit) = (Some(300), Some(32_768));
    host.systemd = Some(Systemd {
        bus: Bus::Answered(Duration::from_millis(2), None),
        state: None,
        wchan: None,
        busy: None,
    });
    host.disks = vec![Disk {
        device: "254:0".to_owned(),
        name: "vda".to_owned(),
        busy: 3.0,
        queue: 0.0,
        finished: 10,
        wait: Some(Duration::from_millis(1)),
        in_flight: 0,
        holds: vec!["/var/lib/docker".to_owned()],
        through: None,
    }];
    host
}

#[test]
fn a_well_node_rules_all_causes_out() {
    let mut evidence = evidence(
        &outage(),
        Some(daemon_with(vec![sandbox(ID, Some("running"))])),
    );
    evidence.host = Some(well());
    let causes = RULES.iter().filter(|rule| rule.explains);
    let others = [
        "dead-container",
        "memory-starved",
        "not-pleg",
        "tasks-exhausted",
    ];
    let mut expected: Vec<_> = causes.map(|rule| rule.id).chain(others).collect();
    expected.sort_unstable();
    assert_eq!(out(&evidence), expected);
}

#[test]
fn what_nobody_looked_at_is_open() {
    let judged = judged(&evidence(&outage(), None));
    for id in [
        "cni-hang",
        "container-pileup",
        "disk-saturated",
        "frozen-daemon",
        "hung-container",
        "hung-runtime",
        "memory-starved",
        "network-storage",
        "systemd-unresponsive",
        "tasks-exhausted",
    ] {
        let Judged::Open { decide, .. } = &judged[id] else {
            panic!("{id}: {:?}", judged[id])
        };
        assert!(decide.as_ref().unwrap().contains("plegdoctor"), "{id}");
    }
}

#[test]
fn each_rule_that_explains_a_lag_says_what_speaks_against_it() {
    let evidence = evidence(&outage(), None);
    let scene = Scene {
        evidence: &evidence,
        now: true,
        outage: None,
    };
    for rule in RULES.iter().filter(|rule| rule.explains) {
        assert_ne!((rule.bearing.judge)(&scene), Judged::Unasked, "{}", rule.id);
    }
}

#[test]
fn answers_of_now_say_nothing_of_what_is_over() {
    let mut lines = vec![status_deadline("03:35:50", ID)];
    lines.extend(outage());
    lines.push(ready("03:40:00"));
    let mut evidence = evidence(
        &lines,
        Some(daemon_with(vec![sandbox(ID, Some("running"))])),
    );
    evidence.host = Some(well());
    let judged = judged(&evidence);
    for id in [
        "network-storage",
        "frozen-daemon",
        "container-pileup",
        "cni-hang",
    ] {
        let open = matches!(&judged[id], Judged::Open { decide: None, .. });
        assert!(open, "{id}: {:?}", judged[id]);
    }
}

#[test]
fn dockers_answers_say_nothing_of_a_kubelet_that_drives_another_runtime() {
    let start = line(
        "03:30:00",
        "Container runtime containerd initialized, version: 1.6.20, apiVersion: v1",
    );
    let lines = [&[start][..], &outage()].concat();
    let evidence = evidence(
        &lines,
        Some(daemon_with(vec![sandbox(ID, Some("running"))])),
    );
    let out = out(&evidence);
    for id in ["hung-container", "hung-runtime", "container-pileup"] {
        assert!(!out.contains(&id), "{out:?}");
    }
}

#[test]
fn the_silence_of_a_log_says_nothing_where_lines_are_missing() {
    // What an ordinary kubelet says besides.
    let mut lines: Vec<_> = [1, 2, 3]
        .map(|n| {
            line(
                &format!("03:30:0{n}"),
                "Attempting to register node worker-7",
            )
        })
        .to_vec();
    // An outage of a minute and more.
    lines.extend(outage());
    lines.push(line("03:39:30", "skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m39s ago; threshold is 3m0s"));
    let whole = evidence(&lines, None);
    assert!(out(&whole).contains(&"runtime-down"), "{:?}", out(&whole));
    // Cut to the lines on the PLEG.
    let cut = evidence(&lines[3..], None);
    assert_eq!(out(&cut), ["not-pleg"]);
    // … with the others that name it.
    let event = format!(
        "SyncLoop (PLEG): \"web-2_default({UID})\", event: &pleg.PodLifecycleEvent{{ID:\"{UID}\", Type:\"ContainerStarted\", Data:\"{ID}\"}}"
    );
    let mut grepped = lines[3..].to_vec();
    grepped.extend([1, 2, 3].map(|n| line(&format!("03:39:4{n}"), &event)));
    assert_eq!(out(&evidence(&grepped, None)), ["not-pleg"]);
    // Cut otherwise, as its lines show where they were looked at; another log beside it may be whole.
    let mut searched = whole.clone();
    let log = searched.log.as_mut().unwrap();
    log.sources[0].extract = true;
    assert_eq!(out(&searched), ["not-pleg"]);
    let log = searched.log.as_mut().unwrap();
    let beside = Source {
        extract: false,
        ..log.sources[0].clone()
    };
    log.sources.push(beside);
    assert!(out(&searched).contains(&"runtime-down"));
    // The journal dropped some.
    let mut lossy = whole;
    lossy.gaps.push(Gap::in_source(
        "kubelet.log",
        "Suppressed 12 messages from kubelet.service",
    ));
    assert_eq!(out(&lossy), ["not-pleg"]);
}

#[test]
fn a_call_that_failed_so_in_the_outage_rules_nothing_out() {
    let refused = line(
        "03:38:00",
        "Status from runtime service failed: rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused\"",
    );
    let lines = [
        &[
            line("03:30:00", "Attempting to register node worker-7"),
            line("03:30:01", "Attempting to register node worker-7"),
            refused,
        ][..],
        &outage(),
    ]
    .concat();
    let evidence = evidence(&lines, None);
    assert!(!out(&evidence).contains(&"runtime-down"));
}

#[test]
fn a_socket_that_refuses_and_one_that_takes_calls_tell_the_two_apart() {
    let with = |outcome| {
        let mut daemon = daemon_with(Vec::new());
        for call in [
            &mut daemon.ping,
            &mut daemon.version_probe,
            &mut daemon.info,
            &mut daemon.list,
        ] {
            *call = probe(outcome, 3000);
        }
        evidence(&[], Some(daemon))
    };
    assert_eq!(out(&with(Outcome::TimedOut)), ["runtime-down"]);
    assert_eq!(out(&with(Outcome::Refused)), ["hung-runtime"]);
}

/// A node with an outage that goes on, on which nothing is wrong that can be seen, changed so.
fn changed(change: impl FnOnce(&mut Evidence)) -> Evidence {
    let runtime = daemon_with(vec![sandbox(ID, Some("running"))]);
    let mut evidence = evidence(&outage(), Some(runtime));
    evidence.host = Some(well());
    change(&mut evidence);
    evidence
}

fn machine(evidence: &mut Evidence) -> &mut Host {
    evidence.host.as_mut().unwrap()
}

#[track_caller]
fn open(evidence: &Evidence, id: &str) -> String {
    match &judged(evidence)[id] {
        Judged::Open { why, .. } => why.clone(),
        other => panic!("{id}: {other:?}"),
    }
}

#[test]
fn a_docker_without_pods_says_nothing_of_a_kubelet_that_does_not_tell_its_runtime() {
    let other = Container {
        name: "postgres".to_owned(),
        kind: ContainerKind::Other,
        pod: None,
        uid: None,
        ..sandbox(ID, Some("running"))
    };
    for containers in [Vec::new(), vec![other]] {
        let evidence = changed(|it| it.runtime = Some(daemon_with(containers)));
        for id in ["hung-runtime", "hung-container", "container-pileup"] {
            let why = open(&evidence, id);
            assert!(
                why.contains("not known to be this kubelet's"),
                "{id}: {why}"
            );
        }
        assert!(!out(&evidence).contains(&"runtime-down"));
    }
    // … nor one of which the kubelet's settings say that it drives another.
    let elsewhere = changed(|it| {
        machine(it).kubelet_settings = Some(Settings {
            runtime_endpoint: Some("unix:///run/containerd/containerd.sock".to_owned()),
            ..Settings::default()
        });
    });
    assert!(!out(&elsewhere).contains(&"hung-runtime"));
    let by_cri_dockerd = changed(|it| {
        machine(it).kubelet_settings = Some(Settings {
            runtime_endpoint: Some("unix:///run/cri-dockerd.sock".to_owned()),
            ..Settings::default()
        });
    });
    assert!(out(&by_cri_dockerd).contains(&"hung-runtime"));
}

#[test]
fn a_kernel_that_does_not_show_where_threads_sleep_rules_no_file_system_out() {
    let shy = changed(|it| {
        for process in &mut machine(it).processes {
            process.wchan = None;
        }
    });
    open(&shy, "network-storage");
    // One that waits, and was looked at but once.
    let once = changed(|it| {
        let thread = Thread {
            tid: 9,
            state: State::Uninterruptible,
            wchan: Some("rpc_wait_bit_killable".to_owned()),
            stack: Vec::new(),
            still: None,
        };
        machine(it).processes[0].threads.waiting.push(thread);
    });
    assert!(open(&once, "network-storage").contains("waits for a file system's server"));
}

#[test]
fn a_daemon_that_was_not_seen_or_stood_still_is_not_called_running() {
    let alone = changed(|it| drop(machine(it).processes.pop()));
    assert!(open(&alone, "frozen-daemon").contains("containerd was not seen"));
    let stopped = changed(|it| machine(it).processes[1].state = State::Stopped);
    let asleep = changed(|it| machine(it).processes[0].threads.uninterruptible = 9);
    for still in [stopped, asleep] {
        assert!(open(&still, "frozen-daemon").contains("stood still"));
    }
}

#[test]
fn plugins_whose_caller_is_not_known_are_not_called_missing() {
    // CRI-O's, say.
    let evidence = changed(|it| {
        it.runtime = None;
        machine(it).processes = vec![process(7, 1, "kubelet", Role::Kubelet, 900)];
    });
    open(&evidence, "cni-hang");
}

#[test]
fn a_machine_with_tasks_left_says_nothing_of_a_units_own_limit() {
    let unseen = changed(|it| machine(it).pressure.daemons.clear());
    assert!(open(&unseen, "tasks-exhausted").contains("own limits"));
}

#[test]
fn memory_that_is_left_now_says_nothing_of_kills_that_nobody_could_read() {
    let unread = |kills| {
        changed(|it| {
            machine(it).pressure.oom_kills = kills;
            machine(it).kernel_messages_unread = true;
        })
    };
    for kills in [None, Some(2)] {
        assert!(open(&unread(kills), "memory-starved").contains("not read"));
    }
    assert!(out(&unread(Some(0))).contains(&"memory-starved"));
}

#[test]
fn kills_that_the_kernels_messages_do_not_show_leave_memory_open() {
    let seen = |kills, lines: &[(KernelKind, &str)]| {
        changed(|it| {
            let host = machine(it);
            host.pressure.oom_kills = kills;
            let lines = lines.iter().map(|(kind, text)| KernelLine {
                ago: Some(Duration::from_secs(7200)),
                kind: *kind,
                text: (*text).to_owned(),
            });
            host.kernel_lines = lines.collect();
        })
    };
    let hung = (KernelKind::HungTask, "INFO: task x:1 blocked");
    let killed = (
        KernelKind::OutOfMemory,
        "Out of memory: Killed process 7 (x)",
    );
    assert!(open(&seen(Some(3), &[hung]), "memory-starved").contains("kills before"));
    assert!(open(&seen(None, &[]), "memory-starved").contains("kills before"));
    for (kills, lines) in [(Some(1), killed), (None, hung)] {
        assert!(out(&seen(kills, &[lines])).contains(&"memory-starved"));
    }
}

#[test]
fn a_socket_that_systemd_holds_is_no_daemon() {
    let silent = |processes: Vec<Process>| {
        changed(|it| {
            let mut daemon = daemon_with(Vec::new());
            for call in [&mut daemon.ping, &mut daemon.list] {
                *call = probe(Outcome::TimedOut, 3000);
            }
            it.runtime = Some(daemon);
            machine(it).processes = processes;
        })
    };
    let deserted = silent(vec![process(9, 1, "kubelet", Role::Kubelet, 900)]);
    assert!(open(&deserted, "runtime-down").contains("no dockerd is seen"));
    assert!(out(&silent(well().processes)).contains(&"runtime-down"));
}

/// What one rule says of this evidence, where it found nothing.
#[track_caller]
fn verdict(evidence: &Evidence, id: &str) -> Judged {
    judged(evidence)
        .remove(id)
        .expect("the rule found something")
}

/// What the kubelet of another runtime says at its start.
fn of_containerd() -> String {
    line(
        "03:30:00",
        "Container runtime containerd initialized, version: 1.7.2, apiVersion: v1",
    )
}

#[test]
fn of_a_runtime_that_is_never_asked_its_own_tool_decides() {
    let lines = [&[of_containerd()][..], &outage()].concat();
    let mut told = evidence(&lines, None);
    for host in [None, Some(well())] {
        told.host = host;
        let Judged::Open { decide, .. } = verdict(&told, "container-pileup") else {
            panic!("judged");
        };
        assert!(decide.unwrap().contains("crictl --timeout 120s ps -aq"));
    }
}

#[test]
fn lists_that_fail_at_once_rule_a_plugin_out_without_a_look_at_the_host() {
    let ordinary = |n: u32| {
        line(
            &format!("03:30:0{n}"),
            "Attempting to register node worker-7",
        )
    };
    let too_large = |minute: u32| {
        let error = "rpc error: code = ResourceExhausted desc = grpc: trying to send message larger than max (20086028 vs. 16777216)";
        line(
            &format!("03:{minute}:00"),
            &format!("GenericPLEG: Unable to retrieve pods: {error}"),
        )
    };
    let stale = outage();
    let lines: Vec<_> = [1, 2, 3]
        .map(ordinary)
        .into_iter()
        .chain([35, 36, 37, 38].map(too_large))
        .chain(stale.clone())
        .collect();
    assert!(is_out(&verdict(&evidence(&lines, None), "cni-hang")));
    // One list, or one status, may wait without an end.
    let silent = [&[1, 2, 3].map(ordinary)[..], &stale].concat();
    let open = verdict(&evidence(&silent, None), "cni-hang");
    assert!(matches!(open, Judged::Open { .. }), "{open:?}");
}

#[test]
fn events_are_asked_for_only_where_a_runtime_sends_them() {
    let docker = changed(|_| {});
    assert_eq!(verdict(&docker, "evented-pleg"), Judged::Unasked);
    let lines = [&[of_containerd()][..], &outage()].concat();
    let told = evidence(&lines, None);
    assert!(is_out(&verdict(&told, "evented-pleg")));
    // No line tells the threshold, and the settings tell nothing of the gate.
    let cut = line(
        "03:39:00",
        "skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m39s ago",
    );
    let mut untold = evidence(&[of_containerd(), cut], None);
    let open = verdict(&untold, "evented-pleg");
    assert!(matches!(open, Judged::Open { .. }), "{open:?}");
    let mut host = well();
    host.kubelet_settings = Some(Settings {
        evented_pleg: Some(false),
        ..Settings::default()
    });
    untold.host = Some(host);
    assert!(is_out(&verdict(&untold, "evented-pleg")));
}

#[test]
fn shims_are_ruled_out_only_where_each_was_seen_beside_its_container() {
    let shim = |id: &str| {
        let words = format!(
            "/usr/bin/containerd-shim-runc-v2 -namespace moby -id {id} -address /run/containerd/containerd.sock"
        );
        Process {
            command: Some(words.split(' ').map(str::to_owned).collect()),
            container: ContainerId::parse(id),
            children: Some(1),
            ..process(30, 1, "containerd-shim", Role::Shim, 900)
        }
    };
    let with = |pid: Option<u32>, shims: Vec<Process>| {
        changed(|it| {
            let mut container = sandbox(ID, Some("running"));
            container.inspected.as_mut().unwrap().pid = pid;
            it.runtime = Some(daemon_with(vec![container]));
            let host = machine(it);
            host.processes.extend(shims);
            host.living = [7, 8, 30, 31].into();
        })
    };
    let fits = with(Some(31), vec![shim(ID)]);
    assert!(
        is_out(&verdict(&fits, "leaked-shim")),
        "{:?}",
        verdict(&fits, "leaked-shim")
    );
    // One whose words are not known may be the container's.
    let wordless = Process {
        command: None,
        container: None,
        ..shim(ID)
    };
    for unknown in [with(None, vec![shim(ID)]), with(Some(31), vec![wordless])] {
        open(&unknown, "leaked-shim");
    }
    let unseen = changed(|it| machine(it).whole = false);
    open(&unseen, "leaked-shim");
    let others = evidence(&[&[of_containerd()][..], &outage()].concat(), None);
    assert_eq!(verdict(&others, "leaked-shim"), Judged::Unasked);
}

#[test]
fn the_lock_of_iptables_is_asked_for_only_where_networks_fail() {
    assert_eq!(verdict(&changed(|_| {}), "xtables-lock"), Judged::Unasked);
    let network = |evidence: &mut Evidence| {
        let failed = format!(
            "StopPodSandbox \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = networkPlugin cni failed to teardown pod \"web-2_default\" network: neither iptables-save nor iptables-restore returned"
        );
        let lines = [&[line("03:37:30", &failed)][..], &outage()].concat();
        evidence.log = super::evidence(&lines, None).log;
    };
    assert!(is_out(&verdict(&changed(network), "xtables-lock")));
    let old = changed(|it| {
        network(it);
        let run = process(40, 1, "iptables-restor", Role::Iptables, 90);
        machine(it).processes.push(run);
    });
    open(&old, "xtables-lock");
    let unseen = changed(|it| {
        network(it);
        it.host = None;
    });
    open(&unseen, "xtables-lock");
}
