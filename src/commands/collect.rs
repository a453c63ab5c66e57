//! `plegdoctor collect`: observes all there is, and saves it. Judges nothing.

use super::{observe::observe, progress::Progress};
use crate::capture::{CaptureWriter, Recorder, Recording, Sanitize};
use crate::cli;
use crate::cli::CollectArgs;
use crate::log::ScanProgress;
use anyhow::Context as _;
use indicatif::HumanBytes;
use std::{io::Write, process::ExitCode};

/// How far back a log is kept unless `--since` says.
const SPAN: &str = "24h";

/// Runs it and returns the exit code.
///
/// # Errors
/// Nothing could be saved: bad values, an unreadable log, a file that is there already or can't be written.
pub fn run(mut args: CollectArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    // A name that is taken fails before anything is asked.
    let writer = CaptureWriter::begin(&args.output)?;
    args.look.log.since.get_or_insert_with(|| SPAN.to_owned());
    let gauge = ScanProgress::default();
    let progress = Progress::of_all(&gauge);
    let say = progress.teller();
    let watcher = progress.teller();
    let sanitize = match args.with_workloads {
        true => Sanitize::Nothing,
        false => Sanitize::Workloads,
    };
    let recorder = Recorder::new(sanitize).thorough(Box::new(move |part| watcher(doing(part))));
    let evidence = observe(&args.look, Some(&recorder), &gauge)?;
    say("writing");
    let mut recording = recorder.finish(&evidence);
    sign(&mut recording, "collect");
    if args.redact {
        recording.redact()?;
    }
    let complete = recording.is_complete();
    let missing = missing(&recording);
    let length = writer.write(recording)?;
    drop(progress);
    let path = args.output.display();
    writeln!(out, "{path}: {}", HumanBytes(length))
        .and_then(|()| missing.iter().try_for_each(|line| writeln!(out, "{line}")))
        .and_then(|()| out.flush())
        .context("can't write what was saved")?;
    Ok(ExitCode::from(u8::from(!complete)))
}

/// Says in the manifest who made the capture, and when.
pub(super) fn sign(recording: &mut Recording, made_by: &str) {
    made_by.clone_into(&mut recording.manifest.made_by);
    recording.manifest.made_at = cli::clock().to_rfc3339();
}

fn missing(recording: &Recording) -> Vec<String> {
    let manifest = &recording.manifest;
    let parts = manifest.parts.iter().filter(|part| !part.complete);
    let parts: Vec<_> = parts
        .flat_map(|part| part.why.iter().map(move |why| (&part.name, why)))
        .collect();
    // A part tells its own gaps already.
    let gaps = manifest.gaps().into_iter().map(|gap| gap.to_string());
    let gaps = gaps.filter(|gap| !parts.iter().any(|(_, why)| *why == gap));
    let gaps: Vec<String> = gaps.map(|gap| format!("  {gap}")).collect();
    let told: Vec<String> = parts
        .iter()
        .map(|(name, why)| format!("  {name}: {why}"))
        .collect();
    match told.len() + gaps.len() {
        0 => Vec::new(),
        _ => [vec!["Not all could be seen:".to_owned()], told, gaps].concat(),
    }
}

fn doing(part: &str) -> &'static str {
    match part {
        "log" => "reading the log",
        "docker" => "asking Docker, reading the host",
        _ => "reading",
    }
}
