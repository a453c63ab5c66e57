//! A FUSE file system whose server can be stopped, so that whoever looks at it hangs.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use super::process::{freeze, mounts_below, of, signal, unmount_below, wait_until};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// How long a killed server may take to end.
const ENDS: Duration = Duration::from_secs(5);

/// A folder mounted at another one by bindfs. Dropped, it goes with its server, also while that is stopped.
#[derive(Debug)]
pub(crate) struct Fuse {
    mounted: PathBuf,
    server: u32,
    /// The kernel's number of the connection.
    connection: String,
}

impl Fuse {
    #[track_caller]
    pub(crate) fn mount(served: &Path, mounted: &Path) -> Self {
        let status = Command::new("bindfs").args([served, mounted]).status();
        assert!(status.unwrap().success());
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mut rows = mounts
            .lines()
            .map(|line| line.split(' ').collect::<Vec<_>>());
        let row = rows.find(|row| Path::new(row[4]) == mounted).unwrap();
        let servers = of(mounted);
        let fuse = Self {
            mounted: mounted.to_owned(),
            server: servers[0],
            connection: row[2].split(':').nth(1).unwrap().to_owned(),
        };
        assert_eq!(servers.len(), 1, "{servers:?}");
        fuse
    }

    /// The server's process.
    pub(crate) fn server(&self) -> u32 {
        self.server
    }

    /// Stops the server.
    #[track_caller]
    pub(crate) fn freeze(&self) {
        freeze(self.server);
    }

    /// Lets the server go on.
    pub(crate) fn thaw(&self) {
        signal(self.server, "CONT");
    }

    fn is_gone(&self) -> bool {
        mounts_below(&self.mounted).is_empty() && !of(&self.mounted).contains(&self.server)
    }

    /// Ends the connection in the kernel, as where the server itself waits for it; in a mount namespace of its own.
    fn abort(&self) {
        let script = "mount -t fusectl none /sys/fs/fuse/connections && echo 1 > /sys/fs/fuse/connections/$0/abort";
        let _ = Command::new("unshare")
            .args(["-m", "sh", "-c", script, &self.connection])
            .stderr(Stdio::null())
            .status();
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        signal(self.server, "KILL");
        unmount_below(&self.mounted);
        if !wait_until(ENDS, || self.is_gone()) {
            self.abort();
            unmount_below(&self.mounted);
            let gone = wait_until(ENDS, || self.is_gone());
            assert!(gone || thread::panicking(), "{self:?} is left");
        }
    }
}
