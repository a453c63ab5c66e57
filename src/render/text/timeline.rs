//! What happened in the outage that counts, a line each: for people.

use super::Page;
use crate::{
    duration,
    incident::Incident,
    render::plain::{laid_out, visible},
    report::{Moment, What},
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
                visible(&self.told(moment, incident)),
            ]);
        }
        let (at, offset) = (1, 2);
        write!(
            out,
            "\n{}",
            laid_out(&mut table, &[at, offset], self.style.width)
        )
    }

    fn told(&self, moment: &Moment, incident: &Incident) -> String {
        let what = match moment.what {
            What::OutOfMemory => "the machine is out of memory",
            What::ExecTimeout => "a command in a container (a probe, mostly) times out",
            What::HungTask => "the kernel reports a task that hangs",
            What::Refused => "the runtime's socket refuses a call",
            What::TooLarge => "a list's answer is too large",
            What::DaemonStart => match &moment.detail {
                Some(name) => return format!("{name} starts"),
                None => "a daemon of the runtime starts",
            },
            What::KubeletStart => "the kubelet starts",
            What::LastRelist if incident.never => "the kubelet's relists begin, and none succeeds",
            What::LastRelist => "the last relist that listed begins",
            What::Timeout => "a call to the runtime times out",
            What::Stale => "the kubelet calls its PLEG unhealthy",
            What::NotReady => "the node goes NotReady",
            What::Recovered => "the PLEG is healthy again",
        };
        let warns = matches!(
            moment.what,
            What::OutOfMemory | What::ExecTimeout | What::HungTask | What::Refused | What::Timeout
        );
        let early = match warns && incident.start - moment.at >= EARLY {
            true => "early warning: ",
            false => "",
        };
        let more = match moment.count {
            1 => String::new(),
            count => format!(" (×{count}, last {})", self.clock(moment.last)),
        };
        let call = match (moment.what, &moment.detail) {
            (What::Timeout | What::Refused | What::TooLarge, Some(call)) => format!(", {call}"),
            _ => String::new(),
        };
        format!("{early}{what}{call}{more}")
    }
}

/// Returns how far it is from the lag's beginning: `-4h2m`, `+3m1s`.
fn offset(after: TimeDelta) -> String {
    let told = duration::human(after);
    match after > TimeDelta::zero() {
        true => format!("+{told}"),
        false => told,
    }
}
