//! `plegdoctor collect`: looks at all there is, and saves it. Judges nothing.

use super::{observe::live, progress::Progress};
use crate::{
    capture::{Keep, Kept, Privacy, Saving},
    cli::CollectArgs,
    log::Gauge,
};
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
    // A name that is taken is told before anything is asked.
    let saving = Saving::begin(&args.output)?;
    args.look.log.since.get_or_insert_with(|| SPAN.to_owned());
    let gauge = Gauge::default();
    let progress = Progress::of_all(&gauge);
    let say = progress.teller();
    let watcher = progress.teller();
    let privacy = match args.with_workloads {
        true => Privacy::WithWorkloads,
        false => Privacy::Reserved,
    };
    let keep = Keep::new(privacy).thorough(Box::new(move |part| watcher(doing(part))));
    let evidence = live::observe_with(&args.look, Some(&keep), &gauge)?;
    say("writing");
    let mut kept = keep.finish(&evidence);
    live::sign(&mut kept, "collect");
    if args.redact {
        kept.redact()?;
    }
    let complete = kept.is_complete();
    let missing = missing(&kept);
    let length = saving.write(kept)?;
    drop(progress);
    let path = args.output.display();
    writeln!(out, "{path}: {}", HumanBytes(length))
        .and_then(|()| missing.iter().try_for_each(|line| writeln!(out, "{line}")))
        .and_then(|()| out.flush())
        .context("can't write what was saved")?;
    Ok(ExitCode::from(u8::from(!complete)))
}

/// Returns what is missing, a line each.
fn missing(kept: &Kept) -> Vec<String> {
    let manifest = &kept.manifest;
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
        "docker" => "asking Docker, looking at the host",
        _ => "looking",
    }
}
