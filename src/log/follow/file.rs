//! A file that grows, is rotated (by a new file of its name, or by a copy and truncation), is gone, or not there yet.
//!
//! It is polled several times a second: the kernel reports no changes of network file systems. What is written between
//! the last poll and a truncation is in the copy only, and that is a gap. A file that had the name between two polls only
//! is found among the rotations.

use super::rotated::{FileId, KnownRotations, Missed};
use super::{BLOCK, Message, ReadFrom, file_kind};
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Weak;
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use std::{fs, io, thread};

const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Bytes of its beginning that show whether it was rewritten: a klog line's stamp has microseconds.
const HEAD: usize = 256;

struct Closed;

struct FollowedFile {
    file: File,
    id: FileId,
    at: u64,
    head: Vec<u8>,
    /// Its size and time at the last poll.
    seen: Option<(u64, i64, i64)>,
    /// Its rotations when it was opened, or truncated.
    rotations: KnownRotations,
}

impl FollowedFile {
    fn new(file: File, id: FileId, rotations: KnownRotations) -> Self {
        Self {
            file,
            id,
            at: 0,
            head: Vec::new(),
            seen: None,
            rotations,
        }
    }
}

struct Follower<'a> {
    path: &'a Path,
    to: &'a SyncSender<Message>,
    opened: Option<FollowedFile>,
    last_warning: String,
}

/// Sends what is in the file at `path` and is written to it, until the receiver or `alive` is gone.
pub(super) fn follow(path: &Path, alive: &Weak<()>, to: &SyncSender<Message>) {
    let mut follower = Follower {
        path,
        to,
        opened: None,
        last_warning: String::new(),
    };
    while alive.strong_count() > 0 && follower.poll().is_ok() {
        thread::sleep(POLL_INTERVAL);
    }
}

fn id(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

impl Follower<'_> {
    fn poll(&mut self) -> Result<(), Closed> {
        if self.opened.is_none() {
            return self.open();
        }
        self.send_new()?;
        // The old file stays until the new one is written to: its writer may not know of it yet.
        let new = fs::metadata(self.path).ok().filter(|now| {
            let other = self.opened.as_ref().is_some_and(|old| old.id != id(now));
            other && now.is_file() && now.len() > 0
        });
        let Some(new) = new else {
            return Ok(());
        };
        self.send_new()?;
        self.send_missed(id(&new))?;
        self.open()
    }

    /// Sends what had the name after the old file, and before the new one.
    fn send_missed(&mut self, new: FileId) -> Result<(), Closed> {
        let Some(old) = &self.opened else {
            return Ok(());
        };
        let Missed { files, lost } = old.rotations.missed(self.path, [old.id, new], &old.head);
        if lost > 0 {
            let why = format!("{lost} rotations came too fast to be read");
            self.send(Message::Warning(why))?;
        }
        for file in files {
            let Ok(about) = file.metadata() else { continue };
            self.opened = Some(FollowedFile::new(
                file,
                id(&about),
                KnownRotations::default(),
            ));
            self.send(Message::Start(ReadFrom::Start))?;
            self.send_new()?;
        }
        Ok(())
    }

    /// Opens what has the name now, and reads it.
    fn open(&mut self) -> Result<(), Closed> {
        let opened = File::open(self.path).and_then(|file| {
            let id = id(&file.metadata()?);
            Ok((file, id))
        });
        match opened {
            Ok((file, id)) => {
                self.opened = Some(FollowedFile::new(file, id, KnownRotations::list(self.path)));
                self.last_warning.clear();
                self.send(Message::Start(ReadFrom::Start))?;
                self.send_new()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.warn("it does not exist yet: waiting for it".to_owned())
            }
            Err(error) => self.warn(format!("{:#}", file_kind::explain_open(&error))),
        }
    }

    /// Sends what was written since the last poll.
    fn send_new(&mut self) -> Result<(), Closed> {
        let Some(opened) = &mut self.opened else {
            return Ok(());
        };
        match opened.changed() {
            Ok(None) => return Ok(()),
            Ok(Some(Change::Appended)) => {}
            Ok(Some(Change::Rewritten)) => {
                (opened.at, opened.seen) = (0, None);
                opened.head.clear();
                // A copy of it is a new rotation.
                opened.rotations = KnownRotations::list(self.path);
                let why = "it was truncated: the lines written right before may be missing";
                self.send(Message::Warning(why.to_owned()))?;
                self.send(Message::Start(ReadFrom::Start))?;
            }
            Err(error) => return self.warn(format!("reading it failed: {error}")),
        }
        let mut block = vec![0; BLOCK];
        while let Some(opened) = &mut self.opened {
            match opened.read(&mut block) {
                Ok(0) => break,
                Ok(read) => self.send(Message::Block(block[..read].to_vec()))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let at = opened.at;
                    return self.warn(format!("reading it failed after {at} bytes: {error}"));
                }
            }
        }
        Ok(())
    }

    fn warn(&mut self, text: String) -> Result<(), Closed> {
        if self.last_warning == text {
            return Ok(());
        }
        self.last_warning.clone_from(&text);
        self.send(Message::Warning(text))
    }

    fn send(&self, message: Message) -> Result<(), Closed> {
        self.to.send(message).map_err(|_| Closed)
    }
}

enum Change {
    Appended,
    /// Written from its beginning again.
    Rewritten,
}

impl FollowedFile {
    /// The change since the last poll, if it was modified.
    fn changed(&mut self) -> io::Result<Option<Change>> {
        let metadata = self.file.metadata()?;
        let now = (metadata.len(), metadata.mtime(), metadata.mtime_nsec());
        if self.seen == Some(now) {
            return Ok(None);
        }
        self.seen = Some(now);
        if metadata.len() < self.at {
            return Ok(Some(Change::Rewritten));
        }
        let mut head = vec![0; self.head.len()];
        let same = match self.file.read_exact_at(&mut head, 0) {
            Ok(()) => head == self.head,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
            Err(error) => return Err(error),
        };
        Ok(Some(if same {
            Change::Appended
        } else {
            Change::Rewritten
        }))
    }

    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(block, self.at)?;
        // As long as the head is not full, it ends where the reading is.
        let room = HEAD - self.head.len();
        self.head.extend_from_slice(&block[..read.min(room)]);
        self.at += read as u64;
        Ok(read)
    }
}
