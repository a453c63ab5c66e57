//! Where the output goes: files, pipes that close, full disks, terminals.

use super::{files, log_of, noon, stale, text};
use crate::{
    json,
    support::{
        judge::{arguments, meets, printed, report, unpacked},
        program::{fed, plegdoctor, run, told},
    },
};
use plegdoctor::render::Format;
use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    process::Command,
};

/// Every case that needs nobody who answers, through the real program, within its folder.
#[test]
fn cases_print_the_same_bytes_through_the_program_as_within_this_process() {
    let mut seen = 0;
    for case in unpacked() {
        let args = arguments(&case);
        let recorded = case.has("kubelet");
        let alone = ["--no-docker", "--capture"];
        if recorded || !args.iter().any(|arg| alone.contains(&arg.as_str())) {
            continue;
        }
        seen += 1;
        let here = format!("{}/", case.folder.display());
        let args: Vec<_> = ["diagnose".to_owned()]
            .into_iter()
            .chain(args.iter().map(|arg| arg.replace(&here, "")))
            .collect();
        let within = report(&case);
        let run = |format: &[&str]| told(plegdoctor(&args).args(format).current_dir(&case.folder));
        let text = run(&[]);
        let expected = (printed(&within, Format::Text), String::new());
        assert_eq!((text.out, text.err), expected);
        let told = run(&["--format", "json"]);
        assert_eq!(told.out, printed(&within, Format::Json));
        assert_eq!(told.code, text.code, "{}", case.name);
        let report = told.report();
        json::strictly(&report);
        let mut expect = case.text("expect").lines();
        let exit = expect.find(|line| line.starts_with("exit ")).unwrap();
        let code = u8::try_from(told.code).unwrap();
        assert_eq!(meets(exit, code, &report), Ok(()), "{}", case.name);
    }
    assert!(seen >= 15, "{seen}");
}

#[test]
fn a_pipe_that_nobody_reads_is_a_quiet_success() {
    let log = log_of("sandbox-stop-hangs");
    for args in [
        noon(&["--log", text(&log)]),
        noon(&["--log", text(&log), "--format", "json"]),
        vec!["schema", "report"],
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let told = told(plegdoctor(&args).stdout(writer));
        assert_eq!((told.code, told.err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let log = log_of("sandbox-stop-hangs");
    let args = noon(&["--log", text(&log)]);
    let mut child = plegdoctor(&args).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with("NOT READY"), "{line}");
    drop(out);
    let output = child.wait_with_output().unwrap();
    // Whether the rest was written before the pipe was closed, nobody knows.
    assert!(
        [Some(0), Some(1)].contains(&output.status.code()),
        "{output:?}"
    );
    assert_eq!(output.stderr, b"");
}

#[test]
fn a_full_disk_is_one_line_on_standard_error() {
    let log = log_of("sandbox-stop-hangs");
    for args in [
        noon(&["--log", text(&log)]),
        noon(&["--log", text(&log), "--format", "json"]),
        vec!["schema", "report"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        told(plegdoctor(&args).stdout(full))
            .refused(&["can't write the ", "No space left on device"]);
    }
}

#[test]
fn colour_is_for_terminals_and_for_whom_wants_it_always() {
    let log = log_of("sandbox-stop-hangs");
    let colored = |more: &[&str], no_color: &str| {
        let args = noon(&[&["--log", text(&log)], more].concat());
        let told = told(
            plegdoctor(&args)
                .env("NO_COLOR", no_color)
                .env("TERM", "xterm"),
        );
        assert_eq!(told.code, 1);
        told.out.contains('\x1b')
    };
    assert!(!colored(&[], ""));
    assert!(!colored(&["--color", "auto"], ""));
    assert!(!colored(&["--color", "never"], ""));
    assert!(colored(&["--color", "always"], ""));
    assert!(
        colored(&["--color", "always"], "1"),
        "an option is nearer than the environment"
    );
    assert!(!colored(&["--format", "json", "--color", "always"], ""));

    let on_terminal = |more: &str, no_color: &str| {
        let program = env!("CARGO_BIN_EXE_plegdoctor");
        let line = format!(
            "{program} {} --log {} {more}",
            noon(&[]).join(" "),
            log.display()
        );
        let output = Command::new("script")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("TERM", "xterm")
            .env("NO_COLOR", no_color)
            .args(["-qec", &line, "/dev/null"])
            .output()
            .unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains("NOT READY"), "{shown}");
        shown.contains('\x1b')
    };
    assert!(on_terminal("", ""));
    assert!(!on_terminal("", "1"));
    assert!(!on_terminal("--color never", ""));
}

#[test]
fn what_commands_a_terminal_is_shown_and_not_sent() {
    const HOSTILE: [char; 9] = [
        '\x1b', '\x07', '\x08', '\0', '\x7f', '\u{9b}', '\u{202e}', '\u{200b}', '\u{2028}',
    ];
    let evil: String = HOSTILE.into_iter().collect();
    let id = "b15929dfcea1".repeat(6)[..64].to_owned();
    let log = [
        format!("I1130 11:50:00.000000    2261 kubelet_node_status.go:531] Recording NodeReady event message for node {evil}[2J\n"),
        format!("E1130 11:59:40.000000    2261 remote_runtime.go:140] StopPodSandbox \"{id}\" from runtime service failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded {evil}[31mred\n"),
        format!("E1130 11:59:41.000000    2261 remote_runtime.go:332] ContainerStatus \"{id}\" from runtime service failed: rpc error: code = DeadlineExceeded desc = {evil}\n"),
        format!("E1130 11:59:41.100000    2261 kuberuntime_manager.go:980] getPodContainerStatuses for pod \"web{evil}2_default{evil}(9b0e4a32-7fe5-45b4-b69e-1c76355b4249)\" failed: rpc error: code = DeadlineExceeded desc = {evil}\n"),
        stale("11:59:50").replace("PLEG is not healthy", &format!("PLEG is not healthy{evil}")),
    ]
    .concat();
    let name = format!("kube{}let.log", '\x1b');
    let dir = files(&[(&name, log.as_bytes())]);
    let path = dir.path().join(&name);
    let args = noon(&["--log", text(&path)]);
    let told = run(&args);
    assert_eq!((told.code, told.err.as_str()), (1, ""));
    assert!(told.out.contains("hung-container"), "{}", told.out);
    let sent: Vec<_> = told
        .out
        .chars()
        .filter(|c| *c != '\n' && (c.is_control() || HOSTILE.contains(c)))
        .collect();
    assert!(sent.is_empty(), "{sent:?} in {}", told.out);
    assert!(told.out.contains("\\u{1b}"), "{}", told.out);

    // An error quotes what it is about.
    run(&noon(&["--log", "/nonexistent/\x1b[2J\n.log"]))
        .refused(&["/nonexistent/\\u{1b}[2J\\n.log"]);
}

#[test]
fn nothing_that_json_must_escape_breaks_it() {
    let log =
        stale("11:59:50").replace("PLEG is", "\"\\\x01\u{7f}PLEG is not healthy\"\\: PLEG is");
    let told = fed(&noon(&["--log", "-", "--format", "json"]), log.as_bytes());
    let text = &told.report()["findings"][0]["citations"][0]["text"];
    let text = text.as_str().unwrap();
    assert!(text.contains("\"\\\x01\u{7f}PLEG"), "{text}");
}
