//! A file that grows, is rotated (by a new file of its name, or by a copy and truncation), is gone, or not there yet.
//!
//! It is looked at several times a second: that sees what no notice of the kernel tells, on file systems of servers,
//! too. What is written between the last look and a truncation is in the copy only, and that is said. A file that had the
//! name between two looks only is found among the rotations.

use super::{
    BLOCK, Message, Opening,
    between::{Id, Known, Missed},
    open,
};
use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
    sync::{Weak, mpsc::SyncSender},
    thread,
    time::Duration,
};

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How much of its beginning tells whether it was written anew: a klog line's stamp has microseconds.
const HEAD: usize = 256;

/// Nobody listens any more.
struct Closed;

/// The file, as far as it was read.
struct Opened {
    file: File,
    id: Id,
    at: u64,
    /// Its first bytes.
    head: Vec<u8>,
    /// Its size and time at the last look.
    seen: Option<(u64, i64, i64)>,
    /// What was beside it when it was opened, or truncated.
    beside: Known,
}

impl Opened {
    fn new(file: File, id: Id, beside: Known) -> Self {
        Self {
            file,
            id,
            at: 0,
            head: Vec::new(),
            seen: None,
            beside,
        }
    }
}

struct Follower<'a> {
    path: &'a Path,
    to: &'a SyncSender<Message>,
    opened: Option<Opened>,
    /// What was told last, which is not told again.
    told: String,
}

/// Sends what is in the file at `path` and is written to it, until nobody listens or `leash` is gone.
pub(super) fn follow(path: &Path, leash: &Weak<()>, to: &SyncSender<Message>) {
    let mut follower = Follower {
        path,
        to,
        opened: None,
        told: String::new(),
    };
    while leash.strong_count() > 0 && follower.look().is_ok() {
        thread::sleep(LOOK);
    }
}

fn id(metadata: &Metadata) -> Id {
    (metadata.dev(), metadata.ino())
}

impl Follower<'_> {
    /// Looks once, and sends what is new.
    fn look(&mut self) -> Result<(), Closed> {
        if self.opened.is_none() {
            return self.open();
        }
        self.read_on()?;
        // The old file stays as long as nobody writes to the new one: its writer may not know of it yet.
        let new = fs::metadata(self.path).ok().filter(|now| {
            let other = self.opened.as_ref().is_some_and(|old| old.id != id(now));
            other && now.is_file() && now.len() > 0
        });
        let Some(new) = new else {
            return Ok(());
        };
        self.read_on()?;
        self.read_between(id(&new))?;
        self.open()
    }

    /// Sends what had the name after the old file, and before the new one.
    fn read_between(&mut self, new: Id) -> Result<(), Closed> {
        let Some(old) = &self.opened else {
            return Ok(());
        };
        let Missed { files, lost } = old.beside.missed(self.path, [old.id, new], &old.head);
        if lost > 0 {
            let why = format!("it was rotated so fast that {lost} files of it were not read");
            self.send(Message::Told(why))?;
        }
        for file in files {
            let Ok(about) = file.metadata() else { continue };
            self.opened = Some(Opened::new(file, id(&about), Known::default()));
            self.send(Message::Start(Opening::Start))?;
            self.read_on()?;
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
                self.opened = Some(Opened::new(file, id, Known::look(self.path)));
                self.told.clear();
                self.send(Message::Start(Opening::Start))?;
                self.read_on()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.tell("it is not there yet; it is read once it is".to_owned())
            }
            Err(error) => self.tell(format!("{:#}", open::explain(&error))),
        }
    }

    /// Sends what was written since the last look.
    fn read_on(&mut self) -> Result<(), Closed> {
        let Some(opened) = &mut self.opened else {
            return Ok(());
        };
        match opened.changed() {
            Ok(None) => return Ok(()),
            Ok(Some(Change::More)) => {}
            Ok(Some(Change::Anew)) => {
                (opened.at, opened.seen) = (0, None);
                opened.head.clear();
                // A copy was made of it.
                opened.beside = Known::look(self.path);
                let why = "it was truncated: what was written to it right before may be missing";
                self.send(Message::Told(why.to_owned()))?;
                self.send(Message::Start(Opening::Start))?;
            }
            Err(error) => return self.tell(format!("reading it failed: {error}")),
        }
        let mut block = vec![0; BLOCK];
        while let Some(opened) = &mut self.opened {
            match opened.read(&mut block) {
                Ok(0) => break,
                Ok(read) => self.send(Message::Block(block[..read].to_vec()))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let at = opened.at;
                    return self.tell(format!("reading it failed after {at} bytes: {error}"));
                }
            }
        }
        Ok(())
    }

    fn tell(&mut self, words: String) -> Result<(), Closed> {
        if self.told == words {
            return Ok(());
        }
        self.told.clone_from(&words);
        self.send(Message::Told(words))
    }

    fn send(&self, message: Message) -> Result<(), Closed> {
        self.to.send(message).map_err(|_| Closed)
    }
}

/// What became of a file.
enum Change {
    /// Something may have been added.
    More,
    /// It was written from its beginning again.
    Anew,
}

impl Opened {
    /// Returns what became of it since the last look, if it was touched.
    fn changed(&mut self) -> io::Result<Option<Change>> {
        let metadata = self.file.metadata()?;
        let now = (metadata.len(), metadata.mtime(), metadata.mtime_nsec());
        if self.seen == Some(now) {
            return Ok(None);
        }
        self.seen = Some(now);
        if metadata.len() < self.at {
            return Ok(Some(Change::Anew));
        }
        let mut head = vec![0; self.head.len()];
        let same = match self.file.read_exact_at(&mut head, 0) {
            Ok(()) => head == self.head,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
            Err(error) => return Err(error),
        };
        Ok(Some(if same { Change::More } else { Change::Anew }))
    }

    /// Reads the next bytes.
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(block, self.at)?;
        // As long as the head is not full, it ends where the reading is.
        let room = HEAD - self.head.len();
        self.head.extend_from_slice(&block[..read.min(room)]);
        self.at += read as u64;
        Ok(read)
    }
}
