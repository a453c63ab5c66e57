//! `netns-blocked`: the kernel waits for a network device to be let go, and whoever makes or removes a network namespace
//! waits behind it.
//!
//! The kernel's line alone blocks nobody on most kernels, and one who waits for the lock may have it a moment later. So
//! both must be seen now; one of them counts only where calls time out.

use super::holders::{Task, doing, span};
use super::lines::Lines;
use super::remedies::remedy;
use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{holders, hung_container, is_cause, node};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant};
use crate::io::probe::Outcome;
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::summary::Log;
use crate::node::{Host, KernelKind, KernelLine, Process, Role, Version};
use crate::runtime::Container;
use crate::syntax::citation::Citation;
use chrono::TimeDelta;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "netns-blocked",
    title: "Network namespace setup and teardown are blocked in the kernel",
    explains: true,
    bearing: Bearing {
        behind: &[
            "hung-container",
            "hung-runtime",
            "cni-hang",
            "frozen-daemon",
            "not-pleg",
        ],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/netns-blocked.md"),
    check,
};

/// The kernel says it again every 10 s as long as it waits (net/core/dev.c, netdev_wait_allrefs): later, it is over.
const NOW: Duration = Duration::from_secs(20);
/// … so that this long a stretch holds several such lines.
const LATELY: Duration = Duration::from_secs(60);
/// RunPodSandbox is given up after 4 minutes; with the back-off after it nothing is tried for longer.
const RETRIES: TimeDelta = TimeDelta::minutes(10);
/// From here on making a namespace does not wait for one that is taken down.
const PARALLEL: &str = "4.17";
/// Who makes a namespace sleeps here (net/core/net_namespace.c) …
const NAMESPACE: &str = "copy_net_ns";
/// … and who removed a device, here until it is let go (net/core/dev.c).
const DEVICE: &[&str] = &["netdev_run_todo", "netdev_wait_allrefs"];
/// Within them it sleeps in functions that say nothing of the reason, where the kernel shows those.
const WITHIN: &[&str] = &["mutex_lock", "rwsem", "down_read", "msleep", "switch_to"];
const LINES: &str = "dmesg -T | grep unregister_netdevice | tail";
const WAITERS: &str = "grep -lE 'copy_net_ns|netdev_run_todo' /proc/[0-9]*/task/[0-9]*/stack";
const MOUNTS: &str = "findmnt -t cifs,nfs,nfs4";
const REBOOT: &str = "systemctl reboot # drain the node first; with --force if it does not end";

/// A task of the runtime, or of a network plugin, that sleeps in the kernel for a network namespace or device.
struct Waiter<'a> {
    task: Task<'a>,
    function: &'a str,
}

impl Waiter<'_> {
    /// Returns whether it has waited for longer than ordinary work takes; a daemon's threads have no age of their own.
    fn is_stuck(&self) -> bool {
        let process = self.task.process;
        let old = process.age.is_some_and(|age| age >= holders::STUCK);
        self.task.still && (old || process.role.is_daemon())
    }
}

/// What was seen, of the kernel, of who waits for it, and of who waits for those.
struct Seen<'a> {
    /// The device that the kernel waits for and its last line on it, if that is of now.
    device: Option<(&'a str, &'a KernelLine)>,
    /// How often it said so lately.
    times: usize,
    waiters: Vec<Waiter<'a>>,
    /// The kubelet's calls that time out.
    logged: Lines<'a>,
    /// The containers for which Docker does not answer.
    silent: usize,
}

impl Seen<'_> {
    /// Returns whether somebody misses answers.
    fn harms(&self) -> bool {
        !self.logged.is_empty() || self.silent > 0
    }
}

fn judge(scene: &Scene) -> Judged {
    let Some(host) = scene.whole_host() else {
        return scene.needs_host();
    };
    let none = waiters(scene.evidence, host).is_empty();
    let why = match (none, shows_all(scene.evidence, host)) {
        (true, true) => {
            let because = "no process of the runtime waits in the kernel for a network namespace";
            return Judged::out(because, "the host's processes");
        }
        (true, false) => "where the runtime waits in the kernel was not seen",
        (false, _) => "someone waits for a network namespace, and may have it in a moment",
    };
    scene.open(why, WAITERS)
}

