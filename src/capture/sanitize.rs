//! Leaves out environment variables, commands and labels of workloads, unless they are asked for. Nothing that is judged
//! is among them.

use crate::io::files::Recorded;
use crate::node::{Host, Process, Role, redact_args};
use crate::runtime::docker;
use serde_json::{Map, Value};

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sanitize {
    /// Workloads' environment, commands and labels.
    Workloads,
    /// Nothing.
    Nothing,
}

/// Labels that tell what a container is to the kubelet, and no more; all begin so.
const LABELS: &[&str] = &[
    "io.kubernetes.",
    "annotation.io.kubernetes.",
    "io.cri-containerd.",
];
/// … but for those that hold a workload's own commands.
const NOT_LABELS: &[&str] = &["preStopHandler", "last-applied"];
/// Fields of an inspect's answer, at any depth, that hold a workload's words.
const FIELDS: &[&str] = &[
    "Env",
    "Cmd",
    "Entrypoint",
    "Args",
    "Path",
    "Command",
    "Healthcheck",
    "Health",
    "OnBuild",
    "Shell",
    "ProcessConfig",
    "Sysctls",
    "Annotations",
    // A volume's or network's own: `o=username=…,password=…`.
    "DriverConfig",
    "DriverOpts",
    "Options",
];

impl Sanitize {
    /// Returns what may be kept of the body of a Docker path's answer.
    pub fn sanitizer(self) -> docker::Sanitize {
        match self {
            Self::Workloads => body,
            Self::Nothing => |_, body| body,
        }
    }

    /// Takes the command lines of workloads out of the host's files; those of daemons keep all but their secrets.
    /// `host` is what was made of the files.
    pub fn command_lines(self, files: &mut Recorded, host: Option<&Host>) {
        for (name, bytes) in files.iter_mut() {
            let pid = name
                .strip_prefix("proc/")
                .and_then(|rest| rest.strip_suffix("/cmdline"));
            let Some(pid) = pid.and_then(|pid| pid.parse().ok()) else {
                continue;
            };
            let process = host.and_then(|host| host.process(pid));
            let known = process.filter(|process| process.role != Role::Other);
            *bytes = match (known, self) {
                (Some(process), _) if process.command.is_some() => {
                    joined(process.command.iter().flatten().map(String::as_bytes))
                }
                (_, Self::Nothing) => continue,
                (Some(process), Self::Workloads) => reserved(process, bytes),
                (None, Self::Workloads) => Vec::new(),
            };
        }
    }
}

/// Returns what tells the role of a process whose words are its own business: what it is called by.
fn reserved(process: &Process, words: &[u8]) -> Vec<u8> {
    let program = words.split(|&byte| byte == 0).next().unwrap_or_default();
    // One program, many roles: which one is its second word.
    let second = (process.role == Role::Kubelet).then_some(&b"kubelet"[..]);
    joined([program].into_iter().chain(second))
}

fn joined<'a>(words: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in words {
        bytes.extend_from_slice(word);
        bytes.push(0);
    }
    bytes
}

/// Returns a body without what is a workload's own; what is no JSON as it is.
fn body(path: &str, body: Vec<u8>) -> Vec<u8> {
    if !path.contains("/json") && path != "/info" {
        return body;
    }
    let Ok(mut json) = serde_json::from_slice::<Value>(&body) else {
        return body;
    };
    clean(&mut json);
    serde_json::to_vec(&json).unwrap_or_default()
}

fn clean(value: &mut Value) {
    match value {
        Value::Object(fields) => object(fields),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::String(text) if text.contains("://") => *text = redact_args::urls(text),
        _ => {}
    }
}

fn object(fields: &mut Map<String, Value>) {
    for field in FIELDS {
        fields.remove(*field);
    }
    // A log driver's options hold secrets; its name, and whether it makes its container wait, are none.
    if let Some(Value::Object(logs)) = fields.get_mut("LogConfig") {
        logs.retain(|name, _| name == "Type" || name == "Config");
        match logs.get_mut("Config") {
            Some(Value::Object(options)) => options.retain(|name, _| name == "mode"),
            _ => drop(logs.remove("Config")),
        }
    }
    if let Some(Value::Object(labels)) = fields.get_mut("Labels") {
        labels.retain(|name, _| {
            LABELS.iter().any(|known| name.starts_with(known))
                && !NOT_LABELS.iter().any(|not| name.contains(not))
        });
    }
    fields.values_mut().for_each(clean);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_inspect_the_workloads_own_words_stay_behind_and_its_state_is_kept() {
        let json = r#"{"Id":"b1","Path":"sh","Args":["-c","hunter2"],"State":{"Status":"dead","Error":"busy",
            "Health":{"Log":[{"Output":"hunter2"}]}},
            "Config":{"Env":["SECRET=hunter2"],"Cmd":["hunter2"],"Labels":{"io.kubernetes.pod.name":"web",
            "annotation.io.kubernetes.container.preStopHandler":"hunter2","mine":"hunter2"}},
            "HostConfig":{"LogConfig":{"Type":"splunk","Config":{"splunk-token":"hunter2","mode":"non-blocking"}},"Binds":["/a:/b"],
            "Mounts":[{"Type":"volume","VolumeOptions":{"DriverConfig":{"Name":"local",
            "Options":{"type":"cifs","o":"username=u,password=hunter2"}}}}]}}"#;
        let kept = body("/containers/b1/json", json.as_bytes().to_vec());
        let text = String::from_utf8(kept).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        for kept in [
            "\"web\"",
            "\"dead\"",
            "\"busy\"",
            "/a:/b",
            r#""Type":"splunk""#,
            r#""mode":"non-blocking""#,
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }

    #[test]
    fn a_proxys_password_stays_behind_and_what_is_no_json_is_kept() {
        let info = br#"{"HttpProxy":"http://u:hunter2@proxy:3128","LiveRestoreEnabled":true}"#;
        let kept = String::from_utf8(body("/info", info.to_vec())).unwrap();
        assert!(!kept.contains("hunter2") && kept.contains("@proxy:3128"));
        assert_eq!(body("/info", b"<html>".to_vec()), b"<html>");
    }
}
