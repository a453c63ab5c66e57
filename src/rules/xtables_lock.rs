//! `xtables-lock`: iptables cannot work on this node, since another run of it holds its lock.
//!
//! Nobody who met it had a line of the PLEG: pods' networks are not set up or not taken down, and services not routed.

use super::{
    Bearing, Rule, clock,
    holders::{self, span},
    lines::Lines,
    node,
    remedies::remedy,
};
use crate::{
    digest::{Group, PAUSE},
    event::Kind,
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind},
    node::{Process, Role},
    page::{Cure, Look, Page},
};
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "xtables-lock",
    title: "iptables' lock is held, so that networks are not set up",
    explains: false,
    bearing: Bearing {
        feeds: &["cni-hang"],
        ..Bearing::NONE
    },
    page: Page {
        means: "iptables says that another run of it holds its lock, in the kubelet's own lines or in a network \
            plugin's words. The kernel's tables are changed by one run at a time; the others wait for some seconds, \
            then give up.",
        matters: "Pods' networks are neither set up nor taken down meanwhile, and services are not routed. The PLEG \
            does not wait for it: in no incident that names this lock was a line of the PLEG seen.",
        confirm: &[
            Look {
                what: "Who holds the lock",
                command: "lsof /run/xtables.lock",
            },
            Look {
                what: "Which runs of iptables there are, and how old",
                command: "ps -eo pid,ppid,etime,args | grep -E 'ip6?tables' | sort -k3",
            },
            Look {
                what: "How many rules there are",
                command: "iptables-save | wc -l",
            },
        ],
        remedies: &[
            Cure {
                what: "End the run that holds it, if it does not end by itself",
                command: "kill PID",
                cost: "tables that it has not written yet stay as they are",
            },
            Cure {
                what: "Have fewer rules: fewer services, or kube-proxy by nftables or IPVS",
                command: "",
                cost: "kube-proxy restarts",
            },
        ],
        versions: "All with the legacy iptables; the one by nftables takes no such lock.",
        unproved: "That the oldest run is the one that holds it: it may wait, too.",
        see: &["cni-hang", "not-pleg"],
        sources: &[
            "kubernetes#48107",
            "kubernetes:pkg/util/iptables/iptables.go",
        ],
    },
    check,
};

/// What iptables says, in whatever message.
const LOCK: &str = "xtables lock";
/// One or two such lines stand in healthy logs: the kubelet tries again.
const OFTEN: u64 = 3;
/// A run of iptables takes moments, and minutes with tens of thousands of rules.
const LONG: Duration = Duration::from_secs(30);

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let lines = locked(evidence).latest();
    if lines.number() < OFTEN {
        return Vec::new();
    }
    let active = lines.are_recent(evidence, PAUSE);
    // Of what is over the present processes tell nothing.
    let holders = match active {
        true => holders(evidence),
        false => Vec::new(),
    };
    vec![tell(evidence, &lines, &holders, active)]
}

fn locked(evidence: &Evidence) -> Lines<'_> {
    let says = |group: &&Group| {
        let error = group.first.error.as_ref();
        group.first.kind == Kind::XtablesLocked
            || error.is_some_and(|error| error.text.contains(LOCK))
    };
    let all = evidence.log.iter().flat_map(|log| &log.groups);
    Lines(all.filter(says).collect())
}

/// Returns the runs of iptables that last for long, the oldest first: it alone can hold the lock, the others wait.
fn holders(evidence: &Evidence) -> Vec<&Process> {
    let all = evidence.host.iter().flat_map(|host| &host.processes);
    let old = |process: &&Process| {
        process.role == Role::Iptables && process.age.is_some_and(|age| age >= LONG)
    };
    let mut holders: Vec<_> = all.filter(old).collect();
    holders.sort_by_key(|process| (process.start_ticks, process.pid));
    holders
}

fn tell(evidence: &Evidence, lines: &Lines, holders: &[&Process], active: bool) -> Finding {
    let mut citations = lines.cite(3);
    citations.extend(holders.iter().take(2).map(|process| {
        let (source, text) = holders::cited(process);
        holders::cite(evidence, source, text)
    }));
    let held = holders.first().map_or_else(String::new, |process| {
        let age = process.age.unwrap_or_default();
        let others = match holders.len() {
            1 => String::new(),
            more => format!(", and {} more of them", more - 1),
        };
        format!(
            " {} (process {}) has run for {}{others}: the oldest may be the one that holds it.",
            process.comm,
            process.pid,
            span(age)
        )
    });
    let subject = holders.first().map(|process| Subject {
        kind: SubjectKind::Process,
        id: None,
        name: Some(process.comm.clone()),
        pod: None,
        uid: process.uid.clone(),
        pid: Some(process.pid),
    });
    Finding {
        id: RULE.id,
        title: RULE.title.to_owned(),
        severity: match active {
            true => Severity::Warning,
            false => Severity::Info,
        },
        confidence: match holders.is_empty() {
            true => Confidence::Suspected,
            false => Confidence::Confirmed,
        },
        active,
        explanation: format!(
            "From {} to {} iptables said {} that another run of it holds the lock.{held} Until that one ends, networks of pods are neither set up nor taken down, and services are not routed. The PLEG does not wait for it: where others met this, no line of the PLEG was seen.",
            clock(evidence, lines.first()),
            clock(evidence, lines.last()),
            match lines.number() {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            }
        ),
        subjects: vec![subject.unwrap_or_else(|| node(evidence))],
        citations,
        remedies: match active {
            true => remedies(holders),
            false => Vec::new(),
        },
        spans: Vec::new(),
    }
}

fn remedies(holders: &[&Process]) -> Vec<Remedy> {
    let mut remedies = vec![remedy(
        "See who holds the lock, and how many rules there are",
        Risk::Safe,
        "lsof /run/xtables.lock; ps -eo pid,ppid,etime,args | grep -E 'ip6?tables' | sort -k3; iptables-save | wc -l",
        "nothing; tens of thousands of rules make each run take long: fewer services, or kube-proxy by nftables or IPVS, cure that",
    )];
    if let Some(process) = holders.first() {
        remedies.push(remedy(
            "End that one run, if it does not end by itself",
            Risk::Disruptive,
            format!("kill {}", process.pid),
            "tables that it has not written yet stay as they are; whoever called it tries again",
        ));
    }
    remedies
}
