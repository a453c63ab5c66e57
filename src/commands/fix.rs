//! `plegdoctor diagnose --fix`: report, then the mildest remedy, then a check whether that was enough, and so on.
//!
//! Nothing is done that was not shown and agreed to, nothing before the evidence is saved and the audit is open, and
//! nothing more once nothing is wrong. Something harsher than what was just done waits until the node had time to
//! become well by that.

mod backup;
mod output;
mod recheck;
mod removal;

use super::prompt::Answer;
use super::{observe, prompt};
use crate::capture::{Recorder, Sanitize};
use crate::cli::DiagnoseArgs;
use crate::evidence::Evidence;
use crate::finding::action::Action;
use crate::finding::outcome::{ActionRecord, Asked, Outcome, Status};
use crate::node::DEFAULT_ENDPOINT;
use crate::remedy::apply::{Audit, Clock, Execution, Executor, Interrupts};
use crate::remedy::fix::Step;
use crate::remedy::{apply, fix};
use crate::render::{Format, Style};
use crate::report::Report;
use crate::runtime::docker::Docker;
use crate::syntax::time::Time;
use crate::{cli, report};
use anyhow::{Context as _, bail};
use output::Output;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

/// How long to wait before the first look after an action, and the longest pause between two: an inspect that hangs
/// leaves a goroutine in the daemon each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(16);

/// So many steps are enough: what comes back each time is not healed by doing it again.
const MAX_STEPS: usize = 50;

/// Diagnoses, acts, and writes the report and what was done to `out`.  Returns 0 when nothing is wrong at the end, 1
/// when something is, 2 when that could not be seen.
///
/// # Errors
/// As `diagnose`; or nobody can be asked, or what must be written before anything is changed can't be.
pub fn run(args: &DiagnoseArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    if args.look.log.log.iter().any(|path| path == Path::new("-")) {
        bail!("--fix cannot reread a log from standard input: name a file, or leave --log out");
    }
    let clock = Clock::starting(cli::clock());
    let style = Style {
        width: cli::width(),
        color: cli::color(args.color),
    };
    let keeps = !(args.fix.no_collect || args.fix.dry_run);
    let keep = keeps.then(|| Recorder::new(Sanitize::Workloads));
    let first = observe(args, keep.as_ref())?;
    let mut output = Output {
        format: args.format,
        style,
        // Standard output is the script's; and who is asked must see what about.
        aside: args.format == Format::Json || !(args.fix.yes || io::stdout().is_terminal()),
        out,
    };
    match output.report(&first.report) {
        // A closed pipe must not pass for a node that was healed.
        Err(error) if !args.fix.dry_run => bail!("nothing was changed: {error:#}"),
        written => written?,
    }
    let steps = fix::steps(&first.report);
    if args.fix.dry_run || steps.is_empty() || fix::is_well(&first.report) {
        let records = planned(&steps, args, clock);
        return output.end(first.report, records, &[]);
    }
    let asks = !args.fix.yes;
    if asks && !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        output.flush()?;
        bail!(
            "nothing was changed: no terminal to ask on; add --yes to do what --max-risk allows, or --dry-run to only show it"
        );
    }
    let endpoint = if args.look.no_docker {
        DEFAULT_ENDPOINT.to_owned()
    } else {
        args.look.docker.endpoint()
    };
    let mut run = Run {
        args,
        clock,
        docker: Docker::open(&endpoint, args.look.probe_timeout)?,
        endpoint,
        interrupts: Interrupts::watch().context("can't watch for Ctrl-C")?,
        keep,
        audit: None,
        settled: BTreeSet::new(),
        steps: 0,
        records: Vec::new(),
        notes: Vec::new(),
        healed: None,
        stopped: false,
        asked_for: BTreeMap::new(),
        unsure: BTreeSet::new(),
    };
    let mut last = run.go(first, &mut output)?;
    let Run {
        records,
        notes,
        healed,
        ..
    } = run;
    if let Some((at, title)) = healed {
        last.report.note_healed(&last.evidence, at, &title);
    }
    output.end(last.report, records, &notes)
}

struct Observation {
    evidence: Evidence,
    report: Report,
}

fn observe(args: &DiagnoseArgs, keep: Option<&Recorder>) -> anyhow::Result<Observation> {
    let evidence = observe::observe_with_progress(&args.look, keep)?;
    Ok(Observation {
        report: report::diagnose(&evidence),
        evidence,
    })
}

