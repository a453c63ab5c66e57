//! What would confirm a suspicion that stands on a log alone, as the first thing to do.

use super::remedies::{RuntimeKind, RuntimeStack};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, SubjectKind};
use crate::rules::is_cause;

/// Puts it before the remedies of what is suspected and holds now, where nothing but a log was there.
pub(crate) fn offer(evidence: &Evidence, findings: &mut [Finding]) {
    let Evidence { runtime, host, .. } = evidence;
    if runtime.is_some() || host.is_some() {
        return;
    }
    let open = |finding: &&mut Finding| {
        let cause = is_cause(finding) || finding.id == "pleg-unexplained";
        cause && finding.active && finding.confidence == Confidence::Suspected
    };
    for finding in findings.iter_mut().filter(open) {
        let remedy = Remedy {
            title: "Confirm it on the node".to_owned(),
            risk: Risk::Safe,
            command: command(evidence, finding),
            cost: "nothing".to_owned(),
            actions: Vec::new(),
        };
        finding.remedies.insert(0, remedy);
    }
}

/// Returns what asks the runtime itself: ours where it can ask it, else the runtime's own.
fn command(evidence: &Evidence, finding: &Finding) -> String {
    let own = "plegdoctor diagnose # as root";
    let setup = RuntimeStack::new(evidence);
    if !setup.kind.is_some_and(|kind| kind != RuntimeKind::Docker) {
        return own.to_owned();
    }
    let first = finding.subjects.first();
    match (
        finding.id,
        first.and_then(|it| Some((it.kind, it.id.as_ref()?))),
    ) {
        ("hung-runtime", _) => setup.ask("ps -a"),
        ("runtime-down", _) => setup.ask("version"),
        ("hung-container", Some((SubjectKind::Sandbox, id))) => {
            setup.ask(&format!("inspectp {}", id.short()))
        }
        ("hung-container", Some((_, id))) => setup.ask(&format!("inspect {}", id.short())),
        _ => own.to_owned(),
    }
}
