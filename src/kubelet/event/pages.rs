//! The messages' pages, by family. A message without one does not compile.

mod aside;
mod evented;
mod life;
mod list;
mod machine;
mod node;
mod pleg;
mod state;

use super::Kind;
use crate::syntax::page::Page;

/// Returns the page of a message.
pub(super) fn page(kind: Kind) -> &'static Page {
    match kind {
        Kind::PlegStale => &pleg::STALE,
        Kind::PlegNever => &pleg::NEVER,
        Kind::RelistFailed => &pleg::RELIST_FAILED,
        Kind::PlegInspectFailed => &pleg::INSPECT_FAILED,
        Kind::PlegReinspectFailed => &pleg::REINSPECT_FAILED,
        Kind::PlegWriteStatus => &pleg::WRITE_STATUS,
        Kind::PlegEventsDropped => &pleg::EVENTS_DROPPED,
        Kind::EventedPlegFull => &pleg::EVENTED_FULL,
        Kind::EventedPlegRetry => &evented::RETRY,
        Kind::EventedPlegFallback => &evented::FALLBACK,
        Kind::EventedPlegStream => &evented::BROKEN,
        Kind::EventedPlegBadEvent => &evented::BAD_EVENT,
        Kind::EventedPlegDropped => &evented::DROPPED,
        Kind::PlegRelisting => &pleg::RELISTING,
        Kind::PlegStateChange => &pleg::STATE_CHANGE,
        Kind::PlegContainerFinished => &pleg::CONTAINER_FINISHED,
        Kind::PlegEvent => &pleg::EVENT,
        Kind::SkipSync => &state::SKIP_SYNC,
        Kind::RuntimeDown => &state::RUNTIME_DOWN,
        Kind::RuntimeStatusPending => &state::STATUS_PENDING,
        Kind::RuntimeNotReady => &state::NOT_READY,
        Kind::RuntimeSanityFailed => &state::SANITY_FAILED,
        Kind::RuntimeStatusNil => &state::STATUS_NIL,
        Kind::RuntimeVersionFailed => &state::VERSION_FAILED,
        Kind::RuntimeStatusFailed => &state::STATUS_FAILED,
        Kind::CriConnectFailed => &state::CONNECT_FAILED,
        Kind::SyncloopStart => &state::SYNCLOOP_START,
        Kind::RuntimeInitialized => &state::INITIALIZED,
        Kind::SoftwareVersion => &aside::SOFTWARE_VERSION,
        Kind::SyncloopClosed => &state::SYNCLOOP_CLOSED,
        Kind::SyncloopSlow => &state::SYNCLOOP_SLOW,
        Kind::HousekeepingSlow => &state::HOUSEKEEPING_SLOW,
        Kind::CleanPodsFailed => &state::CLEAN_PODS_FAILED,
        Kind::ListSandboxesFailed => &list::SANDBOXES,
        Kind::ListContainersFailed => &list::CONTAINERS,
        Kind::ListStreamFailed => &list::STREAM,
        Kind::SandboxStatusFailed => &list::SANDBOX_STATUS,
        Kind::ContainerStatusFailed => &list::CONTAINER_STATUS,
        Kind::PodContainersStatusFailed => &list::POD_CONTAINERS_STATUS,
        Kind::StopSandboxFailed => &life::STOP_SANDBOX,
        Kind::RemoveSandboxFailed => &life::REMOVE_SANDBOX,
        Kind::RunSandboxFailed => &life::RUN_SANDBOX,
        Kind::CreateContainerFailed => &life::CREATE_CONTAINER,
        Kind::StartContainerFailed => &life::START_CONTAINER,
        Kind::StopContainerFailed => &life::STOP_CONTAINER,
        Kind::RemoveContainerFailed => &life::REMOVE_CONTAINER,
        Kind::ExecSyncFailed => &life::EXEC_SYNC,
        Kind::UpdateResourcesFailed => &life::UPDATE_RESOURCES,
        Kind::ListStatsFailed => &life::LIST_STATS,
        Kind::KillPodFailed => &life::KILL_POD,
        Kind::PrestopHook => &life::PRESTOP_HOOK,
        Kind::CniNotReady => &node::CNI_NOT_READY,
        Kind::NodeNotReady => &node::NODE_NOT_READY,
        Kind::ReadyCondition => &node::READY_CONDITION,
        Kind::NodeReady => &node::NODE_READY,
        Kind::RecordingEvent => &node::RECORDING_EVENT,
        Kind::NodeStatusUpdateFailed => &node::STATUS_UPDATE_FAILED,
        Kind::LeaseUpdateFailed => &node::LEASE_UPDATE_FAILED,
        Kind::NodeRegistered => &node::NODE_REGISTERED,
        Kind::PodSyncError => &node::POD_SYNC_ERROR,
        Kind::PodRemoved => &node::POD_REMOVED,
        Kind::ContainerGcFailed => &life::CONTAINER_GC,
        Kind::GcStopContainerFailed => &life::GC_STOP,
        Kind::EvictionSummaryFailed => &node::EVICTION_SUMMARY,
        Kind::SystemOom => &node::SYSTEM_OOM,
        Kind::DockershimUsed => &node::DOCKERSHIM_USED,
        Kind::ContainerManagerFailed => &aside::CONTAINER_MANAGER,
        Kind::XtablesLocked => &aside::XTABLES_LOCKED,
        Kind::ClockStepped => &aside::CLOCK_STEPPED,
        Kind::OutOfMemory => &machine::OUT_OF_MEMORY,
        Kind::HungTask => &machine::HUNG_TASK,
        Kind::ServerSilent => &machine::SERVER_SILENT,
        Kind::ServerAnswers => &machine::SERVER_ANSWERS,
        Kind::NetdeviceHeld => &machine::NETDEVICE_HELD,
        Kind::DiskError => &machine::DISK_ERROR,
        Kind::UnitEnded => &machine::UNIT_ENDED,
        Kind::KubeletFatal => &node::KUBELET_FATAL,
    }
}
