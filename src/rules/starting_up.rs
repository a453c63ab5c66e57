//! `starting-up`: the kubelet started a moment ago, and the PLEG line is harmless.
//!
//! Speaks only while it lasts; start-ups that ended well are not worth a word.

use super::{
    clock,
    lines::Lines,
    node,
    support::old_form::{Bearing, OldRule as Rule},
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Severity},
    kubelet::{event::Kind, incident::START_UP},
    syntax::page::{Look, Page},
};

pub(super) const RULE: Rule = Rule {
    id: "starting-up",
    title: "The kubelet has just started",
    explains: false,
    bearing: Bearing::NONE,
    page: Page {
        means: "The kubelet started less than a minute ago and says that \
            `PLEG is not healthy: pleg has yet to be successful`, or that its first check of the runtime \
            `may not have completed yet`. It says so at every start, until its first relist has listed the runtime's \
            containers and its first status call was answered.",
        matters: "It does not. Where the runtime answers, the first relist ends within a second or two and the line \
            does not come again; the kubelet logs no line that it is over (kubernetes#120292). If the line still comes \
            after a minute, the runtime has not listed its containers once since the start, and another finding \
            tells why.",
        confirm: &[
            Look {
                what: "When the kubelet started",
                command: "systemctl show -p ActiveEnterTimestamp kubelet",
            },
            Look {
                what: "Whether anything is wrong once a minute has passed",
                command: "plegdoctor diagnose",
            },
        ],
        remedies: &[],
        versions: "The words `pleg has yet to be successful` are those of 1.15 and later. Kubelets from 1.9 to 1.12 say \
            the same by a lag of 2562047h47m16.854775807s, the largest that Go can write: there was no relist to \
            count from.",
        unproved: "That the line is the error: it is posted as such again and again, and in public threads it was \
            harmless or stood before another one. After a restart of the kubelet on a sick node it stands before the \
            real trouble: only the minute after it tells.",
        see: &[
            "pleg-never",
            "runtime-status-pending",
            "runtime-down",
            "hung-runtime",
        ],
        sources: &[
            "kubernetes:pkg/kubelet/pleg/generic.go",
            "kubernetes:pkg/kubelet/runtime.go",
            "kubernetes#69613",
            "kubernetes#120292",
            "cri-o#5549",
        ],
    },
    check,
};

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let Some(log) = &evidence.log else {
        return Vec::new();
    };
    let lines = Lines::of(evidence, &[Kind::PlegNever, Kind::RuntimeStatusPending]);
    let Some(last) = lines.last() else {
        return Vec::new();
    };
    let starts = log.starts.iter().rev().filter_map(|start| start.at);
    let Some(started) = starts
        .filter(|start| *start <= last)
        .max()
        .or(lines.first())
    else {
        return Vec::new();
    };
    // The first relist and the first status check follow within a second or two where all is well.
    let ended =
        log.last.is_some_and(|end| end - started > START_UP) || log.recovery_after(last).is_some();
    let now = evidence.now - started <= START_UP || evidence.runtime.is_none();
    if ended || !now {
        return Vec::new();
    }
    let started = clock(evidence, Some(started));
    vec![Finding {
        id: RULE.id,
        title: RULE.title.to_owned(),
        severity: Severity::Info,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "The kubelet started at {started}. Until its first relist and its first check of the runtime are done it says \"PLEG is not healthy: pleg has yet to be successful\"; that is normal for some seconds. If it still says so after a minute, run plegdoctor again."
        ),
        subjects: vec![node(evidence)],
        citations: lines.cite(3),
        remedies: Vec::new(),
        spans: Vec::new(),
    }]
}
