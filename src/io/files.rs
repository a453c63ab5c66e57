//! The machine's files, read without waiting and with a bound: the kernel's own, a folder that looks like them, or
//! what a capture holds. Everything that is seen of a host is read through a `Tree`, so that it can be kept (`FileRecorder`)
//! and read again elsewhere, with the same outcome.
//!
//! A recorded tree holds plain files only: a link is a file with the link's text, the second look at `status` is
//! `status.later`, the number of a folder's entries is `fd.count`, and what no file tells is under `told/`.

pub use super::recorder::Recorded;

use super::recorder::FileRecorder;
use rustix::{fs::OFlags, io::Errno};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

const MOST: u64 = 1 << 20;
/// Most that is read of a recorded kernel log; the kernel's own ring has mostly less than 1 MiB.
const MOST_RECORDS: u64 = 16 << 20;
/// Most records that are read; the kernel keeps some thousands.
const RECORDS: usize = 200_000;

/// A machine's files. Paths are relative to its root; a leading slash is the root's.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    origin: Origin,
    recorder: Option<Arc<FileRecorder>>,
}

#[derive(Clone, Debug)]
enum Origin {
    /// A running kernel's.
    Live,
    /// Those of a folder.
    Folder,
    /// Those of a capture.
    Recorded(Arc<Recorded>),
}

impl Tree {
    /// Returns the machine whose root directory that is: the kernel's own files if its `proc` has a link `self` (a
    /// recorded one holds plain files only).
    pub fn at(root: &Path) -> Self {
        let origin = match root.join("proc/self").is_symlink() {
            true => Origin::Live,
            false => Origin::Folder,
        };
        Self {
            root: root.to_owned(),
            origin,
            recorder: None,
        }
    }

    /// Returns the machine that a capture holds; it calls its root `root`.
    pub fn recorded(root: &str, files: Arc<Recorded>) -> Self {
        Self {
            root: PathBuf::from(root),
            origin: Origin::Recorded(files),
            recorder: None,
        }
    }

    /// Returns the same machine; whatever is read of it is kept in `recorder`.
    #[must_use]
    pub fn recorded_by(self, recorder: Arc<FileRecorder>) -> Self {
        Self {
            recorder: Some(recorder),
            ..self
        }
    }

    /// Returns the same machine; nothing that is read of it is kept. For a second look at what the first one keeps.
    pub(crate) fn unrecorded(&self) -> Self {
        Self {
            recorder: None,
            ..self.clone()
        }
    }

    /// Returns the root directory, as it was named.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a file's path as one would name it to a reader.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Returns whether these are a running kernel's files, which answer with the present.
    pub fn is_live(&self) -> bool {
        matches!(self.origin, Origin::Live)
    }

