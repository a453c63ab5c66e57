//! Pods and ids inside messages, in every way that kubelets and runtimes write them.

use crate::syntax::framing::json;
use crate::syntax::id::{ContainerId, PodName, PodUid};

/// Reads `<pod>_<ns>(<uid>)`, the UID perhaps missing.
pub(super) fn old_pod(text: &str) -> (Option<PodName>, Option<PodUid>) {
    let (names, uid) = match text.split_once('(') {
        Some((names, uid)) => (names, PodUid::parse(uid.trim_end_matches(')'))),
        None => (text, None),
    };
    let pod = names
        .split_once('_')
        .and_then(|(pod, namespace)| named(namespace, pod));
    (pod, uid)
}

/// Reads `<ns>/<pod>`.
pub(super) fn new_pod(text: &str) -> Option<PodName> {
    let (namespace, pod) = text.split_once('/')?;
    named(namespace, pod)
}

/// Reads `<pod>/<ns>`, which old PLEG lines write.
pub(super) fn reversed_pod(text: &str) -> Option<PodName> {
    let (pod, namespace) = text.split_once('/')?;
    named(namespace, pod)
}

/// Finds the pod in what dockershim passes on of a network plugin: `networkPlugin cni failed to teardown pod
/// "<pod>_<ns>" network: …`.
pub(super) fn network_pod(error: &str) -> Option<PodName> {
    let (_, of_plugin) = error.split_once("etworkPlugin ")?;
    let (_, pod) = of_plugin.split_once(" pod \"")?;
    let (pod, _) = pod.split_once('"')?;
    old_pod(pod).0
}

fn named(namespace: &str, pod: &str) -> Option<PodName> {
    let is_name = |text: &str| {
        !text.is_empty()
            && text.len() <= 253
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
    };
    (is_name(namespace) && is_name(pod)).then(|| PodName::new(namespace, pod))
}

type Named = (Option<PodName>, Option<PodUid>);

/// Reads a list of pods: `a_b(uid), c_d(uid)`, `[b/a d/c]`, `["b/a","d/c"]`.
fn pods(text: &str) -> impl Iterator<Item = Named> {
    text.split([' ', ',', '[', ']', '"'])
        .filter(|word| !word.is_empty())
        .map(|word| {
            if word.contains('/') {
                (new_pod(word), None)
            } else {
                old_pod(word)
            }
        })
        .filter(|(pod, _)| pod.is_some())
}

/// Reads a list of pods in any form, klog JSON's objects included: `[{"name":"a","namespace":"b"}]`.
pub(super) fn pods_or_objects(text: &str) -> impl Iterator<Item = Named> {
    let objects = text.contains("\"namespace\"");
    let plain = pods(if objects { "" } else { text });
    let objects = object_pods(if objects { text } else { "" });
    plain.chain(objects)
}

fn object_pods(text: &str) -> impl Iterator<Item = Named> {
    text.split_inclusive('}')
        .filter_map(|object| {
            let start = object.find('{')?;
            let mut name = String::new();
            let mut namespace = String::new();
            for (key, value) in json::members(&object.as_bytes()[start..]) {
                let value = String::from_utf8_lossy(&json::string(value)).into_owned();
                match key {
                    b"name" => name = value,
                    b"namespace" => namespace = value,
                    _ => {}
                }
            }
            named(&namespace, &name)
        })
        .map(|pod| (Some(pod), None))
}

/// Finds the id in `text`: alone, `docker://<id>`, or inside a struct or JSON; 12 to 64 hex digits.
pub(super) fn id(text: &str) -> Option<ContainerId> {
    if let Some(id) = ContainerId::parse(text) {
        return Some(id);
    }
    // Half of an id that a terminal's width broke is another id.
    if text.contains('\n') {
        return id(&text.replace('\n', ""));
    }
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .find_map(ContainerId::parse)
}

/// Finds the pod's UID in a CRI filter: `…{io.kubernetes.pod.uid: <uid>,}…`.
pub(super) fn filter_uid(text: &str) -> Option<PodUid> {
    let (_, rest) = text.split_once("io.kubernetes.pod.uid: ")?;
    let end = rest
        .find(|c: char| !(c.is_ascii_hexdigit() || c == '-'))
        .unwrap_or(rest.len());
    PodUid::parse(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";

    #[test]
    fn the_four_ways_of_writing_a_pod_meet() {
        let pod = Some(PodName::new("default", "web-2"));
        assert_eq!(old_pod(&format!("web-2_default({UID})")).0, pod);
        assert_eq!(old_pod("web-2_default").0, pod);
        assert_eq!(new_pod("default/web-2"), pod);
        assert_eq!(reversed_pod("web-2/default"), pod);
    }

    #[test]
    fn a_network_plugins_failure_names_its_pod() {
        let failed = |pod: &str| {
            network_pod(&format!(
                "rpc error: code = Unknown desc = networkPlugin cni failed to teardown pod {pod} network: no route for pod \"b_a\""
            ))
        };
        let pod = Some(PodName::new("default", "web-2"));
        assert_eq!(failed("\"web-2_default\""), pod);
        assert_eq!(failed("\"\""), None);
        assert_eq!(network_pod("no such pod \"web-2_default\""), None);
    }

    #[test]
    fn static_pods_have_uids_without_dashes() {
        let (pod, uid) = old_pod("db-node-1_prod(de17858b93b5459e01e9992c835cd6a8)");
        assert_eq!(pod, Some(PodName::new("prod", "db-node-1")));
        assert_eq!(uid.unwrap().as_str(), "de17858b93b5459e01e9992c835cd6a8");
    }

    #[test]
    fn lists_name_each_pod() {
        let two = ["default/web-0", "prod/web-1"];
        for text in [
            format!("web-0_default({UID}), web-1_prod({UID})"),
            "[default/web-0 prod/web-1]".into(),
            r#"["default/web-0","prod/web-1"]"#.into(),
        ] {
            let names: Vec<_> = pods(&text)
                .map(|(pod, _)| pod.unwrap().to_string())
                .collect();
            assert_eq!(names, two, "{text}");
        }
    }

    #[test]
    fn ids_are_found_in_structs() {
        let whole = "9f2c".repeat(16);
        for text in [
            whole.clone(),
            format!("docker://{whole}"),
            format!("{{Type:docker ID:{whole}}}"),
            format!(r#"{{"Type":"containerd","ID":"{whole}"}}"#),
            format!(r#"{{"docker" "{whole}"}}"#),
        ] {
            assert_eq!(id(&text).unwrap().as_str(), whole, "{text}");
        }
        for text in ["", "f0>", "(MISSING)", "{Type:docker ID:}"] {
            assert_eq!(id(text), None, "{text}");
        }
    }

    #[test]
    fn a_filter_tells_its_pod() {
        let text = format!(
            "&PodSandboxFilter{{LabelSelector:map[string]string{{io.kubernetes.pod.uid: {UID},}},}}"
        );
        assert_eq!(filter_uid(&text).unwrap().as_str(), UID);
        assert_eq!(filter_uid("nil"), None);
    }
}
