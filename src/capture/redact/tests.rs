//! The same name is replaced by the same one in every part, and nothing that is judged by is.

use super::{
    super::manifest::{LogFile, Manifest},
    *,
};

const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";

fn redacted(log: &str, files: &[(&str, &str)]) -> (String, BTreeMap<String, String>, Manifest) {
    let mut packed = Packed::default();
    packed.push(log.as_bytes());
    let mut kept = Kept {
        manifest: Manifest {
            node: Some("worker-3.corp.example".to_owned()),
            logs: vec![LogFile {
                file: "kubelet.log".to_owned(),
                name: "/var/log/worker-3/kubelet.log".to_owned(),
                ..LogFile::default()
            }],
            ..Manifest::default()
        },
        files: files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect(),
        logs: [("kubelet.log".to_owned(), VecDeque::from([packed]))].into(),
        node: None,
    };
    kept.redact().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let log = text(unpacked(kept.logs.remove("kubelet.log").unwrap()).unwrap());
    let files = kept
        .files
        .into_iter()
        .map(|(name, bytes)| (name, text(bytes)));
    (log, files.collect(), kept.manifest)
}

#[test]
fn a_name_is_replaced_alike_in_every_form() {
    let log = format!(
        "Nov 30 03:40:00 worker-3 kubelet[7]: E1130 x.go:1] StopPodSandbox \"b1\" of pay-1_bank({UID}) failed: 10.1.2.3:443\n\
         Nov 30 03:40:00 worker-3 kubelet[7]: I1130 x.go:1] \"Killing\" pod=\"bank/pay-1\" containerName=\"app\" ip=10.1.2.3\n"
    );
    let name = format!("/k8s_app_pay-1_bank_{UID}_0");
    let inspect = format!(
        r#"{{"Id":"b1","Name":"{name}","Config":{{"Image":"registry.corp/bank/pay:1.2","Labels":
        {{"io.kubernetes.pod.name":"pay-1","io.kubernetes.pod.namespace":"bank","io.kubernetes.container.name":"app"}}}}}}"#
    );
    let mounts = "9 1 0:9 / /var/lib/kubelet/pods/x rw - nfs4 filer7.corp:/bank rw\n";
    let (log, files, manifest) = redacted(
        &log,
        &[
            ("docker/inspect-b1.json", &inspect),
            ("host/proc/1/mountinfo", mounts),
        ],
    );
    let all = format!(
        "{log}{files:?}{}",
        serde_json::to_string(&manifest).unwrap()
    );
    for name in [
        "pay-1",
        "bank",
        "worker-3",
        "registry.corp",
        "filer7",
        "10.1.2.3",
    ] {
        assert!(!all.contains(name), "{name}: {all}");
    }
    let [pod, namespace] = ["anon-pod-1", "anon-ns-1"];
    assert!(log.contains(&format!("{pod}_{namespace}({UID})")), "{log}");
    assert!(log.contains(&format!("pod=\"{namespace}/{pod}\"")), "{log}");
    assert!(
        log.contains("failed: 198.18.0.1:443\n") && log.contains("ip=198.18.0.1\n"),
        "{log}"
    );
    let inspect = &files["docker/inspect-b1.json"];
    let container = log.split("containerName=\"").nth(1).unwrap();
    let container = container.split('"').next().unwrap();
    let name = format!("k8s_{container}_{pod}_{namespace}_{UID}_0");
    assert!(inspect.contains(&name), "{inspect}");
    assert!(
        manifest.logs[0].name.contains("/anon-node-"),
        "{manifest:?}"
    );
    assert!(manifest.redacted);
}

#[test]
fn words_that_are_judged_by_stay_whatever_a_container_is_called() {
    let log = format!(
        "PLEG is not healthy: pleg was last seen active 3m1s ago; k8s_pleg_kubelet_docker_{UID}_0 the app of 127.0.0.1 20.10.24\n\
         \"x\" containerName=\"app\"\n"
    );
    let (after, ..) = redacted(&log, &[]);
    assert_eq!(after.replace("anon-container-1", "app"), log);
    assert!(after.contains(" the app of "), "{after}");
}

#[test]
fn times_and_cgroups_are_no_addresses() {
    let text = "0::/system.slice 12:34:56 254:0 fe80::1 ::1 2a00:1450::5";
    let (after, ..) = redacted(text, &[]);
    assert_eq!(
        after,
        "0::/system.slice 12:34:56 254:0 2001:db8::1 ::1 2001:db8::2"
    );
}
