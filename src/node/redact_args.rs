//! Masks secrets in the words that daemons are called with: what looks like a password or a token never reaches a
//! report or a capture.

pub const MASK: &str = "***";
const SECRET: &[&str] = &[
    "token",
    "password",
    "passwd",
    "secret",
    "credential",
    "api-key",
    "apikey",
    "api_key",
    "access-key",
    "access_key",
];

/// Masks the secrets in a command line: `--registry-token=X`, `--password X`, `NAME_SECRET=X`, `https://user:X@host`. A
/// file's name or a switch's value is none.
pub fn redact(words: &mut [String]) {
    let mut next_is_secret = false;
    for word in words {
        let follows = std::mem::take(&mut next_is_secret);
        if follows && !word.starts_with('-') && is_value(word) {
            MASK.clone_into(word);
            continue;
        }
        match word.split_once('=') {
            Some((name, value)) if is_secret(name) && is_value(value) => {
                *word = format!("{name}={MASK}");
            }
            None if word.starts_with('-') => next_is_secret = is_secret(word),
            _ => *word = urls(word),
        }
    }
}

pub fn urls(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        masked.push_str(head);
        let end = tail
            .find(|c: char| c == '/' || c.is_whitespace() || c == '"' || c == '\'')
            .unwrap_or(tail.len());
        let (authority, after) = tail.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                masked.push_str(MASK);
                masked.push('@');
                masked.push_str(host);
            }
            None => masked.push_str(authority),
        }
        rest = after;
    }
    masked.push_str(rest);
    masked
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// Whether that may be a secret itself, and not only say where one is or that there is one.
fn is_value(value: &str) -> bool {
    let plain = value.is_empty() || value.starts_with('/') || ["true", "false"].contains(&value);
    // A span of time: how long a token is kept.
    let span = value.ends_with('s')
        && value
            .bytes()
            .all(|b| b.is_ascii_digit() || b"hms.".contains(&b));
    !plain && !span
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_nothing_else() {
        for (before, after) in [
            (
                "dockerd --registry-token=abc --tls",
                "dockerd --registry-token=*** --tls",
            ),
            ("x --password abc --y z", "x --password *** --y z"),
            ("x --password --y z", "x --password --y z"),
            (
                "env AWS_SECRET_ACCESS_KEY=abc x",
                "env AWS_SECRET_ACCESS_KEY=*** x",
            ),
            (
                "dockerd --log-opt splunk-token=abc",
                "dockerd --log-opt splunk-token=***",
            ),
            (
                "kubelet --authentication-token-webhook=true --token-file=/etc/t",
                "kubelet --authentication-token-webhook=true --token-file=/etc/t",
            ),
            (
                "kubelet --authentication-token-webhook-cache-ttl=2m0s",
                "kubelet --authentication-token-webhook-cache-ttl=2m0s",
            ),
            (
                "dockerd --registry-mirror=https://u:p@mirror.example/v2 -H unix:///run/docker.sock",
                "dockerd --registry-mirror=https://***@mirror.example/v2 -H unix:///run/docker.sock",
            ),
        ] {
            let mut all: Vec<String> = before.split(' ').map(str::to_owned).collect();
            redact(&mut all);
            assert_eq!(all.join(" "), after);
            // Masked twice is masked once.
            redact(&mut all);
            assert_eq!(all.join(" "), after);
        }
    }

    #[test]
    fn every_url_of_a_text_is_masked() {
        assert_eq!(
            urls("a http://u:p@h:1/x?y=@ and s3://k@b, not x@y://z"),
            "a http://***@h:1/x?y=@ and s3://***@b, not x@y://z"
        );
    }
}
