use super::*;
use crate::runtime::disk::Reading;
use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command};
use tempfile::TempDir;

/// A data root.
struct Root(TempDir);

impl Root {
    fn new() -> Self {
        let here = tempfile::tempdir().unwrap();
        fs::create_dir_all(here.path().join("data/containers")).unwrap();
        Self(here)
    }

    fn folder(&self, digit: char) -> PathBuf {
        let id = id(digit);
        self.0.path().join("data/containers").join(id)
    }

    /// Makes a container, whose files are those.
    fn put(&self, digit: char, config: &[u8]) {
        fs::create_dir_all(self.folder(digit)).unwrap();
        fs::write(self.folder(digit).join(CONFIG), config).unwrap();
        fs::write(self.folder(digit).join(HOST_CONFIG), "{}").unwrap();
    }

    fn well(&self, digit: char) {
        self.put(
            digit,
            format!(r#"{{"ID":"{}","Name":"/x"}}"#, id(digit)).as_bytes(),
        );
    }

    fn read(&self, ids: Option<&[ContainerId]>) -> Reading {
        replay(&DataRoot::named(&self.0.path().join("data")), ids)
    }
}

/// Reads the files as a child does, and takes what it says as its parent does.
fn replay(place: &DataRoot, ids: Option<&[ContainerId]>) -> Reading {
    let words: Vec<String> = ids.into_iter().flatten().map(ToString::to_string).collect();
    let (mut said, mut reading) = (Vec::new(), Reading::default());
    tell(place, &words, &mut said).unwrap();
    for line in said
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        reading.take(place, ids.is_none(), serde_json::from_slice(line).unwrap());
    }
    reading.files.sort_by(|a, b| a.id.cmp(&b.id));
    reading
}

fn id(digit: char) -> String {
    digit.to_string().repeat(64)
}

fn ids(reading: &Reading) -> Vec<&str> {
    reading.files.iter().map(|raw| &raw.id[..1]).collect()
}

