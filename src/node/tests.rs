//! The kernel's words, as real kernels and real shims write them.

use super::{
    mount::mountinfo,
    parse::{self, cgroup},
    *,
};

const ID: &str = "1fcd1df51209e8abaec1722303603dd7d9ecd65ebd6b77b0b037c0b82f51fecb";

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(|word| word.replace("ID", ID)).collect()
}

fn process(pid: u32, ppid: u32, role: Role) -> Process {
    Process {
        start_ticks: u64::from(pid),
        age: Some(Duration::from_secs(60)),
        container: ContainerId::parse(ID),
        ..Process::new((pid, ppid), "runc", role, State::Sleeping)
    }
}

#[test]
fn a_stat_is_read_whatever_its_process_calls_itself() {
    let line = "20214 (a) R (b) S 20202 20202 4783 0 -1 4194304 85 34162 0 0 2 1 42 6 20 0 1 0 490057 2654208 381";
    let stat = parse::stat(line).unwrap();
    assert_eq!((stat.pid, stat.comm.as_str()), (20214, "a) R (b"));
    assert_eq!((stat.ppid, stat.state), (20202, State::Sleeping));
    assert_eq!((stat.start_ticks, stat.kernel), (490_057, false));
    let kernel = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0";
    assert!(parse::stat(kernel).unwrap().kernel);
    for cut in 0..line.find("490057").unwrap() {
        assert_eq!(parse::stat(&line[..cut]), None, "{cut}");
    }
    assert_eq!(
        parse::stat("1 (x) ? 0 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0"),
        None
    );
}

#[test]
fn ages_come_from_ticks_of_ten_milliseconds() {
    let uptime = parse::uptime("4950.33 9000.00\n").unwrap();
    assert_eq!(parse::age(490_057, uptime), Duration::from_millis(49_760));
    assert_eq!(parse::age(u64::MAX, uptime), Duration::ZERO);
}

#[test]
fn stacks_and_wait_channels_lose_their_addresses() {
    let text =
        "[<0>] do_wait+0x53/0x120\n[<ffffffff8109b0d0>] rpc_wait_bit_killable+0x1e/0xb0 [sunrpc]\n";
    assert_eq!(parse::stack(text), ["do_wait", "rpc_wait_bit_killable"]);
    assert_eq!(parse::wchan("0"), None);
    assert_eq!(
        parse::wchan("request_wait_answer").as_deref(),
        Some("request_wait_answer")
    );
}

#[test]
fn servers_and_disks_are_told_apart_by_where_one_waits() {
    for wchan in [
        "request_wait_answer",
        "__fuse_request_send",
        "rpc_wait_bit_killable",
        "nfs4_lock",
    ] {
        assert!(
            waits_for_server(wchan) && waits_for_file_system(wchan),
            "{wchan}"
        );
    }
    for wchan in [
        "io_schedule",
        "folio_wait_bit_common",
        "jbd2_log_wait_commit",
    ] {
        assert!(
            waits_for_file_system(wchan) && !waits_for_server(wchan),
            "{wchan}"
        );
    }
    for wchan in [
        "futex_do_wait",
        "ep_poll",
        "do_wait",
        "pipe_read",
        "hrtimer_nanosleep",
    ] {
        assert!(!waits_for_file_system(wchan), "{wchan}");
    }
}

#[test]
fn pods_and_containers_are_found_in_cgroups_of_both_versions_and_drivers() {
    let uid = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";
    let systemd = uid.replace('-', "_");
    for line in [
        format!("4:memory:/kubepods/burstable/pod{uid}/{ID}"),
        format!(
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{systemd}.slice/docker-{ID}.scope"
        ),
        format!("0::/kubepods.slice/kubepods-pod{systemd}.slice/cri-containerd-{ID}.scope"),
        format!(
            "3:cpu:/system.slice/containerd.service/kubepods-besteffort-pod{systemd}.slice:cri-containerd:{ID}"
        ),
    ] {
        let (pod, container) = cgroup(&line);
        assert_eq!(container, ContainerId::parse(ID), "{line}");
        if !line.contains(".slice:") {
            assert_eq!(pod, PodUid::parse(uid), "{line}");
        }
    }
    assert_eq!(cgroup("0::/system.slice/docker.service"), (None, None));
    assert_eq!(cgroup("0::/user.slice/pod-x/abcdef"), (None, None));
}

