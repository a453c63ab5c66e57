//! This machine, as the kernel tells it. So far its name; only this file reads `/proc`.

use anyhow::Context as _;
use std::fs;

/// Where the kernel tells the host's name.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";

/// Returns this host's name, as `uname -n` prints it.
///
/// # Errors
/// The file cannot be read: `/proc` is not there.
pub fn name() -> anyhow::Result<String> {
    let name = fs::read_to_string(HOSTNAME).with_context(|| format!("can't read {HOSTNAME}"))?;
    Ok(name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn the_name_is_what_uname_prints() {
        let uname = Command::new("uname").arg("-n").output().unwrap();
        assert_eq!(
            super::name().unwrap(),
            String::from_utf8(uname.stdout).unwrap().trim_end()
        );
    }
}
