//! `known-bad-version`: a release runs that is known for trouble of this kind.
//!
//! A version decides nothing: it raises a suspicion, and where another finding shows what such a release does, it is
//! told as what may be behind that. The releases: `table`.

mod table;

use super::remedies::{is_other_than_docker, remedy};
use super::support::old_form::{Bearing, OldRule as Rule};
use super::{holders, hung_runtime, is_behind, node};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Variant};
use crate::node::{Component, Version};
use crate::runtime;
use crate::syntax::citation::Citation;
use table::{Certainty, Program, RELEASES, Release, Told};

pub(super) const RULE: Rule = Rule {
    id: "known-bad-version",
    title: "A release with a known bug is running",
    explains: false,
    bearing: Bearing {
        feeds: &[
            "hung-container",
            "leaked-shim",
            "systemd-unresponsive",
            "log-driver-blocked",
            "cni-hang",
            "busy-mount",
        ],
        // Each release has its own trouble.
        // Nobody judges it: a release decides nothing, neither that it is to blame nor, by its absence, what is not.
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/known-bad-version.md"),
    check,
};

/// A version that runs here, and who says so.
struct Running {
    program: Program,
    version: Version,
    citation: Citation,
}

fn check(evidence: &Evidence, found: &[Finding]) -> Vec<Finding> {
    let running = running(evidence);
    let told = |release: &Release| match release.told {
        Told::Always => !is_told_by_another(release, &running),
        Told::Beside => behind(release, found).is_some(),
        Told::Within => false,
    };
    matches(&running)
        .filter(|(release, _)| told(release))
        .map(|(release, it)| tell(evidence, release, it, behind(release, found)))
        .collect()
}

/// Adds to findings what a release explains of them.
pub(super) fn support(evidence: &Evidence, findings: &mut [Finding]) {
    let running = running(evidence);
    for (release, it) in matches(&running).filter(|(release, _)| release.told == Told::Within) {
        let shows = |finding: &&mut Finding| {
            let shows = match release.program {
                // With Docker it mounts no layers, and has none to unmount.
                Program::Component(Component::Containerd) => is_other_than_docker(evidence),
                _ => shows(evidence, finding),
            };
            release.behind.contains(&finding.id) && finding.active && shows
        };
        for finding in findings.iter_mut().filter(shows) {
            let told = format!(
                " {} {}: {} ({}; over with {}).",
                capital(it.program.name()),
                it.version,
                release.breaks,
                release.source,
                release.mended
            );
            finding.explanation.push_str(&told);
            finding.citations.push(it.citation.clone());
        }
    }
}

/// Returns whether what the list says of one of a finding's containers is what inspect contradicts.
fn shows(evidence: &Evidence, finding: &Finding) -> bool {
    let listed = evidence.listed();
    let ids = finding.subjects.iter().filter_map(|it| it.id.as_ref());
    ids.filter_map(|id| listed?.find(id)).any(|container| {
        let inspected = container.inspected.as_ref();
        container.listed_state == runtime::State::Removing
            && inspected.is_some_and(|it| it.state == runtime::State::Dead)
    })
}

/// Returns the rows and the versions that they are about.
fn matches(running: &[Running]) -> impl Iterator<Item = (&'static Release, &Running)> {
    RELEASES.iter().filter_map(|release| {
        let covered = |it: &&Running| it.program == release.program && release.covers(&it.version);
        Some((release, running.iter().find(covered)?))
    })
}

/// Returns whether the version of what the release brings is known, so that its own row tells.
fn is_told_by_another(release: &Release, running: &[Running]) -> bool {
    let brings = release.brings.map(Program::Component);
    brings.is_some_and(|brings| running.iter().any(|it| it.program == brings))
}

/// Returns what runs here, each program once: what Docker says of what it runs before what the programs' files say, which
/// may have been replaced since, and both before the log.
fn running(evidence: &Evidence) -> Vec<Running> {
    let mut running: Vec<Running> = Vec::new();
    let mut learn = |program, text: Option<&str>, citation: &dyn Fn(&str) -> Citation| {
        if let Some(text) = text
            && let Some(version) = Version::parse(text)
            && !running.iter().any(|it| it.program == program)
        {
            let citation = citation(text);
            running.push(Running {
                program,
                version,
                citation,
            });
        }
    };
    if let Some(runtime) = &evidence.runtime {
        let component = |name: &str| runtime.versions.components.get(name).map(String::as_str);
        for (program, text) in [
            (
                Program::Component(Component::Dockerd),
                runtime.versions.daemon.as_deref(),
            ),
            (
                Program::Component(Component::Containerd),
                component("containerd"),
            ),
            (Program::Component(Component::Runc), component("runc")),
            (Program::Kernel, runtime.versions.kernel.as_deref()),
        ] {
            learn(program, text, &|text| Citation {
                is_call: true,
                source: "docker version".to_owned().into(),
                line: None,
                time: Some(runtime.asked_at),
                text: format!("{} {text}", program.name()).into(),
            });
        }
    }
    if let Some(host) = &evidence.host {
        learn(Program::Kernel, host.kernel.as_deref(), &|text| {
            holders::cite(evidence, "uname -r", text.to_owned())
        });
        for (tool, version) in host.versions.iter() {
            let call = format!("{} --version", tool.name());
            learn(Program::Component(tool), Some(version.as_str()), &|text| {
                holders::cite(evidence, call.as_str(), text.to_owned())
            });
        }
    }
    for (name, event) in evidence.log.iter().flat_map(|log| &log.versions) {
        let program = match name.as_str() {
            "kernel" => Program::Kernel,
            "docker" => Program::Component(Component::Dockerd),
            "containerd" => Program::Component(Component::Containerd),
            _ => continue,
        };
        let detail = event.detail.as_deref();
        let version = detail.and_then(|detail| detail.split(' ').nth(1));
        learn(program, version, &|_| event.citation.clone());
    }
    running
}

/// Returns the finding that the release may be behind, what is worse before what is not.
fn behind<'a>(release: &Release, found: &'a [Finding]) -> Option<&'a Finding> {
    if found.iter().any(|it| is_another_reason(release, it)) {
        return None;
    }
    let may = found.iter().filter(|it| release.behind.contains(&it.id));
    may.min_by_key(|finding| (!finding.active, finding.severity))
}

