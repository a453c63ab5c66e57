use super::*;
use crate::{
    kubelet::parser::{Hints, SourceInfo},
    syntax::time::Time,
};
use std::fmt::Write as _;

fn hints() -> Hints {
    Hints {
        now: Time::parse_from_rfc3339("2026-11-30T12:00:00Z").unwrap(),
        utc_offset: None,
    }
}

/// Feeds `blocks`; what is looked for in each is the parser's wish, or what `guess` says.
fn read<'a>(
    blocks: impl IntoIterator<Item = &'a [u8]>,
    mut guess: impl FnMut() -> Option<Wanted>,
) -> (Vec<Event>, SourceInfo, u64) {
    let (mut lines, mut events) = (LineSplitter::default(), Vec::new());
    let mut parser = Parser::new("kubelet.log", hints());
    let mut sink = |event| events.push(event);
    let mut out = Out::new(&mut sink);
    for block in blocks {
        let wanted = guess().unwrap_or(match parser.wants_context() {
            true => Wanted::All,
            false => Wanted::Messages,
        });
        let index = LineIndex::new(block, wanted, !parser.has_begun());
        lines.push(block, &index, &mut parser, &mut out);
    }
    lines.finish(&mut parser, &mut out);
    (events, parser.source_info().clone(), lines.cut)
}

/// Hands every line to the parser.
fn line_by_line(text: &[u8]) -> (Vec<Event>, SourceInfo, u64) {
    let (mut parser, mut events) = (Parser::new("kubelet.log", hints()), Vec::new());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        parser.line(line.strip_suffix(b"\n").unwrap_or(line), &mut events);
    }
    parser.finish(&mut events);
    (events, parser.source_info().clone(), 0)
}

/// A reproducible sequence (xorshift).
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

fn cut<'a>(mut text: &'a [u8], dice: &mut Dice, largest: usize) -> Vec<&'a [u8]> {
    let mut blocks = Vec::new();
    while !text.is_empty() {
        let (block, rest) = text.split_at((1 + dice.throw(largest)).min(text.len()));
        blocks.push(block);
        text = rest;
    }
    blocks
}

fn case((name, log): (&str, &str)) -> Vec<u8> {
    crate::case::case(name).text(log).into()
}

/// Logs of all kinds: plain, JSON, a mixed syslog, structured, entries of several lines, hits at every edge.
fn logs() -> Vec<Vec<u8>> {
    let mut logs: Vec<Vec<u8>> = [
        ("stale-volume", "kubelet.log"),
        ("json-format", "kubelet.log"),
        ("busy-removal", "messages"),
        ("hung-sandbox-structured", "journal.txt"),
        ("healthy-log", "kubelet.log"),
        ("describe-node", "condition.txt"),
    ]
    .map(case)
    .to_vec();
    let mut odd = String::from("no time here\n\n\r\nOct  1 10:00:00 n sshd[1]: first of all\n");
    let stamp = "I1130 10:00:00.000000    2261 a.go:1] ";
    let event = "\"SyncLoop (PLEG): event for pod\" pod=\"a/b\" event={\"ID\":\"9b0e7a4c-52f4-4f5b-8c6e-0f5b8a0a4a1f\",\"Type\":\"ContainerDied\",\"Data\":\"c\"}";
    for minute in 10..60 {
        let at = stamp.replace("10:00", &format!("10:{minute}"));
        write!(
            odd,
            "{at}nothing\r\n{at}{event}\n{at}quiet failed\n{}GenericPLEG: Unable to retrieve pods: rpc error: code = DeadlineExceeded desc = context deadline exceeded\n goes on\n\n{at}{event}\nF1130 10:{minute}:01.000000 1 a.go:1] the end\ngoroutine 1\n{{\n \"reason\": \"KubeletNotReady\",\n}}\n{at}x\n",
            at.replace('I', "E")
        )
        .unwrap();
        if minute % 9 == 0 {
            odd.push_str(
                "Nov 30 11:30:00 other-node kubelet[7]: I1130 11:30:00.000000 7 a.go:1] nothing\n",
            );
        }
    }
    odd.push_str("I1130 11:59:00.000000    2261 a.go:1] the last, without an end");
    logs.push(odd.clone().into_bytes());
    logs.push(odd.replace('\n', "\r\n").into_bytes());
    let pasted = pasted(stamp);
    logs.push(pasted.clone().into_bytes());
    logs.push(pasted.replace('\n', "\r\n").into_bytes());
    logs.push(exported());
    logs.push(pretty());
    logs
}

