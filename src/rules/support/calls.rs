//! Calls of the kubelet to its runtime that fail alike.

use crate::kubelet::event::Kind;
use chrono::TimeDelta;

/// The calls that fail at once where nothing listens.
pub(crate) use crate::evidence::runtime_stack::CONNECT_CALLS as REFUSED;

/// The calls that a list of containers fails within: a relist, a clean-up.
pub(crate) const LIST_AND_CLEAN_UP: &[Kind] = &[
    Kind::ListSandboxesFailed,
    Kind::ListContainersFailed,
    Kind::ListStreamFailed,
    Kind::RelistFailed,
    Kind::ContainerGcFailed,
    Kind::CleanPodsFailed,
];

/// The calls that set up and take down a pod's network.
pub(crate) const NETWORK: &[Kind] = &[Kind::RunSandboxFailed, Kind::StopSandboxFailed];

/// … and the one within which dockershim asks the network plugin: what a relist may wait for.
pub(crate) const NETWORK_AND_STATUS: &[Kind] = &[
    Kind::RunSandboxFailed,
    Kind::StopSandboxFailed,
    Kind::SandboxStatusFailed,
];

/// The calls that time out for all containers when the runtime as a whole hangs.
pub(crate) const WHOLE_RUNTIME: &[Kind] = &[
    Kind::ListSandboxesFailed,
    Kind::ListContainersFailed,
    Kind::ListStreamFailed,
    Kind::RelistFailed,
    Kind::RuntimeVersionFailed,
    Kind::RuntimeStatusFailed,
    Kind::RuntimeSanityFailed,
];

/// The calls that wait for a container's lock and name the container.
pub(crate) const ONE_CONTAINER: &[Kind] = &[
    Kind::SandboxStatusFailed,
    Kind::ContainerStatusFailed,
    Kind::StopSandboxFailed,
    Kind::StopContainerFailed,
    Kind::StartContainerFailed,
    Kind::RemoveSandboxFailed,
    Kind::RemoveContainerFailed,
    Kind::GcStopContainerFailed,
];

/// … of these, the ones that a relist waits for.
pub(crate) const STATUS: &[Kind] = &[Kind::SandboxStatusFailed, Kind::ContainerStatusFailed];

/// The kubelet's removals of containers and sandboxes.
pub(crate) const REMOVALS: &[Kind] = &[
    Kind::RemoveContainerFailed,
    Kind::RemoveSandboxFailed,
    Kind::ContainerGcFailed,
];
/// The kubelet's clean-up tries again each minute; silence for longer shows that it succeeded.
pub(crate) const REMOVAL_RETRIES: TimeDelta = TimeDelta::minutes(5);