#[test]
fn oci_runtimes_are_known_by_how_shims_call_them() {
    use OciCommand::{Create, Delete, Exec, Init, Kill, Start};
    for (parent, line, command) in [
        (
            Role::Shim,
            "runc --root /run/moby --log /x/log.json --log-format json create --bundle /x/ID --pid-file /x/init.pid ID",
            Create,
        ),
        (
            Role::Shim,
            "/bin/sh /opt/nvidia-wrapper --root /run/moby --log /x --log-format json start ID",
            Start,
        ),
        (
            Role::Shim,
            "/usr/local/sbin/runc --root /r --log /l --log-format json kill --all ID 9",
            Kill,
        ),
        (
            Role::Containerd,
            "runc --root /r --log /l --log-format json delete --force ID",
            Delete,
        ),
        (
            Role::Shim,
            "crun --root=/r --log=/l exec --process /tmp/p --detach --pid-file /x ID",
            Exec,
        ),
        (
            Role::OciRuntime(Start),
            "runc --root /run/moby --log /x start ID",
            Start,
        ),
    ] {
        let (role, id) = role::by_words("x", &words(line), parent);
        assert_eq!(role, Role::OciRuntime(command), "{line}");
        assert_eq!(id, ContainerId::parse(ID), "{line}");
    }
    let init = role::by_words("runc:[2:INIT]", &words("runc init"), Role::Shim);
    assert_eq!(init.0, Role::OciRuntime(Init));
    let init = role::by_words(
        "exe",
        &words("/proc/self/exe init"),
        Role::OciRuntime(Create),
    );
    assert_eq!(init.0, Role::OciRuntime(Init));
}

#[test]
fn what_only_looks_like_a_runtime_is_none() {
    for (parent, line) in [
        // The same words, called by a person.
        (Role::Other, "runc --root /run/moby --log /x start ID"),
        // A workload.
        (Role::Shim, "/app/server --root /data serve"),
        (Role::Shim, "/sbin/init"),
        (Role::Shim, "mysqld --log start.log"),
        (Role::Shim, "/app/server --log=stdout start --password=x"),
        (Role::Shim, "/app/server --log=stdout start 1fcd1df51209"),
        // Runs for as long as someone watches, or the container lives.
        (Role::Shim, "runc --root /r --log /l events ID"),
    ] {
        assert_eq!(
            role::by_words("x", &words(line), parent),
            (Role::Other, None),
            "{line}"
        );
    }
}

#[test]
fn shims_of_all_ages_tell_their_container() {
    for line in [
        "/usr/bin/containerd-shim-runc-v2 -namespace moby -id ID -address /run/containerd/containerd.sock",
        "containerd-shim -namespace moby -workdir /var/lib/containerd/io.containerd.runtime.v1.linux/moby/ID -address /x",
        "docker-containerd-shim ID /var/run/docker/libcontainerd/ID docker-runc",
    ] {
        assert_eq!(
            role::by_words("x", &words(line), Role::Other),
            (Role::Shim, ContainerId::parse(ID)),
            "{line}"
        );
    }
}

#[test]
fn daemons_and_plugins_are_known() {
    let role = |comm: &str, line: &str, parent| role::by_words(comm, &words(line), parent).0;
    assert_eq!(
        role("dockerd", "/usr/bin/dockerd -H fd://", Role::Other),
        Role::Dockerd
    );
    assert_eq!(
        role("hyperkube", "/hyperkube kubelet --v=2", Role::Other),
        Role::Kubelet
    );
    assert_eq!(
        role("hyperkube", "/hyperkube apiserver", Role::Other),
        Role::Other
    );
    assert_eq!(
        role("calico", "/opt/cni/bin/calico", Role::Kubelet),
        Role::CniPlugin
    );
    assert_eq!(
        role("calico", "/opt/cni/bin/calico", Role::Other),
        Role::Other
    );
}

