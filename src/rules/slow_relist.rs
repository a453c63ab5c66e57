//! `slow-relist`: relists work and take long. An early warning, before the PLEG is unhealthy.
//!
//! Two sources: the kubelet's metrics, which mostly count from its start, and our own calls, of now. Where something
//! hangs, or a pile of containers is the reason, another rule speaks.

use super::{Bearing, Rule, cite_probe, count, is_cause, kubelet, kubelet::cite, node, took};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Variant},
    io::probe::Probe,
    kubelet::{Age, Kubelet, Metrics, Spread, spread::human, summary::Log},
    runtime::Runtime,
    syntax::{citation::Citation, duration},
};
use chrono::TimeDelta;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "slow-relist",
    title: "Relists take long: the PLEG is near to being unhealthy",
    explains: false,
    bearing: Bearing::NONE,
    page: include_str!("../../docs/findings/slow-relist.md"),
    check,
};

/// A relist of so many seconds is late: see `runtime::relist`.
const LATE: f64 = 5.0;
/// … and half of all that take longer than this leave no doubt.
const LATE_HALF: f64 = 1.0;
/// What share of relists may be late.
const SHARE: f64 = 0.01;
/// Fewer relists tell nothing of a share of one in a hundred …
const ENOUGH: f64 = 100.0;
/// … or of a half.
const ENOUGH_HALF: f64 = 20.0;
/// A stamp of the last relist that is older: the kubelet writes it every second, at the worst every 10 s.
const STALE: TimeDelta = TimeDelta::seconds(20);

fn check(evidence: &Evidence, found: &[Finding]) -> Vec<Finding> {
    let explained = found
        .iter()
        .any(|finding| is_cause(finding) && finding.active);
    let told_kubelet = kubelet::of(evidence);
    let unhealthy = told_kubelet.is_some_and(|kubelet| kubelet.overdue().is_some());
    let log = evidence.log.as_ref();
    let outage = log.is_some_and(Log::has_outage);
    if explained || unhealthy || outage {
        return Vec::new();
    }
    // Slow relists of an outage that the log tells, or of a cause that is over, are no news.
    let known = log.is_some_and(|log| !log.incidents.is_empty()) || found.iter().any(is_cause);
    let told = told_kubelet.and_then(|kubelet| told(kubelet, known));
    let own = evidence.listed().and_then(own);
    if told.is_none() && own.is_none() {
        return Vec::new();
    }
    let both = told.is_some() && own.is_some();
    let (mut words, mut citations) = (Vec::new(), Vec::new());
    for Slow { text, cited } in told.into_iter().chain(own) {
        words.push(text);
        citations.extend(cited);
    }
    vec![Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: RULE.title.to_owned(),
        severity: Severity::Warning,
        confidence: if both {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active: true,
        explanation: format!(
            "{} A relist lists all containers and asks the status of each pod that changed, one after the other. If none has listed for 3 minutes, the kubelet calls its PLEG unhealthy and the node goes NotReady.",
            words.join(" ")
        ),
        subjects: vec![node(evidence)],
        citations,
        remedies: remedies(),
        spans: Vec::new(),
    }]
}

/// What is slow, in words, and what proves it.
struct Slow {
    text: String,
    cited: Vec<Citation>,
}

