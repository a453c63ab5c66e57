//! Real-looking lines, mutated at random but always alike: nothing may panic, nothing may be lost behind them.

use super::{KLOG, read, spelled};

const SEEDS: &[&str] = &[
    r#"Mar 14 09:26:53 worker-3 kubelet[2261]: E0314 09:26:53.589793    2261 kubelet.go:1765] skipping pod synchronization - [container runtime is down, PLEG is not healthy: pleg was last seen active 3m45.252087921s ago; threshold is 3m0s]"#,
    r#"2023-03-14T09:26:53.589793123Z stderr F E0314 09:26:53.589793    2261 a.go:1] "PodSandboxStatus of sandbox for pod" err="rpc error: \"x\" ä" podSandboxID="SID" pod="default/web-2""#,
    r#"{"log":"E0314 09:26:53.589793    2261 a.go:1] StopPodSandbox \"SID\" from runtime service failed: DEADLINE\n","stream":"stderr","time":"2023-03-14T09:26:53.589793123Z"}"#,
    r#"{"ts":1678786013589.793,"msg":"Node became not ready","v":0,"node":{"name":"w"},"condition":{"type":"Ready","reason":"KubeletNotReady","message":"PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s"}}"#,
    "I0803 22:33:00.900000    2261 setters.go:1] Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2020-08-03 22:33:00.895519165 +0800 CST m=+1885571.88 Reason:KubeletNotReady Message:container runtime is down}",
    "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1678786013590000\nMESSAGE\n\u{2}\0\0\0\0\0\0\0ab\nSYSLOG_IDENTIFIER=kubelet\n",
    "E0314 09:26:53.589793    2261 a.go:1] \"ExecSync cmd from runtime service failed\" err=<\n\tfirst\n\tsecond\n > containerID=\"CID\" cmd=[\"x\"]",
    "  Ready            False   Fri, 28 Jun 2019 10:19:21 +0800   Fri, 28 Jun 2019 10:19:21 +0800   KubeletNotReady   PLEG is not healthy: pleg has yet to be successful",
    "<30>1 2023-03-14T09:26:53.589800Z worker-3 kubelet 2261 - [a b=\"c\"] E0314 09:26:53.589793    2261 a.go:1] SyncLoop (PLEG): \"web-2_default(<UID>)\", event: &pleg.PodLifecycleEvent{ID:\"<UID>\", Type:\"ContainerDied\", Data:\"CID\"}",
    "Tue 2023-03-14 09:26:53.590000 UTC [s=a;i=1;b=c;m=d;t=e;x=f]\n    SYSLOG_IDENTIFIER=kubelet\n    MESSAGE=E0314 09:26:53.589793    2261 a.go:1] Failed to stop sandbox {\"docker\" \"SID\"}",
    "{\n\t\"MESSAGE\" : \"E0314 09:26:53.589793    2261 a.go:1] ListPodSandbox failed: x\",\n\t\"SYSLOG_IDENTIFIER\" : \"kubelet\"\n}",
    "Log file created at: 2023/03/14 09:26:53",
];

/// A small generator with a fixed seed (xorshift), so that a failure repeats.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides.max(1)).unwrap()).unwrap()
    }
}

fn mutate(text: &mut Vec<u8>, dice: &mut Dice) {
    const BYTES: &[u8] = b"\"\\{}[]<>=: \n\t\0\xff\xc3E0#1F\x1e-/()";
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(text.len().max(1));
        let byte = BYTES[dice.roll(BYTES.len())];
        match dice.roll(5) {
            0 => text.truncate(at),
            1 if !text.is_empty() => text[at] = byte,
            2 => text.insert(at.min(text.len()), byte),
            3 if !text.is_empty() => {
                let end = (at + dice.roll(12)).min(text.len());
                text.drain(at..end);
            }
            _ => {
                let tail = text[at.min(text.len())..].to_vec();
                text.extend(tail.iter().take(40));
            }
        }
    }
}

#[test]
fn mutated_lines_never_panic() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..3000 {
        let mut log = Vec::new();
        for _ in 0..5 {
            let mut text = spelled(SEEDS[dice.roll(SEEDS.len())]).into_bytes();
            mutate(&mut text, &mut dice);
            log.extend(text);
            log.push(b'\n');
        }
        let (events, told) = read(&log);
        assert!(
            events.is_sorted_by_key(|event| event.citation.line),
            "round {round}"
        );
        assert!(
            events
                .iter()
                .all(|event| event.citation.line <= Some(told.lines))
        );
    }
}

#[test]
fn every_cut_of_every_line_is_read_without_panic() {
    for seed in SEEDS {
        let text = spelled(seed).into_bytes();
        for end in 0..text.len() {
            read(&text[..end]);
            read(&text[end..]);
        }
    }
}

/// Whatever stands before it: a whole line after an empty one is read.
#[test]
fn a_whole_line_behind_a_broken_one_is_read() {
    let whole = format!("{KLOG}GenericPLEG: Unable to retrieve pods: x");
    for seed in SEEDS {
        let text = spelled(seed);
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            let (events, _) = read(format!("{}\n\n{whole}\n{whole}", &text[..end]));
            let relists = events
                .iter()
                .filter(|event| event.kind.id() == "relist-failed");
            assert_eq!(relists.count(), 2, "{}", &text[..end]);
        }
    }
}