/// Entries of a journal whose messages are of several lines, one of them ending as on Windows.
fn exported() -> Vec<u8> {
    let message = "E1130 10:00:00.000000    2261 a.go:1] Failed cleaning pods: first\r\nsecond\r";
    let mut log = b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1796032800000000\nMESSAGE\n".to_vec();
    log.extend((message.len() as u64).to_le_bytes());
    log.extend(message.as_bytes());
    log.extend(b"\nSYSLOG_IDENTIFIER=kubelet\n\n");
    log.repeat(20)
}

#[test]
fn the_bytes_of_an_entry_count_as_they_are() {
    let (events, _, _) = read([exported().as_slice()], || None);
    assert_eq!(events.len(), 20);
    assert!(events[19].citation.text.contains("first\r\nsecond"));
}

/// A journal as `journalctl -o json-pretty` prints it, of two programs.
fn pretty() -> Vec<u8> {
    let entry = |number: u64| {
        let program = ["kubelet", "audit"][usize::try_from(number % 2).unwrap()];
        format!(
            "{{\n\t\"__REALTIME_TIMESTAMP\" : \"{}\",\n\t\"MESSAGE\" : \"E1130 10:00:00.000000    2261 a.go:1] Failed cleaning pods: {number}\",\n\t\"SYSLOG_IDENTIFIER\" : \"{program}\"\n}}\n",
            1_796_032_800_000_000 + number * 1_000_000
        )
    };
    (0..20).map(entry).collect::<String>().into_bytes()
}

#[test]
fn the_entries_of_a_journal_printed_nicely_are_put_together() {
    let (events, _, _) = read([pretty().as_slice()], || None);
    let texts: Vec<_> = events.iter().map(|event| &*event.citation.text).collect();
    let kubelets = (0..20).step_by(2);
    let expected: Vec<_> = kubelets
        .map(|n| format!("Failed cleaning pods: {n}"))
        .collect();
    assert_eq!(texts, expected);
    assert!(events.iter().all(|event| event.received.is_some()));
}

/// A node's conditions among quiet lines, so that nothing but themselves tells where they begin.
fn pasted(stamp: &str) -> String {
    let condition = "{\n    \"type\": \"Ready\",\n    \"reason\": \"KubeletNotReady\",\n    \"message\": \"PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s\",\n    \"lastHeartbeatTime\": \"2026-11-30T10:00:00Z\"\n}\n";
    let quiet = format!("{stamp}nothing\n").repeat(20);
    format!("{quiet}{condition}").repeat(20)
}

#[test]
fn a_condition_is_read_wherever_a_block_ends() {
    let stamp = "I1130 10:00:00.000000    2261 a.go:1] ";
    for log in [pasted(stamp), pasted(stamp).replace('\n', "\r\n")] {
        let expected = line_by_line(log.as_bytes());
        let stale = |event: &&Event| event.kind.id() == "pleg-stale";
        assert_eq!(expected.0.iter().filter(stale).count(), 20);
        for size in 1..300 {
            let got = read(log.as_bytes().chunks(size), || None);
            assert_eq!(got, expected, "blocks of {size}");
        }
    }
}

#[test]
fn events_are_the_same_however_the_blocks_fall() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for (number, log) in logs().iter().enumerate() {
        let expected = line_by_line(log);
        assert!(number == 4 || !expected.0.is_empty(), "log {number}");
        for largest in [3, 40, 300, 5000, 1 << 20] {
            let blocks = cut(log, &mut dice, largest);
            let got = read(blocks.iter().copied(), || None);
            assert_eq!(got, expected, "log {number}, blocks up to {largest}");
            // A thread that looks ahead may not know yet what is wanted.
            let got = read(blocks, || {
                Some([Wanted::All, Wanted::Messages][dice.throw(2)])
            });
            assert_eq!(got, expected, "log {number}, blocks up to {largest}");
        }
    }
}

