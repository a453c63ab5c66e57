//! Which pod a container belongs to, from its labels, else from the name that the kubelet gave it.
//!
//! Labels win: they are exact, and names are not always the kubelet's. Nothing here asks anybody.

use crate::runtime::ContainerKind;
use crate::syntax::id::{ContainerId, PodName, PodUid};
use std::collections::BTreeMap;

/// What a container is, and whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What it is to the kubelet.
    pub kind: ContainerKind,
    /// Its pod.
    pub pod: Option<PodName>,
    /// Its pod's UID.
    pub uid: Option<PodUid>,
    /// The sandbox it runs in; only labels tell.
    pub sandbox: Option<ContainerId>,
}

impl Identity {
    /// What is not the kubelet's.
    pub const NONE: Self = Self {
        kind: ContainerKind::Other,
        pod: None,
        uid: None,
        sandbox: None,
    };
}

/// Returns whose the container of that name and those labels is.
///
/// The labels are those of dockershim and cri-dockerd (kubelet pkg/kubelet/dockershim/docker_service.go and
/// pkg/kubelet/types/labels.go).
pub fn identify(name: &str, labels: &BTreeMap<String, String>) -> Identity {
    let label = |key: &str| {
        labels
            .get(key)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    };
    let by_name = from_name(name);
    let pod = label("io.kubernetes.pod.name").zip(label("io.kubernetes.pod.namespace"));
    let container = label("io.kubernetes.container.name");
    let kind = match label("io.kubernetes.docker.type") {
        Some("podsandbox") => ContainerKind::Sandbox,
        Some("container") => ContainerKind::Container,
        // Kubelets before 1.6 set no type; their sandbox is the container named POD.
        _ if pod.is_some() && container == Some("POD") => ContainerKind::Sandbox,
        _ if pod.is_some() && container.is_some() => ContainerKind::Container,
        _ => by_name.kind,
    };
    Identity {
        kind,
        pod: pod
            .map(|(name, namespace)| PodName::new(namespace, name))
            .or(by_name.pod),
        uid: label("io.kubernetes.pod.uid")
            .and_then(PodUid::parse)
            .or(by_name.uid),
        sandbox: label("io.kubernetes.sandbox.id").and_then(ContainerId::parse),
    }
}

