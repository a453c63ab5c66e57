//! What happened in the outage that counts, a line each: for people.

use super::Page;
use crate::{
    kubelet::{event::Kind, incident::Incident},
    render::layout::{laid_out, visible},
    report::{Moment, MomentKind},
    syntax::duration,
};
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
        let what = match moment.what {
            MomentKind::OutOfMemory => "the machine runs out of memory",
            MomentKind::ExecTimeout => "an exec in a container (mostly probes) times out",
            MomentKind::HungTask => "the kernel reports a hung task",
            MomentKind::ServerSilent => "a file server does not respond",
            MomentKind::ServerAnswers => "a file server responds again",
            MomentKind::NetdeviceHeld => "the kernel cannot remove a network device",
            MomentKind::DiskError => "a disk fails to read or write",
            MomentKind::DaemonEnd => "systemd reports that a daemon exited",
            MomentKind::Refused => "the runtime's socket refuses a call",
            MomentKind::TooLarge => "a list response is too large",
            MomentKind::DaemonStart => match &moment.detail {
                Some(name) => return format!("{name} starts"),
                None => "a runtime daemon starts",
            },
            MomentKind::KubeletStart => "the kubelet starts",
            MomentKind::LastRelist if incident.never => "kubelet relists start; none succeeds",
            MomentKind::LastRelist => "last successful relist",
            MomentKind::Timeout => "a call to the runtime times out",
            MomentKind::Stale => "kubelet reports PLEG unhealthy",
            MomentKind::NotReady => "the node is NotReady",
            MomentKind::Recovered => "PLEG healthy again",
        };
        let warns = matches!(
            moment.what,
            MomentKind::OutOfMemory
                | MomentKind::ExecTimeout
                | MomentKind::HungTask
                | MomentKind::ServerSilent
                | MomentKind::NetdeviceHeld
                | MomentKind::DiskError
                | MomentKind::DaemonEnd
                | MomentKind::Refused
                | MomentKind::Timeout
        );
        let early = if warns && incident.start - moment.at >= EARLY {
            "early warning: "
        } else {
            ""
        };
        let more = match moment.count {
            1 => String::new(),
            count => format!(" (×{count}, last {})", self.clock(moment.last)),
        };
        let call = match (moment.what, &moment.detail) {
            (MomentKind::Timeout | MomentKind::Refused | MomentKind::TooLarge, Some(call)) => {
                format!(", {call}")
            }
            (
                MomentKind::ServerSilent
                | MomentKind::ServerAnswers
                | MomentKind::NetdeviceHeld
                | MomentKind::DiskError
                | MomentKind::DaemonEnd,
                Some(name),
            ) => format!(", {name}"),
            // The kernel's buffer and the kubelet name nobody.
            (MomentKind::OutOfMemory | MomentKind::HungTask, Some(name))
                if name != Kind::SystemOom.id() =>
            {
                format!(", {name}")
            }
            _ => String::new(),
        };
        format!("{early}{what}{call}{more}")
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
