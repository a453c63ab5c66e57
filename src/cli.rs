//! The command line, and the only place that reads the clock and the environment.
//!
//! Parsing does nothing but validate; what follows from the values is decided by the commands.

mod events;
mod explain;
pub mod fix;
mod times;

use crate::evidence::FRESH;
use crate::io::child;
use crate::log::options::{LogOptions, Moments};
use crate::node::DEFAULT_ENDPOINT;
use crate::node::observe::helper;
use crate::remedy::apply::mount;
use crate::render::Format;
use crate::runtime::disk::DataRoot;
use crate::syntax::time::Time;
use anyhow::{Context as _, bail};
use chrono::{DateTime, FixedOffset, Local};
use clap::{Args, Parser, Subcommand, ValueEnum, builder::PossibleValue};
pub use events::EventsArgs;
pub use explain::{ExplainArgs, PageFormat, Pager};
use fix::FixArgs;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use times::{Twice, Zone, moment, positive, utc_offset};

/// Diagnoses Kubernetes nodes with "PLEG is not healthy", and removes dead containers safely
///
/// Exit codes: 0 nothing is wrong (or all is done), 1 something is wrong, 2 the question could not be answered.
#[derive(Debug, Parser)]
#[command(
    name = "plegdoctor",
    version,
    max_term_width = 100,
    propagate_version = true
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read the kubelet's log, query Docker, and name the cause of "PLEG is not healthy"
    ///
    /// Changes nothing without --fix. Without --log, --journal, --journal-from or --log-container it reads
    /// the first that exists of: the kubelet's journal, a container named kubelet, /var/log/kubelet.log,
    /// /var/log/kubelet/, /var/log/messages, /var/log/syslog; of that the last 24 h, and of files at most 1 GiB.
    ///
    /// Exit codes: 0 all that was asked was seen and nothing is wrong now; 1 something is wrong now, or the log
    /// (where only a log was given) shows that it was; 2 the question could not be answered.
    Diagnose(Box<DiagnoseArgs>),
    /// Query Docker alone, and show how long each call and container takes, the slowest first
    ///
    /// Changes nothing. Says how long a relist of the kubelet would take: it lists sandboxes and containers, then
    /// asks the status of each pod that changed, one after the other. After 3 minutes without a list the PLEG is
    /// unhealthy.
    ///
    /// Exit codes: 0 all answered, and a relist takes less than 5 s where one pod changed and less than 1 minute (a
    /// third of the limit) where all did; 1 something did not answer, or a relist takes longer; 2 Docker could not be
    /// asked.
    Probe(ProbeArgs),
    /// Print the known messages of the kubelet's log as they are read, one JSON object a line, for jq and other tools
    ///
    /// Each has its time, id, severity, weight, and subject: pod, namespace, uid, sandbox, container, node,
    /// lag and threshold (in seconds), error, detail; and source, line and text (`plegdoctor schema event`). A line of
    /// the log that gives several reasons is an event for each, after one for itself. In the order of the log. What
    /// could not be seen is reported on standard error, a line each.
    ///
    /// Reads what `diagnose` reads, and judges nothing.
    ///
    /// Exit codes: 0 the log was read, whatever it says; 2 it could not be read, or not all of it.
    Events(Box<EventsArgs>),
    /// Save all evidence to one file, before anything is restarted: logs, Docker's answers and stacks, what the
    /// kernel shows
    ///
    /// Changes nothing; queries what `diagnose` queries, and always dockerd's stacks. `plegdoctor diagnose --capture FILE`
    /// judges it on any machine. Of the log it keeps the last 24 h, or what --since says.
    ///
    /// Environment variables, commands and labels of workloads are left out; secrets in the daemons' own command lines
    /// are masked. The logs are kept as they are: look into them before you give the file away.
    ///
    /// Exit codes: 0 all is saved; 1 saved, but something could not be seen (manifest.json says what and why); 2
    /// nothing was saved.
    Collect(Box<CollectArgs>),
    /// Remove dead, exited or never started containers, after showing which
    ///
    /// Running containers are never touched, volumes never removed, force never used.
    ///
    /// The plan is shown, and carried out once you say y. Each container is inspected again right before its
    /// removal, and skipped if it changed. Its logs go with it.
    ///
    /// Exit codes: 0 all planned containers are gone, or there was nothing to do, or --dry-run could see all; 1 some
    /// are left (all of them if the plan was not confirmed) or could not be seen; 2 it could not work, or there was
    /// no user to ask.
    Clean(CleanArgs),
    /// Explain a finding, a message of the kubelet's log, or pasted log lines
    ///
    /// Prints its page: what it means, why it matters, how to confirm it, what to do and what that costs, affected
    /// versions, and what is unproven. Without an ID it lists all. With - it reads log lines (in any form that
    /// `diagnose` reads, or a reason alone), identifies the message of each, and explains its content.
    ///
    /// Makes no calls and changes nothing. The pages are also in docs/findings and docs/messages.
    ///
    /// Exit codes: 0 explained; 1 none of the pasted lines is a known message; 2 there is no such ID, or nothing could
    /// be read.
    Explain(ExplainArgs),
    /// Print the JSON Schema of an output
    Schema {
        /// Which output
        #[arg(value_enum)]
        output: SchemaOf,
    },
    /// Detach a mount in another mount namespace: the part of `diagnose --fix` that needs a process of its own
    #[command(name = mount::SUBCOMMAND, hide = true)]
    DetachMount {
        /// A process in the namespace
        pid: u32,
        /// The namespace's number
        namespace: u64,
        /// The mount's number
        mount: u64,
        /// Where it is mounted there
        path: PathBuf,
    },
    /// Write what may hang whoever reads it: a part of `diagnose`, in a child that can be left behind
    #[command(name = child::READ, hide = true)]
    Read {
        /// What to read
        #[command(subcommand)]
        what: Reader,
    },
}

