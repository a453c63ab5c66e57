//! `http://host:port/path`, and nothing else.

use anyhow::{Context as _, bail};
use hyper::{Uri, http::uri::Authority};
use std::fmt;

/// What can be asked over TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) authority: Authority,
    pub(crate) path: String,
}

impl Url {
    /// Reads a URL; the port is 80 where none is named, the path `/`.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let uri: Uri = text.parse().context("it is no URL")?;
        if uri.scheme_str() != Some("http") {
            bail!("only http:// can be asked");
        }
        let authority = uri.authority().context("it names no host")?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            bail!("it must name a host, and no user");
        }
        let authority = match authority.port_u16() {
            Some(_) => authority.clone(),
            None if authority.as_str() == authority.host() => format!("{authority}:80").parse()?,
            None => bail!("its port is none"),
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self {
            authority,
            path: path.to_owned(),
        })
    }

    /// Returns the URL of another path there.
    pub(crate) fn with_path(&self, path: impl Into<String>) -> Self {
        Self {
            authority: self.authority.clone(),
            path: path.into(),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_with_a_host_are_taken() {
        for (text, whole) in [
            ("http://127.0.0.1:10255", "http://127.0.0.1:10255/"),
            ("http://node-3/metrics?a=b", "http://node-3:80/metrics?a=b"),
            ("HTTP://[::1]:10255/x", "http://[::1]:10255/x"),
        ] {
            assert_eq!(Url::parse(text).unwrap().to_string(), whole, "{text}");
        }
        for text in [
            "https://127.0.0.1:10250/metrics",
            "ftp://x/",
            "http://",
            "http:///metrics",
            "http://user@x/",
            "127.0.0.1:10255",
            "/metrics",
            "http://x y/",
            "http://x:99999/",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }
}
