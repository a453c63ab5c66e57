//! Somebody changes a container while it is being cleaned: before the first request, before the second, and so on,
//! until there is no further request to be before.

use super::clean;
use crate::support::{
    daemon::{Daemon, SLEEP},
    http,
    proxy::{Pass, Proxy},
};
use serde_json::{Value, json};
use std::{path::Path, time::Duration};

/// Does something to the container of that id, at the daemon itself.
type Change = fn(&Path, &str);

fn post(socket: &Path, id: &str, what: &str) -> u16 {
    let path = format!("/containers/{id}/{what}");
    http::ask(socket, "POST", &path, b"", Duration::from_secs(30))
        .unwrap()
        .status
}

/// Makes a change before each request in turn, and hands to `judge`: the number of the request, what the program
/// told of the container (if it was planned), and what inspect says of it (null if it is gone).
fn at_every_moment(daemon: &Daemon, change: Change, judge: impl Fn(usize, Option<&str>, &Value)) {
    let mut reached = true;
    let mut number = 0;
    while reached {
        number += 1;
        let id = daemon.create("worker", &json!({}), SLEEP);
        daemon.start_container(&id);
        daemon.kill_container(&id);
        let (socket, target) = (daemon.socket(), id.clone());
        let proxy = Proxy::start(daemon.socket(), move |seen| {
            if seen.number == number {
                change(&socket, &target);
            }
            Pass::On
        });
        let request = ["--exited", "--dead", "--include-non-pods", "--yes"];
        let (code, cleaned) = clean(&proxy.endpoint(), &request);
        reached = proxy.lines().len() >= number;
        for removal in proxy.removals() {
            assert!(!removal.contains("force=true"), "{removal}");
            assert!(!removal.contains("v=true"), "{removal}");
        }
        let now = daemon.api("GET", &format!("/containers/{id}/json"), &Value::Null);
        let there = now.status == 200;
        let state = if there {
            now.json()["State"].take()
        } else {
            Value::Null
        };
        let outcome = cleaned.outcome(&id);
        let gone = matches!(outcome, Some("removed" | "gone"));
        assert_eq!(
            gone,
            !there && outcome.is_some(),
            "{number}: {outcome:?} {state}"
        );
        assert_eq!(code, i32::from(outcome.is_some() && !gone), "{number}");
        judge(number, outcome, &state);
        daemon.api("DELETE", &format!("/containers/{id}?force=1"), &Value::Null);
    }
    assert!(
        number > 5,
        "list, inspect, inspect, delete, inspect: {number}"
    );
}

#[test]
fn a_container_started_at_any_moment_keeps_running() {
    let daemon = Daemon::start();
    let start: Change = |socket, id| {
        post(socket, id, "start");
    };
    at_every_moment(&daemon, start, |number, outcome, state| match number {
        // Before the list and before the first look: it is no exited container.
        1 | 2 => assert_eq!((outcome, &state["Running"]), (None, &true.into())),
        // Before the second look, and between that and the removal.
        3 | 4 => assert_eq!(
            (outcome, &state["Running"]),
            (Some("changed"), &true.into())
        ),
        // There was nothing left to start.
        _ => assert_eq!((outcome, state), (Some("removed"), &Value::Null)),
    });
}

#[test]
fn a_container_paused_at_any_moment_stays_paused() {
    let daemon = Daemon::start();
    let pause: Change = |socket, id| {
        post(socket, id, "start");
        post(socket, id, "pause");
    };
    at_every_moment(&daemon, pause, |number, outcome, state| match number {
        1 | 2 => assert_eq!((outcome, &state["Paused"]), (None, &true.into())),
        3 | 4 => assert_eq!((outcome, &state["Paused"]), (Some("changed"), &true.into())),
        _ => assert_eq!((outcome, state), (Some("removed"), &Value::Null)),
    });
}

#[test]
fn a_container_that_ran_again_in_between_is_not_the_one_that_was_planned() {
    let daemon = Daemon::start();
    let rerun: Change = |socket, id| {
        if post(socket, id, "start") == 204 {
            post(socket, id, "kill");
            post(socket, id, "wait");
        }
    };
    at_every_moment(&daemon, rerun, |number, outcome, _| {
        let expected = if number == 3 { "changed" } else { "removed" };
        assert_eq!(outcome, Some(expected), "{number}");
    });
}

#[test]
fn a_container_removed_by_somebody_else_at_any_moment_is_gone() {
    let daemon = Daemon::start();
    let remove: Change = |socket, id| {
        let path = format!("/containers/{id}");
        let _ = http::ask(socket, "DELETE", &path, b"", Duration::from_secs(30));
    };
    at_every_moment(&daemon, remove, |number, outcome, _| {
        let expected = match number {
            1 | 2 => None,
            3 | 4 => Some("gone"),
            _ => Some("removed"),
        };
        assert_eq!(outcome, expected, "{number}");
    });
}
