//! `plegdoctor events`: the known messages of the kubelet's log, a JSON object each, as they are read.

mod stdout;

use super::progress::Progress;
use crate::capture::Capture;
use crate::cli::EventsArgs;
use crate::commands::observe;
use crate::kubelet::event::{Event, Weight};
use crate::log::{DockerFiles, DockerLog, FollowHooks, Reading, ScanProgress, Sink};
use crate::remedy::apply::Interrupts;
use crate::render::{json, layout};
use crate::{cli, log};
use anyhow::{Context as _, bail};
use std::io;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use stdout::Stdout;

/// Runs it and returns the exit code. What could not be seen, and what was left out, goes to `err`, a line each.
///
/// # Errors
/// Nothing could be read, the values make no sense, or `out` fails.
pub fn run(
    args: &EventsArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    if args.log.no_log {
        bail!("--no-log leaves nothing to read");
    }
    if args.follow {
        return follow(args, err);
    }
    let mut printer = Printer::new(args.all, out);
    let reading = read(args, &mut printer);
    // A closed output ends the reading, too.
    printer.end().context("can't write the events")?;
    let reading = reading?;
    for gap in &reading.gaps {
        tell(err, &gap.to_string());
    }
    for note in &reading.notes {
        tell(err, note);
    }
    Ok(ExitCode::from(match reading.gaps.is_empty() {
        true => 0,
        false => 2,
    }))
}

fn read(args: &EventsArgs, sink: &mut dyn Sink) -> anyhow::Result<Reading> {
    if let Some(path) = &args.capture {
        return observe::replay_logs(&args.log, &Capture::open(path)?, sink);
    }
    let gauge = ScanProgress::default();
    let _progress = Progress::beside_output(&gauge);
    let endpoint = args.docker.endpoint();
    let docker = DockerLog {
        endpoint: &endpoint,
        timeout: args.probe_timeout,
        asked: !args.no_docker,
        files: Some(DockerFiles {
            root: args.docker_root.as_deref(),
            host_root: Path::new("/"),
            look: true,
        }),
    };
    log::read(
        &args.log.options(),
        &args.log.moments()?,
        docker,
        None,
        &gauge,
        sink,
    )
}

/// Follows the log until standard output is closed, the user interrupts, or the log's source ends.
fn follow(args: &EventsArgs, err: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let interrupts = Interrupts::watch().context("can't watch for Ctrl-C")?;
    let stdout = Stdout::new(interrupts.clone()).context("can't write the events")?;
    let mut out = BufWriter::new(&stdout);
    let mut printer = Printer::new(args.all, &mut out);
    let mut along = FollowHooks {
        now: &cli::clock,
        keep_going: &|| stdout.is_open(),
        warn: &mut |words| tell(err, words),
    };
    let followed = log::follow(
        &args.log.options(),
        &args.log.moments()?,
        &mut along,
        &mut printer,
    );
    let ended = printer.end();
    // An interrupt by the user is success.
    if interrupts.count() == 0 {
        ended.context("can't write the events")?;
        followed?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes what is not an event; a closed standard error is no reason to stop.
fn tell(err: &mut dyn Write, words: &str) {
    let _ = writeln!(err, "plegdoctor: {}", layout::visible(words));
}

/// Writes each event, and flushes once there are no more for the moment.
struct Printer<'a> {
    all: bool,
    out: &'a mut dyn Write,
    failed: Option<io::Error>,
}

impl<'a> Printer<'a> {
    fn new(all: bool, out: &'a mut dyn Write) -> Self {
        Self {
            all,
            out,
            failed: None,
        }
    }

    fn end(self) -> io::Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

impl Sink for Printer<'_> {
    fn event(&mut self, event: Event) {
        // The parser reads context around trouble; whether a line is given must not depend on that.
        let wanted = self.all || event.kind.message().weight != Weight::Context;
        if wanted && self.failed.is_none() {
            self.failed = json::event::write(&event, self.out).err();
        }
    }

    fn batch(&mut self) -> bool {
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
        self.failed.is_none()
    }

    fn wants_context(&self) -> bool {
        self.all
    }
}
