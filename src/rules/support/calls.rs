//! Calls of the kubelet to its runtime that fail alike.

use crate::kubelet::event::Kind;

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
