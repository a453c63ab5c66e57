//! Docker's JSON, read leniently: unknown states, missing names and null labels never lose a container.
//!
//! Typed structs would refuse the whole list for one odd word in it; here each field stands for itself. Fields are those of the Engine API's ContainerSummary and
//! ContainerInspectResponse.

use super::{Container, Inspected, State};
use crate::node::mount_holder::Place;
use crate::node::{LeftoverLayer, mount_holder};
use crate::runtime::{LogDriver, name};
use crate::syntax::id::ContainerId;
use crate::syntax::time::Time;
use chrono::{DateTime, Datelike as _};
use serde::{
    Deserializer as _,
    de::{SeqAccess, Visitor},
};
use serde_json::Value;
use std::{collections::BTreeMap, fmt};

/// A list's containers.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) containers: Vec<Container>,
    /// Entries without an id: nothing can be asked of them.
    pub(super) unreadable: usize,
}

/// Reads `GET /containers/json`.
///
/// # Errors
/// The body is no JSON array. One entry after the other is read, so that only one is in memory twice.
pub(super) fn list(body: &[u8]) -> Result<List, serde_json::Error> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = List;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of containers")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<List, A::Error> {
            let mut list = List::default();
            while let Some(entry) = entries.next_element::<Value>()? {
                match summary(&entry) {
                    Some(container) => list.containers.push(container),
                    None => list.unreadable += 1,
                }
            }
            Ok(list)
        }

        // What Go makes of an empty list that was never allocated.
        fn visit_unit<E>(self) -> Result<List, E> {
            Ok(List::default())
        }
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let list = json.deserialize_any(Entries)?;
    json.end()?;
    Ok(list)
}

/// Returns the components' versions by name, from `GET /version` (API 1.36 and later).
pub(super) fn components(version: &Value) -> BTreeMap<String, String> {
    let all = version["Components"].as_array().into_iter().flatten();
    let known = all.filter_map(|component| {
        let (name, version) = (text(&component["Name"]), text(&component["Version"]));
        (!name.is_empty() && !version.is_empty()).then(|| (name.to_owned(), version.to_owned()))
    });
    known.take(16).collect()
}

/// Reads `GET /containers/{id}/json`; `None` where it is no JSON object with an id.
pub(super) fn inspection(body: &[u8]) -> Option<Container> {
    let json: Value = serde_json::from_slice(body).ok()?;
    let mut container = Container::unlisted(ContainerId::parse(text(&json["Id"]))?);
    container.name = bare(text(&json["Name"])).to_owned();
    container.labels = labels(&json["Config"]["Labels"]);
    container.created = time(text(&json["Created"]));
    let state = &json["State"];
    let is = |key: &str| state[key].as_bool().unwrap_or(false);
    container.inspected = Some(Inspected {
        state: read_state(state),
        running: is("Running") || is("Paused") || is("Restarting"),
        error: text(&state["Error"]).to_owned(),
        started: time(text(&state["StartedAt"])),
        finished: time(text(&state["FinishedAt"])),
        exit_code: state["ExitCode"].as_i64().unwrap_or(0),
        pid: pid(&state["Pid"]),
        layers: layers(&json["GraphDriver"]["Data"]),
        folder: folder(&json["GraphDriver"]),
        logs: log_driver(&json["HostConfig"]["LogConfig"]),
        again: false,
    });
    Some(identified(container))
}

/// Reads `HostConfig.LogConfig`.
fn log_driver(config: &Value) -> Option<LogDriver> {
    let name = text(&config["Type"]);
    (!name.is_empty()).then(|| LogDriver {
        name: name.to_owned(),
        drops: config["Config"]["mode"] == "non-blocking",
    })
}

/// Returns a process's number; Docker's 0 is none.
fn pid(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok().filter(|&pid| pid > 0)
}

/// Returns the layers that the storage driver's data name: `MergedDir` and `UpperDir` of overlay2, `Mountpoint` of zfs,
/// `DeviceName` of devicemapper (`docker-253:1-<inode>-<layer>`, mounted at `devicemapper/mnt/<layer>`). What is below
/// (`LowerDir`) are an image's, or common to several containers.
fn layers(data: &Value) -> Vec<Place> {
    let path = |key: &str| mount_holder::place(text(&data[key]));
    let device = text(&data["DeviceName"]).rsplit_once('-');
    let device = device.filter(|(_, name)| name.len() == 64);
    let named = device.map(|(_, name)| Place::Layer(name.to_owned()));
    let mut found: Vec<_> = ["MergedDir", "UpperDir", "Mountpoint"]
        .into_iter()
        .filter_map(path)
        .chain(named)
        .collect();
    found.dedup();
    found
}

/// Returns the folder of the container's own layer, where the storage driver is overlay2.
fn folder(driver: &Value) -> Option<String> {
    let upper = Some(text(&driver["Data"]["UpperDir"])).filter(|_| driver["Name"] == "overlay2");
    LeftoverLayer::folder_of(upper?).map(str::to_owned)
}

