//! What `probe` asked: `plegdoctor.probe/1`.

use super::{namespace, pod_name};
use crate::io::probe::Probe;
use crate::kubelet::THRESHOLD;
use crate::kubelet::incident::CALL_TIMEOUT;
use crate::runtime::Runtime;
use crate::runtime::calls::{CallResult, Ending};
use crate::runtime::relist::{Pod, Relist};
use crate::syntax::id::ContainerId;
use crate::syntax::json::json_object;
use crate::syntax::time::Time;
use std::time::Duration;

/// A runtime that was probed.
pub struct Probed<'a>(pub &'a Runtime);

json_object! {
    Probed<'_> as it, document "plegdoctor.probe/1", "What `plegdoctor probe --format json` prints" {
        /// plegdoctor's version
        version: &str = env!("CARGO_PKG_VERSION"),
        /// When it was asked
        asked_at: Time = it.0.asked_at,
        /// The endpoint asked: unix:///var/run/docker.sock
        endpoint: &str = &it.0.endpoint,
        /// The daemon's version
        runtime_version: &Option<String> = &it.0.versions.daemon,
        /// The API's version
        api_version: &Option<String> = &it.0.versions.api,
        /// The deadline of each call
        probe_timeout_seconds: f64 = it.0.probe_timeout.as_secs_f64(),
        /// The exit code as a word: 0 well, 1 trouble, 2 unasked
        verdict: Ending = it.0.ending(),
        /// All calls: those without an answer first, then the slowest
        calls: Vec<CallResult<'_>> = it.0.call_results(),
        /// What a relist of the kubelet would take
        relist: Relist = it.0.relist(),
    }
}

json_object! {
    CallResult<'_> as it {
        call: &str = it.call.as_str() => {"enum": ["ping", "version", "info", "list", "inspect"]},
        /// The container's id, of an inspect
        id: Option<&ContainerId> = it.container.map(|container| &container.id),
        /// The container's name
        name: Option<&str> = it.container.map(|container| &*container.name),
        /// Its pod
        pod: Option<&str> = pod_name(it.container.and_then(|container| container.pod.as_ref())),
        /// Its pod's namespace
        namespace: Option<&str> = namespace(it.container.and_then(|container| container.pod.as_ref())),
        /// Its state by the list, in the daemon's word
        listed_state: Option<&str> = it.container.map(|container| container.listed_state.as_str()),
        probe: &Probe = it.probe,
    }
}

json_object! {
    Relist as it {
        /// Two lists: sandboxes and containers
        none_changed_seconds: f64 = seconds(it.lists),
        /// … and the statuses of the slowest pod
        one_changed_seconds: f64 = seconds(it.one_changed()),
        /// … and those of all pods, one after the other
        all_changed_seconds: f64 = seconds(it.all_changed()),
        /// Whether some call was not answered, so that these are lower bounds (the first only if it was the list)
        at_least: bool = !it.is_whole(),
        /// Pods with sandboxes or containers
        pods: usize,
        /// Their sandboxes and containers
        statuses: usize = it.asked,
        /// Calls of these, the list among them, that gave no answer in time
        unanswered: usize,
        /// Calls of these that were not made, or failed
        unknown: usize,
        /// null where no container is a pod's
        slowest_pod: &Option<Pod> = &it.slowest,
        /// How long the kubelet waits for a call that does not answer, by default
        call_timeout_seconds: f64 = super::seconds(CALL_TIMEOUT),
        /// After this time without a list the PLEG is unhealthy
        threshold_seconds: f64 = super::seconds(THRESHOLD),
    }
}

json_object! {
    Pod as it {
        /// Its name
        pod: Option<&str> = pod_name(it.name.as_ref()),
        /// Its namespace
        namespace: Option<&str> = namespace(it.name.as_ref()),
        /// Its sandboxes and containers
        containers: usize,
        /// Their statuses, one after the other
        seconds: f64 = seconds(it.took),
    }
}

/// To a tenth of a millisecond, as the calls' own times are.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10_000.0
}