fn planned(steps: &[Step], args: &DiagnoseArgs, clock: Clock) -> Vec<ActionRecord> {
    let now = clock.now();
    let status = |step: &Step| {
        if step.risk <= args.fix.limit() {
            Status::Planned
        } else {
            Status::AboveRisk
        }
    };
    let records = steps.iter().flat_map(|step| {
        let record = move |action| {
            let outcome = Outcome::new(status(step));
            step.record(action, Asked::Nobody, (now, now), outcome)
        };
        step.actions.iter().map(record)
    });
    records.collect()
}

struct Run<'a> {
    args: &'a DiagnoseArgs,
    clock: Clock,
    docker: Docker,
    endpoint: String,
    interrupts: Interrupts,
    /// What the first look has seen, until it is saved; none if it need not be.
    keep: Option<Recorder>,
    audit: Option<Arc<Audit>>,
    /// What needs no second thought: done, refused, or in vain.
    settled: BTreeSet<Action>,
    steps: usize,
    records: Vec<ActionRecord>,
    notes: Vec<String>,
    /// When something was last done, and about which trouble.
    healed: Option<(Time, String)>,
    stopped: bool,
    asked_for: BTreeMap<Action, Instant>,
    /// Restarts that were left because one source alone asked for them.
    unsure: BTreeSet<Action>,
}

