//! Whole runs of the program against sockets: the cases' recorded daemons, played as they were, and daemons that
//! answer badly or not at all.

use crate::{
    json,
    support::{
        judge::{Unpacked, arguments, case, meets, unpacked},
        program::{Told, findings, run},
        replay::{FullQueue, Play, Played},
    },
};
use plegdoctor::node::DEFAULT_ENDPOINT;
use serde_json::Value;
use std::{
    collections::HashMap,
    fs,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

/// Short, since some calls never answer.
const TIMEOUT: Duration = Duration::from_millis(600);
/// Long, for daemons that answer.
const PATIENCE: Duration = Duration::from_secs(8);
/// How much longer than its two rounds of calls a run may take on a busy machine.
const SLACK: Duration = Duration::from_millis(2500);

/// The call for the daemon's own stacks.
const STACKS: &str = "GET /debug/pprof/goroutine?debug=2";

/// Stacks without a call in progress.
fn no_calls() -> Play {
    Play::ok("goroutine 1 [running]:\nmain.main()\n")
}

/// A recorded daemon at its socket.
enum Peer {
    Playing(Played),
    /// A socket file that nobody listens on, or none.
    Silent(TempDir),
}

impl Peer {
    /// Plays what the case's `docker` folder holds; `None` where no socket can do so: root is denied nothing.
    fn of(case: &Unpacked) -> Option<Self> {
        let index = case.text("docker/index");
        let mut plays = HashMap::new();
        let mut outcomes = Vec::new();
        for line in index.lines().filter(|line| !line.is_empty()) {
            let fields: Vec<&str> = line.split('\t').collect();
            let (path, outcome, status, millis, body, whole) = match fields[..] {
                [path, outcome, status, millis, body] => (path, outcome, status, millis, body, 0),
                [path, outcome, status, millis, body, whole] => {
                    let whole = whole.parse().unwrap();
                    (path, outcome, status, millis, body, whole)
                }
                _ => panic!("{line}"),
            };
            outcomes.push(outcome);
            let mut body = match body {
                "-" => String::new(),
                inline if inline.starts_with(['{', '[']) => inline.to_owned(),
                file => case.text(&format!("docker/{file}")).to_owned(),
            };
            // One of which a part was left out is as long as the whole was.
            body.extend(std::iter::repeat_n(' ', whole.max(body.len()) - body.len()));
            let play = match outcome {
                "timed_out" => Play::Never,
                "answered" => {
                    let pause = Duration::from_secs_f64(millis.parse::<f64>().unwrap() / 1000.0);
                    Play::After(pause, Box::new(Play::Http(status.parse().unwrap(), body)))
                }
                _ => continue,
            };
            plays.insert(format!("GET {path}"), play);
        }
        // Recorded before its stacks were: a daemon that has them, with nothing in them.
        plays.entry(STACKS.to_owned()).or_insert_with(no_calls);
        match outcomes[0] {
            "denied" => None,
            "refused" => {
                let dir = tempfile::tempdir().unwrap();
                drop(UnixListener::bind(dir.path().join("docker.sock")).unwrap());
                Some(Self::Silent(dir))
            }
            "missing" => Some(Self::Silent(tempfile::tempdir().unwrap())),
            _ => Some(Self::Playing(Played::start(move |asked| {
                let unknown = Play::Http(404, r#"{"message":"page not found"}"#.to_owned());
                plays.get(asked).cloned().unwrap_or(unknown)
            }))),
        }
    }

    fn endpoint(&self) -> String {
        match self {
            Self::Playing(played) => played.endpoint(),
            Self::Silent(dir) => format!("unix://{}", dir.path().join("docker.sock").display()),
        }
    }
}

/// Copies a recorded host whose dockerd listens on another socket.
fn copy_host(from: &Path, to: &Path, (recorded, played): (&str, &str)) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_host(&from, &to, (recorded, played));
        } else if entry.file_name() == "cmdline" {
            let words = String::from_utf8(fs::read(&from).unwrap()).unwrap();
            fs::write(&to, words.replace(recorded, played)).unwrap();
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// Diagnoses with a case's log and present, and the Docker at `endpoint`.
fn diagnose(case: &Unpacked, endpoint: &str, timeout: Duration) -> (Told, Value) {
    let mut args = vec!["diagnose".to_owned()];
    let mut words = arguments(case).into_iter();
    let mut recorded = None;
    let host = tempfile::tempdir().unwrap();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--docker-host" => recorded = words.next(),
            "--no-docker" => {}
            "--host-root" => {
                let from = PathBuf::from(words.next().unwrap());
                // The usual socket may stand in dockerd's words, too.
                let recorded = recorded.clone();
                let recorded = recorded.unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
                copy_host(&from, host.path(), (&recorded, endpoint));
                args.extend([word, host.path().display().to_string()]);
            }
            _ => args.push(word),
        }
    }
    let timeout = format!("{}ms", timeout.as_millis());
    let more = ["--docker-host", endpoint, "--probe-timeout", &timeout];
    args.extend(more.map(str::to_owned));
    args.extend(["--format", "json"].map(str::to_owned));
    let told = run(&args);
    let report = told.report();
    json::strictly(&report);
    // What was recorded at the usual socket is asked at another one.
    let named = format!("docker -H {endpoint} ");
    let report = report.to_string().replace(&named, "docker ");
    (told, serde_json::from_str(&report).unwrap())
}

