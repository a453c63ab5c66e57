//! `plegdoctor clean`: look, plan, show, ask, remove, tell.
//!
//! The one place that ties Docker, the plan, its removal and the printers together. Nothing is removed that was
//! not shown: where the plan can't be written, the run ends.

use crate::{
    apply::{self, Audit, Clock, Interrupts, Orders},
    cli::{self, CleanArgs, Format},
    duration,
    plan::{Cleaned, Ending, Fate, Filters, Plan, Request, Target},
    render,
    runtime::{
        Outcome,
        docker::{Bounds, Docker, Listed},
    },
};
use anyhow::{Context as _, bail};
use chrono::TimeDelta;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{self, BufRead as _, IsTerminal as _, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

/// Unanswered inspects after which no more are sent: each leaves a goroutine and a descriptor in the daemon.
const MAX_UNANSWERED: usize = 16;
/// How long to go on sending inspects. Eighteen thousand containers take some ten seconds on a healthy daemon; a sick
/// one is given time, since what is not inspected is not removed, and the user can press Ctrl-C.
const INSPECT_BUDGET: Duration = Duration::from_secs(600);

/// Removes what `args` ask for, and writes what was planned and done to `out`.
///
/// Returns 0 when all planned containers are gone or the plan was only to be shown, 1 when some are left or could
/// not be seen.
///
/// # Errors
/// It could not work: a filter makes no sense, Docker can't be listed, the audit can't be opened, the plan can't be
/// shown, or nobody can be asked.
pub fn run(args: &CleanArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let clock = Clock::starting(cli::clock());
    let request = request(args, clock)?;
    let endpoint = &args.docker.endpoint();
    let docker = Docker::open(endpoint, args.probe_timeout)?;
    let audit = match &args.audit {
        Some(path) if !args.dry_run => Some(Arc::new(Audit::open(path, clock)?)),
        _ => None,
    };
    let (plan, unreadable) = look(&docker, endpoint, &request, clock)?;
    let mut cleaned = match decide(args, &plan, clock, out)? {
        Decision::Leave(why) => Cleaned::untouched(plan, args.dry_run, why),
        go => {
            let settled = match go {
                // The answer took its time.
                Decision::Confirmed => {
                    let (later, _) = look(&docker, endpoint, &request, clock)?;
                    plan.overtaken(&later)
                }
                _ => vec![None; plan.targets.len()],
            };
            let orders = Orders {
                docker,
                jobs: args.jobs.into(),
                timeout: args.timeout,
                patience: patience(args),
                audit,
            };
            carry_out(plan, settled, &orders)?
        }
    };
    cleaned.notes.extend(unreadable);
    tell(args, &cleaned, out)?;
    Ok(ExitCode::from(u8::from(!cleaned.is_done())))
}

/// Returns what the user wants removed.
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

/// Lists and inspects all containers, and plans. Returns beside the plan what the list held that has no id.
fn look(
    docker: &Docker,
    endpoint: &str,
    request: &Request,
    clock: Clock,
) -> anyhow::Result<(Plan, Option<String>)> {
    let Listed {
        probe,
        mut containers,
        ..
    } = docker.list();
    match (probe.outcome, &probe.error) {
        (Outcome::Answered, _) => {}
        (Outcome::TimedOut, None) => {
            let waited = TimeDelta::from_std(probe.took).unwrap_or(duration::NEVER);
            bail!(
                "Docker at {endpoint} does not answer: no list of containers in {} (many thousands may need a longer --probe-timeout)",
                duration::human(waited)
            );
        }
        (_, Some(words)) => bail!("can't list the containers of Docker at {endpoint}: {words}"),
        (_, None) => bail!("can't list the containers of Docker at {endpoint}"),
    }
    let bounds = Bounds {
        first: &[],
        max_unanswered: MAX_UNANSWERED,
        budget: INSPECT_BUDGET,
    };
    docker.inspect_all(&mut containers, &bounds);
    let unreadable = probe.error.map(|words| format!("Docker's list: {words}"));
    Ok((Plan::new(&containers, request, clock.now()), unreadable))
}

/// Whether to carry out the plan.
enum Decision {
    /// No, for this reason; a dry run needs none.
    Leave(Option<&'static str>),
    /// Yes, as was said beforehand.
    Go,
    /// Yes, as somebody said who was shown the plan.
    Confirmed,
}

/// Shows the plan, and asks where somebody can be asked.
fn decide(
    args: &CleanArgs,
    plan: &Plan,
    clock: Clock,
    out: &mut dyn Write,
) -> anyhow::Result<Decision> {
    let ask = !args.yes && !args.dry_run && !plan.targets.is_empty();
    let mut shown = Vec::new();
    render::clean::plan(plan, clock.now(), cli::width(), &mut shown)?;
    let unshown = "the plan can't be shown, so nothing was removed";
    if args.format == Format::Text {
        // Not as a closed pipe, which would pass for success.
        out.write_all(&shown)
            .and_then(|()| out.flush())
            .map_err(|error| anyhow::anyhow!("{unshown}: {error}"))?;
    }
    if args.dry_run {
        return Ok(Decision::Leave(None));
    }
    if !ask {
        return Ok(Decision::Go);
    }
    // Who is asked must see what about.
    if args.format == Format::Json || !io::stdout().is_terminal() {
        io::stderr().write_all(&shown).context(unshown)?;
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        bail!(
            "nothing was removed: there is no terminal to ask on; add --yes to remove these, or --dry-run to only look"
        );
    }
    Ok(if confirm(plan.targets.len())? {
        Decision::Confirmed
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

/// Returns how long one attempt may take: two inspects, a removal, two lines of audit, and some slack.
fn patience(args: &CleanArgs) -> Duration {
    args.timeout
        .saturating_add(args.probe_timeout.saturating_mul(2))
        .saturating_add(Duration::from_secs(30))
}

/// Removes what is planned, with a bar on standard error if that is a terminal.
fn carry_out(plan: Plan, settled: Vec<Option<Ending>>, orders: &Orders) -> anyhow::Result<Cleaned> {
    if plan.targets.is_empty() {
        return Ok(Cleaned::untouched(plan, false, None));
    }
    let interrupts = Interrupts::watch().context("can't watch for Ctrl-C")?;
    let bar = bar(plan.targets.len());
    let mut failed = 0_usize;
    let mut ended = |_: &Target, ending: &Ending| {
        failed += usize::from(!ending.fate.is_gone() && ending.fate != Fate::Planned);
        if failed > 0 {
            bar.set_message(format!("{failed} not removed"));
        }
        bar.inc(1);
    };
    let (endings, notes) = apply::remove(&plan, settled, orders, &interrupts, &mut ended);
    bar.finish_and_clear();
    Ok(Cleaned {
        dry_run: false,
        plan,
        endings,
        notes,
    })
}

/// Returns the progress bar; it draws nothing where standard error is no terminal.
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
        Format::Text if cleaned.dry_run => Ok(()),
        Format::Text => render::clean::results(cleaned, cli::width(), out),
    };
    match told.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("can't write the result")
        }
        _ => Ok(()),
    }
}
