use super::*;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn minutes(minutes: u64) -> Option<Duration> {
    Some(Duration::from_secs(60 * minutes))
}

/// As kubeadm 1.22 writes it, shortened.
const KUBEADM: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
cpuManagerReconcilePeriod: 0s
featureGates:
  EventedPLEG: true
  NodeSwap: false
kind: KubeletConfiguration
maxPods: 250
runtimeRequestTimeout: 15m0s
staticPodURLHeader:
  Authorization:
  - Bearer top-secret
";

#[test]
fn a_command_line_with_both_forms_of_flags_is_read() {
    let settings = Settings::of_words(&words(
        "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml --runtime-request-timeout 15m --max-pods=58 --maximum-dead-containers=-1 --maximum-dead-containers-per-container=1 --minimum-container-ttl-duration=0s --cgroup-driver=systemd --feature-gates=A=true,EventedPLEG=true --container-runtime=remote --container-runtime-endpoint=unix:///run/containerd/containerd.sock --root-dir=/data/kubelet",
    ));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        settings,
        Settings {
            file: text("/var/lib/kubelet/config.yaml"),
            runtime_request_timeout: minutes(15),
            max_pods: Some(58),
            dead_containers: Some(-1),
            dead_per_container: Some(1),
            dead_minimum_age: Some(Duration::ZERO),
            cgroup_driver: text("systemd"),
            evented_pleg: Some(true),
            container_runtime: text("remote"),
            runtime_endpoint: text("unix:///run/containerd/containerd.sock"),
            root_dir: text("/data/kubelet"),
        }
    );
}

#[test]
fn what_is_not_set_is_not_known_and_the_last_flag_counts() {
    let settings = Settings::of_words(&words("kubelet --kubeconfig=/x --config= --max-pods=many"));
    assert_eq!(settings, Settings::default());
    let twice = Settings::of_words(&words("kubelet --max-pods=9 --max-pods 10"));
    assert_eq!(twice.max_pods, Some(10));
    // Nor is a flag another one's beginning.
    let longer = Settings::of_words(&words("kubelet --config-dir=/x --max-pods-per-core=3"));
    assert_eq!(longer, Settings::default());
    assert!(Settings::has_more_files(&words("kubelet --config-dir=/x")));
}

#[test]
fn a_file_is_read_and_a_flag_beats_it() {
    let read = file(KUBEADM).unwrap();
    let settings = Settings::default().with_file(&read);
    assert_eq!(settings.runtime_request_timeout, minutes(15));
    assert_eq!(settings.max_pods, Some(250));
    assert_eq!(settings.cgroup_driver.as_deref(), Some("systemd"));
    assert_eq!(settings.evented_pleg, Some(true));
    let flags = Settings::of_words(&words(
        "kubelet --max-pods=58 --feature-gates=EventedPLEG=false",
    ));
    let both = flags.with_file(&read);
    assert_eq!((both.max_pods, both.evented_pleg), (Some(58), Some(false)));
    assert_eq!(Settings::read(&both.written()), Some(both.clone()));
    assert_eq!(both.runtime_request_timeout, minutes(15));
}

#[test]
fn json_is_read_like_yaml() {
    let json = r#"{
	"kind": "KubeletConfiguration",
	"maxPods": 110,
	"featureGates": {"EventedPLEG": false},
	"runtimeRequestTimeout": "4m",
	"evictionHard": {"maxPods": 7}
}"#;
    let settings = Settings::default().with_file(&file(json).unwrap());
    assert_eq!(
        (settings.max_pods, settings.evented_pleg),
        (Some(110), Some(false))
    );
    assert_eq!(settings.runtime_request_timeout, minutes(4));
}

#[test]
fn nothing_else_of_a_file_is_kept() {
    let kept = format!("{:?}", file(KUBEADM).unwrap());
    assert!(!kept.contains("secret"), "{kept}");
    assert!(!kept.contains("10.96"), "{kept}");
    assert_eq!(file(KUBEADM).unwrap().len(), 4);
}

#[test]
fn empty_and_zero_set_nothing() {
    let text = "maxPods: 0\ncgroupDriver: \"\"\nruntimeRequestTimeout: 0s\ncontainerRuntimeEndpoint: null\n";
    let settings = Settings::default().with_file(&file(text).unwrap());
    assert_eq!(settings, Settings::default());
    assert_eq!(file(""), Some(BTreeMap::new()));
}

#[test]
fn odd_files_are_refused_or_say_nothing() {
    assert_eq!(file("maxPods: [1"), None);
    assert_eq!(file("\u{0}"), None);
    assert_eq!(file(&"[".repeat(1000)), None);
    for text in [
        "- maxPods: 3",
        "? {maxPods: 4}\n: 5",
        "a: {maxPods: 3}",
        "? [a]\n: {maxPods: 5}",
        "maxPods",
    ] {
        let read = file(text).unwrap_or_default();
        assert_eq!(read.get("maxPods"), None, "{text}");
    }
    // Names for values grow to nothing: none is followed.
    let laughs = "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\nmaxPods: 7\n";
    assert_eq!(file(laughs).unwrap()["maxPods"], "7");
    // A key that is no text, and what comes after it.
    assert_eq!(file("? [a]\n: b\nmaxPods: 8\n").unwrap()["maxPods"], "8");
}