/// Compares with lines as in `expect`.
fn check(name: &str, expect: &str, told: &Told, report: &Value) {
    for line in expect
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let exit = u8::try_from(told.code).unwrap();
        assert_eq!(
            meets(line, exit, report),
            Ok(()),
            "{name}: {line}: {told:?}"
        );
    }
}

#[test]
fn recorded_daemons_lead_to_the_same_findings_over_a_socket() {
    let mut seen = 0;
    for case in unpacked() {
        // The kubelet's answers are of the machine itself: no socket brings them there.
        if case.has("kubelet") {
            continue;
        }
        // A saved capture is replayed as a whole.
        if !case.has("docker") || case.has("manifest.json") {
            continue;
        }
        let Some(peer) = Peer::of(&case) else {
            continue;
        };
        let name = &case.name;
        // Only what never answers need not be waited for.
        let index = case.text("docker/index");
        let timeout = if index.contains("\ttimed_out\t") {
            TIMEOUT
        } else {
            PATIENCE
        };
        let (told, report) = diagnose(&case, &peer.endpoint(), timeout);
        check(name, case.text("expect"), &told, &report);
        if timeout == TIMEOUT {
            assert!(told.took < TIMEOUT * 2 + SLACK, "{name}: {:?}", told.took);
        }
        seen += 1;
    }
    assert!(seen >= 12, "only {seen} cases went through a socket");
}

