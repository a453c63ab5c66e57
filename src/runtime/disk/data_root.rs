//! Where a Docker keeps its files: told by its command line, its settings, or custom. Opens nothing.

use crate::node::{DEFAULT_ROOT, Host, Process, is_default_endpoint};
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Docker's file of settings, unless told otherwise.
const SETTINGS: &str = "/etc/docker/daemon.json";

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct DataRoot {
    /// The root directory of the machine whose Docker it is
    #[arg(long)]
    under: PathBuf,
    /// The data root, if it is known
    #[arg(long)]
    root: Option<String>,
    /// The file of settings, which may tell it
    #[arg(long)]
    settings: Option<String>,
    /// Whether the command line tells that containers go on without the daemon
    #[arg(long)]
    live_restore: bool,
}

impl DataRoot {
    /// Returns the data root that the user named.
    pub fn named(root: &Path) -> Self {
        Self {
            under: PathBuf::from(DEFAULT_ROOT),
            root: Some(root.display().to_string()),
            settings: None,
            live_restore: false,
        }
    }

    #[cfg(test)]
    pub(super) fn for_tests(under: &Path, root: Option<&str>, settings: Option<&str>) -> Self {
        Self {
            under: under.to_owned(),
            root: root.map(str::to_owned),
            settings: settings.map(str::to_owned),
            live_restore: false,
        }
    }

    /// Returns the root directory of the machine.
    pub(super) fn under(&self) -> &Path {
        &self.under
    }

    /// Returns the data root, if it is known.
    pub(super) fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    pub(super) fn settings(&self) -> Option<&str> {
        self.settings.as_deref()
    }

    pub(super) fn live_restore(&self) -> bool {
        self.live_restore
    }

    /// Whether nothing but custom says that there is a Docker.
    pub(super) fn is_guess(&self) -> bool {
        self.root.is_none()
    }

    /// Returns it as a command line.
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words = vec!["--under".into(), self.under.clone().into()];
        let options = [("--root", &self.root), ("--settings", &self.settings)];
        for (option, value) in options {
            let value = value.iter().map(|value| format!("{option}={value}").into());
            words.extend(value);
        }
        words.extend(self.live_restore.then(|| "--live-restore".into()));
        words
    }
}

/// Returns where the Docker at `endpoint` keeps its files, on the machine whose root directory is `under`: what its
/// command line tells, or custom. `None` for another than the usual one that does not run: nothing tells.
pub fn data_root(endpoint: &str, host: Option<&Host>, under: &Path) -> Option<DataRoot> {
    let dockerd = host.and_then(|host| host.dockerd(endpoint));
    if dockerd.is_none() && !is_default_endpoint(endpoint, &under.to_string_lossy()) {
        return None;
    }
    let option = |names: &[&str]| dockerd.and_then(|it| Some(it.option(names)?.to_owned()));
    Some(DataRoot {
        under: under.to_owned(),
        root: option(&["--data-root", "--graph", "-g"]).filter(|root| root.starts_with('/')),
        settings: Some(option(&["--config-file"]).unwrap_or_else(|| SETTINGS.to_owned())),
        live_restore: dockerd.is_some_and(restores),
    })
}

fn restores(dockerd: &Process) -> bool {
    let mut words = dockerd.command.iter().flatten();
    words.any(|word| word == "--live-restore" || word == "--live-restore=true")
}
