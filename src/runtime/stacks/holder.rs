//! Who holds the lock that others wait for.
//!
//! A waiting goroutine shows the lock's address and, in some calls, the container's; a holding one shows the
//! container's alone. So a holder is named where addresses say so, or where only one call can be it.

use super::{Call, Guard, Stacks, Verb, Wait};
use std::collections::BTreeSet;

/// A lock that calls wait for, and what is known of who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held<'a> {
    /// How many calls wait for it.
    pub waiting: usize,
    /// For how many minutes at least the longest of them has.
    pub minutes: u64,
    /// The call that holds it, or, where an inspect holds it that itself waits for an exec's, that exec; `None` if
    /// several may be it.
    pub holder: Option<&'a Call>,
}

impl Stacks {
    /// Returns the lock that our own inspect waits for, given that exactly one is pending; `None` if there is not
    /// exactly one that it can be.
    pub fn our_lock(&self) -> Option<Held<'_>> {
        let ours: BTreeSet<Option<u64>> = self
            .calls
            .iter()
            // Ours has not waited long enough for Go to count minutes.
            .filter(|call| call.ours && call.minutes == 0)
            .filter(|call| matches!(call.waits, Wait::Lock { .. }))
            .map(|call| call.waits.lock())
            .collect();
        match ours.into_iter().collect::<Vec<_>>()[..] {
            [Some(address)] if self.calls_left_out == 0 && self.whole => Some(self.held(address)),
            _ => None,
        }
    }

    /// Returns the calls that hold a container's lock or are held up themselves in something other than a lock,
    /// those that have waited longest first. Inspects that pass by are left out.
    pub fn hanging(&self) -> Vec<&Call> {
        let mut calls: Vec<_> = self
            .calls
            .iter()
            .filter(|call| !matches!(call.waits, Wait::Lock { .. } | Wait::Other))
            .filter(|call| call.verb != Verb::LogCopy || call.minutes > 0)
            .collect();
        calls.sort_by_key(|call| (std::cmp::Reverse(call.minutes), call.verb, call.goroutine));
        calls
    }

    fn held(&self, address: u64) -> Held<'_> {
        let waiters: Vec<_> = self
            .calls
            .iter()
            .filter(|call| call.waits.lock() == Some(address))
            .collect();
        let execs = waiters
            .iter()
            .any(|call| matches!(&call.waits, Wait::Lock { guard, .. } if *guard == Guard::Execs));
        Held {
            waiting: waiters.len(),
            minutes: waiters.iter().map(|call| call.minutes).max().unwrap_or(0),
            holder: if execs {
                self.only(&waiters, |call| call.verb == Verb::Exec)
            } else {
                self.only(&waiters, |call| call.verb != Verb::Exec)
                    .and_then(|holder| self.behind(holder))
            },
        }
    }

    /// Returns the one call of those that `may` hold the lock; addresses decide where there are several.
    fn only(&self, waiters: &[&Call], may: impl Fn(&Call) -> bool) -> Option<&Call> {
        // One that waits for nothing we know may be about to go on.
        let lasting = |call: &&Call| call.waits != Wait::Other;
        let all: Vec<_> = self
            .calls
            .iter()
            .filter(|call| call.holds && may(call))
            .filter(lasting)
            .collect();
        let container = waiters.iter().find_map(|call| call.container);
        if let Some(container) = container
            && let Some(&holder) = all.iter().find(|call| call.container == Some(container))
        {
            return Some(holder);
        }
        match all[..] {
            [holder] if holder.container.is_none() || container.is_none() => Some(holder),
            _ => None,
        }
    }

    /// Returns who holds up the holder: an inspect may itself wait for the lock of the container's execs.
    fn behind<'a>(&'a self, holder: &'a Call) -> Option<&'a Call> {
        match &holder.waits {
            Wait::Lock {
                address: Some(address),
                guard: Guard::Execs,
            } => self.held(*address).holder,
            _ => Some(holder),
        }
    }
}
