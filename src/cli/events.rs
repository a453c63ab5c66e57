//! The options of `events`.

use super::{DockerArgs, LogArgs, positive};
use clap::Args;
use std::{path::PathBuf, time::Duration};

/// `plegdoctor events`
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// The kubelet's log
    #[command(flatten)]
    pub log: LogArgs,
    /// Follow what is written to the log from now on: one file, journal or pipe (--log or --journal)
    ///
    /// What is there already comes first (--since narrows it). A file may be rotated, truncated, or not be there yet. Ends on Ctrl-C or SIGTERM, when its output is closed, or with
    /// the pipe or journalctl. A line without known year or zone gets them from the current time and
    /// --utc-offset.
    #[arg(long, conflicts_with_all = ["log_container", "no_log", "until", "capture"])]
    pub follow: bool,
    /// Print messages that are context only, too: healthy logs are full of them
    #[arg(long)]
    pub all: bool,
    /// Read the logs of this capture (a .tar.gz, or a folder of that form) in place of this machine's
    #[arg(long, value_name = "PATH", help_heading = "Captures", conflicts_with_all = [
        "log", "journal", "log_container", "no_log", "log_timeout", "docker_host", "no_docker", "docker_root",
        "probe_timeout",
    ])]
    pub capture: Option<PathBuf>,
    /// The runtime, where the kubelet's log is a container's
    #[command(flatten)]
    pub docker: DockerArgs,
    /// Do not ask Docker for a container's log
    #[arg(long, help_heading = "Docker")]
    pub no_docker: bool,
    /// Docker's data root, where a container's log is if Docker does not answer [default: dockerd's --data-root, else
    /// data-root of its daemon.json, else /var/lib/docker]
    #[arg(long, value_name = "DIR", help_heading = "Docker")]
    pub docker_root: Option<PathBuf>,
    /// How long each call to Docker may take
    #[arg(long, value_name = "DUR", default_value = "3s", value_parser = positive, help_heading = "Docker")]
    pub probe_timeout: Duration,
}
