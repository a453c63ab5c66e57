//! On a terminal each step is shown and asked for; only a yes does it.

use super::Place;
use crate::support::{daemon::Daemon, process::wait_until};
use serde_json::json;
use std::{
    io::{Read as _, Write as _},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Starts it on a terminal (util-linux's script makes one).
fn terminal(place: &Place, daemon: &Daemon, more: &[&str]) -> Child {
    let line = format!(
        "exec {} {}",
        env!("CARGO_BIN_EXE_plegdoctor"),
        Place::arguments(daemon, more).join(" ")
    );
    Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(place.folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs it on a terminal and types `keys` once it asks; returns the exit code and what the terminal shows.
fn answered(place: &Place, daemon: &Daemon, keys: &[u8]) -> (i32, String) {
    answered_after(place, daemon, b"", keys)
}

/// … where `ahead` is typed before it asks.
fn answered_after(place: &Place, daemon: &Daemon, ahead: &[u8], keys: &[u8]) -> (i32, String) {
    let mut child = terminal(place, daemon, &[]);
    let (mut typing, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    typing.write_all(ahead).unwrap();
    let (mut text, mut block) = (String::new(), [0; 4096]);
    while !text.contains("[y/N] ") {
        let read = screen.read(&mut block).unwrap();
        assert!(read > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&block[..read]));
    }
    typing.write_all(keys).unwrap();
    screen.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code().unwrap(), text)
}

#[test]
fn only_a_yes_does_what_was_shown() {
    let daemon = Daemon::start();
    let dead = daemon.dead("stuck", &json!({}));
    daemon.undead();
    // The last three are the end of input, that after a yes without Enter (which takes two), and Ctrl-C.
    for keys in [&b"n\n"[..], b"\n", b"yup\n", b"\x04", b"y\x04\x04", b"\x03"] {
        let place = Place::new();
        let (code, shown) = answered(&place, &daemon, keys);
        assert_eq!(code, 1, "{shown}");
        assert!(
            shown.contains("Remove them [safe], for dead-container"),
            "{shown}"
        );
        assert!(
            shown.contains(&format!("remove container {}", &dead[..12])),
            "{shown}"
        );
        let told = match keys {
            b"\x03" => "not done: interrupted",
            _ => "not confirmed",
        };
        assert!(shown.contains(told), "{shown}");
        assert!(daemon.exists(&dead));
        place.is_empty();
    }
    let place = Place::new();
    let (code, shown) = answered_after(&place, &daemon, b"y\ny\n", b"\n");
    assert_eq!(
        code, 1,
        "what was typed before it asked is no answer: {shown}"
    );
    assert!(daemon.exists(&dead));
    place.is_empty();

    let place = Place::new();
    let (code, shown) = answered(&place, &daemon, b" Y \n");
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("RECOVERED") && shown.contains("Recovered at "),
        "{shown}"
    );
    assert!(shown.contains("plegdoctor-audit.jsonl"), "{shown}");
    assert!(wait_until(Duration::from_secs(1), || !daemon.exists(&dead)));
    assert_eq!(place.audit().len(), 2);
}
