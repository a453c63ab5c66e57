//! What stands in lines and arguments, as values: ids, spans of time, stamps, klog's header, the framing around lines.

pub mod citation;
pub mod duration;
pub mod framing;
pub mod id;
pub mod json;
pub mod klog;
pub mod time;
