//! `pleg-unexplained`: the PLEG was unhealthy and no rule can say why. Says what was ruled out, and what to
//! save before anybody restarts anything.

use super::{RULES, Rule, clock, lasts, node, remedies::save_stacks};
use crate::{
    digest::{Group, Log},
    duration,
    event::{Kind, Time},
    evidence::Evidence,
    finding::{Citation, Confidence, Finding, Remedy, Risk, Severity},
    incident::{CALL_TIMEOUT, Incident},
    runtime::Outcome,
};

pub(super) const RULE: Rule = Rule {
    id: "pleg-unexplained",
    title: "The PLEG was unhealthy and the evidence does not tell why",
    explains: false,
    check,
};

fn check(evidence: &Evidence) -> Vec<Finding> {
    let Some(log) = &evidence.log else {
        return Vec::new();
    };
    let causes: Vec<Finding> = RULES
        .iter()
        .filter(|rule| rule.explains)
        .flat_map(|rule| (rule.check)(evidence))
        .collect();
    let open: Vec<&Incident> = log
        .incidents
        .iter()
        .filter(|incident| !explained(incident, &causes))
        .collect();
    if let Some(last) = open.last() {
        return vec![tell(evidence, log, last, open.len())];
    }
    // A condition pasted by itself has no time and makes no incident.
    let untimed = log
        .of(&[Kind::PlegStale])
        .find(|group| group.first.at.is_none());
    untimed
        .filter(|_| log.incidents.is_empty() && causes.is_empty())
        .map(|group| tell_untimed(evidence, group))
        .into_iter()
        .collect()
}

/// Whether a finding speaks of the incident's time, or of the present while the incident goes on.
fn explained(incident: &Incident, causes: &[Finding]) -> bool {
    let near = |time: Time| {
        time >= incident.start - CALL_TIMEOUT && time <= incident.last_line + CALL_TIMEOUT
    };
    causes.iter().any(|cause| {
        if incident.ongoing {
            cause.active
        } else {
            cause
                .citations
                .iter()
                .any(|citation| !citation.is_call && citation.time.is_some_and(near))
        }
    })
}

fn tell(evidence: &Evidence, log: &Log, incident: &Incident, number: usize) -> Finding {
    let active = incident.ongoing && lasts(evidence, Some(incident.last_line));
    let more = if number > 1 {
        format!(" So it was in {} other outages.", number - 1)
    } else {
        String::new()
    };
    Finding {
        id: RULE.id,
        title: if active {
            "The PLEG is unhealthy, and the evidence does not tell why"
        } else {
            RULE.title
        }
        .to_owned(),
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active,
        explanation: format!(
            "No relist succeeded from {} on; the lag reached {}. {}{more} Save the evidence below before anybody restarts anything.",
            clock(Some(incident.start)),
            duration::human(incident.peak_lag),
            ruled_out(evidence, log),
        ),
        subjects: vec![node(evidence)],
        citations: cite(incident),
        remedies: remedies(evidence),
    }
}

fn tell_untimed(evidence: &Evidence, group: &Group) -> Finding {
    let lag = group.last.lag.map(duration::human).unwrap_or_default();
    Finding {
        id: RULE.id,
        title: "The node's condition says that its PLEG is not healthy; the kubelet's log is needed to tell why".to_owned(),
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "No relist had succeeded for {lag}: the kubelet could not list the node's containers or could not get the status of one. The condition alone does not say which; run plegdoctor on the node, or on its kubelet's log."
        ),
        subjects: vec![node(evidence)],
        citations: vec![group.last.citation.clone()],
        remedies: remedies(evidence),
    }
}

fn cite(incident: &Incident) -> Vec<Citation> {
    let mut lines = vec![incident.first.clone()];
    if incident.last != incident.first {
        lines.push(incident.last.clone());
    }
    lines
}

/// Returns what the evidence excludes, in words.
fn ruled_out(evidence: &Evidence, log: &Log) -> String {
    let mut out = Vec::new();
    let failed_list = [
        Kind::ListSandboxesFailed,
        Kind::ListContainersFailed,
        Kind::RelistFailed,
    ];
    if log.of(&failed_list).next().is_none() {
        out.push("no listing failed");
    }
    let failed_status = [Kind::SandboxStatusFailed, Kind::ContainerStatusFailed];
    if !log
        .of(&failed_status)
        .any(|group| group.first.is_deadline())
    {
        out.push("no status call timed out");
    }
    match &evidence.runtime {
        Some(runtime) if runtime.answers() => {
            out.push("Docker answers now");
            let unanswered = runtime
                .containers
                .iter()
                .any(|c| c.probe.outcome != Outcome::Answered);
            out.extend((!unanswered).then_some("every container's inspect answers now"));
        }
        Some(_) | None => {}
    }
    if out.is_empty() {
        "Nothing could be ruled out.".to_owned()
    } else {
        format!("Ruled out: {}.", out.join("; "))
    }
}

fn remedies(evidence: &Evidence) -> Vec<Remedy> {
    vec![
        save_stacks(evidence),
        Remedy {
            title: "Save what the processes wait for".to_owned(),
            risk: Risk::Safe,
            command: "ps -eLo pid,tid,ppid,stat,etime,wchan:32,args > processes.txt".to_owned(),
            cost: "nothing".to_owned(),
        },
        Remedy {
            title: "Save the logs".to_owned(),
            risk: Risk::Safe,
            command: "journalctl -u kubelet -u docker -u containerd -k --since '-2h' --no-pager > journal.txt".to_owned(),
            cost: "nothing".to_owned(),
        },
    ]
}
