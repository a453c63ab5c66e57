//! JSON objects that are envelopes: the journal's, docker's json-file. klog's own JSON is no envelope.

use super::{Owner, json, owner_of};
use crate::syntax::time::{Stamp, rfc3339};
use chrono::DateTime;

pub(super) struct Inner {
    pub(super) stamp: Option<Stamp>,
    pub(super) host: Option<String>,
    pub(super) owner: Owner,
    pub(super) message: Vec<u8>,
    pub(super) partial: bool,
}

pub(super) fn open(text: &[u8]) -> Option<Inner> {
    let mut stamp = None;
    let mut host = None;
    let mut ident = Owner::Unnamed;
    let mut unit = Owner::Unnamed;
    let mut message = None;
    let mut is_docker = false;
    for (key, value) in json::members(text) {
        match key {
            b"log" => {
                is_docker = true;
                message = Some(json::string(value).into_owned());
            }
            b"time" => stamp = rfc3339(&json::string(value)).map(|(stamp, _)| stamp),
            b"MESSAGE" => message = Some(journal_message(value)),
            b"__REALTIME_TIMESTAMP" => stamp = realtime(&json::string(value)),
            b"_HOSTNAME" => {
                host = Some(String::from_utf8_lossy(&json::string(value)).into_owned());
            }
            b"SYSLOG_IDENTIFIER" => ident = owner_of(&json::string(value)),
            b"_SYSTEMD_UNIT" => unit = owner_of(&json::string(value)),
            _ => {}
        }
    }
    let mut message = message?;
    let partial = is_docker && !message.ends_with(b"\n");
    while matches!(message.last(), Some(b'\n' | b'\r')) {
        message.pop();
    }
    Some(Inner {
        stamp,
        host,
        owner: if unit.is_kubelet() { unit } else { ident },
        message,
        partial,
    })
}

pub(super) fn realtime(text: &[u8]) -> Option<Stamp> {
    let micros = i64::try_from(crate::syntax::time::number(text)?).ok()?;
    let time = DateTime::from_timestamp_micros(micros)?;
    Some(Stamp::Exact(time.fixed_offset()))
}

/// `MESSAGE`'s bytes: a string, or an array of byte numbers where it is not valid UTF-8.
fn journal_message(value: &[u8]) -> Vec<u8> {
    match value.first() {
        Some(b'[') => byte_array(value),
        Some(b'"') => json::string(value).into_owned(),
        _ => Vec::new(),
    }
}

/// The bytes that an array of numbers stands for; other items are left out.
fn byte_array(text: &[u8]) -> Vec<u8> {
    text.split(|b| !b.is_ascii_digit())
        .filter_map(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
        .collect()
}
