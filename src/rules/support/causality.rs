//! Which findings follow from which: the relations between rules, all of them.
//!
//! Two findings are related only where they speak of one time and may be about the same things; `report::rank` sees to that.

use crate::finding::{Finding, Variant};

/// What one rule's trouble does to others'.
#[derive(Debug)]
pub(crate) struct Relation {
    cause: &'static str,
    effect: Effect,
    on: &'static [&'static str],
    /// Which findings of the two, where it is not all.
    only_if: fn(&Finding, &Finding) -> bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Without it theirs would not be there: theirs is a symptom.
    Causes,
    /// It makes theirs likelier or worse, which has a cause of its own nevertheless.
    Aggravates,
}

const RELATIONS: &[Relation] = &[
    causes("runtime-down", &["not-pleg"]),
    causes(
        "frozen-daemon",
        &["hung-runtime", "hung-container", "not-pleg"],
    ),
    causes(
        "network-storage",
        &[
            "hung-container",
            "hung-runtime",
            "frozen-daemon",
            "not-pleg",
        ],
    ),
    causes(
        "disk-saturated",
        &[
            "hung-container",
            "hung-runtime",
            "frozen-daemon",
            "slow-relist",
        ],
    ),
    causes("systemd-unresponsive", &["hung-container", "hung-runtime"]),
    causes(
        "netns-blocked",
        &[
            "hung-container",
            "hung-runtime",
            "cni-hang",
            "frozen-daemon",
            "not-pleg",
        ],
    ),
    causes("hung-runtime", &["hung-container", "not-pleg"]),
    causes("log-driver-blocked", &["hung-container", "hung-runtime"]),
    causes("hung-container", &["orphan-sandbox"]),
    causes("cni-hang", &["hung-container", "hung-runtime", "not-pleg"]),
    causes("container-pileup", &["slow-relist"]),
    causes("busy-mount", &["dead-container"]),
    causes("clock-step", &["not-pleg"]).only_if(|step, other| {
        let both = [step, other];
        both.iter()
            .all(|it| it.variant == Variant::ExpiredCertificate)
    }),
    aggravates("disk-saturated", &["container-pileup"]),
    aggravates(
        "tasks-exhausted",
        &["runtime-down", "hung-runtime", "hung-container", "cni-hang"],
    ),
    aggravates(
        "memory-starved",
        &[
            "runtime-down",
            "hung-runtime",
            "hung-container",
            "frozen-daemon",
            "slow-relist",
            "pleg-unexplained",
        ],
    ),
    aggravates("container-pileup", &["list-too-large", "hung-runtime"]),
    aggravates("evented-pleg", &["pleg-unexplained"]),
    aggravates("leaked-shim", &["orphan-sandbox", "dead-container"]),
    aggravates("busy-mount", &["container-pileup", "list-too-large"]),
    aggravates("dead-container", &["container-pileup", "list-too-large"]),
    aggravates("xtables-lock", &["cni-hang"]),
    aggravates("clock-step", &["not-pleg"]),
    aggravates(
        "known-bad-version",
        &[
            "hung-container",
            "leaked-shim",
            "systemd-unresponsive",
            "log-driver-blocked",
            "cni-hang",
            "busy-mount",
        ],
    )
    .only_if(|version, other| version.variant == Variant::FactorIn(other.id)),
];

const fn causes(cause: &'static str, on: &'static [&'static str]) -> Relation {
    Relation {
        cause,
        effect: Effect::Causes,
        on,
        only_if: |_, _| true,
    }
}

const fn aggravates(cause: &'static str, on: &'static [&'static str]) -> Relation {
    Relation {
        effect: Effect::Aggravates,
        ..causes(cause, on)
    }
}

impl Relation {
    const fn only_if(self, only_if: fn(&Finding, &Finding) -> bool) -> Self {
        Self { only_if, ..self }
    }
}

/// Whether `finding` would not be there without `cause`.
pub(crate) fn is_symptom(finding: &Finding, cause: &Finding) -> bool {
    has(Effect::Causes, cause, finding)
}

/// Whether `finding` makes `other` likelier or worse.
pub(crate) fn is_aggravating(finding: &Finding, other: &Finding) -> bool {
    has(Effect::Aggravates, finding, other)
}

/// Whether the finding's rule may be behind the trouble of the rule with that id.
pub(crate) fn may_cause(finding: &Finding, id: &str) -> bool {
    let mut causes = RELATIONS.iter().filter(|it| it.effect == Effect::Causes);
    causes.any(|it| it.cause == finding.id && it.on.contains(&id))
}

fn has(effect: Effect, cause: &Finding, other: &Finding) -> bool {
    RELATIONS.iter().any(|it| {
        it.effect == effect
            && it.cause == cause.id
            && it.on.contains(&other.id)
            && (it.only_if)(cause, other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::row;

    #[test]
    fn relations_are_between_two_rules_that_there_are() {
        for it in RELATIONS {
            assert!(row(it.cause).is_some(), "{}", it.cause);
            for other in it.on {
                assert!(row(other).is_some(), "{} names {other}", it.cause);
                assert_ne!(*other, it.cause);
            }
        }
    }

    #[test]
    fn no_two_rules_cause_each_other() {
        let causes = |it: &&Relation| it.effect == Effect::Causes;
        let pairs = |it: &'static Relation| it.on.iter().map(|other| (it.cause, *other));
        let pairs: Vec<_> = RELATIONS.iter().filter(causes).flat_map(pairs).collect();
        for (cause, other) in &pairs {
            assert!(!pairs.contains(&(other, cause)), "{cause} and {other}");
        }
    }
}
