//! What proves a finding: calls, processes, the kernel's files. Lines of the log cite themselves.

use super::{holders, wording::probe_text};
use crate::evidence::Evidence;
use crate::io::probe::Probe;
use crate::node::Process;
use crate::runtime::{Container, Runtime};
use crate::syntax::citation::Citation;
use std::sync::Arc;

/// What a call to the runtime showed.
pub(crate) fn call(call: &str, runtime: &Runtime, text: impl Into<Arc<str>>) -> Citation {
    Citation {
        is_call: true,
        source: call.to_owned().into(),
        line: None,
        time: Some(runtime.asked_at),
        text: text.into(),
    }
}

/// How a call to the runtime ended.
pub(crate) fn probe(name: &str, runtime: &Runtime, probe: &Probe) -> Citation {
    call(name, runtime, probe_text(probe))
}

/// The name of one container's inspect; `of` is how many are cited together.
pub(crate) fn inspect(container: &Container, of: usize) -> String {
    match of {
        1 => "docker inspect".to_owned(),
        _ => format!("inspect {}", container.id.short()),
    }
}

/// What was seen of the host.
pub(crate) fn host(evidence: &Evidence, source: impl Into<Arc<str>>, text: String) -> Citation {
    Citation {
        is_call: true,
        source: source.into(),
        line: None,
        time: Some(evidence.now),
        text: text.into(),
    }
}

/// A process with its state, age and command line.
pub(crate) fn process(evidence: &Evidence, process: &Process) -> Citation {
    let (source, text) = holders::cited(process);
    host(evidence, source, text)
}

/// Citations, each once, in their order.
pub(crate) fn distinct(citations: Vec<Citation>) -> Vec<Citation> {
    let mut once = Vec::with_capacity(citations.len());
    for citation in citations {
        if !once.contains(&citation) {
            once.push(citation);
        }
    }
    once
}
