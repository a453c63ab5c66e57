//! Real dumps, read; and what is no dump, survived.

mod robust;

use super::*;

fn dump(name: &str) -> Stacks {
    let path = format!("{}/fixtures/stacks/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    Stacks::read(&std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
}

fn containerd(call: &str) -> Wait {
    Wait::Containerd(Some(call.to_owned()))
}

/// The one lock that our inspect waits for: how many wait, and who holds it.
fn held(name: &str) -> (usize, Verb, Wait, u64) {
    let stacks = dump(name);
    let held = stacks
        .our_lock()
        .unwrap_or_else(|| panic!("{name}: {stacks:#?}"));
    let holder = held.holder.unwrap_or_else(|| panic!("{name}: {stacks:#?}"));
    (
        held.waiting,
        holder.verb,
        holder.waits.clone(),
        holder.minutes,
    )
}

#[test]
fn the_call_that_holds_the_lock_is_found_in_each_way_of_hanging() {
    for (name, waiting, verb, waits) in [
        ("start", 1, Verb::Start, containerd("tasks.Create")),
        (
            "start-three-inspects",
            3,
            Verb::Start,
            containerd("tasks.Create"),
        ),
        ("stop", 1, Verb::Stop, containerd("tasks.Kill")),
        ("kill", 1, Verb::Kill, containerd("tasks.Kill")),
        ("remove-force", 1, Verb::Remove, containerd("tasks.Kill")),
        ("pause", 1, Verb::Pause, containerd("tasks.Pause")),
        ("exit", 1, Verb::Exit, containerd("tasks.Delete")),
        ("exec", 1, Verb::Exec, containerd("tasks.Start")),
        (
            "containerd-frozen-start",
            1,
            Verb::Start,
            containerd("leases.Create"),
        ),
        (
            "log-driver",
            1,
            Verb::Start,
            Wait::LogDriver(Some("syslog".to_owned())),
        ),
    ] {
        assert_eq!(held(name), (waiting, verb, waits, 0), "{name}");
    }
}

#[test]
fn a_start_that_hangs_in_a_bind_mounts_file_system_is_told_from_others() {
    let stacks = dump("stale-volume");
    let hanging = stacks.hanging();
    let [start] = hanging[..] else {
        panic!("{hanging:#?}")
    };
    assert_eq!(
        (start.verb, start.minutes, start.holds),
        (Verb::Start, 5, true)
    );
    let fstatat = Wait::FileSystem {
        call: Some("fstatat".to_owned()),
        bind: true,
    };
    assert_eq!(start.waits, fstatat);
    assert_eq!(start.container, Some(0xc0003e4c80));
    // Five inspects of one container wait, one of them without a full id.
    let waiting = stacks
        .calls
        .iter()
        .filter(|call| call.waits.lock() == Some(0xc000f96d80));
    assert_eq!(waiting.count(), 5);
}

#[test]
fn an_inspect_whose_path_names_a_version_is_not_ours() {
    let stacks = dump("kubelet-stop");
    assert!(stacks.calls.iter().any(|call| call.verb == Verb::Inspect));
    assert!(stacks.our_lock().is_none());
    assert_eq!(stacks.hanging()[0].verb, Verb::Stop);
}

#[test]
fn with_two_containers_hung_no_lock_is_ours_and_both_calls_are_told() {
    let stacks = dump("two-hang");
    assert!(stacks.our_lock().is_none());
    let verbs: Vec<_> = stacks.hanging().iter().map(|call| call.verb).collect();
    assert_eq!(verbs, [Verb::Start, Verb::Remove]);
}

#[test]
fn an_exec_is_found_behind_the_inspect_that_holds_the_containers_lock() {
    let mut stacks = dump("exec-two-inspects");
    // Both inspects are by a path without a version here; the one that waits for the execs is the kubelet's.
    for call in &mut stacks.calls {
        call.ours = matches!(
            &call.waits,
            Wait::Lock {
                guard: Guard::Container,
                ..
            }
        );
    }
    let held = stacks.our_lock().unwrap();
    assert_eq!(held.waiting, 1);
    let exec = held.holder.unwrap();
    assert_eq!(
        (exec.verb, &exec.waits),
        (Verb::Exec, &containerd("tasks.Start"))
    );
}

#[test]
fn a_stop_that_waits_for_the_process_to_end_holds_nothing() {
    let stacks = dump("kill");
    let stop = stacks
        .calls
        .iter()
        .find(|call| call.verb == Verb::Stop)
        .unwrap();
    assert_eq!((&stop.waits, stop.holds), (&Wait::Other, false));
}

#[test]
fn the_wait_before_a_restart_holds_no_lock() {
    // Our inspect of the real dump waits; the only other call is a closure made by the clean-up after an exit.
    let path = format!("{}/fixtures/stacks/start.txt", env!("CARGO_MANIFEST_DIR"));
    let real = std::fs::read_to_string(path).unwrap();
    let ours = real
        .split("\n\n")
        .filter(|goroutine| goroutine.contains("(*Daemon).ContainerInspect("));
    let back_off = "goroutine 900 [chan receive]:\ngithub.com/docker/docker/daemon.(*Daemon).handleContainerExit.func1()\n\t/build/src/github.com/docker/docker/daemon/monitor.go:81 +0x3f\ncreated by github.com/docker/docker/daemon.(*Daemon).handleContainerExit\n\t/build/src/github.com/docker/docker/daemon/monitor.go:80 +0x9a5";
    let dump: Vec<_> = ours.chain([back_off]).collect();
    let stacks = Stacks::read(format!("{}\n", dump.join("\n\n")).as_bytes());
    let held = stacks.our_lock().unwrap_or_else(|| panic!("{stacks:#?}"));
    assert_eq!(held.holder, None);
}
