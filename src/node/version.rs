//! Versions of the node's software, put in order whatever their makers append.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A version such as `20.10.24+dfsg1`, `v1.20.2-eks-7c9bda`, `1.0.0-rc93`, `5.15.63-flatcar`.  Ordered by its numbers;
/// then what comes before a release (`rc`, `beta`, …) before it; then what a distribution appended after it, itself by
/// its numbers: `1.0.0-rc93 < 1.0.0 < 1.0.0-1 < 1.0.0-2 < 1.0.1`. So all of 5.4.214, whoever packed it, is `>= 5.4.214`
/// and `< 5.4.215`.
#[derive(Clone, Debug)]
pub struct Version {
    text: String,
    numbers: Vec<u64>,
    before: Option<Before>,
    appended: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Before {
    stage: usize,
    numbers: Vec<u64>,
}

/// A part of what is appended; letters come before numbers, as in packages' versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Letters(String),
    Number(u64),
}

const STAGES: &[&str] = &["dev", "alpha", "beta", "pre", "rc"];
/// What distributions append to a release that they pack: Debian, Ubuntu, Red Hat, Fedora, Amazon.
const DISTRIBUTIONS: &[&str] = &["ds", "dfsg", "deb", "ubuntu", "el", "fc", "amzn"];
const LONGEST: usize = 128;
const MOST: usize = 32;

