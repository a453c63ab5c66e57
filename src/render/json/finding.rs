//! Findings, what was ruled out, and actions.

use super::{namespace, pod_name};
use crate::finding::action::Action;
use crate::finding::outcome::{ActionRecord, Asked, Status};
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind};
use crate::report::{Role, RuledOut, Undecided};
use crate::syntax::citation::Citation;
use crate::syntax::id::{ContainerId, PodUid};
use crate::syntax::json::json_object;
use crate::syntax::time::Time;

/// A finding and its role.
pub(super) struct Ranked<'a>(pub(super) (&'a Finding, &'a Role));

json_object! {
    Ranked<'_> as it {
        /// Stable name of the cause
        id: &str = it.0.0.id => {"pattern": "^[a-z]+(-[a-z]+)*$"},
        /// Its role
        role: &Role = it.0.1,
        /// This case in a few words
        title: &str = &it.0.0.title,
        /// How bad: critical makes a node NotReady
        severity: Severity = it.0.0.severity,
        /// confirmed: two independent sources agree; suspected: one says so
        confidence: Confidence = it.0.0.confidence,
        /// Whether it holds now; false once recovery is proved
        active: bool = it.0.0.active,
        /// Two or three sentences for a reader new to PLEG
        explanation: &str = &it.0.0.explanation,
        /// What it is about
        subjects: &[Subject] = &it.0.0.subjects,
        /// What proves it
        citations: &[Citation] = &it.0.0.citations,
        /// What to do, mildest first
        remedies: &[Remedy] = &it.0.0.remedies,
    }
}

json_object! {
    Role as it {
        /// primary: the cause; consequence: how another finding shows; feeds: makes another one likelier or worse;
        /// separate: another problem
        kind: &str = match it {
            Role::Primary => "primary",
            Role::Consequence { .. } => "consequence",
            Role::Feeds { .. } => "feeds",
            Role::Separate => "separate",
        } => {"enum": ["primary", "consequence", "feeds", "separate"]},
        /// The other finding's id, of a consequence or what feeds it
        to: Option<&str> = match it {
            Role::Consequence { of: other } | Role::Feeds { what: other } => Some(*other),
            Role::Primary | Role::Separate => None,
        },
    }
}

json_object! {
    Subject as it {
        /// What kind of thing
        kind: SubjectKind,
        /// A container's or sandbox's id, as far as known
        id: Option<ContainerId>,
        /// Its name in the runtime or the system
        name: Option<String>,
        /// Its pod's name
        pod: Option<&str> = pod_name(it.pod.as_ref()),
        /// Its pod's namespace
        namespace: Option<&str> = namespace(it.pod.as_ref()),
        /// Its pod's UID
        uid: Option<PodUid>,
        /// Its process
        pid: Option<u32> => {"minimum": 1},
    }
}

json_object! {
    Citation as it {
        /// File, journal unit, or call
        source: &str = &it.source,
        /// Line in the source, from 1
        line: Option<u64> => {"minimum": 1},
        /// When
        time: Option<Time>,
        /// The text, truncated
        text: &str = &it.text,
    }
}

json_object! {
    Remedy as it {
        /// What to do
        title: String,
        /// safe: removes what is stopped, or looks; disruptive: one container or pod; node: a daemon, systemd or the
        /// kubelet restarts
        risk: Risk,
        /// The exact command
        command: String,
        /// What it costs
        cost: String,
    }
}

json_object! {
    RuledOut as it {
        /// Stable name of the cause
        id: &str = it.id => {"pattern": "^[a-z]+(-[a-z]+)*$"},
        /// What speaks against it
        because: String,
        /// What was examined: a log, a call, a kernel file
        by: Vec<String> => {"minItems": 1},
    }
}

json_object! {
    Undecided as it {
        /// Stable name of the cause
        id: &str = it.id => {"pattern": "^[a-z]+(-[a-z]+)*$"},
        /// Why it could not be judged
        why: String,
        /// The command that would decide; null for what is resolved and left no trace
        decide: Option<String>,
    }
}

json_object! {
    ActionRecord as it {
        /// What it does
        what: &Action = &it.action,
        /// The remedy's title
        title: String,
        /// The id of the finding that it is against
        finding: &str = it.finding,
        risk: Risk,
        /// What it costs
        cost: String,
        target: Target<'_> = Target(&it.action),
        /// Who decided: the user on the terminal, --yes, or nobody was asked
        asked: Asked,
        /// done: and seen to have worked; unproven: done or begun, and that it worked was not seen; the others were not
        /// done: failed (or refused), changed (the target is not what was diagnosed any more), not_needed (over by
        /// itself), declined, above_risk (--max-risk), suspected (what restarts is done by --yes only where two sources
        /// agree), interrupted, planned (--dry-run)
        outcome: Status = it.outcome.status,
        /// Why, in plain words
        reason: &Option<String> = &it.outcome.reason,
        /// What was seen right before
        before: &Option<String> = &it.outcome.before,
        /// What was seen after
        after: &Option<String> = &it.outcome.after,
        /// What shows that it worked
        proof: &Option<String> = &it.outcome.proof,
        /// When it was begun with
        started: Time,
        /// When it was done; null if it was not
        acted: Option<Time> = it.outcome.at,
        /// When it was over
        ended: Time,
    }
}

struct Target<'a>(&'a Action);

json_object! {
    Target<'_> as it {
        /// What it does to what, in words
        told: String = it.0.describe(),
        /// The container that is removed, or that the process works on
        container: Option<&ContainerId> = it.0.target().container,
        pid: Option<u32> = it.0.target().pid,
        /// When the process was started, in the kernel's ticks since boot
        start_ticks: Option<u64> = it.0.target().start_ticks,
        /// Where the mount is
        path: Option<&str> = it.0.target().path,
        /// systemd's unit
        unit: Option<&str> = it.0.target().unit,
    }
}
