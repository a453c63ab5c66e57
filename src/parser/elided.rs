//! Lines that a pager cut: journalctl ends what does not fit in `>`, or has `…` in its middle.
//!
//! One such line says nothing, messages hold those signs, too. Lines that are cut to one width do.

/// The fold.
#[derive(Debug, Default)]
pub(super) struct Elided {
    /// Characters of the last line that has such a sign.
    width: usize,
    /// Lines like it, without those of other widths before.
    alike: u64,
}

impl Elided {
    /// Takes note of a whole line, with its envelope.
    pub(super) fn see(&mut self, raw: &[u8]) {
        if !raw.ends_with(b">") && !has_dots(raw) {
            return;
        }
        // All bytes but those that go on with a character.
        let width = raw.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        self.alike = match width == self.width {
            true => self.alike + 1,
            false => 1,
        };
        self.width = width;
    }

    /// Returns how many lines a pager cut; 0 where it may have been none.
    pub(super) fn count(&self) -> u64 {
        match self.alike {
            1 => 0,
            alike => alike,
        }
    }
}

/// Returns whether `…` is in a line. Most have no byte of its kind, and to look for the whole sign takes longer.
fn has_dots(raw: &[u8]) -> bool {
    let dots = "…".as_bytes();
    memchr::memchr(dots[0], raw).is_some_and(|at| memchr::memmem::find(&raw[at..], dots).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(lines: &[&str]) -> u64 {
        let mut elided = Elided::default();
        for line in lines {
            elided.see(line.as_bytes());
        }
        elided.count()
    }

    #[test]
    fn lines_of_one_width_were_cut() {
        assert_eq!(count(&["a kubelet[1]: x>", "whole", "b kubelet[1]: y>"]), 2);
        assert_eq!(count(&["kubelet: a…b", "kubelet: cd>"]), 2);
    }

    #[test]
    fn a_message_may_end_like_one() {
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&["Readiness probe failed: <html>"]), 0);
        assert_eq!(count(&["x: <html>", "longer: <html>", "whole"]), 0);
    }
}