impl Version {
    /// The version that `text` is: numbers with dots, behind a `v` or not, and what is appended.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > LONGEST {
            return None;
        }
        let plain = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let (numbers, rest) = numbers(plain);
        // Words that begin with a number are none: `9p`, `0a1b2c`.
        let separate = |rest: &str| rest.is_empty() || rest.starts_with(['-', '+', '~', '_', '.']);
        let (before, appended) = stage(rest);
        if numbers.is_empty() || (before.is_none() && !separate(rest)) {
            return None;
        }
        Some(Self {
            text: text.to_owned(),
            numbers,
            before,
            appended: parts(appended),
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Whether it is that release or that candidate of one, whatever was appended: `1.4.4-1` is of `1.4.4`.
    pub fn is_of(&self, release: &Self) -> bool {
        self.release() == release.release()
    }

    /// Whether it carries a distribution's mark, whose packager may have mended what its number does not show:
    /// `20.10.24+dfsg1`, `1.6.20~ds1`, `219-78.el7_9.9`, `241-7~deb10u8`. A plain count of packages, as in `1.4.4-1`,
    /// is none.
    pub fn is_distributions(&self) -> bool {
        self.appended.iter().any(
            |part| matches!(part, Part::Letters(word) if DISTRIBUTIONS.contains(&word.as_str())),
        )
    }

    /// What decides first. `1.4` and `1.4.0` are one.
    fn release(&self) -> (&[u64], bool, Option<&Before>) {
        let zeros = self.numbers.iter().rev().take_while(|&&number| number == 0);
        let significant = self.numbers.len() - zeros.count();
        (
            self.numbers.get(..significant).unwrap_or_default(),
            self.before.is_none(),
            self.before.as_ref(),
        )
    }
}

fn numbers(mut text: &str) -> (Vec<u64>, &str) {
    let mut numbers = Vec::new();
    loop {
        let next = text
            .strip_prefix('.')
            .filter(|_| !numbers.is_empty())
            .unwrap_or(text);
        let digits = next.len() - next.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Some(number) = next.get(..digits).and_then(|digits| digits.parse().ok()) else {
            return (numbers, text);
        };
        // Two numbers without a dot between are one.
        if next.len() == text.len() && !numbers.is_empty() {
            return (numbers, text);
        }
        numbers.push(number);
        text = &next[digits..];
        if numbers.len() == MOST {
            return (numbers, text);
        }
    }
}

fn stage(rest: &str) -> (Option<Before>, &str) {
    let word = rest.trim_start_matches(['-', '~', '.', '_']);
    let found = STAGES.iter().enumerate().find_map(|(stage, name)| {
        let after = word.strip_prefix(name)?;
        // Letters go on: `developer` is no `dev`.
        let ends = !after.starts_with(|c: char| c.is_ascii_alphabetic());
        ends.then_some((stage, after))
    });
    let Some((stage, after)) = found else {
        return (None, rest);
    };
    let dotted = after.strip_prefix(['.', '-']).unwrap_or(after);
    let (numbers, left) = match numbers(dotted) {
        (numbers, _) if numbers.is_empty() => (numbers, after),
        some => some,
    };
    (Some(Before { stage, numbers }), left)
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while parts.len() < MOST {
        rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let Some(first) = rest.chars().next() else {
            break;
        };
        let digit = first.is_ascii_digit();
        let other = |c: char| !c.is_ascii_alphanumeric() || c.is_ascii_digit() != digit;
        let (part, left) = rest.split_at(rest.find(other).unwrap_or(rest.len()));
        parts.push(match part.parse() {
            Ok(number) if digit => Part::Number(number),
            _ => Part::Letters(part.to_owned()),
        });
        rest = left;
    }
    parts
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let (left, right) = (self.release(), other.release());
        left.cmp(&right)
            .then_with(|| self.appended.cmp(&other.appended))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.release().hash(state);
        self.appended.hash(state);
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap_or_else(|| panic!("{text} is no version"))
    }

    #[test]
    fn versions_are_in_their_makers_order() {
        let order = [
            "1.0.0-dev",
            "1.0.0-alpha.1",
            "1.0.0-beta.2",
            "1.0.0-rc8",
            "1.0.0-rc8+dev",
            "1.0.0-rc92",
            "1.0.0~rc93+ds1",
            "1.0.0-rc95",
            "1.0.0-rc.96",
            "1.0.0",
            "1.0.0+ds1",
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-10",
            "1.0.1",
            "1.4.4-1",
            "1.4.10",
            "v1.20.2",
            "v1.20.2-eks-7c9bda",
            "v1.20.15",
            "3.10.0-957.el7.x86_64",
            "3.10.0-1160.el7.x86_64",
            "5.4.213",
            "5.4.214-120.368.amzn2.x86_64",
            "5.4.217-126.408.amzn2.x86_64",
            "5.4.219",
            "5.15.63-flatcar",
            "5.15.64",
            "18.09.1-ce",
            "20.10.24+dfsg1",
            "20.10.25",
            "219",
            "252.38-1~deb12u1",
        ];
        for pair in order.windows(2) {
            let (left, right) = (version(pair[0]), version(pair[1]));
            assert!(left < right, "{left} < {right}");
            assert_ne!(left, right);
        }
        assert_eq!(version("1.4"), version("v1.4.0"));
        assert_eq!(version("20.10.24+dfsg1").as_str(), "20.10.24+dfsg1");
    }

    #[test]
    fn a_release_is_known_whoever_packed_it() {
        for (text, release) in [
            ("1.4.4-1", "1.4.4"),
            ("1.0.0~rc93+ds1", "1.0.0-rc93"),
            ("v1.20.2-eks-7c9bda", "1.20.2"),
            ("20.10.24+dfsg1", "20.10.24"),
            ("5.4.214-120.368.amzn2.x86_64", "5.4.214"),
        ] {
            assert!(version(text).is_of(&version(release)), "{text}");
        }
        for (text, other) in [
            ("1.4.40", "1.4.4"),
            ("1.0.0-rc93", "1.0.0"),
            ("1.0.0-rc93", "1.0.0-rc9"),
        ] {
            assert!(!version(text).is_of(&version(other)), "{text}");
        }
    }

    #[test]
    fn a_distributions_own_is_told_from_the_makers() {
        for text in [
            "20.10.24+dfsg1",
            "v1.6.20~ds1",
            "1.0.0~rc93+ds1-5",
            "219-78.el7_9.9",
            "241-7~deb10u8",
            "20.10.7-0ubuntu5~20.04.2",
        ] {
            assert!(version(text).is_distributions(), "{text}");
        }
        for text in [
            "1.4.4-1",
            "1.0.0-rc93",
            "18.09.1-ce",
            "5.15.63-flatcar",
            "219",
        ] {
            assert!(!version(text).is_distributions(), "{text}");
        }
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in [
            "",
            "v",
            "build",
            "5d6db84",
            "2806fc1057397dbaeefbea0e4e17bddfbd388f38",
            "github.com/x",
            "-1",
            "vv1",
            "9".repeat(30).as_str(),
            "1".repeat(200).as_str(),
        ] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
