//! `list-too-large`: the answer that lists all containers is larger than gRPC lets through.

use super::support::answer::{Absent, Draft, Live};
use super::support::case::Case;
use super::support::list_size::{LIMIT, cite_list};
use super::support::log_lines::LogMatches;
use super::support::remedies::{bound_dead_containers, clean_exited, count_containers};
use super::support::signature::{Error, Over, Proof, Signature, Signs};
use super::support::wording::{clock, count};
use super::support::{calls, list_size, on_disk};
use super::{Detection, Explains, Rule, Tier};
use crate::{finding::Severity, kubelet::event::ErrorClass};

pub(super) const RULE: Rule = Rule {
    id: "list-too-large",
    title: "Container list exceeds the gRPC message limit",
    page: include_str!("../../docs/findings/list-too-large.md"),
    explains: Explains::Lag,
    tier: Tier::First,
    detection: Detection::Signs(Signs {
        log: Signature {
            calls: calls::LIST_AND_CLEAN_UP,
            error: Error::Class(ErrorClass::TooLarge),
            at_least: 1,
            over: Over::Recovers,
            absent: Some("no call failed with ResourceExhausted, and such calls fail at once"),
        },
        live: Some(live),
        otherwise: || {
            Absent::needs_runtime("docker ps -aq | wc -l # some 20,000 bring a list to its limit")
        },
        describe,
    }),
};

/// The answer's size and the limit that it exceeds, by the last line that says so.
fn sizes(lines: &LogMatches) -> Option<(u64, u64)> {
    let groups = lines.0.iter();
    let sizes = groups.filter_map(|it| Some((it.last.at, it.last.error.as_ref()?.sizes?)));
    sizes.max().map(|(_, sizes)| sizes)
}

/// Docker's own answer is JSON and somewhat larger than the kubelet's message about the same containers.
fn live(case: &Case, lines: &LogMatches) -> Live {
    // Without a line it counts only for the runtime that the kubelet drives.
    let listed = match lines.is_empty() {
        true => case.listed(),
        false => case.evidence.listed(),
    };
    let Some(runtime) = listed else {
        return Live::NotSeen;
    };
    let limit = sizes(lines).map_or(LIMIT, |(_, limit)| limit);
    let bytes = runtime.list_bytes();
    match bytes >= limit {
        true => Live::Yes(cite_list(runtime)),
        false => Live::No(
            cite_list(runtime),
            format!("Docker's list has {bytes} bytes, and the limit is {limit}"),
        ),
    }
}

fn describe(case: &Case, proof: &Proof) -> Option<Draft> {
    let (got, limit) = sizes(&proof.lines)?;
    let first = clock(case.evidence, proof.lines.first());
    let (title, sentence) = match proof.active {
        true => (
            "The list of containers is too large for the kubelet",
            format!(
                "Since {first} the answer that lists the node's containers is too large: {got} bytes, and the limit is {limit}. The kubelet cannot list them, so its relist fails; nor can it remove the old ones that make the list so long, so this does not heal without help."
            ),
        ),
        false => (
            "The list of containers was too large for the kubelet",
            format!(
                "From {first} to {} the answer that lists the node's containers had up to {got} bytes, and the limit is {limit}: the kubelet could not list them, and its relist failed. It is resolved.",
                clock(case.evidence, proof.lines.last())
            ),
        ),
    };
    let steps =
        clean_exited(case.evidence).unwrap_or_else(|| vec![count_containers(case.evidence)]);
    Some(
        Draft::new(Severity::Critical, title)
            .say(sentence)
            .say(now(case))
            .steps(steps)
            .steps([bound_dead_containers(case.evidence)]),
    )
}

/// How many containers there are now, or were when Docker last wrote them down.
fn now(case: &Case) -> String {
    if let Some((_, stored)) = on_disk::listed(case.evidence) {
        let (all, stopped) = (count(stored.len(), "container"), on_disk::stopped(&stored));
        return format!(
            "Docker does not answer; it last wrote down {all}, {stopped} of them stopped."
        );
    }
    let listed = case.evidence.listed();
    listed.map_or_else(String::new, |runtime| {
        let all = count(runtime.containers.len(), "container");
        let stopped = list_size::stopped(runtime);
        let size = list_size::told(runtime).map_or_else(String::new, |size| format!(" {size}"));
        format!("Docker has {all} now, {stopped} of them stopped.{size}")
    })
}
