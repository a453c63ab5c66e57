//! `plegdoctor clean`: scan, plan, show, ask, remove, report.
//!
//! The one place that ties Docker, the plan, its removal and the printers together. Nothing is removed that was
//! not shown: where the plan can't be written, the run ends.

use super::prompt;
use super::prompt::Answer;
use super::removal::{Limits, Scan, Scanner};
use crate::cli::CleanArgs;
use crate::finding::outcome::{Outcome, Status};
use crate::finding::plan::{CleanResult, Filters, Plan, Request, Target};
use crate::remedy::apply;
use crate::remedy::apply::{Audit, Clock, Interrupts, RemoveOptions, Replan};
use crate::render::Format;
use crate::render::layout::visible;
use crate::{cli, render};
use anyhow::{Context as _, bail};
use chrono::TimeDelta;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io;
use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::Arc;

/// Removes what `args` ask for, and writes what was planned and done to `out`.  Returns 0 when all planned containers
/// are gone or the plan was only to be shown, 1 when some are left or could not be seen.
///
/// # Errors
/// It could not work: a filter makes no sense, Docker can't be listed, the audit can't be opened, the plan can't be
/// shown, or nobody can be asked.
pub fn run(args: &CleanArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let clock = Clock::starting(cli::clock());
    let request = request(args, clock)?;
    let limits = Limits {
        endpoint: args.docker.endpoint(),
        probe_timeout: args.probe_timeout,
        timeout: args.timeout,
        max_unanswered: args.max_unanswered.into(),
    };
    let scanner = Scanner::new(limits, request, clock)?;
    let audit = match &args.audit {
        Some(path) if !args.dry_run => Some(Arc::new(Audit::open(path, clock)?)),
        _ => None,
    };
    let Scan {
        containers,
        plan,
        unreadable,
    } = scanner.scan()?;
    let mut result = match decide(args, &plan, clock, out)? {
        Decision::Leave(why) => CleanResult::untouched(plan, args.dry_run, why),
        Decision::Go => {
            let options = scanner.remove_options(args.jobs.into(), audit);
            carry_out(plan, &options, scanner.into_replan(containers))?
        }
    };
    result.notes.extend(unreadable);
    let written = write(args, &result, out);
    let done = result.is_done() && written.is_ok();
    if let Err(error) = written {
        if result.is_untouched() {
            return Err(error);
        }
        // What was removed stays removed: this is not "it could not work".
        let error = visible(&format!("{error:#}"));
        let _ = writeln!(io::stderr(), "plegdoctor: {error}");
    }
    Ok(ExitCode::from(u8::from(!done)))
}

fn request(args: &CleanArgs, clock: Clock) -> anyhow::Result<Request> {
    let older_than = args.older_than.map(TimeDelta::from_std).transpose();
    Ok(Request {
        dead: args.kinds.dead,
        exited: args.kinds.exited,
        created: args.kinds.created,
        include_live_pods: args.include_live_pods,
        include_non_pods: args.include_non_pods,
        older_than: older_than.context("--older-than is too long")?,
        filters: Filters::parse(&args.filter, clock.now())?,
    })
}

enum Decision {
    Leave(Option<&'static str>),
    Go,
}

fn decide(
    args: &CleanArgs,
    plan: &Plan,
    clock: Clock,
    out: &mut dyn Write,
) -> anyhow::Result<Decision> {
    let mut shown = Vec::new();
    render::clean::plan(plan, clock.now(), cli::width(), &mut shown)?;
    let unshown = "the plan can't be shown, so nothing was removed";
    // Not as a closed pipe, which would pass for success.
    let unshown = |error: io::Error| anyhow::anyhow!("{unshown}: {error}");
    if args.format == Format::Text {
        out.write_all(&shown)
            .and_then(|()| out.flush())
            .map_err(unshown)?;
    }
    if args.dry_run {
        return Ok(Decision::Leave(None));
    }
    if plan.targets.is_empty() {
        return Ok(Decision::Go);
    }
    // Standard output is the script's; and who is asked must see what about.
    let asks = !args.yes && !io::stdout().is_terminal();
    if args.format == Format::Json || asks {
        io::stderr().write_all(&shown).map_err(unshown)?;
    }
    if args.yes {
        return Ok(Decision::Go);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        bail!(
            "nothing was removed: no terminal to ask on; add --yes to remove these, or --dry-run to only show them"
        );
    }
    let them = match plan.targets.len() {
        1 => "this container".to_owned(),
        count => format!("these {count} containers"),
    };
    // Nothing is being done yet: Ctrl-C ends the program as ever.
    let answer = prompt::confirm(&format!("\nRemove {them}?"), &Interrupts::default())?;
    Ok(match answer {
        Answer::Yes => Decision::Go,
        Answer::No | Answer::Interrupted => Decision::Leave(Some("not confirmed")),
    })
}

/// Removes what is planned, with a bar on standard error if that is a terminal.
fn carry_out(plan: Plan, options: &RemoveOptions, replan: Replan) -> anyhow::Result<CleanResult> {
    if plan.targets.is_empty() {
        return Ok(CleanResult::untouched(plan, false, None));
    }
    let interrupts = Interrupts::watch().context("can't watch for Ctrl-C")?;
    let bar = bar(plan.targets.len());
    let mut failed = 0_usize;
    let mut ended = |_: &Target, outcome: &Outcome| {
        failed += usize::from(!outcome.status.is_gone() && outcome.status != Status::Planned);
        if failed > 0 && interrupts.count() == 0 {
            bar.set_message(format!("{failed} not removed"));
        }
        bar.inc(1);
    };
    let stopping = || bar.set_message("stopping…");
    let (outcomes, notes) =
        apply::remove(&plan, options, replan, &interrupts, &mut ended, &stopping);
    bar.finish_and_clear();
    Ok(CleanResult {
        dry_run: false,
        plan,
        outcomes,
        notes,
    })
}

/// The progress bar; it draws nothing where standard error is no terminal.
fn bar(length: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::stderr());
    if let Ok(style) =
        ProgressStyle::with_template("Removing [{bar:40}] {pos}/{len} {msg}  (Ctrl-C stops)")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Writes what became of the plan. What is done is done: a closed pipe does not change the exit code.
fn write(args: &CleanArgs, result: &CleanResult, out: &mut dyn Write) -> anyhow::Result<()> {
    let written = match args.format {
        Format::Json => render::json::write(result, out),
        Format::Text => render::clean::results(result, cli::width(), out),
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("can't write the result")
        }
        _ => Ok(()),
    }
}