#[test]
fn a_block_of_more_hits_than_are_noted_is_read_to_its_end() {
    let line = "I1130 10:00:00.000000 1 a.go:1] killPodWithSyncResult failed: x\n";
    let short = "PLEG: \n".repeat(40_000);
    let log = format!("{line}{short}{line}");
    let got = read([log.as_bytes()], || None);
    assert_eq!(got, line_by_line(log.as_bytes()));
    assert_eq!((got.0.len(), got.1.lines), (2, 40_002));
}

#[test]
fn nothing_has_no_line() {
    for text in ["", "\n"] {
        let (events, told, _) = read([text.as_bytes()], || None);
        assert!(events.is_empty());
        assert_eq!(told.lines, text.len() as u64);
    }
}

#[test]
fn of_an_overlong_line_the_beginning_is_kept_and_the_next_line_is_whole() {
    let hit = "E1130 10:00:00.000000 1 a.go:1] killPodWithSyncResult failed: ";
    let next = "\nE1130 10:00:01.000000 1 a.go:1] Failed to stop sandbox \"1\": x\n";
    let long = [hit.as_bytes(), &vec![b'x'; 3 * MAX_LINE], next.as_bytes()].concat();
    for size in [MAX_LINE, 1000] {
        let (events, told, cut) = read(long.chunks(size), || None);
        assert_eq!(
            (events.len(), told.lines, cut),
            (2, 2, 1),
            "blocks of {size}"
        );
        assert_eq!(events[1].citation.line, Some(2));
    }
    let just = [hit.as_bytes(), &vec![b'x'; MAX_LINE - hit.len()], b"\n"].concat();
    assert_eq!(read(just.chunks(1000), || None).2, 0);
}

#[test]
fn a_torn_line_leaves_no_trace() {
    let (mut lines, mut events) = (LineSplitter::default(), Vec::new());
    let mut parser = Parser::new("kubelet.log", hints());
    let mut sink = |event| events.push(event);
    let mut push = |lines: &mut LineSplitter, block: &str| {
        let index = LineIndex::new(block.as_bytes(), Wanted::All, true);
        let mut out = Out::new(&mut sink);
        lines.push(block.as_bytes(), &index, &mut parser, &mut out);
    };
    push(&mut lines, "lost");
    lines.tear();
    push(&mut lines, "torn");
    push(
        &mut lines,
        " too\nE1130 10:00:00.000000 1 a.go:1] Failed to stop sandbox \"1\": x\n",
    );
    parser.finish(&mut events);
    assert_eq!((events.len(), parser.source_info().lines), (1, 1));
}

