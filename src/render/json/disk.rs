//! What Docker's files tell, for scripts.

use super::time;
use crate::runtime::stored::{Disk, Life, Stored};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct DiskV1<'a> {
    root: &'a str,
    containers: usize,
    live_restore: Option<bool>,
}

#[derive(Serialize)]
pub(super) struct StoredV1<'a> {
    written: Option<String>,
    state: &'a str,
    error: &'a str,
    pid: Option<u32>,
    process: &'static str,
}

impl<'a> From<&'a Disk> for DiskV1<'a> {
    fn from(disk: &'a Disk) -> Self {
        Self {
            root: &disk.root,
            containers: disk.containers,
            live_restore: disk.live_restore,
        }
    }
}

impl<'a> From<&'a Stored> for StoredV1<'a> {
    fn from(stored: &'a Stored) -> Self {
        Self {
            written: stored.written.map(time),
            state: stored.state.state.as_str(),
            error: &stored.state.error,
            pid: stored.pid,
            process: match stored.life {
                Life::Unknown => "unknown",
                Life::There => "there",
                Life::Gone => "gone",
            },
        }
    }
}