    /// Returns a file's bytes, cut at 1 MiB.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        let read = self.read(path, MOST);
        self.keep(path, read)
    }

    /// Returns a file's text, cut at 1 MiB; what is no text is replaced.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub fn text(&self, path: &str) -> io::Result<String> {
        self.bytes(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the text of a file that may be large, cut at `most` bytes, and whether that is all of it.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub fn large(&self, path: &str, most: u64) -> io::Result<(String, bool)> {
        // Mounts come and go between two looks; what is judged is what is kept, so the first answer is.
        let bytes = match self
            .recorder
            .as_ref()
            .and_then(|recorder| recorder.recorded(path))
        {
            Some(known) => known,
            None => {
                let read = self.read(path, most);
                self.keep(path, read)?
            }
        };
        let whole = (bytes.len() as u64) < most;
        Ok((String::from_utf8_lossy(&bytes).into_owned(), whole))
    }

    /// Returns a file's text at a second look: of a live machine what it says now, of a recorded one what the file of
    /// that name with `.later` at its end says.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub fn later(&self, path: &str) -> io::Result<String> {
        let later = format!("{path}.later");
        let read = self.read(if self.is_live() { path } else { &later }, MOST);
        self.keep(&later, read)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Lets that much time pass between two looks, and returns how much it was. A recorded machine takes none, and
    /// says how much it was then. `what` tells one such wait from another.
    pub fn pass(&self, what: &str, time: Duration) -> Duration {
        let passed = self.told(&format!("{what}-passed"), || {
            let started = Instant::now();
            thread::sleep(time);
            Some(started.elapsed().max(time).as_micros().to_string())
        });
        let micros = passed.as_deref().and_then(|text| text.trim().parse().ok());
        micros.map_or(time, Duration::from_micros)
    }

    /// Returns what only a look at the live machine tells, and no file: computed there by `tell`, read elsewhere from
    /// `told/NAME`.
    pub fn told(&self, name: &str, tell: impl FnOnce() -> Option<String>) -> Option<String> {
        let path = format!("told/{name}");
        if !self.is_live() {
            return self.text(&path).ok();
        }
        let told = tell()?;
        if let Some(recorder) = &self.recorder {
            recorder.record(&path, Ok(told.as_bytes()));
        }
        Some(told)
    }

    /// Returns where a link points to. None is followed.
    ///
    /// # Errors
    /// It is none, or cannot be read.
    pub fn link(&self, path: &str) -> io::Result<String> {
        // A process that ends between two looks must not count here and be missing there: the first answer is kept.
        if let Some(known) = self
            .recorder
            .as_ref()
            .and_then(|recorder| recorder.recorded(path))
        {
            return Ok(String::from_utf8_lossy(&known).trim_end().to_owned());
        }
        let read = match &self.origin {
            Origin::Recorded(_) => self.read(path, MOST),
            Origin::Live | Origin::Folder => match fs::read_link(self.path(path)) {
                Ok(target) => Ok(target.into_os_string().into_encoded_bytes()),
                Err(_) if !self.is_live() => self.read(path, MOST),
                Err(error) => Err(error),
            },
        };
        let bytes = self.keep(path, read)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// Returns the names in a folder; none is followed. In a recording a folder holds what was read of it, so what
    /// matters only by its name is read as well, or counted with `count`.
    ///
    /// # Errors
    /// It cannot be listed, or is not there.
    pub fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let names: BTreeSet<String> = match &self.origin {
            Origin::Live | Origin::Folder => {
                let entries = fs::read_dir(self.path(path))?.flatten();
                let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
                return Ok(names.collect());
            }
            Origin::Recorded(files) => {
                let folder = folder(path);
                let inside = files
                    .range(folder.clone()..)
                    .map_while(|(name, _)| name.strip_prefix(&folder));
                let first = |name: &str| name.split('/').next().unwrap_or(name).to_owned();
                inside.map(first).collect()
            }
        };
        match names.is_empty() {
            true => Err(ErrorKind::NotFound.into()),
            false => Ok(names.into_iter().collect()),
        }
    }

    /// Returns the names in a folder that are numbers: processes, threads. See `names`.
    ///
    /// # Errors
    /// It cannot be listed, or is not there.
    pub fn numbers(&self, path: &str) -> io::Result<Vec<u32>> {
        let names = self.names(path)?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Returns how many entries a folder has, of at most `most`.
    ///
    /// # Errors
    /// It cannot be listed, or is not there.
    pub fn count(&self, path: &str, most: usize) -> io::Result<u64> {
        let recorded = format!("{path}.count");
        if !self.is_live()
            && let Ok(text) = self.text(&recorded)
        {
            return text
                .trim()
                .parse()
                .map_err(|_| ErrorKind::InvalidData.into());
        }
        let count = match &self.origin {
            Origin::Recorded(_) => self.names(path)?.len().min(most),
            Origin::Live | Origin::Folder => fs::read_dir(self.path(path))?.take(most).count(),
        };
        if let Some(recorder) = &self.recorder {
            recorder.record(&recorded, Ok(count.to_string().as_bytes()));
        }
        Ok(count as u64)
    }

    /// Hands the records of a kernel log that is `path` to `take`, the oldest first. A live one is read to its end
    /// without waiting for the kernel's next word.
    ///
    /// # Errors
    /// It can't be opened.
    pub fn records(&self, path: &str, take: &mut dyn FnMut(&str)) -> io::Result<()> {
        let is_plain = !self.is_live() || self.path(path).is_file();
        if is_plain {
            let read = self.read(path, MOST_RECORDS);
            let bytes = self.keep(path, read)?;
            String::from_utf8_lossy(&bytes).lines().for_each(take);
            return Ok(());
        }
        let mut kept = self.recorder.as_ref().map(|_| Vec::new());
        let mut log = open(&self.path(path)).inspect_err(|error| self.fail(path, error))?;
        drain(&mut log, &mut |record| {
            let record = String::from_utf8_lossy(record);
            if let Some(kept) = &mut kept {
                // What follows the first line are the record's properties.
                kept.extend_from_slice(record.lines().next().unwrap_or_default().as_bytes());
                kept.push(b'\n');
            }
            take(&record);
        });
        if let (Some(recorder), Some(kept)) = (&self.recorder, kept) {
            recorder.record(path, Ok(newest(&kept)));
        }
        Ok(())
    }

    /// Keeps what was read on another way than through this tree, by a child for instance.
    pub(crate) fn note(&self, path: &str, bytes: &[u8]) {
        if let Some(recorder) = &self.recorder {
            recorder.record(path.trim_start_matches('/'), Ok(bytes));
        }
    }

    fn read(&self, path: &str, most: u64) -> io::Result<Vec<u8>> {
        if let Origin::Recorded(files) = &self.origin {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let bytes = files.get(path.trim_start_matches('/'));
            let bytes = bytes.ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
            return Ok(bytes[..bytes.len().min(most)].to_vec());
        }
        contents(open(&self.path(path))?, most)
    }

    fn keep(&self, path: &str, read: io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
        if let Some(recorder) = &self.recorder {
            recorder.record(path.trim_start_matches('/'), read.as_deref());
        }
        read
    }

    fn fail(&self, path: &str, error: &io::Error) {
        if let Some(recorder) = &self.recorder {
            recorder.record(path.trim_start_matches('/'), Err(error));
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // What is no file (a pipe in a folder that was named) must not make us wait, and a kernel log's end neither.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    File::options().read(true).custom_flags(flags).open(path)
}

/// Returns what a file holds, cut at `most` bytes. Of a process that ended after it was opened that is what it is of one
/// that ended before.
fn contents(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match file.take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {
            Err(ErrorKind::NotFound.into())
        }
        Err(error) => Err(error),
    }
}

/// Returns what a folder's files begin with.
fn folder(path: &str) -> String {
    let path = path.trim_matches('/');
    match path.is_empty() {
        true => String::new(),
        false => format!("{path}/"),
    }
}

/// Reads a device that gives a record at a time, to its end.
fn drain(log: &mut File, take: &mut dyn FnMut(&[u8])) {
    let mut record = [0; 8192];
    for _ in 0..RECORDS {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => take(&record[..length]),
            // Overwritten while we read (EPIPE), or too long a record (EINVAL): the next one.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::BrokenPipe | ErrorKind::InvalidInput | ErrorKind::Interrupted
                ) => {}
            // The end.
            Err(_) => break,
        }
    }
}

