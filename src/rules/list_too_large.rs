//! `list-too-large`: the answer that lists all containers is larger than gRPC lets through.

use super::{
    Detection, Explains, Rule, Tier,
    support::{
        answer::{Absent, Draft, Live},
        calls,
        case::Case,
        list_size::{self, LIMIT, cite_list},
        log_lines::LogMatches,
        on_disk,
        remedies::{bound_dead_containers, clean_exited, count_containers},
        signature::{Error, Over, Proof, Signature, Signs},
        wording::{clock, count},
    },
};
use crate::{
    finding::Severity,
    kubelet::event::ErrorClass,
    syntax::page::{Cure, Look, Page},
};

pub(super) const RULE: Rule = Rule {
    id: "list-too-large",
    title: "The list of containers exceeds the gRPC limit, so the kubelet can neither relist nor clean up",
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
    page: Page {
        means: "The answer that lists the node's sandboxes or containers is larger than gRPC lets through: \
            `ResourceExhausted … message larger than max (20086028 vs. 16777216)`. The first number is the answer's \
            size in bytes, the second the limit, and the limit tells whose it is: 4 MiB the kubelet's in 1.9 and early \
            1.10, 8 MiB dockershim's in 1.12, 16 MiB the kubelet's and the runtime's since.",
        matters: "A relist begins with that list. It fails at once and every time, so the lag grows without end and \
            the node is NotReady after 3 minutes. It cannot heal: the kubelet's clean-up begins with the same list, so \
            what makes the list long is never removed. Labels and annotations count, too: 200 containers with 100 kB \
            of annotations each are enough.",
        confirm: &[
            Look {
                what: "How many containers there are, and how large the list is",
                command: "plegdoctor probe --all",
            },
            Look {
                what: "How many of them have ended (Docker)",
                command: "docker ps -aq --filter status=exited | wc -l",
            },
            Look {
                what: "How many there are (containerd; crictl runs into the same limit)",
                command: "ctr -n k8s.io containers ls -q | wc -l",
            },
        ],
        remedies: &[
            Cure {
                what: "Remove the stopped containers of pods that are gone, past the kubelet: Docker's own list has no \
                    such limit",
                command: "plegdoctor clean --exited",
                cost: "the logs of the removed containers; running ones are not touched",
            },
            Cure {
                what: "Bound how many dead containers the kubelet keeps (`--maximum-dead-containers`), and find what \
                    leaves them",
                command: "",
                cost: "the kubelet restarts; containers go on running",
            },
        ],
        versions: "All. kubernetes#63977 and kubernetes#63894 raised the kubelet's limit step by step to 16 MiB; from \
            1.36 the lists can come as streams, where the runtime has those.",
        unproved: "Nothing is left open: the error names itself. Why there are so many containers is another question; \
            a clean-up that has failed for days before (`container-gc-failed`) is the usual answer.",
        see: &[
            "container-pileup",
            "container-gc-failed",
            "list-containers-failed",
        ],
        sources: &[
            "kubernetes#63858",
            "kubernetes#63894",
            "kubernetes#63977",
            "containerd:pkg/cri/server",
            "run: kubelet 1.20.2, Docker 20.10.24",
        ],
    },
};

/// The answer's size and the limit that it exceeds, by the last line that says so.
fn sizes(lines: &LogMatches) -> Option<(u64, u64)> {
    let groups = lines.0.iter();
    let sizes = groups.filter_map(|it| Some((it.last.at, it.last.error.as_ref()?.sizes?)));
    sizes.max().map(|(_, sizes)| sizes)
}

/// Docker's own answer is JSON and somewhat larger than the kubelet's message about the same containers.
fn live(case: &Case, lines: &LogMatches) -> Live {
    let Some(runtime) = case.listed() else {
        return Live::NotSeen;
    };
    let limit = sizes(lines).map_or(LIMIT, |(_, limit)| limit);
    let bytes = runtime.list_bytes;
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
    case.listed().map_or_else(String::new, |runtime| {
        let all = count(runtime.containers.len(), "container");
        let stopped = list_size::stopped(runtime);
        let size = list_size::told(runtime).map_or_else(String::new, |size| format!(" {size}"));
        format!("Docker has {all} now, {stopped} of them stopped.{size}")
    })
}
