//! Remedies that several findings share, in the commands of the runtime that the node has.

use super::step;
use crate::evidence::Evidence;
use crate::finding::action::{Action, Unit};
use crate::finding::plan::{Plan, Request};
use crate::finding::{Remedy, Risk};
use crate::io::probe::Outcome;
use crate::node::DEFAULT_ENDPOINT;
use crate::runtime::{Call, Runtime};
use crate::syntax::id::ContainerId;

pub(crate) use crate::evidence::runtime_stack::{RuntimeStack, is_other_than_docker, runtime_kind};
pub(crate) use crate::runtime::RuntimeKind;
use std::collections::BTreeSet;

/// Returns a remedy that plegdoctor itself does not apply.
pub(crate) fn remedy(
    title: impl Into<String>,
    risk: Risk,
    command: impl Into<String>,
    cost: &str,
) -> Remedy {
    Remedy {
        title: title.into(),
        risk,
        command: command.into(),
        cost: cost.to_owned(),
        actions: Vec::new(),
    }
}

/// Returns the remedy that keeps the daemon's stacks before anything is restarted.
pub(crate) fn save_stacks(evidence: &Evidence) -> Remedy {
    let signal = |daemon: &str| format!("kill -USR1 $(pidof {daemon})");
    let (command, place) = match runtime_kind(evidence) {
        Some(RuntimeKind::Docker) => (
            format!(
                "curl -s --max-time 10 --unix-socket {} 'http://localhost/debug/pprof/goroutine?debug=2' > dockerd-stacks.txt",
                socket(evidence)
            ),
            "",
        ),
        Some(RuntimeKind::Containerd) => (signal("containerd"), "; its log names the file"),
        Some(RuntimeKind::CriO) => (signal("crio"), "; they are in /tmp"),
        None => (
            signal("dockerd containerd crio"),
            "; each daemon's log names its file",
        ),
    };
    remedy(
        "Save the runtime's stacks before anything is restarted",
        Risk::Safe,
        command,
        &format!("nothing; shows what each goroutine is blocked on; lost on restart{place}"),
    )
}

/// Returns the look at the OCI runtime process that may hold a container, by its short id; of several, by theirs with a `|` between.
pub(crate) fn see_runtime_process(short: &str) -> Remedy {
    let listed = match short.contains('|') {
        true => format!("grep -lE '{short}'"),
        false => format!("grep -l {short}"),
    };
    remedy(
        "See which OCI runtime process holds it, and since when",
        Risk::Safe,
        format!(
            "ps -eo pid,ppid,stat,etime,wchan:24,args | grep -E '{short}|[r]unc init'; {listed} /proc/[0-9]*/cgroup"
        ),
        "nothing; `runc init` has no container ID in its arguments: match its PID against the cgroup paths printed",
    )
}

/// Returns the look that tells whose a container or sandbox is, by its short id, where neither log nor runtime did. It
/// asks the container itself nothing: it may not answer.
pub(crate) fn see_whose(evidence: &Evidence, short: &str) -> Remedy {
    let command = match runtime_kind(evidence) {
        Some(RuntimeKind::Docker) => format!(
            "{} ps -a --no-trunc --format '{{{{.ID}}}} {{{{.Names}}}}' | grep {short}",
            docker_command(evidence)
        ),
        Some(RuntimeKind::Containerd) | Some(RuntimeKind::CriO) => {
            let crictl = RuntimeStack::new(evidence).crictl();
            format!(
                "timeout 10 {crictl} pods | grep {short}; timeout 10 {crictl} ps -a | grep {short}"
            )
        }
        None => {
            let units = RuntimeStack::new(evidence).own_units().of_journal();
            format!("journalctl{units} --no-pager | grep -m 1 'PLEG.*{short}'")
        }
    };
    remedy(
        "See whose it is: no line that was read names its pod",
        Risk::Safe,
        command,
        "nothing",
    )
}

