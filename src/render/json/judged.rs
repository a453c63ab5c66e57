//! What a finding is to the trouble, what was ruled out, and what could not be judged: for scripts.

use crate::report::{Role, RuledOut, Undecided};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct RoleV1 {
    kind: &'static str,
    to: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct RuledOutV1<'a> {
    id: &'static str,
    because: &'a str,
    by: &'a [String],
}

#[derive(Serialize)]
pub(super) struct UndecidedV1<'a> {
    id: &'static str,
    why: &'a str,
    decide: Option<&'a str>,
}

impl From<&Role> for RoleV1 {
    fn from(role: &Role) -> Self {
        let (kind, to) = match role {
            Role::Primary => ("primary", None),
            Role::Consequence { of } => ("consequence", Some(*of)),
            Role::Feeds { what } => ("feeds", Some(*what)),
            Role::Separate => ("separate", None),
        };
        Self { kind, to }
    }
}

impl<'a> From<&'a RuledOut> for RuledOutV1<'a> {
    fn from(ruled_out: &'a RuledOut) -> Self {
        Self {
            id: ruled_out.id,
            because: &ruled_out.because,
            by: &ruled_out.by,
        }
    }
}

impl<'a> From<&'a Undecided> for UndecidedV1<'a> {
    fn from(undecided: &'a Undecided) -> Self {
        Self {
            id: undecided.id,
            why: &undecided.why,
            decide: undecided.decide.as_deref(),
        }
    }
}
