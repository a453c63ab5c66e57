//! How much room the list of containers has, in words: for the rules that speak of many containers.

use super::{cite, wording::count};
use crate::runtime::Runtime;
use crate::runtime::list_size::ListSize;
use crate::syntax::citation::Citation;
use crate::syntax::duration;
use chrono::TimeDelta;

pub(crate) use crate::runtime::list_size::LIMIT;

/// What is further off concerns nobody.
const FAR: TimeDelta = TimeDelta::days(366);

/// Returns how far the list is from its limit, how long a relist takes, and when it will be too long or too late.
pub(crate) fn told(runtime: &Runtime) -> Option<String> {
    let room = runtime.list_size()?;
    let ListSize {
        bytes, each, full, ..
    } = room;
    let containers = count(room.containers, "container");
    let mut text = vec![match bytes < LIMIT {
        true => format!(
            "The list holds {containers} in {bytes} bytes as JSON, {each} each: it reaches gRPC's limit of 16 MiB with some {full} of that length."
        ),
        false => format!(
            "The list holds {containers} in {bytes} bytes as JSON, {each} each: of that length some {full} fit into gRPC's limit of 16 MiB."
        ),
    }];
    text.extend(growth(&room));
    Some(text.join(" "))
}

/// Returns how fast it grows, and from what that is known.
fn growth(room: &ListSize) -> Option<String> {
    let growth = room.growth.as_ref()?;
    let (window, last, before) = (duration::human(growth.window), growth.last, growth.before);
    let mut text = vec![format!(
        "Of the stopped ones that are left, {last} were made in the last {window} and {before} in the {window} before."
    )];
    let ends = [
        (growth.full_in, "the list reaches that limit"),
        (growth.late_in, "a relist's lists alone take 3 minutes"),
    ];
    let ends: Vec<_> = ends
        .into_iter()
        .filter_map(|(time, what)| Some((time.filter(|time| *time < FAR)?, what)))
        .map(|(time, what)| format!("{what} in {}", lasting(time)))
        .collect();
    if !ends.is_empty() {
        text.push(format!("At this rate, {}.", ends.join(", and ")));
    }
    Some(text.join(" "))
}

/// Returns a forecast: no more exact than it is.
fn lasting(time: TimeDelta) -> String {
    match time.num_days() {
        0 | 1 => duration::human(time),
        days => format!("{days} days"),
    }
}

/// How many of the listed containers do not run.
pub(crate) fn stopped(runtime: &Runtime) -> usize {
    let containers = runtime.containers.iter();
    containers.filter(|it| !it.is_listed_running()).count()
}

/// How long the list is, as proof.
pub(crate) fn cite_list(runtime: &Runtime) -> Citation {
    let containers = count(runtime.containers.len(), "container");
    let (stopped, bytes) = (stopped(runtime), runtime.list_bytes());
    let text = format!("{containers}, {stopped} of them stopped, {bytes} bytes as JSON");
    cite::call("docker list", runtime, text)
}
