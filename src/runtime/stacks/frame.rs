//! One frame: `github.com/docker/docker/daemon.(*Daemon).containerStart(0xc000860000, 0xc0003e4c80, {0x0, 0x0})`.

/// Arguments kept.
const MOST_ARGUMENTS: usize = 12;

/// One frame of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The function with its package's path.
    pub function: String,
    /// Its first arguments as words of memory, the receiver first, strings as address and length. `None` where Go
    /// marks the value as unsure (`0x30?`: the register may have been used for something else since). Empty for an
    /// inlined function, of which Go prints `(...)`.
    pub arguments: Vec<Option<u64>>,
    /// Whether it only tells which function started the goroutine: that one does not run in it.
    pub created: bool,
    /// The source file; empty if not told.
    pub file: String,
    /// The line in it; 0 if not told.
    pub line: u32,
}

impl Frame {
    /// Reads the line that names the function; `None` for what is no frame.
    pub(super) fn read(line: &str) -> Option<Self> {
        if line.starts_with(['.', '=', '[', ' ']) {
            // `...additional frames elided...`, `=== END goroutine stack dump ===`
            return None;
        }
        let (function, arguments) = match line.strip_prefix("created by ") {
            Some(function) => (function.split(" in goroutine ").next()?, ""),
            // No argument has parentheses, and the part of a name that has some ends in a dot.
            None => line.rsplit_once('(')?,
        };
        Some(Self {
            function: function.to_owned(),
            created: line.starts_with("created by "),
            arguments: words(arguments),
            file: String::new(),
            line: 0,
        })
    }

    /// Reads the line that tells where: `/src/daemon/start.go:153 +0x370`.
    pub(super) fn set_place(&mut self, place: &str) {
        let place = place.split(' ').next().unwrap_or(place);
        if let Some((file, line)) = place.rsplit_once(':') {
            self.file = file.to_owned();
            self.line = line.parse().unwrap_or(0);
        }
    }

    /// Returns the function's own name: `containerStart`, also for a closure in it.
    pub fn name(&self) -> &str {
        let mut name = self.function.trim_end_matches("-fm");
        loop {
            let Some((before, last)) = name.rsplit_once('.') else {
                return name;
            };
            let closure = last
                .strip_prefix("func")
                .or_else(|| last.strip_prefix("gowrap"))
                .unwrap_or(last);
            if closure.is_empty() || !closure.bytes().all(|b| b.is_ascii_digit()) {
                return last;
            }
            name = before;
        }
    }

    /// Returns the function without its package's path: `(*Daemon).containerStart`.
    pub fn short(&self) -> &str {
        let base = self.function.rsplit('/').next().unwrap_or_default();
        base.split_once('.').map_or(base, |(_, short)| short)
    }

    /// Returns whether it is a method of that type: `Daemon`.
    pub(super) fn is_of(&self, receiver: &str) -> bool {
        self.function
            .split_once("(*")
            .and_then(|(_, rest)| rest.strip_prefix(receiver))
            .is_some_and(|rest| rest.starts_with(')'))
    }
}

/// Reads `0xc000860000, {0x0?, 0x40}, ...` flat.
fn words(arguments: &str) -> Vec<Option<u64>> {
    arguments
        .split([',', '{', '}', ' ', ')'])
        .filter(|word| word.starts_with("0x"))
        .take(MOST_ARGUMENTS)
        .map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok())
        .collect()
}
