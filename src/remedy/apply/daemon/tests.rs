//! Which daemon is let go on, and which not: played machines.

use super::*;
use crate::{node::Process, remedy::apply::tests::process, syntax::id::PodUid};

fn dockerd(state: State, tracer: Option<u32>) -> Process {
    Process {
        state,
        tracer,
        ..process(80, 1, "dockerd", Role::Dockerd)
    }
}

fn judged(process: Process) -> Result<Role, String> {
    let host = Host {
        processes: vec![process],
        ..Host::default()
    };
    verify_stopped(&host, (80, 500))
}

#[test]
fn a_daemon_stopped_by_a_signal_that_nobody_traces_goes_on() {
    assert_eq!(judged(dockerd(State::Stopped, Some(0))), Ok(Role::Dockerd));
}

#[test]
fn one_that_is_traced_runs_or_is_another_is_left_alone() {
    let uid = PodUid::parse("9b0e4a32-7fe5-45b4-b69e-1c76355b4249");
    assert!(uid.is_some());
    for (process, words) in [
        (dockerd(State::Stopped, Some(9)), "traced by process 9"),
        (dockerd(State::Traced, Some(9)), "traced by process 9"),
        (dockerd(State::Stopped, None), "could not be read"),
        (dockerd(State::Traced, Some(0)), "could not be read"),
        (dockerd(State::Sleeping, Some(0)), "not stopped"),
        (
            Process {
                start_ticks: 501,
                ..dockerd(State::Stopped, Some(0))
            },
            "another process",
        ),
        (
            Process {
                role: Role::Shim,
                ..dockerd(State::Stopped, Some(0))
            },
            "another process",
        ),
        (
            Process {
                uid,
                ..dockerd(State::Stopped, Some(0))
            },
            "another process",
        ),
        (
            Process {
                pid: 81,
                ..dockerd(State::Stopped, Some(0))
            },
            "gone",
        ),
    ] {
        let why = judged(process).unwrap_err();
        assert!(why.contains(words), "{why}");
    }
}
