//! `hung-runtime`: the daemon takes connections and does not answer, or only in part.

use super::{
    Rule, cite_groups, cite_probe, clock, daemon, first_of,
    hung_container::WHOLE_RUNTIME,
    last_of, lasts, lines_of,
    remedies::{restart_runtime, save_stacks},
};
use crate::{
    digest::Group,
    event::{ErrorClass, Kind},
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity},
    runtime::{Outcome, Probe, Runtime},
};

pub(super) const RULE: Rule = Rule {
    id: "hung-runtime",
    title: "The container runtime takes requests and does not answer them",
    explains: true,
    check,
};

/// So many containers must be silent, and none answer, before the daemon is blamed rather than a container.
const SILENT: usize = 3;

fn check(evidence: &Evidence) -> Vec<Finding> {
    let logged: Vec<&Group> = evidence
        .log
        .iter()
        .flat_map(|log| log.failed(WHOLE_RUNTIME, ErrorClass::Deadline))
        .collect();
    let runtime = evidence.runtime.as_ref();
    let silent = runtime.map(silent_calls).unwrap_or_default();
    if logged.is_empty() && silent.is_empty() {
        return Vec::new();
    }
    let active = match runtime {
        _ if !silent.is_empty() => true,
        Some(runtime)
            if calls(runtime)
                .iter()
                .all(|(_, probe)| probe.outcome == Outcome::Answered) =>
        {
            false
        }
        _ => lasts(evidence, last_of(&logged)),
    };
    let mut citations = cite_groups(&logged, 6);
    if let Some(runtime) = runtime {
        citations.extend(
            calls(runtime)
                .iter()
                .map(|(call, probe)| cite_probe(call, runtime, probe)),
        );
    }
    let confirmed = !silent.is_empty() && !logged.is_empty();
    vec![Finding {
        id: RULE.id,
        title: title(&logged, &silent, active),
        severity: Severity::Critical,
        confidence: if confirmed {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active,
        explanation: explain(evidence, &logged, &silent),
        subjects: vec![daemon(if partly(&logged, &silent) {
            "containerd"
        } else {
            "dockerd"
        })],
        citations,
        remedies: if active {
            remedies(evidence, partly(&logged, &silent))
        } else {
            Vec::new()
        },
    }]
}

/// Returns the daemon's own calls.
fn calls(runtime: &Runtime) -> [(&'static str, &Probe); 4] {
    [
        ("docker ping", &runtime.ping),
        ("docker version", &runtime.version_probe),
        ("docker info", &runtime.info),
        ("docker ps -a", &runtime.list),
    ]
}

/// Returns the calls that got no answer. Containers count only if none of them answered.
fn silent_calls(runtime: &Runtime) -> Vec<&'static str> {
    let timed_out = |probe: &Probe| probe.outcome == Outcome::TimedOut;
    let mut silent: Vec<_> = calls(runtime)
        .into_iter()
        .filter(|(_, probe)| timed_out(probe))
        .map(|(call, _)| call)
        .collect();
    let inspects = runtime
        .containers
        .iter()
        .filter(|c| timed_out(&c.probe))
        .count();
    let answered = runtime
        .containers
        .iter()
        .any(|c| c.probe.outcome == Outcome::Answered);
    if silent.is_empty() && inspects >= SILENT && !answered {
        silent.push("docker inspect (of every container)");
    }
    silent
}

/// Whether lists work and only what asks containerd hangs: `/version` and `/info` do, lists and inspects do not.
fn partly(logged: &[&Group], silent: &[&str]) -> bool {
    let lists = |g: &&&Group| {
        matches!(
            g.first.kind,
            Kind::ListSandboxesFailed | Kind::ListContainersFailed | Kind::RelistFailed
        )
    };
    if silent.is_empty() {
        return !logged.iter().any(|group| lists(&group));
    }
    !silent.iter().any(|call| {
        ["docker ping", "docker ps -a"].contains(call) || call.starts_with("docker inspect")
    })
}

fn title(logged: &[&Group], silent: &[&str], active: bool) -> String {
    let which = if partly(logged, silent) {
        "part of its calls"
    } else {
        "its calls"
    };
    if active {
        format!("The container runtime does not answer {which}")
    } else {
        format!("The container runtime did not answer {which} for a time")
    }
}

fn explain(evidence: &Evidence, logged: &[&Group], silent: &[&str]) -> String {
    let mut text = Vec::new();
    if !silent.is_empty() {
        let waited = evidence
            .runtime
            .as_ref()
            .map_or(0.0, |runtime| runtime.probe_timeout.as_secs_f64());
        text.push(format!(
            "The daemon gave no answer in {waited:.1} s to: {}.",
            silent.join(", ")
        ));
    }
    if let Some(first) = first_of(logged) {
        let (first, last, lines) = (clock(Some(first)), clock(last_of(logged)), lines_of(logged));
        text.push(format!(
            "The kubelet's calls that concern the whole runtime timed out from {first} to {last} ({lines})."
        ));
    }
    text.push(if partly(logged, silent) {
        "Listing containers still works, but asking the runtime for its version and state hangs: Docker passes those on to containerd. The kubelet then says \"container runtime is down\" and the node goes NotReady, mostly without a PLEG line."
    } else {
        "The kubelet cannot list the node's containers, so its relist never succeeds and the node goes NotReady after 3 minutes."
    }.to_owned());
    text.join(" ")
}

fn remedies(evidence: &Evidence, partly: bool) -> Vec<Remedy> {
    let look = Remedy {
        title: "See whether the daemon is stopped (T), sleeps on a disk (D) or is starved"
            .to_owned(),
        risk: Risk::Safe,
        command: "ps -eo pid,stat,etime,wchan:24,args | grep -E '[d]ockerd|[c]ontainerd( |$)'"
            .to_owned(),
        cost: "nothing; a daemon in state T goes on with: kill -CONT PID".to_owned(),
    };
    let containerd = Remedy {
        title: "Restart containerd".to_owned(),
        risk: Risk::Node,
        command: "systemctl restart containerd".to_owned(),
        cost: "containers go on running; calls in flight fail".to_owned(),
    };
    let mut remedies = vec![look, save_stacks(evidence)];
    remedies.extend(partly.then_some(containerd));
    remedies.push(restart_runtime(evidence));
    remedies
}
