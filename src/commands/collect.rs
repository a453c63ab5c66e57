//! `plegdoctor collect`: looks at all there is, and saves it. Judges nothing.

use super::diagnose;
use crate::{
    capture::{Keep, Kept, Privacy, Saving},
    cli::{self, CollectArgs},
};
use anyhow::Context as _;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{io::Write, process::ExitCode, thread, time::Duration};

/// How far back a log is kept unless `--since` says.
const SPAN: &str = "24h";
/// How often the spinner moves.
const TICK: Duration = Duration::from_millis(120);

/// Runs it and returns the exit code.
///
/// # Errors
/// Nothing could be saved: bad values, an unreadable log, a file that is there already or can't be written.
pub fn run(mut args: CollectArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    // A name that is taken is told before anything is asked.
    let saving = Saving::begin(&args.output)?;
    args.look.log.since.get_or_insert_with(|| SPAN.to_owned());
    let spinner = spinner();
    let watcher = spinner.clone();
    let privacy = match args.with_workloads {
        true => Privacy::WithWorkloads,
        false => Privacy::Reserved,
    };
    let keep = Keep::new(privacy).thorough(Box::new(move |part| watcher.set_message(doing(part))));
    let evidence = diagnose::seen(&args.look, Some(&keep))?;
    spinner.set_message("writing");
    let mut kept = keep.finish(&evidence);
    sign(&mut kept, "collect");
    if args.redact {
        kept.redact()?;
    }
    let complete = kept.is_complete();
    let missing = missing(&kept);
    let length = saving.write(kept)?;
    spinner.finish_and_clear();
    let path = args.output.display();
    writeln!(out, "{path}: {}", HumanBytes(length))
        .and_then(|()| missing.iter().try_for_each(|line| writeln!(out, "{line}")))
        .and_then(|()| out.flush())
        .context("can't write what was saved")?;
    Ok(ExitCode::from(u8::from(!complete)))
}

/// Says in the manifest who made the capture, and when.
pub(super) fn sign(kept: &mut Kept, made_by: &str) {
    made_by.clone_into(&mut kept.manifest.made_by);
    kept.manifest.made_at = cli::clock().to_rfc3339();
}

/// Returns what is missing, a line each.
fn missing(kept: &Kept) -> Vec<String> {
    let manifest = &kept.manifest;
    let parts = manifest.parts.iter().filter(|part| !part.complete);
    let parts = parts.flat_map(|part| {
        let name = &part.name;
        part.why.iter().map(move |why| format!("  {name}: {why}"))
    });
    let told: Vec<String> = parts.collect();
    let gaps = manifest
        .gaps
        .iter()
        .map(|gap| format!("{}: {}", gap.what, gap.why));
    let gaps = gaps.filter(|gap| !told.iter().any(|line| line.ends_with(gap.as_str())));
    let gaps: Vec<String> = gaps.map(|gap| format!("  {gap}")).collect();
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

fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    // On standard error, and only if that is a terminal.
    spinner.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        spinner.set_style(style);
    }
    // Not by its own thread: where the node is out of tasks, the wish for one would end us.
    let turning = spinner.clone();
    let turn = move || {
        while !turning.is_finished() {
            turning.tick();
            thread::sleep(TICK);
        }
    };
    if !spinner.is_hidden() {
        // It then stands still.
        drop(
            thread::Builder::new()
                .name("spinner".to_owned())
                .spawn(turn),
        );
    }
    spinner
}