/// What a child of plegdoctor's own reads.
#[derive(Debug, Subcommand)]
pub enum Reader {
    /// A file of each of these processes
    Processes {
        /// The host's root directory
        root: PathBuf,
        /// Which file
        #[arg(value_enum)]
        what: helper::ProcFile,
        /// Which processes
        pids: Vec<u32>,
    },
    /// What Docker wrote of its containers
    Docker {
        /// Where
        #[command(flatten)]
        place: DataRoot,
        /// Which containers [default: all]
        ids: Vec<String>,
    },
    /// A file
    File {
        /// Its whole path
        file: String,
    },
    /// The names in some folders
    Folders {
        /// The host's root directory
        root: PathBuf,
        /// Which folders
        folders: Vec<String>,
    },
    /// What a program prints
    Program {
        /// Its whole path
        program: PathBuf,
        /// Its arguments
        args: Vec<OsString>,
    },
    /// A capture, from standard input, to write it
    Capture {
        /// The file
        file: PathBuf,
    },
    /// A container's log
    Log {
        /// Where
        #[command(flatten)]
        place: DataRoot,
        /// Whose
        id: String,
        /// Its file's name
        file: String,
        /// How many bytes of its end
        bytes: u64,
    },
}

/// The outputs that have a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// `diagnose --format json`
    Report,
    /// `probe --format json`
    Probe,
    /// `clean --format json`
    Clean,
    /// A line of `events`
    Event,
    /// `explain --format json`
    Explain,
    /// A line of `clean --audit` and of `diagnose --fix`'s audit
    Audit,
}

/// Whether to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Text, Self::Json]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Text => PossibleValue::new("text").help("For people"),
            Self::Json => {
                PossibleValue::new("json").help("For scripts; `plegdoctor schema` describes it")
            }
        })
    }
}

/// `plegdoctor diagnose`
#[derive(Debug, Args)]
pub struct DiagnoseArgs {
    /// Where to look
    #[command(flatten)]
    pub look: LookArgs,
    /// Judge this capture (a .tar.gz, or a folder of that form) in place of this machine
    #[arg(long, value_name = "PATH", help_heading = "Captures", conflicts_with_all = [
        "log", "journal", "journal_from", "log_container", "no_log", "log_timeout", "docker_host", "no_docker", "probe_timeout",
        "max_unanswered", "host_root", "no_host", "kubelet_metrics", "no_kubelet",
    ])]
    pub capture: Option<PathBuf>,
    /// Save what is judged to this file, a .tar.gz, so that --capture gives the same report elsewhere
    ///
    /// Without environment variables, commands and labels of workloads. Nothing is overwritten.
    #[arg(long, value_name = "FILE", help_heading = "Captures")]
    pub save: Option<PathBuf>,
    /// Whether to act on what was found
    #[command(flatten)]
    pub fix: FixArgs,
    /// How to print
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub format: Format,
    /// Whether to use colour
    #[arg(long, value_enum, default_value = "auto", help_heading = "Output")]
    pub color: ColorChoice,
}

