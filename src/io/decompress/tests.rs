use super::*;
use std::io::Write as _;

const KINDS: [Compression; 4] = [
    Compression::Gzip,
    Compression::Zstd,
    Compression::Xz,
    Compression::Bzip2,
];

/// Compresses as the usual tools do.
pub(crate) fn pack(kind: Compression, bytes: &[u8]) -> Vec<u8> {
    match kind {
        Compression::Gzip => {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            gz.write_all(bytes).unwrap();
            gz.finish().unwrap()
        }
        Compression::Zstd => {
            let mut zstd = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
            // As the tool does.
            zstd.include_checksum(true).unwrap();
            zstd.write_all(bytes).unwrap();
            zstd.finish().unwrap()
        }
        Compression::Xz => {
            let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
            xz.write_all(bytes).unwrap();
            xz.finish().unwrap()
        }
        Compression::Bzip2 => {
            let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            bz.write_all(bytes).unwrap();
            bz.finish().unwrap()
        }
    }
}

/// Returns what is unpacked, and the words of the trouble.
fn unpack(bytes: &[u8]) -> (Vec<u8>, Option<String>) {
    unpack_within(bytes, MAX_WINDOW)
}

fn unpack_within(bytes: &[u8], room: u64) -> (Vec<u8>, Option<String>) {
    let (mut out, mut words) = (Vec::new(), Vec::new());
    let mut reader = Decoder::new(bytes, room, "FILE");
    let mut block = [0; 777];
    loop {
        match reader.read(&mut block) {
            Ok(0) => break,
            Ok(read) => out.extend_from_slice(&block[..read]),
            Err(error) => {
                assert!(is_explained(&error), "{error}");
                words.push(error.to_string());
            }
        }
    }
    assert!(words.len() <= 1, "{words:?}");
    (out, words.pop())
}

/// Returns lines that do not shrink to nothing.
fn text(lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    let mut number = 1_u64;
    for _ in 0..lines {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        writeln!(text, "line {number:x}").unwrap();
    }
    text
}

#[test]
fn each_kind_is_told_by_its_bytes_and_unpacked() {
    let text = text(20_000);
    for kind in KINDS {
        let packed = pack(kind, &text);
        assert_eq!(Compression::detect(&packed), Some(kind));
        assert!(unpack(&packed) == (text.clone(), None), "{kind:?}");
        let nothing = pack(kind, b"");
        assert_eq!(Compression::detect(&nothing), Some(kind));
        assert_eq!(unpack(&nothing), (vec![], None), "{kind:?}");
    }
    for plain in [
        &b""[..],
        b"BZhang said so\n",
        b"BZh0",
        b"E0901 12:00:00",
        b"\x1f",
    ] {
        assert_eq!(Compression::detect(plain), None);
    }
}

#[test]
fn what_follows_each_other_is_one_log_of_whatever_kind_and_zeros_at_the_end_are_none() {
    for first in KINDS {
        for second in KINDS {
            let mut packed = pack(first, b"one\n");
            packed.extend(pack(first, b""));
            packed.extend(pack(second, b"two\n"));
            packed.extend([0; 512]);
            let told = unpack(&packed);
            assert_eq!(told, (b"one\ntwo\n".to_vec(), None), "{first:?} {second:?}");
        }
    }
    // A frame of a tool's own before and between: no text.
    let mut packed = b"\x50\x2a\x4d\x18\x03\0\0\0xyz".to_vec();
    packed.extend(pack(Compression::Zstd, b"one\n"));
    packed.extend(b"\x5f\x2a\x4d\x18\x00\0\0\0");
    packed.extend(pack(Compression::Zstd, b"two\n"));
    assert_eq!(unpack(&packed), (b"one\ntwo\n".to_vec(), None));
}

#[test]
fn cut_at_any_byte_it_gives_what_came_before_and_says_so_once() {
    let text = text(25);
    for kind in KINDS {
        let packed = pack(kind, &text);
        let mut most = 0;
        for cut in 0..packed.len() {
            let (out, words) = unpack(&packed[..cut]);
            assert!(text.starts_with(&out), "{kind:?} at {cut}");
            assert!(out.len() >= most, "{kind:?} at {cut}: less than before");
            most = out.len();
            let told = words.is_some_and(|words| {
                words.starts_with("it is cut short") || words.contains("is not compressed")
            });
            assert!(told == (cut > 0), "{kind:?} at {cut}");
        }
        // Only bzip2 needs a block's end to give anything of it.
        assert!(
            most == text.len() || kind == Compression::Bzip2,
            "{kind:?}: {most}"
        );
    }
}

