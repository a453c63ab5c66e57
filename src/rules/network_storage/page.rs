//! What there is to know about it.

use crate::syntax::page::{Cure, Look, Page};

pub(super) const PAGE: Page = Page {
    means: "A thread of the runtime, or of a workload, sleeps in the kernel until the server of a file system answers: \
        NFS, CIFS, Ceph, FUSE. Such a sleep has no deadline. A start that mounts a volume, a stop that waits for a \
        process that cannot be killed, a stat of a path there: all of them wait with it.",
    matters: "The runtime holds that container's lock meanwhile, so its status does not come and the relist waits: the lag \
        of `hung-container`, with this as its reason. Where no OCI runtime process exists and dockerd itself sleeps in \
        the kernel, a volume is the usual reason. Only pods with that mount are struck, unless the runtime sleeps with a \
        lock that all need.",
    confirm: &[
        Look {
            what: "Who sleeps in state D, and in which function of the kernel (`nfs_…`, `rpc_…`, `request_wait_answer`)",
            command: "ps -eLo pid,tid,stat,wchan:32,etime,comm | awk '$3 ~ /D/'",
        },
        Look {
            what: "What the kernel says of servers",
            command: "dmesg -T | grep -iE 'not responding|blocked for more than' | tail",
        },
        Look {
            what: "Which such mounts there are (do not ask with df, ls or stat: they would hang, too)",
            command: "grep -E ' - (nfs4?|cifs|smb3|ceph|fuse[^ ]*) ' /proc/self/mountinfo",
        },
    ],
    remedies: &[
        Cure {
            what: "Bring the server back: all goes on by itself",
            command: "",
            cost: "none for the node",
        },
        Cure {
            what: "Give a FUSE server up: all who wait get an error",
            command: "echo 1 > /sys/fs/fuse/connections/NUMBER/abort",
            cost: "the pods that use it lose the mount until it is mounted again",
        },
        Cure {
            what: "Detach the mount of the dead server, by force",
            command: "umount -f -l PATH",
            cost: "the pods that use it lose the mount; data not yet written is lost. Who sleeps on a hard NFS mount may \
                sleep on",
        },
        Cure {
            what: "Mount such volumes so that they give up (soft), or read-only, or not on every node",
            command: "",
            cost: "soft mounts return errors to programs that do not expect any",
        },
    ],
    versions: "All.",
    unproved: "Which of several mounts a sleeping thread waits for is not told by the kernel: a server is accused only \
        where no other is mounted, or where Docker's files point to it. And a short sleep is ordinary: only who was seen \
        in the same one for a second counts. Storage add-ons were blamed in public and cleared later (kubernetes#45419). \
        From the log alone, where the kernel calls a server silent before calls time out, it is suspected at most.",
    see: &[
        "hung-container",
        "disk-saturated",
        "start-container-failed",
        "stop-container-failed",
    ],
    sources: &[
        "linux:net/sunrpc/clnt.c",
        "kubernetes#45419",
        "run: kubelet 1.20.2, Docker 20.10.24",
    ],
};
