//! `clean` for scripts. All keys are always present; the schema is printed by `plegdoctor schema clean`.
//!
//! The structs are its own, so that the program can change inside without a script noticing.

use crate::{
    finding::{
        outcome::{Outcome, Status},
        plan::{CleanResult, Target, Unseen},
    },
    runtime::ContainerKind,
    syntax::{
        id::{PodName, PodUid},
        time::Time,
    },
};
use chrono::SecondsFormat;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Clean<'a> {
    schema: &'static str,
    dry_run: bool,
    planned: Vec<Planned<'a>>,
    results: Vec<Resulting<'a>>,
    removed: usize,
    failed: usize,
    left_alone: Vec<LeftAlone<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Planned<'a> {
    id: &'a str,
    name: &'a str,
    pod: Option<&'a str>,
    namespace: Option<&'a str>,
    uid: Option<&'a str>,
    kind: &'static str,
    state: &'a str,
    since: Option<String>,
    loses_logs: bool,
}

#[derive(Serialize)]
struct Resulting<'a> {
    id: &'a str,
    name: &'a str,
    pod: Option<&'a str>,
    namespace: Option<&'a str>,
    state: &'a str,
    outcome: &'static str,
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct LeftAlone<'a> {
    id: &'a str,
    name: &'a str,
    pod: Option<&'a str>,
    namespace: Option<&'a str>,
    listed_state: &'a str,
    reason: String,
}

/// Writes the plan and what became of it.
///
/// # Errors
/// What `out` says.
pub fn write(result: &CleanResult, out: &mut dyn Write) -> io::Result<()> {
    let clean = Clean {
        schema: "plegdoctor.clean/1",
        dry_run: result.dry_run,
        planned: result.plan.targets.iter().map(planned).collect(),
        results: result.results().map(resulting).collect(),
        removed: result.count(Status::Done),
        failed: result.count(Status::Failed),
        left_alone: result.plan.unseen.iter().map(left_alone).collect(),
        notes: &result.notes,
    };
    serde_json::to_writer_pretty(&mut *out, &clean)?;
    writeln!(out)
}

fn planned(target: &Target) -> Planned<'_> {
    let (pod, namespace) = pod(target.pod.as_ref());
    Planned {
        id: target.id.as_str(),
        name: &target.name,
        pod,
        namespace,
        uid: target.uid.as_ref().map(PodUid::as_str),
        kind: match target.role {
            ContainerKind::Sandbox => "sandbox",
            ContainerKind::Container => "container",
            ContainerKind::Other => "other",
        },
        state: target.state.as_str(),
        since: target.since().map(stamp),
        loses_logs: target.loses_logs(),
    }
}

fn resulting<'a>((target, outcome): (&'a Target, &'a Outcome)) -> Resulting<'a> {
    let (pod, namespace) = pod(target.pod.as_ref());
    Resulting {
        id: target.id.as_str(),
        name: &target.name,
        pod,
        namespace,
        state: target.state.as_str(),
        outcome: outcome.status.removal_word(),
        reason: outcome.reason.as_deref(),
    }
}

fn left_alone(it: &Unseen) -> LeftAlone<'_> {
    let (pod, namespace) = pod(it.pod.as_ref());
    LeftAlone {
        id: it.id.as_str(),
        name: &it.name,
        pod,
        namespace,
        listed_state: it.listed_state.as_str(),
        reason: it.why(),
    }
}

fn pod(pod: Option<&PodName>) -> (Option<&str>, Option<&str>) {
    pod.map(|pod| (&*pod.name, &*pod.namespace)).unzip()
}

fn stamp(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
