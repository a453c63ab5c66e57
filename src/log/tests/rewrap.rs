//! Broken lines: told by their rows, and put together.

use super::*;
use std::{fmt::Write as _, sync::LazyLock};

static REAL: LazyLock<String> = LazyLock::new(|| log_of("sandbox-flaps"));
static FLOOD: LazyLock<String> = LazyLock::new(|| log_of("list-too-large"));

fn log_of(case: &str) -> String {
    crate::case::case(case).text("kubelet.log").to_owned()
}

/// Breaks lines as a terminal of that width does.
fn broken(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let letters: Vec<char> = line.chars().collect();
        for row in letters.chunks(width) {
            writeln!(out, "{}", row.iter().collect::<String>()).unwrap();
        }
        if letters.is_empty() {
            out.push('\n');
        }
    }
    out
}

fn width_of(text: &str) -> Option<usize> {
    sniff::wrap_width(&text.lines().map(str::as_bytes).collect::<Vec<_>>())
}

fn joined(text: &str, width: usize) -> String {
    let mut out = String::new();
    Rewrap::new(text.as_bytes(), width)
        .read_to_string(&mut out)
        .unwrap();
    out
}

fn words(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty()).collect()
}

fn journal(text: &str) -> String {
    let lines = text.lines().take(300);
    let lines = lines.map(|line| format!("Nov 30 05:36:26 worker-3 kubelet[19606]: {line}\n"));
    lines.collect()
}

#[test]
fn rows_of_real_logs_tell_the_terminals_width() {
    for text in [REAL.as_str(), &FLOOD, &journal(&REAL), &journal(&FLOOD)] {
        let text: String = text
            .lines()
            .take(400)
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(width_of(&text), None);
        for width in [60, 80, 100, 132] {
            assert_eq!(width_of(&broken(&text, width)), Some(width));
        }
    }
}

#[test]
fn lines_that_are_whole_are_no_rows() {
    let line = |number: u32, text: &str| {
        format!(
            "E1130 05:36:{:02}.000000    2261 a.go:1] {text}\n",
            number % 60
        )
    };
    // The widest line of the log has a second one, always the same.
    let same: String = (0..40)
        .map(|number| {
            line(
                number,
                "the call failed with what the plugin wrote to its output: error",
            ) + "while it was set up\n"
                + &line(number, "ok")
        })
        .collect();
    assert_eq!(width_of(&same), None);
    // Traces, PEM and tables behind lines of all widths.
    let mut traces = String::new();
    for number in 0..40_u32 {
        let text = "x".repeat(20 + usize::try_from(number).unwrap() * 7 % 90);
        traces += &line(number, &text);
        traces += "goroutine 1 [running]:\nmain.main()\n\t/go/src/a.go:12\n";
        traces += &format!("{}\n", "A".repeat(64)).repeat(3);
    }
    assert_eq!(width_of(&traces), None);
    assert_eq!(width_of(""), None);
    assert_eq!(width_of(&"\n".repeat(500)), None);
    assert_eq!(width_of(&format!("{}\n", "z".repeat(80)).repeat(50)), None);
}

#[test]
fn broken_lines_are_put_together_and_keep_their_numbers() {
    for width in [60, 80, 132] {
        let rows = broken(&REAL, width);
        let whole = joined(&rows, width);
        assert_eq!(whole.lines().count(), rows.lines().count());
        let begins = |text: &str| -> Vec<(usize, String)> {
            let heads = text.lines().enumerate();
            let heads = heads.filter(|(_, line)| line.get(1..6) == Some("1130 "));
            heads
                .map(|(at, line)| (at, line.chars().take(40).collect()))
                .collect()
        };
        assert!(begins(&whole) == begins(&rows), "{width}");
        let (real, whole) = (words(&REAL), words(&whole));
        let lost = real.iter().filter(|line| !whole.contains(*line)).count();
        assert!(lost * 50 <= real.len(), "{lost} of {}", real.len());
    }
}

#[test]
fn blanks_lost_at_a_rows_end_come_back_and_what_is_short_ends_its_line() {
    let head = "E1130 05:36:26.000000    2261 a.go:1] ";
    assert_eq!(head.len(), 38);
    // 40 columns: 'a' and a blank that was lost; then 2 letters.
    let text = format!("{head}a\nbc\n{head}ab\r\ncd\r\nend\n{head}a\n\n{head}a");
    assert_eq!(
        joined(&text, 40),
        format!("{head}a bc\n\n{head}abcd\n\nend\n{head}a\n\n{head}a")
    );
    let long = "x".repeat(200_000);
    assert_eq!(
        joined(&format!("{long}\nnext\n"), 40),
        format!("{long}\nnext\n")
    );
    let two = format!("{head}ab\nend");
    assert_eq!(joined(&two, 40), format!("{head}abend"));
    assert_eq!(joined("", 40), "");
}

#[test]
fn what_never_begins_anew_is_cut_and_trouble_is_told_after_what_came_before() {
    let endless = "y".repeat(80) + "\n";
    let rows = 3 * MAX_LINE / 80;
    let whole = joined(&endless.repeat(rows), 80);
    assert_eq!(
        whole.bytes().filter(|&byte| byte == b'y').count(),
        rows * 80
    );
    assert!(whole.lines().all(|line| line.len() <= MAX_LINE + 80));
    struct Broken(bool);
    impl Read for Broken {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(io::Error::other("gone"));
            }
            out[..4].copy_from_slice(b"a\nbc");
            Ok(4)
        }
    }
    let mut reader = Rewrap::new(Broken(false), 80);
    let mut text = Vec::new();
    let error = reader.read_to_end(&mut text).unwrap_err();
    assert_eq!(
        (text.as_slice(), error.to_string().as_str()),
        (&b"a\nbc"[..], "gone")
    );
}
