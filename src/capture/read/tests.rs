//! Hostile and broken archives: each is refused in one line.

use super::*;
use flate2::{Compression, write::GzEncoder};
use std::{io::Write as _, os::unix::fs::symlink};
use tar::{EntryType, Header};
use tempfile::TempDir;

const SMALL: Limits = Limits {
    total: 1 << 20,
    file: 1 << 18,
    files: 20,
};

/// An entry: its name, its kind, its bytes.
type Entry<'a> = (&'a str, EntryType, &'a [u8]);

fn file<'a>(name: &'a str, bytes: &'a [u8]) -> Entry<'a> {
    (name, EntryType::Regular, bytes)
}

/// Writes names as they are, whatever they say.
fn tarball(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, kind, bytes) in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        if kind.is_symlink() || kind.is_hard_link() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    gzip(&tar.into_inner().unwrap())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

fn opened(bytes: &[u8]) -> Result<Capture, String> {
    let here = TempDir::new().unwrap();
    let path = here.path().join("x.tar.gz");
    fs::write(&path, bytes).unwrap();
    Capture::open_within(&path, SMALL).map_err(|error| format!("{error:#}"))
}

fn refused(bytes: &[u8], why: &str) {
    let words = opened(bytes).unwrap_err();
    assert!(words.contains(why), "{why}: {words}");
    assert!(!words.contains('\n'), "{words}");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for name in [
        "../../etc/cron.d/x",
        "/etc/passwd",
        "host/../../x",
        "host/..",
        "a/./../x",
    ] {
        refused(&tarball(&[file(name, b"x")]), "unexpected entry");
        let directory = (name, EntryType::Directory, &b""[..]);
        refused(&tarball(&[directory]), "unexpected entry");
    }
    let deep = "a/".repeat(40) + "x";
    refused(&tarball(&[file(&deep, b"x")]), "unexpected entry");
}

#[test]
fn links_and_devices_are_refused() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
    ] {
        let bytes = tarball(&[("host/proc/uptime", kind, b"")]);
        refused(&bytes, "unexpected link or device");
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let large = vec![b'x'; 300 << 10];
    refused(&tarball(&[file("kubelet.log", &large)]), "is too large");
    let quarter = vec![0; 250 << 10];
    let names = ["a.log", "b.log", "c.log", "d.log", "e.log"];
    let many: Vec<_> = names.iter().map(|name| file(name, &quarter)).collect();
    refused(&tarball(&many), "is too large");
    let names: Vec<_> = (0..30).map(|number| format!("{number}.log")).collect();
    let many: Vec<_> = names.iter().map(|name| file(name, b"x")).collect();
    refused(&tarball(&many), "more than 20 files");
}

#[test]
fn a_bomb_goes_off_nowhere() {
    // Ten MiB of zeros behind the end of the archive, and as a name that is said to be so long.
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(100 << 20);
    header.set_cksum();
    tar.append(&header, io::empty()).unwrap();
    let mut bytes = tar.into_inner().unwrap();
    bytes.truncate(512);
    bytes.resize(10 << 20, b'x');
    refused(&gzip(&bytes), "more than 1 MiB");
    refused(&gzip(&vec![0; 10 << 20]), "more than 1 MiB");
}

#[test]
fn a_name_that_is_too_long_is_refused_and_not_shown_in_whole() {
    let name = "x".repeat(200 << 10);
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(0);
    tar.append_data(&mut header, &name, io::empty()).unwrap();
    let words = opened(&gzip(&tar.into_inner().unwrap())).unwrap_err();
    assert!(words.contains("unexpected entry"), "{}", words.len());
    assert!(words.len() < 1000, "{}", words.len());
}

#[test]
fn the_same_name_twice_is_refused() {
    let bytes = tarball(&[file("host/a", b"1"), file("./host/a", b"2")]);
    refused(&bytes, "\"host/a\" twice");
}

#[test]
fn an_archive_that_is_cut_anywhere_is_refused() {
    let noise: Vec<u8> = (0..300_u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    let whole = tarball(&[file("host/proc/uptime", b"1 1\n"), file("host/x", &noise)]);
    assert!(opened(&whole).is_ok());
    assert!(opened(&[]).unwrap_err().contains("it is empty"));
    for cut in 1..whole.len() {
        assert!(opened(&whole[..cut]).is_err(), "{cut} of {}", whole.len());
    }
    refused(&whole[..whole.len() / 2], "truncated");
}

#[test]
fn what_is_no_capture_is_told() {
    refused(b"kubelet", "neither a folder nor a .tar.gz");
    refused(&tarball(&[file("etc/hosts", b"x")]), "not a capture");
    refused(&gzip(b"not a tar archive at all"), "it is");
    refused(&tarball(&[]), "not a capture");
    let newer = br#"{"schema":"plegdoctor.capture/2"}"#;
    refused(&tarball(&[file("manifest.json", newer)]), "use a newer one");
    let here = TempDir::new().unwrap();
    for path in [here.path().to_owned(), here.path().join("none")] {
        assert!(Capture::open_within(&path, SMALL).is_err());
    }
    assert!(Capture::open_within(Path::new("/dev/null"), SMALL).is_err());
}

#[test]
fn a_folder_with_links_or_devices_is_refused() {
    let here = TempDir::new().unwrap();
    fs::create_dir(here.path().join("host")).unwrap();
    fs::write(here.path().join("host/x"), "x").unwrap();
    let opened = || Capture::open_within(here.path(), SMALL).map_err(|error| format!("{error:#}"));
    assert!(opened().is_ok());
    for target in ["/etc/passwd", "x", "nowhere", "/dev/zero", ".."] {
        let link = here.path().join("host/link");
        symlink(target, &link).unwrap();
        assert!(opened().unwrap_err().contains("unexpected link or device"));
        fs::remove_file(link).unwrap();
    }
    fs::write(here.path().join("host/large"), vec![0; 300 << 10]).unwrap();
    assert!(opened().unwrap_err().contains("is too large"));
}

#[test]
fn parts_are_taken_whole_whatever_their_neighbours_are_called() {
    let files = [
        ("x/docker-files/a", "1"),
        ("x/docker.log", "2"),
        ("x/docker/index", "3"),
        ("x/docker/sub/b", "4"),
        ("x/docker0", "5"),
        ("x/host/a", "6"),
    ];
    let entries: Vec<_> = files
        .iter()
        .map(|(name, text)| file(name, text.as_bytes()))
        .collect();
    let mut capture = opened(&tarball(&entries)).unwrap();
    let docker = capture.take("docker");
    assert_eq!(docker.keys().collect::<Vec<_>>(), ["index", "sub/b"]);
    assert!(capture.take("docker").is_empty());
    assert_eq!(capture.take("host").len(), 1);
    assert_eq!(capture.file("docker-files/a"), Some(&b"1"[..]));
    assert_eq!(capture.file("docker0"), Some(&b"5"[..]));
    let logs: Vec<_> = capture.unnamed_logs().map(|(name, _)| name).collect();
    assert_eq!(logs, ["docker.log"]);
}

#[test]
fn a_folder_that_is_itself_a_part_is_not_taken_away() {
    let mut capture = opened(&tarball(&[file("host/proc/uptime", b"1 1")])).unwrap();
    assert_eq!(capture.take("host").keys().next().unwrap(), "proc/uptime");
}
