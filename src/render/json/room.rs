//! How long the list of containers is and how fast it grows: for scripts.

use super::seconds;
use crate::runtime::list_size::{Growth, LIMIT, ListSize};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct ListV1 {
    bytes: u64,
    limit_bytes: u64,
    containers: usize,
    stopped: usize,
    bytes_per_container: u64,
    containers_at_limit: u64,
    relist_lists_seconds: f64,
    growth: Option<GrowthV1>,
}

#[derive(Serialize)]
struct GrowthV1 {
    window_seconds: f64,
    last: usize,
    before: usize,
    full_in_seconds: Option<f64>,
    late_in_seconds: Option<f64>,
}

impl From<ListSize> for ListV1 {
    fn from(room: ListSize) -> Self {
        Self {
            bytes: room.bytes,
            limit_bytes: LIMIT,
            containers: room.containers,
            stopped: room.stopped,
            bytes_per_container: room.each,
            containers_at_limit: room.full,
            relist_lists_seconds: (room.lists.as_secs_f64() * 1e4).round() / 1e4,
            growth: room.growth.as_ref().map(GrowthV1::from),
        }
    }
}

impl From<&Growth> for GrowthV1 {
    fn from(growth: &Growth) -> Self {
        Self {
            window_seconds: seconds(growth.window),
            last: growth.last,
            before: growth.before,
            full_in_seconds: growth.full_in.map(seconds),
            late_in_seconds: growth.late_in.map(seconds),
        }
    }
}
