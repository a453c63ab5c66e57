//! `pleg-unexplained`: the PLEG was unhealthy and no rule can say why. Says what was ruled out, and what to
//! save before anybody restarts anything.

mod unlogged;

use super::{
    bearing::{is_extract, may_drive},
    clock, hung_runtime, is_cause, lasts,
    lines::Lines,
    node,
    remedies::{RuntimeStack, remedy, save_stacks},
    support::old_form::{Bearing, OldRule as Rule},
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Variant},
    io::probe::Outcome,
    kubelet::{
        event::{Event, Kind},
        incident::{CALL_TIMEOUT, Incident, Shape},
        summary::Log,
    },
    syntax::{duration, time::Time},
};
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "pleg-unexplained",
    title: "The PLEG was unhealthy, and the evidence does not tell why",
    explains: false,
    bearing: Bearing::NONE,
    page: include_str!("../../docs/findings/pleg-unexplained.md"),
    check,
};

/// How soon after the end of a hang a relist has finished and the node is Ready: 10 s were seen.
const RELIST: TimeDelta = TimeDelta::seconds(60);

fn check(evidence: &Evidence, found: &[Finding]) -> Vec<Finding> {
    let causes: Vec<&Finding> = found
        .iter()
        .filter(|finding| is_cause(finding) && !hung_runtime::is_slow_start(finding))
        .collect();
    let caused = causes.iter().any(|cause| cause.active);
    let Some(log) = &evidence.log else {
        return unlogged(evidence, caused);
    };
    let open: Vec<&Incident> = log
        .incidents
        .iter()
        .filter(|incident| !explained(evidence, incident, &causes))
        .collect();
    if let Some(last) = open.last() {
        return vec![tell(evidence, last, open.len())];
    }
    let full = Lines::of(evidence, &[Kind::EventedPlegFull]).latest();
    if !full.is_empty() {
        return vec![tell_evented(evidence, &full)];
    }
    if let [finding] = &unlogged(evidence, caused)[..] {
        return vec![finding.clone()];
    }
    // A condition pasted by itself has no time and makes no incident.
    let mut untimed = Lines::of(evidence, &[Kind::PlegStale]);
    untimed.0.retain(|group| group.first.at.is_none());
    if untimed.is_empty() || !log.incidents.is_empty() || !causes.is_empty() {
        return Vec::new();
    }
    vec![tell_untimed(evidence, &untimed)]
}

/// What the kubelet itself says, where the log does not and no cause does.
fn unlogged(evidence: &Evidence, caused: bool) -> Vec<Finding> {
    let told = (!caused).then(|| unlogged::tell(evidence, &ruled_out(evidence)));
    told.flatten().into_iter().collect()
}

/// Whether a finding speaks of the incident's time, or of the present while the incident goes on.
fn explained(evidence: &Evidence, incident: &Incident, causes: &[&Finding]) -> bool {
    let (from, to) = (
        incident.start - CALL_TIMEOUT,
        incident.last_line + CALL_TIMEOUT,
    );
    let speaks_of = |(first, last): &(Time, Time)| *first <= to && *last >= from;
    // What blocked answers now, and the relist has not come round yet.
    let just_over = evidence.now - incident.last_line <= RELIST;
    causes.iter().any(|cause| {
        if incident.ongoing && !just_over {
            cause.active
        } else {
            cause.active || cause.spans.iter().any(speaks_of)
        }
    })
}

fn tell(evidence: &Evidence, incident: &Incident, number: usize) -> Finding {
    let active = incident.ongoing && lasts(evidence, Some(incident.last_line));
    let others = match number - 1 {
        0 => String::new(),
        1 => " Another outage is unexplained, too.".to_owned(),
        more => format!(" {more} other outages are unexplained, too."),
    };
    let since = clock(evidence, Some(incident.start));
    let what = shape(&since, incident);
    let title = if active {
        "The PLEG is unhealthy, and the evidence does not tell why"
    } else {
        RULE.title
    };
    let ruled_out = ruled_out(evidence);
    let start = Some(incident.start);
    let mut citations = vec![incident.first.clone(), incident.last.clone()];
    citations.dedup();
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: title.to_owned(),
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active,
        explanation: format!("{what} {ruled_out}{others}"),
        subjects: vec![node(evidence)],
        citations,
        remedies: remedies(evidence, active, start),
        spans: Vec::new(),
    }
}

/// Returns how the lag went, and what that alone tells.
fn shape(since: &str, incident: &Incident) -> String {
    let peak = duration::human(incident.peak_lag);
    let teeth = incident.teeth;
    match incident.shape {
        Shape::Sawtooth if teeth.count > 0 => {
            let times = match teeth.count {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            };
            let (least, most) = (duration::human(teeth.least), duration::human(teeth.most));
            let heights = match least == most {
                true => format!("from {most}"),
                false => format!("from {least} to {most}"),
            };
            format!(
                "From {since} on relists took longer than 3 minutes again and again; the lag reached {peak} and fell back {times}, {heights}. So the lists work, and the statuses after them take too long: one that does not answer takes 4 minutes each time, many slow ones or a slow disk take any time."
            )
        }
        Shape::Growing if incident.list_errors == 0 && !incident.never => format!(
            "No relist succeeded from {since} on; the lag reached {peak} and did not fall back. No call that timed out explains so much: the list, or one status call, waits without an end."
        ),
        _ => format!("No relist succeeded from {since} on; the lag reached {peak}."),
    }
}