/// `plegdoctor collect`
#[derive(Debug, Args)]
pub struct CollectArgs {
    /// Where to look
    #[command(flatten)]
    pub look: LookArgs,
    /// The file to write, a .tar.gz; nothing is overwritten
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Captures")]
    pub output: PathBuf,
    /// Keep environment variables, commands and labels of workloads, too: there may be secrets among them
    #[arg(long, help_heading = "Captures")]
    pub with_workloads: bool,
    /// Replace names of pods, namespaces, nodes, containers, images and servers, and IP addresses, each by the same
    /// one everywhere
    ///
    /// Other words of the logs stay as they are.
    #[arg(long, help_heading = "Captures")]
    pub redact: bool,
}

/// Where to look, and how patiently.
#[derive(Debug, Args)]
pub struct LookArgs {
    /// The kubelet's log
    #[command(flatten)]
    pub log: LogArgs,
    /// The runtime
    #[command(flatten)]
    pub docker: DockerArgs,
    /// Do not ask Docker, whatever --docker-host or DOCKER_HOST say
    #[arg(long, help_heading = "Docker")]
    pub no_docker: bool,
    /// Docker's data root, with the containers' files, read if Docker does not answer [default: dockerd's
    /// --data-root, else data-root of its daemon.json, else /var/lib/docker]
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Docker",
        conflicts_with = "no_docker_files"
    )]
    pub docker_root: Option<PathBuf>,
    /// Do not read Docker's files, even if it does not answer
    #[arg(long, help_heading = "Docker")]
    pub no_docker_files: bool,
    /// How long each call to Docker may take
    #[arg(long, value_name = "DUR", default_value = "3s", value_parser = positive, help_heading = "Docker")]
    pub probe_timeout: Duration,
    /// Stop asking after this many inspects without an answer (each leaves a goroutine in the daemon)
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Docker")]
    pub max_unanswered: u16,
    /// This machine
    #[command(flatten)]
    pub host: HostArgs,
    /// The kubelet's own endpoints
    #[command(flatten)]
    pub kubelet: KubeletArgs,
}

/// Which log to read, and how to read its times.
#[derive(Debug, Args)]
#[command(next_help_heading = "The kubelet's log")]
pub struct LogArgs {
    /// Read this file, this directory's kubelet logs, or standard input (-); may be repeated
    ///
    /// Each may be compressed (gzip, zstd, xz, bzip2), whatever its name, or a tar archive of logs. Logs are read in the
    /// order of their first lines; what several of them hold is counted once.
    #[arg(long = "log", value_name = "PATH|-")]
    pub log: Vec<PathBuf>,
    /// Read this unit's journal [default unit: kubelet, or k3s or rke2 where that is what runs]
    #[arg(long, value_name = "UNIT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub journal: Option<String>,
    /// Read the journal from this file or directory of journald's, such as a copy of another machine's
    /// /var/log/journal; may be repeated
    #[arg(long, value_name = "PATH")]
    pub journal_from: Vec<PathBuf>,
    /// Read this container's log through Docker (Rancher runs the kubelet as a container named kubelet)
    #[arg(long, value_name = "NAME")]
    pub log_container: Option<String>,
    /// Read no log
    #[arg(long, conflicts_with_all = ["log", "journal", "journal_from", "log_container"])]
    pub no_log: bool,
    /// Stop reading a log that was not named after this long
    #[arg(long, value_name = "DUR", default_value = "10s", value_parser = positive)]
    pub log_timeout: Duration,
    /// Threads that read a plain log file
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Skip what was logged before: RFC 3339, "2026-11-30 03:40", "03:40", "yesterday", or "2h" before now
    ///
    /// Of a long plain file whose times rise only that part is read, and 10 minutes around it.
    #[arg(long, value_name = "T")]
    pub since: Option<String>,
    /// Skip what was logged after
    #[arg(long, value_name = "T")]
    pub until: Option<String>,
    /// Use T as the current time (klog lines carry no year) [default: the clock]
    #[arg(long, value_name = "T")]
    pub now: Option<String>,
    /// The time zone of log lines without one [default: that of --now]
    #[arg(long, value_name = "±hh:mm", allow_hyphen_values = true, value_parser = utc_offset)]
    pub utc_offset: Option<FixedOffset>,
}

