use super::*;
use crate::log::tests::{Entry, tar_of};
use std::io::Write as _;

impl TarSource for &[u8] {}

/// Returns the entries with their bytes, and the words of the trouble.
fn walk(bytes: &[u8]) -> (Vec<(TarEntry, Vec<u8>)>, Option<String>) {
    let mut reader = TarReader::new(bytes);
    let mut entries = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(entry)) => {
                let mut text = Vec::new();
                reader.read_to_end(&mut text).unwrap();
                entries.push((entry, text));
            }
            Ok(None) => return (entries, None),
            Err(words) => return (entries, Some(words)),
        }
    }
}

fn paths(bytes: &[u8]) -> Vec<String> {
    let (entries, trouble) = walk(bytes);
    assert_eq!(trouble, None);
    entries.into_iter().map(|(entry, _)| entry.path).collect()
}

#[test]
fn regular_files_come_out_and_nothing_else_does() {
    let tar = tar_of(&[
        Entry::folder("logs/"),
        Entry::file("./logs/one.log", b"one\n"),
        Entry::link("logs/link", "/etc/shadow"),
        Entry::hard_link("logs/hard", "logs/one.log"),
        Entry::of_type("logs/disk", b'4'),
        Entry::of_type("logs/tty", b'3'),
        Entry::of_type("logs/pipe", b'6'),
        Entry::file("logs/two.log", &[b'x'; 1025]),
    ]);
    assert!(is_tar(&tar));
    let (entries, trouble) = walk(&tar);
    assert_eq!(trouble, None);
    let told: Vec<_> = entries
        .iter()
        .map(|(entry, text)| (entry.path.as_str(), entry.size, text.len()))
        .collect();
    assert_eq!(told, [("logs/one.log", 4, 4), ("logs/two.log", 1025, 1025)]);
    for (entry, text) in &entries {
        let start = usize::try_from(entry.start).unwrap();
        assert_eq!(&tar[start..start + text.len()], text);
    }
}

#[test]
fn after_the_end_of_an_archive_another_is_read_and_what_is_none_is_said() {
    let one = tar_of(&[Entry::file("one", b"1")]);
    let two = tar_of(&[Entry::file("two", b"2")]);
    let zeros = vec![0; 5 * BLOCK + 7];
    assert_eq!(paths(&[&one[..], &two, &zeros].concat()), ["one", "two"]);
    let end = one.len() - BLOCK;
    for (more, trouble) in [
        (&b"more"[..], true),
        (&[b'x'; 2 * BLOCK][..], true),
        (&[0; 100][..], false),
    ] {
        let (entries, told) = walk(&[&one[..], more].concat());
        assert_eq!(entries.len(), 1);
        let words = format!("what follows its end at byte {end} is no archive and was not read");
        assert_eq!(told, trouble.then_some(words));
    }
}

#[test]
fn a_size_that_a_link_or_a_folder_tells_is_not_that_of_bytes_in_the_archive() {
    let mut tar = Vec::new();
    for kind in b"123456" {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::new(*kind));
        header.set_size(4096);
        header.set_cksum();
        tar.extend(header.as_bytes());
    }
    tar.extend(tar_of(&[Entry::file("kubelet.log", b"text")]));
    assert_eq!(paths(&tar), ["kubelet.log"]);
}

#[test]
fn names_that_lead_elsewhere_or_command_a_terminal_are_words_alone() {
    let long = format!("{}/kubelet.log", "folder/".repeat(60));
    let tar = tar_of(&[
        Entry::file("../../etc/passwd", b""),
        Entry::file("/etc/cron.d/x", b""),
        Entry::file("a\x1b]0;own\x07\u{202e}gol.log", b""),
        Entry::file(&long, b""),
    ]);
    let told = paths(&tar);
    assert_eq!(told[..2], ["../../etc/passwd", "/etc/cron.d/x"]);
    assert_eq!(told[2], "a\u{fffd}]0;own\u{fffd}\u{fffd}gol.log");
    assert!(told[3].starts_with('…') && told[3].ends_with("/kubelet.log"));
    assert_eq!(told[3].chars().count(), MAX_SHOWN + 1);
}

#[test]
fn a_name_without_end_takes_no_memory() {
    let mut tar = Vec::new();
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(8 << 20);
    header.set_cksum();
    tar.extend(header.as_bytes());
    tar.resize(tar.len() + (8 << 20), b'n');
    tar.extend(tar_of(&[Entry::file("short", b"text")]));
    let (entries, trouble) = walk(&tar);
    assert_eq!((entries.len(), trouble), (1, None));
    assert_eq!(entries[0].1, b"text");
    assert_eq!(entries[0].0.path.chars().count(), MAX_SHOWN + 1);
}

#[test]
fn attributes_give_names_and_sizes_and_tell_of_holes() {
    let pax = |list: &str, name: &str, text: &[u8]| {
        let mut tar = Vec::new();
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::XHeader);
        header.set_size(list.len() as u64);
        header.set_cksum();
        tar.extend(header.as_bytes());
        tar.extend(list.bytes());
        tar.resize(tar.len().next_multiple_of(BLOCK), 0);
        tar.extend(tar_of(&[Entry::file(name, text)]));
        tar
    };
    let (entries, _) = walk(&pax("20 path=kubelet.log\n", "x", b"text"));
    assert_eq!(entries[0].0.path, "kubelet.log");
    let (entries, _) = walk(&pax("9 size=2\n", "x", b"text"));
    assert_eq!(entries[0].1, b"te");
    let (entries, _) = walk(&pax("22 GNU.sparse.major=1\n", "x", b"text"));
    assert!(entries[0].0.sparse);
    // A list that makes no sense is none.
    let (entries, trouble) = walk(&pax("99999999999999999999 path", "x", b"text"));
    assert_eq!((entries[0].0.path.as_str(), trouble), ("x", None));
}

#[test]
fn cut_at_any_byte_it_says_so_and_never_panics() {
    let tar = tar_of(&[
        Entry::file("one", &[b'1'; 600]),
        Entry::file(&"long/".repeat(40), b""),
        Entry::file("two", b"2"),
    ]);
    let end = tar.len() - 2 * BLOCK;
    for cut in 0..tar.len() {
        let (entries, trouble) = walk(&tar[..cut]);
        assert!(entries.len() <= 2);
        // Between entries, and behind the last one's text, nothing tells that more should come.
        let seam = cut % BLOCK == 0 || cut > end;
        assert!(trouble.is_some() || seam, "at {cut}");
    }
    let (entries, trouble) = walk(&tar[..1000]);
    assert_eq!(entries[0].1.len(), 488);
    assert_eq!(
        trouble.unwrap(),
        "it is cut short after 1000 bytes, in one: the rest is missing"
    );
}

#[test]
fn damaged_at_any_byte_it_never_panics_and_ends() {
    let tar = tar_of(&[Entry::file("one", b"1"), Entry::file("two", b"2")]);
    for at in 0..tar.len() {
        let mut broken = tar.clone();
        broken[at] ^= 0xff;
        let (entries, _) = walk(&broken);
        assert!(entries.len() <= 2, "at {at}");
    }
}

#[test]
fn text_is_no_archive() {
    let mut text = Vec::new();
    while text.len() < 4 * BLOCK {
        writeln!(text, "E0901 12:00:00.000000 2261 kubelet.go:1846] text").unwrap();
    }
    assert!(!is_tar(&text));
    assert!(!is_tar(&[0; 1024]));
    assert!(!is_tar(b"short"));
}