impl Run<'_> {
    fn go(
        &mut self,
        mut last: Observation,
        output: &mut Output<'_>,
    ) -> anyhow::Result<Observation> {
        while !fix::is_well(&last.report) && !self.stopped {
            self.note_restarts(&last.report);
            let Some(step) = fix::next(&last.report, &self.settled) else {
                break;
            };
            self.steps += 1;
            if self.steps > MAX_STEPS {
                self.stop(Some(format!("still not resolved after {MAX_STEPS} steps")));
                break;
            }
            self.settled.extend(step.actions.iter().cloned());
            if step.risk > self.args.fix.limit() {
                self.skip(&step, Asked::Nobody, Status::AboveRisk);
                continue;
            }
            if self.args.fix.yes && step.is_guess() {
                self.skip(&step, Asked::Option, Status::Suspected);
                self.unsure.extend(step.actions);
                continue;
            }
            output.step(&step, self.args.fix.confirm_after)?;
            let asked = match self.agrees()? {
                Answer::Yes if self.args.fix.yes => Asked::Option,
                Answer::Yes => Asked::User,
                Answer::No => {
                    self.skip(&step, Asked::User, Status::Declined);
                    continue;
                }
                Answer::Interrupted => {
                    self.skip(&step, Asked::Nobody, Status::Interrupted);
                    self.stopped = true;
                    break;
                }
            };
            let audit = match &self.audit {
                Some(audit) => Arc::clone(audit),
                None => self.prepare(&last)?,
            };
            let mut step = step;
            if step.restarts() {
                let left = self.recheck(&step, asked, &mut last, output);
                match left {
                    Some(still) => step = still,
                    None => continue,
                }
            }
            let began = self.records.len();
            self.carry_out(&step, asked, &audit, output);
            for removal in fix::again(&self.records[began..], &self.records[..began]) {
                self.settled.remove(&removal);
            }
            last = self.observe_again(last, &step, began, output);
        }
        Ok(last)
    }

    fn agrees(&self) -> anyhow::Result<Answer> {
        if !self.args.fix.yes {
            prompt::discard_typed();
            return prompt::confirm("Do it?", &self.interrupts);
        }
        Ok(match self.interrupts.count() {
            0 => Answer::Yes,
            _ => Answer::Interrupted,
        })
    }

    /// Saves the evidence and opens the audit: both must be there before anything is changed.
    fn prepare(&mut self, last: &Observation) -> anyhow::Result<Arc<Audit>> {
        if let Some(keep) = self.keep.take() {
            let kept = backup::evidence(&self.args.fix, keep, &last.evidence, self.clock).context(
                "nothing was changed: the evidence can't be saved (skip it with --no-collect)",
            )?;
            self.notes
                .push(format!("evidence saved before the fix: {}", kept.display()));
        }
        let (audit, path) =
            backup::audit(&self.args.fix, self.clock).context("nothing was changed")?;
        self.notes.push(format!("audit log: {}", path.display()));
        let audit = Arc::new(audit);
        self.audit = Some(Arc::clone(&audit));
        Ok(audit)
    }

    fn carry_out(
        &mut self,
        step: &Step,
        asked: Asked,
        audit: &Arc<Audit>,
        output: &mut Output<'_>,
    ) {
        let output = RefCell::new(output);
        let show = |text: &str| output.borrow_mut().show(text);
        let removals: Vec<_> = step
            .actions
            .iter()
            .filter(|action| matches!(action, Action::RemoveContainer { .. }))
            .collect();
        if !removals.is_empty() {
            let began = self.clock.now();
            let removed =
                removal::remove(self.args, self.clock, audit, &self.interrupts, &removals);
            let (outcomes, stop) = removed;
            let span = (began, self.clock.now());
            for (action, outcome) in removals.into_iter().zip(outcomes) {
                self.records.push(step.record(action, asked, span, outcome));
            }
            self.stop(stop);
        }
        let stopped = self.stopped;
        let executor = Executor {
            docker: &self.docker,
            endpoint: &self.endpoint,
            confirm_after: self.args.fix.confirm_after,
            audit,
            clock: self.clock,
            interrupts: &self.interrupts,
            show: &show,
            observe: &apply::machine,
            open: RefCell::default(),
        };
        executor.open_inspects(&step.actions);
        let mut stops = Vec::new();
        for action in &step.actions {
            if matches!(action, Action::RemoveContainer { .. }) {
                continue;
            }
            let began = self.clock.now();
            let goes = self.interrupts.count() == 0 && stops.is_empty() && !stopped;
            let Execution { outcome, stop } = if goes {
                executor.execute(action)
            } else {
                Execution {
                    outcome: Outcome::new(Status::Interrupted),
                    stop: None,
                }
            };
            stops.extend(stop);
            self.records
                .push(step.record(action, asked, (began, self.clock.now()), outcome));
        }
        for stop in stops {
            self.stop(Some(stop));
        }
    }

    fn stop(&mut self, why: Option<String>) {
        self.stopped |= why.is_some();
        self.notes.extend(why.map(|why| format!("stopped: {why}")));
    }

    fn skip(&mut self, step: &Step, asked: Asked, status: Status) {
        self.skip_because(step, asked, &Outcome::new(status));
    }

    fn skip_because(&mut self, step: &Step, asked: Asked, outcome: &Outcome) {
        let now = self.clock.now();
        let record = |action| step.record(action, asked, (now, now), outcome.clone());
        self.records.extend(step.actions.iter().map(record));
    }

    /// Looks again, until the node is well, something as mild is to be done, or it had time enough.
    fn observe_again(
        &mut self,
        last: Observation,
        step: &Step,
        began: usize,
        output: &mut Output<'_>,
    ) -> Observation {
        let records = &self.records[began..];
        let acted = records
            .iter()
            .filter(|record| record.outcome.status.has_acted())
            .filter_map(|record| Some((record.outcome.at?, record.finding)))
            .max();
        if let Some((at, id)) = acted {
            let about = last.report.findings.iter().find(|it| it.id == id);
            self.healed = about.map(|finding| (at, finding.title.clone()));
        }
        let acted = acted.map(|(at, _)| at);
        // What is over by itself may need as long to be told as what was ended.
        let waits = records
            .iter()
            .any(|record| record.outcome.status.may_have_healed());
        if !waits && self.interrupts.count() > 0 {
            self.stop(Some("interrupted".to_owned()));
            return last;
        }
        // That a relist which never stood still is at work proves nothing.
        let acted = acted.filter(|_| fix::relist_stood(&last.evidence));
        let (since, mut pause, mut last) = (Instant::now(), FIRST_PAUSE, last);
        let mut relist = None;
        loop {
            match observe(self.args, None) {
                Ok(now) => last = now,
                Err(error) => {
                    self.stop(Some(format!("cannot observe the node again: {error:#}")));
                    break;
                }
            }
            relist = relist.or_else(|| fix::relist_after(&last.evidence, acted?));
            let next = fix::next(&last.report, &self.settled);
            let is_milder_next = next.is_some_and(|next| next.is_as_mild_as(step));
            let left = self.args.fix.settle.saturating_sub(since.elapsed());
            if fix::is_well(&last.report) || is_milder_next || !waits || left.is_zero() {
                break;
            }
            if pause == FIRST_PAUSE {
                output.show("Not resolved yet; checking repeatedly whether the node recovers.");
            }
            if self.sleep(pause.min(left)) {
                break;
            }
            pause = (pause * 2).min(MAX_PAUSE);
        }
        if self.interrupts.count() > 0 {
            self.stop(Some("interrupted".to_owned()));
        }
        if let Some(relist) = relist {
            for record in &mut self.records[began..] {
                record.outcome.note_relist(relist);
            }
        }
        last
    }

    fn sleep(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        while Instant::now() < until && self.interrupts.count() == 0 {
            thread::sleep(Duration::from_millis(50));
        }
        self.interrupts.count() > 0
    }
}