/// Whether all of the runtime was seen, and the kernel tells where tasks sleep: CRI-O's daemon is not looked at.
fn shows_all(evidence: &Evidence, host: &Host) -> bool {
    let mut processes = host.processes.iter();
    host.whole
        && !holders::daemons(evidence).is_empty()
        && processes.any(|process| process.wchan.is_some())
}

fn check(evidence: &Evidence, found: &[Finding]) -> Vec<Finding> {
    let Some(host) = &evidence.host else {
        return Vec::new();
    };
    let mut seen = look(evidence, host);
    let may_wait = seen.waiters.is_empty() && may_wait_unseen(evidence, host, found);
    seen.waiters.retain(Waiter::is_stuck);
    let confidence = match (seen.device.is_some(), !seen.waiters.is_empty()) {
        (true, true) if seen.times > 1 || seen.harms() => Confidence::Confirmed,
        (false, true) if seen.harms() => Confidence::Suspected,
        (true, false) if seen.harms() && may_wait => Confidence::Suspected,
        _ => return Vec::new(),
    };
    vec![accuse(evidence, host, &seen, confidence)]
}

/// Whether somebody may wait for the device who was not seen to: the kernel is one on which they do, not all was seen, and
/// nothing else is known that calls may wait for.
fn may_wait_unseen(evidence: &Evidence, host: &Host, found: &[Finding]) -> bool {
    let other = |finding: &Finding| is_cause(finding) && finding.active;
    let hangs = |process: &Process| {
        matches!(process.role, Role::OciRuntime(_) | Role::CniPlugin)
            && process.age.is_some_and(|age| age >= holders::STUCK)
            && (process.wchan.is_some() || !process.stack.is_empty())
    };
    is_parallel(host) == Some(false)
        && !shows_all(evidence, host)
        && !found.iter().any(other)
        && !host.processes.iter().any(hangs)
}

/// Returns whether on this kernel making a namespace does not wait for one that is taken down, if its release tells.
fn is_parallel(host: &Host) -> Option<bool> {
    let release = Version::parse(host.kernel.as_deref()?)?;
    Some(release >= Version::parse(PARALLEL)?)
}

fn look<'a>(evidence: &'a Evidence, host: &'a Host) -> Seen<'a> {
    let of_device = |line: &&KernelLine| line.kind == KernelKind::NetDevice;
    let since = |line: &KernelLine, limit| line.ago.is_some_and(|ago| ago <= limit);
    let now = |line| since(line, NOW).then_some((device(line)?, line));
    let lines = || host.kernel_lines.iter().filter(of_device);
    let runtime = evidence.runtime.iter();
    let silent = |it: &&Container| it.probe.outcome == Outcome::TimedOut;
    Seen {
        device: lines().rev().find_map(now),
        times: lines().filter(|line| since(line, LATELY)).count(),
        waiters: waiters(evidence, host),
        logged: logged(evidence),
        silent: runtime.flat_map(|it| &it.containers).filter(silent).count(),
    }
}

/// Returns the device that a line of the kernel is about: `…: waiting for lo to become free. Usage count = 1`.
fn device(line: &KernelLine) -> Option<&str> {
    let (_, rest) = line.text.split_once("waiting for ")?;
    rest.split(' ').next()
}

/// Returns the kubelet's last calls that timed out as they do for it, if that goes on.
fn logged(evidence: &Evidence) -> Lines<'_> {
    let calls = [&[Kind::RunSandboxFailed], hung_container::CALLS].concat();
    let lines = Lines::failed(evidence, &calls, ErrorClass::Deadline).latest();
    // A status call may wait in silence for as long as the outage lasts.
    let outage = evidence.log.as_ref().is_some_and(Log::has_outage);
    let lasts = outage || lines.are_recent(evidence, RETRIES);
    match lasts && lines.go_on(evidence) {
        true => lines,
        false => Lines::default(),
    }
}

