//! Physical lines out of blocks of bytes, in constant memory. What a line means is the parser's business.

use memchr::memchr;

/// Longest line that is kept whole; of a longer one its first bytes are, the rest is skipped. The kubelet's
/// longest lines (a node's status in one error) have some hundred KiB.
pub(super) const LONGEST: usize = 1 << 20;

/// Cuts blocks into lines. Only a line that crosses blocks is copied.
#[derive(Default)]
pub(super) struct Lines {
    /// The beginning of the line that the last block ended in.
    begun: Vec<u8>,
    /// Whether that line is longer than what was kept.
    over: bool,
    /// Lines that were longer than `LONGEST`.
    pub(super) cut: u64,
}

impl Lines {
    /// Hands the lines that end in `block` to `each`, without their ends (`\n`, `\r\n`).
    pub(super) fn push(&mut self, mut block: &[u8], each: &mut dyn FnMut(&[u8])) {
        while let Some(end) = memchr(b'\n', block) {
            if self.begun.is_empty() && end <= LONGEST {
                each(without_return(&block[..end]));
            } else {
                self.keep(&block[..end]);
                self.flush(each);
            }
            block = &block[end + 1..];
        }
        self.keep(block);
    }

    /// Hands on the last line, which nothing ended.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(&[u8])) {
        if !self.begun.is_empty() {
            self.flush(each);
        }
    }

    /// Forgets the line begun: what follows is from elsewhere.
    pub(super) fn forget(&mut self) {
        self.begun.clear();
        self.over = false;
    }

    fn keep(&mut self, part: &[u8]) {
        let room = LONGEST - self.begun.len();
        self.over |= part.len() > room;
        self.begun.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn flush(&mut self, each: &mut dyn FnMut(&[u8])) {
        each(without_return(&self.begun));
        self.cut += u64::from(self.over);
        self.forget();
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(blocks: &[&[u8]]) -> (Vec<Vec<u8>>, u64) {
        let mut lines = Lines::default();
        let mut got = Vec::new();
        for block in blocks {
            lines.push(block, &mut |line| got.push(line.to_vec()));
        }
        lines.finish(&mut |line| got.push(line.to_vec()));
        (got, lines.cut)
    }

    #[test]
    fn lines_are_the_same_however_the_blocks_fall() {
        let text = b"one\n\nthree\r\n\0\xff\nlast";
        let expected: Vec<&[u8]> = vec![b"one", b"", b"three", b"\0\xff", b"last"];
        for size in 1..=text.len() {
            let blocks: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(lines(&blocks).0, expected, "in blocks of {size}");
        }
    }

    #[test]
    fn nothing_has_no_line_and_an_ended_line_is_the_last() {
        assert!(lines(&[]).0.is_empty());
        assert!(lines(&[b""]).0.is_empty());
        assert_eq!(lines(&[b"a\n"]).0, [b"a"]);
    }

    #[test]
    fn of_an_overlong_line_the_beginning_is_kept_and_the_next_line_is_whole() {
        let long = vec![b'x'; LONGEST + 5];
        for blocks in [
            vec![[long.as_slice(), b"\nnext\n"].concat()],
            long.chunks(1000)
                .map(<[u8]>::to_vec)
                .chain([b"\nnext\n".to_vec()])
                .collect(),
        ] {
            let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
            let (got, cut) = lines(&blocks);
            assert_eq!(
                (got[0].len(), got[1].as_slice(), cut),
                (LONGEST, b"next".as_slice(), 1)
            );
        }
    }

    #[test]
    fn a_line_of_just_the_limit_is_whole() {
        let (got, cut) = lines(&[&vec![b'x'; LONGEST], b"\n"]);
        assert_eq!((got.len(), got[0].len(), cut), (1, LONGEST, 0));
    }

    #[test]
    fn a_forgotten_line_leaves_no_trace() {
        let mut lines = Lines::default();
        let mut got = Vec::new();
        lines.push(b"lost", &mut |line| got.push(line.to_vec()));
        lines.forget();
        lines.push(b"kept\n", &mut |line| got.push(line.to_vec()));
        assert_eq!(got, [b"kept"]);
    }
}
