//! Pages of what the kernel and systemd log themselves, in a log of all programs.

use crate::syntax::page::{Cure, Look, Page};

const KERNEL: &str = "All. In a syslog, or a journal that was not read of one unit alone (`journalctl -u` leaves the kernel out).";

pub(super) const OUT_OF_MEMORY: Page = Page {
    means: "The machine as a whole ran out of memory, and the kernel killed the process that the line names. A container \
        that ran into its own limit (`Memory cgroup out of memory`) is not told so.",
    matters: "Where it names dockerd, containerd or crio, the next call of the kubelet is refused; where it names a shim, a \
        container is left to nobody. Whatever was not killed waits for memory and answers late.",
    confirm: &[Look {
        what: "Whom the kernel killed, and when",
        command: "dmesg -T | grep -iE 'out of memory|oom-kill' | tail",
    }],
    remedies: &[Cure {
        what: "Give pods without limits some, and keep memory back for the daemons (`--system-reserved`, \
            `--kube-reserved`)",
        command: "",
        cost: "the kubelet restarts for the latter; less fits on the node",
    }],
    versions: KERNEL,
    unproved: "That it is the cause of a trouble that follows, where it names no daemon: only that it came first.",
    see: &["memory-starved", "runtime-down", "system-oom"],
    sources: &["linux:mm/oom_kill.c"],
};

pub(super) const HUNG_TASK: Page = Page {
    means: "A task has slept in the kernel for minutes (state D), where no signal reaches it, not even SIGKILL.",
    matters: "It waits for a disk, a file system's server, or a lock of the kernel. A daemon that the line names answers \
        nobody meanwhile, and a container whose process it is cannot be ended.",
    confirm: &[
        Look {
            what: "Which tasks wait now, and where",
            command: "ps -eLo pid,tid,stat,wchan:32,etime,comm | awk '$3 ~ /D/'",
        },
        Look {
            what: "The stack that the kernel printed with it",
            command: "dmesg -T | grep -A30 'blocked for more than' | tail -n 60",
        },
    ],
    remedies: &[],
    versions: "All with CONFIG_DETECT_HUNG_TASK; after ten such lines the kernel says no more \
        (kernel.hung_task_warnings).",
    unproved: "What it waits for: the stack below the line tells.",
    see: &["network-storage", "disk-saturated", "hung-container"],
    sources: &["linux:kernel/hung_task.c"],
};

pub(super) const SERVER_SILENT: Page = Page {
    means: "The server of a file system (NFS, CIFS) does not answer the kernel.",
    matters: "Whoever touches a file on it sleeps until it answers: a container's process that cannot be killed, a daemon \
        that mounts or unmounts, the kubelet that measures volumes. `OK` says that it answers again.",
    confirm: &[
        Look {
            what: "Whether the kernel says that it answers again",
            command: "dmesg -T | grep -E 'not responding|has not responded|server .* OK' | tail",
        },
        Look {
            what: "Whether the server can be reached",
            command: "ping -c 3 -W 2 SERVER",
        },
    ],
    remedies: &[Cure {
        what: "Bring the server, or the way to it, back: all goes on then",
        command: "",
        cost: "nothing",
    }],
    versions: KERNEL,
    unproved: "That the runtime waits for it: a volume of one workload may be all.",
    see: &["network-storage", "server-answers"],
    sources: &["linux:net/sunrpc/clnt.c", "linux:fs/smb/client"],
};

pub(super) const SERVER_ANSWERS: Page = Page {
    means: "The server of a file system (NFS) answers again: what the kernel said of its silence is over.",
    matters: "Whoever slept for it goes on. A trouble that lasts beyond it has another cause.",
    confirm: &[Look {
        what: "Whether anybody still sleeps in the kernel",
        command: "ps -eLo pid,tid,stat,wchan:32,etime,comm | awk '$3 ~ /D/'",
    }],
    remedies: &[],
    versions: KERNEL,
    unproved: "",
    see: &["server-silent", "network-storage"],
    sources: &["linux:net/sunrpc/clnt.c"],
};

pub(super) const NETDEVICE_HELD: Page = Page {
    means: "A network device is to be removed, and something in the kernel still refers to it: it says so every 10 s.",
    matters: "The kernel holds a lock meanwhile that each setup of a pod's network needs. `lo` is the device of a pod's \
        network namespace that goes.",
    confirm: &[
        Look {
            what: "Whether it still says so",
            command: "dmesg -T | grep 'unregister_netdevice' | tail -n 3",
        },
        Look {
            what: "Who waits for a network namespace to go",
            command: "ps -eLo pid,tid,stat,wchan:32,etime,comm | grep -E 'netns|copy_net_ns|rtnl'",
        },
    ],
    remedies: &[Cure {
        what: "Reboot the node, drained, where the count does not fall",
        command: "systemctl reboot",
        cost: "everything on the node ends",
    }],
    versions: "All; kernels before 4.4 and some after have leaks of such references.",
    unproved: "One or two such lines are harmless: the device goes when the last connection does.",
    see: &["run-sandbox-failed", "stop-sandbox-failed", "cni-hang"],
    sources: &["linux:net/core/dev.c", "moby#5618"],
};

pub(super) const DISK_ERROR: Page = Page {
    means: "The kernel says that a disk failed to read or to write what it was asked to.",
    matters: "Where it holds the runtime's data, its daemons wait for each retry of the kernel, or the file system goes \
        read-only.",
    confirm: &[
        Look {
            what: "What the kernel says of the disk",
            command: "dmesg -T | grep -iE 'I/O error|reset|remount' | tail",
        },
        Look {
            what: "What the disk says of itself",
            command: "smartctl -H -l error /dev/DISK",
        },
    ],
    remedies: &[Cure {
        what: "Replace the disk, or the node",
        command: "",
        cost: "a drained node",
    }],
    versions: KERNEL,
    unproved: "That it is a disk of the runtime's.",
    see: &["disk-saturated", "hung-task"],
    sources: &["linux:block/blk-core.c"],
};

pub(super) const UNIT_ENDED: Page = Page {
    means: "The kubelet, or a daemon of the runtime, ended by a signal or with an error, as systemd saw it. One that was told \
        to end is not told so.",
    matters: "`status=9/KILL` is the kernel for lack of memory, a watchdog, or somebody's kill; `6/ABRT` a Go program that \
        fell over; `1/FAILURE` an error that its own last lines name. The kubelet's next calls of the runtime are refused.",
    confirm: &[
        Look {
            what: "How often it ended, and whether it is started again",
            command: "systemctl show -p NRestarts -p Result -p ExecMainStatus -p ActiveState UNIT",
        },
        Look {
            what: "Its last words",
            command: "journalctl -u UNIT -n 100 --no-pager",
        },
        Look {
            what: "Whether the kernel killed it",
            command: "dmesg -T | grep -iE 'out of memory|oom-kill|segfault' | tail",
        },
    ],
    remedies: &[Cure {
        what: "Mend what its last words say, before it is started again",
        command: "",
        cost: "depends on them",
    }],
    versions: "All with systemd; before 231 the message begins in lower case.",
    unproved: "Why it ended.",
    see: &["runtime-down", "not-pleg", "out-of-memory"],
    sources: &["systemd:src/core/service.c"],
};
