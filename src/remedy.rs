//! What may be done about a finding, in which order, how it is done, and how it is proved.

pub mod apply;
pub mod fix;
