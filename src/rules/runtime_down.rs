//! `runtime-down`: nothing answers on the runtime's socket.
//!
//! The kubelet's words "container runtime is down" alone decide nothing: it says so in a hang too.

mod crash_loop;
mod exit_status;

use super::support::answer::{Absent, Answer, Draft};
use super::support::calls::REFUSED as CALLS;
use super::support::case::Case;
use super::support::log_lines::LogMatches;
use super::support::remedies::{
    RuntimeKind, RuntimeStack, look_why_it_ended, remedy, start_runtime,
};
use super::support::wording::{probe_text, took};
use super::support::{cite, on_disk, step, subject};
use super::{Detection, Explains, Rule, Tier};
use crate::evidence::Evidence;
use crate::finding::{Remedy, Risk, Severity};
use crate::io::probe::Outcome;
use crate::kubelet::event::ErrorClass;
use crate::node::Role;
use crate::runtime::Call;
use crate::runtime::on_disk::{Disk, Liveness, OnDiskState};
use chrono::TimeDelta;
use crash_loop::CrashLoop;

pub(super) const RULE: Rule = Rule {
    id: "runtime-down",
    title: "The container runtime is down",
    page: include_str!("../../docs/findings/runtime-down.md"),
    explains: Explains::Lag,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// How long the kubelet waits for a runtime that does not answer before it calls it down
/// (kubernetes:pkg/kubelet/kubelet.go maxWaitForContainerRuntime).
const GRACE: TimeDelta = TimeDelta::seconds(30);

fn absent(case: &Case) -> Absent {
    let status = RuntimeStack::new(case.evidence).units().status();
    let absent = Absent::needs_runtime(status);
    let ping = case.runtime().map(|runtime| runtime.probe(Call::Ping));
    let absent = match ping {
        Some(ping) if ping.outcome == Outcome::Answered => {
            let because = format!("Docker answers a ping in {}", took(ping));
            absent.ruled_out(because, &["docker ping"])
        }
        // systemd holds the socket (docker.socket) where no daemon is behind it, or not yet.
        Some(ping) if ping.outcome == Outcome::TimedOut && is_deserted(case) => absent.left_open(
            "its socket accepts calls, and no dockerd is seen behind it",
            "systemctl status docker.socket docker --no-pager",
        ),
        // The call was not refused: the socket has its listener.
        Some(ping) if ping.outcome == Outcome::TimedOut => absent.ruled_out(
            "its socket accepts calls, though none is answered",
            &["docker ping"],
        ),
        _ => absent,
    };
    absent.no_line(
        CALLS,
        ErrorClass::Unavailable,
        "no connection was refused; with the runtime down every call would be",
    )
}

/// Whether all of the machine was seen, and no dockerd.
fn is_deserted(case: &Case) -> bool {
    let host = case.whole_host();
    host.is_some_and(|host| host.daemons(Role::Dockerd).next().is_none())
}

/// What the runtime does now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Down,
    /// It runs, and will end again.
    Between,
    Resolved,
}

fn evaluate(case: &Case) -> Answer {
    let evidence = case.evidence;
    let all = case.failed(CALLS, ErrorClass::Unavailable);
    let lines = all.latest();
    let runtime = evidence.runtime.as_ref();
    let ping = runtime.map(|runtime| runtime.probe(Call::Ping).outcome);
    // Whether a missing socket means anything is settled before: it is evidence only where this kubelet uses
    // Docker, else a gap and no runtime.
    let is_refused = ping == Some(Outcome::Refused);
    if lines.is_empty() && !is_refused {
        return absent(case).into();
    }
    let answers = ping == Some(Outcome::Answered) && is_dockers(&lines);
    // Docker lists without the containerd behind it.
    let lasts = match is_behind_docker(&lines) {
        true => lines.go_on(evidence),
        false => lines.keep_lists_away(evidence),
    };
    let lasts = !lines.is_empty() && lasts && !answers;
    let is_behind = !is_refused && is_behind_docker(&lines);
    let crash_loop = CrashLoop::new(evidence, &lines).filter(|_| !is_behind);
    let continues = crash_loop.as_ref().is_some_and(|it| it.continues(evidence));
    let moment = match (is_refused || lasts, continues) {
        (true, _) => Moment::Down,
        (false, true) => Moment::Between,
        (false, false) => Moment::Resolved,
    };
    if moment == Moment::Resolved && was_restarted(case, &all) {
        return absent(case).into();
    }
    let title = match moment {
        Moment::Down if is_behind => "containerd, behind Docker, is down",
        Moment::Down => "The container runtime is down",
        Moment::Between => "The container runtime ends again and again",
        Moment::Resolved if crash_loop.is_some() => {
            "The container runtime ended again and again for a time"
        }
        Moment::Resolved => "The container runtime was down for a time",
    };
    let (sentences, steps) = match is_behind {
        true => (behind_docker(evidence, &lines, moment), start_containerd()),
        false => {
            let start = (moment == Moment::Down).then(|| start_runtime(evidence));
            let steps = [look_why_it_ended(evidence)].into_iter().chain(start);
            let sentences = describe(evidence, &lines, is_refused, crash_loop.as_ref(), moment);
            (sentences, steps.collect())
        }
    };
    let (end, end_cited) = exit_status::from_log(case, &lines).unzip();
    let ping =
        runtime.map(|runtime| cite::probe("docker ping", runtime, runtime.probe(Call::Ping)));
    Draft::new(Severity::Critical, title)
        .active(moment != Moment::Resolved)
        .say(sentences)
        .say(end.unwrap_or_default())
        .about([subject::daemon(daemon(evidence, is_behind))])
        .cite(lines.cite(5))
        .cite(end_cited.unwrap_or_default())
        .cite(ping)
        .confirmed_if(is_refused && lasts)
        .spans(&all)
        .steps(steps)
        .into()
}

