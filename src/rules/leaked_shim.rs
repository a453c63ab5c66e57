//! `leaked-shim`: Docker's word and the shims do not fit: a container is said to run and nothing of it does, or a shim
//! keeps one that ended or that Docker does not know.
//!
//! Seen on Docker 20.10 with containerd 1.6: a workload that ends while containerd is down leaves the first kind, a shim
//! that is killed meanwhile the second; a shim killed while containerd runs leaves nothing, containerd cleans up. A shim
//! that is stopped does not tell of an end; and a containerd that starts anew ends the workloads of shims that do not
//! answer it, without Docker's knowing. Docker says "Up" until somebody stops such a container.

mod words;

use super::bearing::LOOK;
use super::holders::span;
use super::remedies::{docker_command, is_other_than_docker, restart_runtime};
use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{daemon, frozen_daemon, holders, inspect_call, subject_of};
use crate::evidence::shims::Odds;
use crate::evidence::{Evidence, shims};
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant};
use crate::node::{Process, State};
use crate::runtime::{Container, Inspected};
use crate::syntax::citation::Citation;
use crate::syntax::id::ContainerId;

pub(super) const RULE: Rule = Rule {
    id: "leaked-shim",
    title: "Docker and containerd-shim disagree about a container",
    explains: false,
    bearing: Bearing {
        behind: &[],
        feeds: &["orphan-sandbox", "dead-container"],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/leaked-shim.md"),
    check,
};

/// Most that are cited.
const CITED: usize = 3;

/// How they do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Childless,
    Shimless,
    Finished,
    Unknown,
}

/// One that does not fit.
#[derive(Clone, Copy)]
struct Case<'a> {
    kind: Kind,
    container: Option<&'a Container>,
    shim: Option<&'a Process>,
}

/// Only Docker's word is held against shims: nobody asks for it beside another runtime.
fn judge(scene: &Scene) -> Judged {
    if is_other_than_docker(scene.evidence) {
        return Judged::Unasked;
    }
    let Some(runtime) = scene.listed() else {
        return scene.needs_runtime(LOOK);
    };
    let host = scene.whole_host();
    if host.is_none_or(|host| host.dockerd(&runtime.endpoint).is_none()) {
        return scene.needs_host();
    }
    match shims::all_fit(scene.evidence) {
        true => Judged::Out {
            because: "each container that Docker calls running has its shim and its process, and no shim is left over"
                .to_owned(),
            by: vec!["docker inspect".to_owned(), "the host's processes".to_owned()],
        },
        false => scene.open(
            "not each container's state, shim and process were seen together",
            "plegdoctor diagnose # again, in a minute",
        ),
    }
}

fn check(evidence: &Evidence, findings: &[Finding]) -> Vec<Finding> {
    let cases: Vec<_> = shims::at_odds(evidence).into_iter().map(case).collect();
    let frozen = findings
        .iter()
        .any(|finding| finding.id == frozen_daemon::RULE.id && finding.active);
    [
        Kind::Childless,
        Kind::Shimless,
        Kind::Finished,
        Kind::Unknown,
    ]
    .into_iter()
    .filter_map(|kind| {
        let of_kind: Vec<_> = cases.iter().copied().filter(|it| it.kind == kind).collect();
        (!of_kind.is_empty()).then(|| finding(evidence, &of_kind, frozen))
    })
    .collect()
}

fn case(odds: Odds<'_>) -> Case<'_> {
    let (kind, container, shim) = match odds {
        Odds::Childless(container, shim) => (Kind::Childless, Some(container), Some(shim)),
        Odds::Shimless(container) => (Kind::Shimless, Some(container), None),
        Odds::Finished(container, shim) => (Kind::Finished, Some(container), Some(shim)),
        Odds::Unknown(shim) => (Kind::Unknown, None, Some(shim)),
    };
    Case {
        kind,
        container,
        shim,
    }
}

impl<'a> Case<'a> {
    fn inspected(&self) -> Option<&'a Inspected> {
        self.container?.inspected.as_ref()
    }

    /// Returns whether Docker said so after the kernel did, too. What ended long ago needs no second word.
    fn is_sure(&self) -> bool {
        match self.kind {
            Kind::Childless | Kind::Shimless => self.inspected().is_some_and(|it| it.again),
            Kind::Finished | Kind::Unknown => true,
        }
    }

    /// Returns the container as a subject.
    fn subject(&self) -> Option<Subject> {
        let unlisted = |shim: &Process| Subject {
            kind: SubjectKind::Container,
            id: shim.container.clone(),
            name: None,
            pod: None,
            uid: None,
            pid: None,
        };
        self.container.map(subject_of).or(self.shim.map(unlisted))
    }

    /// Returns the container's id, for commands.
    fn short(&self) -> Option<&'a str> {
        let shim = || self.shim.and_then(|shim| shim.container.as_ref());
        let id = self.container.map(|it| &it.id).or_else(shim);
        id.map(ContainerId::short)
    }
}

