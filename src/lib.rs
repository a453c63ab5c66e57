//! plegdoctor: finds out why a Kubernetes node says "PLEG is not healthy".

pub mod cli;
pub mod digest;
pub mod duration;
pub mod event;
pub mod evidence;
pub mod finding;
pub mod host;
pub mod id;
pub mod incident;
pub mod log;
pub mod parser;
pub mod report;
pub mod rules;
pub mod runtime;
