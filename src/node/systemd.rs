//! systemd: whether it answers over D-Bus, and what its process does meanwhile.
//!
//! With the cgroup driver `systemd` the kubelet and each OCI runtime ask it for a scope before a container is
//! started, over the system's bus; if it does not answer, they wait.

use super::parse::Stat;
use super::version::Version;
use super::{State, parse};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct Systemd {
    pub bus: Bus,
    pub state: Option<State>,
    pub wchan: Option<String>,
    /// Which share of one processor it took while it was silent, in per cent.
    pub busy: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bus {
    Answered(Duration, Option<Version>),
    Silent(Duration),
    Failed(String),
}

impl Bus {
    /// What is written down of an answer: `answered 0.012 s "252.38-1"`, `silent 3.000`, `failed WORDS`.
    pub fn written(&self) -> String {
        match self {
            Self::Answered(took, version) => {
                let version = version.as_ref().map_or("", Version::as_str);
                format!("answered {:.3} {version}", took.as_secs_f64())
            }
            Self::Silent(waited) => format!("silent {:.3}", waited.as_secs_f64()),
            Self::Failed(words) => format!("failed {}", words.replace('\n', " ")),
        }
    }

    pub fn read(text: &str) -> Option<Self> {
        let (how, rest) = text.trim().split_once(' ')?;
        let (time, more) = rest.split_once(' ').unwrap_or((rest, ""));
        let time = || Duration::try_from_secs_f64(time.parse().ok()?).ok();
        Some(match how {
            "answered" => Self::Answered(time()?, Version::parse(more)),
            "silent" => Self::Silent(time()?),
            "failed" => Self::Failed(rest.to_owned()),
            _ => return None,
        })
    }

    /// The version in what `busctl get-property` prints: `s "252.38-1~deb12u1"`.
    pub fn version(printed: &str) -> Option<Version> {
        let (_, quoted) = printed.trim().split_once('"')?;
        // `systemd 219` says the first that had the property, `v249` some after.
        let version = quoted.trim_end_matches('"');
        Version::parse(version.strip_prefix("systemd ").unwrap_or(version))
    }
}

impl Systemd {
    /// What was heard: how the bus answered, and the `stat` of the first process before and after.
    pub fn heard(bus: Bus, before: &str, after: &str, wchan: Option<&str>) -> Self {
        let stat: Option<Stat> = parse::stat(after);
        let worked = parse::processor_time(before).zip(parse::processor_time(after));
        let busy = match &bus {
            Bus::Silent(waited) if *waited >= Duration::from_millis(500) => worked
                .map(|(before, after)| {
                    after.saturating_sub(before).as_secs_f64() / waited.as_secs_f64() * 100.0
                })
                .map(|share| share.round().min(100.0)),
            _ => None,
        };
        Self {
            bus,
            state: stat.map(|stat| stat.state),
            wchan: wchan.and_then(parse::wchan),
            busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_are_written() {
        let version = Version::parse("252.38-1~deb12u1");
        for (bus, text) in [
            (
                Bus::Answered(Duration::from_millis(12), version),
                "answered 0.012 252.38-1~deb12u1",
            ),
            (
                Bus::Answered(Duration::from_millis(3), None),
                "answered 0.003 ",
            ),
            (Bus::Silent(Duration::from_millis(3001)), "silent 3.001"),
            (
                Bus::Failed("Failed to connect to bus: Connection refused".to_owned()),
                "failed Failed to connect to bus: Connection refused",
            ),
        ] {
            assert_eq!(bus.written(), text);
            assert_eq!(Bus::read(text), Some(bus));
        }
        for text in ["", "answered", "answered x", "silent -1", "gone 3"] {
            assert_eq!(Bus::read(text), None, "{text}");
        }
    }

    #[test]
    fn busctls_answer_tells_the_version() {
        for (printed, version) in [
            ("s \"252.38-1~deb12u1\"\n", "252.38-1~deb12u1"),
            ("s \"systemd 219\"", "219"),
            ("s \"v249.4\"", "v249.4"),
        ] {
            assert_eq!(Bus::version(printed).unwrap().as_str(), version);
        }
        assert_eq!(Bus::version(""), None);
    }

    #[test]
    fn what_it_works_while_it_is_silent_is_told() {
        let stat = |state: char, user: u64| {
            format!(
                "1 (systemd) {state} 0 1 1 0 -1 4194560 52303 0 95 0 {user} 50 0 0 20 0 1 0 2 171000000 3100 0"
            )
        };
        let silent = || Bus::Silent(Duration::from_secs(3));
        let spins = Systemd::heard(silent(), &stat('R', 1000), &stat('R', 1294), Some("0"));
        assert_eq!(
            (spins.busy, spins.state, spins.wchan),
            (Some(98.0), Some(State::Running), None)
        );
        let asleep = Systemd::heard(
            silent(),
            &stat('S', 1000),
            &stat('D', 1000),
            Some("refrigerator"),
        );
        assert_eq!(
            (asleep.busy, asleep.state),
            (Some(0.0), Some(State::Uninterruptible))
        );
        assert_eq!(asleep.wchan.as_deref(), Some("refrigerator"));
        let unseen = Systemd::heard(silent(), "", "", None);
        assert_eq!((unseen.busy, unseen.state), (None, None));
    }
}
