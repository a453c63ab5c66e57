//! What happened in the outage that counts, a line each: for people.

use super::Page;
use crate::kubelet::event::Kind;
use crate::kubelet::incident::Incident;
use crate::render::layout::{laid_out, visible};
use crate::report::{Moment, MomentKind};
use crate::syntax::duration;
use chrono::TimeDelta;
use std::io::{self, Write};

/// What comes so long before the lag is called an early warning: less is the outage itself.
const EARLY: TimeDelta = TimeDelta::minutes(10);

impl Page<'_> {
    /// Writes the story of the last outage; JSON has those of all.
    pub(super) fn timeline(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = self.report;
        let last = report.incidents.last().zip(report.timelines.last());
        let Some((incident, moments)) = last else {
            return Ok(());
        };
        let mut table = self.table(&["Timeline", "at", "", "what"]);
        for moment in moments {
            table.add_row([
                String::new(),
                self.clock(moment.at),
                offset(moment.at - incident.start),
                visible(&self.describe(moment, incident)),
            ]);
        }
        let (at, offset) = (1, 2);
        write!(
            out,
            "\n{}",
            laid_out(&mut table, &[at, offset], self.style.width)
        )
    }

    fn describe(&self, moment: &Moment, incident: &Incident) -> String {
        // What happens, whether it may be an early warning, and whether its detail is shown.
        let (what, warns, detailed) = match moment.what {
            MomentKind::OutOfMemory => ("the machine runs out of memory", true, true),
            MomentKind::ExecTimeout => (
                "an exec in a container (mostly probes) times out",
                true,
                false,
            ),
            MomentKind::HungTask => ("the kernel reports a hung task", true, true),
            MomentKind::ServerSilent => ("a file server does not respond", true, true),
            MomentKind::ServerAnswers => ("a file server responds again", false, true),
            MomentKind::NetdeviceHeld => ("the kernel cannot remove a network device", true, true),
            MomentKind::DiskError => ("a disk fails to read or write", true, true),
            MomentKind::DaemonEnd => ("systemd reports that a daemon exited", true, true),
            MomentKind::Refused => ("the runtime's socket refuses a call", true, true),
            MomentKind::TooLarge => ("a list response is too large", false, true),
            MomentKind::DaemonStart => match &moment.detail {
                Some(name) => return format!("{name} starts"),
                None => ("a runtime daemon starts", false, false),
            },
            MomentKind::KubeletStart => ("the kubelet starts", false, false),
            MomentKind::LastRelist if incident.never => {
                ("kubelet relists start; none succeeds", false, false)
            }
            MomentKind::LastRelist => ("last successful relist", false, false),
            MomentKind::Timeout => ("a call to the runtime times out", true, true),
            MomentKind::Stale => ("kubelet reports PLEG unhealthy", false, false),
            MomentKind::NotReady => ("the node is NotReady", false, false),
            MomentKind::Recovered => ("PLEG healthy again", false, false),
        };
        let early = warns && incident.start - moment.at >= EARLY;
        let early = if early { "early warning: " } else { "" };
        let more = match moment.count {
            1 => String::new(),
            count => format!(" (×{count}, last {})", self.clock(moment.last)),
        };
        // The kubelet's own line on a killed process names none.
        let named = |detail: &&String| detailed && **detail != Kind::SystemOom.id();
        let detail = moment.detail.as_ref().filter(named);
        let detail = detail.map_or_else(String::new, |detail| format!(", {detail}"));
        format!("{early}{what}{detail}{more}")
    }
}

/// Returns how far it is from the lag's beginning: `-4h2m`, `+3m1s`.
fn offset(after: TimeDelta) -> String {
    let text = duration::human(after);
    if after > TimeDelta::zero() {
        format!("+{text}")
    } else {
        text
    }
}
