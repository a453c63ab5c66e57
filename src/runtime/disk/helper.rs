//! The child's part: finds Docker's data root and writes what its files tell, each container at once.

use super::{DataRoot, Line};
use crate::runtime::on_disk;
use crate::runtime::on_disk::{CONFIG, HOST_CONFIG, Raw};
use crate::syntax::id::ContainerId;
use rustix::{
    fs::{Dir, Mode, OFlags, ResolveFlags, open, openat, openat2},
    io::Errno,
};
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::io;
use std::io::{Read as _, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::SystemTime;

/// Where Docker keeps its files unless told otherwise: its own custom, and the snap's.
const DATA_ROOTS: &[&str] = &["/var/lib/docker", "/var/snap/docker/common/var-lib-docker"];
/// Most containers that are read, and most entries of their folder that are looked at.
const CONTAINERS: usize = 32 << 10;
const ENTRIES: usize = 4 * CONTAINERS;
/// Most bytes of one file: a pod's annotations alone may have 256 KiB, and each of its containers keeps them.
const FILE: u64 = 4 << 20;

/// Writes what Docker's files tell of these containers, or of all.
///
/// # Errors
/// What `out` says; what could not be read is said in the answer.
pub fn write(place: &DataRoot, ids: &[String], out: &mut dyn Write) -> io::Result<()> {
    crate::io::child::detach();
    tell(place, ids, out)
}

/// As `write`, within any process.
pub(super) fn tell(place: &DataRoot, ids: &[String], out: &mut dyn Write) -> io::Result<()> {
    let settings = settings(place);
    let found = containers(place, &settings);
    let (root, folder) = match &found {
        Ok((root, folder)) => (root.as_str(), folder),
        Err((root, error)) => {
            let (live_restore, root) = (None, root.clone());
            say(out, &Line::Start { root, live_restore })?;
            let end = Line::End {
                odd: 0,
                left: 0,
                error: Some(error.to_string()),
                missing: *error == Errno::NOENT,
            };
            return say(out, &end);
        }
    };
    let restores = settings["live-restore"].as_bool();
    let live_restore = match place.live_restore() {
        true => Some(true),
        false => restores.or((!settings.is_null()).then_some(false)),
    };
    let root = root.to_owned();
    say(out, &Line::Start { root, live_restore })?;
    let (ids, left, error) = match ids {
        [] => listed(folder, CONTAINERS),
        ids => (ids.to_vec(), 0, None),
    };
    let mut odd = 0;
    for id in ids {
        match raw(folder, &id) {
            Ok(raw) => say(out, &Line::Container(raw))?,
            // Gone meanwhile, or another daemon's.
            Err(Errno::NOENT) => {}
            Err(_) => odd += 1,
        }
    }
    let end = Line::End {
        odd,
        left,
        error: error.map(|error| error.to_string()),
        missing: false,
    };
    say(out, &end)
}

pub(super) fn say(out: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    writeln!(out)?;
    out.flush()
}

/// Returns Docker's settings; an empty object where it has none, null where they could not be read.
pub(super) fn settings(place: &DataRoot) -> Value {
    let Some(path) = place.settings() else {
        return Value::Null;
    };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let text = below(place.under(), path, flags).and_then(|file| regular(file, FILE));
    match text {
        Ok((bytes, _)) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(Errno::NOENT) => Value::Object(serde_json::Map::new()),
        Err(_) => Value::Null,
    }
}

/// Returns Docker's data root and the folder of its containers.
pub(super) fn containers(
    place: &DataRoot,
    settings: &Value,
) -> Result<(String, OwnedFd), (String, Errno)> {
    let set = ["data-root", "graph"].map(|key| settings[key].as_str());
    let told = place.root().or(set.into_iter().flatten().next());
    let roots = told.map_or(DATA_ROOTS.to_vec(), |root| vec![root]);
    let mut first = (String::new(), Errno::NOENT);
    for root in roots {
        let folder = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = below(place.under(), root, folder)
            .and_then(|root| child(&root, "containers", OFlags::DIRECTORY));
        match opened {
            Ok(folder) => return Ok((root.to_owned(), folder)),
            Err(error) if first.0.is_empty() => first = (root.to_owned(), error),
            Err(_) => {}
        }
    }
    Err(first)
}

/// Opens a path of the machine whose root directory is `under`. Links on the way lead where they lead there.
fn below(under: &Path, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    if under == Path::new("/") {
        return open(path, flags, Mode::empty());
    }
    let top = open(
        under,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    match openat2(&top, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        // Before Linux 5.6, or a filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {
            let path = path.trim_start_matches('/');
            openat(&top, path, flags | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
    }
}

/// Opens what is in a folder, and no link.
pub(super) fn child(folder: &impl AsFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::empty())
}

/// Returns the ids that folders are called by, at most that many, how many found no room, and what broke the listing
/// off.
fn listed(folder: &OwnedFd, most: usize) -> (Vec<String>, usize, Option<Errno>) {
    let (mut ids, mut left) = (Vec::new(), 0);
    let entries = match Dir::read_from(folder) {
        Ok(entries) => entries,
        Err(error) => return (ids, 0, Some(error)),
    };
    for entry in entries.take(ENTRIES) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return (ids, left, Some(error)),
        };
        let id = entry.file_name().to_str().ok().and_then(ContainerId::parse);
        let Some(id) = id.filter(ContainerId::is_whole) else {
            continue;
        };
        match ids.len() < most {
            true => ids.push(id.as_str().to_owned()),
            false => left += 1,
        }
    }
    (ids, left, None)
}

/// Reads one container's files.
///
/// # Errors
/// They can't be read, or make no sense.
fn raw(containers: &OwnedFd, id: &str) -> Result<Raw, Errno> {
    if !ContainerId::parse(id).is_some_and(|id| id.is_whole()) {
        return Err(Errno::INVAL);
    }
    let folder = child(containers, id, OFlags::DIRECTORY)?;
    let (config, written) = json(&folder, CONFIG)?;
    let written = written.map(|time| chrono::DateTime::<chrono::Utc>::from(time).to_rfc3339());
    let config = on_disk::config(&config, written.as_deref());
    if config["ID"] != *id {
        return Err(Errno::INVAL);
    }
    // Without it less is known: no cause to lose the rest.
    let host =
        json(&folder, HOST_CONFIG).map_or(Value::Null, |(host, _)| on_disk::host_config(&host));
    Ok(Raw {
        id: id.to_owned(),
        config,
        host,
    })
}

/// Reads a file of JSON, of which what is no text is replaced.
fn json(folder: &OwnedFd, name: &str) -> Result<(Value, Option<SystemTime>), Errno> {
    let (bytes, written) = regular(child(folder, name, OFlags::empty())?, FILE)?;
    let value = serde_json::from_str(&String::from_utf8_lossy(&bytes));
    Ok((value.map_err(|_| Errno::INVAL)?, written))
}

/// Reads a regular file, in whole.
///
/// # Errors
/// It is none, or has more than `most` bytes.
fn regular(file: OwnedFd, most: u64) -> Result<(Vec<u8>, Option<SystemTime>), Errno> {
    let file = File::from(file);
    let metadata = file.metadata().map_err(|error| errno(&error))?;
    if !metadata.is_file() || metadata.len() > most {
        return Err(Errno::FBIG);
    }
    let mut bytes = Vec::new();
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|error| errno(&error))?;
    Ok((bytes, metadata.modified().ok()))
}

pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests;
