//! The identities that join a log with a runtime: container ids, pod UIDs, pod names.
//!
//! Logs cut ids to 12 or 13 digits and write a pod in four ways; here they become comparable. Nothing here
//! looks anything up.

use std::{collections::BTreeSet, fmt, sync::Arc};

/// Fewest hex digits that are taken for a container id: what `docker ps` prints.
const MIN_DIGITS: usize = 12;
const DIGITS: usize = 64;

/// A container's or sandbox's id: 12 to 64 lower-case hex digits, whole or cut short.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerId(Arc<str>);

impl ContainerId {
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.split_once("://").map_or(text, |(_, id)| id);
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        ((MIN_DIGITS..=DIGITS).contains(&text.len()) && text.bytes().all(hex))
            .then(|| Self(text.into()))
    }

    /// Whether both name the same container, one perhaps cut short.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.starts_with(&*other.0) || other.0.starts_with(&*self.0)
    }

    /// The twelve digits that people use.
    pub fn short(&self) -> &str {
        &self.0[..MIN_DIGITS]
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether all 64 digits are known.
    pub fn is_whole(&self) -> bool {
        self.0.len() == DIGITS
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Container ids, whole or cut short, to look others up in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerIds(BTreeSet<ContainerId>);

impl ContainerIds {
    /// Whether one of them names the same container as `id`.
    pub fn contains(&self, id: &ContainerId) -> bool {
        // An id cut short sorts right before the whole ids that it begins.
        let after = self.0.range(id..).next();
        let before = self.0.range(..=id).next_back();
        after
            .into_iter()
            .chain(before)
            .any(|known| known.matches(id))
    }

    pub fn insert(&mut self, id: &ContainerId) {
        self.0.insert(id.clone());
    }
}

impl<'a> FromIterator<&'a ContainerId> for ContainerIds {
    fn from_iter<I: IntoIterator<Item = &'a ContainerId>>(ids: I) -> Self {
        Self(ids.into_iter().cloned().collect())
    }
}

/// A pod's UID: a UUID, or the 32 hex digits of a static pod's MD5.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodUid(Arc<str>);

impl PodUid {
    pub fn parse(text: &str) -> Option<Self> {
        let hex = |b: u8| b.is_ascii_hexdigit();
        let bytes = text.as_bytes();
        let uuid = bytes.len() == 36
            && bytes.iter().enumerate().all(|(i, &b)| match i {
                8 | 13 | 18 | 23 => b == b'-',
                _ => hex(b),
            });
        (uuid || (bytes.len() == 32 && bytes.iter().all(|&b| hex(b)))).then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PodUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PodUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pod's namespace and name, in whatever way they were written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodName {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl PodName {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_12_13_and_64_digits_meet() {
        let whole = ContainerId::parse(&"b15929dfcea1".repeat(6)[..64]).unwrap();
        for short in ["b15929dfcea1", "b15929dfcea1b", "docker://b15929dfcea1"] {
            assert!(
                ContainerId::parse(short).unwrap().matches(&whole),
                "{short}"
            );
        }
        assert!(!ContainerId::parse("b15929dfcea2").unwrap().matches(&whole));
    }

    #[test]
    fn a_set_finds_ids_cut_short_on_either_side() {
        let whole = ContainerId::parse(&"b15929dfcea1".repeat(6)[..64]).unwrap();
        let short = ContainerId::parse("b15929dfcea1b").unwrap();
        let other = ContainerId::parse("b15929dfcea2").unwrap();
        let ids = ContainerIds::from_iter([&whole, &other]);
        assert!(ids.contains(&short) && ids.contains(&whole) && ids.contains(&other));
        let ids = ContainerIds::from_iter([&short]);
        assert!(ids.contains(&whole) && !ids.contains(&other));
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in [
            "",
            "f0",
            "b15929dfce",
            "B15929DFCEA1",
            "web-2",
            &"a".repeat(65),
            "docker://",
            "ääääääääääää",
        ] {
            assert_eq!(ContainerId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn uids_are_uuids_or_static_pods_md5() {
        assert!(PodUid::parse("9b0e4a32-7fe5-45b4-b69e-1c76355b4249").is_some());
        assert!(PodUid::parse("de17858b93b5459e01e9992c835cd6a8").is_some());
        assert!(PodUid::parse("9b0e4a32-7fe5-45b4-b69e-1c76355b424").is_none());
        assert!(PodUid::parse("payments-db").is_none());
    }
}
