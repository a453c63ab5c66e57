//! Captures through the library and the program: what was saved is judged the same elsewhere.

mod daemon;

use crate::cases;
use clap::Parser as _;
use plegdoctor::{
    capture::{Archive, Capture, Keep, Privacy},
    cli::{Cli, Command, DiagnoseArgs, Format},
    evidence::Evidence,
    gather::replay,
    render::{self, Style},
    report,
};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};
use tempfile::TempDir;

pub(crate) fn parsed(words: &[String]) -> DiagnoseArgs {
    let words = ["plegdoctor", "diagnose"]
        .map(str::to_owned)
        .into_iter()
        .chain(words.iter().cloned());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Diagnose(args) => args,
        other => panic!("{other:?}"),
    }
}

fn printed(evidence: &Evidence) -> [String; 2] {
    let report = report::diagnose(evidence);
    [Format::Text, Format::Json].map(|format| {
        let mut out = Vec::new();
        let style = Style {
            width: 80,
            color: false,
        };
        render::write(&report, format, style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    })
}

/// Sees what a capture holds, saves it again at `to`, and returns the reports before and after.
fn again(args: &DiagnoseArgs, from: &Path, to: &Path) -> [[String; 2]; 2] {
    let keep = Keep::new(Privacy::Reserved);
    let before = replay(&args.look, Capture::open(from).unwrap(), Some(&keep)).unwrap();
    let archive = Archive::create(to).unwrap();
    archive.write(keep.finish(&before)).unwrap();
    let plain = parsed(&[]);
    let after = replay(&plain.look, Capture::open(to).unwrap(), None).unwrap();
    [printed(&before), printed(&after)]
}

#[test]
fn every_case_saved_and_judged_again_gives_the_same_report() {
    let here = TempDir::new().unwrap();
    for folder in cases::folders() {
        let args = parsed(&cases::arguments(&folder));
        let name = folder.file_name().unwrap().to_str().unwrap();
        let to = here.path().join(format!("{name}.tar.gz"));
        let [before, after] = again(&args, &folder, &to);
        assert_eq!(before, after, "{name}");
        // … and saved once more, now with a manifest.
        let once_more = here.path().join(format!("{name}-2.tar.gz"));
        let [before, after] = again(&parsed(&[]), &to, &once_more);
        assert_eq!(before, after, "{name}");
    }
}

#[test]
fn a_capture_is_its_owners_alone_replaces_nothing_and_is_whole_or_not_there() {
    let here = TempDir::new().unwrap();
    let folder = cases::folders().remove(0);
    let args = parsed(&cases::arguments(&folder));
    let to = here.path().join("x.tar.gz");
    again(&args, &folder, &to);
    let mode = fs::metadata(&to).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = format!("{:#}", Archive::create(&to).unwrap_err());
    assert!(error.contains("is there already"), "{error}");
    // Begun and left: nothing stays.
    let other = here.path().join("y.tar.gz");
    drop(Archive::create(&other).unwrap());
    // Somebody was faster.
    let archive = Archive::create(&other).unwrap();
    fs::write(&other, "theirs").unwrap();
    let keep = Keep::new(Privacy::Reserved);
    let capture = Capture::open(&folder).unwrap();
    let evidence = replay(&args.look, capture, Some(&keep)).unwrap();
    assert!(archive.write(keep.finish(&evidence)).is_err());
    assert_eq!(fs::read_to_string(&other).unwrap(), "theirs");
    let left: Vec<_> = fs::read_dir(here.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
