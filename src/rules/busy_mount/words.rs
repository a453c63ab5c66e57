//! What is told of a mount that is held, and of who holds it.

use super::{Hold, Trouble, age, old};
use crate::evidence::Evidence;
use crate::node::Host;
use crate::node::mount_holder::{MountHolder, Place};
use crate::rules::{EACH, called, count, lower};
use crate::syntax::id::ContainerId;

pub(super) fn title(evidence: &Evidence, troubles: &[&Trouble<'_>], holds: &[Hold<'_>]) -> String {
    let who = match holds {
        [one] => who(evidence, one.keeper),
        many => count(many.len(), "mount namespace"),
    };
    let keeps = if holds.len() == 1 { "keeps" } else { "keep" };
    match troubles {
        [one] => format!(
            "{who} {keeps} a mount of {}",
            lower(&called(&one.subject()))
        ),
        many => format!(
            "{who} {keeps} mounts of {} that cannot be removed",
            count(many.len(), "container")
        ),
    }
}

pub(super) fn explain(
    evidence: &Evidence,
    host: &Host,
    troubles: &[&Trouble<'_>],
    holds: &[Hold<'_>],
) -> String {
    let mut text = vec![match troubles {
        [one] if one.says_busy => format!(
            "{} cannot be removed because something is mounted below its directories (\"device or resource busy\").",
            called(&one.subject())
        ),
        [one] => format!(
            "{} could not be removed, and something is mounted below its directories.",
            called(&one.subject())
        ),
        many => format!(
            "{} cannot be removed, and something is mounted below their directories.",
            count(many.len(), "container")
        ),
    }];
    for hold in holds.iter().take(EACH) {
        let points = hold.held.first().map(|(_, held)| held.point.as_str());
        let more = match hold.held.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let others = match hold.namespace.processes.saturating_sub(1) {
            0 => String::new(),
            1 => " and 1 process more".to_owned(),
            others => format!(" and {others} processes more"),
        };
        text.push(format!(
            "The kernel shows {}{more} in the mount namespace of {}{}{others}.",
            points.unwrap_or_default(),
            who(evidence, hold.keeper),
            old(age(host, hold.keeper)),
        ));
    }
    if holds.len() > EACH {
        text.push(format!("So do {} namespaces more.", holds.len() - EACH));
    }
    text.push("It is a copy of what was mounted when that namespace was made, and it did not go when the runtime unmounted its own: such a namespace wants the propagation rslave (HostToContainer in a pod, MountFlags=slave in a unit). Once it is let go, the container can be removed.".to_owned());
    text.join(" ")
}

/// Returns a process with the unit or the container that it belongs to.
fn who(evidence: &Evidence, keeper: &MountHolder) -> String {
    let belongs = match (&keeper.container, &keeper.unit) {
        (Some(id), _) => format!(" of {}", container(evidence, id)),
        (None, Some(unit)) => format!(" of {unit}"),
        (None, None) => String::new(),
    };
    format!("{} (process {}{belongs})", keeper.comm, keeper.pid)
}

fn container(evidence: &Evidence, id: &ContainerId) -> String {
    let known = evidence
        .runtime
        .as_ref()
        .and_then(|runtime| runtime.find(id));
    match known {
        Some(known) => lower(&called(&crate::rules::subject_of(known))),
        None => format!("container {}", id.short()),
    }
}

/// Returns what to look for in a `mountinfo`.
pub(super) fn name(place: &Place, id: &ContainerId) -> String {
    match place {
        Place::Layer(name) => name.clone(),
        Place::Container(_) => id.to_string(),
    }
}
