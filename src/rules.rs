//! The rules: one row for each cause, one file for each row. A rule sees the evidence and nothing else, and concludes no more
//! than that proves.
//!
//! # How to add a cause
//!
//! Its file here, its row in `RULES`, its page, its cases. Where its findings follow from another's, one line in
//! `support::causality`. Nothing else.
//!
//! A rule is asked once, and answers once: `Found`, or `Absent` with what that says of a trouble, or `Silent`. What only
//! the log shows is a value, and the rule fits on a screen:
//!
//! ```ignore
//! //! `image-store-locked`: the runtime cannot list, since its image store is locked.
//!
//! use super::{Detection, Explains, Rule, Tier, support::{
//!     answer::{Absent, Draft},
//!     calls, case::Case,
//!     signature::{Error, Over, Proof, Signature, Signs},
//!     step, wording::clock,
//! }};
//! use crate::{finding::Severity, kubelet::event::ErrorClass};
//!
//! pub(super) const RULE: Rule = Rule {
//!     id: "image-store-locked",
//!     title: "Image store is locked",
//!     page: include_str!("../../docs/findings/image-store-locked.md"),
//!     explains: Explains::Lag,
//!     tier: Tier::First,
//!     detection: Detection::Signs(Signs {
//!         log: Signature {
//!             calls: calls::LIST_AND_CLEAN_UP,
//!             error: Error::Says(ErrorClass::Other, "image store is locked"),
//!             at_least: 3,
//!             over: Over::ListSucceeds,
//!             absent: Some("no list failed for a locked image store"),
//!         },
//!         live: None,
//!         otherwise: || Absent::needs_runtime("timeout 10 crictl ps -a"),
//!         describe,
//!     }),
//! };
//!
//! fn describe(case: &Case, proof: &Proof) -> Option<Draft> {
//!     let since = clock(case.evidence, proof.lines.first());
//!     Some(
//!         Draft::new(Severity::Critical, "Image store is locked: the runtime cannot list containers")
//!             .say(format!("Since {since} each list fails for a locked image store ({}).", proof.lines.counted()))
//!             .steps([step::look("See which process holds the lock", "fuser -v /var/lib/images/lock")]),
//!     )
//! }
//! ```
//!
//! * **Signature.** Lines, citations, spans, `active` and the exclusion by the log's silence all follow from it. `describe`
//!   says what is special: title, sentences, subjects, steps. It returns `None` where the lines lack what a finding needs.
//! * **Live look.** `live` is asked once, and serves three questions: `Yes` confirms what the log shows, `No` ends it, and
//!   excludes the cause where no line shows it. It never makes a finding alone; a rule that does is `Custom`.
//! * **Custom.** `Detection::Custom(evaluate)`, with `fn evaluate(case: &Case) -> Answer`. Look at all once; return `Draft`s
//!   (`draft.into()`, `Answer::Found`), else an `Absent`: first what speaks against the cause now (`ruled_out`,
//!   `left_open`), then the silence of the outage's log (`no_line`, `no_line_if`, `outage`), the first that fits the trouble
//!   counts; it begins with what would decide where none does (`Absent::needs_host()`, `needs_runtime(command)`,
//!   `unknown(why, command)`, `unless_seen()`). Whether the trouble is there now is not the rule's question: `Trouble` sees to
//!   it that answers of now say nothing of what is over.
//! * **Draft.** Derives what need not be said: `lines` and `seen` are the two sources, and with both it is confirmed
//!   (`confirmed_if` where they agree otherwise; `cite` for what proves nothing); steps are dropped and `once_resolved`
//!   counts where it is not `active`; without `about` it is about the node. `say` takes a sentence, and nothing for "".
//! * **Tiers.** A rule that has to know other findings is of `Tier::Second`, and asks for them by id: `case.has_active(&[…])`.
//! * **Rank** is the order of `RULES` and nothing else is: neither evaluation nor relations depend on it.
//! * **Relations** (`causes`, `aggravates`, on which condition) all stand in `support::causality`.
//! * **Wording** is shared: `support::{wording, subject, step, cite, remedies, log_lines}`. A look at the node is
//!   `step::look(title, command)`, with `.note(…)` on how to read it; what costs something is `step::disruptive` or
//!   `step::node`, with the cost.
//!
//! # How to move a rule of the old form
//!
//! 1. `check` and `judge` become one `evaluate` (or a signature): gather what both look at once. `Scene`'s methods are
//!    `Case`'s; `scene.outage` is the argument of `no_line_if` and `outage`.
//! 2. `Vec::new()` at the end of `check` becomes what `judge` returned; `Judged::Unasked` is `Answer::Silent` or
//!    `Absent::silent` (now) or `Absent::unless_seen`.
//! 3. Each `Finding { … }` becomes a `Draft`; `Finding` is written out in `Draft::build` only.
//! 4. The row loses `.row()`; `bearing` goes (its relations stand in `causality` already); what it read of `found` by the
//!    order of rows it names by id.
//! 5. Calls, wording or looks that a second rule needs go to `support`: rules do not use each other.
//!