/// Returns the newest lines that are read again of a recording.
fn newest(lines: &[u8]) -> &[u8] {
    let most = usize::try_from(MOST_RECORDS).unwrap_or(usize::MAX);
    let Some(cut) = lines.len().checked_sub(most) else {
        return lines;
    };
    let start = memchr::memchr(b'\n', &lines[cut..]).map_or(lines.len(), |end| cut + end + 1);
    &lines[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the same files as a folder and as a capture holds them.
    fn both(files: &[(&str, &str)]) -> (tempfile::TempDir, [Tree; 2]) {
        let here = tempfile::tempdir().unwrap();
        let mut recorded = Recorded::new();
        for (name, text) in files {
            let path = here.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            recorded.insert((*name).to_owned(), text.as_bytes().to_vec());
        }
        let trees = [
            Tree::at(here.path()),
            Tree::recorded("/", Arc::new(recorded)),
        ];
        (here, trees)
    }

    #[test]
    fn a_large_file_that_changes_between_two_looks_is_judged_as_it_is_kept() {
        let (here, [folder, _]) = both(&[("proc/1/mountinfo", "one")]);
        let recorder = Arc::new(FileRecorder::default());
        let tree = folder.recorded_by(Arc::clone(&recorder));
        let look = || tree.large("proc/1/mountinfo", MOST).unwrap().0;
        assert_eq!(look(), "one");
        fs::write(here.path().join("proc/1/mountinfo"), "one and two").unwrap();
        assert_eq!(look(), "one");
        assert_eq!(recorder.finish().files["proc/1/mountinfo"], b"one");
    }

    #[test]
    fn a_folder_and_a_capture_answer_the_same() {
        let (_here, trees) = both(&[
            ("proc/7/stat", "seven"),
            ("proc/7/status", "now"),
            ("proc/7/status.later", "then"),
            ("proc/7/ns/mnt", "mnt:[4026531841]\n"),
            ("proc/7/fd.count", "12\n"),
            ("proc/70/fd/0", ""),
            ("proc/70/fd/1", ""),
            ("proc/uptime", "1 1"),
            ("told/watch-passed", "1500000"),
            ("dev/kmsg", "6,1,1,-;one\n6,2,2,-;two\n"),
        ]);
        for tree in trees {
            assert!(!tree.is_live());
            assert_eq!(tree.text("/proc/7/stat").unwrap(), "seven");
            assert_eq!(tree.later("proc/7/status").unwrap(), "then");
            assert_eq!(tree.link("proc/7/ns/mnt").unwrap(), "mnt:[4026531841]");
            assert_eq!(tree.numbers("proc").unwrap(), [7, 70]);
            assert_eq!(tree.count("proc/7/fd", 99).unwrap(), 12);
            assert_eq!(tree.count("proc/70/fd", 99).unwrap(), 2);
            let passed = tree.pass("watch", Duration::from_secs(9));
            assert_eq!(passed, Duration::from_millis(1500));
            assert_eq!(tree.told("nothing", || Some("x".to_owned())), None);
            let mut records = Vec::new();
            tree.records("dev/kmsg", &mut |record| records.push(record.to_owned()))
                .unwrap();
            assert_eq!(records, ["6,1,1,-;one", "6,2,2,-;two"]);
            for missing in [
                tree.text("proc/8/stat").map(drop),
                tree.names("proc/8").map(drop),
                tree.count("proc/8/fd", 1).map(drop),
                tree.link("proc/8/ns/mnt").map(drop),
            ] {
                assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
            }
        }
    }

    #[test]
    fn what_is_read_of_a_live_machine_is_kept_so_that_it_reads_the_same_elsewhere() {
        let here = tempfile::tempdir().unwrap();
        let own = here.path().join("proc/7");
        fs::create_dir_all(own.join("fd/0")).unwrap();
        std::os::unix::fs::symlink("7", here.path().join("proc/self")).unwrap();
        std::os::unix::fs::symlink("mnt:[1]", own.join("mnt")).unwrap();
        fs::write(own.join("status"), b"\xff now").unwrap();
        let look = |tree: &Tree| {
            let passed = tree.pass("watch", Duration::from_millis(3));
            (
                tree.bytes("/proc/7/status").unwrap(),
                tree.later("proc/7/status").unwrap(),
                tree.link("proc/7/mnt").unwrap(),
                tree.count("proc/7/fd", 9).unwrap(),
                tree.told("blind", || Some("so".to_owned())),
                tree.text("proc/7/wchan").is_err(),
                passed,
            )
        };
        let recorder = Arc::new(FileRecorder::default());
        let live = Tree::at(here.path()).recorded_by(Arc::clone(&recorder));
        assert!(live.is_live());
        let seen = look(&live);
        assert!(seen.6 >= Duration::from_millis(3));
        let kept = recorder.finish();
        // One that was left behind changes nothing any more.
        assert!(live.text("proc/7/status").is_ok());
        assert_eq!(look(&Tree::recorded("/", Arc::new(kept.files))), seen);
    }

    #[test]
    fn a_link_that_goes_between_two_looks_is_there_for_both_as_in_what_is_kept_of_it() {
        let here = tempfile::tempdir().unwrap();
        let own = here.path().join("proc/7");
        fs::create_dir_all(&own).unwrap();
        std::os::unix::fs::symlink("7", here.path().join("proc/self")).unwrap();
        std::os::unix::fs::symlink("mnt:[1]", own.join("mnt")).unwrap();
        let recorder = Arc::new(FileRecorder::default());
        let live = Tree::at(here.path()).recorded_by(Arc::clone(&recorder));
        let look = |tree: &Tree| tree.link("proc/7/mnt").ok();
        let before = look(&live);
        fs::remove_file(own.join("mnt")).unwrap();
        let seen = (before, look(&live));
        let recorded = Tree::recorded("/", Arc::new(recorder.finish().files));
        assert_eq!((look(&recorded), look(&recorded)), seen);
    }

    #[test]
    fn a_process_that_ends_before_its_file_is_read_is_not_there_and_no_failure() {
        let mut child = std::process::Command::new("sleep")
            .arg("99")
            .spawn()
            .unwrap();
        let file = File::open(format!("/proc/{}/stat", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let error = contents(file, MOST).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_is_looked_at_aside_is_not_kept() {
        let here = tempfile::tempdir().unwrap();
        fs::create_dir_all(here.path().join("proc/7")).unwrap();
        std::os::unix::fs::symlink("7", here.path().join("proc/self")).unwrap();
        fs::write(here.path().join("proc/7/stat"), "one").unwrap();
        let recorder = Arc::new(FileRecorder::default());
        let live = Tree::at(here.path()).recorded_by(Arc::clone(&recorder));
        assert_eq!(live.text("proc/7/stat").unwrap(), "one");
        fs::write(here.path().join("proc/7/stat"), "two").unwrap();
        assert_eq!(live.unrecorded().text("proc/7/stat").unwrap(), "two");
        assert_eq!(recorder.finish().files["proc/7/stat"], b"one");
    }

    #[test]
    fn of_a_long_kernel_log_the_newest_lines_are_kept_whole() {
        let line = [b"x".repeat(99), b"\n".to_vec()].concat();
        let lines = line.repeat(usize::try_from(MOST_RECORDS).unwrap() / 100 + 5);
        let kept = newest(&lines);
        assert!(kept.len() <= usize::try_from(MOST_RECORDS).unwrap());
        assert!(kept.starts_with(&line) && lines.ends_with(kept));
        assert_eq!(newest(b"a\n"), b"a\n");
    }
}
