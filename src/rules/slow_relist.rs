//! `slow-relist`: relists succeed and take long. An early warning, before the PLEG is unhealthy.
//!
//! Two sources: the kubelet's metrics, which mostly count from its start, and plegdoctor's own calls of now. Where a call
//! hangs, or a pile of containers is the reason, another rule has the finding.

use super::support::answer::{Answer, Draft};
use super::support::case::Case;
use super::support::kubelet_metrics::lag;
use super::support::wording::{count, took};
use super::support::{cite, kubelet_metrics, step};
use super::{Detection, Explains, Rule, Tier, is_cause};
use crate::finding::Severity;
use crate::io::probe::Probe;
use crate::kubelet::histogram::human;
use crate::kubelet::summary::Log;
use crate::kubelet::{Age, Kubelet, Quantiles};
use crate::runtime::{Call, Runtime};
use crate::syntax::citation::Citation;
use crate::syntax::duration;
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "slow-relist",
    title: "Relists are slow: PLEG is close to unhealthy",
    page: include_str!("../../docs/findings/slow-relist.md"),
    explains: Explains::Nothing,
    tier: Tier::Second,
    detection: Detection::Custom(evaluate),
};

/// A relist that takes longer is late, see `runtime::relist`: at most one in a hundred may be …
const LATE_SECONDS: f64 = 5.0;
const MAX_LATE_SHARE: f64 = 0.01;
/// … of at least so many.
const MIN_RELISTS: f64 = 100.0;
/// More than half that take longer than this leave no doubt, of at least so many.
const LATE_MEDIAN_SECONDS: f64 = 1.0;
const MIN_RELISTS_FOR_MEDIAN: f64 = 20.0;
/// A start comes a second after the end of the relist before.
const LATE_START_MEDIAN_SECONDS: f64 = 2.5;
/// The kubelet stamps its last relist every second, every 10 s at worst.
const MAX_STAMP_AGE: TimeDelta = TimeDelta::seconds(20);

/// What is slow: sentences, and their proof.
#[derive(Default)]
struct Slow {
    sentences: Vec<String>,
    cited: Vec<Citation>,
}

fn evaluate(case: &Case) -> Answer {
    let kubelet = kubelet_metrics::of(case.evidence);
    let is_unhealthy = kubelet.is_some_and(|it| it.overdue().is_some());
    let mut causes = case.findings.iter().filter(|it| is_cause(it));
    let is_explained = causes.clone().any(|it| it.active);
    if is_explained || is_unhealthy || case.log().is_some_and(Log::has_outage) {
        return Answer::Silent;
    }
    // An outage in the log, or a resolved cause, explains slow relists since the kubelet's start.
    let had_outage = case.log().is_some_and(|log| !log.incidents.is_empty());
    let is_known = had_outage || causes.next().is_some();
    let metrics = kubelet.and_then(|it| from_metrics(it, is_known));
    let calls = case.evidence.listed().and_then(from_calls);
    if metrics.is_none() && calls.is_none() {
        return Answer::Silent;
    }
    let agreed = metrics.is_some() && calls.is_some();
    let mut draft = Draft::new(Severity::Warning, RULE.title);
    for slow in [metrics, calls].into_iter().flatten() {
        draft = draft.say(slow.sentences.join(" ")).seen(slow.cited);
    }
    draft
        .say("A relist lists all containers and gets the status of each changed pod, one after the other. If no relist succeeds for 3 minutes, the kubelet reports PLEG unhealthy and the node is NotReady.")
        .confirmed_if(agreed)
        .steps([
            step::look("See which containers answer slowly", "plegdoctor probe"),
            step::look(
                "See whether disks or CPUs are at their limit",
                "vmstat 1 5; iostat -x 1 5",
            ),
        ])
        .into()
}