impl LogArgs {
    /// Returns whether files are to be read, which may be of any machine and time.
    pub fn names_files(&self) -> bool {
        !self.log.is_empty() || !self.journal_from.is_empty()
    }

    /// What `log` is to read.
    pub fn options(&self) -> LogOptions {
        // No more threads than there are cores to run them.
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = NonZeroUsize::new(self.threads.into());
        LogOptions {
            files: self.log.clone(),
            journal: self.journal.clone(),
            journal_from: self.journal_from.clone(),
            container: self.log_container.clone(),
            none: self.no_log,
            timeout: self.log_timeout,
            threads: threads.map_or(cores, |threads| threads.min(cores)),
            now_given: self.now.is_some(),
        }
    }
}

/// Which Docker to ask.
#[derive(Debug, Args)]
#[command(next_help_heading = "Docker")]
pub struct DockerArgs {
    /// Docker's socket, unix:// only [default: DOCKER_HOST, else unix:///var/run/docker.sock]
    #[arg(long, value_name = "URL")]
    pub docker_host: Option<String>,
}

/// Which machine to look at.
#[derive(Debug, Args)]
#[command(next_help_heading = "This host")]
pub struct HostArgs {
    /// Examine the host with this root directory (its proc and sys) [default: /]
    #[arg(long, value_name = "DIR")]
    pub host_root: Option<PathBuf>,
    /// Do not examine this host's processes and mounts
    #[arg(long, conflicts_with = "host_root")]
    pub no_host: bool,
}

/// What to ask the kubelet.
#[derive(Debug, Args)]
#[command(next_help_heading = "The kubelet itself")]
pub struct KubeletArgs {
    /// The kubelet's metrics: an http:// URL, or a file that holds what `kubectl get --raw
    /// /api/v1/nodes/NODE/proxy/metrics` printed [default: port 10255 of this host, beside /healthz on 10248]
    #[arg(long, value_name = "URL|FILE")]
    pub kubelet_metrics: Option<String>,
    /// Do not query the kubelet's health and metrics (--no-host skips them, too)
    #[arg(long, conflicts_with = "kubelet_metrics")]
    pub no_kubelet: bool,
}

/// `plegdoctor probe`
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// The runtime
    #[command(flatten)]
    pub docker: DockerArgs,
    /// How long each call to Docker may take
    #[arg(long, value_name = "DUR", default_value = "3s", value_parser = positive, help_heading = "Docker")]
    pub probe_timeout: Duration,
    /// Stop asking after this many inspects without an answer (each leaves a goroutine in the daemon)
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Docker")]
    pub max_unanswered: u16,
    /// Show all calls, not only the 20 slowest
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub format: Format,
}

/// `plegdoctor clean`
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Which kinds
    #[command(flatten)]
    pub kinds: Kinds,
    /// Skip containers that finished (or were created, if never started) less than DUR ago
    #[arg(long, value_name = "DUR", value_parser = positive)]
    pub older_than: Option<Duration>,
    /// Take only matching containers; may be repeated
    ///
    /// As in the docker command line: label=K[=V] (all given must match), label!=K[=V] (what has all given is out),
    /// name=REGEX (one given must match, with or without a leading slash), until=T (created at T or before; T is
    /// 24h or 3d before now, 2026-11-30T03:40:00Z, 2026-11-30T03:40, 2026-11-30, or seconds since 1970).
    #[arg(long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Let --exited take stopped containers of running pods too (kubectl logs --previous needs them)
    #[arg(long)]
    pub include_live_pods: bool,
    /// Let --exited and --created take containers that belong to no pod too
    #[arg(long)]
    pub include_non_pods: bool,
    /// Show the plan and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// How many removals at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
    /// How long to wait for each removal, and for the list of containers
    #[arg(long, value_name = "DUR", default_value = "30s", value_parser = positive)]
    pub timeout: Duration,
    /// How long each other call to Docker may take
    #[arg(long, value_name = "DUR", default_value = "3s", value_parser = positive)]
    pub probe_timeout: Duration,
    /// Stop inspecting after this many inspects without an answer (each leaves a goroutine in the daemon); what was
    /// not inspected is not removed
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_unanswered: u16,
    /// Append a JSON line before and after each removal to this file; if that fails, nothing (more) is removed
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// The runtime
    #[command(flatten)]
    pub docker: DockerArgs,
}