mod busy_mount;
mod clock_step;
mod cni_hang;
mod container_pileup;
mod dead_container;
mod disk_saturated;
mod evented_pleg;
mod frozen_daemon;
mod hung_container;
mod hung_runtime;
mod known_bad_version;
mod leaked_shim;
mod list_too_large;
mod log_driver_blocked;
mod memory_starved;
mod netns_blocked;
mod network_storage;
mod not_pleg;
mod orphan_sandbox;
mod pleg_unexplained;
mod removal_race;
mod runtime_down;
mod slow_relist;
mod starting_up;
#[expect(dead_code, reason = "rules that are still to be moved use it")]
mod support;
mod systemd_unresponsive;
mod tasks_exhausted;
mod windows_node;
mod xtables_lock;

pub(crate) use support::answer::{Absent, Exclusion};
pub(crate) use support::{
    case::Trouble,
    causality::{is_aggravating, is_symptom},
    holders::daemons,
    wording::{clock, count, probe_text, took},
};

use crate::{evidence::Evidence, finding::Finding};
use support::{
    answer::{Answer, Draft},
    case::Case,
    next_step,
    old_form::{Judged, Scene},
    signature::Signs,
};

/// One cause.
#[derive(Debug)]
pub struct Rule {
    /// Stable name, as users cite it.
    pub id: &'static str,
    /// What the cause is, in a few words.
    pub title: &'static str,
    /// Its page, as Markdown: `docs/findings/<id>.md`.
    pub page: &'static str,
    /// Whether it explains that the PLEG lags.
    pub explains: Explains,
    tier: Tier,
    detection: Detection,
}

/// Whether a rule's findings explain a lag: then nothing is unexplained beside them.
#[derive(Clone, Copy, Debug)]
pub enum Explains {
    /// Each of them.
    Lag,
    /// Those of which this holds.
    LagIf(fn(&Finding) -> bool),
    /// None.
    Nothing,
}

/// When a rule is evaluated: after those whose findings it has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    /// By the evidence alone.
    First,
    /// After all of the first, in the order of the table.
    Second,
}

/// How a cause is detected.
#[derive(Debug)]
enum Detection {
    /// By a signature in the log, perhaps with a look at the node.
    Signs(Signs),
    /// By whatever else it takes.
    Custom(fn(&Case) -> Answer),
    Old {
        check: fn(&Evidence, &[Finding]) -> Vec<Finding>,
        judge: fn(&Scene) -> Judged,
    },
}

/// All rules in the order of rank: of findings that are alike in all else, the more decisive come first.
pub const RULES: &[Rule] = &[
    list_too_large::RULE,
    runtime_down::RULE,
    frozen_daemon::RULE,
    network_storage::RULE.row(),
    disk_saturated::RULE.row(),
    systemd_unresponsive::RULE,
    netns_blocked::RULE.row(),
    hung_runtime::RULE,
    log_driver_blocked::RULE,
    hung_container::RULE,
    cni_hang::RULE,
    tasks_exhausted::RULE,
    memory_starved::RULE,
    container_pileup::RULE,
    slow_relist::RULE,
    starting_up::RULE,
    evented_pleg::RULE,
    removal_race::RULE,
    not_pleg::RULE.row(),
    pleg_unexplained::RULE,
    orphan_sandbox::RULE,
    leaked_shim::RULE.row(),
    busy_mount::RULE.row(),
    dead_container::RULE.row(),
    xtables_lock::RULE,
    clock_step::RULE,
    known_bad_version::RULE.row(),
    windows_node::RULE,
];

