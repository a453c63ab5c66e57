//! `plegdoctor clean`: look, plan, show, ask, remove, tell.
//!
//! The one place that ties Docker, the plan, its removal and the printers together. Nothing is removed that was
//! not shown: where the plan can't be written, the run ends.

pub(super) mod look;

use crate::{
    cli::{self, CleanArgs},
    finding::plan::{Cleaned, Ending, Fate, Filters, Plan, Request, Target},
    remedy::apply::{self, Audit, Clock, Interrupts, RemoveOptions},
    render::{self, Format, plain::visible},
    runtime::docker::Docker,
};
use anyhow::{Context as _, bail};
use chrono::TimeDelta;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use look::{Eyes, Look};
use std::{
    io::{self, BufRead as _, IsTerminal as _, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

/// Removes what `args` ask for, and writes what was planned and done to `out`.  Returns 0 when all planned containers
/// are gone or the plan was only to be shown, 1 when some are left or could not be seen.
///
/// # Errors
/// It could not work: a filter makes no sense, Docker can't be listed, the audit can't be opened, the plan can't be
/// shown, or nobody can be asked.
pub fn run(args: &CleanArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let clock = Clock::starting(cli::clock());
    let request = request(args, clock)?;
    let endpoint = args.docker.endpoint();
    let docker = Docker::open(&endpoint, args.probe_timeout)?;
    let eyes = Eyes {
        lists: Docker::open(&endpoint, args.timeout.max(args.probe_timeout))?,
        inspects: docker.clone(),
        endpoint,
        max_unanswered: args.max_unanswered.into(),
        request,
        clock,
    };
    let audit = match &args.audit {
        Some(path) if !args.dry_run => Some(Arc::new(Audit::open(path, clock)?)),
        _ => None,
    };
    let Look {
        mut containers,
        plan,
        unreadable,
    } = eyes.first()?;
    let mut cleaned = match decide(args, &plan, clock, out)? {
        Decision::Leave(why) => Cleaned::untouched(plan, args.dry_run, why),
        Decision::Go => {
            let orders = RemoveOptions {
                docker,
                jobs: args.jobs.into(),
                timeout: args.timeout,
                patience: patience(args),
                audit,
            };
            let again: apply::Look = Box::new(move || eyes.again(&mut containers));
            carry_out(plan, &orders, again)?
        }
    };
    cleaned.notes.extend(unreadable);
    let told = tell(args, &cleaned, out);
    let done = cleaned.is_done() && told.is_ok();
    if let Err(error) = told {
        if cleaned.is_untouched() {
            return Err(error);
        }
        // What was removed stays removed: this is not "it could not work".
        let _ = writeln!(
            io::stderr(),
            "plegdoctor: {}",
            visible(&format!("{error:#}"))
        );
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
    /// No, for this reason; a dry run needs none.
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
            "nothing was removed: there is no terminal to ask on; add --yes to remove these, or --dry-run to only look"
        );
    }
    Ok(if confirm(plan.targets.len())? {
        Decision::Go
    } else {
        Decision::Leave(Some("not confirmed"))
    })
}

/// Asks on the terminal. Only a yes is a yes; the end of input is not.
fn confirm(count: usize) -> anyhow::Result<bool> {
    let them = match count {
        1 => "this container".to_owned(),
        _ => format!("these {count} containers"),
    };
    let mut terminal = io::stderr();
    write!(terminal, "\nRemove {them}? [y/N] ").and_then(|()| terminal.flush())?;
    let mut answer = Vec::new();
    io::stdin()
        .lock()
        .read_until(b'\n', &mut answer)
        .context("can't read the answer")?;
    let answer = answer.trim_ascii();
    Ok(answer.eq_ignore_ascii_case(b"y") || answer.eq_ignore_ascii_case(b"yes"))
}

/// How long one attempt may take: two inspects, a removal, two lines of audit, and some slack.
fn patience(args: &CleanArgs) -> Duration {
    args.timeout
        .saturating_add(args.probe_timeout.saturating_mul(2))
        .saturating_add(Duration::from_secs(30))
}

/// Removes what is planned, with a bar on standard error if that is a terminal; `again` tells whether it still holds.
fn carry_out(plan: Plan, orders: &RemoveOptions, again: apply::Look) -> anyhow::Result<Cleaned> {
    if plan.targets.is_empty() {
        return Ok(Cleaned::untouched(plan, false, None));
    }
    let interrupts = Interrupts::watch().context("can't watch for Ctrl-C")?;
    let bar = bar(plan.targets.len());
    let mut failed = 0_usize;
    let mut ended = |_: &Target, ending: &Ending| {
        failed += usize::from(!ending.fate.is_gone() && ending.fate != Fate::Planned);
        if failed > 0 && interrupts.count() == 0 {
            bar.set_message(format!("{failed} not removed"));
        }
        bar.inc(1);
    };
    let stopping = || bar.set_message("stopping…");
    let (endings, notes) = apply::remove(&plan, orders, again, &interrupts, &mut ended, &stopping);
    bar.finish_and_clear();
    Ok(Cleaned {
        dry_run: false,
        plan,
        endings,
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
fn tell(args: &CleanArgs, cleaned: &Cleaned, out: &mut dyn Write) -> anyhow::Result<()> {
    let told = match args.format {
        Format::Json => render::clean::json::write(cleaned, out),
        Format::Text => render::clean::results(cleaned, cli::width(), out),
    };
    match told.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("can't write the result")
        }
        _ => Ok(()),
    }
}
