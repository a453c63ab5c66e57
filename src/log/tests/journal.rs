//! journalctl, played by scripts: one that filters like the real one, and others that misbehave.

use super::{directory, events_in, gaps, outcome_in, script};
use crate::log::{ingest, journal::JournalRequest, systemd_units};
use chrono::DateTime;
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Plays the journalctl of systemd 219 for the files `<unit>.journal` beside it, whose lines begin with seconds since
/// the epoch, which it filters by and does not show; notes each call in `calls`. What 219 lacks is an error.
const PLAYED: &str = r#"#!/bin/sh
here=${0%/*}
echo "TZ=$TZ LC_ALL=$LC_ALL $*" >>"$here/calls"
since=0 until=9999999999 lines= output=short
seconds() {
    case $1 in
    [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]\ [0-9][0-9]:[0-9][0-9]:[0-9][0-9]) date -u -d "$1" +%s ;;
    *) echo "Failed to parse timestamp: $1" >&2; exit 1 ;;
    esac
}
for arg; do
    case $arg in
    --unit=*) unit=${arg#*=} ;;
    --directory=*|--file=*) here=${arg#*=} ;;
    MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e) unit=systemd-journald ;;
    --system) ;;
    --since=*) since=$(seconds "${arg#*=}") || exit ;;
    --until=*) until=$(seconds "${arg#*=}") || exit ;;
    --lines=*) lines=${arg#*=} ;;
    --output=*) output=${arg#*=} ;;
    --no-pager|--all) ;;
    *) echo "unrecognized option '$arg'" >&2; exit 1 ;;
    esac
done
case $output in
short-iso) ;;
short|short-precise|short-monotonic|verbose|export|json|json-pretty|json-sse|cat)
    echo "$output is not played" >&2; exit 1 ;;
*) echo "Unknown output '$output'." >&2; exit 1 ;;
esac
[ "$TZ" = UTC ] || { echo "only UTC is played" >&2; exit 1; }
if [ -f "$here" ]; then files=$here; elif [ "$unit" ]; then files=$here/$unit.journal; else files=$here/*.journal; fi
echo "-- Logs begin at Sun 2026-11-01 00:00:00 UTC, end at Mon 2026-11-30 12:00:00 UTC. --"
[ "$(cat $files 2>/dev/null)" ] || { echo "-- No entries --"; exit 0; }
sort -ns $files | awk -v since="$since" -v until="$until" '$1 + 0 >= since && $1 + 0 <= until' |
    if [ "$lines" ]; then tail -n "$lines"; else cat; fi | sed 's/^[0-9.]* //'
"#;

/// Returns a line of a unit's journal, `ago` seconds before 12:00 on the 30th.
fn entry(ident: &str, ago: i64) -> String {
    entry_of(ident, ago, 250_000)
}

/// Returns a line of a unit's journal, received `micros` after `ago` seconds before 12:00 on the 30th.
fn entry_of(ident: &str, ago: i64, micros: u32) -> String {
    let epoch = 1_796_040_000 - ago;
    let at = DateTime::from_timestamp(epoch, 0).unwrap();
    let (stamp, shown) = (at.format("%m%d %H:%M:%S"), at.format("%Y-%m-%dT%H:%M:%S"));
    format!(
        "{epoch}.{micros:06} {shown}+0000 worker-3 {ident}[2261]: E{stamp}.000000    2261 kubelet.go:1846] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s\n"
    )
}

fn entries(ident: &str, ago: &[i64]) -> String {
    ago.iter().map(|ago| entry(ident, *ago)).collect()
}

fn machine(files: &[(&str, String)], journalctl: &str) -> (tempfile::TempDir, PathBuf) {
    let (dir, root) = directory(files);
    script(&root.join("journalctl"), journalctl);
    (dir, root)
}

fn calls(root: &Path) -> Vec<String> {
    fs::read_to_string(root.join("calls"))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_journal_is_read_in_order_and_each_entry_once() {
    // Around both moments at which it is read in parts, and within their seconds: 15 minutes and 3 hours ago.
    let ago = [90_000, 86_000, 10_801, 10_800, 901, 900, 899, 5];
    let (_dir, root) = machine(&[("kubelet.journal", entries("kubelet", &ago))], PLAYED);
    let (reading, lines) = outcome_in(&root, &["--journal"]).unwrap();
    assert_eq!(
        lines,
        [
            "journal of kubelet.service:- 29 11:00",
            "journal of kubelet.service:- 29 12:06",
            "journal of kubelet.service:- 30 08:59",
            "journal of kubelet.service:- 30 09:00",
            "journal of kubelet.service:- 30 11:44",
            "journal of kubelet.service:- 30 11:45",
            "journal of kubelet.service:- 30 11:59",
        ]
    );
    let [source] = &reading.sources[..] else {
        panic!("{:?}", reading.sources)
    };
    assert_eq!(
        (source.lines, source.of_kubelet, source.picked),
        (8, true, false)
    );
    assert!(reading.hosts.contains("worker-3"));
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
}

#[test]
fn entries_within_the_second_at_which_a_part_ends_are_read_once() {
    let micros = [1, 500_000, 999_999];
    let text = [10_801, 10_800, 901, 900]
        .iter()
        .flat_map(|ago| micros.map(|micros| entry_of("kubelet", *ago, micros)))
        .collect();
    let (_dir, root) = machine(&[("kubelet.journal", text)], PLAYED);
    let reading = outcome_in(&root, &["--journal"]).unwrap().0;
    assert_eq!(reading.sources[0].lines, 12);
}

#[test]
fn an_entry_of_several_lines_is_one_message_at_its_own_microsecond() {
    // systemd indents what follows to the column of the message.
    let first = "1796040000.250000 2026-11-30T12:00:00+0000 worker-3 kubelet[2261]: ";
    let indent = format!(
        "1796040000.250000 {}",
        " ".repeat(first.len() - "1796040000.250000 ".len())
    );
    let text = format!(
        "{first}E1130 11:59:59.750125    2261 remote_runtime.go:710] \"ExecSync cmd from runtime service failed\" err=<\n{indent}\trpc error: code = Unknown desc = failed to exec in container:\n{indent}\tcontext deadline exceeded\n{indent} > containerID=\"4f5c2d21b2aa6b0b4f5c2d21b2aa6b0b4f5c2d21b2aa6b0b4f5c2d21b2aa6b0b\"\n"
    );
    let (_dir, root) = machine(&[("kubelet.journal", text)], PLAYED);
    let events = events_in(&root, &["--journal"]);
    let [event] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(
        event.at.unwrap().to_rfc3339(),
        "2026-11-30T11:59:59.750125+00:00"
    );
    assert!(
        event
            .container
            .as_ref()
            .is_some_and(|id| id.as_str().starts_with("4f5c2d21b2aa"))
            && event
                .citation
                .text
                .contains("\tcontext deadline exceeded\n >"),
        "{event:?}"
    );
}

#[test]
fn journalctl_is_asked_as_systemd_219_understands_it() {
    let (_dir, root) = machine(&[("kubelet.journal", entry("kubelet", 1900))], PLAYED);
    outcome_in(
        &root,
        &[
            "--journal",
            "--since",
            "2026-11-30T20:00:00.5+09:00",
            "--until",
            "2026-11-30T11:30:00.25Z",
        ],
    )
    .unwrap();
    let before = "TZ=UTC LC_ALL=C --no-pager --all --output=short-iso --unit=kubelet";
    assert_eq!(
        calls(&root),
        [
            format!("{before} --lines=1"),
            format!("{before} --since=2026-11-30 11:15:00 --until=2026-11-30 11:30:01"),
            format!("{before} --since=2026-11-30 11:00:00 --until=2026-11-30 11:15:00"),
            "TZ=UTC LC_ALL=C --no-pager --all --output=short-iso MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e --since=2026-11-30 11:00:00 --until=2026-11-30 11:30:01".to_owned(),
            "TZ=UTC LC_ALL=C --no-pager --all --output=short-iso --system".to_owned(),
        ]
    );
}

#[test]
fn of_the_known_units_the_one_that_runs_a_kubelet_is_read() {
    let (_dir, root) = machine(
        &[
            // systemd's own lines about a unit are in its journal, too.
            (
                "kubelet.journal",
                "1796040000.000000 2026-11-30T12:00:00+0000 worker-3 systemd[1]: Started kubelet.service - kubelet: The Kubernetes Node Agent.\n".to_owned(),
            ),
            ("k3s-agent.journal", entry("k3s", 5)),
            ("rke2-server.journal", entry("rke2", 5)),
        ],
        PLAYED,
    );
    let (reading, lines) = outcome_in(&root, &["--journal"]).unwrap();
    assert_eq!(lines, ["journal of k3s-agent.service:- 30 11:59"]);
    assert_eq!(
        gaps(&reading),
        ["journal of kubelet.service: it has no line of the kubelet"]
    );
    assert!(!calls(&root).iter().any(|call| call.contains("rke2")));
}

#[test]
fn a_named_unit_is_the_only_one_asked() {
    let (_dir, root) = machine(
        &[
            ("kubelet.journal", entry("kubelet", 5)),
            ("--odd.journal", entry("kubelet", 5)),
        ],
        PLAYED,
    );
    assert_eq!(
        outcome_in(&root, &["--journal=--odd"]).unwrap().1,
        ["journal of --odd.service:- 30 11:59"]
    );
    let words = format!(
        "{:#}",
        outcome_in(&root, &["--journal=docker"]).unwrap_err()
    );
    assert!(
        words.starts_with("can't read journal of docker.service: it has no entries: systemctl"),
        "{words}"
    );
    assert!(
        calls(&root)
            .iter()
            .all(|call| !call.contains("--unit=kubelet"))
    );
}

#[test]
fn no_unit_with_entries_is_an_error_that_names_them() {
    let (_dir, root) = machine(&[], PLAYED);
    let words = format!("{:#}", outcome_in(&root, &["--journal"]).unwrap_err());
    assert!(
        words.contains("kubelet, k3s, k3s-agent, rke2-server, rke2-agent")
            && words.contains("--journal=UNIT"),
        "{words}"
    );
}

#[test]
fn no_journalctl_is_an_error_that_names_the_cure() {
    let (_dir, root) = directory(&[]);
    let words = format!("{:#}", outcome_in(&root, &["--journal"]).unwrap_err());
    assert_eq!(
        words,
        "can't read journal of kubelet.service: there is no journalctl here: name the log with --log"
    );
}

#[test]
fn what_journalctl_complains_of_names_the_cure() {
    for (script, cure) in [
        (
            "echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1",
            "run plegdoctor as root",
        ),
        (
            "echo 'Hint: You are currently not seeing messages from other users and the system.\n      Users in groups adm can see all messages.' >&2",
            "run plegdoctor as root",
        ),
        (
            "echo 'No journal files were found.' >&2; echo '-- No entries --'",
            "on the node itself",
        ),
        (
            "echo 'Failed to open root: Input/output error' >&2; exit 1",
            "journalctl says: Failed to open root",
        ),
        ("exit 3", "exit status: 3"),
        ("kill -9 $$", "signal: 9"),
    ] {
        let (_dir, root) = machine(&[], &format!("#!/bin/sh\n{script}\n"));
        let words = format!(
            "{:#}",
            outcome_in(&root, &["--journal=kubelet"]).unwrap_err()
        );
        assert!(
            words.contains(cure) && !words.contains('\n'),
            "{script}: {words}"
        );
    }
}

#[test]
fn a_complaint_besides_entries_is_a_gap() {
    let (_dir, root) = machine(
        &[("kubelet.journal", entry("kubelet", 5))],
        &PLAYED.replace(
            "here=",
            "echo 'Journal file x is truncated, ignoring file.' >&2; here=",
        ),
    );
    let (reading, lines) = outcome_in(&root, &["--journal"]).unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!(
        gaps(&reading),
        [
            "journal of kubelet.service: journalctl says: Journal file x is truncated, ignoring file."
        ]
    );
}

#[test]
fn damage_that_journalctl_tells_only_who_debugs_it_is_a_gap_and_what_else_it_tells_those_is_none() {
    let says = |words: &str| {
        let says = format!(
            "[ \"$SYSTEMD_LOG_LEVEL $SYSTEMD_LOG_TARGET\" = 'debug console-prefixed' ] && echo '{words}' >&2; here="
        );
        let (_dir, root) = machine(
            &[("kubelet.journal", entry("kubelet", 5))],
            &PLAYED.replace("here=", &says),
        );
        let (reading, lines) = outcome_in(&root, &["--journal"]).unwrap();
        assert_eq!(lines.len(), 1);
        gaps(&reading)
    };
    let known = says("<31>Journal filter: _SYSTEMD_UNIT=kubelet.service");
    assert!(known.is_empty(), "{known:?}");
    let error = says("<27>Failed to open x: Bad message");
    assert_eq!(
        error,
        ["journal of kubelet.service: journalctl says: Failed to open x: Bad message"]
    );
    let damage = says("<31>Can'\\''t iterate through x, ignoring: Bad message");
    assert_eq!(
        damage,
        [
            "journal of kubelet.service: journald's files are damaged, and entries may be missing (journalctl: Can't iterate through x, ignoring: Bad message): journalctl --verify shows which"
        ]
    );
}

#[test]
fn a_flood_of_complaints_stops_nothing() {
    let (_dir, root) = machine(
        &[("kubelet.journal", entry("kubelet", 5))],
        &PLAYED.replace("here=", "head -c 1000000 /dev/zero | tr '\\0' x >&2; here="),
    );
    assert_eq!(outcome_in(&root, &["--journal"]).unwrap().1.len(), 1);
}

#[test]
fn garbage_is_read_and_holds_no_line_of_the_kubelet() {
    let (_dir, root) = machine(
        &[],
        "#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' '\\377' | fold -b -w 1000\n",
    );
    let (reading, lines) = outcome_in(&root, &["--journal=kubelet"]).unwrap();
    assert!(lines.is_empty());
    assert_eq!(
        gaps(&reading),
        ["journal of kubelet.service: it has no line of the kubelet"]
    );
}

/// Reads the kubelet's journal for half a second. Returns the gaps, the last of them the error, if any.
fn impatient(root: &Path) -> Vec<String> {
    let moments = super::moments();
    let mut ignore = |_| {};
    let mut ingest = ingest::Ingest::new(&moments, &mut ignore);
    let timeout = Duration::from_millis(500);
    let journalctl = root.join("journalctl");
    let journal = JournalRequest {
        program: OsStr::new(&journalctl),
        from: &[],
        unit: Some("kubelet"),
        is_picked: true,
        now: moments.now,
        since: None,
        asked: None,
        until: None,
        max_bytes: u64::MAX,
        timeout,
        first_deadline: Instant::now() + timeout,
        deadline: Instant::now() + timeout,
    };
    let started = Instant::now();
    let failed = systemd_units::read(&journal, &mut ingest).err();
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
    let mut gaps = gaps(&ingest.reading);
    gaps.extend(failed.map(|(name, error)| format!("{name}: {error:#}")));
    gaps
}

/// Waits until none of the processes whose ids stand in `pids` runs any more.
fn assert_dead(pids: &Path) {
    let pids = fs::read_to_string(pids).unwrap();
    assert!(!pids.trim().is_empty());
    let runs = |pid: &str| {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    };
    let until = Instant::now() + Duration::from_secs(5);
    while pids.split_whitespace().any(runs) {
        assert!(Instant::now() < until, "still running: {pids}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_journalctl_that_never_answers_is_killed_with_its_children_though_it_ignores_sigterm() {
    let (_dir, root) = machine(
        &[],
        "#!/bin/sh\ntrap '' TERM INT HUP\nsleep 1000 &\necho $$ $! >\"${0%/*}/pids\"\nwait\nsleep 1000\n",
    );
    assert_eq!(
        impatient(&root),
        [
            "journal of kubelet.service: journalctl did not answer in time: name the log's file with --log"
        ]
    );
    assert_dead(&root.join("pids"));
}

#[test]
fn a_journalctl_that_stops_answering_midway_leaves_what_it_gave_and_a_gap() {
    let line = entry("kubelet", 5);
    let (_dir, root) = machine(
        &[("line", line)],
        "#!/bin/sh\ncat \"${0%/*}/line\"\ncase $* in *--lines=1*) exit ;; esac\necho $$ >\"${0%/*}/pids\"\nexec sleep 1000\n",
    );
    let gaps = impatient(&root);
    assert!(
        gaps.len() == 1 && gaps[0].contains("time ran out (500ms)"),
        "{gaps:?}"
    );
    assert_dead(&root.join("pids"));
}

#[test]
fn where_journalctl_fails_for_one_part_what_it_gave_of_all_of_them_counts() {
    let ago = [30_000, 20_000, 10_000, 5_000, 600, 5];
    for part in [
        "--until=2026-11-30 09:00:00",
        "--until=2026-11-30 11:45:00",
        "--since=2026-11-30 11:45:00",
    ] {
        let fails = format!(
            "#!/bin/sh\ncase \"$*\" in *\"{part}\"*) trap 'echo Failed to iterate: Bad message >&2; exit 1' EXIT ;; esac\n"
        );
        let played = PLAYED.replacen("#!/bin/sh\n", &fails, 1);
        let (_dir, root) = machine(&[("kubelet.journal", entries("kubelet", &ago))], &played);
        let (reading, lines) = outcome_in(&root, &["--journal"]).unwrap();
        assert_eq!(lines.len(), ago.len(), "{part}: {lines:?}");
        assert_eq!(
            gaps(&reading),
            ["journal of kubelet.service: journalctl says: Failed to iterate: Bad message"],
            "{part}"
        );
    }
}

#[test]
fn a_journalctl_that_never_stops_is_cut_off() {
    let (_dir, root) = machine(
        &[("line", entry("kubelet", 5))],
        "#!/bin/sh\ncase $* in *--lines=1*) exec cat \"${0%/*}/line\" ;; esac\necho $$ >\"${0%/*}/pids\"\nexec yes \"$(cat \"${0%/*}/line\")\"\n",
    );
    let gaps = impatient(&root);
    assert!(
        gaps.len() == 1 && gaps[0].contains("it was read in part or not at all"),
        "{gaps:?}"
    );
    assert_dead(&root.join("pids"));
}

#[test]
fn a_journalctl_that_closes_its_output_and_stays_is_not_waited_for() {
    let (_dir, root) = machine(
        &[("line", entry("kubelet", 5))],
        "#!/bin/sh\ncat \"${0%/*}/line\"\necho $$ >\"${0%/*}/pids\"\nexec >&- 2>&-\nexec sleep 1000\n",
    );
    impatient(&root);
    assert_dead(&root.join("pids"));
}

#[test]
fn a_journal_that_begins_after_the_time_asked_for_is_a_gap_and_a_note_where_nobody_asked() {
    let (_dir, root) = machine(
        &[
            ("kubelet.journal", entries("kubelet", &[3000, 5])),
            ("cron.journal", entry("cron", 3600)),
        ],
        PLAYED,
    );
    let gone = "the journal begins at 2026-11-30 11:00:00 +00:00: earlier entries are gone (rotated away, or not kept over a restart)";
    let asked = |since: &[&str]| outcome_in(&root, since).unwrap().0;
    let reading = asked(&["--journal", "--since", "2h"]);
    assert_eq!(
        gaps(&reading),
        [format!("journal of kubelet.service: {gone}")]
    );
    assert_eq!(gaps(&asked(&["--journal", "--since", "61m"])), [""; 0]);
    assert_eq!(gaps(&asked(&["--journal", "--since", "50m"])), [""; 0]);
    assert_eq!(gaps(&asked(&["--journal"])), [""; 0]);
    let picked = asked(&[]);
    assert_eq!(gaps(&picked), [""; 0]);
    assert_eq!(
        picked.notes,
        [format!("journal of kubelet.service: {gone}")]
    );
}

#[test]
fn messages_that_journald_dropped_are_a_gap_though_they_are_not_among_the_units_own() {
    let drop = |ago: i64, unit: &str| {
        let line = entry("systemd-journald", ago);
        let (head, _) = line.split_once(": ").unwrap();
        format!("{head}: Suppressed 124 messages from {unit}\n")
    };
    let own = "/system.slice/kubelet.service";
    let drops = drop(9000, own) + &drop(30, own) + &drop(20, "docker.service") + &drop(10, own);
    let files = [
        ("kubelet.journal", entries("kubelet", &[3000, 5])),
        ("systemd-journald.journal", drops),
    ];
    let (_dir, root) = machine(&files, PLAYED);
    let (reading, _) = outcome_in(&root, &["--journal", "--since", "2h"]).unwrap();
    assert_eq!(
        gaps(&reading),
        [
            "journal of kubelet.service: journald dropped 248 of its messages in 2 bursts (RateLimitBurst=)"
        ]
    );
    // Newer ones are the unit's own, too, and told once.
    let unit = entries("kubelet", &[3000, 5]) + &drop(4, "kubelet.service");
    let (_dir, root) = machine(&[("kubelet.journal", unit), files[1].clone()], PLAYED);
    let (reading, _) = outcome_in(&root, &["--journal"]).unwrap();
    assert_eq!(
        gaps(&reading),
        ["journal of kubelet.service: Suppressed 124 messages from kubelet.service"]
    );
}

#[test]
fn journals_of_another_machine_are_read_from_where_they_were_copied_to() {
    let (_dir, root) = machine(
        &[
            ("kubelet.journal", entry("kubelet", 100)),
            (
                "copy/k3s.journal",
                entry("k3s", 5).replace("worker-3", "worker-9"),
            ),
        ],
        PLAYED,
    );
    let copy = root.join("copy");
    let (reading, lines) = outcome_in(&root, &["--journal-from", copy.to_str().unwrap()]).unwrap();
    let name = format!("journal of k3s.service in {}", copy.display());
    assert_eq!(reading.sources[0].name, name);
    assert_eq!(lines.len(), 1);
    assert!(reading.hosts.contains("worker-9") && reading.hosts.len() == 1);
    let file = copy.join("k3s.journal");
    let options = ["--journal=k3s", "--journal-from", file.to_str().unwrap()];
    assert_eq!(outcome_in(&root, &options).unwrap().1.len(), 1);
    let calls = calls(&root);
    assert!(
        calls
            .iter()
            .any(|call| call.contains(&format!("--directory={}", copy.display())))
    );
    assert!(
        calls
            .iter()
            .any(|call| call.contains(&format!("--file={}", file.display())))
    );
}

#[test]
fn several_folders_and_files_of_journals_are_read_together() {
    let (_dir, root) = machine(
        &[
            ("line", entry("kubelet", 5)),
            ("a/x.journal", String::new()),
            ("a/machine/y.journal~", String::new()),
            ("a/machine/z.txt", String::new()),
            ("b/z.journal", String::new()),
            ("c", String::new()),
            ("d/messages", String::new()),
        ],
        "#!/bin/sh\necho \"$@\" >>\"${0%/*}/calls\"\ncat \"${0%/*}/line\"\n",
    );
    let from = |path: &str| format!("--journal-from={}", root.join(path).display());
    let options = ["a", "b", "c", "d", "gone"].map(from);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let (reading, _) = outcome_in(&root, &options).unwrap();
    let of = |path: &str| format!("--file={}", root.join(path).display());
    let files = ["a/machine/y.journal~", "a/x.journal", "b/z.journal", "c"].map(of);
    let asked = calls(&root);
    for call in &asked {
        assert!(call.contains(&files.join(" ")), "{call}");
        assert!(!call.contains("--directory="), "{call}");
    }
    let told = gaps(&reading);
    assert_eq!(told[0], "d: journald has no files in it");
    assert!(
        told.len() == 2 && told[1].starts_with("gone: No such file"),
        "{told:?}"
    );
    // This machine's own are not read for want of others.
    outcome_in(&root, &options[3..]).unwrap_err();
    assert_eq!(calls(&root), asked);
}