/// Returns who of the runtime waits in the kernel for a network namespace or device, the oldest first.
fn waiters<'a>(evidence: &'a Evidence, host: &'a Host) -> Vec<Waiter<'a>> {
    let daemons = holders::daemons(evidence);
    let ours = |process: &&Process| match process.role {
        Role::Dockerd | Role::Containerd => daemons.iter().any(|own| own.pid == process.pid),
        Role::Shim | Role::OciRuntime(_) | Role::CniPlugin => true,
        Role::Kubelet | Role::Iptables | Role::Other => false,
    };
    let waits = |task: Task<'a>| {
        let function = sleeps_in(task.wchan, task.stack)?;
        Some(Waiter { task, function })
    };
    let tasks = host.processes.iter().filter(ours).flat_map(holders::tasks);
    let mut waiters: Vec<_> = tasks.filter_map(waits).collect();
    waiters.sort_by_key(|it| it.task.process.start_ticks);
    waiters
}

/// Returns the function of these in which a task sleeps, if it is the reason and not only on the way to another.
fn sleeps_in<'a>(wchan: Option<&'a str>, stack: &'a [String]) -> Option<&'a str> {
    let shown = stack.iter().map(String::as_str);
    let mut all = wchan.filter(|_| stack.is_empty()).into_iter().chain(shown);
    let tells = |function: &&str| !WITHIN.iter().any(|part| function.contains(part));
    let first = all.find(tells)?;
    // netdev_wait_allrefs.isra.0
    let name = first.split('.').next().unwrap_or(first);
    (name == NAMESPACE || DEVICE.contains(&name)).then_some(name)
}

fn accuse(evidence: &Evidence, host: &Host, seen: &Seen, confidence: Confidence) -> Finding {
    let waiters = seen.waiters.iter();
    let mut subjects: Vec<_> = waiters.map(|it| subject(evidence, it)).collect();
    subjects.dedup_by_key(|subject| subject.pid);
    if subjects.is_empty() {
        subjects.push(node(evidence));
    }
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: title(seen),
        severity: match seen.harms() && evidence.log.as_ref().is_some_and(Log::has_outage) {
            true => Severity::Critical,
            false => Severity::Warning,
        },
        confidence,
        active: true,
        explanation: explain(host, seen),
        subjects,
        citations: cite(evidence, seen),
        remedies: remedies(seen),
        spans: seen.logged.spans(),
    }
}

fn subject(evidence: &Evidence, waiter: &Waiter) -> Subject {
    let process = waiter.task.process;
    let id = process.container.as_ref();
    let container = id.and_then(|id| evidence.runtime.as_ref()?.find(id));
    Subject {
        kind: match process.role.is_daemon() {
            true => SubjectKind::Daemon,
            false => SubjectKind::Process,
        },
        id: id.cloned(),
        name: Some(process.comm.clone()),
        pod: container.and_then(|container| container.pod.clone()),
        uid: process.uid.clone(),
        pid: Some(process.pid),
    }
}

fn cite(evidence: &Evidence, seen: &Seen) -> Vec<Citation> {
    let mut citations = seen.logged.cite(4);
    let line = seen.device.map(|(_, line)| {
        let ago = span(line.ago.unwrap_or_default());
        holders::cite(evidence, "kernel", format!("{} ({ago} ago)", line.text))
    });
    citations.extend(line);
    citations.extend(seen.waiters.iter().take(2).map(|waiter| {
        let (task, process) = (waiter.task, waiter.task.process);
        let doing = doing(task.state, Some(waiter.function));
        let text = format!("{}: thread {}, {doing}", process.comm, task.tid);
        holders::cite(evidence, format!("process {}", process.pid), text)
    }));
    citations
}

fn title(seen: &Seen) -> String {
    let behind = match seen.waiters.is_empty() {
        true => ", and the runtime perhaps with it",
        false => ", and the runtime for network namespaces",
    };
    match seen.device {
        Some((device, _)) => format!("The kernel waits for the network device {device}{behind}"),
        None => "The runtime waits in the kernel for a network namespace".to_owned(),
    }
}

fn explain(host: &Host, seen: &Seen) -> String {
    let mut text = Vec::new();
    if let Some((device, _)) = seen.device {
        let times = super::count(seen.times, "time");
        text.push(format!(
            "The kernel removes the network device {device} and waits for what still refers to it (it said so {times} in the last minute)."
        ));
    }
    text.extend(seen.waiters.first().map(|first| told(seen, first)));
    text.extend(by_kernel(host, seen));
    if seen.waiters.is_empty() {
        text.push("Who waits for it in the kernel could not be seen.".to_owned());
    }
    if !seen.logged.is_empty() {
        let lines = seen.logged.counted();
        text.push(format!("The kubelet's calls time out meanwhile ({lines})."));
    }
    if seen.silent > 0 {
        let silent = super::count(seen.silent, "container");
        text.push(format!("Docker does not answer for {silent}."));
    }
    text.push("Sandboxes are neither made nor removed until that ends. Where the runtime holds a container's lock over it, as Docker does, the container's status does not come, and the kubelet's relist waits.".to_owned());
    text.join(" ")
}

