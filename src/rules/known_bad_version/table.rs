//! The releases that are known for trouble: one row each. What is known comes from public incidents, and from the
//! maintainers' own words in them; a row names both, and how sure it is.

use crate::node::{Component, Version};

/// What a release is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Kernel,
    Component(Component),
}

impl Program {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Component(tool) => tool.name(),
        }
    }
}

/// How sure it is that these releases do what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// The fault was found, and a release mends it.
    Mended,
    /// Several who met it say that it went with another release; the fault itself is not known here.
    Reported,
    /// The number alone does not tell: distributions mend it under the same one.
    Unsure,
}

/// Where a match is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Always: whoever runs it should know.
    Always,
    /// Only beside a finding that it may be behind.
    Beside,
    /// Only within that finding's explanation: it explains what is seen, or makes it worse, and is behind nothing.
    Within,
}

/// Releases that are known for trouble.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) program: Program,
    /// From the first (empty: from any) up to the second, which is none of them.
    pub(super) ranges: &'static [(&'static str, &'static str)],
    /// What else its version says, if only those of one maker are meant.
    pub(super) mark: Option<&'static str>,
    /// … and what it does not say.
    pub(super) without: &'static [&'static str],
    /// It is bad for this program that it brings: once that one's own version is known, that counts.
    pub(super) brings: Option<Component>,
    /// The range, for people.
    pub(super) range: &'static str,
    /// What breaks.
    pub(super) breaks: &'static str,
    pub(super) certainty: Certainty,
    /// Who says so.
    pub(super) source: &'static str,
    /// What mends it.
    pub(super) mended: &'static str,
    /// The command that does.
    pub(super) command: &'static str,
    /// The findings that it may be behind.
    pub(super) behind: &'static [&'static str],
    pub(super) told: Told,
}

impl Release {
    /// Returns whether that version is one of them.
    pub(super) fn covers(&self, version: &Version) -> bool {
        let text = version.as_str();
        let within = |(from, before): &(&str, &str)| {
            let from = Version::parse(from);
            let before = Version::parse(before);
            from.is_none_or(|from| *version >= from)
                && before.is_some_and(|before| *version < before)
        };
        self.mark.is_none_or(|mark| text.contains(mark))
            && !self.without.iter().any(|mark| text.contains(mark))
            && self.ranges.iter().any(within)
    }
}