/// What the rules say of the evidence.
#[derive(Debug)]
pub(crate) struct Evaluation {
    /// In the order of the table.
    pub(crate) findings: Vec<Finding>,
    /// The rules that found nothing and can say what that means, in the order of the table.
    pub(crate) absent: Vec<(&'static Rule, Absent)>,
}

impl Rule {
    /// Its findings, and what it says where it has none.
    fn evaluate(&self, case: &Case) -> (Vec<Finding>, Option<Absent>) {
        let answer = match &self.detection {
            Detection::Signs(signs) => signs.evaluate(case),
            Detection::Custom(evaluate) => evaluate(case),
            Detection::Old { check, judge } => {
                let above = |finding: &&Finding| row(finding.id) < row(self.id);
                let found: Vec<_> = case.findings.iter().filter(above).cloned().collect();
                return (check(case.evidence, &found), Some(Absent::old(*judge)));
            }
        };
        match answer {
            Answer::Found(drafts) => {
                let build = |draft: Draft| draft.build(self.id, case.evidence);
                (drafts.into_iter().map(build).collect(), None)
            }
            Answer::Absent(absent) => (Vec::new(), Some(absent)),
            Answer::Silent => (Vec::new(), Some(Absent::unless_seen())),
        }
    }
}

/// Asks each rule once.
pub(crate) fn evaluate(evidence: &Evidence) -> Evaluation {
    let (mut findings, mut absent) = (Vec::new(), Vec::new());
    for tier in [Tier::First, Tier::Second] {
        for rule in RULES.iter().filter(|rule| rule.tier == tier) {
            let case = Case {
                evidence,
                findings: &findings,
            };
            let (found, absence) = rule.evaluate(&case);
            let absence = absence.filter(|_| found.is_empty());
            absent.extend(absence.map(|absence| (rule, absence)));
            findings.extend(found);
        }
    }
    findings.sort_by_key(|finding| row(finding.id));
    absent.sort_by_key(|(rule, _)| row(rule.id));
    kubelet::support(evidence, &mut findings);
    known_bad_version::support(evidence, &mut findings);
    next_step::offer(evidence, &mut findings);
    windows_node::leave_out_commands(&mut findings);
    Evaluation { findings, absent }
}

/// The place of a rule in the table: its rank.
pub(crate) fn row(id: &str) -> Option<usize> {
    RULES.iter().position(|rule| rule.id == id)
}

/// Whether each finding of that rule explains that the PLEG lags.
pub fn explains_lag(id: &str) -> bool {
    let explains = |rule: &Rule| rule.id == id && matches!(rule.explains, Explains::Lag);
    RULES.iter().any(explains)
}

/// Whether a finding explains that the PLEG lags.
pub(crate) fn is_cause(finding: &Finding) -> bool {
    let mut rules = RULES.iter();
    let explains = rules
        .find(|rule| rule.id == finding.id)
        .map(|rule| rule.explains);
    match explains {
        Some(Explains::Lag) => true,
        Some(Explains::LagIf(explains)) => explains(finding),
        Some(Explains::Nothing) | None => false,
    }
}

// Names that rules of the old form use.
use support::{
    bind_mounts as shares, case as bearing,
    causality::may_cause as is_behind,
    cite::{distinct, inspect as inspect_call},
    holders, kubelet_metrics as kubelet, list_size as room, log_lines as lines, on_disk as stored,
    remedies,
    subject::{container as subject_of, daemon, node, of_event as subject_from},
    wording::{display_name as called, lower},
};

/// Subjects named in one finding before several findings are put into one.
const EACH: usize = 3;

#[cfg(test)]
mod tests;