/// A list of one container, its inspect as played, all else as on a daemon that is well.
fn one_container(id: &'static str, name: &str, state: &str, inspect: Play) -> Played {
    let list = format!(
        r#"[{{"Id":"{id}","Names":["/{name}"],"Created":1796009000,"State":"{state}","Status":"Up 6 minutes","Labels":{{}}}}]"#
    );
    Played::start(move |asked| match asked {
        "GET /_ping" => Play::ok("OK"),
        "GET /version" | "GET /info" => Play::ok(r#"{"Version":"20.10.24","ApiVersion":"1.41"}"#),
        "GET /containers/json?all=1" => Play::ok(list.clone()),
        STACKS => no_calls(),
        _ if asked == format!("GET /containers/{id}/json") => inspect.clone(),
        _ => Play::Http(404, r#"{"message":"No such container"}"#.to_owned()),
    })
}

const SANDBOX: &str = "b15929dfcea1eacc23c8e0f6006a497cb7254d19f0d7a441e6a2cfbe7f6a4d24";
const SANDBOX_NAME: &str = "k8s_POD_web-2_default_9b0e4a32-7fe5-45b4-b69e-1c76355b4249_0";

/// Returns the whole id in a case's log that begins with `start`.
fn whole_id(case: &Unpacked, start: &str) -> &'static str {
    let log = case.text("kubelet.log");
    let at = log
        .match_indices(start)
        .map(|(at, _)| &log[at..])
        .find(|rest| rest.bytes().take_while(u8::is_ascii_hexdigit).count() == 64);
    at.map_or(SANDBOX, |rest| rest[..64].to_owned().leak())
}

#[test]
fn a_logs_suspicion_is_confirmed_by_a_socket_that_hangs_alike() {
    let hung = case("sandbox-stop-hangs");
    let id = whole_id(&hung, "b15929dfcea1");
    let played = one_container(id, SANDBOX_NAME, "running", Play::Never);
    let (told, report) = diagnose(&hung, &played.endpoint(), TIMEOUT);
    check(
        "hung",
        "exit 1\nverdict problem\nfirst hung-container\nseverity critical\nconfidence confirmed\nactive true\nsubject sandbox b15929dfcea1 default/web-2\nfindings hung-container\nsays Docker lists it as \"Up 6 minutes\"\ngaps 0",
        &told,
        &report,
    );

    // This log shows the freeze over half a minute before: it proves nothing of a freeze now.
    let frozen = case("dockerd-frozen");
    let played = Played::start(|_| Play::Never);
    let (told, report) = diagnose(&frozen, &played.endpoint(), TIMEOUT);
    check(
        "frozen",
        "exit 1\nverdict problem\nfirst hung-runtime\nconfidence suspected\nactive true\nnever hung-container runtime-down",
        &told,
        &report,
    );

    let down = case("runtime-down-log");
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("docker.sock");
    drop(UnixListener::bind(&socket).unwrap());
    let (told, report) = diagnose(&down, &format!("unix://{}", socket.display()), TIMEOUT);
    check(
        "down",
        "exit 1\nverdict problem\nfirst runtime-down\nconfidence confirmed\nactive true\nfindings runtime-down",
        &told,
        &report,
    );
}

#[test]
fn a_container_that_answers_or_is_gone_ends_a_logs_suspicion() {
    let hung = case("sandbox-stop-hangs");
    let id = whole_id(&hung, "b15929dfcea1");
    let inspect = format!(
        r#"{{"Id":"{id}","Name":"/{SANDBOX_NAME}","State":{{"Status":"exited","Running":false,"FinishedAt":"2026-11-30T03:39:55Z"}}}}"#
    );
    let answers = one_container(id, SANDBOX_NAME, "exited", Play::ok(inspect));
    let gone = one_container("aa", "none", "exited", Play::Never);
    for (what, played) in [("answers", answers), ("gone", gone)] {
        let (told, report) = diagnose(&hung, &played.endpoint(), TIMEOUT);
        check(what, "also hung-container", &told, &report);
        let mut all = report["findings"].as_array().unwrap().iter();
        let hung = all.find(|it| it["id"] == "hung-container").unwrap();
        assert_eq!(hung["active"], false, "{what}: {hung:#}");
        assert_eq!(hung["remedies"], serde_json::json!([]), "{what}: {hung:#}");
    }
}

/// Diagnoses only Docker, at that socket.
fn ask(endpoint: &str) -> (Told, Value) {
    let timeout = format!("{}ms", TIMEOUT.as_millis());
    let told = run(&[
        "diagnose",
        "--no-log",
        "--no-host",
        "--format",
        "json",
        "--probe-timeout",
        &timeout,
        "--docker-host",
        endpoint,
    ]);
    assert!(told.took < TIMEOUT * 2 + SLACK, "{:?}", told.took);
    let report = told.report();
    json::strictly(&report);
    (told, report)
}

#[test]
fn a_daemon_that_only_takes_connections_is_hung() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for play in [
        Play::Never,
        Play::Trickle(
            b"HTTP/1.1 200 OK\r\nX: ".to_vec(),
            b'x',
            Duration::from_millis(50),
        ),
        Play::Trickle(chunked, b'0', Duration::from_millis(50)),
    ] {
        let played = Played::start({
            let play = play.clone();
            move |_| play.clone()
        });
        let (told, report) = ask(&played.endpoint());
        assert_eq!(
            (told.code, findings(&report)),
            (1, vec!["hung-runtime"]),
            "{play:?}"
        );
        assert_eq!(report["runtime"]["probes"]["list"]["outcome"], "timed_out");
    }
    let full = FullQueue::start();
    let (told, report) = ask(&full.endpoint());
    assert_eq!(
        (told.code, findings(&report)),
        (1, vec!["hung-runtime"]),
        "{told:?}"
    );
}