fn finding(evidence: &Evidence, cases: &[Case<'_>], frozen: bool) -> Finding {
    let sure = cases.iter().all(Case::is_sure);
    let mut subjects: Vec<_> = cases.iter().filter_map(Case::subject).collect();
    subjects.extend(cases.iter().filter_map(shim_subject));
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: words::title(cases),
        severity: Severity::Warning,
        confidence: if sure {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active: true,
        explanation: words::explain(evidence, cases, frozen),
        subjects,
        citations: cases
            .iter()
            .take(CITED)
            .flat_map(|case| cite(evidence, case, cases.len()))
            .collect(),
        remedies: remedies(evidence, cases, frozen),
        spans: Vec::new(),
    }
}

fn shim_subject(case: &Case<'_>) -> Option<Subject> {
    let shim = case.shim?;
    Some(Subject {
        pid: Some(shim.pid),
        kind: SubjectKind::Process,
        ..daemon(shim.program())
    })
}

fn cite(evidence: &Evidence, case: &Case<'_>, of: usize) -> Vec<Citation> {
    let said = case.container.zip(case.inspected());
    let mut citations = Vec::new();
    if let (Some((container, inspected)), Some(runtime)) = (said, &evidence.runtime) {
        let process = inspected
            .pid
            .map_or_else(String::new, |pid| format!(", process {pid}"));
        let again = if inspected.again {
            ", and says so again later"
        } else {
            ""
        };
        citations.push(Citation {
            source: inspect_call(container, of).into(),
            is_call: true,
            line: None,
            time: Some(runtime.asked_at),
            text: format!("state {}{process}{again}", inspected.state).into(),
        });
    }
    if let Some(shim) = case.shim {
        let children = match shim.children {
            Some(0) => "no child",
            _ => "its children live",
        };
        let age = shim
            .age
            .map_or_else(String::new, |age| format!(", {} old", span(age)));
        citations.push(holders::cite(
            evidence,
            format!("process {}", shim.pid),
            format!(
                "{}{age}, state {}: {children}",
                shim.program(),
                shim.state.letter()
            ),
        ));
    }
    citations
}

fn remedies(evidence: &Evidence, cases: &[Case<'_>], frozen: bool) -> Vec<Remedy> {
    let Some(first) = cases.first() else {
        return Vec::new();
    };
    let mut remedies = vec![look(evidence, cases)];
    // Whatever is asked of a daemon that is stopped hangs; once it runs, Docker hears of it by itself.
    if frozen {
        return remedies;
    }
    let shims: Vec<_> = cases.iter().filter_map(|case| case.shim).collect();
    let stopped: Vec<_> = shims
        .iter()
        .filter(|shim| shim.state == State::Stopped && shim.tracer.is_none_or(|pid| pid == 0))
        .collect();
    if !stopped.is_empty() {
        let pids: Vec<_> = stopped.iter().map(|shim| shim.pid.to_string()).collect();
        remedies.push(disruptive(
            "Resume the stopped shim (SIGCONT)",
            format!("kill -CONT {}", pids.join(" ")),
            "nothing is lost: it reports how its container ended; whoever stopped it may have had a reason",
        ));
    }
    let ids: Vec<_> = cases.iter().filter_map(Case::short).collect();
    match first.kind {
        Kind::Childless => remedies.push(disruptive(
            "Stop it: Docker finds out that it is gone",
            format!("{} stop {}", docker_command(evidence), ids.join(" ")),
            "what may still run of it; each takes some 10 seconds longer than its grace period",
        )),
        // A stop would wait in vain, as any does.
        Kind::Shimless => remedies.push(restart_runtime(evidence)),
        Kind::Finished => {}
        Kind::Unknown => remedies.extend(delete(&shims)),
    }
    let empty: Vec<_> = shims
        .iter()
        .filter(|shim| shim.children == Some(0))
        .map(|shim| shim.pid.to_string())
        .collect();
    if !empty.is_empty() {
        remedies.push(disruptive(
            "Kill the orphaned shim (no child process); containerd cleans up and notifies Docker",
            format!("kill -9 {}", empty.join(" ")),
            "nothing that runs, as long as it has no child",
        ));
    }
    remedies
}

fn look(evidence: &Evidence, cases: &[Case<'_>]) -> Remedy {
    let pids: Vec<_> = cases
        .iter()
        .filter_map(|case| case.shim)
        .map(|shim| shim.pid.to_string())
        .collect();
    let command = match pids.is_empty() {
        false => format!(
            "ps -o pid,ppid,stat,etime,args --pid {0} --ppid {0}",
            pids.join(",")
        ),
        true => {
            let ids: Vec<_> = cases.iter().filter_map(Case::short).collect();
            format!(
                "{} inspect -f '{{{{.State.Pid}}}}' {ids}; ps -eo pid,ppid,stat,etime,args | grep -E '[s]him.*({pattern})'",
                docker_command(evidence),
                ids = ids.join(" "),
                pattern = ids.join("|"),
            )
        }
    };
    Remedy {
        title: "See that it is still so".to_owned(),
        risk: Risk::Safe,
        command,
        cost: "nothing".to_owned(),
        actions: Vec::new(),
    }
}

/// Returns the remedy that ends what Docker does not know, and its shims.
fn delete(shims: &[&Process]) -> Option<Remedy> {
    let (address, namespace) = shims::containerd(shims.first()?)?;
    let ids: Vec<_> = shims
        .iter()
        .filter_map(|shim| Some(shim.container.as_ref()?.as_str()))
        .collect();
    Some(disruptive(
        "End them, and what runs in them",
        format!(
            "ctr --address {address} --namespace {namespace} tasks delete --force {}",
            ids.join(" ")
        ),
        "what runs in them ends",
    ))
}

fn disruptive(title: &str, command: String, cost: &str) -> Remedy {
    Remedy {
        title: title.to_owned(),
        risk: Risk::Disruptive,
        command,
        cost: cost.to_owned(),
        actions: Vec::new(),
    }
}