#[test]
fn links_pipes_huge_and_senseless_files_are_counted_and_cost_no_other() {
    let root = Root::new();
    root.well('1');
    root.put('2', "[".repeat(200_000).as_bytes());
    root.put('3', b"{\"ID\": 7");
    root.put('4', b"");
    root.well('5');
    fs::remove_file(root.folder('5').join(CONFIG)).unwrap();
    symlink(root.folder('1').join(CONFIG), root.folder('5').join(CONFIG)).unwrap();
    root.well('6');
    fs::remove_file(root.folder('6').join(CONFIG)).unwrap();
    let pipe = root.folder('6').join(CONFIG);
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    symlink(root.folder('1'), root.folder('7')).unwrap();
    root.put('8', b"");
    let huge = File::create(root.folder('8').join(CONFIG)).unwrap();
    huge.set_len(1 << 40).unwrap();
    // Another container's file.
    root.put('9', format!(r#"{{"ID":"{}"}}"#, id('1')).as_bytes());
    // No text in it, but its name is read.
    let odd = [br#"{"ID":""#, id('a').as_bytes(), b"\",\"Name\":\"/\xff\"}"].concat();
    root.put('a', &odd);
    // Neither containers nor counted.
    fs::create_dir(root.0.path().join("data/containers/.tmp")).unwrap();
    fs::write(root.0.path().join("data/containers/README"), "x").unwrap();

    let reading = root.read(None);
    assert_eq!(ids(&reading), ["1", "a"]);
    let [gap] = &reading.gaps[..] else {
        panic!("{:?}", reading.gaps)
    };
    assert!(gap.why.starts_with("8 of them"), "{}", gap.why);
}

#[test]
fn a_container_without_its_host_part_is_read_and_one_without_a_file_is_gone() {
    let root = Root::new();
    root.well('1');
    fs::remove_file(root.folder('1').join(HOST_CONFIG)).unwrap();
    fs::create_dir(root.folder('2')).unwrap();
    let reading = root.read(None);
    assert_eq!(ids(&reading), ["1"]);
    assert!(reading.files[0].host.is_null());
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
}

#[test]
fn only_the_containers_asked_for_are_read() {
    let root = Root::new();
    for digit in ['1', '2', '3'] {
        root.well(digit);
    }
    let wanted = ['2', '4'].map(|digit| ContainerId::parse(&id(digit)).unwrap());
    let reading = root.read(Some(&wanted));
    assert_eq!(ids(&reading), ["2"]);
    assert!(!reading.disk.unwrap().whole);
}

#[test]
fn the_time_of_a_file_is_when_it_was_written() {
    let root = Root::new();
    root.well('1');
    let touched = Command::new("touch")
        .args(["-d", "2026-11-30T03:00:01Z"])
        .arg(root.folder('1').join(CONFIG))
        .status();
    assert!(touched.unwrap().success());
    let written = &root.read(None).files[0].config["Written"];
    assert_eq!(written, "2026-11-30T03:00:01+00:00");
}

#[test]
fn more_containers_than_can_be_read_are_counted() {
    let here = tempfile::tempdir().unwrap();
    for number in 0..13 {
        fs::create_dir(here.path().join(format!("{number:064x}"))).unwrap();
    }
    let folder = open(here.path(), OFlags::RDONLY, Mode::empty()).unwrap();
    let (ids, left, error) = listed(&folder, 10);
    assert_eq!((ids.len(), left, error), (10, 3, None));
}

/// Returns what is read of the machine below `under`, whose Docker's command line names `root`.
fn below_root(under: &Path, root: Option<&str>) -> Reading {
    let place = DataRoot::for_tests(under, root, Some("/etc/docker/daemon.json"));
    replay(&place, None)
}

#[test]
fn settings_tell_the_data_root_where_the_command_line_does_not_and_links_stay_below_the_machines_root()
 {
    let here = tempfile::tempdir().unwrap();
    let at = |path: &str| here.path().join(path);
    for folder in [
        "etc/docker",
        "mnt/disk/containers",
        "var/lib/docker/containers",
        "srv/containers",
    ] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    symlink("/mnt/disk", at("data")).unwrap();
    let put = |root: &str, digit: char| {
        let folder = at(root).join("containers").join(id(digit));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(CONFIG), format!(r#"{{"ID":"{}"}}"#, id(digit))).unwrap();
    };
    put("mnt/disk", '1');
    put("var/lib/docker", '2');
    put("srv", '3');

    let told = below_root(here.path(), None);
    assert_eq!(ids(&told), ["2"], "custom");
    assert_eq!(told.disk.unwrap().live_restore, Some(false));
    let settings = r#"{"data-root": "/data", "live-restore": true}"#;
    fs::write(at("etc/docker/daemon.json"), settings).unwrap();
    let told = below_root(here.path(), None);
    assert_eq!(ids(&told), ["1"]);
    let disk = told.disk.unwrap();
    assert_eq!(
        (disk.root.as_str(), disk.live_restore),
        ("/data", Some(true))
    );
    fs::write(at("etc/docker/daemon.json"), r#"{"graph": "/data"}"#).unwrap();
    assert_eq!(ids(&below_root(here.path(), None)), ["1"], "an old name");
    assert_eq!(ids(&below_root(here.path(), Some("/srv"))), ["3"]);
}

#[test]
fn a_place_that_is_not_there_is_a_gap_if_it_was_named_and_else_a_note() {
    let here = tempfile::tempdir().unwrap();
    let told = below_root(here.path(), None);
    assert_eq!((told.gaps.len(), told.notes.len()), (0, 1));
    assert_eq!(told.disk, None);
    let told = replay(&DataRoot::named(&here.path().join("x")), None);
    assert_eq!((told.gaps.len(), told.notes.len()), (1, 0));
    assert_eq!(told.disk, None);
}
