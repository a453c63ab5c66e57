//! What a process is to a container runtime, told by who called it and how, not by its name alone: a node's OCI
//! runtime may be a wrapper with any name.

use super::Process;
use crate::syntax::{id::ContainerId, json::json_words};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Dockerd,
    Containerd,
    Kubelet,
    /// What keeps a container for containerd (or for an old Docker).
    Shim,
    OciRuntime(OciCommand),
    CniPlugin,
    Iptables,
    Other,
}

impl Role {
    pub fn is_daemon(self) -> bool {
        matches!(self, Self::Dockerd | Self::Containerd | Self::Kubelet)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OciCommand {
    Create,
    Start,
    Kill,
    Delete,
    Exec,
    /// `state`, `ps`, `pause`, `resume`, `update`, …
    Other,
    /// The runtime's second half within the container, which becomes the container's own process.
    Init,
}

json_words!(OciCommand, word {
    Create => "create", Start => "start", Kill => "kill", Delete => "delete", Exec => "exec", Other => "call",
    Init => "init",
});

/// The OCI runtime's commands as shims call them (containerd/go-runc runc.go). `events` runs for as long as someone
/// watches, `run` for the container's life: no shim calls them, and neither would be a hang.
const COMMANDS: &[(&str, OciCommand)] = &[
    ("create", OciCommand::Create),
    ("start", OciCommand::Start),
    ("kill", OciCommand::Kill),
    ("delete", OciCommand::Delete),
    ("exec", OciCommand::Exec),
    ("state", OciCommand::Other),
    ("ps", OciCommand::Other),
    ("pause", OciCommand::Other),
    ("resume", OciCommand::Other),
    ("update", OciCommand::Other),
];
const CNI_FOLDERS: &[&str] = &["/cni/bin/", "/lib/cni/", "/libexec/cni/", "/lib64/cni/"];

/// iptables' programs that take its lock, as the kernel cuts their names: 15 bytes. Those by nftables take none.
const IPTABLES: &[&str] = &[
    "iptables",
    "ip6tables",
    "iptables-restor",
    "ip6tables-resto",
    "iptables-legacy",
    "ip6tables-legac",
    "xtables-multi",
    "xtables-legacy-",
];

pub fn is_iptables(comm: &str) -> bool {
    IPTABLES.contains(&comm)
}

/// Whether a process's words are worth reading: a daemon's, or what one of them called. `parent` is the parent's role.
/// The rest are workloads, whose words are nobody's business.
pub fn is_worth_asking(comm: &str, parent: Role) -> bool {
    const NAMES: &[&str] = &[
        "dockerd",
        "docker-containe",
        "containerd",
        "kubelet",
        "hyperkube",
    ];
    // runc calls its second half `runc:[2:INIT]`.
    NAMES.iter().any(|name| comm.starts_with(name))
        || comm.starts_with("runc:[")
        || parent != Role::Other
}

pub fn by_name(comm: &str, parent: Role) -> Role {
    match comm {
        "dockerd" | "dockerd-current" => Role::Dockerd,
        "containerd" => Role::Containerd,
        "kubelet" => Role::Kubelet,
        _ if comm.starts_with("containerd-shim") => Role::Shim,
        _ if comm.starts_with("runc:[") => Role::OciRuntime(OciCommand::Init),
        "runc" | "crun" if is_caller(parent) => Role::OciRuntime(OciCommand::Other),
        _ => Role::Other,
    }
}

/// What a process is, from its name, its words and its parent's role, and the container that its words name.
pub fn by_words(comm: &str, words: &[String], parent: Role) -> (Role, Option<ContainerId>) {
    let program = words.first().map_or(comm, |path| base(path));
    if comm.starts_with("runc:[") {
        return (Role::OciRuntime(OciCommand::Init), None);
    }
    match program {
        "dockerd" | "dockerd-current" | "docker-daemon" => return (Role::Dockerd, None),
        "containerd" | "docker-containerd" | "docker-containerd-current" => {
            return (Role::Containerd, None);
        }
        "kubelet" => return (Role::Kubelet, None),
        "hyperkube" if words.iter().any(|word| word == "kubelet") => return (Role::Kubelet, None),
        _ if program.starts_with("containerd-shim")
            || program.starts_with("docker-containerd-shim") =>
        {
            return (Role::Shim, shim_container(words));
        }
        _ => {}
    }
    if is_caller(parent)
        && let Some((command, id)) = oci_call(words)
    {
        return (Role::OciRuntime(command), Some(id));
    }
    if matches!(parent, Role::OciRuntime(_)) && words.len() == 2 && words[1] == "init" {
        return (Role::OciRuntime(OciCommand::Init), None);
    }
    let plugin = |word: &String| CNI_FOLDERS.iter().any(|folder| word.contains(folder));
    if matches!(parent, Role::Kubelet | Role::Containerd | Role::CniPlugin)
        && words.iter().take(2).any(plugin)
    {
        return (Role::CniPlugin, None);
    }
    (Role::Other, None)
}

/// Whether that role calls OCI runtimes; a wrapper, itself called as one, calls the real one.
fn is_caller(parent: Role) -> bool {
    matches!(
        parent,
        Role::Shim | Role::Containerd | Role::Dockerd | Role::OciRuntime(_)
    )
}

/// The command and container of a call to an OCI runtime: `… --root DIR --log FILE … kill … <id> 9`. A call names its
/// container in full; what does not is a workload with options of the same names.
fn oci_call(words: &[String]) -> Option<(OciCommand, ContainerId)> {
    let options = words.iter().position(|word| {
        ["--root", "--log", "--systemd-cgroup"]
            .iter()
            .any(|option| {
                word == option
                    || word
                        .strip_prefix(option)
                        .is_some_and(|rest| rest.starts_with('='))
            })
    })?;
    let rest = &words[options..];
    let (at, command) = rest.iter().enumerate().find_map(|(at, word)| {
        let known = COMMANDS.iter().find(|(name, _)| name == word)?;
        // Not an option's value that is spelled like a command.
        (at == 0 || !takes_value(&rest[at - 1])).then_some((at, known.1))
    })?;
    let id = rest[at + 1..].iter().find_map(|word| whole(word));
    let id = id.or_else(|| {
        let bundle = rest.iter().position(|word| word == "--bundle")?;
        whole(base(rest.get(bundle + 1)?))
    })?;
    Some((command, id))
}

/// The one container that the OCI runtimes called by this process may work on, if it keeps a single one: a shim of
/// Docker's. (containerd's shims for the kubelet keep a whole pod.)
pub fn only_container(caller: &Process) -> Option<&ContainerId> {
    let mut words = caller.command.iter().flatten();
    let docker = |word: &String| word == "moby" || word.contains("/moby/") || word == "docker-runc";
    let id = caller.container.as_ref()?;
    (caller.role == Role::Shim && words.any(docker)).then_some(id)
}

/// Whether a process that looks like an OCI runtime's is a workload, by the containers that its own cgroup and its
/// caller's name: a runtime runs in the cgroup of the one that called it; only its `init` moves.
pub fn is_workload(role: Role, own: Option<&ContainerId>, callers: Option<&ContainerId>) -> bool {
    let command = matches!(role, Role::OciRuntime(command) if command != OciCommand::Init);
    command && own.is_some() && own != callers
}

/// Whether such a process's words may be kept: a runtime's `init` has but two, and one that calls itself that may be
/// anybody.
pub fn may_keep_words(role: Role, words: &[String]) -> bool {
    role != Role::OciRuntime(OciCommand::Init) || matches!(words, [_, word] if word == "init")
}

fn takes_value(word: &str) -> bool {
    ["--root", "--log", "--log-format", "--rootless", "--criu"].contains(&word)
}

/// The container that a shim keeps: `-id ID` (containerd 1.2 and later), `-workdir …/ID` (its first shims), or the
/// first word (docker-containerd-shim).
fn shim_container(words: &[String]) -> Option<ContainerId> {
    let value = |names: &[&str]| {
        let at = words
            .iter()
            .position(|word| names.contains(&word.as_str()))?;
        words.get(at + 1)
    };
    value(&["-id", "--id"])
        .and_then(|id| whole(id))
        .or_else(|| value(&["-workdir", "--workdir"]).and_then(|folder| whole(base(folder))))
        .or_else(|| words.get(1).and_then(|id| whole(id)))
}

fn whole(text: &str) -> Option<ContainerId> {
    ContainerId::parse(text).filter(ContainerId::is_whole)
}

fn base(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}