/// Which containers `clean` takes.
#[derive(Clone, Copy, Debug, Args)]
#[group(required = true, multiple = true)]
pub struct Kinds {
    /// Dead containers, and those whose removal is stuck: Docker can't start them again
    #[arg(long)]
    pub dead: bool,
    /// Stopped containers of pods that have no living sandbox
    #[arg(long)]
    pub exited: bool,
    /// Containers of pods that were created over 10 minutes ago and never started
    #[arg(long)]
    pub created: bool,
}

/// Columns of a terminal of unknown width.
const WIDTH: u16 = 80;

impl DockerArgs {
    /// Returns the socket to ask: the command line's, else the environment's, else Docker's own. An empty name is
    /// none, as for the docker command line.
    pub fn endpoint(&self) -> String {
        let environment = || std::env::var_os("DOCKER_HOST")?.into_string().ok();
        let named = self.docker_host.clone().or_else(environment);
        named
            .filter(|host| !host.is_empty())
            .unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned())
    }
}

/// Returns how many columns standard output has. A terminal that does not know (a serial console, `script`) says 0.
pub fn width() -> u16 {
    comfy_table::Table::new()
        .width()
        .filter(|columns| *columns > 0)
        .unwrap_or(WIDTH)
        .clamp(40, 120)
}

/// Returns whether to use colour on standard output.
pub fn color(choice: ColorChoice) -> bool {
    let plain =
        |name, plain: fn(&OsStr) -> bool| std::env::var_os(name).is_some_and(|value| plain(&value));
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            std::io::stdout().is_terminal()
                && !plain("NO_COLOR", |value| !value.is_empty())
                && !plain("TERM", |value| value == "dumb")
        }
    }
}

/// The current time, from the clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the clock"
)]
pub fn clock() -> Time {
    Local::now().fixed_offset()
}

impl LogArgs {
    /// Returns the moments meant, with the clock where `--now` is not given.
    ///
    /// # Errors
    /// Names the option whose value is no time.
    pub fn moments(&self) -> anyhow::Result<Moments> {
        let Some(text) = &self.now else {
            return self.moments_near(clock(), Zone::Machine);
        };
        let zone = self.utc_offset.map_or(Zone::Machine, Zone::Fixed);
        let now = moment(text, zone.at(clock()), zone, Twice::Last)
            .with_context(|| format!("--now {text}"))?;
        // One that names a zone is of a machine there.
        match DateTime::parse_from_rfc3339(text) {
            Ok(_) => self.moments_at(now),
            Err(_) => self.moments_near(now, zone),
        }
    }

    /// The moments meant, with `now` as the current time.
    ///
    /// # Errors
    /// Names the option whose value is no time.
    pub fn moments_at(&self, now: Time) -> anyhow::Result<Moments> {
        self.moments_near(now, Zone::Fixed(*now.offset()))
    }

    fn moments_near(&self, now: Time, zone: Zone) -> anyhow::Result<Moments> {
        let near = |option: &str, text: &Option<String>, twice| {
            text.as_deref()
                .map(|text| {
                    moment(text, now, zone, twice).with_context(|| format!("{option} {text}"))
                })
                .transpose()
        };
        let since = near("--since", &self.since, Twice::First)?;
        let until = near("--until", &self.until, Twice::Last)?;
        if since.zip(until).is_some_and(|(since, until)| since > until) {
            bail!("--since is after --until: nothing would be read");
        }
        // Lines that tell no zone are of the one that clocks had then, if that was one.
        let then = zone.at(until.unwrap_or(now));
        let one = since.is_none_or(|since| zone.at(since).offset() == then.offset());
        let now = match one {
            true => now.with_timezone(then.offset()),
            false => now,
        };
        Ok(Moments {
            now,
            replayed: (now - clock()).abs() > FRESH,
            utc_offset: self.utc_offset,
            since,
            until,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