/// Lines of all kinds, to be mixed.
const PIECES: &[&str] = &[
    "I1130 10:00:00.000000    2261 a.go:1] nothing",
    "I1130 10:00:01.000000    2261 a.go:1] nothing of it",
    "",
    "\r",
    " goes on",
    "\tand on",
    " >",
    "{",
    "}",
    "[",
    "]",
    "    \"type\": \"Ready\",",
    "    \"reason\": \"KubeletNotReady\",",
    "    \"message\": \"PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s\",",
    "    \"lastHeartbeatTime\": \"2026-11-30T10:00:00Z\"",
    "E1130 10:00:02.000000    2261 a.go:1] GenericPLEG: Unable to retrieve pods: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    "E1130 10:00:03.000000    2261 a.go:1] \"ExecSync cmd from runtime service failed\" err=<",
    "I1130 10:00:04.000000    2261 a.go:1] GenericPLEG: Relisting",
    "I1130 10:20:04.000000    2261 a.go:1] SyncLoop (PLEG): \"web-2_default(9b0e4a32-7fe5-45b4-b69e-1c76355b4249)\", event: &pleg.PodLifecycleEvent{ID:\"9b0e4a32-7fe5-45b4-b69e-1c76355b4249\", Type:\"ContainerDied\", Data:\"c\"}",
    "I1130 10:21:00.000000    2261 a.go:1] Successfully registered node a",
    "F1130 10:00:05.000000    2261 a.go:1] the end",
    "goroutine 1 [running]:",
    "Log file created at: 2026/11/30 10:00:00",
    "Running on machine: a",
    "Nov 30 10:00:06 a kubelet[1]: E1130 10:00:06.000000    2261 a.go:1] Failed cleaning pods: x",
    "Nov 30 10:00:06 a kubelet[1]: F1130 10:00:06.000000    2261 a.go:1] out",
    "Nov 30 10:00:07 b sshd[1]: failed for kubelet: Failed cleaning pods: x",
    "Nov 30 10:00:07 a kubelet[1]:  goes on",
    "Nov 30 10:00:08 a systemd-journald[1]: Suppressed 7 messages from kubelet.service",
    "{\"ts\":1796032809000.0,\"msg\":\"Skipping pod synchronization\",\"err\":\"PLEG is not healthy: pleg has yet to be successful\"}",
    "{\"ts\":1796032809000.0,\"msg\":\"SyncLoop DELETE\",\"pods\":[{\"name\":\"a\",\"names",
    "pace\":\"b\"}]}",
    "{\"log\":\"E1130 10:00:10.000000    2261 a.go:1] Failed cleaning \",\"time\":\"2026-11-30T10:00:10Z\"}",
    "{\"log\":\"pods: x\\n\",\"time\":\"2026-11-30T10:00:10Z\"}",
    "2026-11-30T10:00:11Z stderr P E1130 10:00:11.000000    2261 a.go:1] Failed ",
    "2026-11-30T10:00:11Z stderr F cleaning pods: x",
    "  Ready            False   Mon, 30 Nov 2026 10:19:21 +0000   Mon, 30 Nov 2026 10:19:21 +0000   KubeletNotReady   PLEG is not healthy: pleg has yet to be successful",
    "I1130 10:00:12.000000    2261 a.go:1] Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2026-11-30 10:00:12.895519165 +0000 UTC m=+1.88 Reason:KubeletNotReady Message:container runtime is down}",
    "\t\"MESSAGE\" : \"E1130 10:00:13.000000    2261 a.go:1] Failed cleaning pods: x\",",
    "\t\"SYSLOG_IDENTIFIER\" : \"kubelet\"",
    "\"reason\": \"KubeletNotReady\"",
    "PLEG: \0\u{fffd}F1",
    "kubelet[1]: no stamp",
    "Running on machine: failed Status ",
    "ailed",
    // Last: they begin what makes all that follows be read line by line.
    "__CURSOR=s=1",
    "MESSAGE=E1130 10:00:13.000000    2261 a.go:1] Failed cleaning pods: x",
    "Mon 2026-11-30 10:00:00 UTC [s=a;i=1;b=c;m=d;t=e;x=f]",
    "    MESSAGE=E1130 10:00:13.000000    2261 a.go:1] Failed cleaning pods: x",
];

#[test]
fn lines_of_all_kinds_in_any_order_are_read_the_same_in_blocks() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for round in 0..200 {
        let mut log = String::new();
        let quiet = dice.throw(4);
        for _ in 0..dice.throw(120) {
            let most = PIECES.len() - [0, 4][usize::from(quiet > 0)];
            let piece = match dice.throw(4) {
                kind if kind < quiet => PIECES[dice.throw(2)],
                _ => PIECES[dice.throw(most)],
            };
            log.push_str(piece);
            log.push_str(["\n", "\n", "\n", "\r\n"][dice.throw(4)]);
        }
        log.truncate(log.len().saturating_sub(dice.throw(3)));
        let expected = line_by_line(log.as_bytes());
        for largest in [4, 90, 900, 1 << 20] {
            let blocks = cut(log.as_bytes(), &mut dice, largest);
            let got = read(blocks, || {
                Some([Wanted::All, Wanted::Messages][dice.throw(2)])
            });
            assert_eq!(
                got, expected,
                "round {round}, blocks up to {largest}:\n{log}"
            );
        }
    }
}