/// Returns whether a finding tells another reason for what the release may be behind. That the runtime hangs as a whole
/// is none, but how one shows.
fn is_another_reason(release: &Release, finding: &Finding) -> bool {
    let explains = |id: &&str| is_behind(finding, id);
    finding.active
        && finding.id != hung_runtime::RULE.id
        && !release.behind.contains(&finding.id)
        && release.behind.iter().any(explains)
}

fn tell(
    evidence: &Evidence,
    release: &Release,
    running: &Running,
    behind: Option<&Finding>,
) -> Finding {
    let (name, version) = (running.program.name(), &running.version);
    let link = match behind {
        Some(finding) => format!(
            "Possible factor in {}: see there for what is proved; a version alone proves nothing.",
            finding.id
        ),
        None => "Nothing of the kind is seen here, and a version alone proves nothing.".to_owned(),
    };
    Finding {
        id: RULE.id,
        variant: behind.map_or(Variant::Plain, |finding| Variant::FactorIn(finding.id)),
        title: format!("{} {version} is known for trouble", capital(name)),
        severity: match behind {
            Some(finding) if finding.severity != Severity::Info => Severity::Warning,
            _ => Severity::Info,
        },
        confidence: Confidence::Suspected,
        active: behind.is_none_or(|finding| finding.active),
        explanation: format!(
            "This node runs {name} {version}. Of {name} {} it is known that {} ({}). {} {link}",
            release.range,
            release.breaks,
            release.source,
            certainty(release, version)
        ),
        subjects: vec![node(evidence)],
        citations: vec![running.citation.clone()],
        remedies: remedies(release, running.program),
        spans: Vec::new(),
    }
}

/// Returns how sure it is, in words.
fn certainty(release: &Release, version: &Version) -> String {
    let packed = release.program != Program::Kernel && version.is_distributions();
    match release.certainty {
        Certainty::Mended if packed => format!(
            "Fixed in {}; a distribution may have fixed its package under the same number: see its changelog.",
            release.mended
        ),
        Certainty::Mended => format!("Fixed in {}.", release.mended),
        Certainty::Reported => format!(
            "Reports say that {} fixed it; the fault itself is not known here.",
            release.mended
        ),
        Certainty::Unsure => format!(
            "The number alone does not show it, since distributions fix it under the same one. Fixed in {}.",
            release.mended
        ),
    }
}

fn remedies(release: &Release, program: Program) -> Vec<Remedy> {
    let see = match program {
        Program::Kernel => "uname -r",
        Program::Component(Component::Systemd) => {
            "systemctl --version | head -1; rpm -q systemd || dpkg -s systemd"
        }
        Program::Component(Component::Dockerd) => "docker version --format '{{.Server.Version}}'",
        Program::Component(Component::Containerd) => "containerd --version",
        Program::Component(Component::Runc) => "runc --version",
        Program::Component(Component::Kubelet) => "kubelet --version",
    };
    vec![
        remedy("See the version for yourself", Risk::Safe, see, "nothing"),
        remedy(
            format!("Change the release: {}", release.mended),
            Risk::Node,
            release.command,
            "a daemon, or the node, restarts: drain it first. It does not free what hangs already",
        ),
    ]
}

/// Returns a program's name as it begins a sentence: those of commands stay as they are.
fn capital(name: &str) -> String {
    match name {
        "kernel" => "Kernel".to_owned(),
        "dockerd" => "Docker".to_owned(),
        name => name.to_owned(),
    }
}
