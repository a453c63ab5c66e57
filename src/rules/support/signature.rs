//! A cause's signature in the log, as a value: which calls fail how, from how many lines on, and when it is resolved.

use super::answer::{Absent, Answer, Draft, Live};
use super::case::Case;
use super::log_lines::LogMatches;
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::summary::Group;
use chrono::TimeDelta;

/// Lines that show a cause.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) calls: &'static [Kind],
    pub(crate) error: Error,
    /// The lines of the last episode, at least.
    pub(crate) at_least: u64,
    pub(crate) over: Over,
    /// Why a log of the whole outage without such a line speaks against the cause, if it does.
    pub(crate) absent: Option<&'static str>,
}

/// How a call has to end.
#[derive(Debug)]
pub(crate) enum Error {
    /// In any way: the message itself is the sign.
    Any,
    /// In an error of this class, of the runtime's own.
    Class(ErrorClass),
    /// … of this class, which a network plugin passes on.
    OfNetwork(ErrorClass),
    /// In an error of this class that says this.
    Says(ErrorClass, &'static str),
}

/// When the trouble counts as resolved.
#[derive(Debug)]
pub(crate) enum Over {
    /// Once a later line shows that relists work.
    Recovers,
    /// Once a later line shows that a list succeeded, though a status call may block.
    ListSucceeds,
    /// … as `Recovers`, or once the lines have stopped for so long: the kubelet would repeat them.
    RecoversOrStops(TimeDelta),
    /// Once the lines have stopped for so long.
    Stops(TimeDelta),
}

impl Signature {
    pub(crate) fn lines<'a>(&self, case: &Case<'a>) -> LogMatches<'a> {
        let evidence = case.evidence;
        match self.error {
            Error::Any => LogMatches::of(evidence, self.calls),
            Error::Class(class) => LogMatches::failed(evidence, self.calls, class),
            Error::OfNetwork(class) => LogMatches::failed_network(evidence, self.calls, class),
            Error::Says(class, text) => {
                let says = |group: &Group| {
                    let error = group.last.error.as_ref();
                    error.is_some_and(|it| it.class == class && it.text.contains(text))
                };
                LogMatches::of(evidence, self.calls).filter(says)
            }
        }
    }

    fn class(&self) -> Option<ErrorClass> {
        match self.error {
            Error::Any => None,
            Error::Class(class) | Error::OfNetwork(class) | Error::Says(class, _) => Some(class),
        }
    }
}

impl Over {
    /// Whether the trouble of these lines may still be there.
    pub(crate) fn is_active(&self, case: &Case, lines: &LogMatches) -> bool {
        let evidence = case.evidence;
        match *self {
            Self::Recovers => lines.go_on(evidence),
            Self::ListSucceeds => lines.keep_lists_away(evidence),
            Self::Stops(period) => lines.are_recent(evidence, period),
            Self::RecoversOrStops(period) => {
                lines.go_on(evidence) && lines.are_recent(evidence, period)
            }
        }
    }
}

/// A cause that its signature in the log shows; a look at the node confirms, ends or excludes it.
#[derive(Debug)]
pub(crate) struct Signs {
    pub(crate) log: Signature,
    /// What a look at the node shows, beside the last episode's lines, if there are any.
    pub(crate) live: Option<fn(&Case, &LogMatches) -> Live>,
    /// What has to be seen to judge it where neither log nor look did.
    pub(crate) otherwise: fn() -> Absent,
    pub(crate) describe: fn(&Case, &Proof) -> Option<Draft>,
}

/// What shows a cause.
#[derive(Debug)]
pub(crate) struct Proof<'a> {
    /// The lines of the last episode.
    pub(crate) lines: LogMatches<'a>,
    pub(crate) active: bool,
}

/// Lines cited of a signature.
const CITED: usize = 5;

impl Signs {
    pub(crate) fn evaluate(&self, case: &Case) -> Answer {
        let all = self.log.lines(case);
        let lines = all.latest();
        let live = self.live.map_or(Live::NotSeen, |live| live(case, &lines));
        let shown = lines.number() >= self.log.at_least.max(1);
        let active = !matches!(live, Live::No(..)) && self.log.over.is_active(case, &lines);
        let proof = Proof { lines, active };
        let draft = shown.then(|| (self.describe)(case, &proof)).flatten();
        match draft {
            Some(draft) => self.found(draft, &proof, &all, live).into(),
            None => self.absent(live).into(),
        }
    }

    fn found(&self, draft: Draft, proof: &Proof, all: &LogMatches, live: Live) -> Draft {
        let with_proof = |draft: Draft| {
            let draft = draft.lines(&proof.lines, CITED);
            match live {
                Live::Yes(seen) if proof.active => draft.seen([seen]),
                Live::Yes(seen) | Live::No(seen, _) => draft.cite([seen]),
                Live::NotSeen => draft,
            }
        };
        draft
            .active(proof.active)
            .spans(all)
            .proof_first(with_proof)
    }

    fn absent(&self, live: Live) -> Absent {
        let absent = (self.otherwise)();
        let absent = match live {
            Live::No(seen, because) => absent.ruled_out(because, &[&seen.source]),
            Live::Yes(_) | Live::NotSeen => absent,
        };
        match self.log.class().zip(self.log.absent) {
            Some((class, because)) => absent.no_line(self.log.calls, class, because),
            None => absent,
        }
    }
}
