//! What to do: commands with their risk and cost.

use crate::finding::{Remedy, Risk, action::Action};

/// A look: it changes nothing.
pub(crate) fn look(title: impl Into<String>, command: impl Into<String>) -> Remedy {
    step(title, command, Risk::Safe, "nothing")
}

/// A step that costs one container or pod.
pub(crate) fn disruptive(
    title: impl Into<String>,
    command: impl Into<String>,
    cost: impl Into<String>,
) -> Remedy {
    step(title, command, Risk::Disruptive, cost)
}

/// A step that restarts a daemon, systemd or the kubelet.
pub(crate) fn node(
    title: impl Into<String>,
    command: impl Into<String>,
    cost: impl Into<String>,
) -> Remedy {
    step(title, command, Risk::Node, cost)
}

fn step(
    title: impl Into<String>,
    command: impl Into<String>,
    risk: Risk,
    cost: impl Into<String>,
) -> Remedy {
    Remedy {
        title: title.into(),
        risk,
        command: command.into(),
        cost: cost.into(),
        actions: Vec::new(),
    }
}

impl Remedy {
    /// How to read what a look shows.
    #[must_use]
    pub(crate) fn note(mut self, note: &str) -> Self {
        self.cost = format!("nothing; {note}");
        self
    }

    /// What of it plegdoctor can do.
    #[must_use]
    pub(crate) fn actions(mut self, actions: Vec<Action>) -> Self {
        self.actions = actions;
        self
    }
}