/// Returns the remedy that ends the OCI runtime process of a container, by its short id (of several as above). `runc init`,
/// which is what mostly hangs, is known by its cgroup alone. A shim's command line names the id too, and killing the shim
/// would lose the container: the pattern matches from the line's start.
pub(crate) fn end_runtime_process(short: &str) -> Remedy {
    let several = short.contains('|');
    let (named, found) = match several {
        true => (format!("({short})"), format!("grep -qE '{short}'")),
        false => (short.to_owned(), format!("grep -q {short}")),
    };
    remedy(
        match several {
            true => "Kill those OCI runtime processes",
            false => "Kill that one OCI runtime process",
        },
        Risk::Disruptive,
        format!(
            "pkill -f '^([^ ]*/)?(runc|crun) .*{named}'; for pid in $(pgrep -fx '([^ ]*/)?runc init'); do {found} /proc/$pid/cgroup && kill -9 $pid; done"
        ),
        match several {
            true => "those starts, stops or execs fail, and the kubelet tries again",
            false => "that one start, stop or exec fails, and the kubelet tries again",
        },
    )
}

/// Returns the restart of a unit, if it is this machine's usual daemon that was asked.
pub(crate) fn restart(evidence: &Evidence, unit: Unit) -> Vec<Action> {
    match named_endpoint(evidence) {
        Some(_) => Vec::new(),
        None => vec![Action::RestartUnit { unit }],
    }
}

/// Returns whether containers outlive Docker, as far as it or its files tell.
fn live_restore(runtime: Option<&Runtime>) -> Option<bool> {
    let runtime = runtime?;
    let stored = || {
        runtime
            .docker()
            .disk
            .as_ref()
            .and_then(|disk| disk.live_restore)
    };
    runtime.docker().live_restore.or_else(stored)
}

/// Returns what a restart of Docker costs, as far as Docker or its files tell.
fn cost_of_restart(runtime: Option<&Runtime>) -> String {
    match (runtime, live_restore(runtime)) {
        (Some(runtime), Some(false)) => {
            let running = match (runtime.probe(Call::List).outcome, runtime.running()) {
                (Outcome::Answered, 1) => "; 1 runs now".to_owned(),
                (Outcome::Answered, running) => format!("; {running} run now"),
                _ => String::new(),
            };
            format!("stops all containers of the node (live-restore is off{running}), and destroys the evidence")
        }
        (_, Some(true)) => "containers keep running (live-restore is on); calls in flight fail, and the evidence is destroyed".to_owned(),
        _ => "stops every container of the node unless live-restore is on, and destroys the evidence".to_owned(),
    }
}

/// Returns what a restart of containerd costs: with Docker above it more than itself, where systemd binds the two.
pub(crate) fn cost_of_containerd(evidence: &Evidence) -> String {
    let alone = "containers keep running; calls in flight fail";
    let runtime = evidence.runtime.as_ref();
    if runtime_kind(evidence) != Some(RuntimeKind::Docker) || live_restore(runtime) == Some(true) {
        return alone.to_owned();
    }
    // Docker's own packages have had BindsTo= since 18.09, and Wants= later; distributions differ.
    let all = match live_restore(runtime) {
        Some(_) => "",
        None => " unless live-restore is on",
    };
    format!(
        "{alone}; but where docker.service requires it (systemctl show -p BindsTo -p Requires docker), Docker restarts with it and stops every container of the node{all}"
    )
}

/// The restart of containerd, with Docker above it or not.
pub(crate) fn restart_containerd(evidence: &Evidence) -> Remedy {
    step::node(
        "Restart containerd",
        "systemctl restart containerd",
        cost_of_containerd(evidence),
    )
    .actions(restart(evidence, Unit::Containerd))
}

/// Returns what a restart of that unit costs.
pub(crate) fn cost_of_unit(evidence: &Evidence, unit: Unit) -> String {
    match unit {
        Unit::Docker => cost_of_restart(evidence.runtime.as_ref()),
        Unit::Containerd => cost_of_containerd(evidence),
        Unit::Kubelet => "containers keep running; the kubelet resumes".to_owned(),
    }
}

