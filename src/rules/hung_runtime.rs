//! `hung-runtime`: the daemon takes connections and does not answer, or only in part.

mod scattered;
mod starts;

pub(super) use starts::is_slow_start;

use super::{
    cite_probe, clock, count, daemon,
    daemon_stacks::{cite, waited_for_kind},
    lines::Lines,
    remedies::{
        RuntimeKind, cost_of_containerd, restart, restart_runtime, runtime_kind, save_stacks,
    },
    support::old_form::{Bearing, Judged, OldRule as Rule, Scene},
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Variant, action::Unit},
    io::probe::{Outcome, Probe},
    kubelet::event::{ErrorClass, Kind},
    runtime::{Call, Runtime},
    syntax::citation::Citation,
};

pub(super) const RULE: Rule = Rule {
    id: "hung-runtime",
    title: "The container runtime takes requests and does not answer them",
    explains: true,
    bearing: Bearing {
        behind: &["hung-container", "not-pleg"],
        feeds: &[],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/hung-runtime.md"),
    check,
};

/// The calls that time out for all when the runtime as a whole hangs.
pub(super) const CALLS: &[Kind] = &[
    Kind::ListSandboxesFailed,
    Kind::ListContainersFailed,
    Kind::ListStreamFailed,
    Kind::RelistFailed,
    Kind::RuntimeVersionFailed,
    Kind::RuntimeStatusFailed,
    Kind::RuntimeSanityFailed,
];
/// So many containers must be silent, and none answer, before the daemon is blamed rather than a container.
const SILENT: usize = 3;

/// What of the runtime does not answer; the first that is true.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It cannot even list.
    Lists,
    /// It lists, and no inspect of any container answers.
    Inspects,
    /// It lists and inspects; what concerns the daemon itself hangs.
    Itself,
}

fn judge(scene: &Scene) -> Judged {
    let answers = |runtime: &&Runtime| {
        let mut calls = runtime.own_calls();
        calls.all(|(_, probe)| probe.outcome == Outcome::Answered)
    };
    if let Some(runtime) = scene.runtime().filter(answers) {
        let longest = runtime.own_calls().map(|(_, probe)| probe.took).max();
        let millis = longest.unwrap_or_default().as_millis().max(1);
        let because = format!(
            "Docker answers a ping, its version, its state and its list, in {millis} ms at most"
        );
        return Judged::out(because, "docker list");
    }
    let ping = scene
        .runtime()
        .map(|runtime| runtime.probe(Call::Ping).outcome);
    if ping == Some(Outcome::Refused) {
        let because = "its socket refuses each call at once: nobody is there to hang";
        return Judged::out(because, "docker ping");
    }
    match scene.without(CALLS, ErrorClass::Deadline) {
        Some((log, outage)) if outage.rises > 1 => {
            let times = outage.rises - 1;
            let times = if times == 1 {
                "once".to_owned()
            } else {
                format!("{times} times")
            };
            Judged::silent(
                log,
                &format!(
                    "no list timed out, and the lag fell back {times}: then a list had succeeded"
                ),
            )
        }
        Some((log, outage)) if outage.status_deadlines > 0 => {
            Judged::silent(log, "no list timed out, while statuses did")
        }
        _ => scene.needs_runtime("timeout 10 docker ps -a"),
    }
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let all = Lines::failed(evidence, CALLS, ErrorClass::Deadline);
    let logged = all.latest();
    let runtime = evidence.runtime.as_ref();
    let silent = runtime.map(silent_calls).unwrap_or_default();
    if logged.is_empty() && silent.is_empty() {
        let slow = scattered::told(evidence).or_else(|| starts::slow(evidence));
        return slow.into_iter().collect();
    }
    let well = runtime.is_some_and(|r| r.own_calls().all(|(_, p)| p.outcome == Outcome::Answered));
    let part = part(&logged, &silent);
    let goes_on = match part {
        Part::Lists => logged.keep_lists_away(evidence),
        Part::Inspects | Part::Itself => logged.go_on(evidence),
    };
    let goes_on = !logged.is_empty() && goes_on;
    let active = !silent.is_empty() || (goes_on && !well);
    let mut citations = logged.cite(6);
    if let Some(runtime) = runtime {
        citations.extend(
            runtime
                .own_calls()
                .map(|(call, probe)| cite_probe(&format!("docker {call}"), runtime, probe)),
        );
    }
    let outage = evidence
        .log
        .as_ref()
        .is_some_and(|log| !log.incidents.is_empty());
    let mut explanation = explain(evidence, &logged, &silent, part, active);
    let told = runtime.filter(|_| !silent.is_empty()).and_then(most_wait);
    if let Some((sentence, citation)) = told {
        explanation = format!("{explanation} {sentence}");
        citations.push(citation);
    }
    vec![Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: title(part, active),
        // One time-out that passed is no outage.
        severity: if active || outage || part == Part::Itself {
            Severity::Critical
        } else {
            Severity::Warning
        },
        confidence: if goes_on && !silent.is_empty() {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active,
        explanation,
        subjects: vec![daemon(culprit(evidence, part))],
        citations,
        remedies: if active {
            remedies(evidence, part)
        } else {
            Vec::new()
        },
        spans: all.spans(),
    }]
}

/// Returns the calls that got no answer. Containers count only if all were asked and none answered.
fn silent_calls(runtime: &Runtime) -> Vec<Call> {
    let timed_out = |probe: &Probe| probe.outcome == Outcome::TimedOut;
    let own = runtime.own_calls().filter(|(_, probe)| timed_out(probe));
    let mut silent: Vec<_> = own.map(|(call, _)| call).collect();
    let containers: Vec<_> = runtime.told().collect();
    if silent.is_empty()
        && containers.len() >= SILENT
        && containers.iter().all(|c| timed_out(&c.probe))
    {
        silent.push(Call::Inspect);
    }
    silent
}

