//! `not-pleg`: the node is NotReady, or the kubelet in trouble, and it is not the PLEG.

mod fatal;
mod silent;
mod unmade;

use super::lines::Lines;
use super::remedies::RuntimeStack;
use super::support::log_lines::EXPIRED;
use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{clock, count, distinct, is_cause, node};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Variant};
use crate::kubelet::event::{ErrorClass, Event, Kind};
use crate::kubelet::incident::START_UP;
use crate::kubelet::summary::{Group, Log};
use crate::syntax::citation::Citation;
use crate::syntax::time::Time;
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "not-pleg",
    title: "The node is NotReady for a reason other than PLEG",
    explains: false,
    bearing: Bearing {
        behind: &[],
        feeds: &[],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/not-pleg.md"),
    check,
};

/// So many failed updates before the node is called cut off: one or two are ordinary.
const FAILED_UPDATES: u64 = 5;
/// What lasts is repeated at least this often: the runtime's state every 5 s, a status update every 10 s, a kubelet
/// that ends is started again within seconds.
const REPEATED: TimeDelta = TimeDelta::minutes(2);

/// Another illness, and the words for it.
struct Other<'a> {
    lines: Lines<'a>,
    /// What others say of it.
    beside: Lines<'a>,
    title: &'static str,
    explanation: &'static str,
    look: String,
}

fn judge(scene: &Scene) -> Judged {
    let told = scene.evidence.log.as_ref().zip(scene.outage);
    told.map_or(Judged::Unasked, |(log, outage)| {
        let lines = count(usize::try_from(outage.lines).unwrap_or(usize::MAX), "line");
        Judged::silent(log, &format!("the kubelet itself names the PLEG ({lines})"))
    })
}

fn check(evidence: &Evidence, found: &[Finding]) -> Vec<Finding> {
    let silent = silent::tell(evidence);
    let Some(log) = &evidence.log else {
        return silent.into_iter().collect();
    };
    let mut findings: Vec<Finding> = others(evidence, log, found)
        .into_iter()
        .filter(|other| !other.lines.is_empty())
        .map(|other| tell(evidence, &other))
        .chain(silent)
        .collect();
    let explained = |findings: &[Finding]| findings.iter().any(|finding| finding.active);
    let causes: Vec<_> = found
        .iter()
        .filter(|finding| is_cause(finding))
        .cloned()
        .collect();
    if !explained(&causes) && !explained(&findings) {
        findings.extend(not_ready(evidence, log));
    }
    if !explained(&findings) {
        findings.extend(unmade::tell(evidence, log, found));
    }
    findings
}

