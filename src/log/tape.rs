//! An archive that comes through a pipe: its logs are read as they come, in its own order, since there is no way back.

use super::{
    UNKNOWN,
    archive::{Forward, Inner, Walker},
    feed::{self, Feed},
    files::{Emit, Piece},
    members::{self, Candidate},
    open::{self, Pipe},
    rows::Rejoin,
    section::Ahead,
};
use crate::io::decompress;
use crate::{kubelet::parser::Hints, syntax::time::Time};
use anyhow::bail;
use std::{collections::BTreeMap, io::Read};

impl Forward for Pipe {
    fn need(&self) -> u64 {
        Self::need(self)
    }
}

/// What was seen of an archive.
struct Tape<'a> {
    /// What it is called.
    name: &'a str,
    hints: Hints,
    names: BTreeMap<String, usize>,
    files: u64,
    logs: usize,
    /// How many logs found no room.
    left: u64,
    /// When the newest of its logs begins.
    newest: Option<Time>,
    /// Whether one began before the one before it.
    back: bool,
}

/// Streams the logs of the archive `name`. Returns whether to go on.
///
/// # Errors
/// It holds none.
pub(super) fn stream(
    name: &str,
    pipe: Pipe,
    hints: Hints,
    emit: &mut Emit<'_>,
) -> anyhow::Result<bool> {
    let mut tape = Tape {
        name,
        hints,
        names: BTreeMap::new(),
        files: 0,
        logs: 0,
        left: 0,
        newest: None,
        back: false,
    };
    let walked = tape.walk(&mut Walker::new(pipe), ("", 0), emit);
    let Tape {
        files,
        logs,
        left,
        back,
        ..
    } = tape;
    if left > 0 {
        emit(Piece::Gap(name, members::too_many(left)));
    }
    match walked {
        Ok(false) => return Ok(false),
        Err(trouble) if logs == 0 => bail!("{trouble}"),
        Err(trouble) => drop(emit(Piece::Gap(name, trouble))),
        Ok(true) if logs == 0 => {
            bail!("it is an archive, and none of its {files} files is a log of the kubelet")
        }
        Ok(true) => {}
    }
    if back {
        let note = format!(
            "{name}: its logs were read in the archive's order, which is not that of their times: name the archive with --log"
        );
        return Ok(emit(Piece::Note(note)));
    }
    Ok(true)
}

impl Tape<'_> {
    /// Streams the logs of an archive that is a `folder` of the outermost, that deep. Returns whether to go on.
    ///
    /// # Errors
    /// It cannot be read to its end, in words.
    fn walk<R: Forward>(
        &mut self,
        walker: &mut Walker<R>,
        (folder, depth): (&str, u8),
        emit: &mut Emit<'_>,
    ) -> Result<bool, String> {
        while let Some(mut member) = walker.next()? {
            self.files += 1;
            member.path.insert_str(0, folder);
            let need = walker.need();
            let room = decompress::MOST.saturating_sub(need);
            let (mut text, packed) = members::unpacked(walker, room);
            let (head, trouble) = open::beginning(&mut text);
            if members::is_archive(&member, &head) {
                let (folder, inner) = (
                    format!("{}/", member.path),
                    Inner::new(head, trouble, text, need),
                );
                let walked = members::deeper(depth)
                    .and_then(|depth| self.walk(&mut Walker::new(inner), (&folder, depth), emit));
                let own = format!("{}:{}", self.name, member.path);
                if !walked.unwrap_or_else(|words| emit(Piece::Gap(&own, words))) {
                    return Ok(false);
                }
                continue;
            }
            let told = (head.as_slice(), trouble.as_ref());
            let candidate = Candidate::judge(member, packed, told, self.hints);
            if !candidate.counts() {
                continue;
            }
            if self.logs == members::LOGS {
                self.left += 1;
            } else if !self.play(candidate, &mut Ahead::new(head, trouble, text), emit) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Streams a log that `text` gives. Returns whether to go on.
    fn play(&mut self, candidate: Candidate, text: &mut dyn Read, emit: &mut Emit<'_>) -> bool {
        let candidate = candidate.distinct(&mut self.names);
        self.logs += 1;
        let first = candidate.first;
        self.back |= self.newest.is_some() && first.is_some() && first < self.newest;
        self.newest = self.newest.max(first);
        let own = format!("{}:{}", self.name, candidate.member.path);
        if let Some(why) = candidate.refused {
            return emit(Piece::Gap(&own, why));
        }
        let feed = Feed {
            name: &own,
            skip: 0,
            limits: None,
            others: true,
        };
        // What comes after it is not known.
        let listened = emit(Piece::Ahead(Some(UNKNOWN))) && emit(Piece::Looks(candidate.looks));
        listened
            && match candidate.looks.broken {
                Some(width) => feed::stream(&feed, &mut Rejoin::new(text, width), emit),
                None => feed::stream(&feed, text, emit),
            }
    }
}
