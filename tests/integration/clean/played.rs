//! What no real daemon does on demand: its answers are played.

use super::{clean, command, parts, read, text};
use crate::support::replay::{Play, Played};
use plegdoctor::{
    finding::{
        outcome::{Outcome, Status},
        plan::{Plan, Request},
    },
    remedy::apply::{self, Interrupts, RemoveOptions},
    runtime::docker::{Bounds, Docker},
};
use std::{
    fs::File,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

const UID: &str = "00000000-0000-4000-8000-000000000001";

/// Returns the id that is `digit` 64 times.
fn id(digit: char) -> String {
    digit.to_string().repeat(64)
}

/// Returns a list's entry for a container of no pod.
fn job(id: &str, state: &str) -> String {
    format!(
        r#"{{"Id":"{id}","Names":["/job-{}"],"State":"{state}"}}"#,
        &id[60..]
    )
}

/// Returns a list's entry for a sandbox of the pod jobs/batch-1.
fn sandbox(digit: char, state: &str) -> String {
    format!(
        r#"{{"Id":"{}","Names":["/k8s_POD_batch-1_jobs_{UID}_{digit}"],"State":"{state}",
            "Labels":{{"io.kubernetes.docker.type":"podsandbox"}}}}"#,
        id(digit)
    )
}

/// Returns a list's entry for a stopped container of that pod, in its sandbox `a`.
fn member(digit: char) -> String {
    format!(
        r#"{{"Id":"{}","Names":["/k8s_c{digit}_batch-1_jobs_{UID}_0"],"State":"exited",
            "Labels":{{"io.kubernetes.docker.type":"container","io.kubernetes.sandbox.id":"{}"}}}}"#,
        id(digit),
        id('a')
    )
}

fn list(entries: &[String]) -> Play {
    Play::ok(format!("[{}]", entries.join(",")))
}

/// Returns the answer to an inspect, whose line is `request`.
fn inspected(request: &str, state: &str) -> Play {
    let id = request.split('/').nth(2).unwrap_or_default();
    let running = state == "running";
    Play::ok(format!(
        r#"{{"Id":"{id}","Name":"/x","State":{{"Status":"{state}","Running":{running}}}}}"#
    ))
}

fn is_list(request: &str) -> bool {
    request.starts_with("GET /containers/json")
}

fn count(played: &Played, start: &str) -> usize {
    let requests = played.requests();
    requests.iter().filter(|it| it.starts_with(start)).count()
}

#[test]
fn a_dry_run_that_could_not_see_all_exits_1() {
    for (never, expected) in [(true, 1), (false, 0)] {
        let played = Played::start(move |request| match request {
            _ if is_list(request) => list(&[job(&id('a'), "dead")]),
            _ if never => Play::Never,
            _ => inspected(request, "dead"),
        });
        let request = ["--dead", "--dry-run", "--probe-timeout=500ms"];
        let (code, out, err) = text(&played.endpoint(), &request);
        assert_eq!((code, err.as_str()), (expected, ""), "{out}");
        let (code, cleaned) = clean(&played.endpoint(), &request);
        assert_eq!((code, cleaned.left_alone.len()), (expected, never.into()));
    }
}

