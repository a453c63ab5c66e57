//! What a log's beginning shows of the way that it came here: that its lines were broken at a terminal's width, or cut
//! at it by a pager.

use super::rows;
use crate::kubelet::parser::ends_cut;

/// Rows that are looked at.
const ROWS: usize = 4096;
/// Lines that a pager cut that it takes to tell.
const FEW: usize = 2;
/// The narrowest that a terminal may have been.
const NARROWEST: usize = 40;

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Looks {
    /// At how many columns its lines were broken, to go on in the next one.
    pub(super) broken: Option<usize>,
    /// At how many columns a pager cut its lines.
    pub(super) cut: Option<usize>,
}

impl Looks {
    /// Looks at the beginning of a log; its last line counts only if the beginning is `whole`, or ends with it.
    pub(super) fn of(head: &[u8], whole: bool) -> Self {
        let end = match whole {
            true => head.len(),
            false => memchr::memrchr(b'\n', head).unwrap_or(0),
        };
        let rows = head[..end].split(|&byte| byte == b'\n');
        let rows: Vec<&[u8]> = rows.take(ROWS).collect();
        Self {
            broken: rows::width(&rows),
            cut: cut(&rows),
        }
    }
}

/// Returns at which width a pager cut the lines that are wider: no line is wider then, and of those that are so wide most
/// end like one that was cut.
fn cut(rows: &[&[u8]]) -> Option<usize> {
    let widths: Vec<usize> = rows.iter().map(|row| rows::columns(row)).collect();
    let width = *widths.iter().max()?;
    let widest = rows.iter().zip(&widths).filter(|(_, it)| **it == width);
    let (mut all, mut cut) = (0, 0);
    for (row, _) in widest {
        all += 1;
        cut += usize::from(ends_cut(row) || has_dots(row));
    }
    (width >= NARROWEST && cut >= FEW && cut * 2 > all).then_some(width)
}

fn has_dots(row: &[u8]) -> bool {
    memchr::memmem::find(row, "…".as_bytes()).is_some()
}

#[cfg(test)]
#[path = "tests/looks.rs"]
mod tests;