fn others<'a>(evidence: &'a Evidence, log: &'a Log, found: &[Finding]) -> Vec<Other<'a>> {
    let outside = |lines: Lines<'a>| {
        Lines(
            lines
                .0
                .into_iter()
                .filter(|group| !in_outage(log, group))
                .collect(),
        )
    };
    let setup = RuntimeStack::new(evidence);
    let (crictl, units) = (setup.crictl(), setup.own_units());
    let (status, journal) = (units.status(), units.of_journal());
    let own = format!("{status}; journalctl{journal} -n 50 --no-pager");
    vec![
        Other {
            lines: outside(network(evidence, log)),
            beside: Lines::default(),
            title: "The node is NotReady because its network is not ready, not because of the PLEG",
            explanation: "The kubelet reports that the runtime's network plugin (CNI) is not set up. Its relist works.",
            look: format!("ls -l /etc/cni/net.d; {crictl} info"),
        },
        Other {
            lines: unknown(evidence),
            beside: Lines::default(),
            title: "The kubelet stopped reporting: the node's state is Unknown, which is not the PLEG",
            explanation: "The condition says NodeStatusUnknown: the control plane heard nothing from the kubelet. A kubelet with an unhealthy PLEG still reports, with the reason KubeletNotReady.",
            look: own.clone(),
        },
        match outside(cut_off(evidence)) {
            lines if lines.say(EXPIRED) => Other {
                lines,
                beside: Lines::default(),
                title: "The kubelet cannot report its node's status: a certificate is not valid by its clock; it is not the PLEG",
                explanation: "The kubelet's updates of its node or lease fail, since by this machine's clock a certificate has expired or is not valid yet: the clock is wrong, or the certificate was not renewed.",
                look: "timedatectl; openssl x509 -noout -dates -in /var/lib/kubelet/pki/kubelet-client-current.pem; openssl s_client -connect API-SERVER:6443 </dev/null | openssl x509 -noout -dates".to_owned(),
            },
            lines => Other {
                lines,
                beside: Lines::default(),
                title: "The kubelet cannot report its node's status, which is not the PLEG",
                explanation: "The kubelet's updates of its node or lease fail: the API server or the way to it is in trouble. After 40 s without an update (50 s in newer releases), by default, the control plane calls the node NotReady or Unknown, although its relist works.",
                look: "curl -k --max-time 5 https://API-SERVER:6443/readyz".to_owned(),
            },
        },
        Other {
            lines: fatal::words(evidence),
            beside: fatal::ends(evidence),
            title: "The kubelet ends with a fatal error, which is not the PLEG",
            explanation: "The kubelet ended with an error; systemd starts it again, and it ends again until the cause is fixed.",
            look: own,
        },
        Other {
            lines: outside(says_down(evidence, log, found)),
            beside: Lines::default(),
            title: "The kubelet says that the container runtime is down; the log does not show whether it hangs or is gone",
            explanation: "For more than 30 s the kubelet's question after the runtime's state was not answered with a yes, so the node is NotReady without a PLEG line. No line shows how the call ended.",
            look: format!("{}; {crictl} info", setup.units().status()),
        },
    ]
}

/// Network items after the kubelet's first minute.
fn network<'a>(evidence: &'a Evidence, log: &Log) -> Lines<'a> {
    let mut lines = Lines::of(evidence, &[Kind::CniNotReady]);
    lines.0.retain(|group| {
        let last = group.last.at;
        last.is_none_or(|last| !is_start_up(log, last, log.first))
    });
    lines
}

/// Whether a kubelet had just started then; `before` is when the one did whose start the log does not show.
fn is_start_up(log: &Log, at: Time, before: Option<Time>) -> bool {
    let starts = log.starts.iter().rev().filter_map(|start| start.at);
    let started = starts.filter(|start| *start <= at).max().or(before);
    started.is_some_and(|started| at - started <= START_UP)
}

fn unknown(evidence: &Evidence) -> Lines<'_> {
    let is_unknown = |group: &&Group| group.last.detail.as_deref() == Some("NodeStatusUnknown");
    Lines(
        Lines::of(evidence, &[Kind::ReadyCondition])
            .0
            .into_iter()
            .filter(is_unknown)
            .collect(),
    )
}

/// Failed updates, unless they were few.
fn cut_off(evidence: &Evidence) -> Lines<'_> {
    let other = |group: &&Group| {
        group
            .first
            .error
            .as_ref()
            .is_none_or(|error| error.class != ErrorClass::NotFound)
    };
    let lines = Lines::of(
        evidence,
        &[Kind::NodeStatusUpdateFailed, Kind::LeaseUpdateFailed],
    );
    let lines = Lines(lines.0.into_iter().filter(other).collect()).latest();
    if lines.number() >= FAILED_UPDATES {
        lines
    } else {
        Lines::default()
    }
}

/// "container runtime is down", where no other finding tells what the runtime does.
fn says_down<'a>(evidence: &'a Evidence, log: &Log, found: &[Finding]) -> Lines<'a> {
    if found
        .iter()
        .any(|finding| ["hung-runtime", "runtime-down"].contains(&finding.id))
    {
        return Lines::default();
    }
    let mut lines = Lines::of(evidence, &[Kind::RuntimeDown]);
    // Kubelets before 1.15 say so until their first check of it, too.
    lines.0.retain(|group| {
        let last = group.last.at;
        last.is_none_or(|last| !is_start_up(log, last, None))
    });
    lines.latest()
}

