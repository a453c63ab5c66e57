//! `runtime-down`: nothing answers on the runtime's socket.
//!
//! The kubelet's words "container runtime is down" alone decide nothing: it says so in a hang too.

mod again;
mod ended;

use super::lines::Lines;
use super::remedies::{RuntimeKind, RuntimeStack, look_why_it_ended, remedy, start_runtime};
use super::support::calls::REFUSED as CALLS;
use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{cite_probe, clock, daemon, probe_text, stored, took};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Variant};
use crate::io::probe::Outcome;
use crate::kubelet::event::ErrorClass;
use crate::node::Role;
use crate::runtime::Call;
use crate::runtime::on_disk::{Disk, Liveness, OnDiskState};
use again::Again;
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "runtime-down",
    title: "The container runtime is down",
    explains: true,
    bearing: Bearing {
        behind: &["not-pleg"],
        feeds: &[],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/runtime-down.md"),
    check,
};

/// For so long the kubelet grants a runtime that it does not answer before it calls it down
/// (kubernetes:pkg/kubelet/kubelet.go maxWaitForContainerRuntime).
const GRANTED: TimeDelta = TimeDelta::seconds(30);

fn judge(scene: &Scene) -> Judged {
    match scene.runtime().map(|runtime| runtime.probe(Call::Ping)) {
        Some(ping) if ping.outcome == Outcome::Answered => {
            return Judged::out(
                format!("Docker answers a ping in {}", took(ping)),
                "docker ping",
            );
        }
        // systemd holds the socket (docker.socket) where nobody is behind it, or not yet.
        Some(ping) if ping.outcome == Outcome::TimedOut && is_deserted(scene) => {
            return scene.open(
                "its socket takes calls, and no dockerd is seen behind it",
                "systemctl status docker.socket docker --no-pager",
            );
        }
        // Nobody refused the call: the socket has its listener.
        Some(ping) if ping.outcome == Outcome::TimedOut => {
            return Judged::out(
                "its socket takes calls, though none is answered",
                "docker ping",
            );
        }
        _ => {}
    }
    match scene.without(CALLS, ErrorClass::Unavailable) {
        Some((log, _)) => Judged::silent(log, "no call was refused, and without a runtime each is"),
        None => scene.needs_runtime(&RuntimeStack::new(scene.evidence).units().status()),
    }
}

/// Whether all of the machine was seen, and no dockerd.
fn is_deserted(scene: &Scene) -> bool {
    let host = scene.whole_host();
    host.is_some_and(|host| host.daemons(Role::Dockerd).next().is_none())
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let all = Lines::failed(evidence, CALLS, ErrorClass::Unavailable);
    let logged = all.latest();
    let runtime = evidence.runtime.as_ref();
    // Whether a missing socket means anything is settled before: it is evidence only where this kubelet uses
    // Docker, else a gap and no runtime.
    let refused = runtime.filter(|runtime| runtime.probe(Call::Ping).outcome == Outcome::Refused);
    if logged.is_empty() && refused.is_none() {
        return Vec::new();
    }
    let answers = runtime.is_some_and(|r| r.probe(Call::Ping).outcome == Outcome::Answered)
        && is_dockers(&logged);
    // Docker lists without the containerd behind it.
    let goes_on = match is_behind_docker(&logged) {
        true => logged.go_on(evidence),
        false => logged.keep_lists_away(evidence),
    };
    let goes_on = !logged.is_empty() && goes_on && !answers;
    let behind = refused.is_none() && is_behind_docker(&logged);
    let again = Again::of(evidence, &logged).filter(|_| !behind);
    let comes_again = again.as_ref().is_some_and(|again| again.goes_on(evidence));
    let active = refused.is_some() || goes_on || comes_again;
    if !active && was_restarted(evidence, &all) {
        return Vec::new();
    }
    let mut citations = logged.cite(5);
    let ended = ended::told(evidence, &logged);
    citations.extend(ended.iter().flat_map(|(_, cited)| cited.clone()));
    citations.extend(
        runtime.map(|runtime| cite_probe("docker ping", runtime, runtime.probe(Call::Ping))),
    );
    let setup = RuntimeStack::new(evidence);
    let name = match setup.kind {
        _ if behind => "containerd",
        Some(RuntimeKind::Docker) if setup.lacks_cri_dockerd => "cri-dockerd",
        Some(RuntimeKind::Docker) => "dockerd",
        Some(RuntimeKind::Containerd) => "containerd",
        Some(RuntimeKind::CriO) => "crio",
        None => "container runtime",
    };
    let title = if behind && active {
        "containerd, behind Docker, is down"
    } else if refused.is_some() || goes_on {
        "The container runtime is down"
    } else if comes_again {
        "The container runtime ends again and again"
    } else if again.is_some() {
        "The container runtime ended again and again for a time"
    } else {
        "The container runtime was down for a time"
    };
    vec![Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: title.to_owned(),
        severity: Severity::Critical,
        confidence: if refused.is_some() && goes_on {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active,
        explanation: match behind {
            true => explain_behind(evidence, &logged, active),
            false => {
                let moment = match (refused.is_some() || goes_on, comes_again) {
                    (true, _) => Moment::RuntimeOutage,
                    (false, true) => Moment::Between,
                    (false, false) => Moment::Over,
                };
                explain(evidence, &logged, refused.is_some(), again.as_ref(), moment)
            }
        } + &ended.map_or_else(String::new, |(how, _)| format!(" {how}")),
        subjects: vec![daemon(name)],
        citations,
        remedies: if active && behind {
            start_containerd()
        } else if active {
            let start = Some(start_runtime(evidence)).filter(|_| refused.is_some() || goes_on);
            [look_why_it_ended(evidence)]
                .into_iter()
                .chain(start)
                .collect()
        } else {
            Vec::new()
        },
        spans: all.spans(),
    }]
}

