//! Lines that a pager cut: journalctl ends what does not fit in `>`, or has `…` in its middle.
//!
//! One such line says nothing, messages pending those signs, too. Lines that are cut to one width do; and a `>` that closes
//! nothing, or within what is quoted.

#[derive(Debug, Default)]
pub(super) struct Truncated {
    /// Characters of the last line that has such a sign.
    width: usize,
    /// Lines like it, without those of other widths before.
    alike: u64,
    /// Lines that were cut for sure, whatever their width.
    sure: u64,
}

impl Truncated {
    /// Takes note of a whole line, with its envelope.
    pub(super) fn see(&mut self, raw: &[u8]) {
        if !raw.ends_with(b">") && !has_dots(raw) {
            return;
        }
        // All bytes but those that go on with a character.
        let width = raw.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        self.alike = if width == self.width {
            self.alike + 1
        } else {
            1
        };
        self.width = width;
        self.sure += u64::from(ends_cut(raw));
    }

    /// How many lines a pager cut; 0 where it may have been none.
    pub(super) fn count(&self) -> u64 {
        let alike = match self.alike {
            1 => 0,
            alike => alike,
        };
        alike.max(self.sure)
    }
}

/// Whether a line ends in a `>` that can only be a pager's: it closes nothing, or a quote is left multiline.
pub(crate) fn ends_cut(raw: &[u8]) -> bool {
    let Some(text) = raw.strip_suffix(b">") else {
        return false;
    };
    if text.ends_with(b" ") || text.ends_with(b"-") || text.ends_with(b"=") {
        return false;
    }
    let (mut multiline, mut quoted, mut last) = (0_u32, false, 0);
    for &byte in text {
        match byte {
            b'"' if last != b'\\' => quoted = !quoted,
            b'<' => multiline += 1,
            b'>' if last != b'-' && last != b'=' => multiline = multiline.saturating_sub(1),
            _ => {}
        }
        last = byte;
    }
    multiline == 0 || quoted
}

fn has_dots(raw: &[u8]) -> bool {
    let dots = "…".as_bytes();
    memchr::memchr(dots[0], raw).is_some_and(|at| memchr::memmem::find(&raw[at..], dots).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(lines: &[&str]) -> u64 {
        let mut truncated = Truncated::default();
        for line in lines {
            truncated.see(line.as_bytes());
        }
        truncated.count()
    }

    #[test]
    fn lines_of_one_width_were_cut() {
        assert_eq!(count(&["a kubelet[1]: x>", "whole", "b kubelet[1]: y>"]), 2);
        assert_eq!(count(&["kubelet: a…b", "kubelet: cd>"]), 2);
    }

    #[test]
    fn one_line_is_enough_whose_end_closes_nothing() {
        for line in [
            "kubelet[1]: Failed to remove container \"7be1d0c4a9>",
            "kubelet[1]: desc = failed to rem>",
            "kubelet[1]: \"Probe failed\" output=\"<html>",
            "read tcp 10.0.0.1:1->10.0.0.2:2: i/o time>",
        ] {
            assert_eq!(count(&[line, "whole"]), 1, "{line}");
        }
    }

    #[test]
    fn a_message_may_end_like_one() {
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&["Readiness probe failed: <html>"]), 0);
        assert_eq!(count(&["x: <html>", "longer: <html>", "whole"]), 0);
        for line in [
            "read tcp 10.0.0.1:1->10.0.0.2:2: body <html>",
            "Image \"a\" is <none>",
            " >",
            "the change is a ->",
            "args=[a=>b] map[x:<nil>",
        ] {
            assert_eq!(count(&[line]), 0, "{line}");
        }
    }
}
