//! The programs whose versions matter, and how each tells its own.

use super::version::Version;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    Systemd,
    Dockerd,
    Containerd,
    Runc,
    Kubelet,
}

impl Component {
    pub const ALL: [Self; 5] = [
        Self::Systemd,
        Self::Dockerd,
        Self::Containerd,
        Self::Runc,
        Self::Kubelet,
    ];

    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Its name, and what its answer to `--version` begins with.
    fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::Systemd => ("systemd", "systemd "),
            Self::Dockerd => ("dockerd", "Docker version "),
            Self::Containerd => ("containerd", "containerd "),
            Self::Runc => ("runc", "runc version "),
            Self::Kubelet => ("kubelet", "Kubernetes "),
        }
    }
}

/// The version that a program printed when it was asked for it.
///
/// - `Docker version 20.10.24+dfsg1, build 5d6db84`
/// - `containerd github.com/containerd/containerd v1.6.20 2806fc1057397dbaeefbea0e4e17bddfbd388f38`
/// - `runc version 1.1.5+ds1`
/// - `Kubernetes v1.20.2`
/// - `systemd 252 (252.38-1~deb12u1)`: what the distribution calls it says more.
pub fn printed(component: Component, text: &str) -> Option<Version> {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(component.row().1))?;
    let bare = |word: &'_ str| Version::parse(word.trim_matches(['(', ')', ',']));
    let mut found = line.split_ascii_whitespace().filter_map(bare);
    let first = found.next()?;
    let fuller = found.next().filter(|fuller| {
        component == Component::Systemd && fuller.numbers().first() == first.numbers().first()
    });
    Some(fuller.unwrap_or(first))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions(BTreeMap<Component, Version>);

impl Versions {
    /// Notes what the running program itself says; its file may have been replaced since.
    pub fn correct(&mut self, component: Component, version: Option<Version>) {
        if let Some(version) = version {
            self.0.insert(component, version);
        }
    }

    pub fn learn(&mut self, component: Component, version: Option<Version>) {
        if let Some(version) = version {
            self.0.entry(component).or_insert(version);
        }
    }

    pub fn of(&self, component: Component) -> Option<&Version> {
        self.0.get(&component)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Component, &Version)> {
        self.0
            .iter()
            .map(|(component, version)| (*component, version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn what_programs_print_is_read() {
        for (component, text, expected) in [
            (
                Component::Dockerd,
                "Docker version 20.10.24+dfsg1, build 5d6db84\n",
                "20.10.24+dfsg1",
            ),
            (
                Component::Dockerd,
                "Docker version 17.03.2-ce, build f5ec1e2",
                "17.03.2-ce",
            ),
            (
                Component::Containerd,
                "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n",
                "1.6.20~ds1",
            ),
            (
                Component::Containerd,
                "containerd containerd.io 1.4.4 05f951a3781f4f2c1911b05e61c160e9c30eaa8e",
                "1.4.4",
            ),
            (
                Component::Runc,
                "runc version 1.0.0-rc93\ncommit: 12644e614e25b05da6fd08a38ffa0cfe1903fdec\nspec: 1.0.2-dev\n",
                "1.0.0-rc93",
            ),
            (Component::Kubelet, "Kubernetes v1.20.2\n", "v1.20.2"),
            (
                Component::Systemd,
                "systemd 252 (252.38-1~deb12u1)\n+PAM +AUDIT",
                "252.38-1~deb12u1",
            ),
            (
                Component::Systemd,
                "systemd 219\n+PAM +AUDIT +SELINUX",
                "219",
            ),
        ] {
            assert_eq!(
                printed(component, text).unwrap().as_str(),
                expected,
                "{text}"
            );
        }
        // Another program in its place, or its error.
        assert_eq!(printed(Component::Dockerd, "bash, version 5.2.15"), None);
        assert_eq!(printed(Component::Kubelet, "unknown flag: --version"), None);
        assert_eq!(printed(Component::Runc, "crun version 1.8.1"), None);
    }

    #[test]
    fn the_first_word_on_a_program_counts_but_for_its_own() {
        let mut versions = Versions::default();
        versions.learn(Component::Runc, None);
        versions.learn(Component::Runc, Some(version("1.1.4")));
        versions.learn(Component::Runc, Some(version("1.1.5")));
        assert_eq!(versions.of(Component::Runc), Some(&version("1.1.4")));
        assert_eq!(versions.iter().count(), 1);
        versions.correct(Component::Runc, None);
        versions.correct(Component::Runc, Some(version("1.1.3")));
        assert_eq!(versions.of(Component::Runc), Some(&version("1.1.3")));
    }
}