/// Returns what the last of these lines says went wrong.
fn last_error<'a>(logged: &Lines<'a>) -> &'a str {
    let last = logged.0.iter().max_by_key(|group| group.last.at);
    last.and_then(|group| group.last.error.as_ref())
        .map_or("", |error| &error.text)
}

/// Whether Docker answered, and says that it cannot reach its containerd.
fn is_behind_docker(logged: &Lines) -> bool {
    let text = last_error(logged);
    text.contains("Error response from daemon") && text.contains("containerd.sock")
}

fn explain_behind(evidence: &Evidence, logged: &Lines, active: bool) -> String {
    let (first, last) = (
        clock(evidence, logged.first()),
        clock(evidence, logged.last()),
    );
    let lines = logged.counted();
    let over = if active { "" } else { " It is resolved." };
    format!(
        "Docker answers the kubelet, but could not reach containerd's socket from {first} to {last} ({lines}). Lists and inspects need no containerd, so relists may continue; each start and stop needs it.{over}"
    )
}

fn start_containerd() -> Vec<Remedy> {
    vec![
        remedy(
            "See why it ended",
            Risk::Safe,
            "systemctl status containerd --no-pager; journalctl -u containerd -n 100 --no-pager",
            "nothing",
        ),
        remedy(
            "Start it",
            Risk::Node,
            "systemctl start containerd",
            "little: it is not running; containers keep running, and Docker finds them again",
        ),
    ]
}

/// Whether all that the log tells is that the runtime was away for a moment, as for an upgrade: nobody was harmed.
fn was_restarted(evidence: &Evidence, all: &Lines) -> bool {
    let moment = all
        .first()
        .zip(all.last())
        .is_some_and(|(first, last)| last - first < GRANTED);
    let log = evidence.log.as_ref();
    moment && !all.go_on(evidence) && log.is_some_and(|log| log.incidents.is_empty())
}

/// Whether it was Docker's own socket that did not answer, so that Docker's answer now ends it. Between the kubelet
/// and Docker may stand cri-dockerd, which can be down by itself.
fn is_dockers(logged: &Lines) -> bool {
    let text = last_error(logged);
    text.contains("docker.sock") || text.contains("Docker daemon") || !text.contains(".sock")
}

/// When we look.
#[derive(Clone, Copy)]
enum Moment {
    RuntimeOutage,
    /// It runs, and will end again.
    Between,
    Over,
}

fn explain(
    evidence: &Evidence,
    logged: &Lines,
    refused: bool,
    again: Option<&Again>,
    moment: Moment,
) -> String {
    let mut text = Vec::new();
    if let (true, Some(runtime)) = (refused, &evidence.runtime) {
        let how = probe_text(runtime.probe(Call::Ping));
        text.push(format!("Nothing answers on {}: {how}.", runtime.endpoint));
    }
    if !logged.is_empty() {
        let (first, last) = (
            clock(evidence, logged.first()),
            clock(evidence, logged.last()),
        );
        let lines = logged.counted();
        text.push(match again {
            Some(_) => format!(
                "The runtime's socket refused the kubelet's calls between {first} and {last} ({lines})."
            ),
            None => format!(
                "The kubelet could not reach its runtime's socket from {first} to {last} ({lines})."
            ),
        });
    }
    text.extend(again.map(|again| again.told(evidence)));
    let why = match moment {
        Moment::RuntimeOutage => {
            "Without a runtime the kubelet cannot list any container, so its relist fails and the node is NotReady. Running containers may keep running, unsupervised."
        }
        Moment::Between => {
            "It is started each time, and what ends it will do so again. While it is away the kubelet cannot list any container, so its relist fails."
        }
        Moment::Over => {
            "It is resolved. Meanwhile the kubelet could not list any container, so its relist failed."
        }
    };
    text.push(why.to_owned());
    if let (true, Some((disk, stored))) = (refused, stored::listed(evidence)) {
        text.push(stored::summed_up(disk, &stored));
        text.extend(left_running(disk, &stored));
    }
    text.join(" ")
}

/// Returns what becomes of the containers that run on without the daemon, once it is started again: without
/// live-restore it ends them (moby daemon/daemon.go restore).
fn left_running(disk: &Disk, stored: &[&OnDiskState]) -> Option<String> {
    let there = stored
        .iter()
        .filter(|one| one.life == Liveness::There)
        .count();
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