#[test]
fn entries_of_the_list_without_an_id_are_told_in_every_form() {
    let played = Played::start(|_| Play::ok(r#"[{"Names":["/x"]}]"#));
    let note = "Docker's list: 1 of its entries have no id";
    for how in ["--yes", "--dry-run"] {
        let (code, out, _) = text(&played.endpoint(), &["--dead", how]);
        assert_eq!(code, 1, "{how}");
        assert_eq!(out, format!("Nothing to remove.\n{note}\n"), "{how}");
        let (code, cleaned) = clean(&played.endpoint(), &["--dead", how]);
        assert_eq!((code, &cleaned.notes[..]), (1, &[note.to_owned()][..]));
    }
}

#[test]
fn a_pod_whose_next_sandbox_starts_after_the_list_keeps_its_logs() {
    let lists = AtomicUsize::new(0);
    let played = Played::start(move |request| match request {
        _ if is_list(request) => {
            // The list is late: its sandbox has exited by then, as inspect says.
            let mut entries = vec![sandbox('a', "running"), member('b')];
            if lists.fetch_add(1, Ordering::Relaxed) > 0 {
                entries.push(sandbox('c', "running"));
            }
            list(&entries)
        }
        _ if request.contains(&id('c')) => inspected(request, "running"),
        _ => inspected(request, "exited"),
    });
    let (code, cleaned) = clean(&played.endpoint(), &["--exited", "--yes"]);
    assert_eq!((code, cleaned.removed), (1, 0));
    for digit in ['a', 'b'] {
        assert_eq!(cleaned.outcome(&id(digit)), Some("changed"));
        assert_eq!(cleaned.reason(&id(digit)), "its pod is running again");
    }
    assert_eq!(count(&played, "DELETE"), 0);
}

#[test]
fn a_pod_that_comes_back_during_a_long_removal_keeps_the_rest() {
    let removals = AtomicUsize::new(0);
    let played = Played::start(move |request| match request {
        _ if is_list(request) => {
            let mut entries = vec![sandbox('a', "exited"), member('b'), member('d')];
            if removals.load(Ordering::Relaxed) > 0 {
                entries.push(sandbox('c', "running"));
            }
            list(&entries)
        }
        _ if request.starts_with("DELETE") => {
            removals.fetch_add(1, Ordering::Relaxed);
            let gone = Play::Http(204, String::new());
            Play::After(Duration::from_secs(12), Box::new(gone))
        }
        _ if request.contains(&id('c')) => inspected(request, "running"),
        _ if request.contains(&id('b')) && removals.load(Ordering::Relaxed) > 0 => {
            Play::Http(404, "{}".to_owned())
        }
        _ => inspected(request, "exited"),
    });
    let (code, cleaned) = clean(&played.endpoint(), &["--exited", "--yes", "--jobs=1"]);
    assert_eq!((code, cleaned.removed), (1, 1));
    assert_eq!(cleaned.outcome(&id('b')), Some("removed"));
    for digit in ['a', 'd'] {
        assert_eq!(cleaned.reason(&id(digit)), "its pod is running again");
    }
    assert_eq!(count(&played, "DELETE"), 1);
}

#[test]
fn without_a_second_look_nothing_of_a_pod_is_removed() {
    let lists = AtomicUsize::new(0);
    let played = Played::start(move |request| match request {
        _ if is_list(request) && lists.fetch_add(1, Ordering::Relaxed) > 0 => {
            Play::Http(500, r#"{"message":"out of space"}"#.to_owned())
        }
        _ if is_list(request) => list(&[member('b')]),
        _ => inspected(request, "exited"),
    });
    let (code, cleaned) = clean(&played.endpoint(), &["--exited", "--yes"]);
    assert_eq!((code, cleaned.outcome(&id('b'))), (1, Some("planned")));
    assert!(cleaned.reason(&id('b')).contains("out of space"));
    assert_eq!(count(&played, "DELETE"), 0);
}

#[test]
fn a_container_whose_inspect_hung_is_not_inspected_again() {
    let played = Played::start(|request| match request {
        _ if is_list(request) => list(&[sandbox('a', "exited"), job(&id('c'), "exited")]),
        _ if request.starts_with("DELETE") => Play::Http(500, "{}".to_owned()),
        _ if request.contains(&id('c')) => Play::Never,
        _ => inspected(request, "exited"),
    });
    let request = ["--exited", "--yes", "--probe-timeout=1s"];
    let (code, cleaned) = clean(&played.endpoint(), &request);
    assert_eq!((code, cleaned.failed), (1, 1));
    assert_eq!(count(&played, "GET /containers/json"), 2);
    assert_eq!(count(&played, &format!("GET /containers/{}", id('c'))), 1);
}

#[test]
fn hung_inspects_are_bounded() {
    let ids = || (1..=40).map(|number| format!("{number:064x}"));
    let played = Played::start(move |request| match request {
        _ if is_list(request) => list(&ids().map(|it| job(&it, "dead")).collect::<Vec<_>>()),
        _ => Play::Never,
    });
    let mut before = 0;
    for (bound, expected) in [(None, 16), (Some("--max-unanswered=3"), 3)] {
        let mut request = vec!["--dead", "--yes", "--probe-timeout=500ms"];
        request.extend(bound);
        let (code, cleaned) = clean(&played.endpoint(), &request);
        assert_eq!((code, cleaned.left_alone.len()), (1, 40));
        let inspects = count(&played, "GET /containers/0");
        assert_eq!(inspects - before, expected);
        before = inspects;
    }
}

#[test]
fn what_docker_calls_removed_and_still_has_is_not_removed() {
    let played = Played::start(|request| match request {
        _ if is_list(request) => list(&[job(&id('a'), "dead")]),
        _ if request.starts_with("DELETE") => Play::Http(204, String::new()),
        _ => inspected(request, "dead"),
    });
    let (code, cleaned) = clean(&played.endpoint(), &["--dead", "--yes"]);
    assert_eq!((code, cleaned.outcome(&id('a'))), (1, Some("failed")));
    assert!(cleaned.reason(&id('a')).contains("still has it"));
}

#[test]
fn an_attempt_that_outlasts_all_patience_is_given_up() {
    let played = Played::start(|request| match request {
        _ if is_list(request) => list(&[job(&id('a'), "dead")]),
        _ if request.starts_with("DELETE") => Play::Never,
        _ => inspected(request, "dead"),
    });
    // Long deadlines stand for ones that fail.
    let long = Duration::from_secs(60);
    let docker = Docker::open(&played.endpoint(), long).unwrap();
    let mut containers = docker.list().containers;
    let bounds = Bounds {
        first: &[],
        max_unanswered: 1,
        budget: long,
    };
    docker.inspect_all(&mut containers, &bounds);
    let dead = Request {
        dead: true,
        ..Request::default()
    };
    let now = chrono::DateTime::UNIX_EPOCH.fixed_offset();
    let plan = Plan::new(&containers, &dead, now);
    let orders = RemoveOptions {
        docker,
        jobs: 1,
        timeout: long,
        patience: Duration::from_secs(1),
        audit: None,
    };
    let began = Instant::now();
    let look: apply::Replan = Box::new(|| Err("a dead container depends on no pod".to_owned()));
    let (outcomes, notes) = apply::remove(
        &plan,
        &orders,
        look,
        &Interrupts::default(),
        &mut |_, _| {},
        &|| {},
    );
    assert!(began.elapsed() < long / 2, "{:?}", began.elapsed());
    let why = "unanswered; it may still happen";
    assert_eq!(outcomes, [Outcome::because(Status::Unproven, why)]);
    assert_eq!(notes, [""; 0]);
}

/// Plays a daemon with one dead container, which can be removed.
fn one_dead() -> Played {
    let removals = AtomicUsize::new(0);
    Played::start(move |request| match request {
        _ if is_list(request) => list(&[job(&id('a'), "dead")]),
        _ if request.starts_with("DELETE") => {
            removals.fetch_add(1, Ordering::Relaxed);
            Play::Http(204, String::new())
        }
        _ if removals.load(Ordering::Relaxed) > 0 => Play::Http(404, "{}".to_owned()),
        _ => inspected(request, "dead"),
    })
}

#[test]
fn a_script_has_the_plan_on_standard_error_before_anything_is_removed() {
    let request = ["--dead", "--yes", "--format=json"];
    let played = one_dead();
    let mut child = command(&played.endpoint(), &request).spawn().unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    let (code, out, _) = parts(&output);
    assert_eq!((code, out.as_str(), count(&played, "DELETE")), (2, "", 0));

    let output = command(&played.endpoint(), &request).output().unwrap();
    let (_, _, err) = parts(&output);
    assert!(err.starts_with("To remove: 1 container\n"), "{err}");
    assert!(err.contains(&id('a')[..12]), "{err}");
    assert_eq!(read(&output).0, 0);
}

#[test]
fn a_result_that_cannot_be_written_exits_1_since_the_removal_is_done() {
    let played = one_dead();
    let output = command(&played.endpoint(), &["--dead", "--yes", "--format=json"])
        .stdout(File::options().write(true).open("/dev/full").unwrap())
        .output()
        .unwrap();
    let (code, _, err) = parts(&output);
    assert_eq!((code, count(&played, "DELETE")), (1, 1));
    let last = err.lines().last().unwrap();
    assert!(
        last.starts_with("plegdoctor: can't write the result: "),
        "{err}"
    );
}

#[test]
fn the_daemons_words_do_not_command_the_terminal() {
    let body = r#"{"message":"\u001b[2Jgone"}"#;
    let played = Played::start(|_| Play::Http(500, body.to_owned()));
    let (code, _, err) = text(&played.endpoint(), &["--dead", "--yes"]);
    assert_eq!(code, 2);
    assert!(err.contains("gone") && !err.contains('\u{1b}'), "{err:?}");
}
