//! Captures: all that a run has seen, as files, so that it can be judged again elsewhere.
//!
//! A capture is a folder, or a `.tar.gz` of one:
//!
//! | part | what |
//! |---|---|
//! | `manifest.json` | when, where, with which options; what could not be seen (`manifest`) |
//! | `kubelet.log`, `kubelet-2.log`, … | the logs as they were read |
//! | `docker/` | Docker's answers with their times (`runtime::docker::tape`) |
//! | `host/` | what the kernel told (`host::files`) |
//! | others | whatever `Keep::add` was given, read with `Capture::file` |
//!
//! The cases of `fixtures/cases` have the same form, most without a manifest. To keep one more thing: add its top folder
//! to `PARTS`, `Keep::add` it where it is seen, and read it with `Capture::file` in `gather::replay`. What is read of
//! the host through a `Tree` needs nothing of that.
//!
//! Secrets stay behind (`privacy`); names can be replaced (`redact`).

mod keep;
pub mod manifest;
mod privacy;
mod read;
mod redact;
mod saving;
mod write;

pub use keep::{Keep, Kept};
pub use manifest::Manifest;
pub use privacy::Privacy;
pub use read::Capture;
pub use saving::{Saving, receive};
pub use write::Archive;

/// The folders of a capture that hold parts.
pub const PARTS: &[&str] = &["docker", "host", "kubelet", "docker-files"];
