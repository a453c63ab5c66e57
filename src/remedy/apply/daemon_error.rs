//! Why Docker did not remove a container, in plain words.
//!
//! The daemon's own words follow in brackets, so that nothing is lost in translation. Nothing here asks.

/// A tail of the daemon's message and what it means; `{}` is the path that the daemon names before it.
const MEANINGS: &[(&str, &str)] = &[
    // moby daemon/delete.go, and the drivers' errors, which end in the kernel's words for the errno.
    (
        "is already in progress",
        "its removal is already in progress in Docker",
    ),
    (
        "device or resource busy",
        "something is still mounted in {}; another process holds that mount in its own mount namespace",
    ),
    // The device mapper's own words.
    (
        "Device is Busy",
        "something still uses its file system's device",
    ),
    (
        "operation not permitted",
        "the kernel forbids deleting {}; perhaps an immutable file (lsattr shows an i; remove it with chattr -i)",
    ),
    ("permission denied", "no permission to delete {}"),
    (
        "directory not empty",
        "something still writes into {} while it is being deleted",
    ),
    (
        "read-only file system",
        "the file system of {} is read-only",
    ),
    ("no space left on device", "the disk of {} is full"),
    ("input/output error", "the disk fails at {}"),
    (
        "structure needs cleaning",
        "the file system is damaged at {}",
    ),
    (
        "stale file handle",
        "a network file system no longer knows {}",
    ),
    (
        "stale NFS file handle",
        "a network file system no longer knows {}",
    ),
    (
        "transport endpoint is not connected",
        "the server of the file system at {} is gone",
    ),
    (
        "context deadline exceeded",
        "containerd or a plugin of Docker timed out",
    ),
    (
        "running container",
        "it runs now, and Docker refuses to remove what runs",
    ),
    (
        "container is running",
        "it runs now, and Docker refuses to remove what runs",
    ),
    (
        "paused container",
        "it is paused now, and Docker refuses to remove what runs",
    ),
    (
        "container is paused",
        "it is paused now, and Docker refuses to remove what runs",
    ),
];

/// The daemon's `message` in plain words, with its own behind them.
pub(super) fn plain(message: &str) -> String {
    let message = message.trim();
    let found = MEANINGS.iter().find_map(|(words, meaning)| {
        let at = message.find(words)?;
        Some(match path_before(&message[..at]) {
            Some(path) => meaning.replace("{}", path),
            None => meaning.replace("{}", "a file of it"),
        })
    });
    match (found, message) {
        (_, "") => "Docker refused, and gave no reason".to_owned(),
        (Some(meaning), _) => format!("{meaning} (Docker: {message})"),
        (None, _) => format!("Docker: {message}"),
    }
}

/// The last absolute path in `text`, as in "unlinkat /var/lib/…/merged: ".
fn path_before(text: &str) -> Option<&str> {
    let end = text.trim_end().strip_suffix(':')?;
    let start = end.rfind(" /")? + 1;
    Some(&end[start..])
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn the_known_failures_are_told_in_plain_words_with_their_path() {
        // From moby's format strings and the reports of users; ids and layers made up.
        for (message, start) in [
            (
                r#"container 8c25: driver "overlay2" failed to remove root filesystem: unlinkat /var/lib/docker/overlay2/3f/merged: device or resource busy"#,
                "something is still mounted in /var/lib/docker/overlay2/3f/merged; ",
            ),
            (
                "unable to remove filesystem for 8c25: remove /var/lib/docker/containers/8c25/shm: device or resource busy",
                "something is still mounted in /var/lib/docker/containers/8c25/shm; ",
            ),
            (
                r#"container 8c25: driver "overlay2" failed to remove root filesystem: unlinkat /data/overlay2/3f/diff/stuck file: operation not permitted"#,
                "the kernel forbids deleting /data/overlay2/3f/diff/stuck file; perhaps an immutable",
            ),
            (
                "removal of container 8c25 is already in progress",
                "its removal is already in progress in Docker (Docker: removal of",
            ),
            (
                "Driver devicemapper failed to remove root filesystem 8c25: Device is Busy",
                "something still uses its file system's device",
            ),
            (
                "unlinkat /d/x: permission denied",
                "no permission to delete /d/x",
            ),
            (
                "You cannot remove a running container 8c25. Stop the container before attempting removal or force remove",
                "it runs now",
            ),
            (
                r#"cannot remove container "/web": container is running: stop the container before removing or force remove"#,
                "it runs now",
            ),
            (
                "device or resource busy",
                "something is still mounted in a file of it",
            ),
            (
                r#"cannot remove container "/web": container is paused and must be unpaused first"#,
                "it is paused now",
            ),
            (
                "You cannot remove a paused container 8c25. Unpause and then stop the container before attempting removal or force remove",
                "it is paused now",
            ),
        ] {
            let reason = plain(message);
            assert!(reason.starts_with(start), "{reason}");
            assert!(
                reason.ends_with(&format!("(Docker: {message})")),
                "{reason}"
            );
        }
    }

    #[test]
    fn unknown_words_are_passed_on_and_silence_is_named() {
        assert_eq!(plain("b\u{e4}h\n"), "Docker: b\u{e4}h");
        assert_eq!(
            plain("unlinkat /data/paused/x: bad message"),
            "Docker: unlinkat /data/paused/x: bad message"
        );
        assert_eq!(plain(" "), "Docker refused, and gave no reason");
    }
}
