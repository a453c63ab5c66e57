//! Words that messages and errors hold, and what they mean: the short notes that people ask for when they paste a line.
//!
//! A gloss says what is in the words, not what is wrong with the node. Of a subject the first that fits is given: the
//! more exact ones stand before the more general.

/// One note.
#[derive(Debug)]
pub struct Gloss {
    /// What it is about; a text gets one note on each subject.
    pub subject: &'static str,
    /// What the text must hold, each of them.
    pub holds: &'static [&'static str],
    /// What the words mean.
    pub means: &'static str,
    /// Where that is known from, as in a page.
    pub sources: &'static [&'static str],
}

/// Notes given for one text.
const MOST: usize = 3;

/// Returns the notes on a text, at most three.
pub fn glosses(text: &str) -> Vec<&'static Gloss> {
    let mut found: Vec<&'static Gloss> = Vec::new();
    for gloss in GLOSSES {
        let fits = gloss.holds.iter().all(|words| text.contains(words));
        if fits && found.iter().all(|other| other.subject != gloss.subject) {
            found.push(gloss);
        }
    }
    found.truncate(MOST);
    found
}

/// All notes, of a subject the more exact before the more general.
pub const GLOSSES: &[Gloss] = &[
    Gloss {
        subject: "never",
        holds: &["2562047h47m16"],
        means: "2562047h47m16.854775807s is the longest duration that Go can write. Here it means never: no relist \
            has succeeded since the kubelet started.",
        sources: &["kubernetes:pkg/kubelet/pleg/generic.go"],
    },
    Gloss {
        subject: "size",
        holds: &["message larger than max ("],
        means: "gRPC refused an answer: its size in bytes, then the limit (4194304 is 4 MiB, 16777216 is 16 MiB). \
            `received` is the kubelet's limit, `trying to send` the runtime's. Trying again gives the same.",
        sources: &["kubernetes#63858", "kubernetes#63894"],
    },
    Gloss {
        subject: "deadline",
        holds: &["operation timeout: context deadline exceeded"],
        means: "Docker itself did not answer dockershim or cri-dockerd in time: the limit is the kubelet's for \
            calls to the runtime, 2 minutes unless `--runtime-request-timeout` says otherwise.",
        sources: &["kubernetes:pkg/kubelet/dockershim/libdocker/kube_docker_client.go"],
    },
    Gloss {
        subject: "deadline",
        holds: &[
            "an error occurs during waiting for container",
            "to be killed",
        ],
        means: "containerd killed the container's process and then waited in vain for its end: the process cannot be \
            killed (state D: a dead file system, the kernel), or its shim does not tell of its end.",
        sources: &["containerd#10755"],
    },
    Gloss {
        subject: "deadline",
        holds: &["failed to create shim task: context deadline exceeded"],
        means: "containerd's own limit: the shim or the OCI runtime did not make the container in time. A slow disk \
            or an overloaded host, mostly.",
        sources: &["containerd:runtime/v2"],
    },
    Gloss {
        subject: "deadline",
        holds: &["RST_STREAM with error code: CANCEL"],
        means: "As `context deadline exceeded`: the call ran into the kubelet's limit, and gRPC closed its stream.",
        sources: &["kubernetes:staging/src/k8s.io/cri-client/pkg/remote_runtime.go"],
    },
    Gloss {
        subject: "deadline",
        holds: &["code = Unknown", "context deadline exceeded"],
        means: "The runtime answered, and what it says is that something behind it (containerd, a shim, a network \
            plugin) did not answer it in time.",
        sources: &["kubernetes:staging/src/k8s.io/cri-client/pkg/remote_runtime.go"],
    },
    Gloss {
        subject: "deadline",
        holds: &["context deadline exceeded"],
        means: "DeadlineExceeded: the call ran into the kubelet's limit, 2 minutes unless `--runtime-request-timeout` \
            says otherwise (twice that to make a sandbox). The runtime had not answered by then; it may still be at it. \
            What the call is about hung before this line, by as long as the limit.",
        sources: &["kubernetes:staging/src/k8s.io/cri-client/pkg/remote_runtime.go"],
    },
    Gloss {
        subject: "deadline",
        holds: &["code = 4 desc"],
        means: "gRPC's code 4 is DeadlineExceeded: the call ran into the kubelet's limit, 2 minutes by default.",
        sources: &["kubernetes:pkg/kubelet/remote/remote_runtime.go"],
    },
    Gloss {
        subject: "reserved",
        holds: &["kubelet may be retrying requests"],
        means: "CRI-O is still busy with an earlier try to make the same container, which the kubelet has given up \
            waiting for. `Currently at stage` tells where that one is. A slow disk or an overloaded host, mostly; not a \
            conflict of names.",
        sources: &["cri-o#7010", "cri-o#8884"],
    },
    Gloss {
        subject: "reserved",
        holds: &["is reserved"],
        means: "The name is not taken by somebody else: an earlier try to make the same container or sandbox is still \
            going on in the runtime, after the kubelet gave up waiting. It is a consequence; look for what made the \
            first try slow.",
        sources: &["cri-o#7010", "cri#1014"],
    },
    Gloss {
        subject: "reserved",
        holds: &["is already in use by container"],
        means: "Docker has a container of that name already, left by a try that ended half-way; the kubelet then \
            makes one with another suffix. A consequence.",
        sources: &["kubernetes:pkg/kubelet/dockershim/helpers.go"],
    },
    Gloss {
        subject: "connection",
        holds: &["use of closed network connection"],
        means: "The kubelet wrote on a connection to the API server that was already closed. That concerns the \
            report to the API server, not PLEG: if the node is NotReady for it, its condition is Unknown \
            (`NodeStatusUnknown`), not False. It is blamed rightly in some outages and wrongly in others.",
        sources: &["kubernetes#87615", "kubernetes#103765"],
    },
    Gloss {
        subject: "unreachable",
        holds: &["Cannot connect to the Docker daemon"],
        means: "Nothing listens on Docker's socket: dockerd is not running, or not yet.",
        sources: &["moby:client/errors.go"],
    },
    Gloss {
        subject: "unreachable",
        holds: &["connect: connection refused"],
        means: "Refused: nobody listens there. On the runtime's socket that means a daemon that is not running; on \
            another address (a registry, a proxy, the API server) it has nothing to do with PLEG.",
        sources: &["kubernetes:pkg/kubelet/remote/remote_runtime.go"],
    },
    Gloss {
        subject: "unreachable",
        holds: &["unix", "connect: no such file or directory"],
        means: "The runtime's socket is not there: the daemon is not running, or listens elsewhere than the kubelet \
            looks.",
        sources: &["kubernetes:pkg/kubelet/remote/remote_runtime.go"],
    },
    Gloss {
        subject: "unreachable",
        holds: &["transport is closing"],
        means: "The connection to the runtime ended during the call: the daemon died or was restarted.",
        sources: &["kubernetes:pkg/kubelet/remote/remote_runtime.go"],
    },
    Gloss {
        subject: "unreachable",
        holds: &["error reading from server: EOF"],
        means: "The connection to the runtime ended during the call: the daemon died or was restarted.",
        sources: &["kubernetes:pkg/kubelet/remote/remote_runtime.go"],
    },
    Gloss {
        subject: "unreachable",
        holds: &["server is not initialized yet"],
        means: "containerd has just started and is not ready to serve the kubelet yet; harmless for some seconds.",
        sources: &["containerd:pkg/cri/server"],
    },
    Gloss {
        subject: "busy",
        holds: &["device or resource busy"],
        means: "Something is still mounted there, mostly in the mount namespace of another process, to which a mount \
            leaked. The removal fails until that process lets it go.",
        sources: &["moby#32461", "moby#34877"],
    },
    Gloss {
        subject: "busy",
        holds: &["removal of container", "is already in progress"],
        means: "An earlier removal of it has not ended. Where this comes again and again, that one hangs.",
        sources: &["moby:daemon/delete.go"],
    },
    Gloss {
        subject: "gone",
        holds: &["No such container"],
        means: "It is not there any more. A race with its removal: harmless, unless it goes on for hours about the \
            same id or ends the kubelet.",
        sources: &["kubernetes#72325"],
    },
    Gloss {
        subject: "gone",
        holds: &["an error occurred when try to find"],
        means: "containerd does not have it any more. A race with its removal: harmless, unless it goes on for hours \
            about the same id.",
        sources: &["containerd:pkg/cri/server"],
    },
    Gloss {
        subject: "tasks",
        holds: &["esource temporarily unavailable"],
        means: "EAGAIN at a fork: the machine, the daemon's unit or its user has as many processes and threads as it \
            may have.",
        sources: &["moby#21298"],
    },
    Gloss {
        subject: "memory",
        holds: &["cannot allocate memory"],
        means: "ENOMEM at a fork or a mapping: no memory left, or none that the limits leave.",
        sources: &["linux:kernel/fork.c"],
    },
    Gloss {
        subject: "network",
        holds: &["cni config uninitialized"],
        means: "There is no network configuration yet, in `/etc/cni/net.d` mostly: the network add-on has not written \
            it. NotReady for this is no matter of PLEG.",
        sources: &["kubernetes:pkg/kubelet/dockershim/network/cni/cni.go"],
    },
    Gloss {
        subject: "network",
        holds: &["cni plugin not initialized"],
        means: "There is no network configuration yet, in `/etc/cni/net.d` mostly: the network add-on has not written \
            it. NotReady for this is no matter of PLEG.",
        sources: &["containerd:pkg/cri/server/status.go"],
    },
    Gloss {
        subject: "daemon",
        holds: &["DockerDaemonNotReady"],
        means: "dockershim could not ask Docker for its version: dockerd, or containerd behind it, is down or hangs.",
        sources: &["kubernetes:pkg/kubelet/dockershim/docker_service.go"],
    },
    Gloss {
        subject: "version",
        holds: &["code = Unimplemented", "unknown service runtime.v1"],
        means: "Kubelet and runtime speak different versions of the CRI, or the runtime's CRI plugin is switched off. \
            Not a matter of PLEG.",
        sources: &["kubernetes#131164"],
    },
    Gloss {
        subject: "server",
        holds: &["nfs: server", "not responding"],
        means: "The kernel's word that an NFS server does not answer. Whoever touches its files sleeps and cannot be \
            killed until it does.",
        sources: &["run: Linux 6.18"],
    },
    Gloss {
        subject: "task",
        holds: &["blocked for more than", "seconds"],
        means: "The kernel's word that a task has slept in state D all that time: the disk, a file system's server or \
            the kernel itself. The name tells who: dockerd, containerd, a shim, runc, a workload.",
        sources: &["linux:kernel/hung_task.c"],
    },
    Gloss {
        subject: "lock",
        holds: &["xtables lock"],
        means: "Somebody holds the lock of iptables, and whoever sets up a network waits for it.",
        sources: &["kubernetes#48107"],
    },
    Gloss {
        subject: "stream",
        holds: &["container events stream is closed"],
        means: "A kubelet with the feature gate EventedPLEG on: the runtime ended the stream of its events, as a \
            restart of it does. It is asked for again, 5 times, then relists find out what changed (`evented-pleg`).",
        sources: &["kubernetes:pkg/kubelet/cri/remote/remote_runtime.go"],
    },
    Gloss {
        subject: "canceled",
        holds: &["code = Canceled"],
        means: "The caller gave up before the answer came: a consequence, not a cause.",
        sources: &["kubernetes:pkg/kubelet/remote/remote_runtime.go"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects(text: &str) -> Vec<&'static str> {
        glosses(text).iter().map(|gloss| gloss.subject).collect()
    }

    #[test]
    fn the_exact_note_comes_before_the_general_one() {
        let told = |text: &str| glosses(text)[0].means;
        let own = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
        let docker =
            "rpc error: code = Unknown desc = operation timeout: context deadline exceeded";
        let behind = "rpc error: code = Unknown desc = failed to stop: context deadline exceeded";
        assert!(
            told(own)
                .starts_with("DeadlineExceeded: the call ran into the kubelet's limit, 2 minutes")
        );
        assert!(told(docker).starts_with("Docker itself"));
        assert!(told(behind).starts_with("The runtime answered"));
        for text in [own, docker, behind] {
            assert_eq!(subjects(text), ["deadline"]);
        }
    }

    #[test]
    fn words_of_several_subjects_get_a_note_each() {
        let text = "failed to reserve sandbox name \"n\": name \"n\" is reserved for \"b1\"; context deadline exceeded";
        assert_eq!(subjects(text), ["deadline", "reserved"]);
        assert_eq!(subjects("all is well"), Vec::<&str>::new());
    }

    #[test]
    fn each_note_can_be_reached() {
        for gloss in GLOSSES {
            let text = gloss.holds.join(" … ");
            let found = glosses(&text);
            assert!(
                found.iter().any(|other| other.means == gloss.means),
                "{text}"
            );
        }
    }
}
