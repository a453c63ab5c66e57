use super::*;
use crate::runtime::Call;
use crate::{
    finding::{Confidence, Severity},
    node::Version,
    rules::known_bad_version::RULE,
};

/// A daemon that tells these versions.
fn with_versions(containers: Vec<Container>, versions: &[(&str, &str)]) -> Runtime {
    let mut daemon = daemon_with(containers);
    for (name, version) in versions {
        match *name {
            "docker" => daemon.versions.daemon = Some((*version).to_owned()),
            "kernel" => daemon.versions.kernel = Some((*version).to_owned()),
            name => drop(
                daemon
                    .versions
                    .components
                    .insert(name.to_owned(), (*version).to_owned()),
            ),
        }
    }
    daemon
}

fn hung() -> Vec<Container> {
    vec![sandbox(ID, None), sandbox(OTHER, Some("running"))]
}

#[test]
fn a_version_alone_is_good_to_know_and_beside_what_it_does_a_warning() {
    let rc93 = [("runc", "1.0.0-rc93")];
    let well = evidence(&[], Some(with_versions(Vec::new(), &rc93)));
    let finding = only(&RULE, &well);
    assert_eq!((finding.severity, finding.active), (Severity::Info, true));
    assert_eq!(finding.confidence, Confidence::Suspected);
    let sick = evidence(&[], Some(with_versions(hung(), &rc93)));
    let finding = only(&RULE, &sick);
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.confidence, Confidence::Suspected);
    assert!(finding.explanation.contains("hung-container"));
}

#[test]
fn another_reason_for_the_hang_takes_the_blame_and_a_runtime_that_hangs_is_none() {
    let rc93 = [("runc", "1.0.0-rc93")];
    let mut frozen = evidence(&[], Some(with_versions(hung(), &rc93)));
    frozen.host = Some(host(vec![Process {
        state: State::Stopped,
        still: Some(Duration::from_secs(1)),
        ..process(7, 1, "dockerd", Role::Dockerd, 900)
    }]));
    assert_eq!(only(&RULE, &frozen).severity, Severity::Info);
    let mut daemon = with_versions(hung(), &rc93);
    for call in [Call::Info, Call::Version] {
        *daemon.probe_mut(call) = probe(Outcome::TimedOut, 3000);
    }
    let silent = evidence(&[], Some(daemon));
    let hangs = |it: &Finding| it.id == "hung-runtime" && it.active;
    assert!(check_all(&silent).iter().any(hangs));
    assert_eq!(only(&RULE, &silent).severity, Severity::Warning);
}

#[test]
fn the_package_is_not_blamed_where_the_runc_in_it_is_known() {
    let package = [("containerd", "1.4.4")];
    let finding = only(&RULE, &evidence(&[], Some(with_versions(hung(), &package))));
    assert!(finding.explanation.contains("containerd.io 1.4.4 brings"));
    let both = [("containerd", "1.4.4"), ("runc", "1.0.0-rc93")];
    let finding = only(&RULE, &evidence(&[], Some(with_versions(hung(), &both))));
    assert!(finding.title.starts_with("runc 1.0.0-rc93"));
    let mended = [("containerd", "1.4.4"), ("runc", "1.0.0-rc95")];
    quiet(&RULE, &evidence(&[], Some(with_versions(hung(), &mended))));
}

#[test]
fn what_harms_only_in_company_is_silent_alone() {
    for versions in [
        [("containerd", "1.6.20~ds1"), ("docker", "20.10.9")],
        [("kernel", "3.10.0-1160.el7.x86_64"), ("docker", "1.13.1")],
    ] {
        quiet(
            &RULE,
            &evidence(&[], Some(with_versions(Vec::new(), &versions))),
        );
        quiet(
            &RULE,
            &evidence(&[], Some(with_versions(hung(), &versions))),
        );
    }
}

#[test]
fn what_is_no_version_and_what_is_not_known_is_nothing() {
    for versions in [
        [("kernel", ""), ("runc", "dev")],
        [("kernel", "5.4.0-216-generic"), ("runc", "1.0.0-rc930")],
    ] {
        quiet(
            &RULE,
            &evidence(&[], Some(with_versions(hung(), &versions))),
        );
    }
}

#[test]
fn the_running_daemons_word_counts_before_its_files() {
    let mut evidence = evidence(
        &[],
        Some(with_versions(Vec::new(), &[("containerd", "1.7.14")])),
    );
    let mut host = host(Vec::new());
    let newer = Version::parse("1.7.24");
    host.versions
        .learn(crate::node::Component::Containerd, newer);
    host.kernel = Some("5.15.63-flatcar".to_owned());
    evidence.host = Some(host);
    let findings = found(&RULE, &evidence);
    let cited: Vec<_> = findings.iter().map(|it| &*it.citations[0].source).collect();
    assert_eq!(cited, ["uname -r", "docker version"]);
}

#[test]
fn a_list_that_contradicts_inspect_is_explained_by_dockers_release() {
    let mut dead = sandbox(ID, Some("dead"));
    dead.listed_state = "removing".into();
    let told = |container: &Container, version: &str| {
        let daemon = with_versions(vec![container.clone()], &[("docker", version)]);
        let findings = check_all(&evidence(&[], Some(daemon)));
        let dead = findings
            .iter()
            .find(|it| it.id == "dead-container")
            .unwrap();
        assert!(findings.iter().all(|it| it.id != RULE.id), "{findings:#?}");
        dead.explanation.contains("Removal In Progress")
    };
    assert!(told(&dead, "20.10.24+dfsg1"));
    assert!(told(&dead, "28.1.1"));
    assert!(!told(&dead, "28.2.0"));
    // After a restart of the daemon the list says dead, too.
    dead.listed_state = "dead".into();
    assert!(!told(&dead, "20.10.24"));
}

#[test]
fn a_log_tells_the_kernel_and_the_runtime() {
    let start = |version: &str| {
        vec![
            line(
                "03:00:00",
                &format!(
                    "Container runtime containerd initialized, version: {version}, apiVersion: v1alpha2"
                ),
            ),
            ready("03:00:10"),
        ]
    };
    let finding = only(&RULE, &evidence(&start("1.7.14"), None));
    assert_eq!(finding.citations[0].line, Some(1));
    // The last one counts: it was changed since.
    let changed = [start("1.7.14"), start("1.7.16")].concat();
    quiet(&RULE, &evidence(&changed, None));
}

#[test]
fn a_containerd_that_a_slow_disk_harms_more_is_told_there_and_not_with_docker() {
    let told = |log: &[String], runtime: Option<Runtime>| {
        let mut seen = disk_saturated::saturated();
        seen.log = evidence(log, None).log;
        seen.runtime = runtime;
        let host = seen.host.as_mut().unwrap();
        let version = Version::parse("1.6.20~ds1");
        host.versions
            .learn(crate::node::Component::Containerd, version);
        let findings = check_all(&seen);
        assert!(findings.iter().all(|it| it.id != RULE.id), "{findings:#?}");
        let disk = findings.iter().find(|it| it.id == "disk-saturated");
        disk.unwrap().explanation.contains("harms it more")
    };
    let start = line(
        "03:00:00",
        "Container runtime containerd initialized, version: 1.6.20, apiVersion: v1",
    );
    assert!(told(&[start], None));
    assert!(!told(&[], Some(daemon_with(Vec::new()))));
}