/// Returns the remedy of last resort.
pub(crate) fn restart_runtime(evidence: &Evidence) -> Remedy {
    const GO_ON: &str =
        "containers keep running; calls in flight fail, and the evidence is destroyed";
    let docker = cost_of_restart(evidence.runtime.as_ref());
    let setup = RuntimeStack::new(evidence);
    let (title, cost) = match setup.kind {
        Some(RuntimeKind::Docker) => ("Restart Docker", docker.as_str()),
        Some(RuntimeKind::Containerd) if setup.is_one() => (
            "Restart the program that runs kubelet and containerd",
            "containers keep running; the kubelet restarts, too, and on a server the API server; calls in flight fail, and the evidence is destroyed",
        ),
        Some(RuntimeKind::Containerd) => ("Restart containerd", GO_ON),
        Some(RuntimeKind::CriO) => ("Restart CRI-O", GO_ON),
        None => (
            "Restart the container runtime",
            "Docker stops every container of the node unless live-restore is on; the evidence is destroyed",
        ),
    };
    let command = match setup.kind {
        // What hangs is Docker, whatever stands before it.
        Some(RuntimeKind::Docker) => "systemctl restart docker".to_owned(),
        _ => format!("systemctl restart {}", setup.units().first()),
    };
    Remedy {
        actions: unit(evidence).map_or_else(Vec::new, |unit| restart(evidence, unit)),
        ..remedy(title, Risk::Node, command, cost)
    }
}

/// Returns the unit of the runtime that the kubelet asks, where it is known and may be restarted.
fn unit(evidence: &Evidence) -> Option<Unit> {
    let setup = RuntimeStack::new(evidence);
    match setup.kind {
        Some(RuntimeKind::Docker) => Some(Unit::Docker),
        Some(RuntimeKind::Containerd) if setup.is_plain() => Some(Unit::Containerd),
        Some(RuntimeKind::Containerd) | Some(RuntimeKind::CriO) | None => None,
    }
}

/// Returns the look at why the runtime ended.
pub(crate) fn look_why_it_ended(evidence: &Evidence) -> Remedy {
    let units = RuntimeStack::new(evidence).units();
    let (status, journals) = (units.status(), units.of_journal());
    remedy(
        "See why it ended",
        Risk::Safe,
        format!("{status}; journalctl{journals} -n 100 --no-pager"),
        "nothing",
    )
}

/// Returns the remedy that starts the runtime.
pub(crate) fn start_runtime(evidence: &Evidence) -> Remedy {
    let setup = RuntimeStack::new(evidence);
    let verb = match setup.is_one() {
        // The kubelet within it runs: only its child is gone.
        true => "restart",
        false => "start",
    };
    // moby daemon/daemon.go restore; seen with 20.10.
    let cost = match setup.kind {
        Some(RuntimeKind::Docker) if setup.lacks_cri_dockerd => {
            "little: it is not running; Docker and its containers keep running"
        }
        Some(RuntimeKind::Containerd) if setup.is_one() => {
            "containers keep running; the kubelet restarts, too, and on a server the API server"
        }
        Some(RuntimeKind::Docker) | None => {
            "Docker first ends the containers that have run on without it, unless live-restore is on; stopped ones may start again"
        }
        Some(RuntimeKind::Containerd) | Some(RuntimeKind::CriO) => {
            "little: it is not running; stopped containers may start again"
        }
    };
    Remedy {
        actions: match setup.lacks_cri_dockerd {
            true => Vec::new(),
            false => unit(evidence).map_or_else(Vec::new, |unit| restart(evidence, unit)),
        },
        ..remedy(
            "Start it",
            Risk::Node,
            format!("systemctl {verb} {}", setup.units().first()),
            cost,
        )
    }
}

/// Returns the remedies that remove the stopped containers of pods that are gone, with a look before; `None` where
/// only Docker's clean-up is known and the node has another runtime.
pub(crate) fn clean_exited(evidence: &Evidence) -> Option<Vec<Remedy>> {
    let request = Request {
        exited: true,
        ..Request::default()
    };
    let planned = |runtime: &Runtime| {
        let plan = Plan::new(&runtime.containers, &request, evidence.now);
        // What stands in Docker's files alone may be long gone.
        let told: BTreeSet<_> = runtime.told().map(|container| &container.id).collect();
        let targets = plan.targets.into_iter().map(|target| target.id);
        targets.filter(|id| told.contains(id)).collect()
    };
    clean(
        evidence,
        "exited",
        "the logs of the removed containers; running ones are not touched",
        evidence.runtime.as_ref().map(planned).unwrap_or_default(),
    )
}

