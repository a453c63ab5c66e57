//! A journal that goes on: `journalctl --follow`, from the first of its entries that are asked for.

use super::{Message, Opening, begin, pass_on};
use crate::{
    io::child::Running,
    log::{
        journal::{self, Query, What, Word},
        open,
        units::UNITS,
    },
    syntax::time::Time,
};
use anyhow::{Context as _, bail};
use std::{ffi::OsStr, io, sync::mpsc::SyncSender};

/// Starts journalctl for that unit, or (if it is empty) for all that run a kubelet, and the threads that listen to it.
/// Returns the journal's name, and journalctl, which ends when it is let go.
///
/// # Errors
/// journalctl cannot be run.
pub(super) fn start(
    program: &OsStr,
    unit: &str,
    since: Option<Time>,
    to: SyncSender<Message>,
) -> anyhow::Result<(String, Running)> {
    let units = match unit.is_empty() {
        true => UNITS.as_slice(),
        false => &[unit],
    };
    let (name, first, others) = match units {
        [only] => (
            format!("journal of {}", journal::whole_name(only)),
            *only,
            &[][..],
        ),
        [first, others @ ..] => ("the journal".to_owned(), *first, others),
        [] => bail!("no unit is named"),
    };
    let query = Query {
        program,
        from: &[],
        what: What::Unit(first),
        since,
        until: None,
        last: false,
    };
    let mut command = journal::command(&query);
    // Of several units an entry of any is shown.
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
    let complaints = to.clone();
    begin(move || {
        drop(to.send(Message::Start(Opening::Unnumbered)));
        if let Err(error) = pass_on(stdout, &to) {
            drop(to.send(Message::Failed(open::explain(&error))));
        }
    })?;
    begin(move || listen(stderr, &complaints))?;
    Ok((name, running))
}

/// Passes on what journalctl complains of, as it does.
fn listen(stderr: impl io::Read, to: &SyncSender<Message>) {
    journal::each_word(stderr, &mut |word| {
        let words = match word {
            Word::Complaint(line) => journal::complaint(&line),
            Word::Damage(line) => Some(journal::damaged(&line)),
        };
        words.is_none_or(|words| to.send(Message::Told(words)).is_ok())
    });
}
