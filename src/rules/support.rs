//! What rules share: the answers they give, signatures of the log, exclusions, subjects, steps and wording.

pub(crate) mod answer;
pub(crate) mod bind_mounts;
pub(crate) mod calls;
pub(crate) mod case;
pub(crate) mod causality;
pub(crate) mod cite;
pub(crate) mod daemon_stacks;
pub(crate) mod holders;
pub(crate) mod kubelet_metrics;
pub(crate) mod list_size;
pub(crate) mod log_lines;
pub(crate) mod next_step;
pub(crate) mod old_form;
pub(crate) mod on_disk;
pub(crate) mod remedies;
pub(crate) mod rotating_timeouts;
pub(crate) mod signature;
pub(crate) mod step;
pub(crate) mod subject;
pub(crate) mod wording;
