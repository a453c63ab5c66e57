//! Sources as they are cited (`kubernetes#45419`), and where they are to be read.

/// Projects, as they are cited, and where GitHub has them.
const PROJECTS: &[(&str, &str)] = &[
    ("kubernetes", "kubernetes/kubernetes"),
    ("moby", "moby/moby"),
    ("containerd", "containerd/containerd"),
    ("cri", "containerd/cri"),
    ("cri-o", "cri-o/cri-o"),
    ("runc", "opencontainers/runc"),
    ("rancher", "rancher/rancher"),
    ("eks-ami", "awslabs/amazon-eks-ami"),
    ("kubespray", "kubernetes-sigs/kubespray"),
    ("talos", "siderolabs/talos"),
    ("minikube", "kubernetes/minikube"),
    (
        "prometheus-operator",
        "prometheus-operator/prometheus-operator",
    ),
];

/// Returns the address of an issue or a pull request; `None` for what is no such (a file of a source, a run).
pub(super) fn address(source: &str) -> Option<String> {
    let (project, number) = source.split_once('#')?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let (_, place) = PROJECTS.iter().find(|(name, _)| *name == project)?;
    // GitHub sends those who ask for a pull request by its number as an issue on to it.
    is_number.then(|| format!("https://github.com/{place}/issues/{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_has_an_address_and_a_file_has_none() {
        let told = address("runc#2530");
        assert_eq!(
            told.as_deref(),
            Some("https://github.com/opencontainers/runc/issues/2530")
        );
        for source in [
            "moby:daemon/delete.go",
            "run: Docker 20.10.24",
            "runc#x",
            "runc#",
            "nobody#1",
        ] {
            assert_eq!(address(source), None, "{source}");
        }
    }
}
