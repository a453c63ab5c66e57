//! What differs between two texts, line by line.

/// How many equal lines are shown around those that differ.
const AROUND: usize = 2;

/// The lines that only `expected` has (`-`) or only `found` has (`+`), and a few around them.
pub(crate) fn lines(expected: &str, found: &str) -> String {
    let (expected, found): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    // How many lines the rests have in common, for each pair of rests.
    let mut common = vec![vec![0_u32; found.len() + 1]; expected.len() + 1];
    for (i, left) in expected.iter().enumerate().rev() {
        for (j, right) in found.iter().enumerate().rev() {
            common[i][j] = match left == right {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut all = Vec::new();
    while i < expected.len() || j < found.len() {
        let (mark, line) = match (expected.get(i), found.get(j)) {
            (Some(left), Some(right)) if left == right => (' ', left),
            (Some(left), right) if right.is_none() || common[i + 1][j] >= common[i][j + 1] => {
                ('-', left)
            }
            (_, Some(right)) => ('+', right),
            (left, None) => ('-', &left.copied().unwrap_or_default()),
        };
        i += usize::from(mark != '+');
        j += usize::from(mark != '-');
        all.push((mark, *line));
    }
    let mut out = String::new();
    let mut skipped = false;
    for (at, (mark, line)) in all.iter().enumerate() {
        let near = &all[at.saturating_sub(AROUND)..all.len().min(at + AROUND + 1)];
        if near.iter().all(|(mark, _)| *mark == ' ') {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            out.push_str("…\n");
        }
        out.extend([*mark, ' ']);
        out.extend([line, "\n"]);
    }
    out
}

/// Lines that differ, and two around them.
pub(crate) fn a_diff_shows_what_is_only_here_or_there() {
    let found = lines("a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nd\nE\nf\ng\nh");
    assert_eq!(found, "…\n  c\n  d\n- e\n+ E\n  f\n  g\n+ h\n");
    assert_eq!(lines("a\nb", "a\nb"), "");
    assert_eq!(lines("a", ""), "- a\n");
}
