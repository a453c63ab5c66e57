//! What the log alone tells of a server that does not answer: the kernel's words, in a log of all programs, and calls to
//! the runtime that time out from then on.
//!
//! Who waits for the server the log does not tell, so it is a suspicion; and a server that answers again is none.

use super::RULE;
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant};
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::summary::{Group, PAUSE};
use crate::rules::lines::Lines;
use crate::rules::remedies::remedy;
use crate::rules::{clock, hung_container, hung_runtime};
use crate::syntax::time::Time;

/// Most servers that are named.
const SERVERS: usize = 3;

/// Returns the finding, where calls time out after the kernel has called a server silent, and before it answers again.
pub(super) fn by_the_log(evidence: &Evidence) -> Option<Finding> {
    let calls: Vec<_> = [hung_runtime::CALLS, hung_container::CALLS].concat();
    let late = Lines::failed(evidence, &calls, ErrorClass::Deadline).latest();
    let (first, last) = late.first().zip(late.last())?;
    let silent = silent(evidence, first, last);
    let since = silent.first()?;
    let servers: Vec<_> = silent.0.iter().filter_map(|it| server(it)).collect();
    let hung = hung(evidence, since, last);
    let answered = silent.0.iter().all(|it| answers(evidence, it).is_some());
    // Of NFS the kernel tells the end; what other pods do tells nothing of who waits for the server.
    let is_nfs = silent
        .0
        .iter()
        .all(|it| it.last.citation.text.contains("nfs: "));
    let recent = late.are_recent(evidence, PAUSE);
    let active = !answered && recent && (is_nfs || late.go_on(evidence));
    let of_relist = |it: &&Group| it.first.kind.is_list() || it.first.kind.is_status();
    let mut citations = silent.cite(2);
    citations.extend(hung.cite(2));
    citations.extend(late.cite(2));
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: title(&servers, active),
        severity: match active && late.0.iter().any(of_relist) {
            true => Severity::Critical,
            false => Severity::Warning,
        },
        confidence: Confidence::Suspected,
        active,
        explanation: explain(evidence, (&silent, &hung, &late), answered),
        subjects: servers.iter().take(SERVERS).map(|it| subject(it)).collect(),
        citations,
        remedies: match active {
            true => remedies(&servers),
            false => Vec::new(),
        },
        spans: vec![(since, last)],
    })
}

fn server(group: &Group) -> Option<&str> {
    group.first.detail.as_deref()
}

/// Returns what the kernel said of servers that fell silent before the calls that began and ended then, and did not
/// answer before those began.
fn silent(evidence: &Evidence, first: Time, last: Time) -> Lines<'_> {
    let mut lines = Lines::of(evidence, &[Kind::ServerSilent]);
    lines.0.retain(|group| {
        let began = group.first.at.is_some_and(|at| at <= first);
        // Of NFS it says so once, and again when that is over.
        let before = answers(evidence, group).is_some_and(|at| at < first);
        let long_ago = group
            .last
            .at
            .is_none_or(|at| last - at > PAUSE && first - at > PAUSE);
        began && !before && !long_ago
    });
    lines
}

/// Returns when that server answered again, after the kernel said so last of its silence.
fn answers(evidence: &Evidence, silent: &Group) -> Option<Time> {
    let lines = Lines::of(evidence, &[Kind::ServerAnswers]);
    let mut same = lines.0.iter().filter(|it| server(it) == server(silent));
    same.find_map(|it| it.last.at.filter(|at| Some(*at) >= silent.last.at))
}

/// Returns what the kernel said of tasks that hang meanwhile.
fn hung(evidence: &Evidence, since: Time, until: Time) -> Lines<'_> {
    let mut lines = Lines::of(evidence, &[Kind::HungTask]);
    let during = |group: &&Group| {
        group.last.at.is_some_and(|at| at >= since)
            && group.first.at.is_some_and(|at| at <= until + PAUSE)
    };
    lines.0.retain(during);
    lines
}

fn title(servers: &[&str], active: bool) -> String {
    let whose = match servers {
        [server] => format!("The file system's server {server}"),
        _ => "A file system's server".to_owned(),
    };
    match active {
        true => format!("{whose} does not answer, and calls to the runtime time out"),
        false => format!("{whose} did not answer for a time, and calls to the runtime timed out"),
    }
}

fn explain(
    evidence: &Evidence,
    (silent, hung, late): (&Lines, &Lines, &Lines),
    answered: bool,
) -> String {
    let at = |time| clock(evidence, time);
    let mut text = vec![format!(
        "The kernel says that a file system's server does not answer ({}, the first at {}).",
        silent.counted(),
        at(silent.first())
    )];
    let mut names: Vec<_> = hung.0.iter().filter_map(|it| server(it)).collect();
    names.dedup();
    if !names.is_empty() {
        names.truncate(SERVERS);
        text.push(format!(
            "It says, too, that tasks have slept in it for minutes: {}.",
            names.join(", ")
        ));
    }
    text.push(format!(
        "Then the kubelet's calls to the runtime timed out ({}, from {} on). Whoever touches a file on such a server sleeps in the kernel until it answers, and cannot be killed.",
        late.counted(),
        at(late.first())
    ));
    if answered {
        text.push("The kernel says that it answers again.".to_owned());
    }
    text.join(" ")
}

fn subject(server: &str) -> Subject {
    Subject {
        kind: SubjectKind::Mount,
        id: None,
        name: Some(server.to_owned()),
        pod: None,
        uid: None,
        pid: None,
    }
}

fn remedies(servers: &[&str]) -> Vec<Remedy> {
    let host = match servers {
        [server] if server.bytes().all(is_plain) => server,
        _ => "SERVER",
    };
    vec![
        remedy(
            "See who sleeps in the kernel, and where",
            Risk::Safe,
            "ps -eLo pid,tid,stat,wchan:32,etime,args | awk '$3 ~ /D/'; findmnt -t nfs,nfs4,cifs",
            "nothing; df, ls or stat on the mount would hang, too",
        ),
        Remedy {
            command: format!("ping -c 3 -W 2 {host}"),
            ..remedy(
                "Check the server and bring it back: everything then resumes",
                Risk::Safe,
                "",
                "nothing",
            )
        },
    ]
}

/// What a shell takes as it is.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'_')
}
