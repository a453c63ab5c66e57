//! Finds the names in what was kept: where Docker's JSON, the kubelet's log and metrics, the daemons' command lines and
//! mounts have them by their form.

use super::allowlist::is_allowed;
use crate::kubelet::prometheus_text::{self, Line};
use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// What a name is of, and what its stand-ins are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Pod,
    Namespace,
    Node,
    Container,
    Image,
    Server,
    Volume,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Pod => "pod",
            Self::Namespace => "ns",
            Self::Node => "node",
            Self::Container => "container",
            Self::Image => "image",
            Self::Server => "server",
            Self::Volume => "volume",
        }
    }
}

/// Fewest letters of a name that is replaced wherever it stands as a whole word.
const MIN_LETTERS: usize = 4;
const MAX_NAMES: usize = 50_000;

/// The kubelet's ways to write a pod; see `event::names`.
static PATTERNS: LazyLock<Vec<(Regex, [Option<Kind>; 3])>> = LazyLock::new(|| {
    use Kind::{Container, Image, Namespace, Node, Pod, Server};
    let name = "[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?";
    let host = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?";
    [
        // https://user:password@registry.corp:5000/v2
        (
            format!(r#"\b(?:https?|tcp|ssh|ftp)://(?:[^/\s"'@]*@)?({host})"#),
            [Some(Server), None, None],
        ),
        // dial tcp: lookup registry.corp on 10.0.0.2:53: no such host
        (format!(r"\blookup ({host})(?: on |:)"), [Some(Server), None, None]),
        // nfs: server filer7 not responding; CIFS: VFS: \\files has not responded in 180 seconds
        (
            format!(r"(?:: server |\\\\)({host}) (?:not responding|has not responded|OK)"),
            [Some(Server), None, None],
        ),
        // Mounting arguments: -t nfs -o vers=4 filer7.corp:/bank /var/lib/kubelet/pods/…
        (format!(r"-t nfs4? (?:-o \S+ )?({host}):/"), [Some(Server), None, None]),
        // What daemons are called with.
        (
            format!(r#"--(?:insecure-registry|cluster-domain)[= ]\\?"?({host})"#),
            [Some(Server), None, None],
        ),
        (
            format!(r#"--hostname-override[= ]\\?"?({host})"#),
            [Some(Node), None, None],
        ),
        (
            r#"--pod-infra-container-image[= ]\\?"?([\w][\w./:@-]*)"#.to_owned(),
            [Some(Image), None, None],
        ),
        // web-2_default(9b0e4a32-…)
        (format!(r#"({name})_({name})\([0-9a-f]"#), [Some(Pod), Some(Namespace), None]),
        // k8s_app_web-2_default_9b0e4a32-…_0
        (
            format!(r#"k8s_([^_\s"/]+)_({name})_({name})_[0-9a-f]"#),
            [Some(Container), Some(Pod), Some(Namespace)],
        ),
        // pod="default/web-2", pods=["default/web-2"]
        (
            format!(r#"(?i:pods?)\\?"?[=:]\s*\[?\\?"({name})/({name})\\?""#),
            [Some(Namespace), Some(Pod), None],
        ),
        // pod default/web-2, sandbox for pod "web-2_default(…)"
        (format!(r#"\b[Pp]od \\?"?({name})/({name})\\?"?"#), [Some(Namespace), Some(Pod), None]),
        (
            format!(r#"containerName\\?"?[=:]\s*\\?"({name})\\?""#),
            [Some(Container), None, None],
        ),
        (
            format!(r#"\b[Cc]ontainer \\?"({name})\\?""#),
            [Some(Container), None, None],
        ),
        (format!(r#"\bfor \\?"({name})\\?" with "#), [Some(Container), None, None]),
        (
            format!(r#"\b[Nn]ode(?:Name)?(?:=| )\\?"({name})\\?""#),
            [Some(Node), None, None],
        ),
        (
            r#"\b[Ii]mage(?:=| )\\?"([\w][\w./:@-]*)\\?""#.to_owned(),
            [Some(Image), None, None],
        ),
        // "Recording NodeNotReady event message for node worker-3"
        (
            format!(r#"event message for node \\?"?({name})"#),
            [Some(Node), None, None],
        ),
        // A line of syslog or journalctl: its host.
        (
            format!(r#"(?m)^(?:\w{{3}} [ \d]\d [\d:]{{8}}|\d{{4}}-\d\d-\d\dT\S+) ({name}) [\w./-]+\[\d+\]: "#),
            [Some(Node), None, None],
        ),
    ]
    .into_iter()
    .filter_map(|(pattern, kinds)| Some((Regex::new(&pattern).ok()?, kinds)))
    .collect()
});

#[derive(Debug, Default)]
pub(super) struct Names {
    instead: BTreeMap<String, String>,
    counts: BTreeMap<Kind, BTreeSet<String>>,
}

impl Names {
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.instead.keys().map(String::as_str)
    }

    /// Returns what stands for a name that was found between these letters; `None` if it is not that name there, or
    /// not surely.
    pub(super) fn instead(
        &self,
        name: &str,
        before: Option<char>,
        after: Option<char>,
    ) -> Option<&str> {
        let within = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-');
        if within(before) || within(after) {
            return None;
        }
        // A plain word is a name only where names stand.
        let fenced = |c: Option<char>| c.is_none_or(|c| !c.is_whitespace() && c != '.');
        let tells = name.len() >= MIN_LETTERS
            && name.contains(|c: char| c.is_ascii_digit() || "-./:_".contains(c));
        // … as below a folder, or before what is below it: `bank/pay-1`.
        let below = before == Some('/') || after == Some('/');
        (tells || below || fenced(before) && fenced(after))
            .then(|| self.instead.get(name))?
            .map(String::as_str)
    }

    pub(super) fn node(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.add(Kind::Node, name);
            // Others call it by its first part.
            self.add(Kind::Node, name.split('.').next().unwrap_or(name));
        }
    }

    pub(super) fn find_in_log(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for (pattern, kinds) in PATTERNS.iter() {
            for found in pattern.captures_iter(&text) {
                for (group, kind) in kinds.iter().enumerate() {
                    if let (Some(name), Some(kind)) = (found.get(group + 1), kind) {
                        self.add(*kind, name.as_str());
                    }
                }
            }
        }
    }

    pub(super) fn find_in_file(&mut self, path: &str, bytes: &[u8]) {
        if path.ends_with("/mountinfo") {
            self.servers(&String::from_utf8_lossy(bytes));
        } else if path.ends_with("/cmdline") {
            let words = String::from_utf8_lossy(bytes).replace('\0', " ");
            self.find_in_log(words.as_bytes());
        } else if path == "kubelet/metrics" {
            bytes
                .split(|&byte| byte == b'\n')
                .for_each(|line| self.find_in_sample(line));
        } else if let Ok(json) = serde_json::from_slice::<Value>(bytes) {
            self.find_in_json(path, &json);
        } else if ["docker/error", "kubelet/"]
            .iter()
            .any(|own| path.starts_with(own))
            || path.ends_with("dev/kmsg")
        {
            self.find_in_log(bytes);
        }
    }

    fn find_in_sample(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let Line::Sample(sample) = prometheus_text::line(&line) else {
            return;
        };
        for (label, value) in &sample.labels {
            let kind = match *label {
                "node" | "node_name" => Kind::Node,
                "namespace" => Kind::Namespace,
                "pod" | "pod_name" => Kind::Pod,
                "container" | "container_name" => Kind::Container,
                "persistentvolumeclaim" | "persistentvolume" => Kind::Volume,
                "image" => Kind::Image,
                // k8s_app_web-2_default_…
                _ => {
                    if value.contains('_') {
                        self.find_in_log(value.as_bytes());
                    }
                    continue;
                }
            };
            self.add(kind, value);
        }
    }

    fn find_in_json(&mut self, path: &str, json: &Value) {
        match json {
            Value::Array(items) => items.iter().for_each(|item| self.find_in_json(path, item)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.field(path, key, value);
                    self.find_in_json(path, value);
                }
            }
            Value::String(text) => self.find_in_log(text.as_bytes()),
            _ => {}
        }
    }

    fn field(&mut self, path: &str, key: &str, value: &Value) {
        let kind = match key {
            "io.kubernetes.pod.name" => Kind::Pod,
            "io.kubernetes.pod.namespace" => Kind::Namespace,
            "io.kubernetes.container.name" => Kind::Container,
            "Image" => Kind::Image,
            "Hostname" | "Domainname" => Kind::Node,
            "Name" if path == "docker/info.json" => Kind::Node,
            "Name" | "Names" => Kind::Container,
            "NoProxy" | "DnsSearch" | "ExtraHosts" => Kind::Server,
            "IndexConfigs" => {
                let hosts = value.as_object().into_iter().flatten();
                hosts.for_each(|(host, _)| self.server(host));
                return;
            }
            "Mounts" | "MountPoints" => return self.volumes(value),
            _ => return,
        };
        let items = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        for text in items.iter().filter_map(Value::as_str) {
            let name = text.trim_start_matches('/');
            match kind {
                Kind::Server => {
                    text.split(',').for_each(|host| self.server(host));
                    continue;
                }
                // Docker begins its containers' names so; networks, policies and drivers have names, too.
                Kind::Container if key != "io.kubernetes.container.name" && name == text => {
                    continue;
                }
                _ => {}
            }
            // The kubelet's names are made of others, an image's id is random.
            if !name.starts_with("k8s_") && !name.starts_with("sha256:") {
                self.add(kind, name);
            }
        }
    }

    /// Finds the servers of remote file systems: `nfs1.example:/export`, `//files/share`.
    fn servers(&mut self, text: &str) {
        for line in text.lines() {
            let Some((_, end)) = line.split_once(" - ") else {
                continue;
            };
            let source = end.split(' ').nth(1).unwrap_or_default();
            let server = match source.strip_prefix("//") {
                Some(rest) => rest.split('/').next(),
                None => source.split_once(":/").map(|(server, _)| server),
            };
            if let Some(server) = server {
                server.split(',').for_each(|server| self.server(server));
            }
        }
    }

    /// Adds a server, without its user and port.
    fn server(&mut self, text: &str) {
        let host = text.trim().rsplit('@').next().unwrap_or_default();
        let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
        let name = match port.bytes().all(|byte| byte.is_ascii_digit()) {
            true => name,
            // `name:address`, an entry of a container's hosts.
            false => host.split(':').next().unwrap_or(host),
        };
        self.add(Kind::Server, name.trim_start_matches('.'));
    }

    /// Adds the names of volumes among a container's mounts.
    fn volumes(&mut self, mounts: &Value) {
        let list = mounts.as_array().into_iter().flatten();
        let map = mounts.as_object().into_iter().flatten();
        for mount in list.chain(map.map(|(_, mount)| mount)) {
            if let Some(name) = mount["Name"].as_str() {
                self.add(Kind::Volume, name);
            }
        }
    }

    /// Adds a name; of an image also that of its registry, and its own without version.
    fn add(&mut self, kind: Kind, name: &str) {
        if kind == Kind::Image {
            let plain = name.split('@').next().unwrap_or(name);
            let plain = match plain.rsplit_once(':') {
                Some((plain, version)) if !version.contains('/') => plain,
                _ => plain,
            };
            if let Some((registry, _)) = plain.split_once('/') {
                if registry.contains(['.', ':']) {
                    self.server(registry);
                }
                self.add_one(kind, plain);
            }
        }
        self.add_one(kind, name);
    }

    fn add_one(&mut self, kind: Kind, name: &str) {
        let known = self.instead.contains_key(name) || is_allowed(name);
        let counted = self.counts.entry(kind).or_default();
        if known || is_random(name) || name.len() < 2 || counted.len() >= MAX_NAMES {
            return;
        }
        counted.insert(name.to_owned());
        let instead = format!("anon-{}-{}", kind.word(), counted.len());
        self.instead.insert(name.to_owned(), instead);
    }
}

/// Returns whether that is a number, an id or a UID, which are random or say nothing, or an address, which is replaced as
/// one.
fn is_random(name: &str) -> bool {
    /// Fewest digits of an id that is cut short.
    const ID: usize = 12;
    let only = |more: &[u8]| {
        let mut bytes = name.bytes();
        bytes.all(|b| b.is_ascii_hexdigit() || more.contains(&b))
    };
    let number = name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let digits = name.bytes().any(|b| b.is_ascii_digit());
    let id = digits && name.len() >= ID && only(b"");
    let uid = digits && name.len() == 36 && only(b"-");
    number || id || uid || name.contains(':') && only(b".:")
}

#[cfg(test)]
mod tests {
    use super::is_random;

    #[test]
    fn a_pods_name_of_hexadecimal_letters_is_a_name_and_an_id_is_none() {
        for name in ["db-0", "cafe-1", "a1", "feed", "web-2"] {
            assert!(!is_random(name), "{name}");
        }
        for name in [
            "12",
            "10.0.0.1",
            "fe80::1",
            "3ee08ab06c80",
            "6f1c4a0e-93a1-4d4a-8a5b-0d1c6f6f7a11",
        ] {
            assert!(is_random(name), "{name}");
        }
    }
}