/// Reads one entry of the list.
fn summary(entry: &Value) -> Option<Container> {
    let mut container = Container::unlisted(ContainerId::parse(text(&entry["Id"]))?);
    let names: Vec<&str> = entry["Names"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).map(bare).collect())
        .unwrap_or_default();
    // A name with a slash in it is a link's alias.
    let own = names.iter().find(|name| !name.contains('/'));
    container.name = own
        .or(names.first())
        .copied()
        .unwrap_or_default()
        .to_owned();
    container.labels = labels(&entry["Labels"]);
    container.created = entry["Created"]
        .as_i64()
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        .map(|utc| utc.fixed_offset())
        .filter(is_some_time);
    container.listed_state = text(&entry["State"]).into();
    container.listed_status = text(&entry["Status"]).to_owned();
    Some(identified(container))
}

fn identified(container: Container) -> Container {
    let name::Identity {
        kind,
        pod,
        uid,
        sandbox,
    } = name::identify(&container.name, &container.labels);
    Container {
        kind,
        pod,
        uid,
        sandbox,
        ..container
    }
}

/// Reads the state; daemons before API 1.21 gave only the flags.
fn read_state(state: &Value) -> State {
    let flags = [
        ("Paused", State::Paused),
        ("Restarting", State::Restarting),
        ("Running", State::Running),
        ("Dead", State::Dead),
    ];
    match text(&state["Status"]) {
        "" => flags
            .into_iter()
            .find(|(flag, _)| state[flag] == true)
            .map_or_else(State::default, |(_, known)| known),
        word => word.into(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn bare(name: &str) -> &str {
    name.strip_prefix('/').unwrap_or(name)
}

fn labels(value: &Value) -> BTreeMap<String, String> {
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .map(|(key, value)| (key.clone(), text(value).to_owned()))
        .collect()
}

/// Reads a time; `None` for never.
fn time(text: &str) -> Option<Time> {
    DateTime::parse_from_rfc3339(text).ok().filter(is_some_time)
}

/// Returns whether `time` is one; Go's zero time, in year 1, means never.
fn is_some_time(time: &Time) -> bool {
    time.year() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::probe::Outcome;
    use crate::runtime::ContainerKind;

    const ID: &str = "b15929dfcea1b15929dfcea1b15929dfcea1b15929dfcea1b15929dfcea1b159";

    fn only(json: &str) -> Container {
        let list = list(json.as_bytes()).unwrap();
        assert_eq!((list.containers.len(), list.unreadable), (1, 0), "{json}");
        list.containers.into_iter().next().unwrap()
    }

    #[test]
    fn a_listed_sandbox_is_read() {
        let container = only(&format!(
            r#"[{{"Id":"{ID}","Names":["/k8s_POD_web-2_default_9b0e4a32-7fe5-45b4-b69e-1c76355b4249_0"],
                "Image":"k8s.gcr.io/pause:3.2","Created":1795924800,"State":"running","Status":"Up 6 minutes",
                "Labels":{{"io.kubernetes.docker.type":"podsandbox"}},"Mounts":[]}}]"#
        ));
        assert_eq!(container.id.as_str(), ID);
        assert_eq!(container.kind, ContainerKind::Sandbox);
        assert_eq!(container.pod.unwrap().to_string(), "default/web-2");
        assert_eq!(
            container.created.unwrap().to_rfc3339(),
            "2026-11-29T04:00:00+00:00"
        );
        assert_eq!(
            (
                container.listed_state.as_str(),
                container.listed_status.as_str()
            ),
            ("running", "Up 6 minutes")
        );
        assert_eq!(container.probe.outcome, Outcome::NotProbed);
    }

    #[test]
    fn odd_entries_cost_no_other() {
        let json = format!(
            r#"[{{"Id":"{ID}","Names":null,"Labels":null,"State":"stopping","Created":"soon"}},
                {{"Names":["/x"]}}, 7, null, {{"Id":"not hex"}},
                {{"Id":"{}","State":{{"a":1}},"Status":null,"Names":[null,"/a/b","/b"],"Labels":{{"k":null}}}}]"#,
            ID.replace('b', "c")
        );
        let list = list(json.as_bytes()).unwrap();
        assert_eq!(list.unreadable, 4);
        let [first, second] = &list.containers[..] else {
            panic!("{list:?}")
        };
        assert_eq!(
            (
                first.listed_state.as_str(),
                first.name.as_str(),
                first.created
            ),
            ("stopping", "", None)
        );
        assert_eq!(
            (second.listed_state.as_str(), second.name.as_str()),
            ("", "b")
        );
        assert_eq!(second.labels["k"], "");
    }

    #[test]
    fn an_empty_list_is_empty_and_no_list_is_an_error() {
        for json in ["[]", "null", " [ ]\n"] {
            assert_eq!(list(json.as_bytes()).unwrap().containers.len(), 0, "{json}");
        }
        for json in [
            "",
            "{}",
            "[",
            "\"\"",
            "[] []",
            "<html>",
            r#"[{"Id":"b1"#,
            "\u{0}",
        ] {
            assert!(list(json.as_bytes()).is_err(), "{json}");
        }
        let deep = "[".repeat(100_000);
        assert!(list(deep.as_bytes()).is_err());
    }

    #[test]
    fn an_inspected_dead_container_is_read() {
        let json = format!(
            r#"{{"Id":"{ID}","Created":"2026-11-29T19:32:29.123456789Z","Name":"/job-1","State":{{"Status":"dead",
                "Running":false,"Paused":false,"Restarting":false,"Dead":true,"Pid":0,"ExitCode":137,
                "Error":"device or resource busy","StartedAt":"2026-11-29T19:32:30Z",
                "FinishedAt":"2026-11-29T19:33:30Z"}},"Config":{{"Labels":{{"a":"b"}}}}}}"#
        );
        let container = inspection(json.as_bytes()).unwrap();
        assert_eq!(container.name, "job-1");
        assert_eq!(container.labels["a"], "b");
        let inspected = container.inspected.unwrap();
        assert_eq!(
            (
                inspected.state.as_str(),
                inspected.running,
                inspected.exit_code
            ),
            ("dead", false, 137)
        );
        assert_eq!(inspected.error, "device or resource busy");
        assert_eq!(
            inspected.finished.unwrap().to_rfc3339(),
            "2026-11-29T19:33:30+00:00"
        );
    }

    #[test]
    fn the_process_and_the_layer_of_an_inspected_container_are_read() {
        let layer = "370f804b80acea072af5c97284b1ca90ad243e80d05a7607b12d5dd1d92f2d34";
        let read = |pid: u32, data: &str| {
            let json = format!(
                r#"{{"Id":"{ID}","State":{{"Status":"running","Pid":{pid}}},"GraphDriver":{{"Name":"x","Data":{data}}}}}"#
            );
            inspection(json.as_bytes()).unwrap().inspected.unwrap()
        };
        let overlay = format!(
            r#"{{"LowerDir":"/d/overlay2/{0}/diff","MergedDir":"/d/overlay2/{layer}/merged","UpperDir":"/d/overlay2/{layer}/diff"}}"#,
            "0".repeat(64)
        );
        let expected = [Place::Layer(layer.to_owned())];
        let inspected = read(4711, &overlay);
        assert_eq!(
            (inspected.pid, &inspected.layers[..]),
            (Some(4711), &expected[..])
        );
        let device = format!(r#"{{"DeviceName":"docker-253:1-8796-{layer}","DeviceId":"7"}}"#);
        assert_eq!(read(1, &device).layers, expected);
        for data in [
            "null",
            "{}",
            r#"{"MergedDir":7}"#,
            r#"{"DeviceName":"x-y"}"#,
        ] {
            let inspected = read(0, data);
            assert_eq!((inspected.pid, inspected.layers), (None, vec![]), "{data}");
        }
    }

    #[test]
    fn year_one_means_never() {
        let json = format!(
            r#"{{"Id":"{ID}","State":{{"Status":"created","StartedAt":"0001-01-01T00:00:00Z","FinishedAt":"0001-01-01T00:00:00Z"}}}}"#
        );
        let inspected = inspection(json.as_bytes()).unwrap().inspected.unwrap();
        assert_eq!((inspected.started, inspected.finished), (None, None));
        assert_eq!(inspected.state, State::Created);
    }

    #[test]
    fn year_one_means_never_in_a_list_too() {
        for (seconds, expected) in [
            (-62_135_596_800_i64, None),
            (1_795_924_800, Some(1_795_924_800)),
        ] {
            let container = only(&format!(r#"[{{"Id":"{ID}","Created":{seconds}}}]"#));
            assert_eq!(container.created.map(|it| it.timestamp()), expected);
        }
    }

    #[test]
    fn paused_and_restarting_ones_run() {
        for (flags, state) in [
            (r#""Running":true,"Paused":true"#, "paused"),
            (r#""Restarting":true"#, "restarting"),
            (r#""Running":true"#, "running"),
        ] {
            let json = format!(r#"{{"Id":"{ID}","State":{{{flags}}}}}"#);
            let inspected = inspection(json.as_bytes()).unwrap().inspected.unwrap();
            assert_eq!((inspected.state.as_str(), inspected.running), (state, true));
        }
    }

    #[test]
    fn what_is_no_inspection_is_none() {
        for json in ["", "null", "[]", "{}", r#"{"Id":7}"#, r#"{"Id":"short"}"#] {
            assert!(inspection(json.as_bytes()).is_none(), "{json}");
        }
    }
}
