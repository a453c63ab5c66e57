//! One known message of the kubelet, as a value.
//!
//! `table` holds the messages by version, `prefilter` rejects the lines that are none of them, `classify` turns
//! one line's message into `fields`: `template` matches its text, `items` reads lists of reasons, `names` pods
//! and ids, `error` error tails. What an event means for the node is decided later, by incidents and rules;
//! here nothing is judged.

pub(crate) mod classify;
mod error;
mod fields;
mod items;
mod names;
pub(crate) mod prefilter;
mod table;
mod template;

pub(crate) use error::bounded;
pub use error::{ErrorClass, ErrorTail};
pub use fields::MessageFields;
pub use table::{Kind, MESSAGES, Message, Weight};

use crate::syntax::{citation::Citation, klog::Severity, time::Time};
use std::{ops::Deref, sync::Arc};

/// One known message, where and when it was logged. What it says is read as if it were its own (`event.pod`): a sick
/// node repeats itself, so equal lines share that, and thousands of them cost little time and space.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What it says.
    pub fields: Arc<MessageFields>,
    /// When it happened (klog's own stamp if there is one); `None` where the line has no time.
    pub at: Option<Time>,
    /// Whether year and zone of `at` stand in the line or its envelope; if not, they follow from an anchor.
    pub exact: bool,
    /// Whether year or zone of `at` are a guess, by the present and the zone of whoever asks.
    pub guessed: bool,
    /// When the envelope says that the line was received.
    pub received: Option<Time>,
    /// klog's letter.
    pub severity: Severity,
    /// Where it stands.
    pub citation: Citation,
}

impl Deref for Event {
    type Target = MessageFields;

    fn deref(&self) -> &MessageFields {
        &self.fields
    }
}

impl Kind {
    /// The row of this message.
    pub fn message(self) -> &'static Message {
        &MESSAGES[self as usize]
    }

    /// How it is logged: unstructured text, in which `<err>`, `<pod>` and so on stand for what varies, then
    /// structured text in its quotes. Empty for what is known by its form alone.
    pub fn texts(self) -> Vec<String> {
        let message = self.message();
        let items = items::wording(self).map(|text| format!("{}…", text.trim_end()));
        let aside = classify::wording(self).iter().map(|&text| text.to_owned());
        let old = message.old.iter().map(|&text| text.to_owned());
        let new = message.new.iter().map(|text| format!("\"{text}\" …"));
        items
            .into_iter()
            .chain(aside)
            .chain(old)
            .chain(new)
            .collect()
    }

    /// The stable name: `pleg-stale`.
    pub fn id(self) -> &'static str {
        self.message().id
    }

    /// Whether it is a failed call that lists the node's sandboxes or containers: the relist's first part.
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::ListSandboxesFailed
                | Self::ListContainersFailed
                | Self::ListStreamFailed
                | Self::RelistFailed
        )
    }

    /// Whether the kernel or systemd logged it, about what its detail names.
    pub fn is_of_machine(self) -> bool {
        (Self::OutOfMemory..=Self::UnitEnded).contains(&self)
    }

    /// Whether it is a failed status call for one sandbox or container: the relist's second part.
    pub fn is_status(self) -> bool {
        matches!(
            self,
            Self::SandboxStatusFailed | Self::ContainerStatusFailed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_stable() {
        let ids: BTreeSet<_> = MESSAGES.iter().map(|message| message.id).collect();
        assert_eq!(ids.len(), Kind::ALL.len());
        for (kind, id) in [
            (Kind::PlegStale, "pleg-stale"),
            (Kind::EventedPlegFull, "evented-pleg-full"),
            (Kind::ListSandboxesFailed, "list-sandboxes-failed"),
            (Kind::KubeletFatal, "kubelet-fatal"),
        ] {
            assert_eq!(kind.id(), id);
        }
    }
}
