//! `pleg-unexplained`: the PLEG was unhealthy and no rule finds why. Says what is ruled out, and what to save before
//! anything is restarted.

use super::support::answer::{Answer, Draft};
use super::support::case::{Case, is_extract, may_drive};
use super::support::log_lines::lasts;
use super::support::remedies::save_stacks;
use super::support::wording::{clock, heights, times, took};
use super::support::{cite, kubelet_metrics, step};
use super::{Detection, Explains, Rule, Tier, is_cause};
use crate::evidence::Evidence;
use crate::evidence::runtime_stack::RuntimeStack;
use crate::finding::{Finding, Remedy, Severity, Variant};
use crate::io::probe::Outcome;
use crate::kubelet::event::{Event, Kind};
use crate::kubelet::incident::{CALL_TIMEOUT, Incident, Shape};
use crate::syntax::duration;
use crate::syntax::time::Time;
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "pleg-unexplained",
    title: "PLEG was unhealthy; the evidence does not show why",
    page: include_str!("../../docs/findings/pleg-unexplained.md"),
    explains: Explains::Nothing,
    tier: Tier::Second,
    detection: Detection::Custom(evaluate),
};

const TITLE_NOW: &str = "PLEG is unhealthy; the evidence does not show why";
/// How soon after the end of a hang a relist has finished and the node is Ready: 10 s were seen.
const RELIST: TimeDelta = TimeDelta::seconds(60);
/// How long before an outage its cause may have begun to show.
const BEFORE: TimeDelta = TimeDelta::hours(1);

fn evaluate(case: &Case) -> Answer {
    // No relist waits for a slow start.
    let explains = |it: &&Finding| is_cause(it) && it.variant != Variant::SlowStarts;
    let causes: Vec<_> = case.findings.iter().filter(explains).collect();
    let is_explained = causes.iter().any(|cause| cause.active);
    let incidents = case.log().map_or(&[][..], |log| &log.incidents);
    let is_open = |it: &&Incident| !has_cause(case.evidence, it, &causes);
    let open: Vec<_> = incidents.iter().filter(is_open).collect();
    let draft = open.last().map(|last| from_outage(case, last, open.len()));
    let draft = draft
        .or_else(|| from_full_channel(case))
        .or_else(|| (!is_explained).then(|| from_kubelet(case)).flatten())
        // A condition pasted alone has no time and makes no incident.
        .or_else(|| {
            let alone = incidents.is_empty() && causes.is_empty();
            alone.then(|| from_condition(case)).flatten()
        });
    draft.map_or(Answer::Silent, Answer::from)
}

/// Whether a finding speaks of the incident's time, or of now while the incident lasts.
fn has_cause(evidence: &Evidence, incident: &Incident, causes: &[&Finding]) -> bool {
    let from = incident.start - CALL_TIMEOUT;
    let to = incident.last_line + CALL_TIMEOUT;
    let is_during = |(first, last): &(Time, Time)| *first <= to && *last >= from;
    // What blocked answers now, and the next relist has not finished yet.
    let is_just_over = evidence.now - incident.last_line <= RELIST;
    let counts = is_just_over || !incident.ongoing;
    let mut causes = causes.iter();
    causes.any(|it| it.active || (counts && it.spans.iter().any(is_during)))
}

fn draft(case: &Case, title: &str, active: bool, start: Option<Time>) -> Draft {
    Draft::new(Severity::Critical, title)
        .active(active)
        .steps(steps(case.evidence, active, start))
        .keep_steps()
}

fn from_outage(case: &Case, incident: &Incident, number: usize) -> Draft {
    let active = incident.ongoing && lasts(case.evidence, Some(incident.last_line));
    let title = if active { TITLE_NOW } else { RULE.title };
    let mut cited = vec![incident.first.clone(), incident.last.clone()];
    cited.dedup();
    draft(case, title, active, Some(incident.start))
        .say(shape(case.evidence, incident))
        .say(ruled_out(case))
        .say(match number - 1 {
            0 => String::new(),
            1 => "Another outage is unexplained, too.".to_owned(),
            more => format!("{more} other outages are unexplained, too."),
        })
        .cite(cited)
}

/// How the lag went, and what that alone shows.
fn shape(evidence: &Evidence, incident: &Incident) -> String {
    let since = clock(evidence, Some(incident.start));
    let (peak, peaks) = (duration::human(incident.peak_lag), &incident.peaks);
    match incident.shape {
        Shape::Sawtooth if peaks.count > 0 => format!(
            "From {since} on relists repeatedly took longer than 3 minutes; the lag reached {peak} and fell back {}, from {}. So the lists work, and the status calls after them take too long: one that hangs takes 4 minutes each time, many slow ones or a slow disk take any time.",
            times(peaks.count.into()),
            heights(peaks)
        ),
        Shape::Growing if incident.list_errors == 0 && !incident.never => format!(
            "No relist succeeded from {since} on; the lag reached {peak} and did not fall back. No call that timed out explains that much: the list, or one status call, waits without an end."
        ),
        _ => format!("No relist succeeded from {since} on; the lag reached {peak}."),
    }
}

fn from_full_channel(case: &Case) -> Option<Draft> {
    let lines = case.lines(&[Kind::EventedPlegFull]).latest();
    if lines.is_empty() {
        return None;
    }
    let active =
        lines.go_on(case.evidence) && lines.are_recent(case.evidence, TimeDelta::minutes(1));
    let title = "The evented PLEG's channel is full: the kubelet does not keep up with its runtime's events";
    Some(
        draft(case, title, active, lines.first())
            .say(format!(
                "With the feature gate EventedPLEG the kubelet takes the runtime's events instead of listing every second, and reports itself unhealthy when 1000 of them wait ({}). The log does not show why they are not processed.",
                lines.summary(case.evidence)
            ))
            .cite(lines.cite(3)),
    )
}

