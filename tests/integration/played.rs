//! What no real daemon does on demand: answers played over a Unix socket.
