//! Captures: all that a run observed, as files, so that it can be judged again elsewhere.
//!
//! A capture is a folder, or a `.tar.gz` of one:
//!
//! | part | what |
//! |---|---|
//! | `manifest.json` | when, where, with which options; what could not be seen (`manifest`) |
//! | `kubelet.log`, `kubelet-2.log`, … | the logs as they were read |
//! | `docker/` | Docker's answers with their times (`runtime::docker::transcript`) |
//! | `host/` | files of the kernel (`io::files`) |
//! | `kubelet/`, `docker-files/` | the kubelet's answers; what Docker wrote of its containers |
//!
//! The cases of `fixtures/cases` have the same form, most without a manifest. To record one more
//! thing: add its folder to `PARTS`, and `Recorder::add` and `Capture::take` it in `commands::observe`. What is read of
//! the host through a `Tree` needs nothing of that.
//!
//! Secrets are left out (`sanitize`); names can be replaced (`redact`).

pub mod manifest;
mod read;
mod recorder;
mod redact;
mod sanitize;
mod write;
mod writer_process;

pub use manifest::Manifest;
pub use read::Capture;
pub use recorder::{Recorder, Recording};
pub use sanitize::Sanitize;
pub use write::Archive;
pub use writer_process::{CaptureWriter, receive};

/// The folders of a capture that hold parts.
pub const PARTS: &[&str] = &["docker", "host", "kubelet", "docker-files"];