fn in_outage(log: &Log, group: &Group) -> bool {
    let inside = |last| {
        log.incidents
            .iter()
            .any(|i| last >= i.start && last <= i.last_line + REPEATED)
    };
    group.last.at.is_some_and(inside)
}

fn tell(evidence: &Evidence, other: &Other) -> Finding {
    let latest = other.lines.latest();
    let over = latest.last().is_some() && !latest.are_recent(evidence, REPEATED);
    let active = !over && latest.go_on(evidence);
    let span = match latest.first() {
        Some(_) => {
            let (first, last) = (
                clock(evidence, latest.first()),
                clock(evidence, latest.last()),
            );
            format!(" Seen from {first} to {last} ({}).", latest.counted())
        }
        None => String::new(),
    };
    let quote = latest.0.last().and_then(|group| group.last.error.as_ref());
    let quote = quote
        .map(|error| format!(" It says: \"{}\".", error.text))
        .unwrap_or_default();
    let mut citations = latest.cite(4);
    citations.extend(other.beside.latest().cite(2));
    let citations = distinct(citations);
    let look = Remedy {
        title: "Look there".to_owned(),
        risk: Risk::Safe,
        command: other.look.clone(),
        cost: "nothing".to_owned(),
        actions: Vec::new(),
    };
    Finding {
        id: RULE.id,
        variant: variant(&quote),
        title: other.title.to_owned(),
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active,
        explanation: format!("{}{quote}{span}", other.explanation),
        subjects: vec![node(evidence)],
        citations,
        remedies: if active { vec![look] } else { Vec::new() },
        spans: other.lines.spans(),
    }
}

/// The last word on the node is NotReady, nothing else explains it, and it is not the PLEG.
fn not_ready(evidence: &Evidence, log: &Log) -> Option<Finding> {
    let event = log
        .last_readiness
        .as_ref()
        .filter(|event| event.kind != Kind::NodeReady)?;
    let starting = log.starts.last().and_then(|start| start.at).zip(log.last);
    let starting = starting.is_some_and(|(start, end)| end - start <= START_UP);
    let evented = !Lines::of(evidence, &[Kind::EventedPlegFull]).is_empty();
    if starting || evented || log.has_outage() {
        return None;
    }
    let message = message(event);
    if message.is_some_and(|message| message.contains("PLEG is not healthy")) {
        return None;
    }
    let reason = message.map_or_else(
        || "No line gives the reason.".to_owned(),
        |message| format!("The kubelet gives this reason: \"{message}\"."),
    );
    let since = clock(evidence, event.at);
    Some(Finding {
        id: RULE.id,
        variant: variant(&reason),
        title: match message {
            Some(_) => "The node is NotReady, and the kubelet gives another reason than the PLEG",
            None => "The node is NotReady, and the log does not show why",
        }
        .to_owned(),
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "The node has been NotReady since {since}, and no line says that it is Ready again. {reason}"
        ),
        subjects: vec![node(evidence)],
        citations: vec![Citation::clone(&event.citation)],
        remedies: vec![Remedy {
            title: "See what the node says of itself now".to_owned(),
            risk: Risk::Safe,
            command: format!(
                "kubectl describe node {}",
                log.node.as_deref().unwrap_or("NODE")
            ),
            cost: "nothing".to_owned(),
            actions: Vec::new(),
        }],
        spans: Vec::new(),
    })
}

/// Returns which case these words of the kubelet's are.
fn variant(words: &str) -> Variant {
    match words.contains(EXPIRED) {
        true => Variant::ExpiredCertificate,
        false => Variant::Plain,
    }
}

/// Returns the condition's message.
fn message(event: &Event) -> Option<&str> {
    event
        .error
        .as_ref()
        .map(|error| &*error.text)
        .filter(|text| !text.is_empty())
}
