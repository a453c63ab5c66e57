//! Pages are complete, name only commands and sources that exist, and stand in `docs/findings.md` as they are.

use clap::Parser as _;
use plegdoctor::{
    cli::Cli,
    explain::{self, Sort, Topic, gloss::GLOSSES},
    render::{
        Style,
        explain::{markdown, pages},
    },
};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// Projects that are cited: those whose issues, or whose source, somebody can read.
const PROJECTS: &[&str] = &[
    "kubernetes",
    "moby",
    "containerd",
    "cri",
    "cri-o",
    "runc",
    "rancher",
    "eks-ami",
    "hcsshim",
    "systemd",
    "kubespray",
    "minikube",
    "prometheus-operator",
    "talos",
    "linux",
];

/// Returns all texts of a page that are read.
fn texts(topic: &Topic) -> Vec<&'static str> {
    let page = topic.page;
    let looks = page.confirm.iter().map(|look| look.what);
    let cures = page.remedies.iter().flat_map(|cure| [cure.what, cure.cost]);
    [
        topic.title,
        page.means,
        page.matters,
        page.versions,
        page.unproved,
    ]
    .into_iter()
    .chain(looks)
    .chain(cures)
    .collect()
}

/// Returns all commands of a page: those of their own, and what stands between backticks.
fn commands(topic: &Topic) -> Vec<&'static str> {
    let page = topic.page;
    let looks = page.confirm.iter().map(|look| look.command);
    let cures = page.remedies.iter().map(|cure| cure.command);
    let quoted = texts(topic)
        .into_iter()
        .flat_map(|text| text.split('`').skip(1).step_by(2));
    looks.chain(cures).chain(quoted).collect()
}

#[test]
fn every_finding_and_every_message_has_a_whole_page() {
    for topic in explain::topics() {
        let (id, page) = (topic.id, topic.page);
        for text in [page.means, page.matters, page.versions] {
            assert!(text.ends_with('.'), "{id}: {text:?}");
        }
        assert!(
            page.unproved.is_empty() || page.unproved.ends_with('.'),
            "{id}"
        );
        assert!(page.means.len() > 40 && page.matters.len() > 40, "{id}");
        assert!(!page.confirm.is_empty(), "{id} can't be confirmed");
        assert!(!page.sources.is_empty(), "{id} is known from nowhere");
        for look in page.confirm {
            assert!(!look.what.is_empty() && !look.command.is_empty(), "{id}");
        }
        for cure in page.remedies {
            assert!(
                !cure.what.is_empty() && !cure.cost.is_empty(),
                "{id}: {cure:?}"
            );
        }
        if topic.sort == Sort::Finding {
            assert!(
                !page.unproved.is_empty(),
                "{id} says nothing of what is not proved"
            );
        }
    }
}

#[test]
fn what_can_explain_a_lag_has_remedies() {
    for rule in plegdoctor::rules::RULES
        .iter()
        .filter(|rule| plegdoctor::rules::explains_lag(rule.id))
    {
        assert!(!rule.page.remedies.is_empty(), "{}", rule.id);
    }
}

#[test]
fn messages_show_how_they_are_logged_and_those_known_by_their_form_do_not() {
    let without: Vec<_> = explain::topics()
        .filter(|topic| topic.sort == Sort::Message && topic.texts().is_empty())
        .map(|topic| topic.id)
        .collect();
    assert_eq!(without, ["ready-condition"]);
    let stale = &explain::named("pleg-stale")[0];
    assert_eq!(
        stale.texts(),
        ["PLEG is not healthy: pleg was last seen active…"]
    );
    let failed = &explain::named("relist-failed")[0];
    assert_eq!(
        failed.texts(),
        [
            "GenericPLEG: Unable to retrieve pods: <err>",
            "\"GenericPLEG: Unable to retrieve pods\" …"
        ]
    );
    assert!(explain::named("hung-container")[0].texts().is_empty());
}

#[test]
fn texts_are_plain_and_their_backticks_fit() {
    for topic in explain::topics() {
        for text in texts(&topic) {
            assert!(!text.contains(char::is_control), "{}: {text:?}", topic.id);
            assert!(!text.contains("  "), "{}: {text:?}", topic.id);
            assert_eq!(text.matches('`').count() % 2, 0, "{}: {text:?}", topic.id);
        }
    }
}

#[test]
fn commands_of_our_own_parse() {
    let mut parsed = 0;
    for topic in explain::topics() {
        for command in commands(&topic) {
            let Some(at) = command.find("plegdoctor ") else {
                continue;
            };
            let words = command[at..].split(['|', ';', '#', '>']).next().unwrap();
            let words = words.split_whitespace();
            assert!(
                Cli::try_parse_from(words).is_ok(),
                "{}: {command}",
                topic.id
            );
            parsed += 1;
        }
    }
    assert!(parsed > 100, "{parsed}");
}

