//! A daemon played over a Unix socket.