#[test]
fn the_innermost_command_is_blamed_before_its_wrapper_and_its_init() {
    let id = ContainerId::parse(ID).unwrap();
    let host = Host {
        processes: vec![
            process(10, 9, Role::OciRuntime(OciCommand::Create)),
            process(11, 10, Role::OciRuntime(OciCommand::Create)),
            process(12, 11, Role::OciRuntime(OciCommand::Init)),
        ],
        ..Host::default()
    };
    let pids: Vec<_> = host
        .oci_processes(&id)
        .iter()
        .map(|process| process.pid)
        .collect();
    assert_eq!(pids, [11, 10, 12]);
    // A ring of parents is no trap.
    let ring = Host {
        processes: vec![
            process(1, 2, Role::OciRuntime(OciCommand::Kill)),
            process(2, 1, Role::OciRuntime(OciCommand::Kill)),
        ],
        ..Host::default()
    };
    assert_eq!(ring.oci_processes(&id).len(), 2);
}

#[test]
fn an_init_that_sleeps_or_is_stuck_is_blamed_and_a_zombie_is_not() {
    let id = ContainerId::parse(ID).unwrap();
    let in_state = |pid, state| {
        let mut init = process(pid, 9, Role::OciRuntime(OciCommand::Init));
        init.state = state;
        init
    };
    let host = Host {
        processes: vec![
            in_state(10, State::Sleeping),
            in_state(11, State::Uninterruptible),
            in_state(12, State::Dead),
        ],
        ..Host::default()
    };
    let mut pids: Vec<_> = host.oci_processes(&id).iter().map(|it| it.pid).collect();
    pids.sort_unstable();
    assert_eq!(pids, [10, 11]);
}

/// A daemon of the machine's own, called with these words.
pub(super) fn daemon(pid: u32, ppid: u32, role: Role, line: &str) -> Process {
    let mut process = process(pid, ppid, role);
    process.command = Some(words(line));
    process.container = None;
    process
}

#[test]
fn a_daemon_within_a_container_is_not_the_one_asked() {
    let inner = |mut process: Process| {
        process.container = ContainerId::parse(ID);
        process
    };
    let named = "dockerd --host=unix:///var/run/docker.sock";
    let mut host = Host {
        processes: vec![
            inner(daemon(5, 1, Role::Dockerd, named)),
            inner(daemon(6, 1, Role::Containerd, "containerd")),
            daemon(8, 1, Role::Dockerd, "/usr/bin/dockerd -H fd://"),
            daemon(9, 1, Role::Containerd, "containerd"),
        ],
        ..Host::default()
    };
    let asked = host.dockerd(DEFAULT_ENDPOINT).unwrap();
    assert_eq!(asked.pid, 8);
    assert_eq!(host.containerd_of(asked).unwrap().pid, 9);
    host.processes.truncate(2);
    assert_eq!(host.dockerd(DEFAULT_ENDPOINT), None);
    assert_eq!(host.containerds().count(), 0);
}

#[test]
fn of_several_containerds_the_one_at_dockerds_address_is_meant_or_none() {
    let containerd = |lines: [&str; 2], option: &str| {
        let dockerd = format!("dockerd -H fd:// {option}");
        let host = Host {
            processes: vec![
                daemon(4, 1, Role::Containerd, lines[0]),
                daemon(5, 1, Role::Containerd, lines[1]),
                daemon(8, 1, Role::Dockerd, &dockerd),
            ],
            ..Host::default()
        };
        host.containerd_of(&host.processes[2]).map(|own| own.pid)
    };
    let k3s = "containerd -c /k3s.toml -a /run/k3s/containerd.sock";
    assert_eq!(containerd([k3s, "containerd"], ""), Some(5));
    let given = "--containerd=/run/k3s/containerd.sock";
    assert_eq!(containerd([k3s, "containerd"], given), Some(4));
    let given = "--containerd /var/run/containerd/containerd.sock";
    assert_eq!(containerd([k3s, "containerd"], given), Some(5));
    // Where a file of settings may say anything, nobody is named.
    let settings = "containerd --config /x.toml";
    assert_eq!(containerd([settings, settings], ""), None);
    assert_eq!(containerd([k3s, settings], ""), Some(5));
    assert_eq!(containerd(["containerd", "containerd"], ""), None);
    assert_eq!(containerd([k3s, k3s], ""), None);
}

