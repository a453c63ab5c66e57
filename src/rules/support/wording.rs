//! Times, numbers and names as sentences have them.

use crate::evidence::Evidence;
use crate::finding::{Subject, SubjectKind};
use crate::io::probe::{Outcome, Probe};
use crate::kubelet::incident::Peaks;
use crate::syntax::duration;
use crate::syntax::time::Time;

/// `1 container`, `3 containers`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// `once`, `3 times`.
pub(crate) fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    }
}

/// The time of day of a moment, as the log writes it, with the day where it is another one.
pub(crate) fn clock(evidence: &Evidence, time: Option<Time>) -> String {
    let Some(time) = time else {
        return "an unknown time".to_owned();
    };
    let today = evidence.now.with_timezone(time.offset()).date_naive();
    let format = if today == time.date_naive() {
        "%H:%M:%S"
    } else {
        "%m-%d %H:%M:%S"
    };
    time.format(format).to_string()
}

/// How long a call took: `3.0 s`, `1 ms`.
pub(crate) fn took(probe: &Probe) -> String {
    let millis = probe.took.as_millis();
    if millis >= 1000 {
        format!("{:.1} s", probe.took.as_secs_f64())
    } else {
        format!("{} ms", millis.max(1))
    }
}

/// How a call ended.
pub(crate) fn probe_text(probe: &Probe) -> String {
    let took = took(probe);
    let error = probe.error.as_deref().unwrap_or("no reason given");
    match probe.outcome {
        Outcome::Answered => format!("answered in {took}"),
        Outcome::TimedOut => match &probe.error {
            Some(error) => format!("no answer in {took}: {error}"),
            None => format!("no answer in {took}"),
        },
        Outcome::Refused | Outcome::Denied | Outcome::Error => error.to_owned(),
        Outcome::Gone => "there is no such container any more".to_owned(),
        Outcome::NotProbed => "not asked".to_owned(),
    }
}

/// "Sandbox b15929dfcea1 of pod default/web-2".
pub(crate) fn display_name(subject: &Subject) -> String {
    let kind = match subject.kind {
        SubjectKind::Sandbox => "Sandbox",
        _ => "Container",
    };
    let id = subject.id.as_ref().map_or("of unknown id", |id| id.short());
    match (&subject.pod, &subject.name) {
        (Some(pod), _) => format!("{kind} {id} of pod {pod}"),
        (None, Some(name)) => format!("{kind} {id} ({name})"),
        (None, None) => format!("{kind} {id}"),
    }
}

/// A name as it stands within a sentence.
pub(crate) fn lower(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}

/// From which heights a lag falls back: "4m2s", "3m58s to 4m10s".
pub(crate) fn heights(peaks: &Peaks) -> String {
    let (least, most) = (duration::human(peaks.least), duration::human(peaks.most));
    if least == most {
        most
    } else {
        format!("{least} to {most}")
    }
}