/// `/version` and `/info` ask containerd; lists do not (seen with containerd stopped).
fn part(logged: &Lines, silent: &[Call]) -> Part {
    if silent.contains(&Call::List)
        || (silent.is_empty() && logged.0.iter().any(|g| g.first.kind.is_list()))
    {
        Part::Lists
    } else if silent.contains(&Call::Inspect) {
        Part::Inspects
    } else {
        Part::Itself
    }
}

/// Returns the daemon to look at.
fn culprit(evidence: &Evidence, part: Part) -> &'static str {
    match (runtime_kind(evidence), part) {
        (Some(RuntimeKind::Docker), Part::Lists | Part::Inspects) => "dockerd",
        (Some(RuntimeKind::Docker), Part::Itself) | (Some(RuntimeKind::Containerd), _) => {
            "containerd"
        }
        (Some(RuntimeKind::CriO), _) => "crio",
        (None, _) => "container runtime",
    }
}

fn title(part: Part, active: bool) -> String {
    let calls = if part == Part::Lists {
        "the list of containers"
    } else {
        "part of its calls"
    };
    if active {
        format!("The container runtime does not answer {calls}")
    } else {
        format!("The container runtime did not answer {calls} for a time")
    }
}

fn explain(
    evidence: &Evidence,
    logged: &Lines,
    silent: &[Call],
    part: Part,
    active: bool,
) -> String {
    let mut text = Vec::new();
    if !silent.is_empty() {
        let waited = evidence
            .runtime
            .as_ref()
            .map_or(0.0, |runtime| runtime.probe_timeout.as_secs_f64());
        let silent: Vec<_> = silent
            .iter()
            .map(|call| match call {
                Call::Inspect => "docker inspect of every container".to_owned(),
                own => format!("docker {own}"),
            })
            .collect();
        text.push(format!(
            "The daemon gave no answer in {waited:.1} s to: {}.",
            silent.join(", ")
        ));
    }
    if !logged.is_empty() {
        let (first, last) = (
            clock(evidence, logged.first()),
            clock(evidence, logged.last()),
        );
        let lines = logged.counted();
        text.push(format!("The kubelet's calls that concern the whole runtime timed out ({lines}, {first} to {last})."));
    }
    let why = match (part, active) {
        (Part::Lists, true) => {
            "The kubelet cannot list the node's containers, so its relist does not succeed and the node goes NotReady after 3 minutes."
        }
        (Part::Lists, false) => {
            "While it lasted the kubelet could not list the node's containers, and its relist did not succeed."
        }
        (Part::Inspects, _) => {
            "It lists the containers, but tells the state of none, so the kubelet's relist waits for each of them."
        }
        (Part::Itself, _) if runtime_kind(evidence) == Some(RuntimeKind::Docker) => {
            "Listing containers works, but asking the runtime for its version and state hangs: Docker passes those on to containerd. The kubelet then says \"container runtime is down\" and the node goes NotReady, mostly without a PLEG line."
        }
        (Part::Itself, _) => {
            "Asking the runtime for its version and state hangs. The kubelet then says \"container runtime is down\" and the node goes NotReady, mostly without a PLEG line."
        }
    };
    text.push(why.to_owned());
    text.join(" ")
}

/// Returns what most of the daemon's calls wait for, by its own stacks; `None` if that is not clear.
fn most_wait(runtime: &Runtime) -> Option<(String, Citation)> {
    let calls = &runtime.docker().stacks.as_ref()?.stacks.calls;
    let of = |name: &str| calls.iter().filter(|c| c.waits.name() == name).count();
    let most = calls.iter().max_by_key(|call| of(call.waits.name()))?;
    // Not all of them need be in the same call of containerd, or in the same driver.
    let (number, what) = (of(most.waits.name()), waited_for_kind(&most.waits)?);
    if number * 2 <= calls.len() {
        return None;
    }
    let sentence = format!(
        "dockerd's own stacks: of {} in progress, {number} {} for {what}.",
        count(calls.len(), "call"),
        if number == 1 { "waits" } else { "wait" },
    );
    let cited: Vec<_> = calls
        .iter()
        .filter(|call| call.waits.name() == most.waits.name())
        .collect();
    Some((sentence, cite(runtime, &cited)))
}

fn remedies(evidence: &Evidence, part: Part) -> Vec<Remedy> {
    let look = Remedy {
        title: "See whether the daemon is stopped (T), sleeps on a disk (D) or is starved".to_owned(),
        risk: Risk::Safe,
        command: "ps -eo pid,stat,etime,wchan:24,args | grep -E '[d]ockerd|[c]ontainerd( |$)|[c]rio( |$)'".to_owned(),
        cost: "nothing; a daemon in state T goes on with: kill -CONT PID".to_owned(),
        actions: Vec::new(),
    };
    let containerd = Remedy {
        title: "Restart containerd".to_owned(),
        risk: Risk::Node,
        command: "systemctl restart containerd".to_owned(),
        cost: cost_of_containerd(evidence),
        actions: restart(evidence, Unit::Containerd),
    };
    let mut remedies = vec![look, save_stacks(evidence)];
    remedies.extend(
        (part == Part::Itself && runtime_kind(evidence) == Some(RuntimeKind::Docker))
            .then_some(containerd),
    );
    remedies.push(restart_runtime(evidence));
    remedies
}