/// Returns in words who waits, the first of them by name.
fn told(seen: &Seen, first: &Waiter) -> String {
    let process = first.task.process;
    let mut who = process.comm.clone();
    let own = seen.waiters.iter();
    let own = own.filter(|it| it.task.process.pid == process.pid).count();
    if own > 1 {
        who = format!("{own} threads of {who}");
    }
    let others = match seen.waiters.len() - own {
        0 => String::new(),
        others => format!(" and {} more", super::count(others, "task")),
    };
    let what = match first.function {
        NAMESPACE => "A new network namespace",
        _ => "The end of a network device",
    };
    let since = process.age.filter(|_| !process.role.is_daemon());
    let since = since.map_or_else(String::new, |age| format!(", {} old", span(age)));
    let (pid, doing) = (process.pid, doing(first.task.state, Some(first.function)));
    format!(
        "{what} is waited for in the kernel by {who} (process {pid}, {doing}{since}){others}, without waking up while that was watched."
    )
}

/// Returns what ties the two together on this kernel.
fn by_kernel(host: &Host, seen: &Seen) -> Option<String> {
    let release = host.kernel.as_deref()?;
    let first = seen.waiters.first();
    if seen.device.is_none() || first.is_some_and(|first| first.function != NAMESPACE) {
        return None;
    }
    Some(match is_parallel(host)? {
        false => format!(
            "On this kernel ({release}) who takes a network namespace down holds the lock of all while it waits for a device, and who makes one needs that lock."
        ),
        true => format!(
            "On this kernel ({release}) one does not wait for the other directly (since {PARALLEL}): a third stands between, as a module does that is loaded meanwhile."
        ),
    })
}