/// By the kubelet's metrics; `is_known` leaves out what a known outage explains.
fn from_metrics(kubelet: &Kubelet, is_known: bool) -> Option<Slow> {
    let metrics = kubelet.metrics.as_ref()?;
    let mut slow = Slow::default();
    let is_stale = |age: &Age| !metrics.evented && age.least() > MAX_STAMP_AGE;
    if let Some(age) = kubelet.relist_age().filter(is_stale) {
        let lag = lag(kubelet, age);
        let late = match age {
            Age::Exactly(_) => "is late now",
            Age::AtLeast(_) => "was late when its metrics were saved",
        };
        slow.sentences
            .push(format!("The kubelet's relist {late}: {lag}."));
        slow.cited.push(kubelet_metrics::cite(kubelet, lag));
    }
    let age = kubelet.age().and_then(|age| TimeDelta::from_std(age).ok());
    let ago = age.map_or_else(String::new, |age| format!(" {} ago", duration::human(age)));
    let since = format!("since the kubelet's start{ago}");
    let durations = metrics.relist.as_ref().and_then(|it| {
        let what = ("relists took", "", LATE_MEDIAN_SECONDS);
        many_are_slow(it, is_known, what, &since)
    });
    // That starts are late follows from slow relists. With the evented PLEG relists are 5 minutes apart.
    let interval = metrics.interval.as_ref().filter(|_| !metrics.evented);
    let starts = || {
        let what = (
            "starts of a relist came",
            " after the one before",
            LATE_START_MEDIAN_SECONDS,
        );
        many_are_slow(interval?, is_known, what, &since)
    };
    if let Some(text) = durations.or_else(starts) {
        slow.sentences
            .push(format!("By the kubelet's metrics, {text}."));
        slow.cited.push(kubelet_metrics::cite(kubelet, text));
    }
    (!slow.cited.is_empty()).then_some(slow)
}

/// That many are slow, if so: "20 of 1000 relists took more than 5 s since …".
fn many_are_slow(
    spread: &Quantiles,
    is_known: bool,
    (what, after, late_median): (&str, &str, f64),
    since: &str,
) -> Option<String> {
    let (median, most) = (spread.quantile(0.5), spread.quantile(0.99));
    if spread.is_recent() {
        let late = median.seconds() > LATE_MEDIAN_SECONDS || most.seconds() > LATE_SECONDS;
        let noun = what.rsplit_once(' ').map_or(what, |(noun, _)| noun);
        return late.then(|| {
            format!(
                "of the last 10 minutes' {noun} the median is {median}, the 99th percentile {most}"
            )
        });
    }
    let all = spread.count;
    let longer = |seconds| spread.longer_than(seconds).unwrap_or(0.0);
    let text = |seconds: f64| {
        let (late, length) = (longer(seconds), human(seconds));
        format!("{late:.0} of {all:.0} {what} more than {length}{after} {since}")
    };
    if all >= MIN_RELISTS_FOR_MEDIAN && longer(late_median) * 2.0 > all {
        return Some(text(late_median));
    }
    let many = all >= MIN_RELISTS && longer(LATE_SECONDS) > all * MAX_LATE_SHARE;
    (many && !is_known).then(|| text(LATE_SECONDS))
}

/// By plegdoctor's own calls: all answered, and slowly.
fn from_calls(runtime: &Runtime) -> Option<Slow> {
    let relist = runtime.relist();
    if !relist.is_whole() || !relist.is_slow() {
        return None;
    }
    let [one, all, statuses] = [relist.one_changed(), relist.all_changed(), relist.statuses]
        .map(|it| human(it.as_secs_f64()));
    let list = runtime.probe(Call::List);
    let together = Probe {
        took: relist.statuses,
        ..list.clone()
    };
    let text = format!(
        "{} of pods answered in {} together",
        count(relist.asked, "container"),
        took(&together)
    );
    Some(Slow {
        sentences: vec![format!(
            "By plegdoctor's own calls a relist takes {one} where one pod changed, and {all} where all did: a list took {}, and the statuses of {} took {statuses} one after the other.",
            took(list),
            count(relist.pods, "pod"),
        )],
        cited: vec![
            cite::probe("docker list", runtime, list),
            cite::call("docker inspect", runtime, text),
        ],
    })
}
