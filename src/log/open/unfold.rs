//! An archive in a file, as the logs that it holds. What is not compressed is read from its place in the archive like any
//! file; what is, through a deck.

use super::{Form, Found, Log};
use crate::{
    kubelet::parser::Hints,
    log::{
        archive::Walker,
        deck::Deck,
        members::{self, Candidate, Contents, Within},
        section::Section,
    },
};
use anyhow::{anyhow, bail};
use std::sync::{Arc, Mutex};

/// How often a compressed archive is unpacked from its beginning at most, to read its logs in their order.
const TURNS: usize = 16;

impl Log {
    /// Lists the logs of an archive; with what reads them, if it is compressed.
    fn list(&mut self, hints: Hints) -> anyhow::Result<(Contents, Option<Arc<Mutex<Deck>>>)> {
        let file = self.file()?.try_clone()?;
        match (&self.form, self.span) {
            (Form::Packed(from, to), _) => {
                let mut deck = Deck::new(file, *from, *to);
                let contents = members::list(Walker::new(deck.unpack()?), true, hints);
                deck.need = contents.need;
                Ok((contents, Some(Arc::new(Mutex::new(deck)))))
            }
            (_, Some((from, to))) => {
                let section = Section::new(file, from, to);
                Ok((members::list(Walker::new(section), false, hints), None))
            }
            _ => bail!("it is no file"),
        }
    }

    /// Returns a member of the archive that this is, as a log; `deck` is what it is in, if that is compressed.
    fn member(
        &mut self,
        name: String,
        log: &Candidate,
        deck: Option<&Arc<Mutex<Deck>>>,
    ) -> anyhow::Result<Self> {
        let base = match deck {
            Some(_) => 0,
            None => self.begin(),
        };
        let start = base.saturating_add(log.member.start);
        let end = start.saturating_add(log.member.size);
        let (form, span) = match (deck, log.packed) {
            (Some(deck), packed) => {
                let deck = Arc::clone(deck);
                let part = Form::Part {
                    deck,
                    start,
                    end,
                    packed,
                };
                (part, None)
            }
            (None, true) => (Form::Packed(start, end), None),
            (None, false) => (Form::Plain, Some((start, end))),
        };
        let file = match deck {
            Some(_) => None,
            None => Some(self.shared()?),
        };
        let within = log.within.map_or(0, |within| within.from.max(1));
        Ok(Self {
            name,
            path: self.path.clone(),
            file,
            id: (self.id.0, self.id.1, within, start.max(1)),
            begin: span.map_or(0, |(start, _)| start),
            span,
            print: (0, Vec::new()),
            first: log.first,
            place: None,
            form,
            looks: log.looks,
            skip: 0,
        })
    }

    /// Returns where in its file the archive begins that this is.
    fn begin(&self) -> u64 {
        self.span.map_or(0, |(start, _)| start)
    }

    /// Returns what reads that compressed archive within this one.
    fn inner(&mut self, within: Within) -> anyhow::Result<Arc<Mutex<Deck>>> {
        let at = |place: u64| place.saturating_add(self.begin());
        let (from, to) = (at(within.from), at(within.to));
        let mut deck = Deck::new(self.file()?.try_clone()?, from, to);
        deck.need = within.need;
        Ok(Arc::new(Mutex::new(deck)))
    }
}

impl Log {
    fn deck(&self) -> Option<Arc<Mutex<Deck>>> {
        match &self.form {
            Form::Part { deck, .. } => Some(Arc::clone(deck)),
            _ => None,
        }
    }
}

impl Found {
    /// Takes in the logs that an archive in a file holds.
    ///
    /// # Errors
    /// It holds none, or cannot be read.
    pub(super) fn unfold(&mut self, mut archive: Log, hints: Hints) -> anyhow::Result<()> {
        let (contents, deck) = archive.list(hints)?;
        let Contents {
            logs,
            files,
            left,
            troubles,
            ..
        } = contents;
        if logs.is_empty() {
            match troubles.first() {
                Some((inner, words)) if inner.is_empty() => bail!("{words}"),
                Some((inner, words)) => bail!("{inner} in it: {words}"),
                None => {
                    bail!("it is an archive, and none of its {files} files is a log of the kubelet")
                }
            }
        }
        for (inner, words) in troubles {
            let name = match inner.as_str() {
                "" => archive.name.clone(),
                inner => format!("{}:{inner}", archive.name),
            };
            self.failures.push((name, anyhow!("{words}")));
        }
        if left > 0 {
            let why = anyhow!("{}", members::too_many(left));
            self.failures.push((archive.name.clone(), why));
        }
        let mut inner: Option<(Within, Arc<Mutex<Deck>>)> = None;
        for candidate in logs {
            let name = format!("{}:{}", archive.name, candidate.member.path);
            if let Some(within) = candidate.within
                && inner.as_ref().is_none_or(|(last, _)| *last != within)
            {
                inner = Some((within, archive.inner(within)?));
            }
            let within = inner.as_ref().filter(|_| candidate.within.is_some());
            let deck = within.map(|(_, deck)| deck).or(deck.as_ref());
            let log = match &candidate.refused {
                Some(why) => Err(anyhow!("{why}")),
                None => archive.member(name.clone(), &candidate, deck),
            };
            match log {
                Ok(log) => self.add(log),
                Err(error) => self.failures.push((name, error)),
            }
        }
        Ok(())
    }

    /// Puts the logs of each compressed archive back in its own order where their times would have it unpacked too
    /// often. Returns whether there are such.
    pub(super) fn spare_turns(&mut self) -> bool {
        let decks: Vec<Arc<Mutex<Deck>>> = self.logs.iter().filter_map(Log::deck).collect();
        let mut any = false;
        for (number, deck) in decks.iter().enumerate() {
            if decks[..number].iter().any(|other| Arc::ptr_eq(other, deck)) {
                continue;
            }
            let of = |log: &&mut Log| log.deck().is_some_and(|other| Arc::ptr_eq(&other, deck));
            let mut mine: Vec<&mut Log> = self.logs.iter_mut().filter(of).collect();
            let turns = mine.windows(2).filter(|pair| pair[1].id < pair[0].id);
            if turns.count() <= TURNS {
                continue;
            }
            any = true;
            let first = mine.iter().filter_map(|log| log.place).min();
            let archive = mine.first().and_then(|log| log.name.split_once(':'));
            let archive = archive.map_or("", |(name, _)| name).to_owned();
            mine.iter_mut().for_each(|log| log.place = first);
            self.notes.push(format!("{archive}: its logs are read in its own order, not that of their times, since there are too many: unpack it, and name the folder"));
        }
        if any {
            self.logs.sort_by_key(|log| log.id);
        }
        any
    }
}
