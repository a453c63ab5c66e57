//! The words of enums in JSON.

use crate::explain::Sort;
use crate::finding::outcome::Asked;
use crate::finding::{Confidence, Risk, Severity, SubjectKind};
use crate::kubelet::event::{ErrorClass, Weight};
use crate::kubelet::incident::Shape;
use crate::node::{KernelKind, Role};
use crate::report::{MomentKind, Verdict};
use crate::runtime::ContainerKind;
use crate::runtime::calls::Ending;
use crate::runtime::on_disk::Liveness;
use crate::runtime::stacks::Verb;
use crate::syntax::json::json_words;
use crate::syntax::klog;

json_words!(Verdict { Healthy => "healthy", Recovered => "recovered", Problem => "problem", Unknown => "unknown" });
json_words!(Severity { Critical => "critical", Warning => "warning", Info => "info" });
json_words!(Confidence { Confirmed => "confirmed", Suspected => "suspected" });
json_words!(Risk { Safe => "safe", Disruptive => "disruptive", Node => "node" });
json_words!(Asked { User => "user", Option => "option", Nobody => "nobody" });
json_words!(SubjectKind {
    Sandbox => "sandbox", Container => "container", Pod => "pod", Daemon => "daemon", Process => "process",
    Mount => "mount", Disk => "disk", Node => "node",
});
json_words!(Shape { Growing => "growing", Sawtooth => "sawtooth", Single => "single" });
json_words!(MomentKind {
    OutOfMemory => "out_of_memory", ExecTimeout => "exec_timeout", HungTask => "hung_task",
    ServerSilent => "server_silent", ServerAnswers => "server_answers", NetdeviceHeld => "netdevice_held",
    DiskError => "disk_error", DaemonEnd => "daemon_end", Refused => "refused", TooLarge => "too_large",
    DaemonStart => "daemon_start", KubeletStart => "kubelet_start", LastRelist => "last_relist", Timeout => "timeout",
    Stale => "stale", NotReady => "not_ready", Recovered => "recovered",
});
json_words!(Ending { Well => "well", Trouble => "trouble", Unasked => "unasked" });
json_words!(ContainerKind { Sandbox => "sandbox", Container => "container", Other => "other" });
json_words!(Liveness { Unknown => "unknown", There => "there", Gone => "gone" });
json_words!(Verb {
    Start => "start", Stop => "stop", Kill => "kill", Restart => "restart", Remove => "remove", Exec => "exec",
    Inspect => "inspect", Exit => "exit", Pause => "pause", Unpause => "unpause", Update => "update", Copy => "copy",
    Rename => "rename", Create => "create", Connect => "connect", LogCopy => "log_copy", Logs => "logs",
    List => "list", Info => "info", Version => "version",
});
json_words!(Role {
    Dockerd => "dockerd", Containerd => "containerd", Kubelet => "kubelet", Shim => "shim",
    OciRuntime => "oci_runtime", CniPlugin => "cni_plugin", Iptables => "iptables", Other => "other",
});
json_words!(KernelKind {
    HungTask => "hung_task", SilentServer => "silent_server", OutOfMemory => "out_of_memory",
    ContainerLimit => "container_limit", NetDevice => "net_device", DiskError => "disk_error",
});
json_words!(Weight {
    Decisive => "decisive", Strong => "strong", Moderate => "moderate", Weak => "weak", Context => "context",
});
json_words!(klog::Severity { Info => "info", Warning => "warning", Error => "error", Fatal => "fatal" });
json_words!(ErrorClass {
    TooLarge => "too_large", NotFound => "not_found", Unavailable => "unavailable", Busy => "busy",
    NameReserved => "name_reserved", NoResources => "no_resources", Deadline => "deadline", Canceled => "canceled",
    Other => "other",
});
json_words!(Sort { Finding => "finding", Message => "message" });
