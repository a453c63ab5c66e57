//! `--filter` of `clean`, with the meaning that it has in the docker command line.
//!
//! `label` and `label!` as `docker container prune` takes them, `name` as `docker ps`, `until` as prune: created
//! before. This reads what the user typed, so it is the one part of planning that can say no.

use crate::runtime::Container;
use crate::syntax::duration;
use crate::syntax::time::Time;
use anyhow::{Context as _, bail};
use chrono::{
    DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone as _,
};
use regex::Regex;

/// What `--filter` lets through; the default lets everything through.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// `label=K` or `label=K=V`: all must match.
    labels: Vec<Label>,
    /// `label!=…`: what matches all of them is out.
    not_labels: Vec<Label>,
    /// `name=REGEX`: one must match.
    names: Vec<Regex>,
    /// `until=T`: created then or before.
    until: Option<Time>,
}

/// A label's key, and the value that it must have if one was given.
#[derive(Clone, Debug)]
struct Label {
    key: String,
    value: Option<String>,
}

impl Filters {
    /// The filters that `texts` are, each `KEY=VALUE`, seen from `now`.
    pub fn parse(texts: &[String], now: Time) -> anyhow::Result<Self> {
        let mut filters = Self::default();
        for text in texts {
            filters
                .add(text, now)
                .with_context(|| format!("--filter {text}"))?;
        }
        Ok(filters)
    }

    fn add(&mut self, text: &str, now: Time) -> anyhow::Result<()> {
        // The first "=" ends the key, also in "label!=K=V", whose key is "label!".
        let Some((key, value)) = text.split_once('=') else {
            bail!("is not KEY=VALUE, where KEY is label, label!, name or until");
        };
        match key.trim().to_lowercase().as_str() {
            "label" => self.labels.push(Label::parse(value)?),
            "label!" => self.not_labels.push(Label::parse(value)?),
            "name" => self.names.push(name(value)?),
            "until" if self.until.is_some() => bail!("only one until is allowed"),
            "until" => self.until = Some(until(value.trim(), now)?),
            _ => bail!("no such key; known are label, label!, name and until"),
        }
        Ok(())
    }

    pub fn admit(&self, container: &Container) -> bool {
        let label = |label: &Label| label.matches(container);
        // Docker says "not" to what has all of the unwanted labels, not to what has one of them.
        let unwanted = !self.not_labels.is_empty() && self.not_labels.iter().all(label);
        self.labels.iter().all(label)
            && !unwanted
            && (self.names.is_empty() || self.names.iter().any(|name| matches(name, container)))
            && self
                .until
                .is_none_or(|until| container.created.is_some_and(|created| created <= until))
    }
}

impl Label {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (text, None),
        };
        if key.is_empty() {
            bail!("names no label");
        }
        Ok(Self {
            key: key.to_owned(),
            value,
        })
    }

    fn matches(&self, container: &Container) -> bool {
        container
            .labels
            .get(&self.key)
            .is_some_and(|value| self.value.as_ref().is_none_or(|wanted| wanted == value))
    }
}

/// Whether a name matches, with or without the slash that Docker stores before it.
fn matches(pattern: &Regex, container: &Container) -> bool {
    pattern.is_match(&container.name) || pattern.is_match(&format!("/{}", container.name))
}

fn name(pattern: &str) -> anyhow::Result<Regex> {
    // An empty pattern, from a variable that was not set, would take every container.
    if pattern.is_empty() {
        bail!("names no name");
    }
    // The error of the regex crate spans several lines; its last one says what is wrong.
    Regex::new(pattern).map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        anyhow::anyhow!(
            "is no regular expression: {}",
            last.trim_start_matches("error: ")
        )
    })
}

/// The moment that `until` means: all forms of Docker's, and whole days (`3d`) before `now`.
fn until(text: &str, now: Time) -> anyhow::Result<Time> {
    let days = text
        .strip_suffix('d')
        .and_then(|days| days.parse().ok())
        .and_then(TimeDelta::try_days);
    days.or_else(|| span(text))
        .and_then(|ago| now.checked_sub_signed(ago))
        .or_else(|| DateTime::parse_from_rfc3339(text).ok())
        .or_else(|| local(text, *now.offset()))
        .or_else(|| unix(text))
        .context("is no time: use 24h, 3d, 2026-11-30T03:40:00Z, 2026-11-30T03:40, 2026-11-30, or seconds since 1970")
}

/// Reads a span in all forms that Go reads, `.5h` and `1h1h` among them. A bare 0 is none: Docker takes it for the
/// first second of 1970.
fn span(text: &str) -> Option<TimeDelta> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut total = None;
    while rest.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
        let zero = if rest.starts_with('.') { "0" } else { "" };
        let (part, used) = duration::parse_prefix(&format!("{zero}{rest}"))?;
        total = Some(total.unwrap_or_else(TimeDelta::zero).checked_add(&part)?);
        rest = &rest[used - zero.len()..];
    }
    let total: TimeDelta = total.filter(|_| rest.is_empty())?;
    Some(if negative { -total } else { total })
}

/// Reads Docker's shorter forms, with a zone at the end or in the zone of `offset`.
fn local(text: &str, offset: FixedOffset) -> Option<Time> {
    let (text, offset) = match text.strip_suffix('Z') {
        Some(text) => (text, FixedOffset::east_opt(0)?),
        None => match text.len().checked_sub(6) {
            Some(at) if text.is_char_boundary(at) && text[at..].starts_with(['+', '-']) => {
                // "-11-30" ends a date and is no zone.
                match text[at..].parse() {
                    Ok(zone) if text[at..].contains(':') => (&text[..at], zone),
                    _ => (text, offset),
                }
            }
            _ => (text, offset),
        },
    };
    let naive = match text.split_once('T') {
        None => NaiveDate::parse_from_str(text, "%Y-%m-%d")
            .ok()?
            .and_time(NaiveTime::MIN),
        Some((date, hour)) if hour.len() == 2 => {
            let hour = hour.parse().ok()?;
            NaiveDate::parse_from_str(date, "%Y-%m-%d")
                .ok()?
                .and_hms_opt(hour, 0, 0)?
        }
        Some(_) => ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"]
            .iter()
            .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())?,
    };
    offset.from_local_datetime(&naive).single()
}