/// What the kubelet's metrics show; `known` leaves out what an outage that is known explains.
fn told(kubelet: &Kubelet, known: bool) -> Option<Slow> {
    let metrics = kubelet.metrics.as_ref()?;
    let mut texts = Vec::new();
    let mut cited = Vec::new();
    if let Some(age) = stale(kubelet, metrics) {
        let words = kubelet::lag(kubelet, age);
        let late = match age {
            Age::Exactly(_) => "is late now",
            Age::AtLeast(_) => "was late when its metrics were saved",
        };
        texts.push(format!("The kubelet's relist {late}: {words}."));
        cited.push(cite(kubelet, words));
    }
    let since = match kubelet.age().and_then(|age| TimeDelta::from_std(age).ok()) {
        Some(age) => format!("since the kubelet's start {} ago", duration::human(age)),
        None => "since the kubelet's start".to_owned(),
    };
    // With the evented PLEG relists are rare, and 5 minutes apart.
    let interval = metrics.interval.as_ref().filter(|_| !metrics.evented);
    for (what, verb, spread) in [
        ("relists", "took", metrics.relist.as_ref()),
        ("starts of a relist", "came", interval),
    ] {
        let Some(words) = spread.and_then(|spread| slow(spread, known, (what, verb), &since))
        else {
            continue;
        };
        texts.push(format!("By the kubelet's metrics, {words}."));
        cited.push(cite(kubelet, words));
        // That the next one starts late follows from the first being slow.
        break;
    }
    (!texts.is_empty()).then(|| Slow {
        text: texts.join(" "),
        cited,
    })
}

/// Returns the age of the last relist where it is beyond what a working one leaves.
fn stale(kubelet: &Kubelet, metrics: &Metrics) -> Option<Age> {
    let age = kubelet.relist_age()?;
    (!metrics.evented && age.least() > STALE).then_some(age)
}

/// Returns in words that many are slow, if so.
fn slow(spread: &Spread, known: bool, (what, verb): (&str, &str), since: &str) -> Option<String> {
    let (half, most) = (spread.quantile(0.5), spread.quantile(0.99));
    if spread.is_recent() {
        let late = half.seconds() > LATE_HALF || most.seconds() > LATE;
        return late.then(|| {
            format!(
                "of the last 10 minutes' {what} the median is {half}, the 99th percentile {most}"
            )
        });
    }
    let all = spread.count;
    let share = |seconds| spread.longer_than(seconds).unwrap_or(0.0);
    let after = if verb == "came" {
        " after the one before"
    } else {
        ""
    };
    let tell = |seconds: f64| {
        let (late, length) = (share(seconds), human(seconds));
        format!("{late:.0} of {all:.0} {what} {verb} more than {length}{after} {since}")
    };
    // A start comes a second after the end of the one before.
    let half_late = if verb == "came" { 2.5 } else { LATE_HALF };
    if all >= ENOUGH_HALF && share(half_late) * 2.0 > all {
        return Some(tell(half_late));
    }
    (!known && all >= ENOUGH && share(LATE) > all * SHARE).then(|| tell(LATE))
}

/// What our own calls show: all answered, and slowly.
fn own(runtime: &Runtime) -> Option<Slow> {
    let relist = runtime.relist();
    let (one, all) = (relist.one_changed(), relist.all_changed());
    if !relist.is_whole() || !relist.is_slow() {
        return None;
    }
    let seconds = |time: Duration| human(time.as_secs_f64());
    let list = took(&runtime.list);
    let pods = count(relist.pods, "pod");
    let text = format!(
        "By our own calls a relist takes {} where one pod changed, and {} where all did: a list took {list}, and the statuses of {pods} took {} one after the other.",
        seconds(one),
        seconds(all),
        seconds(relist.statuses),
    );
    let statuses = Probe {
        took: relist.statuses,
        ..runtime.list.clone()
    };
    let mut summed = cite_probe("docker inspect", runtime, &statuses);
    let asked = count(relist.asked, "container");
    summed.text = format!("{asked} of pods answered in {} together", took(&statuses)).into();
    Some(Slow {
        text,
        cited: vec![cite_probe("docker list", runtime, &runtime.list), summed],
    })
}

fn remedies() -> Vec<Remedy> {
    let look = |title: &str, command: &str| Remedy {
        title: title.to_owned(),
        risk: Risk::Safe,
        command: command.to_owned(),
        cost: "nothing; it only looks".to_owned(),
        actions: Vec::new(),
    };
    vec![
        look("See which containers answer slowly", "plegdoctor probe"),
        look(
            "See whether disks or processors are at their limit",
            "vmstat 1 5; iostat -x 1 5",
        ),
    ]
}
