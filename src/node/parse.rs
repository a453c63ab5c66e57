//! Reads the kernel's files about a task: `stat`, `status`, `cgroup`, `stack`, `cmdline`. Text in, values out; what
//! makes no sense is `None`.

use super::State;
use crate::syntax::id::{ContainerId, PodUid};
use std::time::Duration;

/// The kernel's ticks in a second, as user space sees them (`USER_HZ`): 100 on every architecture that runs Kubernetes.
const TICKS: u64 = 100;
/// The flag of a kernel thread (`PF_KTHREAD`, include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;
const WORDS: usize = 128;
const LETTERS: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub pid: u32,
    pub comm: String,
    pub state: State,
    pub ppid: u32,
    pub kernel: bool,
    /// When it was started, in ticks since boot.
    pub start_ticks: u64,
}

/// What a `stat` says. The name stands in brackets and may hold anything, brackets too.
pub fn stat(text: &str) -> Option<Stat> {
    let (head, rest) = text.rsplit_once(')')?;
    let (pid, comm) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        pid: pid.trim().parse().ok()?,
        comm: comm.to_owned(),
        state: State::from_letter(fields.first()?.chars().next()?)?,
        ppid: fields.get(1)?.parse().ok()?,
        kernel: number(6)? & KERNEL_THREAD != 0,
        start_ticks: number(19)?,
    })
}

/// How old what was started at `start_ticks` is, `uptime` after boot.
pub fn age(start_ticks: u64, uptime: Duration) -> Duration {
    let start = Duration::from_millis(start_ticks.saturating_mul(1000 / TICKS));
    uptime.saturating_sub(start)
}

pub fn uptime(text: &str) -> Option<Duration> {
    let seconds: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// How much time of a processor the task has taken, in its own code and in the kernel, from its `stat`.
pub fn processor_time(text: &str) -> Option<Duration> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()?.saturating_add(ticks()?);
    Some(Duration::from_millis(ticks.saturating_mul(1000 / TICKS)))
}

/// What follows `name` in the first line that begins with it.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(rest.trim())
}

/// Who traces the task, from its `status`; 0 for nobody.
pub fn tracer(text: &str) -> Option<u32> {
    field(text, "TracerPid:")?.parse().ok()
}

/// How often the task has gone to sleep by itself, from its `status`: if that stays the same, so did its sleep.
pub fn sleeps(text: &str) -> Option<u64> {
    field(text, "voluntary_ctxt_switches:")?.parse().ok()
}

/// Whether the task is stopped, by its `status`; not told is no.
pub fn is_stopped(text: &str) -> bool {
    let letter = field(text, "State:").and_then(|state| state.chars().next());
    letter
        .and_then(State::from_letter)
        .is_some_and(State::is_stopped)
}

/// The function that a `wchan` names; `None` for a task that does not sleep (`0`).
pub fn wchan(text: &str) -> Option<String> {
    let name = text.trim();
    (!name.is_empty() && name != "0").then(|| name.chars().take(64).collect())
}

/// The functions of a `stack`, the innermost first: `[<0>] do_wait+0x60/0xf0` is `do_wait`.
pub fn stack(text: &str) -> Vec<String> {
    let function = |line: &str| {
        let name = line.split_once("] ").map_or(line, |(_, name)| name).trim();
        let name = name.split('+').next().unwrap_or(name);
        name.chars().take(64).collect::<String>()
    };
    text.lines()
        .take(32)
        .map(function)
        .filter(|name| !name.is_empty())
        .collect()
}

pub fn cmdline(bytes: &[u8]) -> Vec<String> {
    bytes
        .strip_suffix(b"\0")
        .unwrap_or(bytes)
        .split(|&byte| byte == 0)
        .take(WORDS)
        .map(|word| String::from_utf8_lossy(&word[..word.len().min(LETTERS)]).into_owned())
        .collect()
}

/// The pod and the container that a `cgroup` names, in the forms of the kubelet's cgroupfs and systemd drivers:
/// `/kubepods/burstable/pod<uid>/<id>`, `/kubepods-burstable-pod<uid with _>.slice/docker-<id>.scope`.
pub fn cgroup(text: &str) -> (Option<PodUid>, Option<ContainerId>) {
    let (mut uid, mut id) = (None, None);
    for part in text.lines().flat_map(|line| line.split('/')) {
        let part = part
            .strip_suffix(".slice")
            .or_else(|| part.strip_suffix(".scope"))
            .unwrap_or(part);
        let pod = part
            .rsplit_once("-pod")
            .map(|(_, uid)| uid)
            .or_else(|| part.strip_prefix("pod"));
        uid = uid.or_else(|| PodUid::parse(&pod?.replace('_', "-")));
        let last = part.rsplit(['-', ':']).next().unwrap_or(part);
        id = id.or_else(|| ContainerId::parse(last).filter(ContainerId::is_whole));
    }
    (uid, id)
}