#[test]
fn the_daemon_asked_is_found_among_several() {
    let dockerd = |pid, line: &str| daemon(pid, 1, Role::Dockerd, line);
    let own = daemon(7, 6, Role::Containerd, "containerd --config /x");
    let host = Host {
        processes: vec![
            dockerd(6, "dockerd --host unix:///tmp/other.sock"),
            own,
            dockerd(
                8,
                "/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock",
            ),
            daemon(9, 1, Role::Containerd, "containerd"),
        ],
        ..Host::default()
    };
    let pid = |endpoint| host.dockerd(endpoint).map(|process| process.pid);
    assert_eq!(pid("unix:///var/run/docker.sock"), Some(8));
    assert_eq!(pid("unix:///tmp/other.sock"), Some(6));
    assert_eq!(pid("unix:///tmp/none.sock"), None);
    let containerd = |pid| host.containerd_of(host.process(pid).unwrap()).unwrap().pid;
    assert_eq!((containerd(6), containerd(8)), (7, 9));
    let named = Host {
        processes: vec![dockerd(5, "dockerd --host=unix:///run/docker.sock")],
        ..Host::default()
    };
    assert!(named.dockerd("unix:///var/run/docker.sock").is_some());
}

#[test]
fn remote_mounts_tell_server_and_pod() {
    let uid = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";
    let text = format!(
        "29 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
         90 29 0:51 / /var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~nfs/my\\040data rw shared:9 - nfs4 10.0.0.5:/export/a rw,addr=10.0.0.5\n\
         91 29 0:52 / /mnt/share rw - cifs //files/share rw\n\
         92 29 0:53 / /mnt/fuse rw master:3 propagate_from:2 - fuse.bindfs /srv/x rw\n\
         93 29 0:54 / /proc/cpuinfo rw - fuse.lxcfs lxcfs rw\n\
         94 29 0:55 / /odd\\\\04 rw - tmpfs tmpfs rw\n\
         nonsense - \n"
    );
    let mounts = mountinfo(&text);
    assert_eq!(mounts.len(), 6);
    let remote: Vec<_> = mounts.iter().filter(|mount| mount.remote).collect();
    let servers: Vec<_> = remote.iter().map(|mount| mount.server()).collect();
    assert_eq!(servers, ["10.0.0.5", "files", "/srv/x"]);
    assert!(remote[0].point.ends_with("/my data"));
    assert_eq!(remote[0].uid, PodUid::parse(uid));
    assert_eq!(remote[1].uid, None);
}

#[test]
fn a_fuse_server_that_waits_for_work_waits_for_no_server() {
    for idle in [
        "fuse_dev_do_read",
        "fuse_dev_do_read.constprop.0",
        "fuse_uring_cmd",
    ] {
        assert!(
            !waits_for_server(idle) && !waits_for_file_system(idle),
            "{idle}"
        );
        let stack = [idle, "fuse_dev_read", "vfs_read"].map(str::to_owned);
        assert_eq!(server_wait(Some(idle), &stack), None);
    }
    for waits in [
        "request_wait_answer",
        "fuse_wait_on_page_writeback",
        "fuse_set_nowrite",
    ] {
        assert!(waits_for_server(waits), "{waits}");
    }
    // One that hands an answer over, at a moment when it copies.
    let stack = ["fuse_copy_fill", "fuse_copy_args", "fuse_dev_do_write"].map(str::to_owned);
    assert_eq!(server_wait(None, &stack), None);
}

#[test]
fn a_status_tells_whether_its_task_is_stopped() {
    for (text, stopped) in [
        ("Name:\tx\nState:\tT (stopped)\n", true),
        ("State:\tt (tracing stop)\n", true),
        ("State:\tS (sleeping)\n", false),
        ("TracerPid:\t0\n", false),
        ("", false),
    ] {
        assert_eq!(parse::is_stopped(text), stopped, "{text:?}");
    }
}