fn tell_evented(evidence: &Evidence, full: &Lines) -> Finding {
    let active = full.go_on(evidence) && full.are_recent(evidence, TimeDelta::minutes(1));
    let (first, last) = (clock(evidence, full.first()), clock(evidence, full.last()));
    let lines = full.counted();
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: "The evented PLEG's channel is full: the kubelet does not keep up with its runtime's events".to_owned(),
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active,
        explanation: format!(
            "With the feature gate EventedPLEG the kubelet takes the runtime's events instead of listing every second, and calls itself unhealthy when 1000 of them wait ({lines}, {first} to {last}). The log does not tell why they are not taken."
        ),
        subjects: vec![node(evidence)],
        citations: full.cite(3),
        remedies: remedies(evidence, active, full.first()),
        spans: Vec::new(),
    }
}

fn tell_untimed(evidence: &Evidence, lines: &Lines) -> Finding {
    let lag = lines
        .0
        .iter()
        .filter_map(|group| group.last.lag)
        .max()
        .map(duration::human);
    let lag = lag.unwrap_or_else(|| "an unknown time".to_owned());
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: "The node's condition says that its PLEG is not healthy; the kubelet's log is needed to tell why".to_owned(),
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "No relist had succeeded for {lag}: the kubelet could not list the node's containers or could not get the status of one. The condition alone does not say which; run plegdoctor on the node, or on its kubelet's log."
        ),
        subjects: vec![node(evidence)],
        citations: lines.cite(1),
        remedies: remedies(evidence, true, None),
        spans: Vec::new(),
    }
}

/// Returns what the evidence excludes, in words.
fn ruled_out(evidence: &Evidence) -> String {
    let any =
        |log: &Log, fits: fn(&Event) -> bool| log.groups.iter().any(|group| fits(&group.first));
    let mut out = Vec::new();
    if let Some(log) = evidence.log.as_ref().filter(|log| !is_extract(log)) {
        if !any(log, |event| event.kind.is_list()) {
            out.push("no listing failed");
        }
        if !any(log, |event| event.kind.is_status() && event.is_deadline()) {
            out.push("no status call timed out");
        }
    }
    if let Some(runtime) = evidence
        .runtime
        .as_ref()
        .filter(|runtime| runtime.answers() && may_drive(evidence, runtime))
    {
        out.push("Docker answers now");
        if runtime
            .containers
            .iter()
            .all(|c| c.probe.outcome == Outcome::Answered)
        {
            out.push("every container's inspect answers now");
        }
    }
    if out.is_empty() {
        let cut = evidence.log.as_ref().is_some_and(is_extract);
        let cut = if cut {
            ": there are only lines on the PLEG, cut out of the log"
        } else {
            ""
        };
        format!("Nothing could be ruled out{cut}.")
    } else {
        format!("Ruled out: {}.", out.join("; "))
    }
}

/// How long before an outage its cause may have begun to show.
const BEFORE: TimeDelta = TimeDelta::hours(1);

/// Returns what to save before anybody restarts anything; of an outage that is over only the logs are left. `start` is
/// when it began.
fn remedies(evidence: &Evidence, active: bool, start: Option<Time>) -> Vec<Remedy> {
    let all = remedy(
        "Save the evidence",
        Risk::Safe,
        "plegdoctor collect -o node.tar.gz # as root, on the node",
        "nothing; some seconds, and it only reads",
    );
    let processes = remedy(
        "Save what the processes wait for",
        Risk::Safe,
        "ps -eLo pid,tid,ppid,stat,etime,wchan:32,args > processes.txt",
        "nothing",
    );
    let logs = save_logs(evidence, start);
    match active {
        true => vec![all, save_stacks(evidence), processes, logs],
        false => vec![logs],
    }
}

/// Returns what saves the logs of all who may have had a part, the kernel and systemd among them. `-k` beside `-u` finds
/// nothing: journalctl takes a line then only if it is both.
fn save_logs(evidence: &Evidence, start: Option<Time>) -> Remedy {
    let setup = RuntimeStack::new(evidence);
    let mut units: Vec<&str> = setup.own_units().all.to_vec();
    units.extend(setup.units().all);
    units.dedup();
    let units: Vec<_> = units
        .iter()
        .map(|unit| format!("_SYSTEMD_UNIT={unit}.service"))
        .collect();
    let since = start.and_then(|start| start.checked_sub_signed(BEFORE));
    let since = match since.filter(|since| evidence.now - *since > BEFORE * 2) {
        Some(since) => format!("{} UTC", since.naive_utc().format("%F %T")),
        None => "-2h".to_owned(),
    };
    remedy(
        "Save the logs",
        Risk::Safe,
        format!(
            "journalctl {} + _TRANSPORT=kernel + _PID=1 --since '{since}' --no-pager > journal.txt",
            units.join(" + ")
        ),
        "nothing",
    )
}
