//! The private daemon cleans up after itself, in whatever state a failed test leaves it.

use crate::support::{
    daemon::{Daemon, Pod, SLEEP},
    process::{cgroups, mounts_below, of},
};
use serde_json::json;

/// A state's name, and how to bring it about.
type Breakage = (&'static str, fn(&Daemon));

#[test]
fn a_test_that_fails_in_the_middle_of_everything_leaves_nothing_behind() {
    let breakages: &[Breakage] = &[
        ("all hangs", |daemon| {
            daemon.freeze_containerd();
            daemon.freeze_dockerd();
        }),
        ("dockerd hangs", Daemon::freeze_dockerd),
        ("containerd hangs", Daemon::freeze_containerd),
        ("dockerd is dead", Daemon::kill_dockerd),
    ];
    for &(state, broken) in breakages {
        let daemon = Daemon::start();
        let root = daemon.root();
        let failed = std::thread::spawn(move || {
            daemon.running("etcd");
            daemon.dead("job", &json!({}));
            let pod = Pod::new("default", "web-2", 2);
            let sandbox = daemon.sandbox(&pod);
            daemon.hang_start(&daemon.pod_container(&pod, "app", &sandbox, SLEEP));
            broken(&daemon);
            // A failing test, without the noise of one.
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(failed.join().is_err());
        assert_eq!(of(&root), Vec::<u32>::new(), "{state}: processes");
        assert_eq!(mounts_below(&root).len(), 0, "{state}: mounts");
        let name = root.file_name().and_then(|name| name.to_str()).unwrap();
        assert_eq!(cgroups(name).len(), 0, "{state}: cgroups");
        assert!(!root.exists(), "{state}: files");
    }
}
