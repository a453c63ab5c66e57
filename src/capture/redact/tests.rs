//! The same name is replaced by the same one in every part, and nothing that is judged by is.

use super::{
    super::manifest::{LogFile, Manifest},
    *,
};

const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";

fn redacted(log: &str, files: &[(&str, &str)]) -> (String, BTreeMap<String, String>, Manifest) {
    let mut packed = Packed::default();
    packed.push(log.as_bytes());
    let mut kept = Recording {
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

#[test]
fn names_that_only_metrics_command_lines_settings_or_the_kernel_tell_are_replaced_too() {
    let metrics = "# HELP x of claims-db\n\
        kubelet_volume_stats_used_bytes{namespace=\"bank\",persistentvolumeclaim=\"claims-db\"} 1\n\
        kubelet_node_name{node=\"edge-17\"} 1\n\
        container_x{id=\"/k\",name=\"k8s_app_pay-1_vault_9b0e_0\",image=\"registry.corp:5000/bank/pay:1.2\"} 2\n\
        kubelet_runtime_operations_total{operation_type=\"container_status\"} 3\n";
    let (log, files, _) = redacted(
        "x pull of registry.corp:5000/bank/pay@sha256:00 by ns=bank; edge-17\n",
        &[
            ("kubelet/metrics", metrics),
            (
                "kubelet/index",
                "metrics\tanswered\t200\t1.0\tmetrics\thttp://edge-17.corp:10255/metrics\tnamed\n",
            ),
            (
                "host/proc/9/cmdline",
                "/usr/bin/kubelet\0--hostname-override\0edge-18\0--pod-infra-container-image=mirror.corp/pause:3.1\0",
            ),
            (
                "host/proc/8/cmdline",
                "/usr/bin/dockerd\0--insecure-registry=lab.corp:5000\0-H\0tcp://bastion.corp:2375\0",
            ),
            (
                "host/dev/kmsg",
                "4,1,1,-;nfs: server filer7.corp not responding, still trying\n",
            ),
            (
                "docker/info.json",
                r#"{"Name":"edge-17","HttpProxy":"http://proxy.corp:3128","NoProxy":"one.corp,.two.corp","RegistryConfig":{"IndexConfigs":{"hub.corp:5000":{"Name":"hub.corp:5000","Mirrors":["https://mirror2.corp/"]}}}}"#,
            ),
            (
                "docker/inspect-1.json",
                r#"{"HostConfig":{"ExtraHosts":["db.corp:10.1.1.1"],"RestartPolicy":{"Name":"no"}},"Mounts":[{"Name":"claims-old","Source":"/var/lib/docker/volumes/claims-old/_data"}]}"#,
            ),
        ],
    );
    let all = format!("{log}{files:?}");
    for name in [
        "bank", "claims-", "edge-", "pay-1", "vault", "corp", "filer7", "pay:", "/pay",
    ] {
        assert!(!all.contains(name), "{name}: {all}");
    }
    // One claim, one name.
    let kept = &files["kubelet/metrics"];
    assert!(kept.contains("of anon-volume-2\n"), "{kept}");
    assert!(
        kept.contains("operation_type=\"container_status\""),
        "{kept}"
    );
    let inspect = &files["docker/inspect-1.json"];
    assert!(inspect.contains(r#"{"Name":"no"}"#), "{inspect}");
}

#[test]
fn metrics_and_functions_stay_what_they_are_whatever_a_container_is_called() {
    let log =
        format!("k8s_runtime_le_wait_{UID}_0 x containerName=\"list\" containerName=\"relist\"\n");
    let metrics = "kubelet_pleg_relist_duration_seconds_bucket{le=\"0.5\"} 7\n\
        kubelet_runtime_operations_total{operation_type=\"list_podsandbox\",pod=\"le\"} 3\n";
    let (_, files, _) = redacted(
        &log,
        &[
            ("kubelet/metrics", metrics),
            ("host/proc/7/wchan", "rpc_wait_bit_killable"),
            ("host/proc/7/stack", "[<0>] rpc_wait_bit_killable+0x0/0x1\n"),
        ],
    );
    let pod = files["kubelet/metrics"].split("pod=").nth(1).unwrap();
    assert!(pod.starts_with("\"anon-pod-1\""), "{pod}");
    assert_eq!(
        files["kubelet/metrics"].replace("anon-pod-1", "le"),
        metrics
    );
    assert_eq!(files["host/proc/7/wchan"], "rpc_wait_bit_killable");
    assert!(files["host/proc/7/stack"].contains("rpc_wait_bit_killable+"));
}

#[test]
fn what_stands_behind_an_escaped_end_of_a_line_is_found() {
    let log = "x \"pod\" pod=\"bank/pay-1\" err=\"no:\\npay-1\\n10.1.2.3\\tbank/pay-1 \\n::1\"\n";
    let (after, ..) = redacted(log, &[]);
    let [pod, namespace] = ["anon-pod-1", "anon-ns-1"];
    assert_eq!(
        after,
        format!(
            "x \"pod\" pod=\"{namespace}/{pod}\" err=\"no:\\n{pod}\\n198.18.0.1\\t{namespace}/{pod} \\n::1\"\n"
        )
    );
}

#[test]
fn what_looks_like_a_secret_in_a_log_is_masked_and_what_only_speaks_of_one_stays() {
    let log = "get https://joe:hunter2@x.example/v2: Authorization: Bearer hunter2.hunter2 token=hunter2 {\"password\": \"hunter2\"} PASSWD:hunter2\n\
        secret \"default-token-x7\" not found --authentication-token-webhook=true tokens expired: unauthorized\n";
    let (after, ..) = redacted(log, &[]);
    assert!(
        !after.contains("hunter2") && !after.contains("joe"),
        "{after}"
    );
    let (_, second) = after.split_once('\n').unwrap();
    assert_eq!(second, log.split_once('\n').unwrap().1);
}