/// The name of what is down.
fn daemon(evidence: &Evidence, is_behind_docker: bool) -> &'static str {
    let stack = RuntimeStack::new(evidence);
    match stack.kind {
        _ if is_behind_docker => "containerd",
        Some(RuntimeKind::Docker) if stack.lacks_cri_dockerd => "cri-dockerd",
        Some(RuntimeKind::Docker) => "dockerd",
        Some(RuntimeKind::Containerd) => "containerd",
        Some(RuntimeKind::CriO) => "crio",
        None => "container runtime",
    }
}

/// What the last of these lines says went wrong.
fn last_error<'a>(lines: &LogMatches<'a>) -> &'a str {
    lines.last_error().map_or("", |error| &error.text)
}

/// Whether Docker answered, and says that it cannot reach its containerd.
fn is_behind_docker(lines: &LogMatches) -> bool {
    let text = last_error(lines);
    text.contains("Error response from daemon") && text.contains("containerd.sock")
}

fn behind_docker(evidence: &Evidence, lines: &LogMatches, moment: Moment) -> String {
    let resolved = match moment {
        Moment::Resolved => " It is resolved.",
        _ => "",
    };
    format!(
        "Docker answers the kubelet, but could not reach containerd's socket ({}). Lists and inspects need no containerd, so relists may continue; each start and stop needs it.{resolved}",
        lines.summary(evidence)
    )
}

fn start_containerd() -> Vec<Remedy> {
    vec![
        step::look(
            "See why it ended",
            "systemctl status containerd --no-pager; journalctl -u containerd -n 100 --no-pager",
        ),
        remedy(
            "Start it",
            Risk::Node,
            "systemctl start containerd",
            "little: it is not running; containers keep running, and Docker finds them again",
        ),
    ]
}

/// Whether the log shows only that the runtime was away for a moment, as for an upgrade, without harm.
fn was_restarted(case: &Case, all: &LogMatches) -> bool {
    let is_moment = all.length().is_some_and(|length| length < GRACE);
    let has_none = case.log().is_some_and(|log| log.incidents.is_empty());
    is_moment && !all.go_on(case.evidence) && has_none
}

/// Whether it was Docker's own socket that did not answer, so that Docker's answer now ends it. Between the kubelet
/// and Docker may stand cri-dockerd, which can be down alone.
fn is_dockers(lines: &LogMatches) -> bool {
    let text = last_error(lines);
    text.contains("docker.sock") || text.contains("Docker daemon") || !text.contains(".sock")
}

fn describe(
    evidence: &Evidence,
    lines: &LogMatches,
    is_refused: bool,
    crash_loop: Option<&CrashLoop>,
    moment: Moment,
) -> String {
    let mut text = Vec::new();
    if let (true, Some(runtime)) = (is_refused, &evidence.runtime) {
        let how = probe_text(runtime.probe(Call::Ping));
        text.push(format!("Nothing answers on {}: {how}.", runtime.endpoint));
    }
    if !lines.is_empty() {
        let what = match crash_loop {
            Some(_) => "The runtime's socket refused the kubelet's calls",
            None => "The kubelet could not reach its runtime's socket",
        };
        text.push(format!("{what} ({}).", lines.summary(evidence)));
    }
    text.extend(crash_loop.map(|it| it.describe(evidence)));
    let effect = match moment {
        Moment::Down => {
            "Without a runtime the kubelet cannot list any container, so its relist fails and the node is NotReady. Running containers may keep running, unsupervised."
        }
        Moment::Between => {
            "It is restarted each time, and what ends it will do so again. While it is down the kubelet cannot list any container, so its relist fails."
        }
        Moment::Resolved => {
            "It is resolved. Meanwhile the kubelet could not list any container, so its relist failed."
        }
    };
    text.push(effect.to_owned());
    if let (true, Some((disk, states))) = (is_refused, on_disk::listed(evidence)) {
        text.push(on_disk::summed_up(disk, &states));
        text.extend(left_running(disk, &states));
    }
    text.join(" ")
}

/// What becomes of the containers that run on without the daemon, once it is started again: without live-restore it
/// ends them (moby daemon/daemon.go restore).
fn left_running(disk: &Disk, states: &[&OnDiskState]) -> Option<String> {
    let running = states.iter().filter(|one| one.life == Liveness::There);
    let there = running.count();
    let sentence = match disk.live_restore {
        _ if there == 0 => return None,
        Some(true) => "live-restore is on: it takes them over when it is started again.",
        Some(false) => {
            "live-restore is not set in its settings: unless its command line sets it, it ends them when it is started again."
        }
        None => "Unless live-restore is on, it ends them when it is started again.",
    };
    Some(sentence.to_owned())
}