#[test]
fn a_daemon_that_closes_without_a_word_is_down() {
    let played = Played::start(|_| Play::Raw(Vec::new()));
    let (told, report) = ask(&played.endpoint());
    assert_eq!((told.code, findings(&report)), (1, vec!["runtime-down"]));
    let error = &report["runtime"]["probes"]["ping"]["error"];
    assert_eq!(error, "it closed the connection without an answer");
}

#[test]
fn a_daemon_that_answers_nonsense_is_a_gap_and_no_health() {
    for (play, words) in [
        (
            Play::Raw(b"SSH-2.0-OpenSSH_8.4\r\n\r\n".to_vec()),
            "not HTTP",
        ),
        (
            Play::Http(500, r#"{"message":"out of\nspace"}"#.to_owned()),
            "HTTP 500",
        ),
        (
            Play::Http(503, "no backend".to_owned()),
            "HTTP 503: no backend",
        ),
    ] {
        let played = Played::start({
            let play = play.clone();
            move |_| play.clone()
        });
        let (told, report) = ask(&played.endpoint());
        assert_eq!(
            (told.code, &report["verdict"]),
            (2, &"unknown".into()),
            "{told:?}"
        );
        let gaps = report["gaps"].to_string();
        assert!(gaps.contains(words), "{play:?}: {gaps}");
    }
}

#[test]
fn a_daemons_words_cannot_command_a_terminal() {
    let words = "\u{1b}]0;mine\u{7}\u{1b}[2J\n\r\u{9b}31m\u{202e}";
    let body = serde_json::json!({ "message": format!("no space {words}left") }).to_string();
    let played = Played::start(move |_| Play::Http(500, body.clone()));
    let endpoint = played.endpoint();
    let shown = run(&[
        "diagnose",
        "--no-log",
        "--no-host",
        "--docker-host",
        &endpoint,
    ]);
    assert_eq!((shown.code, shown.err.as_str()), (2, ""), "{shown:?}");
    assert!(shown.out.contains("\\u{1b}]0;mine"), "{shown:?}");
    let raw: Vec<char> = shown
        .out
        .chars()
        .filter(|c| *c != '\n' && (c.is_control() || words.contains(*c) && !c.is_ascii()))
        .collect();
    assert!(raw.is_empty(), "{raw:?}: {shown:?}");

    let refused = run(&["clean", "--dead", "--yes", "--docker-host", &endpoint]);
    refused.refused(&["HTTP 500: no space \\u{1b}]0;mine", "\\u{202e}left"]);
    assert!(
        !refused.err.trim_end().contains(char::is_control),
        "{refused:?}"
    );
}

#[test]
fn a_list_that_breaks_off_leaves_a_gap() {
    let played = Played::start(|asked| match asked {
        "GET /containers/json?all=1" => {
            Play::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n[{\"Id\":\"".to_vec())
        }
        _ => Play::ok("{}"),
    });
    let (told, report) = ask(&played.endpoint());
    assert_eq!(
        (told.code, &report["verdict"]),
        (2, &"unknown".into()),
        "{told:?}"
    );
    assert!(report["gaps"].to_string().contains("broke off"), "{told:?}");
}

#[test]
fn of_many_silent_containers_only_a_few_are_asked() {
    let list: Vec<_> = (0..200)
        .map(|number| format!(r#"{{"Id":"{number:064x}","Names":["/c{number}"],"Created":1796009000,"State":"created","Status":"Created","Labels":{{}}}}"#))
        .collect();
    let list = format!("[{}]", list.join(","));
    let played = Played::start(move |asked| match asked {
        "GET /containers/json?all=1" => Play::ok(list.clone()),
        _ if asked.starts_with("GET /containers/") => Play::Never,
        _ => Play::ok("{}"),
    });
    let (told, report) = ask(&played.endpoint());
    assert_eq!(told.code, 1, "{told:?}");
    let inspects = played
        .requests()
        .iter()
        .filter(|asked| asked.ends_with("/json"))
        .count();
    assert_eq!(inspects, 16);
    let gaps = report["gaps"].to_string();
    assert!(gaps.contains("the state of 184 containers"), "{gaps}");
}
