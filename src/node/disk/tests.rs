use super::*;

/// A virtual machine's disk, as its kernel (6.1) tells it, 1.05 s apart while a file was synced again and again.
const BEFORE: &str = "\
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 1962613 68967 62618570 1995234 7051688 3367911 413992680 5481942 0 733468 7989997 2369900 2605 266042040 331423 1014644 181395
 253       0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
";

/// A line with these counters: finished reads, their time, in flight, busy, queued.
fn disk(device: &str, name: &str, [reads, took, in_flight, busy, queued]: [u64; 5]) -> String {
    let (major, minor) = device.split_once(':').unwrap();
    format!(" {major} {minor} {name} {reads} 0 0 {took} 0 0 0 0 {in_flight} {busy} {queued}\n")
}

fn sample(before: &str, after: &str, mounts: &str) -> Sample {
    Sample {
        before: before.to_owned(),
        after: after.to_owned(),
        elapsed: Duration::from_secs(1),
        mounts: mounts.to_owned(),
        below: BTreeMap::new(),
    }
}

fn folders(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

const ROOT: &str = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n";

#[test]
fn a_real_disks_counters_are_read_flushes_included() {
    // 100 writes in 900 ms, 10 flushes in 200 ms, busy for 700 ms, 1100 ms queued.
    let after = BEFORE.replace(
        "7051688 3367911 413992680 5481942 0 733468 7989997 2369900 2605 266042040 331423 1014644 181395",
        "7051788 3367911 413992680 5482842 3 734168 7991097 2369900 2605 266042040 331423 1014654 181595",
    );
    let found = disks(
        &sample(BEFORE, &after, ROOT),
        &folders(&["/var/lib/docker"]),
    );
    let [vda] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((vda.device.as_str(), vda.name.as_str()), ("254:0", "vda"));
    assert_eq!((vda.busy, vda.queue, vda.finished), (70.0, 1.1, 110));
    assert_eq!(vda.wait, Some(Duration::from_millis(10)));
    assert_eq!((vda.in_flight, vda.is_stuck()), (3, false));
    assert_eq!(vda.holds, ["/var/lib/docker"]);
}

#[test]
fn an_idle_disk_without_the_runtimes_data_is_left_out_and_one_with_it_is_not() {
    let still = sample(BEFORE, BEFORE, ROOT);
    assert_eq!(disks(&still, &BTreeSet::new()), []);
    let found = disks(&still, &folders(&["/var/lib/docker"]));
    assert_eq!((found[0].busy, found[0].wait), (0.0, None));
}

#[test]
fn a_disk_that_finishes_nothing_is_stuck_whatever_its_kernel_counts() {
    let hangs = disk("8:0", "sda", [10, 100, 4, 70, 90]);
    let found = disks(&sample(&hangs, &hangs, ""), &BTreeSet::new());
    assert_eq!(
        (found[0].busy, found[0].queue, found[0].wait),
        (100.0, 4.0, None)
    );
    assert!(found[0].is_stuck());
    // What has just come to an idle disk does not hang.
    let idle = disk("8:0", "sda", [10, 100, 0, 70, 90]);
    let found = disks(&sample(&idle, &hangs, ""), &BTreeSet::new());
    assert!(!found[0].is_stuck());
    assert_eq!(found[0].busy, 0.0);
}

#[test]
fn partitions_count_with_their_disk() {
    let names = |names: &[&'static str]| -> BTreeSet<&str> { names.iter().copied().collect() };
    let known = names(&[
        "sda",
        "sda1",
        "nvme0n1",
        "nvme0n1p2",
        "xvda1",
        "md127",
        "md12",
        "dm-1",
        "mmcblk0",
    ]);
    for (name, disk) in [
        ("sda", "sda"),
        ("sda1", "sda"),
        ("nvme0n1", "nvme0n1"),
        ("nvme0n1p2", "nvme0n1"),
        // Some clouds give partitions without a disk.
        ("xvda1", "xvda1"),
        ("md127", "md127"),
        ("dm-1", "dm-1"),
        ("mmcblk0p1", "mmcblk0"),
    ] {
        assert_eq!(whole_disk(name, &known), disk, "{name}");
    }
    let before = disk("8:0", "sda", [0; 5]) + &disk("8:1", "sda1", [0; 5]);
    let after = disk("8:0", "sda", [9, 9, 0, 9, 9]) + &disk("8:1", "sda1", [9, 9, 0, 9, 9]);
    let mounts = "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
    let found = disks(
        &sample(&before, &after, mounts),
        &folders(&["/var/lib/docker"]),
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, "sda");
    assert_eq!(found[0].holds, ["/var/lib/docker"]);
}

#[test]
fn a_folder_is_on_the_disks_below_the_mapped_one_that_is_mounted_nearest_to_it() {
    let lines: String = [
        ("8:0", "sda"),
        ("8:3", "sda3"),
        ("8:16", "sdb"),
        ("253:0", "dm-0"),
    ]
    .map(|(device, name)| disk(device, name, [0; 5]))
    .concat();
    let mounts = "\
27 1 8:3 / / rw - ext4 /dev/sda3 rw
40 27 253:0 / /var/lib/docker rw - xfs /dev/mapper/vg-docker rw
41 27 8:3 / /var/lib/dockerfiles rw - ext4 /dev/sda3 rw
";
    let mut sample = sample(&lines, &lines, mounts);
    sample
        .below
        .insert("dm-0".to_owned(), vec!["sdb".to_owned()]);
    let found = disks(&sample, &folders(&["/var/lib/docker", "/var/lib/kubelet"]));
    let told: Vec<_> = found
        .iter()
        .map(|disk| {
            (
                disk.name.as_str(),
                disk.holds.join(" "),
                disk.through.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("sda", "/var/lib/kubelet".to_owned(), None),
            ("sdb", "/var/lib/docker".to_owned(), Some("dm-0")),
            ("dm-0", "/var/lib/docker".to_owned(), None),
        ]
    );
    // A ring, as no kernel makes it, ends.
    sample
        .below
        .insert("sdb".to_owned(), vec!["dm-0".to_owned()]);
    assert_eq!(disks(&sample, &folders(&["/var/lib/docker"])).len(), 2);
}

#[test]
fn a_file_system_with_a_number_of_its_own_is_found_by_what_was_mounted() {
    let lines = disk("8:0", "sda", [0; 5]) + &disk("8:2", "sda2", [0; 5]);
    let mounts = "27 1 0:31 /@ / rw - btrfs /dev/sda2 rw,subvol=/@\n";
    let found = disks(
        &sample(&lines, &lines, mounts),
        &folders(&["/var/lib/docker"]),
    );
    assert_eq!(found[0].name, "sda");
}

#[test]
fn the_data_is_where_words_or_mounts_say_or_else_where_it_usually_is() {
    let daemon = |role, line| crate::node::tests::daemon(7, 1, role, line);
    let dockerd = daemon(Role::Dockerd, "dockerd -H fd://");
    let containerd = daemon(Role::Containerd, "containerd");
    let kubelet = daemon(Role::Kubelet, "kubelet --root-dir=/data/kubelet");
    let all = |mounts: &str, daemons: &[&Process]| -> Vec<String> {
        let daemons = daemons.iter().copied();
        data_folders(mounts, daemons).into_iter().collect()
    };
    assert_eq!(
        all(ROOT, &[&dockerd, &containerd, &kubelet]),
        ["/data/kubelet", "/var/lib/containerd", "/var/lib/docker"]
    );
    let moved = "\
90 27 0:60 / /mnt/big/docker/overlay2/0a1b/merged rw - overlay overlay rw,lowerdir=l/A:l/B,upperdir=0a1b/diff,workdir=0a1b/work
91 27 0:61 / /run/containerd/io.containerd.runtime.v2.task/k8s.io/0a/rootfs rw - overlay overlay rw,lowerdir=/data/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs,upperdir=/data/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/2/fs
";
    assert_eq!(all(moved, &[&dockerd]), ["/mnt/big/docker"]);
    assert_eq!(all(moved, &[&containerd]), ["/data/containerd"]);
    let named = daemon(Role::Dockerd, "dockerd --data-root /x");
    assert_eq!(all(moved, &[&named]), ["/x"]);
    assert_eq!(all(moved, &[]), Vec::<String>::new());
}

#[test]
fn lines_that_make_no_sense_are_left_out() {
    let odd = "8 0 sda 1 2\nx y z\n8 16 sdb a b c d e f g h i j k\n\n";
    let all = sample(odd, odd, "nonsense");
    assert_eq!(disks(&all, &folders(&["/", "", "relative"])), []);
    let mut none = sample(BEFORE, BEFORE, ROOT);
    none.elapsed = Duration::ZERO;
    assert_eq!(disks(&none, &folders(&["/"])), []);
}
