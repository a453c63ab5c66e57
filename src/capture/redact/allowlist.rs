//! Words that are never replaced, though something may be called like one.

/// Whether it is a name that everybody has, or a word of the daemons, their files and their messages: it identifies
/// nothing, and rules depend on it.
pub(super) fn is_allowed(name: &str) -> bool {
    ALLOWED.split_whitespace().any(|word| word == name)
}

const ALLOWED: &str = "
POD pod pods k8s pause default kube-system kube-public kube-node-lease kubelet docker dockerd containerd
containerd-shim containerd-shim-runc-v2 moby runc crun init hyperkube kubenswrapper container containers sandbox
localhost node ns image server log logs json json-file local syslog journald fluentd gelf gcplogs awslogs splunk
logentries mode non-blocking name id state status error created running paused restarting removing exited dead
start stop kill exec delete create true false null none host proc sys dev etc var run usr bin lib opt tmp mnt
volumes plugins overlay overlay2 nfs systemd kernel cgroup unix http https cni network PLEG pleg volume err msg
ts caller stream stdout stderr time root live_restore file told lives versions index ping version info debug
pprof goroutine metrics healthz syncloop merged diff work shm mounts data task kubepods besteffort burstable
system.slice kubepods.slice docker.io index.docker.io registry-1.docker.io docs.docker.com gcr.io k8s.gcr.io
registry.k8s.io quay.io github.com
";
