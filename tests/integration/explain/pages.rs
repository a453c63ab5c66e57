//! Pages are complete and have the fixed headings, name only commands, sources and ids that exist, and stand in the
//! index `docs/findings.md`.

use clap::Parser as _;
use plegdoctor::{
    cli::Cli,
    explain::{
        self, Sort, Topic,
        notes::{self, NOTES},
        page::HEADINGS,
    },
    render::{Style, explain::pages},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Projects whose source is cited, and where GitHub has those whose issues are.
const PROJECTS: &[(&str, &str)] = &[
    ("kubernetes", "kubernetes/kubernetes"),
    ("moby", "moby/moby"),
    ("containerd", "containerd/containerd"),
    ("cri", "containerd/cri"),
    ("cri-o", "cri-o/cri-o"),
    ("runc", "opencontainers/runc"),
    ("rancher", "rancher/rancher"),
    ("eks-ami", "awslabs/amazon-eks-ami"),
    ("kubespray", "kubernetes-sigs/kubespray"),
    ("talos", "siderolabs/talos"),
    ("minikube", "kubernetes/minikube"),
    (
        "prometheus-operator",
        "prometheus-operator/prometheus-operator",
    ),
    ("hcsshim", ""),
    ("systemd", ""),
    ("linux", ""),
];

/// Headings that each page has.
const NEEDED: [&str; 5] = [
    "What it means",
    "Why it matters",
    "How to confirm",
    "Versions",
    "Sources",
];

/// Columns of a line of prose.
const WIDEST: usize = 100;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

fn folder(sort: Sort) -> &'static str {
    match sort {
        Sort::Finding => "findings",
        Sort::Message => "messages",
    }
}

/// All texts of a page that are read.
fn texts(topic: &Topic) -> Vec<String> {
    let page = topic.page();
    let steps = page.confirm.into_iter().chain(page.remedies);
    let steps = steps.flat_map(|step| [step.what, step.cost]);
    let sections = [page.means, page.matters, page.versions, page.unproven];
    let paragraphs = sections
        .iter()
        .flat_map(|text| text.split("\n\n"))
        .map(str::to_owned);
    [topic.title.to_owned()]
        .into_iter()
        .chain(paragraphs)
        .chain(steps)
        .collect()
}

/// All commands of a page: those of its steps, and what stands between backticks.
fn commands(topic: &Topic) -> Vec<String> {
    let page = topic.page();
    let steps = page.confirm.into_iter().chain(page.remedies);
    let quoted = texts(topic);
    let quoted = quoted
        .iter()
        .flat_map(|text| text.split('`').skip(1).step_by(2).map(str::to_owned));
    steps.map(|step| step.command).chain(quoted).collect()
}

#[test]
fn pages_have_the_fixed_headings_and_lines_of_one_width() {
    for topic in explain::topics() {
        let id = topic.id;
        let headings: Vec<_> = topic
            .markdown
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .collect();
        let known = HEADINGS.iter().filter(|it| headings.contains(it));
        assert!(known.eq(&headings), "{id}: {headings:?}");
        assert!(NEEDED.iter().all(|it| headings.contains(it)), "{id}");
        assert_eq!(topic.markdown.matches("\n# ").count(), 0, "{id}");
        assert!(topic.markdown.starts_with("# "), "{id}");
        let mut is_command = false;
        for line in topic.markdown.lines() {
            let is_fence = line.trim_start().starts_with("```");
            is_command ^= is_fence;
            let fits = line.chars().count() <= WIDEST || is_command || line.contains("](");
            assert!(fits, "{id}: {line}");
            assert_eq!(line, line.trim_end(), "{id}");
        }
        assert!(!is_command, "{id} has a fence that does not end");
    }
}

/// Each line of a page is read into one of its parts.
#[test]
fn no_line_of_a_page_is_lost() {
    for topic in explain::topics() {
        let page = topic.page();
        let mut read = texts(&topic).join(" ");
        let steps = page.confirm.iter().chain(&page.remedies);
        for command in steps.map(|step| step.command.as_str()) {
            read.extend([" ", command]);
        }
        for item in page.see.iter().chain(&page.sources) {
            read.extend([" ", item]);
        }
        let mut read: BTreeMap<&str, i32> =
            read.split_whitespace()
                .fold(BTreeMap::new(), |mut counts, word| {
                    *counts.entry(word.trim_end_matches(['.', ':'])).or_default() += 1;
                    counts
                });
        for line in topic.markdown.lines() {
            let is_marked = line.starts_with('#') || line.trim_start().starts_with("```");
            let line = match line.strip_prefix("- ") {
                Some(item) => item
                    .trim_start_matches('[')
                    .split("](")
                    .next()
                    .unwrap()
                    .trim_matches('`'),
                None => line.trim_start().trim_start_matches("Cost: "),
            };
            let is_number = |word: &str| {
                word.strip_suffix('.')
                    .is_some_and(|it| it.parse::<u8>().is_ok())
            };
            let words = line.split_whitespace().skip_while(|word| is_number(word));
            for word in words.filter(|_| !is_marked) {
                let count = read.entry(word.trim_end_matches(['.', ':'])).or_default();
                *count -= 1;
                assert!(*count >= 0, "{}: {word} in {line:?}", topic.id);
            }
        }
    }
}