#[test]
fn commands_are_sound_for_a_shell_and_looks_change_nothing() {
    // Words that change something, whatever stands around them.
    let harmful = [
        "kill ",
        "restart",
        "systemctl start",
        "systemctl stop",
        "umount",
        "--yes",
        "docker rm",
        "docker stop",
        "prune",
        "sysctl -w",
        "set-property",
        "echo 1",
        "rm -",
        "--fix",
    ];
    let mut script = Vec::new();
    for topic in explain::topics() {
        for look in topic.page.confirm {
            for words in harmful {
                assert!(
                    !look.command.contains(words),
                    "{}: {}",
                    topic.id,
                    look.command
                );
            }
            script.push(look.command);
        }
        for cure in topic.page.remedies {
            script.push(cure.command);
        }
    }
    let parsed = Command::new("bash")
        .args(["-n", "-c", &script.join("\n")])
        .output()
        .unwrap();
    assert!(
        parsed.status.success() && parsed.stderr.is_empty(),
        "{parsed:?}"
    );
}

#[test]
fn what_to_read_next_exists() {
    let ids: BTreeSet<_> = explain::topics().map(|topic| topic.id).collect();
    for topic in explain::topics() {
        let see: BTreeSet<_> = topic.page.see.iter().copied().collect();
        assert_eq!(see.len(), topic.page.see.len(), "{} twice", topic.id);
        assert!(
            see.is_subset(&ids),
            "{}: {:?}",
            topic.id,
            see.difference(&ids)
        );
        let itself = see.contains(topic.id) && explain::named(topic.id).len() == 1;
        assert!(!itself, "{} refers to itself", topic.id);
    }
}

#[test]
fn ids_between_backticks_exist() {
    let ids: BTreeSet<_> = explain::topics().map(|topic| topic.id).collect();
    // Words of the same form that are no ids.
    let others = [
        "containerd-shim",
        "threads-max",
        "daemon-reexec",
        "max-pods",
    ];
    for topic in explain::topics() {
        for text in texts(&topic) {
            for word in text.split('`').skip(1).step_by(2) {
                let like =
                    word.contains('-') && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
                let option = word.starts_with('-') || others.contains(&word);
                assert!(
                    !like || option || ids.contains(word),
                    "{}: {word}",
                    topic.id
                );
            }
        }
    }
}

/// Returns whether a source is an issue, a file, or a run.
fn is_source(source: &str) -> bool {
    if let Some((project, number)) = source.split_once('#') {
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        return is_number && PROJECTS.contains(&project) && project != "linux";
    }
    match source.split_once(':') {
        Some(("run", run)) => run.starts_with(' ') && run.contains(|c: char| c.is_ascii_digit()),
        Some((project, path)) => {
            PROJECTS.contains(&project)
                && path.contains('/')
                && !path.contains(' ')
                && !path.starts_with('/')
        }
        None => false,
    }
}

#[test]
fn sources_are_cited_as_issue_file_or_run() {
    let pages = explain::topics().flat_map(|topic| topic.page.sources.iter());
    let notes = GLOSSES.iter().flat_map(|gloss| gloss.sources.iter());
    for source in pages.chain(notes) {
        assert!(is_source(source), "{source}");
    }
    for bad in [
        "k8s#1",
        "kubernetes#",
        "kubernetes#x",
        "nobody:a/b",
        "moby:",
        "run:x",
        "a blog",
    ] {
        assert!(!is_source(bad), "{bad}");
    }
}

#[test]
fn issues_within_texts_are_cited_the_same_way() {
    for topic in explain::topics() {
        for text in texts(&topic) {
            for word in text
                .split([' ', '(', ')', ',', ';', '.'])
                .filter(|word| word.contains('#'))
            {
                assert!(is_source(word), "{}: {word}", topic.id);
            }
        }
    }
}

#[test]
fn every_issue_has_an_address_in_markdown() {
    let mut out = Vec::new();
    markdown::document(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for topic in explain::topics() {
        for source in topic
            .page
            .sources
            .iter()
            .filter(|source| source.contains('#'))
        {
            assert!(
                text.contains(&format!("[{source}](https://github.com/")),
                "{source}"
            );
        }
    }
}

#[test]
fn links_within_the_document_lead_to_a_heading() {
    let mut out = Vec::new();
    markdown::document(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let anchors: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .map(|heading| heading.to_lowercase().replace('`', "").replace(' ', "-"))
        .collect();
    let mut links = 0;
    for part in text.split("](#").skip(1) {
        let anchor = part.split(')').next().unwrap();
        assert!(anchors.contains(anchor), "{anchor}");
        links += 1;
    }
    assert!(links > 200, "{links}");
}

#[test]
fn pages_keep_to_their_width_but_for_commands() {
    for width in [60, 80] {
        let style = Style {
            width,
            color: false,
        };
        for topic in explain::topics() {
            let mut out = Vec::new();
            pages(&[topic], style, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let commands = commands(&topic);
            let texts = topic.texts();
            for line in text
                .lines()
                .filter(|line| line.chars().count() > width.into())
            {
                let line = line.trim_start();
                let whole = commands.contains(&line) || texts.iter().any(|text| text == line);
                assert!(whole, "{}: {line}", topic.id);
            }
        }
    }
}

fn document() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.md")
}

#[test]
fn the_document_is_current() {
    let mut out = Vec::new();
    markdown::document(&mut out).unwrap();
    let path = document();
    if std::env::var_os("PLEGDOCTOR_REFRESH").is_some() {
        fs::write(&path, &out).unwrap();
    }
    let stored = fs::read(&path).unwrap_or_default();
    assert!(
        stored == out,
        "docs/findings.md is not what the pages say; PLEGDOCTOR_REFRESH=1 cargo test explain:: writes it"
    );
}