/// By the kubelet's metrics, or its health check's answer on the sync loop, where no log shows it.
fn from_kubelet(case: &Case) -> Option<Draft> {
    let kubelet = kubelet_metrics::of(case.evidence)?;
    let lag = kubelet
        .overdue()
        .map(|age| kubelet_metrics::lag(kubelet, age));
    let stuck = kubelet.stuck_loop().map(|health| {
        let failed: Vec<_> = health.failed().map(|check| check.name.as_str()).collect();
        let text = format!("failed: {}, in {}", failed.join(", "), took(&health.probe));
        cite::host(case.evidence, "kubelet healthz", text)
    });
    let (title, text) = match &lag {
        Some(lag) => (TITLE_NOW, format!(
            "By the kubelet's metrics {lag}; the limit is {}, so it reports PLEG unhealthy and the node is NotReady.",
            duration::human(kubelet.threshold())
        )),
        None if stuck.is_none() => return None,
        None => (
            "The kubelet's sync loop is stuck; the evidence does not show why",
            "The kubelet's health check says that its sync loop has not completed for 5 minutes, as happens while it reports its PLEG or its runtime unhealthy. Its metrics, which would show which, were not seen or show no late relist.".to_owned(),
        ),
    };
    Some(
        draft(case, title, true, None)
            .say(text)
            .say(ruled_out(case))
            .cite(lag.map(|lag| kubelet_metrics::cite(kubelet, lag)))
            .cite(stuck),
    )
}

fn from_condition(case: &Case) -> Option<Draft> {
    let untimed = case.lines(&[Kind::PlegStale]);
    let untimed = untimed.filter(|group| group.first.at.is_none());
    let lag = untimed.0.iter().filter_map(|it| it.last.lag).max();
    let lag = lag.map_or_else(|| "an unknown time".to_owned(), duration::human);
    let title = "The node's condition says that its PLEG is not healthy; the kubelet's log is needed to find why";
    (!untimed.is_empty()).then(|| {
        draft(case, title, true, None)
            .say(format!(
                "No relist had succeeded for {lag}: the kubelet could not list the node's containers or could not get the status of one. The condition alone does not show which; run plegdoctor on the node, or on its kubelet's log."
            ))
            .cite(untimed.cite(1))
    })
}

/// What the evidence excludes.
fn ruled_out(case: &Case) -> String {
    let mut out = Vec::new();
    let log = case.log().filter(|log| !is_extract(log));
    let none = |is: fn(&Event) -> bool| {
        log.is_some_and(|log| !log.groups.iter().any(|group| is(&group.first)))
    };
    if none(|event| event.kind.is_list()) {
        out.push("no listing failed".to_owned());
    }
    if none(|event| event.kind.is_status() && event.is_deadline()) {
        out.push("no status call timed out".to_owned());
    }
    let runtime = case.evidence.runtime.as_ref();
    if let Some(runtime) = runtime.filter(|it| it.answers() && may_drive(case.evidence, it)) {
        out.push(format!("{} answers now", runtime.kind));
        let mut containers = runtime.containers.iter();
        if containers.all(|it| it.probe.outcome == Outcome::Answered) {
            out.push("every container's inspect answers now".to_owned());
        }
    }
    match out.is_empty() {
        false => format!("Ruled out: {}.", out.join("; ")),
        true if case.log().is_some_and(is_extract) => {
            "Nothing could be ruled out: there are only lines on the PLEG, cut out of the log."
                .to_owned()
        }
        true => "Nothing could be ruled out.".to_owned(),
    }
}

/// What to save before anything is restarted; of a resolved outage only the logs are left.
fn steps(evidence: &Evidence, active: bool, start: Option<Time>) -> Vec<Remedy> {
    let all = step::look(
        "Save the evidence",
        "plegdoctor collect -o node.tar.gz # as root, on the node",
    )
    .note("takes some seconds");
    let processes = step::look(
        "Save what the processes wait for",
        "ps -eLo pid,tid,ppid,stat,etime,wchan:32,args > processes.txt",
    );
    let logs = save_logs(evidence, start);
    match active {
        true => vec![all, save_stacks(evidence), processes, logs],
        false => vec![logs],
    }
}

/// The logs of all programs that may have had a part, the kernel and systemd among them. `-k` beside `-u` finds nothing:
/// journalctl takes a line then only if it is both.
fn save_logs(evidence: &Evidence, start: Option<Time>) -> Remedy {
    let stack = RuntimeStack::new(evidence);
    let mut units = [stack.own_units().all, stack.units().all].concat();
    units.dedup();
    let units: Vec<_> = units
        .iter()
        .map(|unit| format!("_SYSTEMD_UNIT={unit}.service + "))
        .collect();
    let since = start.and_then(|start| start.checked_sub_signed(BEFORE));
    let since = match since.filter(|since| evidence.now - *since > BEFORE * 2) {
        Some(since) => format!("{} UTC", since.naive_utc().format("%F %T")),
        None => "-2h".to_owned(),
    };
    step::look(
        "Save the logs",
        format!(
            "journalctl {}_TRANSPORT=kernel + _PID=1 --since '{since}' --no-pager > journal.txt",
            units.concat()
        ),
    )
}