fn remedies(seen: &Seen) -> Vec<Remedy> {
    let looks = "nothing";
    let task = |it: &Waiter| match (it.task.process.pid, it.task.tid) {
        (pid, tid) if pid == tid => format!("cat /proc/{pid}/stack"),
        (pid, tid) => format!("cat /proc/{pid}/task/{tid}/stack"),
    };
    let waits = match seen.waiters.first() {
        Some(first) => ("See that it still waits there", task(first)),
        None => ("See who waits in the kernel for it", WAITERS.to_owned()),
    };
    vec![
        remedy(
            "See whether the kernel still waits (it says so every 10 s), and for which device",
            Risk::Safe,
            LINES,
            looks,
        ),
        remedy(waits.0, Risk::Safe, waits.1, looks),
        remedy(
            "Save the evidence: a reboot destroys it",
            Risk::Safe,
            "plegdoctor collect -o node.tar.gz",
            "nothing; some seconds, and it only reads",
        ),
        remedy(
            "Unmount what was mounted through the network of a pod that has ended, if there is such a mount",
            Risk::Disruptive,
            MOUNTS,
            "that mount; it helps only if it is what refers to the device, which the kernel does not say",
        ),
        remedy(
            "Reboot the node, best into a newer kernel, if it does not end",
            Risk::Node,
            REBOOT,
            "everything on the node ends; restarting the runtime frees nothing, for the lock is the kernel's",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::pressure::kernel_line;
    use crate::node::{OciCommand, State, Thread};
    use crate::rules::Trouble;
    use crate::rules::tests::*;

    /// A `runc init` of container `ID` that sleeps there and did not wake up, `seconds` old.
    fn init(function: &str, seconds: u64) -> Process {
        let mut init = process(
            31,
            30,
            "runc:[1:CHILD]",
            Role::OciRuntime(OciCommand::Init),
            seconds,
        );
        init.container = crate::syntax::id::ContainerId::parse(ID);
        init.threads.waiting = vec![Thread {
            tid: 31,
            state: State::Uninterruptible,
            wchan: Some(function.to_owned()),
            stack: Vec::new(),
            still: Some(Duration::from_secs(1)),
        }];
        init
    }

    /// A machine that runs Docker and these, on an old kernel that said so long ago, in seconds, that it waits for a device.
    fn machine(more: Vec<Process>, said: &[u64]) -> Host {
        let mut processes = vec![
            process(7, 1, "dockerd", Role::Dockerd, 900),
            process(8, 7, "containerd", Role::Containerd, 900),
        ];
        processes.extend(more);
        let up = Duration::from_secs(1000);
        let line = |ago: &u64| {
            let words = "unregister_netdevice: waiting for veth1 to become free. Usage count = 1";
            let record = format!("0,9,{},-;{words}", (1000 - ago) * 1_000_000);
            kernel_line(&record, Some(up))
        };
        Host {
            whole: true,
            kernel: Some("3.10.0-957.el7.x86_64".to_owned()),
            kernel_lines: said.iter().filter_map(line).collect(),
            ..host(processes)
        }
    }

    fn seen(host: Host, lines: &[String]) -> Evidence {
        Evidence {
            host: Some(host),
            ..evidence(lines, None)
        }
    }

    fn sandbox_late() -> Vec<String> {
        let call = format!("RunPodSandbox from runtime service failed: {DEADLINE}");
        vec![line("03:35:50", &call)]
    }

    #[test]
    fn the_kernels_words_and_who_waits_confirm_each_other() {
        let stuck = || vec![init(NAMESPACE, 90)];
        let found = only(&RULE, &seen(machine(stuck(), &[28, 18, 8]), &[]));
        assert_eq!(found.confidence, Confidence::Confirmed);
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(found.subjects[0].pid, Some(31));
        assert!(found.title.contains("veth1"), "{}", found.title);
        assert!(found.explanation.contains("3 times in the last minute"));
        // Once may be the end of it, unless calls time out.
        quiet(&RULE, &seen(machine(stuck(), &[8]), &[]));
        let once = only(&RULE, &seen(machine(stuck(), &[8]), &sandbox_late()));
        assert_eq!(once.confidence, Confidence::Confirmed);
        // It would have said so again.
        quiet(&RULE, &seen(machine(stuck(), &[41, 31, 21]), &[]));
        let over = only(
            &RULE,
            &seen(machine(stuck(), &[41, 31, 21]), &sandbox_late()),
        );
        assert_eq!(over.confidence, Confidence::Suspected);
        assert!(!over.explanation.contains("veth1"), "{}", over.explanation);
    }

    #[test]
    fn who_waits_for_a_moment_or_for_something_else_is_not_held_up() {
        let mut moment = init(NAMESPACE, 90);
        moment.threads.waiting[0].still = None;
        for process in [moment, init(NAMESPACE, 29), init("rtnl_lock", 90)] {
            let evidence = seen(machine(vec![process], &[18, 8]), &sandbox_late());
            quiet(&RULE, &evidence);
        }
    }

    #[test]
    fn an_outage_makes_it_critical() {
        let lines = [vec![status_deadline("03:37:50", ID)], outage()].concat();
        let found = only(
            &RULE,
            &seen(machine(vec![init(NAMESPACE, 200)], &[8]), &lines),
        );
        assert_eq!(found.severity, Severity::Critical);
        assert!(!found.spans.is_empty());
    }

    #[test]
    fn the_line_alone_counts_only_where_a_waiter_may_have_been_missed() {
        let hidden = |change: &dyn Fn(&mut Host)| {
            let mut host = machine(Vec::new(), &[18, 8]);
            host.whole = false;
            change(&mut host);
            seen(host, &sandbox_late())
        };
        let found = only(&RULE, &hidden(&|_| {}));
        assert_eq!(found.confidence, Confidence::Suspected);
        quiet(&RULE, &hidden(&|host| host.whole = true));
        quiet(
            &RULE,
            &hidden(&|host| host.kernel = Some("4.18.0-553.el8_10.x86_64".to_owned())),
        );
        quiet(&RULE, &hidden(&|host| host.kernel = None));
        quiet(
            &RULE,
            &hidden(&|host| host.processes.push(init("pipe_wait", 90))),
        );
        // … nor where another cause is seen at work.
        quiet(
            &RULE,
            &hidden(&|host| {
                host.processes[0].state = State::Stopped;
                host.processes[0].still = Some(Duration::from_secs(1));
            }),
        );
        // … nor without anyone who misses an answer.
        let calm = hidden(&|_| {});
        quiet(&RULE, &Evidence { log: None, ..calm });
    }

    #[test]
    fn a_new_kernel_is_told_apart_and_who_waits_for_the_device_waits_on_any() {
        let mut host = machine(vec![init(NAMESPACE, 90)], &[18, 8]);
        host.kernel = Some("5.15.0-91-generic".to_owned());
        let found = only(&RULE, &seen(host, &[]));
        assert!(found.explanation.contains("a third stands between"));
        let plugin = Process {
            role: Role::CniPlugin,
            ..init("netdev_run_todo", 90)
        };
        let found = only(&RULE, &seen(machine(vec![plugin], &[18, 8]), &[]));
        assert!(
            found
                .explanation
                .contains("The end of a network device is waited for")
        );
        assert!(!found.explanation.contains("On this kernel"));
    }

    #[test]
    fn threads_of_another_dockers_daemon_hold_nobody_up() {
        let thread = init(NAMESPACE, 90).threads;
        let with = |pid: u32| {
            let mut host = machine(Vec::new(), &[18, 8]);
            let other = process(90, 1, "dockerd", Role::Dockerd, 900);
            host.processes.push(other);
            host.processes[2].command = Some(vec![
                "dockerd".to_owned(),
                "-H".to_owned(),
                "unix:///srv/2.sock".to_owned(),
            ]);
            let mut daemons = host.processes.iter_mut();
            daemons.find(|it| it.pid == pid).unwrap().threads = thread.clone();
            seen(host, &[])
        };
        assert_eq!(only(&RULE, &with(7)).subjects[0].kind, SubjectKind::Daemon);
        quiet(&RULE, &with(90));
    }

    #[test]
    fn the_function_that_is_the_reason_is_told_from_those_on_the_way() {
        let at = |stack: &[&str]| {
            let stack: Vec<_> = stack.iter().map(|&it| it.to_owned()).collect();
            sleeps_in(Some("0"), &stack).map(str::to_owned)
        };
        for (stack, expected) in [
            (
                &["copy_net_ns", "create_new_namespaces"][..],
                Some("copy_net_ns"),
            ),
            (
                &["__switch_to", "__mutex_lock.isra.5", "copy_net_ns"],
                Some("copy_net_ns"),
            ),
            (
                &["call_rwsem_down_read_failed_killable", "copy_net_ns"],
                Some("copy_net_ns"),
            ),
            (
                &["msleep", "netdev_wait_allrefs.isra.0", "netdev_run_todo"],
                Some("netdev_wait_allrefs"),
            ),
            (&["rtnl_lock", "setup_net", "copy_net_ns"], None),
            (&["msleep", "ops_init", "setup_net", "copy_net_ns"], None),
            (&["mutex_lock", "rtnl_lock"], None),
        ] {
            assert_eq!(at(stack).as_deref(), expected, "{stack:?}");
        }
        assert_eq!(sleeps_in(Some("copy_net_ns"), &[]), Some("copy_net_ns"));
        assert_eq!(sleeps_in(Some("rwsem_down_read_slowpath"), &[]), None);
        assert_eq!(sleeps_in(None, &[]), None);
    }

    #[test]
    fn what_was_not_seen_or_may_pass_is_not_ruled_out() {
        let judged = |host: Host| {
            let evidence = seen(host, &outage());
            judge(&Scene::of(Trouble {
                evidence: &evidence,
                now: true,
                outage: None,
            }))
        };
        assert!(matches!(
            judged(machine(Vec::new(), &[8])),
            Judged::Out { .. }
        ));
        let mut blind = machine(Vec::new(), &[]);
        blind.whole = false;
        let Judged::Open { decide, .. } = judged(blind) else {
            panic!("not open");
        };
        assert!(decide.unwrap().contains("plegdoctor diagnose"));
        let mut shy = machine(Vec::new(), &[]);
        for process in &mut shy.processes {
            process.wchan = None;
        }
        for host in [shy, machine(vec![init(NAMESPACE, 2)], &[])] {
            let Judged::Open { decide, .. } = judged(host) else {
                panic!("not open");
            };
            assert!(decide.unwrap().contains("copy_net_ns"));
        }
    }
}