/// Returns what the kubelet's way of naming containers tells.
///
/// `k8s_<container>_<pod>_<namespace>_<uid>_<attempt>` (dockershim/naming.go; a seventh field is appended when
/// the name was taken); up to 1.5 `k8s_<container>.<hash>_<pod>_<namespace>_<uid>_<random>`
/// (pkg/kubelet/dockertools/docker.go). The sandbox's container is `POD`. None of the parts can hold an
/// underscore.
pub fn from_name(name: &str) -> Identity {
    let fields: Vec<&str> = name.split('_').collect();
    let (&["k8s", container, pod, namespace, uid, _]
    | &["k8s", container, pod, namespace, uid, _, _]) = fields.as_slice()
    else {
        return Identity::NONE;
    };
    if [container, pod, namespace, uid].contains(&"") {
        return Identity::NONE;
    }
    let container = container
        .split_once('.')
        .map_or(container, |(name, _)| name);
    Identity {
        kind: if container == "POD" {
            ContainerKind::Sandbox
        } else {
            ContainerKind::Container
        },
        pod: Some(PodName::new(namespace, pod)),
        uid: PodUid::parse(uid),
        sandbox: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";

    fn pod_of(identity: &Identity) -> String {
        identity.pod.as_ref().map(ToString::to_string).unwrap()
    }

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |&(k, v): &(&str, &str)| (k.to_owned(), v.to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn the_kubelets_names_tell_pod_and_kind() {
        for (name, kind, pod) in [
            (
                format!("k8s_POD_web-2_default_{UID}_0"),
                ContainerKind::Sandbox,
                "default/web-2",
            ),
            (
                format!("k8s_app_web-2_default_{UID}_12"),
                ContainerKind::Container,
                "default/web-2",
            ),
            (
                format!("k8s_app_web-2_default_{UID}_0_1a2b3c4d"),
                ContainerKind::Container,
                "default/web-2",
            ),
            (
                format!("k8s_POD.6d00e006_web-2_kube-system_{UID}_8ba4f9a0"),
                ContainerKind::Sandbox,
                "kube-system/web-2",
            ),
            (
                format!("k8s_dns.7d1e2c3b_dns.v9_kube-system_{UID}_8ba4f9a0"),
                ContainerKind::Container,
                "kube-system/dns.v9",
            ),
        ] {
            let identity = from_name(&name);
            assert_eq!(identity.kind, kind, "{name}");
            assert_eq!(pod_of(&identity), pod, "{name}");
            assert_eq!(identity.uid, PodUid::parse(UID), "{name}");
        }
    }

    #[test]
    fn other_names_are_not_the_kubelets() {
        for name in [
            "",
            "kubelet",
            "etcd",
            "k8s_",
            "k8s_POD",
            "k8s_POD_web_default",
            "k8s______",
            "k8s_a_b_c_d_e_f_g",
            "my_k8s_POD_web_default_uid_0",
            "ä_k8s",
            "k8s_POD_web__uid_0",
        ] {
            assert_eq!(from_name(name), Identity::NONE, "{name}");
        }
    }

    #[test]
    fn a_static_pods_uid_is_read_and_an_odd_one_costs_nothing_else() {
        let md5 = "de17858b93b5459e01e9992c835cd6a8";
        assert_eq!(
            from_name(&format!("k8s_POD_etcd-n1_kube-system_{md5}_3")).uid,
            PodUid::parse(md5)
        );
        let odd = from_name("k8s_POD_web_default_not-a-uid_0");
        assert_eq!(
            (odd.uid.clone(), pod_of(&odd)),
            (None, "default/web".to_owned())
        );
    }

    #[test]
    fn labels_win_over_the_name() {
        let sandbox = "b15929dfcea1".repeat(6)[..64].to_owned();
        let identity = identify(
            "renamed",
            &labels(&[
                ("io.kubernetes.docker.type", "container"),
                ("io.kubernetes.pod.name", "web-2"),
                ("io.kubernetes.pod.namespace", "default"),
                ("io.kubernetes.pod.uid", UID),
                ("io.kubernetes.container.name", "app"),
                ("io.kubernetes.sandbox.id", &sandbox),
            ]),
        );
        assert_eq!(identity.kind, ContainerKind::Container);
        assert_eq!(pod_of(&identity), "default/web-2");
        assert_eq!(identity.uid, PodUid::parse(UID));
        assert_eq!(identity.sandbox, ContainerId::parse(&sandbox));
    }

    #[test]
    fn what_labels_leave_out_the_name_fills_in() {
        let name = format!("k8s_POD_web-2_default_{UID}_0");
        let identity = identify(&name, &labels(&[("io.kubernetes.pod.name", "web-2")]));
        assert_eq!(identity.kind, ContainerKind::Sandbox);
        assert_eq!(pod_of(&identity), "default/web-2");
    }

    #[test]
    fn labels_without_a_type_tell_the_sandbox_by_its_container_name() {
        let of = |container: &str| {
            identify(
                "x",
                &labels(&[
                    ("io.kubernetes.pod.name", "web-2"),
                    ("io.kubernetes.pod.namespace", "default"),
                    ("io.kubernetes.container.name", container),
                ]),
            )
        };
        assert_eq!(of("POD").kind, ContainerKind::Sandbox);
        assert_eq!(of("app").kind, ContainerKind::Container);
    }

    #[test]
    fn somebody_elses_labels_make_no_pod() {
        let identity = identify(
            "etcd",
            &labels(&[
                ("maintainer", "x"),
                ("io.rancher.rke.container.name", "etcd"),
            ]),
        );
        assert_eq!(identity, Identity::NONE);
    }
}