#[test]
fn damaged_at_any_byte_it_never_panics_and_gives_nothing_for_nothing() {
    let text = text(25);
    for kind in KINDS {
        let packed = pack(kind, &text);
        for at in 0..packed.len() {
            let mut broken = packed.clone();
            broken[at] ^= 0x55;
            // Some bytes, as the name or the time in gzip's head, tell nothing about the text.
            let (out, words) = unpack(&broken);
            assert!(words.is_some() || out == text, "{kind:?} at {at}");
        }
    }
}

#[test]
fn what_came_out_before_the_damage_counts() {
    let text = text(100_000);
    for kind in KINDS {
        let mut packed = pack(kind, &text);
        let at = packed.len() * 9 / 10;
        packed[at..at + 64].fill(0xff);
        let (out, words) = unpack(&packed);
        let words = words.unwrap();
        assert!(
            words.starts_with(&format!("it is damaged ({}: ", kind.name())),
            "{words}"
        );
        assert!(out.len() > text.len() / 10, "{kind:?}: {}", out.len());
        // xz and zstd check at the end only: wrong bytes may come before it.
        let same = out.iter().zip(&text).take_while(|(a, b)| a == b).count();
        assert!(same > text.len() / 10, "{kind:?}: {same}");
    }
}

#[test]
fn what_follows_that_is_not_compressed_is_said() {
    for kind in KINDS {
        let packed = [pack(kind, b"one\n"), b"two\n".to_vec()].concat();
        let (out, words) = unpack(&packed);
        assert_eq!(out, b"one\n");
        assert!(
            words
                .unwrap()
                .starts_with("what follows its first 4 bytes, decompressed, is")
        );
    }
}

#[test]
fn a_window_of_200_mib_is_refused_with_the_cure_and_one_of_128_is_not() {
    // Frames of one raw block, "hi", with the window's size in their heads (RFC 8878).
    let frame = |window: u8| {
        let mut frame = b"\x28\xb5\x2f\xfd\x00".to_vec();
        frame.push(window);
        frame.extend(b"\x11\0\0hi");
        frame
    };
    let of = |exponent: u8, eighths: u8| (exponent - 10) << 3 | eighths;
    assert_eq!(unpack(&frame(of(27, 0))), (b"hi".to_vec(), None));
    for (window, size) in [
        (of(27, 1), "144 MiB"),
        (of(27, 5), "208 MiB"),
        (of(31, 0), "2048 MiB"),
    ] {
        let (out, words) = unpack(&frame(window));
        let words = words.unwrap();
        assert!(
            out.is_empty() && words.contains(size) && words.contains("zstd -dc --long=31 FILE |"),
            "{words}"
        );
    }
    // In the middle, too: what came before counts.
    let (out, words) = unpack(&[frame(of(20, 0)), frame(of(28, 0))].concat());
    assert_eq!(out, b"hi");
    assert!(words.unwrap().contains("256 MiB"));
    // One segment: all of it is the window.
    let single = [
        &b"\x28\xb5\x2f\xfd\xa0"[..],
        &(200_u32 << 20).to_le_bytes(),
        b"\x11\0\0hi",
    ]
    .concat();
    assert!(unpack(&single).1.unwrap().contains("200 MiB"));
}

#[test]
fn an_xz_dictionary_is_held_to_what_there_is_room_for() {
    let packed = pack(Compression::Xz, &text(10));
    let (out, words) = unpack_within(&packed, 1 << 20);
    let words = words.unwrap();
    assert!(out.is_empty(), "{words}");
    assert!(
        words.contains("takes more than 1 MiB of memory, the limit"),
        "{words}"
    );
    assert!(words.contains("xz -dc FILE |"), "{words}");
}

#[test]
fn a_bomb_costs_no_memory() {
    let inner = pack(Compression::Gzip, &vec![0; 8 << 20]);
    let bomb = pack(Compression::Gzip, &inner);
    assert!(bomb.len() < 1 << 10, "{}", bomb.len());
    let mut reader = Decoder::new(Decoder::new(&bomb[..], MAX_WINDOW, ""), MAX_WINDOW, "");
    assert_eq!(io::copy(&mut reader, &mut io::sink()).unwrap(), 8 << 20);
    assert!(reader.input.capacity() <= 2 * INPUT);
}
