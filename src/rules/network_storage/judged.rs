//! What speaks against a file system whose server does not answer: only a look at where each thread sleeps.

use crate::node::{Host, Process, server_wait};
use crate::rules::bearing::LOOK;
use crate::rules::holders;
use crate::rules::support::old_form::{Judged, Scene};

pub(super) fn judge(scene: &Scene) -> Judged {
    // The kernel shows only to root where others' threads sleep.
    let daemons = holders::daemons(scene.evidence);
    let shown = daemons.iter().any(|daemon| daemon.wchan.is_some());
    match scene.whole_host() {
        Some(host) if shown && !any_waits(host) => Judged::out(
            "no thread was seen to sleep for a file system's server",
            "the host's processes",
        ),
        Some(host) if any_waits(host) => scene.open(
            "a thread waits for a file system's server, which is not known to hold up the runtime",
            LOOK,
        ),
        _ => scene.needs_host(),
    }
}

/// Returns whether any thread waits for a server, whether or not it was seen to stay so.
fn any_waits(host: &Host) -> bool {
    let waits = |process: &Process| {
        let mut threads = process.threads.waiting.iter();
        server_wait(process.wchan.as_deref(), &process.stack).is_some()
            || threads.any(|it| server_wait(it.wchan.as_deref(), &it.stack).is_some())
    };
    host.processes.iter().any(waits)
}