/// Returns the remedies that remove dead containers; `None` as for `clean_exited`.
pub(crate) fn clean_dead(evidence: &Evidence) -> Option<Vec<Remedy>> {
    let told = evidence.runtime.iter().flat_map(Runtime::told);
    let dead = told.filter(|container| container.is_dead());
    clean(
        evidence,
        "dead",
        "the logs of the removed containers; nothing that runs",
        dead.map(|container| container.id.clone()).collect(),
    )
}

fn clean(
    evidence: &Evidence,
    kind: &str,
    cost: &str,
    ids: Vec<ContainerId>,
) -> Option<Vec<Remedy>> {
    if is_other_than_docker(evidence) {
        return None;
    }
    let option = match named_endpoint(evidence) {
        Some(endpoint) => format!(" --docker-host {endpoint}"),
        None => String::new(),
    };
    let look = format!("plegdoctor clean --{kind} --dry-run{option}");
    let act = format!("plegdoctor clean --{kind} --yes{option}");
    Some(vec![
        remedy("See what would be removed", Risk::Safe, look, "nothing"),
        Remedy {
            actions: ids
                .into_iter()
                .map(|id| Action::RemoveContainer { id })
                .collect(),
            ..remedy("Remove them", Risk::Safe, act, cost)
        },
    ])
}

/// Returns the remedy that bounds how many dead containers the kubelet keeps, with what it is set to now.
pub(crate) fn bound_dead_containers(evidence: &Evidence) -> Remedy {
    let set = evidence
        .host
        .as_ref()
        .and_then(|host| host.kubelet_settings.as_ref());
    let now = set.map_or_else(String::new, |set| {
        match (set.dead_containers, set.dead_per_container) {
            (None, None) => "; now it sets neither".to_owned(),
            (all, each) => {
                let told = |limit: Option<i64>| {
                    limit.map_or("not set".to_owned(), |limit| limit.to_string())
                };
                format!(
                    "; now they are {} and {} (-1: any number)",
                    told(all),
                    told(each)
                )
            }
        }
    });
    remedy(
        "Keep it from coming back: find what leaves so many containers, and bound them",
        Risk::Node,
        "# kubelet: --maximum-dead-containers=200 --maximum-dead-containers-per-container=1",
        &format!("the kubelet restarts with the new flags{now}"),
    )
}

/// Returns the look at how many containers a containerd has, which its CRI cannot list any more.
pub(crate) fn count_containers(evidence: &Evidence) -> Remedy {
    remedy(
        "See how many containers there are (crictl runs into the same limit)",
        Risk::Safe,
        format!(
            "{} -n k8s.io containers ls -q | wc -l",
            RuntimeStack::new(evidence).ctr()
        ),
        "nothing",
    )
}

/// Returns the remedy that stops one container or sandbox.
pub(crate) fn stop_container(evidence: &Evidence, id: &ContainerId) -> Remedy {
    let command = match runtime_kind(evidence) {
        Some(RuntimeKind::Containerd) | Some(RuntimeKind::CriO) => {
            let (crictl, id) = (RuntimeStack::new(evidence).crictl(), id.short());
            format!("{crictl} stopp {id} || {crictl} stop {id}")
        }
        Some(RuntimeKind::Docker) | None => {
            format!("{} stop {}", docker_command(evidence), id.short())
        }
    };
    remedy(
        "Stop it, and let the kubelet remove it",
        Risk::Disruptive,
        command,
        "what still runs in it ends",
    )
}

/// Returns how to call the docker command line for the daemon that was asked.
pub(crate) fn docker_command(evidence: &Evidence) -> String {
    match named_endpoint(evidence) {
        Some(endpoint) => format!("docker -H {endpoint}"),
        None => "docker".to_owned(),
    }
}

/// Returns where Docker was asked, if it is not where everybody looks.
fn named_endpoint(evidence: &Evidence) -> Option<&str> {
    let asked = evidence
        .runtime
        .as_ref()
        .map(|runtime| runtime.endpoint.as_str());
    asked.filter(|endpoint| *endpoint != DEFAULT_ENDPOINT)
}

/// Returns the socket's path, for commands.
fn socket(evidence: &Evidence) -> &str {
    let endpoint = named_endpoint(evidence).unwrap_or(DEFAULT_ENDPOINT);
    endpoint.strip_prefix("unix://").unwrap_or(endpoint)
}
