//! Saves a file that was not there, and sees that it is on the disk. A dead disk is given up in time.

use anyhow::{Context as _, bail};
use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

/// How long that may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Writes `bytes` to a new file at `path`, which only its owner can read.
///
/// # Errors
/// There is such a file already; or it can't be written, or not in time.
pub fn new(path: &Path, bytes: Vec<u8>) -> anyhow::Result<()> {
    let context = || format!("can't write {}", path.display());
    let (tell, told) = mpsc::sync_channel(1);
    let owned = path.to_owned();
    thread::Builder::new()
        .name("save".to_owned())
        .spawn(move || {
            // Whoever asked may have given up.
            let _ = tell.send(write(&owned, &bytes));
        })
        .with_context(context)?;
    match told.recv_timeout(DEADLINE) {
        Ok(written) => written.with_context(context),
        Err(_) => bail!("{}: no answer in {} s", context(), DEADLINE.as_secs()),
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_new_file_is_written_and_an_old_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evidence");
        super::new(&path, b"one".to_vec()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        let error = super::new(&path, b"two".to_vec()).unwrap_err();
        assert!(format!("{error:#}").contains("exists"), "{error:#}");
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert!(super::new(&folder.path().join("no/such"), Vec::new()).is_err());
    }
}
