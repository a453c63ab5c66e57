//! The options of `diagnose --fix`.

use super::positive;
use crate::finding::Risk;
use clap::{Args, ValueEnum};
use std::{path::PathBuf, time::Duration};

/// Whether and how to act on what was found.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Acting on it")]
pub struct FixArgs {
    /// After the report, apply the remedies that plegdoctor can apply, the mildest first, asking before each
    ///
    /// Only for current findings, only on this machine. What it can do: remove a container that inspect shows
    /// exited, dead or never started; kill one OCI runtime process that keeps a container from answering (never a shim,
    /// a daemon or a workload); resume a stopped daemon that no debugger holds; detach one leaked mount; re-execute
    /// systemd; restart Docker, containerd or the kubelet. After each it checks again, and it stops as soon
    /// as nothing is wrong. Evidence and an audit file are written before anything is changed.
    ///
    /// Exit codes: 0 nothing is wrong now; 1 something still is; 2 it could not work, or there was no user to ask.
    #[arg(long, conflicts_with_all = ["host_root", "no_host", "now", "until", "capture", "save"])]
    pub fix: bool,
    /// Do not ask; do what is within --max-risk, and restart a daemon only where two sources agree that it is needed
    #[arg(long, short = 'y', requires = "fix")]
    pub yes: bool,
    /// Do nothing that may cost more than this [default: safe with --yes, else whatever you say y to]
    #[arg(long, value_enum, value_name = "RISK", requires = "fix")]
    pub max_risk: Option<MaxRisk>,
    /// Show what would be done and change nothing
    #[arg(long, requires = "fix", conflicts_with = "yes")]
    pub dry_run: bool,
    /// Kill a process only if one more inspect is not answered within this time; restart a daemon only if a check this
    /// long after the first one still calls for it
    #[arg(long, value_name = "DUR", default_value = "30s", value_parser = positive, requires = "fix")]
    pub confirm_after: Duration,
    /// After an action, wait this long for the node to recover before going further
    #[arg(long, value_name = "DUR", default_value = "60s", value_parser = positive, requires = "fix")]
    pub settle: Duration,
    /// Append a JSON line before and after each action to this file [default: plegdoctor-audit.jsonl here, else in /tmp]
    #[arg(long, value_name = "FILE", requires = "fix")]
    pub audit: Option<PathBuf>,
    /// Save the evidence (a capture) in this file before anything is changed [default: plegdoctor-TIME.tar.gz here, else
    /// in /tmp]
    #[arg(long, value_name = "FILE", requires = "fix")]
    pub collect_to: Option<PathBuf>,
    /// Do not save the evidence first
    #[arg(long, requires = "fix", conflicts_with = "collect_to")]
    pub no_collect: bool,
}

/// The most that may be risked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MaxRisk {
    /// Removing what is stopped
    Safe,
    /// One container or pod
    Disruptive,
    /// A daemon, systemd or the kubelet restarts
    Node,
}

impl FixArgs {
    /// Returns the most that may be risked.
    pub fn limit(&self) -> Risk {
        match self.max_risk {
            Some(MaxRisk::Safe) => Risk::Safe,
            Some(MaxRisk::Disruptive) => Risk::Disruptive,
            Some(MaxRisk::Node) => Risk::Node,
            None if self.yes => Risk::Safe,
            None => Risk::Node,
        }
    }
}

/// Returns the folders where a file without a name of the user's may be put, the better first.
pub fn folders() -> [PathBuf; 2] {
    [PathBuf::from("."), std::env::temp_dir()]
}
