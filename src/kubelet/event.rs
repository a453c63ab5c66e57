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
mod pages;
pub(crate) mod prefilter;
mod table;
mod template;

pub(crate) use error::bounded;
pub use error::{ErrorClass, ErrorTail};
pub use fields::MessageFields;
pub use table::{MESSAGES, Message, Weight};

use crate::syntax::{citation::Citation, page::Page};
use crate::syntax::{klog::Severity, time::Time};
use std::{ops::Deref, sync::Arc};

/// One known message, where and when it was logged. What it says is read as if it were its own (`event.pod`): a sick
/// node repeats itself, so equal lines share that, and thousands of them cost little time and space.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What it says.
    pub fields: Arc<MessageFields>,
    /// When it happened (klog's own stamp if there is one); `None` where the line tells no time.
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

/// The known messages. Names, weights and templates: `MESSAGES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is documented by its row in MESSAGES")]
pub enum Kind {
    // PLEG
    PlegStale,
    PlegNever,
    RelistFailed,
    PlegInspectFailed,
    PlegReinspectFailed,
    PlegWriteStatus,
    PlegEventsDropped,
    EventedPlegFull,
    EventedPlegRetry,
    EventedPlegFallback,
    EventedPlegStream,
    EventedPlegBadEvent,
    EventedPlegDropped,
    PlegRelisting,
    PlegStateChange,
    PlegContainerFinished,
    PlegEvent,
    // runtime state and sync loop
    SkipSync,
    RuntimeDown,
    RuntimeStatusPending,
    RuntimeNotReady,
    RuntimeSanityFailed,
    RuntimeStatusNil,
    RuntimeVersionFailed,
    RuntimeStatusFailed,
    CriConnectFailed,
    SyncloopStart,
    RuntimeInitialized,
    SoftwareVersion,
    SyncloopClosed,
    SyncloopSlow,
    HousekeepingSlow,
    CleanPodsFailed,
    // calls on the relist path
    ListSandboxesFailed,
    ListContainersFailed,
    ListStreamFailed,
    SandboxStatusFailed,
    ContainerStatusFailed,
    PodContainersStatusFailed,
    // start, stop, remove, exec
    StopSandboxFailed,
    RemoveSandboxFailed,
    RunSandboxFailed,
    CreateContainerFailed,
    StartContainerFailed,
    StopContainerFailed,
    RemoveContainerFailed,
    ExecSyncFailed,
    UpdateResourcesFailed,
    ListStatsFailed,
    KillPodFailed,
    PrestopHook,
    // around them: what tells recovery, removal, another illness
    CniNotReady,
    NodeNotReady,
    ReadyCondition,
    NodeReady,
    RecordingEvent,
    NodeStatusUpdateFailed,
    LeaseUpdateFailed,
    NodeRegistered,
    PodSyncError,
    PodRemoved,
    ContainerGcFailed,
    GcStopContainerFailed,
    EvictionSummaryFailed,
    SystemOom,
    DockershimUsed,
    ContainerManagerFailed,
    XtablesLocked,
    ClockStepped,
    // the kernel's and systemd's own
    OutOfMemory,
    HungTask,
    ServerSilent,
    ServerAnswers,
    NetdeviceHeld,
    DiskError,
    UnitEnded,
    KubeletFatal,
}

