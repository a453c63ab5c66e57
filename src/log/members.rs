//! Which members of an archive are logs of the kubelet. In each of its folders the names decide as in a directory;
//! beside them any file counts that holds lines of the kubelet in its beginning. An archive in the archive is a folder
//! of it. Only beginnings are kept in memory, one at a time.

use super::{
    archive::{self, Forward, Inner, Member, Walker},
    looks::Looks,
    names::{self, Family},
    open,
    section::Ahead,
};
use crate::io::decompress::{self, Unpack};
use crate::{
    kubelet::parser::{Hints, Parser},
    syntax::time::Time,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    io::{self, Read},
};

/// How many bytes tell whether a file is compressed.
const MAGIC: u64 = 16;
/// Most logs of an archive that are read.
pub(super) const LOGS: usize = 4096;
/// How deep an archive may be in others.
const DEPTH: u8 = 4;

/// A member that is a log, or may be one.
pub(super) struct Candidate {
    pub(super) member: Member,
    /// Whether it is compressed itself.
    pub(super) packed: bool,
    /// The compressed archive within the archive that it is in.
    pub(super) within: Option<Within>,
    /// When its first line was logged.
    pub(super) first: Option<Time>,
    /// Whether it holds lines of the kubelet in its beginning.
    kubelets: bool,
    /// What its beginning shows of how it came here.
    pub(super) looks: Looks,
    /// Why it cannot be read.
    pub(super) refused: Option<String>,
}

/// A compressed archive within one that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Within {
    /// Where in that one it begins.
    pub(super) from: u64,
    /// Where it ends.
    pub(super) to: u64,
    /// How much memory it takes for windows.
    pub(super) need: u64,
}

/// What an archive holds.
#[derive(Default)]
pub(super) struct Contents {
    /// Its logs, in its order.
    pub(super) logs: Vec<Candidate>,
    /// How many regular files it has.
    pub(super) files: usize,
    /// How many logs found no room.
    pub(super) left: usize,
    /// Why it, or an archive within it, could not be read to its end: which one (none: itself), and why.
    pub(super) troubles: Vec<(String, String)>,
    /// How much memory it takes for windows.
    pub(super) need: u64,
    names: BTreeMap<String, usize>,
}

/// Where in the outermost archive one is that is walked.
struct Place {
    /// Its own name, as a folder's.
    folder: String,
    /// Where its bytes begin.
    base: u64,
    /// The compressed one that it is in.
    within: Option<Within>,
    /// Whether it comes out of something compressed.
    packed: bool,
    depth: u8,
}

/// Walks the whole archive, which is `packed` or not, and looks at the beginning of each of its files.
pub(super) fn list<R: Forward>(mut walker: Walker<R>, packed: bool, hints: Hints) -> Contents {
    let mut contents = Contents::default();
    let place = Place {
        folder: String::new(),
        base: 0,
        within: None,
        packed,
        depth: 0,
    };
    contents.walk(&mut walker, &place, hints);
    contents.need = walker.need();
    keep_chosen(&mut contents.logs);
    contents
}

impl Contents {
    fn walk<R: Forward>(&mut self, walker: &mut Walker<R>, place: &Place, hints: Hints) {
        let words = loop {
            let mut member = match walker.next() {
                Ok(Some(member)) => member,
                Ok(None) => return,
                Err(words) => break words,
            };
            self.files += 1;
            member.path.insert_str(0, &place.folder);
            member.start = member.start.saturating_add(place.base);
            let need = walker.need();
            let (mut text, packed) = unpacked(walker, decompress::MOST.saturating_sub(need));
            let (head, trouble) = open::beginning(&mut text);
            if is_archive(&member, &head) {
                let inner = Inner::new(head, trouble, text, need);
                match place.enter(&member, packed, inner.need()) {
                    Ok(place) => self.walk(&mut Walker::new(inner), &place, hints),
                    Err(words) => self.troubles.push((member.path, words)),
                }
                continue;
            }
            drop(text);
            let told = (head.as_slice(), trouble.as_ref());
            let mut candidate = Candidate::judge(member, packed, told, hints);
            candidate.within = place.within;
            let of_interest = candidate.kubelets || candidate.is_named();
            if of_interest && self.logs.len() < LOGS {
                self.logs.push(candidate.distinct(&mut self.names));
            } else if of_interest {
                self.left += 1;
            }
        };
        // The file that it ends in counts up to there.
        let end = walker.at().saturating_add(place.base);
        if let Some(last) = self.logs.last_mut()
            && last.within == place.within
        {
            let size = end.saturating_sub(last.member.start);
            last.member.size = last.member.size.min(size);
        }
        self.troubles
            .push((place.folder.trim_end_matches('/').to_owned(), words));
    }
}

