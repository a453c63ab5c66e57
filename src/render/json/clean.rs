//! What `clean` planned and did: `plegdoctor.clean/1`.

use super::{namespace, pod_name};
use crate::finding::outcome::{Outcome, Status};
use crate::finding::plan::{CleanResult, Target, Unseen};
use crate::runtime::ContainerKind;
use crate::syntax::id::{ContainerId, PodUid};
use crate::syntax::json::json_object;
use crate::syntax::time::Time;

json_object! {
    CleanResult as it, document "plegdoctor.clean/1", "What `plegdoctor clean --format json` prints" {
        /// Whether the plan was only shown
        dry_run: bool,
        /// The plan, pod by pod, each one's containers before their sandbox
        planned: &[Target] = &it.plan.targets,
        /// The outcome for each planned container, in the same order
        results: Vec<Removal<'_>> = it.results().map(Removal).collect(),
        removed: usize = it.count(Status::Done),
        failed: usize = it.count(Status::Failed),
        /// Containers whose inspect did not answer or gave no known state: never planned
        left_alone: &[Unseen] = &it.plan.unseen,
        /// Why the run ended early, or what is missing of the audit or of Docker's list
        notes: Vec<String>,
    }
}

json_object! {
    Target as it {
        id: ContainerId,
        name: String,
        pod: Option<&str> = pod_name(it.pod.as_ref()),
        namespace: Option<&str> = namespace(it.pod.as_ref()),
        uid: Option<PodUid>,
        kind: ContainerKind = it.role,
        /// The state by inspect
        state: &str = it.state.as_str() => {"enum": ["dead", "removing", "exited", "created"]},
        /// When it finished, or was created if it never ran
        since: Option<Time> = it.since(),
        /// Whether its logs go with it
        loses_logs: bool = it.loses_logs(),
    }
}

struct Removal<'a>((&'a Target, &'a Outcome));

json_object! {
    Removal<'_> as it {
        id: &ContainerId = &it.0.0.id,
        name: &str = &it.0.0.name,
        pod: Option<&str> = pod_name(it.0.0.pod.as_ref()),
        namespace: Option<&str> = namespace(it.0.0.pod.as_ref()),
        /// The state that was planned upon
        state: &str = it.0.0.state.as_str() => {"enum": ["dead", "removing", "exited", "created"]},
        /// removed: and seen to be gone; gone: before its turn; changed: not what it was, and not touched; failed: see
        /// reason; unanswered: may still happen; planned: nothing was sent
        outcome: &str = it.0.1.status.removal_word() => {"enum": ["removed", "gone", "changed", "failed", "unanswered", "planned"]},
        /// The reason, followed by Docker's own error
        reason: &Option<String> = &it.0.1.reason,
    }
}

json_object! {
    Unseen as it {
        id: ContainerId,
        name: String,
        pod: Option<&str> = pod_name(it.pod.as_ref()),
        namespace: Option<&str> = namespace(it.pod.as_ref()),
        listed_state: &str = it.listed_state.as_str(),
        reason: String = it.why(),
    }
}
