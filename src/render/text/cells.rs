//! What the table of containers shows of one: its name, and its state by the list and by inspect, or, where Docker is
//! silent, by its files.

use crate::{io::probe::Outcome, runtime::Container};

pub(super) fn name(container: &Container) -> String {
    match &container.pod {
        Some(pod) => {
            let own = container
                .name
                .split('_')
                .nth(1)
                .filter(|_| container.name.starts_with("k8s_"));
            format!("{pod} {}", own.unwrap_or(&container.name))
        }
        None => container.name.clone(),
    }
}

pub(super) fn listed(container: &Container) -> &str {
    match container.probe.outcome {
        Outcome::Gone if container.listed_status.is_empty() => "no longer in Docker",
        _ if container.is_only_stored() => "not listed",
        _ if container.listed_status.is_empty() => container.listed_state.as_str(),
        _ => &container.listed_status,
    }
}

pub(super) fn inspected(container: &Container) -> String {
    let word = match (&container.inspected, container.probe.outcome) {
        (Some(inspected), _) => inspected.state.as_str(),
        (None, Outcome::NotProbed) if container.is_only_stored() => return on_disk(container),
        (None, Outcome::TimedOut) => "timed out",
        (None, Outcome::Gone) => "gone",
        (None, Outcome::NotProbed) => "not inspected",
        (None, _) => container.probe.error.as_deref().unwrap_or("failed"),
    };
    word.to_owned()
}

/// Returns what Docker last wrote of it.
fn on_disk(container: &Container) -> String {
    let Some(stored) = &container.disk else {
        return String::new();
    };
    let state = &stored.state.state;
    if stored.is_stale() {
        format!("{state}, process gone")
    } else {
        format!("{state} on disk")
    }
}
