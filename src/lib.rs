//! plegdoctor: finds out why a Kubernetes node says "PLEG is not healthy".

pub mod apply;
pub mod cli;
pub mod commands;
pub mod duration;
pub mod event;
pub mod finding;
pub mod id;
pub mod plan;
pub mod render;
pub mod runtime;
