//! `explain`: pages of findings and messages, the list of them, and lines that are pasted.

/// What the pages hold: complete, and true to the program.
mod pages;

use crate::support::{
    json::{schema, validate},
    judge::case,
    program::{Told, fed, plegdoctor, run, told},
};
use plegdoctor::{kubelet::event::MESSAGES, rules::RULES};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_plegdoctor");

/// The JSON as promised, in types that share nothing with the printer.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Explained {
    schema: String,
    topics: Vec<Topic>,
    pasted: Option<Pasted>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Topic {
    kind: Kind,
    id: String,
    title: String,
    texts: Vec<String>,
    means: String,
    matters: String,
    confirm: Vec<Look>,
    remedies: Vec<Cure>,
    versions: String,
    unproved: Option<String>,
    see: Vec<String>,
    sources: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Finding,
    Message,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Look {
    what: String,
    command: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Cure {
    what: String,
    command: Option<String>,
    cost: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Pasted {
    lines: u64,
    unknown: u64,
    messages: Vec<Heard>,
    others: Vec<Other>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Heard {
    id: String,
    count: u64,
    examples: Vec<Example>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Example {
    event: Value,
    told: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Other {
    line: u64,
    text: String,
    told: Vec<String>,
}

/// Reads the JSON strictly: by the schema, and by types of its own, which must write the same again.
#[track_caller]
fn explained(told: &Told) -> Explained {
    assert_eq!(told.err, "", "{told:?}");
    let value: Value = serde_json::from_str(&told.out).unwrap();
    validate(&schema("explain"), &value, "explain");
    let read = Explained::deserialize(&value).unwrap_or_else(|error| panic!("{error}: {value:#}"));
    assert_eq!(serde_json::to_value(&read).unwrap(), value);
    read
}

#[test]
fn without_an_id_all_are_listed_a_line_each() {
    let told = run(&["explain"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    let rules = RULES.iter().map(|rule| rule.id);
    for id in rules.chain(MESSAGES.iter().map(|message| message.id)) {
        let rows = told
            .out
            .lines()
            .filter(|line| line.split_whitespace().next() == Some(id));
        // A finding and a message share one.
        let expected = if id == "runtime-down" { 2 } else { 1 };
        assert_eq!(rows.count(), expected, "{id}");
    }
    assert!(
        told.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        told.out
    );
}

#[test]
fn a_page_tells_the_cure_and_what_it_costs() {
    let told = run(&["explain", "list-too-large"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    for words in [
        "list-too-large  finding\n",
        "\nWhat it means\n",
        "\nWhy it matters\n",
        "\nHow to confirm\n",
        "\n      plegdoctor clean --exited\n      cost: ",
        "\nVersions\n",
        "\nSources\n",
    ] {
        assert!(told.out.contains(words), "{words:?}: {}", told.out);
    }
    assert!(!told.out.contains('\x1b'));
}

#[test]
fn a_finding_and_a_message_of_one_name_are_both_told() {
    let told = run(&["explain", "runtime-down", "--format", "json"]);
    let topics = explained(&told).topics;
    let kinds: Vec<_> = topics
        .iter()
        .map(|topic| (topic.kind, topic.id.as_str()))
        .collect();
    assert_eq!(
        kinds,
        [
            (Kind::Finding, "runtime-down"),
            (Kind::Message, "runtime-down")
        ]
    );
}

#[test]
fn json_without_an_id_holds_all() {
    let all = explained(&run(&["explain", "--format", "json"]));
    assert_eq!(all.topics.len(), RULES.len() + MESSAGES.len());
    assert!(all.pasted.is_none());
}

#[test]
fn an_unknown_id_is_one_line_that_names_the_nearest() {
    run(&["explain", "hung-contaner"]).refused(&["\"hung-contaner\"", "hung-container"]);
    run(&["explain", "PLEG"]).refused(&["\"PLEG\"", "plegdoctor explain lists all"]);
    run(&["explain", "x\x1b[2J\ny"]).refused(&["\"x\\u{1b}[2J\\ny\""]);
    run(&["explain", ""]).refused(&["there is no finding or message \"\""]);
}

#[test]
fn pasted_lines_are_told_by_message_with_what_they_hold() {
    let case = case("sandbox-flaps");
    let log = case.text("kubelet.log").as_bytes();
    let told = fed(&["explain", "-"], log);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    for words in [
        "sandbox-status-failed  message of the kubelet\n",
        "It is about sandbox fffba3fcf5d5, pod default/web-2",
        "DeadlineExceeded: the call hit the kubelet's limit, 2 minutes",
        "pleg-stale  message of the kubelet\n",
        "the threshold is 3m.",
    ] {
        let text = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&words), "{words:?}");
    }
    let json = explained(&fed(&["explain", "-", "--format", "json"], log));
    let pasted = json.pasted.unwrap();
    let ids: Vec<_> = pasted
        .messages
        .iter()
        .map(|heard| heard.id.as_str())
        .collect();
    let topics: Vec<_> = json.topics.iter().map(|topic| topic.id.as_str()).collect();
    assert_eq!(ids, topics);
    assert!(pasted.unknown > 0 && pasted.unknown < pasted.lines);
    for heard in &pasted.messages {
        assert_eq!(heard.examples.len() as u64, heard.count.min(3));
        for example in &heard.examples {
            validate(&schema("event"), &example.event, &heard.id);
        }
    }
}

#[test]
fn any_envelope_and_a_condition_are_understood() {
    let stale =
        "PLEG is not healthy: pleg was last seen active 3m45.252087921s ago; threshold is 3m0s";
    for (line, id) in [
        (
            format!(
                "Mar 14 09:26:53 worker-3 kubelet[2261]: E0314 09:26:53.589793    2261 kubelet.go:1765] skipping pod synchronization - {stale}"
            ),
            "skip-sync",
        ),
        (
            format!(
                r#"{{"ts":1753121333627.7236,"caller":"kubelet/kubelet.go:2406","msg":"Skipping pod synchronization","err":"{stale}"}}"#
            ),
            "skip-sync",
        ),
        (
            format!(
                "  Ready            False   Fri, 28 Jun 2019 10:19:21 +0800   Fri, 28 Jun 2019 10:18:30 +0800   KubeletNotReady              {stale}"
            ),
            "ready-condition",
        ),
        (stale.to_owned(), "pleg-stale"),
    ] {
        let json = explained(&fed(&["explain", "-", "--format", "json"], line.as_bytes()));
        let pasted = json.pasted.unwrap();
        assert_eq!(pasted.messages[0].id, id, "{line}");
        let stale = pasted
            .messages
            .iter()
            .find(|heard| heard.id == "pleg-stale")
            .unwrap();
        assert!(
            stale.examples[0].told[0]
                .starts_with("No relist has succeeded for 3m45s; the threshold is 3m.")
        );
        assert_eq!(pasted.unknown, 0);
    }
}

#[test]
fn lines_that_a_terminal_broke_are_put_together() {
    let case = case("odd-rows");
    let rows = case.text("journal.txt").as_bytes();
    let json = explained(&fed(&["explain", "-", "--format", "json"], rows));
    let pasted = json.pasted.unwrap();
    let stale = pasted.messages.iter().find(|it| it.id == "pleg-stale");
    // The first is what a start says, and is another message.
    assert_eq!(stale.unwrap().count, 18);
    let stopped = pasted
        .messages
        .iter()
        .find(|it| it.id == "stop-sandbox-failed");
    assert!(
        stopped.unwrap().examples[0]
            .told
            .join(" ")
            .contains("b15929dfcea1")
    );
}

#[test]
fn what_is_no_message_is_said_and_has_a_code_of_its_own() {
    let told = fed(&["explain", "-"], b"hello\n\nworld \x1b[2J\xff\n");
    assert_eq!((told.code, told.err.as_str()), (1, ""));
    assert!(
        told.out
            .starts_with("2 lines are not known messages\n  1: hello\n  3: world \\u{1b}[2J"),
        "{}",
        told.out
    );
    let told = fed(
        &["explain", "-"],
        b"write tcp 10.0.0.1:2: use of closed network connection",
    );
    assert_eq!(told.code, 1);
    assert!(told.out.contains("that was already closed"), "{}", told.out);
    fed(&["explain", "-"], b"").refused(&["nothing on standard input"]);
    fed(&["explain", "-"], b"\n \n").refused(&["nothing on standard input"]);
}

#[test]
fn markdown_of_a_paste_quotes_lines_as_code() {
    let told = fed(
        &["explain", "-", "--format", "markdown"],
        b"```\ncontainer runtime is down\n```\n",
    );
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    assert!(
        told.out.starts_with("# Message `runtime-down`\n"),
        "{}",
        told.out
    );
    assert!(told.out.contains("\n````text\n```\n````\n"), "{}", told.out);
}

/// Returns a command that explains on a terminal of its own; what is typed is nothing.
fn terminal(args: &str, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new("script");
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm")
        .envs(environment.iter().copied())
        .args(["-qec", &format!("{PROGRAM} explain {args}"), "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn on_a_terminal_it_goes_through_the_pager_and_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let pager = dir.path().join("pager");
    fs::write(&pager, "#!/bin/sh\necho \"PAGED $1 LESS=$LESS\"; cat\n").unwrap();
    fs::set_permissions(&pager, fs::Permissions::from_mode(0o755)).unwrap();
    let words = format!("{} -x", pager.display());
    let paged = terminal("pleg-stale", &[("PAGER", &words)]);
    assert!(paged.starts_with("PAGED -x LESS=FRX\r\n"), "{paged:?}");
    assert!(paged.contains("What it means"));
    let told = terminal("pleg-stale", &[("PAGER", &words), ("LESS", "i")]);
    assert!(told.starts_with("PAGED -x LESS=i\r\n"), "{told:?}");
    for (args, environment) in [
        ("pleg-stale --no-pager", vec![("PAGER", words.as_str())]),
        ("pleg-stale --format json", vec![("PAGER", words.as_str())]),
        (
            "pleg-stale",
            vec![("PAGER", words.as_str()), ("TERM", "dumb")],
        ),
        ("pleg-stale", vec![("PAGER", "")]),
        ("pleg-stale", vec![("PAGER", "cat")]),
        ("pleg-stale", vec![("PAGER", "/no/such/pager -x")]),
        ("pleg-stale", vec![("PAGER", "env no-such-pager")]),
        ("pleg-stale", vec![("PAGER", "/")]),
    ] {
        let shown = terminal(args, &environment);
        assert!(!shown.contains("PAGED"), "{args}: {shown}");
        assert!(
            shown.contains("pleg-stale"),
            "{args} {environment:?}: {shown}"
        );
    }
    let piped = told_with(&["explain", "pleg-stale"], &words);
    assert!(piped.out.starts_with("pleg-stale  message"), "{piped:?}");
}

fn told_with(args: &[&str], pager: &str) -> Told {
    told(plegdoctor(args).env("PAGER", pager).env("TERM", "xterm"))
}

#[test]
fn a_pager_that_is_left_early_is_no_error() {
    let shown = terminal("--no-pager; echo code $?", &[]);
    assert!(shown.ends_with("code 0\r\n"), "{shown:?}");
    let left = terminal("; echo code $?", &[("PAGER", "true")]);
    assert!(left.ends_with("code 0\r\n"), "{left:?}");
}

/// Writes a pager that reads all, then does as `script` says.
fn pager(dir: &TempDir, script: &str) -> String {
    let path = dir.path().join("pager");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Explains on a terminal through that pager; types Ctrl-C once it shows `READY`. Returns what else is shown.
fn interrupted(pager: &str) -> String {
    let line = format!("trap : INT; {PROGRAM} explain pleg-stale; echo code $?");
    let mut child = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm")
        .env("PAGER", pager)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut typing = child.stdin.take().unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    while !first.contains("READY") {
        first.clear();
        assert!(shown.read_line(&mut first).unwrap() > 0, "it ended");
    }
    typing.write_all(b"\x03").unwrap();
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    child.wait().unwrap();
    rest
}

#[test]
fn in_a_pager_ctrl_c_is_the_pagers_and_where_that_ends_it_is_over() {
    let dir = tempfile::tempdir().unwrap();
    // As less: it goes on.
    let caught = "trap seen=1 INT; cat >/dev/null; echo READY; \
        while [ -z \"$seen\" ]; do sleep 0.1; done; sleep 0.3; echo GOES ON";
    let rest = interrupted(&pager(&dir, caught));
    assert!(rest.ends_with("GOES ON\r\ncode 0\r\n"), "{rest:?}");
    // It has not read all that it is given, and ends.
    let rest = interrupted(&pager(&dir, "echo READY; exec sleep 60"));
    assert!(rest.ends_with("code 0\r\n"), "{rest:?}");
}

#[test]
fn in_a_pager_sigterm_ends_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let pager = pager(&dir, "cat >/dev/null; kill -TERM $PPID; sleep 1");
    let shown = terminal("pleg-stale; echo code $?", &[("PAGER", &pager)]);
    assert!(shown.ends_with("code 143\r\n"), "{shown:?}");
}