/// All that are known.
pub(super) const RELEASES: &[Release] = &[
    Release {
        program: Program::Component(Component::Runc),
        ranges: &[("1.0.0-rc93", "1.0.0-rc94")],
        mark: None,
        without: &[],
        brings: None,
        range: "1.0.0-rc93",
        breaks: "`runc init` may wait for ever while a container is started, and whoever inspects that container waits with it",
        certainty: Certainty::Mended,
        source: "containerd#5274, rancher#31793",
        mended: "another runc than 1.0.0-rc93",
        command: "apt-get install --only-upgrade containerd.io # or: yum update containerd.io",
        behind: &["hung-container"],
        told: Told::Always,
    },
    Release {
        program: Program::Component(Component::Containerd),
        ranges: &[("1.4.4", "1.4.5-alpha")],
        mark: None,
        // Distributions' packages of containerd bring no runc.
        without: &["ds", "ubuntu"],
        brings: Some(Component::Runc),
        range: "1.4.4",
        breaks: "the package containerd.io 1.4.4 brings runc 1.0.0-rc93, whose `runc init` may wait for ever while a container is started",
        certainty: Certainty::Mended,
        source: "containerd#5274, rancher#31793",
        mended: "another containerd.io than 1.4.4",
        command: "apt-get install --only-upgrade containerd.io # or: yum update containerd.io",
        behind: &["hung-container"],
        told: Told::Always,
    },
    Release {
        program: Program::Kernel,
        ranges: &[("5.4.214", "5.4.218-rc0")],
        mark: None,
        without: &[],
        brings: None,
        range: "5.4.214 to 5.4.217",
        breaks: "a back-port to its event polling (epoll) loses wake-ups, so that runc may wait for ever for what has come already; tracing it (strace) frees it",
        certainty: Certainty::Mended,
        source: "eks-ami#1071, runc#3641",
        mended: "kernel 5.4.219",
        command: "uname -r # install a newer kernel, drain the node, then: systemctl reboot",
        behind: &["hung-container"],
        told: Told::Always,
    },
    Release {
        program: Program::Kernel,
        ranges: &[("5.15.63", "5.15.64-rc0")],
        mark: Some("flatcar"),
        without: &[],
        brings: None,
        range: "5.15.63-flatcar",
        breaks: "a container, or whatever needs a new network namespace, gets stuck in the kernel, as if runc hung",
        certainty: Certainty::Reported,
        source: "public incidents; no fix is named",
        mended: "another release of Flatcar",
        command: "update_engine_client -update # drain the node first; then: systemctl reboot",
        behind: &["hung-container"],
        told: Told::Always,
    },
    Release {
        program: Program::Component(Component::Containerd),
        ranges: &[("1.7.14", "1.7.15-alpha")],
        mark: None,
        without: &[],
        brings: None,
        range: "1.7.14",
        breaks: "containers' ends get lost or stuck between containerd and their shims, so that pods stay Terminating",
        certainty: Certainty::Reported,
        source: "eks-ami#1933",
        mended: "another release of containerd 1.7",
        command: "apt-get install --only-upgrade containerd.io # or: yum update containerd",
        behind: &["leaked-shim", "hung-container"],
        told: Told::Always,
    },
    Release {
        program: Program::Component(Component::Containerd),
        ranges: &[("", "1.6.25-alpha"), ("1.7.0-alpha", "1.7.9-alpha")],
        mark: None,
        without: &[],
        brings: None,
        range: "before 1.6.25, and 1.7.0 to 1.7.8",
        breaks: "such a disk harms it more than later releases: its clean-up of containers waits for whole file systems to be written, runs into its own deadlines, and leaves shims behind",
        certainty: Certainty::Mended,
        source: "containerd 1.6.25 and 1.7.9; public incidents with slow disks",
        mended: "containerd 1.6.25 or 1.7.9",
        command: "apt-get install --only-upgrade containerd.io # or: yum update containerd",
        behind: &["disk-saturated"],
        told: Told::Within,
    },
    Release {
        program: Program::Component(Component::Containerd),
        ranges: &[("1.1.0", "1.1.5-rc0")],
        mark: None,
        without: &[],
        brings: None,
        range: "1.1.0 to 1.1.4",
        breaks: "shims may lock themselves up when their container ends",
        certainty: Certainty::Reported,
        source: "public incidents, over with containerd 1.1.5",
        mended: "containerd 1.1.5",
        command: "apt-get install --only-upgrade containerd.io # or: yum update containerd",
        behind: &["leaked-shim"],
        told: Told::Beside,
    },
    Release {
        program: Program::Component(Component::Systemd),
        ranges: &[("", "242-rc0")],
        mark: None,
        without: &[],
        brings: None,
        range: "up to 241",
        breaks: "the numbers of its D-Bus messages overflow after weeks of many starts and stops, and it stops answering",
        certainty: Certainty::Unsure,
        source: "kubespray#5134; RHEL fixed it within 219",
        mended: "systemd 242, or a distribution's fixed package: see `rpm -q --changelog systemd | grep -i cookie`",
        command: "yum update systemd && systemctl daemon-reexec # or: apt-get install --only-upgrade systemd",
        behind: &["systemd-unresponsive"],
        told: Told::Beside,
    },
    Release {
        program: Program::Component(Component::Dockerd),
        ranges: &[("", "20.10.13-rc0")],
        mark: None,
        without: &[],
        brings: None,
        range: "before 20.10.13",
        breaks: "a container's end waits without limit for its log driver, with the container's lock held",
        certainty: Certainty::Mended,
        source: "Docker 20.10.13; a public incident",
        mended: "Docker 20.10.13",
        command: "apt-get install --only-upgrade docker-ce # or: yum update docker-ce",
        behind: &["log-driver-blocked"],
        told: Told::Beside,
    },
    Release {
        program: Program::Component(Component::Dockerd),
        ranges: &[("", "28.2.0-rc0")],
        mark: None,
        without: &[],
        brings: None,
        range: "up to 28.1",
        breaks: "after a removal that failed its list keeps saying \"Removal In Progress\", though nothing is in progress and inspect says dead",
        certainty: Certainty::Mended,
        source: "moby#49968",
        mended: "Docker 28.2.0",
        command: "apt-get install --only-upgrade docker-ce # or: yum update docker-ce",
        behind: &["dead-container"],
        told: Told::Within,
    },
    Release {
        program: Program::Component(Component::Kubelet),
        ranges: &[("", "1.16.0-alpha")],
        mark: None,
        without: &[],
        brings: None,
        range: "before 1.16",
        breaks: "it waits without limit for a network plugin, and its relist may wait with it",
        certainty: Certainty::Mended,
        source: "kubernetes#71653",
        mended: "Kubernetes 1.16",
        command: "kubelet --version # upgrade the node's kubelet, drained",
        behind: &["cni-hang"],
        told: Told::Beside,
    },
    Release {
        program: Program::Kernel,
        ranges: &[("3.10.0", "3.11")],
        mark: Some(".el7"),
        without: &[],
        brings: None,
        range: "3.10.0 of RHEL 7 and its kin",
        breaks: "a mount that another mount namespace holds cannot be taken away unless fs.may_detach_mounts is 1",
        certainty: Certainty::Mended,
        source: "public incidents with leaked mounts",
        mended: "fs.may_detach_mounts=1",
        command: "sysctl fs.may_detach_mounts; sysctl -w fs.may_detach_mounts=1",
        behind: &["busy-mount"],
        told: Told::Beside,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn covering(program: Program, version: &str) -> Vec<&'static str> {
        let version = Version::parse(version).unwrap();
        RELEASES
            .iter()
            .filter(|release| release.program == program && release.covers(&version))
            .map(|release| release.range)
            .collect()
    }

    #[test]
    fn every_bound_is_a_version_and_every_finding_a_rule() {
        for release in RELEASES {
            for (from, before) in release.ranges {
                let (from, before) = (Version::parse(from), Version::parse(before).unwrap());
                assert!(from.is_none_or(|from| from < before), "{}", release.range);
            }
            for id in release.behind {
                let known = crate::rules::RULES.iter().any(|rule| rule.id == *id);
                assert!(known, "{id}");
            }
            assert!(!release.behind.is_empty() && !release.source.is_empty());
        }
    }

    #[test]
    fn kernels_are_told_by_their_makers_numbers() {
        let kernel = |version| covering(Program::Kernel, version);
        for bad in [
            "5.4.214-120.368.amzn2.x86_64",
            "5.4.217-126.408.amzn2.x86_64",
            "5.4.214-flatcar",
            "5.4.215",
        ] {
            assert_eq!(kernel(bad), ["5.4.214 to 5.4.217"], "{bad}");
        }
        // Ubuntu counts by itself: that is 5.4.0 with 216 changes, and no 5.4.216.
        for good in [
            "5.4.0-216-generic",
            "5.4.0-1117-aws",
            "5.4.213",
            "5.4.218",
            "5.4.219-126.411.amzn2.x86_64",
            "5.15.0-63-generic",
            "5.15.63-1.el8",
            "5.15.64-flatcar",
            "3.10.107",
        ] {
            assert!(kernel(good).is_empty(), "{good}");
        }
        assert_eq!(kernel("5.15.63-flatcar"), ["5.15.63-flatcar"]);
        assert_eq!(kernel("3.10.0-1160.el7.x86_64").len(), 1);
    }

    #[test]
    fn programs_are_told_whoever_packed_them() {
        let of = |tool, version| covering(Program::Component(tool), version);
        for bad in ["1.0.0-rc93", "1.0.0~rc93+ds1-5", "1.0.0-rc93+dev"] {
            assert_eq!(of(Component::Runc, bad), ["1.0.0-rc93"], "{bad}");
        }
        for good in [
            "1.0.0-rc92",
            "1.0.0-rc94",
            "1.0.0-rc9",
            "1.0.0",
            "1.0.0-93",
            "1.1.5+ds1",
        ] {
            assert!(of(Component::Runc, good).is_empty(), "{good}");
        }
        for (version, ranges) in [
            ("1.4.4-1", 2),
            ("1.4.4", 2),
            // Debian's own package brings no runc; the slow clean-up is in it.
            ("1.4.4~ds1", 1),
            ("1.4.5", 1),
            ("1.4.40", 1),
            ("v1.6.20~ds1", 1),
            ("1.6.24", 1),
            ("1.6.25", 0),
            ("1.6.25~ds1-1", 0),
            ("1.7.8", 1),
            ("1.7.9", 0),
            ("1.7.14", 1),
            ("1.7.140", 0),
            ("v1.7.15", 0),
            ("2.0.0", 0),
            ("1.1.4", 2),
        ] {
            assert_eq!(
                of(Component::Containerd, version).len(),
                ranges,
                "{version}"
            );
        }
        for (version, ranges) in [
            ("17.03.2-ce", 2),
            ("20.10.12", 2),
            ("20.10.13", 1),
            ("20.10.24+dfsg1", 1),
            ("28.1.1", 1),
            ("28.2.0", 0),
            ("28.2.2", 0),
        ] {
            assert_eq!(of(Component::Dockerd, version).len(), ranges, "{version}");
        }
        for (version, ranges) in [
            ("219", 1),
            ("219-78.el7_9.9", 1),
            ("241-7~deb10u8", 1),
            ("242", 0),
            ("252.38-1~deb12u1", 0),
        ] {
            assert_eq!(of(Component::Systemd, version).len(), ranges, "{version}");
        }
        assert_eq!(of(Component::Kubelet, "v1.15.12").len(), 1);
        assert!(of(Component::Kubelet, "v1.20.2-eks-7c9bda").is_empty());
    }
}
