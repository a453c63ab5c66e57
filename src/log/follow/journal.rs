//! A journal that is written to: `journalctl --follow`, from the first of its entries that are asked for.

use super::{Message, ReadFrom, file_kind, send_blocks, spawn};
use crate::io::child::Running;
use crate::log::journal;
use crate::log::journal::{Entries, Query};
use crate::log::systemd_units::UNITS;
use crate::syntax::time::Time;
use anyhow::{Context as _, bail};
use std::{ffi::OsStr, io, sync::mpsc::SyncSender};

/// Starts journalctl for that unit, or (if it is empty) for all that run a kubelet, and the threads that read it.
/// Returns the journal's name, and journalctl, which ends when it is dropped.
///
/// # Errors
/// journalctl cannot be run.
pub(super) fn start(
    program: &OsStr,
    unit: &str,
    since: Option<Time>,
    to: SyncSender<Message>,
) -> anyhow::Result<(String, Running)> {
    let units = if unit.is_empty() {
        UNITS.as_slice()
    } else {
        &[unit]
    };
    let (name, first, others) = match units {
        [only] => (
            format!("journal of {}", journal::full_unit_name(only)),
            *only,
            &[][..],
        ),
        [first, others @ ..] => ("the journal".to_owned(), *first, others),
        [] => bail!("no unit is named"),
    };
    let query = Query {
        program,
        from: &[],
        entries: Entries::Unit(first),
        since,
        until: None,
        last: false,
    };
    let mut command = journal::command(&query);
    // Several units: entries of any.
    command
        .args(others.iter().map(|unit| format!("--unit={unit}")))
        // Else it begins with the last ten entries.
        .args(["--follow", "--no-tail"]);
    let mut running = match Running::start(&mut command) {
        Ok(running) => running,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("there is no journalctl here: name the log with --log")
        }
        Err(error) => return Err(error).context("can't run journalctl"),
    };
    let stdout = running.child.stdout.take();
    let stdout = stdout.context("can't read from journalctl")?;
    let stderr = running.child.stderr.take();
    let stderr = stderr.context("can't read from journalctl")?;
    let warnings = to.clone();
    spawn(move || {
        drop(to.send(Message::Start(ReadFrom::Unnumbered)));
        if let Err(error) = send_blocks(stdout, &to) {
            drop(to.send(Message::Failed(file_kind::explain_open(&error))));
        }
    })?;
    spawn(move || send_complaints(stderr, &warnings))?;
    Ok((name, running))
}

fn send_complaints(stderr: impl io::Read, to: &SyncSender<Message>) {
    journal::each_message(stderr, &mut |message| {
        let warning = match message {
            journal::Message::Complaint(line) => journal::explain_complaint(&line),
            journal::Message::Damage(line) => Some(journal::describe_damage(&line)),
        };
        warning.is_none_or(|warning| to.send(Message::Warning(warning)).is_ok())
    });
}