/// Reads seconds since 1970, with or without a fraction.
fn unix(text: &str) -> Option<Time> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(seconds) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let nanos = format!("{fraction:0<9}").parse().ok()?;
    DateTime::from_timestamp(seconds.parse().ok()?, nanos).map(|time| time.fixed_offset())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{container, now};
    use super::*;

    fn filters(texts: &[&str]) -> anyhow::Result<Filters> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        Filters::parse(&texts, now())
    }

    fn admits(texts: &[&str], container: &Container) -> bool {
        filters(texts).unwrap().admit(container)
    }

    #[test]
    fn labels_are_anded_and_values_compared_whole() {
        let mut it = container("a", "exited");
        it.labels = [("app", "web"), ("tier", "front=1")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
        assert!(admits(&["label=app"], &it));
        assert!(admits(&["label=app=web"], &it));
        assert!(admits(&["label=tier=front=1"], &it));
        assert!(!admits(&["label=app=we"], &it));
        assert!(!admits(&["label=app=web", "label=gone"], &it));
    }

    #[test]
    fn unwanted_labels_spare_what_has_all_of_them() {
        let mut it = container("a", "exited");
        it.labels = [("keep".to_owned(), "yes".to_owned())].into();
        assert!(!admits(&["label!=keep"], &it));
        assert!(!admits(&["label!=keep=yes"], &it));
        assert!(admits(&["label!=keep=no"], &it));
        assert!(admits(&["label!=keep", "label!=other"], &it));
        assert!(!admits(&["label=keep", "label!=keep"], &it));
    }

    #[test]
    fn names_are_patterns_with_or_without_the_slash_and_ored() {
        let mut it = container("a", "exited");
        it.name = "k8s_app_web-2_default_uid_0".to_owned();
        for pattern in ["web", "^k8s_app", "^/k8s_app", "_0$", "k8s_.*_default_"] {
            assert!(admits(&[&format!("name={pattern}")], &it), "{pattern}");
        }
        assert!(!admits(&["name=^web"], &it));
        assert!(admits(&["name=^web", "name=app"], &it));
    }

    #[test]
    fn until_is_about_creation_in_every_form_of_docker() {
        for (text, expected) in [
            ("10m", "2026-11-30T11:50:00+08:00"),
            ("1h30m", "2026-11-30T10:30:00+08:00"),
            (".5h", "2026-11-30T11:30:00+08:00"),
            ("1h1h", "2026-11-30T10:00:00+08:00"),
            ("1.5h.5m", "2026-11-30T10:29:30+08:00"),
            ("-1h1m", "2026-11-30T13:01:00+08:00"),
            ("0s", "2026-11-30T12:00:00+08:00"),
            ("0", "1970-01-01T00:00:00+00:00"),
            ("2d", "2026-11-28T12:00:00+08:00"),
            ("2026-11-30T03:40:00Z", "2026-11-30T03:40:00+00:00"),
            ("2026-11-30T03:40:00.5-03:00", "2026-11-30T03:40:00.5-03:00"),
            ("2026-11-30T03:40:01", "2026-11-30T03:40:01+08:00"),
            ("2026-11-30T03:40", "2026-11-30T03:40:00+08:00"),
            ("2026-11-30T03:40Z", "2026-11-30T03:40:00+00:00"),
            ("2026-11-30T03", "2026-11-30T03:00:00+08:00"),
            ("2026-11-30T03+01:00", "2026-11-30T03:00:00+01:00"),
            ("2026-11-30", "2026-11-30T00:00:00+08:00"),
            ("2026-11-30+01:00", "2026-11-30T00:00:00+01:00"),
            ("2026-11-30Z", "2026-11-30T00:00:00+00:00"),
            ("1795000000", "2026-11-18T11:06:40+00:00"),
            ("1795000000.5", "2026-11-18T11:06:40.5+00:00"),
        ] {
            let expected = DateTime::parse_from_rfc3339(expected).unwrap();
            assert_eq!(until(text, now()).unwrap(), expected, "{text}");
        }
        let mut it = container("a", "exited");
        it.created = Some(now() - TimeDelta::minutes(30));
        assert!(admits(&["until=10m"], &it));
        assert!(admits(&["until=30m"], &it));
        assert!(!admits(&["until=31m"], &it));
        it.created = None;
        assert!(!admits(&["until=10m"], &it));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_in_one_line() {
        for text in [
            "status=dead",
            "label",
            "label=",
            "label==x",
            "label!=",
            "name=",
            "name=(",
            "until=",
            "until=soon",
            "until=-0",
            "until=1h-1h",
            "until=.h",
            "until=1h1",
            "until=2026-13-01",
            "until=1795000000.",
            "until=ä2026-01:00",
            "",
        ] {
            let error = format!("{:#}", filters(&[text]).unwrap_err());
            assert!(!error.contains('\n'), "{error}");
            assert!(error.starts_with(&format!("--filter {text}: ")), "{error}");
        }
        let error = format!("{:#}", filters(&["status=dead"]).unwrap_err());
        assert!(error.contains("label, label!, name and until"), "{error}");
        assert!(filters(&["until=1h", "until=2h"]).is_err());
    }
}