impl Place {
    /// Goes into a member that is an archive itself, and takes that much memory.
    ///
    /// # Errors
    /// It is too deep, in words.
    fn enter(&self, member: &Member, packed: bool, need: u64) -> Result<Self, String> {
        if packed && self.packed {
            return Err(
                "it is a compressed archive in a compressed one: unpack the outer".to_owned(),
            );
        }
        let depth = deeper(self.depth)?;
        let (base, within) = match packed {
            true => {
                let (from, to) = (member.start, member.start.saturating_add(member.size));
                (0, Some(Within { from, to, need }))
            }
            false => (member.start, self.within),
        };
        Ok(Self {
            folder: format!("{}/", member.path),
            base,
            within,
            packed: self.packed || packed,
            depth,
        })
    }
}

/// Returns that so many logs of an archive were left out.
pub(super) fn too_many(left: impl Display) -> String {
    format!("it holds more logs than can be read: {left} were left out")
}

/// Returns how deep an archive in one of that depth is.
///
/// # Errors
/// It is too deep, in words.
pub(super) fn deeper(depth: u8) -> Result<u8, String> {
    match depth < DEPTH {
        true => Ok(depth + 1),
        false => Err("it is an archive too deep in others: unpack them".to_owned()),
    }
}

/// Returns whether a member is an archive itself, by its beginning, unpacked.
pub(super) fn is_archive(member: &Member, head: &[u8]) -> bool {
    !member.sparse && archive::is_tar(head)
}

/// Keeps what the names choose in each folder, and what holds lines of the kubelet under any other name.
fn keep_chosen(logs: &mut Vec<Candidate>) {
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for log in logs.iter().filter(|log| log.is_named()) {
        let (folder, base) = split(&log.member.path);
        folders.entry(folder).or_default().push(base);
    }
    let chosen: BTreeSet<String> = folders
        .into_iter()
        .flat_map(|(folder, bases)| {
            let chosen = names::choose(Family::Any, &bases).into_iter();
            chosen.map(move |base| format!("{folder}{base}"))
        })
        .collect();
    logs.retain(|log| match log.is_named() {
        true => chosen.contains(&log.member.path),
        false => log.kubelets && log.refused.is_none(),
    });
}

/// Returns the folder of a path, with its slash, and the name in it.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |at| at + 1))
}

impl Candidate {
    /// Judges a member by its beginning, unpacked, and by what ended that too early.
    pub(super) fn judge(
        member: Member,
        packed: bool,
        (head, trouble): (&[u8], Option<&io::Error>),
        hints: Hints,
    ) -> Self {
        let mut candidate = Self {
            member,
            packed,
            within: None,
            first: None,
            kubelets: false,
            looks: Looks::default(),
            refused: None,
        };
        candidate.refused = match trouble {
            Some(error) if head.is_empty() => Some(error.to_string()),
            _ if candidate.member.sparse => {
                Some("holes were left out of it in the archive: unpack it".to_owned())
            }
            _ if decompress::Kind::of(head).is_some() => Some("it is compressed twice".to_owned()),
            _ => open::refuse(head, "FILE").err().map(|it| it.to_string()),
        };
        if candidate.refused.is_none() {
            candidate.look(head, hints);
        }
        candidate
    }

    fn look(&mut self, head: &[u8], hints: Hints) {
        let mut parser = Parser::new(&self.member.path, hints);
        let mut events = Vec::new();
        for line in head.split(|byte| *byte == b'\n') {
            parser.line(line, &mut events);
            events.clear();
        }
        parser.finish(&mut events);
        self.first = parser.source_info().oldest;
        self.looks = Looks::of(head, (head.len() as u64) < open::HEAD);
        self.kubelets = parser.source_info().of_kubelet;
    }

    /// Whether its name is that of a kubelet's or a system's log.
    pub(super) fn is_named(&self) -> bool {
        names::is_log(split(&self.member.path).1)
    }

    /// Whether it counts as a log, as far as it alone tells.
    pub(super) fn counts(&self) -> bool {
        self.is_named() || (self.kubelets && self.refused.is_none())
    }

    /// Gives it a name that no other has: an archive may hold one name several times.
    pub(super) fn distinct(mut self, names: &mut BTreeMap<String, usize>) -> Self {
        let path = &mut self.member.path;
        let seen = names.entry(path.clone()).or_default();
        *seen += 1;
        if *seen > 1 {
            *path = format!("{path}#{seen}");
        }
        self
    }
}

/// Returns what gives the text of what `from` holds, and whether it is compressed.
pub(super) fn unpacked(
    from: &mut (impl Read + ?Sized),
    room: u64,
) -> (Box<dyn Forward + '_>, bool) {
    let mut head = Vec::new();
    let trouble = (&mut *from).take(MAGIC).read_to_end(&mut head).err();
    let packed = decompress::Kind::of(&head).is_some();
    let whole = Ahead::new(head, trouble, from);
    match packed {
        true => (Box::new(Unpack::new(whole, room, "FILE")), true),
        false => (Box::new(whole), false),
    }
}
