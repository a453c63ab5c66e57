//! An archive that comes through a pipe: its logs are read as they come, in its own order, since there is no way back.

use super::{
    UNKNOWN,
    archive::{Forward, Walker},
    feed::{self, Feed},
    files::{Emit, Piece},
    members::{self, Candidate},
    open::{self, Pipe},
    section::Ahead,
    unpack,
};
use crate::{event::Time, parser::Hints};
use anyhow::bail;
use std::collections::BTreeMap;

impl Forward for Pipe {
    fn need(&self) -> u64 {
        Self::need(self)
    }
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
    let mut walker = Walker::new(pipe);
    let (mut names, mut files, mut logs) = (BTreeMap::new(), 0_u64, 0_u64);
    let (mut newest, mut back) = (None::<Time>, false);
    let trouble = loop {
        let member = match walker.next() {
            Ok(Some(member)) => member,
            Ok(None) => break None,
            Err(words) => break Some(words),
        };
        files += 1;
        let room = unpack::MOST.saturating_sub(walker.need());
        let (mut text, packed) = members::unpacked(&mut walker, room);
        let (head, trouble) = open::beginning(&mut text);
        let told = (head.as_slice(), trouble.as_ref());
        let candidate = Candidate::judge(member, packed, told, hints);
        if !candidate.counts() {
            continue;
        }
        let candidate = candidate.distinct(&mut names);
        logs += 1;
        back |= newest.is_some() && candidate.first.is_some() && candidate.first < newest;
        newest = newest.max(candidate.first);
        let own = format!("{name}:{}", candidate.member.path);
        if let Some(why) = candidate.refused {
            if !emit(Piece::Gap(&own, why)) {
                return Ok(false);
            }
            continue;
        }
        let feed = Feed {
            name: &own,
            skip: 0,
            limits: None,
            others: true,
        };
        // What comes after it is not known.
        let on = emit(Piece::Ahead(Some(UNKNOWN)))
            && feed::stream(&feed, &mut Ahead::new(head, trouble, text), emit);
        if !on {
            return Ok(false);
        }
    };
    match trouble {
        Some(trouble) if logs == 0 => bail!("{trouble}"),
        Some(trouble) => drop(emit(Piece::Gap(name, trouble))),
        None if logs == 0 => {
            bail!("it is an archive, and none of its {files} files is a log of the kubelet")
        }
        None => {}
    }
    if back {
        let note = format!(
            "{name}: its logs were read in the archive's order, which is not that of their times: name the archive with --log"
        );
        return Ok(emit(Piece::Note(note)));
    }
    Ok(true)
}
