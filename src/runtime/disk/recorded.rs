//! Docker's files in a capture: what was read of them, stripped, in the places that Docker itself has for them.

use super::Reading;
use crate::io::files::Recorded;
use crate::io::gap::Gap;
use crate::runtime::on_disk::{CONFIG, Disk, HOST_CONFIG, Raw};
use crate::syntax::id::ContainerId;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The folder of a capture that holds them.
pub const PART: &str = "docker-files";
/// What is known of all of them together: the data root, and whether containers go on without the daemon.
const INDEX: &str = "index.json";

/// Returns what was read as files, by their paths.
pub fn record(reading: &Reading) -> Recorded {
    let mut files = Recorded::new();
    if let Some(disk) = &reading.disk {
        let index = json!({"root": disk.root, "live_restore": disk.live_restore});
        files.insert(INDEX.to_owned(), index.to_string().into_bytes());
    }
    for raw in &reading.files {
        for (name, value) in [(CONFIG, &raw.config), (HOST_CONFIG, &raw.host)] {
            let path = format!("containers/{}/{name}", raw.id);
            if !value.is_null() {
                files.insert(path, value.to_string().into_bytes());
            }
        }
    }
    files
}

/// Reads the files of these containers, or of all, from a capture. What it cannot make sense of is a gap.
pub fn recorded(files: &Recorded, ids: Option<&[ContainerId]>) -> Reading {
    let parse = |bytes: &Vec<u8>| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let index = files.get(INDEX).map(parse).unwrap_or_default();
    let mut raws: BTreeMap<&str, Raw> = BTreeMap::new();
    let mut odd = 0;
    for (path, bytes) in files {
        let Some((id, name)) = path
            .strip_prefix("containers/")
            .and_then(|path| path.split_once('/'))
        else {
            continue;
        };
        if !ids.is_none_or(|ids| ids.iter().any(|wanted| wanted.as_str() == id)) {
            continue;
        }
        let raw = raws.entry(id).or_insert_with(|| Raw {
            id: id.to_owned(),
            ..Raw::default()
        });
        let value = parse(bytes);
        odd += usize::from(value.is_null());
        match name {
            CONFIG => raw.config = value,
            HOST_CONFIG => raw.host = value,
            _ => {}
        }
    }
    let root = index["root"].as_str().unwrap_or(PART).to_owned();
    let mut gaps = Vec::new();
    if odd > 0 {
        gaps.push(Gap::new(
            format!("Docker's files in {root}"),
            format!("{odd} of them make no sense"),
        ));
    }
    Reading {
        disk: Some(Disk {
            root,
            whole: ids.is_none(),
            containers: 0,
            live_restore: index["live_restore"].as_bool(),
        }),
        files: raws.into_values().collect(),
        gaps,
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_read_back_and_what_makes_no_sense_is_told() {
        let id = "a".repeat(64);
        let raw = Raw {
            id: id.clone(),
            config: json!({"ID": id, "Name": "/db"}),
            host: Value::Null,
        };
        let reading = Reading {
            disk: Some(Disk {
                root: "/data".to_owned(),
                whole: true,
                containers: 0,
                live_restore: Some(true),
            }),
            files: vec![raw.clone()],
            ..Reading::default()
        };
        let mut files = record(&reading);
        let back = recorded(&files, None);
        assert_eq!(back.disk, reading.disk);
        assert_eq!(back.files, [raw]);
        assert!(back.gaps.is_empty());
        let other = ContainerId::parse(&"b".repeat(64)).unwrap();
        assert!(recorded(&files, Some(&[other])).files.is_empty());

        files.insert(format!("containers/{id}/{HOST_CONFIG}"), b"{".to_vec());
        let told = recorded(&files, None).gaps;
        assert!(told[0].why.contains("1 of them"), "{told:?}");
    }
}