impl Kind {
    /// All kinds, in order.
    pub const ALL: &[Self] = &[
        Self::PlegStale,
        Self::PlegNever,
        Self::RelistFailed,
        Self::PlegInspectFailed,
        Self::PlegReinspectFailed,
        Self::PlegWriteStatus,
        Self::PlegEventsDropped,
        Self::EventedPlegFull,
        Self::EventedPlegRetry,
        Self::EventedPlegFallback,
        Self::EventedPlegStream,
        Self::EventedPlegBadEvent,
        Self::EventedPlegDropped,
        Self::PlegRelisting,
        Self::PlegStateChange,
        Self::PlegContainerFinished,
        Self::PlegEvent,
        Self::SkipSync,
        Self::RuntimeDown,
        Self::RuntimeStatusPending,
        Self::RuntimeNotReady,
        Self::RuntimeSanityFailed,
        Self::RuntimeStatusNil,
        Self::RuntimeVersionFailed,
        Self::RuntimeStatusFailed,
        Self::CriConnectFailed,
        Self::SyncloopStart,
        Self::RuntimeInitialized,
        Self::SoftwareVersion,
        Self::SyncloopClosed,
        Self::SyncloopSlow,
        Self::HousekeepingSlow,
        Self::CleanPodsFailed,
        Self::ListSandboxesFailed,
        Self::ListContainersFailed,
        Self::ListStreamFailed,
        Self::SandboxStatusFailed,
        Self::ContainerStatusFailed,
        Self::PodContainersStatusFailed,
        Self::StopSandboxFailed,
        Self::RemoveSandboxFailed,
        Self::RunSandboxFailed,
        Self::CreateContainerFailed,
        Self::StartContainerFailed,
        Self::StopContainerFailed,
        Self::RemoveContainerFailed,
        Self::ExecSyncFailed,
        Self::UpdateResourcesFailed,
        Self::ListStatsFailed,
        Self::KillPodFailed,
        Self::PrestopHook,
        Self::CniNotReady,
        Self::NodeNotReady,
        Self::ReadyCondition,
        Self::NodeReady,
        Self::RecordingEvent,
        Self::NodeStatusUpdateFailed,
        Self::LeaseUpdateFailed,
        Self::NodeRegistered,
        Self::PodSyncError,
        Self::PodRemoved,
        Self::ContainerGcFailed,
        Self::GcStopContainerFailed,
        Self::EvictionSummaryFailed,
        Self::SystemOom,
        Self::DockershimUsed,
        Self::ContainerManagerFailed,
        Self::XtablesLocked,
        Self::ClockStepped,
        Self::OutOfMemory,
        Self::HungTask,
        Self::ServerSilent,
        Self::ServerAnswers,
        Self::NetdeviceHeld,
        Self::DiskError,
        Self::UnitEnded,
        Self::KubeletFatal,
    ];

    /// Returns the row of this message.
    pub fn message(self) -> &'static Message {
        &MESSAGES[self as usize]
    }

    /// Returns what there is to know about it: `plegdoctor explain`.
    pub fn page(self) -> &'static Page {
        pages::page(self)
    }

    /// Returns how it is logged: unstructured text, in which `<err>`, `<pod>` and so on stand for what varies, then
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

    /// Returns the stable name: `pleg-stale`.
    pub fn id(self) -> &'static str {
        self.message().id
    }

    /// Returns whether a call failed that lists the node's sandboxes or containers: the relist's first part.
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::ListSandboxesFailed
                | Self::ListContainersFailed
                | Self::ListStreamFailed
                | Self::RelistFailed
        )
    }

    /// Returns whether it is the kernel's word or systemd's, about what its detail names.
    pub fn is_of_machine(self) -> bool {
        (Self::OutOfMemory..=Self::UnitEnded).contains(&self)
    }

    /// Returns whether a call failed that asks one sandbox or container for its status: the relist's second part.
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

    #[test]
    fn rows_stand_in_the_order_of_their_kinds() {
        assert_eq!(MESSAGES.len(), Kind::ALL.len());
        assert!(
            Kind::ALL
                .iter()
                .enumerate()
                .all(|(i, &kind)| kind as usize == i)
        );
        for (kind, id) in [
            (Kind::PlegStale, "pleg-stale"),
            (Kind::EventedPlegFull, "evented-pleg-full"),
            (Kind::PlegEvent, "pleg-event"),
            (Kind::SkipSync, "skip-sync"),
            (Kind::RuntimeNotReady, "runtime-not-ready"),
            (Kind::HousekeepingSlow, "housekeeping-slow"),
            (Kind::ListSandboxesFailed, "list-sandboxes-failed"),
            (Kind::ContainerStatusFailed, "container-status-failed"),
            (Kind::StopSandboxFailed, "stop-sandbox-failed"),
            (Kind::PrestopHook, "prestop-hook"),
            (Kind::CniNotReady, "cni-not-ready"),
            (Kind::NodeReady, "node-ready"),
            (Kind::PodRemoved, "pod-removed"),
            (Kind::DockershimUsed, "dockershim-used"),
            (Kind::KubeletFatal, "kubelet-fatal"),
        ] {
            assert_eq!(kind.id(), id);
        }
    }

    #[test]
    fn ids_are_unique_and_summaries_are_sentences() {
        let mut ids: Vec<_> = MESSAGES.iter().map(|message| message.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), MESSAGES.len());
        assert!(
            MESSAGES
                .iter()
                .all(|message| message.summary.ends_with('.'))
        );
    }
}
