//! What is no sensible question: exit code 2, nothing on standard output, and the word that is wrong named.

use super::{files, noon, ready, text};
use crate::support::{
    json::schema,
    program::{plegdoctor, run, told},
};

#[test]
fn values_that_make_no_sense_are_one_line_that_names_option_and_value() {
    for (args, words) in [
        (&["--now", "soon"][..], &["--now soon", "RFC 3339"][..]),
        (&["--since", "25:00"], &["--since 25:00"]),
        (&["--until", "2026-13-01"], &["--until 2026-13-01"]),
        (
            &["--since", "1h", "--until", "2h"],
            &["--since is after --until"],
        ),
        (
            &["--docker-host", "tcp://10.0.0.1:2375"],
            &["\"tcp://10.0.0.1:2375\"", "unix:///var/run/docker.sock"],
        ),
        (&["--docker-host", "ssh://me@node"], &["ssh://me@node"]),
        (
            &["--no-log", "--no-docker", "--no-host"],
            &["--no-log", "--no-docker", "--no-host"],
        ),
        (
            &["--no-log", "--no-docker", "--now", "2020-01-01 12:00"],
            &["--no-log", "--no-docker", "--now"],
        ),
    ] {
        run(&[&["diagnose"], args].concat()).refused(words);
    }
    for (args, words) in [
        (
            &["--dead", "--docker-host", "tcp://10.0.0.1:2375"][..],
            &["tcp://10.0.0.1:2375"][..],
        ),
        (
            &["--dead", "--filter", "status=dead"],
            &["--filter status=dead"],
        ),
        (&["--dead", "--filter", "label"], &["--filter label"]),
    ] {
        run(&[&["clean"], args].concat()).refused(words);
    }
}

#[test]
fn options_that_do_not_parse_are_named_with_what_would() {
    for (args, words) in [
        (&["diagnose", "--bogus"][..], &["--bogus"][..]),
        (
            &["diagnose", "--utc-offset", "CET"],
            &["--utc-offset", "'CET'", "+08:00"],
        ),
        (
            &["diagnose", "--probe-timeout", "0s"],
            &["--probe-timeout", "'0s'", "500ms"],
        ),
        (
            &["diagnose", "--probe-timeout", "fast"],
            &["--probe-timeout", "'fast'"],
        ),
        (&["diagnose", "--log-timeout", "-1s"], &["-1"]),
        (
            &["diagnose", "--max-unanswered", "0"],
            &["--max-unanswered", "'0'"],
        ),
        (
            &["diagnose", "--format", "xml"],
            &["--format", "'xml'", "json"],
        ),
        (
            &["diagnose", "--color", "maybe"],
            &["--color", "'maybe'", "never"],
        ),
        (
            &["diagnose", "--no-log", "--log", "x"],
            &["--no-log", "--log"],
        ),
        (
            &["diagnose", "--no-log", "--journal"],
            &["--no-log", "--journal"],
        ),
        (
            &["diagnose", "--no-log", "--log-container", "x"],
            &["--no-log", "--log-container"],
        ),
        (&["clean"], &["--dead", "--exited", "--created"]),
        (&["clean", "--yes"], &["--dead", "--exited", "--created"]),
        (&["clean", "--dead", "--jobs", "0"], &["--jobs", "'0'"]),
        (
            &["clean", "--dead", "--older-than", "0"],
            &["--older-than", "'0'"],
        ),
        (&["clean", "--dead", "--force"], &["--force"]),
        (&["schema"], &["<OUTPUT>"]),
        (&["schema", "log"], &["'log'"]),
        (&["heal"], &["heal"]),
        (&[], &["Usage:", "diagnose", "clean"]),
    ] {
        let told = run(args);
        assert_eq!(
            (told.code, told.out.as_str()),
            (2, ""),
            "{args:?}: {told:?}"
        );
        for word in words {
            assert!(told.err.contains(word), "{args:?} {word:?}: {told:?}");
        }
    }
}

#[test]
fn help_fits_eighty_columns_and_tells_the_exit_codes() {
    for args in [
        &["--help"][..],
        &["diagnose", "--help"],
        &["probe", "--help"],
        &["clean", "--help"],
        &["schema", "--help"],
    ] {
        let told = told(plegdoctor(args).env("COLUMNS", "80"));
        assert_eq!((told.code, told.err.as_str()), (0, ""), "{args:?}");
        let long: Vec<_> = told
            .out
            .lines()
            .filter(|line| line.chars().count() > 80)
            .collect();
        assert!(long.is_empty(), "{args:?}: {long:#?}");
        assert!(!told.out.contains('\x1b'), "{args:?}");
        if args[0] != "schema" {
            let words = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
            let (_, codes) = words.split_once("Exit codes: 0 ").unwrap();
            let (_, codes) = codes.split_once(" 1 ").unwrap();
            assert!(codes.contains(" 2 "), "{args:?}: {codes}");
        }
    }
}

#[test]
fn the_version_is_the_packages() {
    let told = run(&["--version"]);
    let expected = format!("plegdoctor {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((told.code, told.out), (0, expected));
}

#[test]
fn each_schema_is_a_schema_that_refuses_what_is_not_its_output() {
    for output in ["report", "probe", "clean", "audit"] {
        let schema = schema(output);
        let id = schema["$id"].as_str().unwrap();
        assert!(id.ends_with(&format!("{output}/1")), "{id}");
        assert!(jsonschema::meta::is_valid(&schema), "{output}");
        let validator = jsonschema::validator_for(&schema).unwrap();
        for other in [serde_json::json!({}), serde_json::json!([])] {
            assert!(!validator.is_valid(&other), "{output}: {other}");
        }
    }
}

#[test]
fn without_docker_no_word_about_docker_is_read() {
    let dir = files(&[("kubelet.log", ready("11:59:50").as_bytes())]);
    let log = dir.path().join("kubelet.log");
    for host in ["unix:///nonexistent/docker.sock", "tcp://10.0.0.1:2375", ""] {
        let told = told(plegdoctor(&noon(&["--log", text(&log)])).env("DOCKER_HOST", host));
        assert_eq!((told.code, told.err.as_str()), (0, ""), "{host}: {told:?}");
    }
}