#[test]
fn every_finding_and_every_message_has_a_whole_page() {
    for topic in explain::topics() {
        let (id, page) = (topic.id, topic.page());
        for text in [&page.means, &page.matters, &page.versions] {
            assert!(text.ends_with('.'), "{id}: {text:?}");
        }
        assert!(
            page.unproven.is_empty() || page.unproven.ends_with('.'),
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
                !page.unproven.is_empty(),
                "{id} says nothing of what is not proved"
            );
        }
    }
}

#[test]
fn what_can_explain_a_lag_has_remedies() {
    for rule in plegdoctor::rules::RULES.iter().filter(|rule| rule.explains) {
        let topic = &explain::named(rule.id)[0];
        assert!(!topic.page().remedies.is_empty(), "{}", rule.id);
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
        let page = topic.page();
        for look in page.confirm {
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
        for cure in page.remedies {
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
        let page = topic.page();
        let see: BTreeSet<_> = page.see.iter().copied().collect();
        assert_eq!(see.len(), page.see.len(), "{} twice", topic.id);
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

/// Where GitHub has a project; empty where no issues of it are cited.
fn place(project: &str) -> Option<&'static str> {
    let found = PROJECTS.iter().find(|(name, _)| *name == project);
    found.map(|(_, place)| *place)
}

/// Returns whether a source is an issue, a file, or a run.
fn is_source(source: &str) -> bool {
    if let Some((project, number)) = source.split_once('#') {
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        return is_number && place(project).is_some_and(|it| !it.is_empty());
    }
    match source.split_once(':') {
        Some(("run", run)) => run.starts_with(' ') && run.contains(|c: char| c.is_ascii_digit()),
        Some((project, path)) => {
            place(project).is_some()
                && path.contains('/')
                && !path.contains(' ')
                && !path.starts_with('/')
        }
        None => false,
    }
}

#[test]
fn sources_are_cited_as_issue_file_or_run() {
    let pages = explain::topics().flat_map(|topic| topic.page().sources);
    let notes = NOTES.iter().flat_map(|note| note.sources.iter());
    for source in pages.chain(notes.map(String::as_str)) {
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
fn links_lead_to_a_page_or_an_issue() {
    let (mut pages, mut issues) = (0, 0);
    let files = explain::topics().map(|topic| (docs().join(folder(topic.sort)), topic.markdown));
    for (folder, text) in files.chain([(docs(), notes::MARKDOWN)]) {
        for link in text.split('[').skip(1) {
            let Some((name, rest)) = link.split_once("](") else {
                continue;
            };
            let target = rest.split(')').next().unwrap();
            if let Some((project, number)) = name.split_once('#') {
                let place = place(project).unwrap();
                let address = format!("https://github.com/{place}/issues/{number}");
                assert_eq!(target, address);
                issues += 1;
            } else {
                assert!(target.ends_with(&format!("{name}.md")), "{name}: {target}");
                assert!(folder.join(target).is_file(), "{target}");
                pages += 1;
            }
        }
    }
    assert!(pages > 200 && issues > 100, "{pages} {issues}");
    for topic in explain::topics() {
        for source in topic.page().sources {
            let is_linked = topic.markdown.contains(&format!("- [{source}](https://"));
            assert!(!source.contains('#') || is_linked, "{source}");
        }
    }
}

#[test]
fn notes_on_errors_are_whole() {
    let words = notes::MARKDOWN
        .lines()
        .filter(|line| line.starts_with("- "));
    assert_eq!(words.count(), NOTES.len());
    for note in NOTES.iter() {
        assert!(
            !note.words.is_empty() && !note.sources.is_empty(),
            "{note:?}"
        );
        assert!(
            note.means.len() > 40 && note.means.ends_with('.'),
            "{note:?}"
        );
    }
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
                let whole = commands.iter().any(|text| text == line)
                    || texts.iter().any(|text| text == line);
                assert!(whole, "{}: {line}", topic.id);
            }
        }
    }
}

/// The index names each page once, by its title and in the order of the program, and no other file.
#[test]
fn the_index_names_each_page() {
    let index = fs::read_to_string(docs().join("findings.md")).unwrap();
    let listed: Vec<_> = index
        .lines()
        .filter(|line| line.starts_with("- "))
        .collect();
    let expected: Vec<_> = explain::topics()
        .map(|topic| {
            let (id, folder) = (topic.id, folder(topic.sort));
            format!("- [{id}]({folder}/{id}.md): {}", topic.title)
        })
        .collect();
    assert_eq!(listed, expected);
    for (sort, count) in [
        (Sort::Finding, plegdoctor::rules::RULES.len()),
        (Sort::Message, plegdoctor::kubelet::event::MESSAGES.len()),
    ] {
        let files = fs::read_dir(docs().join(folder(sort))).unwrap();
        assert_eq!(files.count(), count, "files without an entry");
    }
}

#[test]
fn a_page_has_its_rules_title() {
    for rule in plegdoctor::rules::RULES {
        let title = explain::page::title(rule.page);
        assert_eq!(title, rule.title, "docs/findings/{}.md", rule.id);
    }
}
