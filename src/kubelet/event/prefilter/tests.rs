//! What the prefilter finds and lets pass, and how rare what it looks for is.

use super::*;
use crate::kubelet::{
    event::MESSAGES,
    parser::{Hints, Parser},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

fn find(block: &str, at: usize, wanted: Wanted) -> Option<(usize, Option<Hit>)> {
    Seek::new(block.as_bytes(), wanted).find(at)
}

/// Adds to a text what kubelets always log with it, and what the prefilter goes by: the reason of the condition
/// (kubernetes:pkg/kubelet/nodestatus/setters.go), the number of attempts (component-helpers/apimachinery/lease).
fn whole(text: &str) -> String {
    let more = match text {
        "Node became not ready" => " node=\"n\" condition={Type:Ready Reason:KubeletNotReady}",
        "Node became not ready: <cond>" => " {Type:Ready Status:False Reason:KubeletNotReady}",
        "Will retry updating lease" => " err=\"failed 5 attempts to update lease\"",
        _ => "",
    };
    format!("{text}{more}")
}

#[test]
fn every_text_of_the_table_passes_the_screen() {
    for message in MESSAGES {
        for text in message.old.iter().chain(message.new) {
            let line = format!("I1130 x] {}", whole(text));
            let bulk = prefilter(line.as_bytes()) == Some(Hit::Bulk);
            assert!(
                !bulk || message.weight == crate::kubelet::event::Weight::Context,
                "{text}"
            );
            assert!(
                bulk || prefilter(line.as_bytes()) == Some(Hit::Message),
                "{text}"
            );
            let wanted = if bulk { Wanted::All } else { Wanted::Messages };
            let block = format!("I1130 \n{line}\nI1130");
            let end = block.len() - 6;
            assert!(
                find(&block, 7, wanted).is_some_and(|(at, _)| at < end),
                "{text}"
            );
            let (at, hit) = find(&block, 7, Wanted::All).unwrap();
            assert!(at < end, "{text}");
            assert!(hit.is_none() || hit == prefilter(line.as_bytes()), "{text}");
        }
    }
}

#[test]
fn bulk_is_told_from_its_neighbours() {
    for (line, hit) in [
        (
            "GenericPLEG: Unable to retrieve pods: x",
            Some(Hit::Message),
        ),
        ("GenericPLEG: Relisting", Some(Hit::Bulk)),
        ("\"GenericPLEG\" podUID=a", Some(Hit::Bulk)),
        ("PLEG: Write status for a/b", Some(Hit::Message)),
        ("SyncLoop (PLEG): \"a\"", Some(Hit::Bulk)),
        ("Running on machine: a", Some(Hit::Note)),
        ("Log file created at: a", Some(Hit::Note)),
        ("kubelet[1]: F1130 10:00:00", Some(Hit::Message)),
        ("{\"log\":\"F0130 10:00:00", Some(Hit::Message)),
        ("0xF0 F2", None),
        ("SyncLoop (ADD, \"api\"): \"a\"", None),
        ("", None),
        ("F", None),
    ] {
        assert_eq!(prefilter(line.as_bytes()), hit, "{line}");
    }
}

#[test]
fn a_lines_start_is_found_with_the_newline_before_it() {
    for (block, at, found) in [
        ("I1\nF1130 x\n", 3, Some(3)),
        ("I1\nF1130 x\n", 0, Some(3)),
        ("I1\n{\n  a\n", 3, Some(3)),
        ("I1\nI2 PLEG: x", 3, Some(6)),
        ("I1 PLEG: x\nI2", 11, None),
        ("I1 PLEG: x F0\nI2", 0, Some(3)),
        ("I1 F0 PLEG: x\nI2", 0, Some(3)),
    ] {
        let got = find(block, at, Wanted::Messages);
        assert_eq!(got.map(|(at, _)| at), found, "{block}");
    }
}

#[test]
fn without_a_packed_search_the_same_is_found() {
    for context in [false, true] {
        let literals = literals(context);
        let (fast, plain) = (Search::new(&literals), Search::plain(&literals));
        assert!(matches!(plain, Search::Plain(_)));
        let mut text = String::new();
        for (number, literal) in literals.iter().enumerate() {
            text += number.to_string().as_str();
            text += literal;
            text += " and ";
            text += &literal[1..];
        }
        let all = |search: &Search| {
            let mut found = Vec::new();
            let mut at = 0;
            while let Some((start, literal)) = search.find(text.as_bytes(), at) {
                found.push((start, literal));
                at = start + 1;
            }
            found
        };
        assert!(all(&plain).len() >= literals.len());
        assert_eq!(all(&fast), all(&plain));
    }
}

#[test]
fn the_benchmarks_give_other_tools_the_same_literals() {
    // But that of more than one line, which no line-based tool can look for.
    let lines = literals(true);
    let lines = lines.into_iter().filter(|text| !text.contains('\n'));
    let phrases = include_str!("../../../../benches/phrases");
    let given: Vec<&str> = phrases.lines().collect();
    assert_eq!(given, lines.collect::<Vec<_>>());
}

#[test]
fn the_literals_are_few_and_long_enough_for_the_fastest_search() {
    // aho-corasick's slim Teddy: at most 32 literals, by four bytes of each.
    for literals in [literals(false), literals(true)] {
        assert!(literals.len() <= 32, "{}", literals.len());
        assert!(literals.iter().all(|text| text.len() >= 4));
    }
}

/// The real logs of kubelets among the cases.
const REAL: &[&str] = &[
    "healthy-log",
    "sandbox-stop-hangs",
    "sandbox-flaps",
    "container-start-hangs",
    "containerd-frozen",
    "dockerd-frozen",
    "stale-volume",
    "json-format",
    "list-too-large",
];
/// How much of the lines that tell nothing known may hold a literal, in tenths of a per cent.
const WELL: u64 = 40;
const SICK: u64 = 50;

/// Returns the lines of a real log that tell nothing that is known.
fn idle_lines(case: &str) -> Vec<String> {
    let found = crate::case::case(case);
    let text = found.text("kubelet.log");
    let hints = Hints {
        now: crate::syntax::time::Time::parse_from_rfc3339("2026-11-30T12:00:00Z").unwrap(),
        utc_offset: None,
    };
    let (mut parser, mut events) = (Parser::new(case, hints), Vec::new());
    parser.keep_context();
    text.lines()
        .for_each(|line| parser.line(line.as_bytes(), &mut events));
    parser.finish(&mut events);
    let known: BTreeSet<u64> = events
        .iter()
        .filter_map(|event| event.citation.line)
        .collect();
    let idle = text
        .lines()
        .zip(1..)
        .filter(|(_, number)| !known.contains(number));
    idle.map(|(line, _)| line.to_owned()).collect()
}

/// The table of how rare each literal is, and how rare it is at most, in tenths of a per cent.
fn rarity() -> (String, u64, u64) {
    let well = idle_lines(REAL[0]);
    let sick: Vec<String> = REAL[1..].iter().flat_map(|case| idle_lines(case)).collect();
    let mut table = format!(
        "| literal | of {} lines of a healthy kubelet's start | of {} of sick ones |\n|---|---|---|\n",
        well.len(),
        sick.len()
    );
    let share = |lines: &[String], holds: &dyn Fn(&str) -> bool| {
        let count = lines.iter().filter(|line| holds(line)).count() as u64;
        (count * 1000).div_ceil(lines.len() as u64)
    };
    let shown = |share: u64| format!("{}.{} %", share / 10, share % 10);
    let (mut most_well, mut most_sick) = (0, 0);
    let lines = LITERALS.iter().filter(|(text, _)| !text.contains('\n'));
    for (text, _) in lines {
        let holds = |line: &str| line.contains(text);
        let (in_well, in_sick) = (share(&well, &holds), share(&sick, &holds));
        most_well = most_well.max(in_well);
        most_sick = most_sick.max(in_sick);
        writeln!(
            table,
            "| `{text}` | {} | {} |",
            shown(in_well),
            shown(in_sick)
        )
        .unwrap();
    }
    let any = |line: &str| !matches!(prefilter(line.as_bytes()), None | Some(Hit::Bulk));
    let (in_well, in_sick) = (share(&well, &any), share(&sick, &any));
    writeln!(
        table,
        "| any of them | {} | {} |",
        shown(in_well),
        shown(in_sick)
    )
    .unwrap();
    (table, most_well.max(in_well), most_sick.max(in_sick))
}

#[test]
fn each_literal_is_rare_in_real_logs_and_the_benchmarks_say_how_rare() {
    let (table, well, sick) = rarity();
    assert!(well <= WELL, "{well}: {table}");
    assert!(sick <= SICK, "{sick}: {table}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("BENCHMARKS.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, _) = text.split_once("| literal |").unwrap();
    let wanted = format!("{before}{table}");
    if std::env::var_os("PLEGDOCTOR_REFRESH").is_some() {
        fs::write(&path, wanted).unwrap();
    } else {
        assert_eq!(text, wanted, "PLEGDOCTOR_REFRESH=1 writes it");
    }
}

/// At how many places a MB of what tells nothing known a packed search may stop.
const STOPS: u64 = 2000;

/// Returns at how many places of `text` aho-corasick's slim Teddy stops to compare: where the four bytes from there on
/// have, each, the lower and the upper half of those that literals of one and the same bucket begin with.
fn stops(literals: &[&str], text: &[u8]) -> u64 {
    let mut halves = [[[0_u8; 16]; 2]; 4];
    // Literals with the same lower halves share a bucket; the others fill the eight in turn.
    let mut buckets = BTreeMap::new();
    for (number, literal) in literals.iter().enumerate() {
        let begin = &literal.as_bytes()[..4];
        let low: Vec<u8> = begin.iter().map(|byte| byte & 15).collect();
        let bucket = *buckets.entry(low).or_insert(number % 8);
        for (place, byte) in begin.iter().enumerate() {
            halves[place][0][usize::from(byte & 15)] |= 1 << bucket;
            halves[place][1][usize::from(byte >> 4)] |= 1 << bucket;
        }
    }
    let stop = |four: &&[u8]| {
        let fits = four.iter().zip(&halves).fold(255, |fits, (byte, halves)| {
            fits & halves[0][usize::from(byte & 15)] & halves[1][usize::from(byte >> 4)]
        });
        fits != 0
    };
    text.windows(4).filter(stop).count() as u64
}

#[test]
fn the_literals_stand_in_an_order_in_which_the_search_seldom_stops() {
    for cases in [&REAL[..1], &REAL[1..]] {
        let lines: Vec<String> = cases.iter().flat_map(|case| idle_lines(case)).collect();
        let text = lines.join("\n").into_bytes();
        let a_mb = |literals: &[&str]| stops(literals, &text) * 1_000_000 / text.len() as u64;
        for context in [false, true] {
            let mut literals = literals(context);
            let stops = a_mb(&literals);
            assert!(stops < STOPS, "{stops} stops a MB: try other orders");
            // In the order of the alphabet it would be worse by far.
            literals.sort_unstable();
            assert!(a_mb(&literals) > 2 * stops, "{} {stops}", a_mb(&literals));
        }
    }
}
