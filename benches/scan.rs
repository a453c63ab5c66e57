//! How fast a log is read, against the tools people grep with, in one run on the same file.
//!
//! `cargo bench --bench scan [-- MEGABYTES]` makes two logs from the fixtures' real lines (mild: one line in 500 is
//! of interest; severe: every line is), and prints for each tool the median of five runs, its speed, and the ratio
//! to `wc -l`. Tools that are not installed are left out.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures, and stops at the first thing that is wrong"
)]

use std::{
    fs,
    io::{BufWriter, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const RUNS: usize = 5;
/// What people grep for.
const PHRASES: &str = "PLEG is not healthy\nUnable to retrieve pods\nDeadlineExceeded\nfrom runtime service failed\ncontainer runtime is down\nmessage larger than max\nbecame not ready\nNodeReady\n";

fn main() {
    // cargo passes --bench
    let megabytes = std::env::args()
        .filter_map(|word| word.parse().ok())
        .next()
        .unwrap_or(200);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scan");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("phrases"), PHRASES).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    let calm = fs::read_to_string(root.join("healthy-log/kubelet.log")).unwrap();
    let sick = fs::read_to_string(root.join("list-too-large/kubelet.log")).unwrap();
    let of_interest = |line: &&str| PHRASES.lines().any(|phrase| line.contains(phrase));
    let calm: Vec<&str> = calm.lines().filter(|line| !of_interest(line)).collect();
    let sick: Vec<&str> = sick.lines().filter(of_interest).collect();
    for (name, every) in [("mild", 500), ("severe", 1)] {
        let log = folder.join(name);
        make(&log, megabytes << 20, every, &calm, &sick);
        measure(name, &log, &folder.join("phrases"));
        fs::remove_file(log).unwrap();
    }
}

fn make(path: &Path, bytes: usize, every: usize, calm: &[&str], sick: &[&str]) {
    let mut out = BufWriter::new(fs::File::create(path).unwrap());
    let (mut written, mut number) = (0, 0);
    while written < bytes {
        let line = if number % every == 0 {
            sick[number / every % sick.len()]
        } else {
            calm[number % calm.len()]
        };
        writeln!(out, "{line}").unwrap();
        written += line.len() + 1;
        number += 1;
    }
    out.flush().unwrap();
}

fn measure(name: &str, log: &Path, phrases: &Path) {
    let plegdoctor = env!("CARGO_BIN_EXE_plegdoctor");
    let log_text = log.to_str().unwrap();
    let phrases = phrases.to_str().unwrap();
    let tools: [(&str, Vec<&str>); 4] = [
        ("wc -l", vec!["wc", "-l", log_text]),
        (
            "rg -c -F -f",
            vec!["rg", "-c", "-F", "-f", phrases, log_text],
        ),
        (
            "grep -c -F -f",
            vec!["grep", "-c", "-F", "-f", phrases, log_text],
        ),
        (
            "plegdoctor",
            vec![
                plegdoctor,
                "diagnose",
                "--no-docker",
                "--now",
                "2026-11-30T04:00:00Z",
                "--log",
                log_text,
            ],
        ),
    ];
    let bytes = fs::metadata(log).unwrap().len();
    println!("\n{name}, {} MB", bytes / 1_000_000);
    println!(
        "{:<16} {:>9} {:>10} {:>9}",
        "tool", "seconds", "MB/s", "x wc -l"
    );
    let mut base = None;
    for (tool, words) in tools {
        let Some(took) = median(&words) else {
            println!("{tool:<16} not installed");
            continue;
        };
        let seconds = took.as_secs_f64();
        let base = *base.get_or_insert(seconds);
        let speed = f64::from(u32::try_from(bytes / 1_000_000).unwrap()) / seconds;
        println!(
            "{tool:<16} {seconds:>9.3} {speed:>10.0} {:>9.1}",
            seconds / base
        );
    }
}

/// Returns the median time of a command; `None` where it is not installed.
fn median(words: &[&str]) -> Option<Duration> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        // To a pipe: grep ends at the first match when it writes to /dev/null.
        Command::new(words[0])
            .args(&words[1..])
            .stderr(Stdio::null())
            .output()
            .ok()?;
        times.push(started.elapsed());
    }
    times.sort();
    Some(times[RUNS / 2])
}
