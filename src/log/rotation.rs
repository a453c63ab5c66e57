//! Which files of a directory are the kubelet's log and its rotations, by their names, oldest first. The times inside
//! decide the order in the end; names decide where there are none.

use std::cmp::Reverse;

/// Which logs of a directory are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family<'a> {
    /// The kubelet's own, or, if there are none, the system's (`messages`, `syslog`).
    Any,
    /// This file and its rotations: `messages`, `messages.1`, `messages-20260901`.
    Of(&'a str),
}

/// klog's levels, lowest first. A line is written to the files of its level and of all lower ones, so the
/// lowest there is holds all.
const LEVELS: [&str; 4] = ["INFO", "WARNING", "ERROR", "FATAL"];
/// Suffixes of compressed rotations.
const COMPRESSED: [&str; 5] = [".gz", ".xz", ".zst", ".bz2", ".lz4"];

/// Chooses those of `names` that belong to `family`, oldest first as far as names show.
pub(super) fn choose<'a>(family: Family<'_>, names: &[&'a str]) -> Vec<&'a str> {
    let of = |base: &str| -> Vec<&'a str> {
        let rotation = |name: &str| {
            uncompressed_name(name)
                .strip_prefix(base)
                .is_some_and(|rest| rest.is_empty() || is_rotation(rest))
        };
        names
            .iter()
            .copied()
            .filter(|name| rotation(name))
            .collect()
    };
    let mut chosen = match family {
        Family::Of(base) => of(base),
        Family::Any => {
            let own = lowest_level(names.iter().copied().filter(|n| is_kubelets(n)).collect());
            if own.is_empty() {
                [of("messages"), of("syslog")].concat()
            } else {
                own
            }
        }
    };
    chosen.sort_by_cached_key(|name| age(name));
    chosen
}

/// Whether `name` is that of a kubelet's or a system's log, or of a rotation.
pub(super) fn is_log(name: &str) -> bool {
    let of = |base| !choose(Family::Of(base), &[name]).is_empty();
    is_kubelets(name) || of("messages") || of("syslog")
}

fn uncompressed_name(name: &str) -> &str {
    let plain = COMPRESSED.iter().find_map(|end| name.strip_suffix(end));
    plain.unwrap_or(name)
}

/// Whether `name` is that of a kubelet's log: `kubelet.log`, `kubelet-node1.log.2`, `kubelet.INFO`,
/// `kubelet.<host>.<user>.log.INFO.<date>-<time>.<pid>`.
fn is_kubelets(name: &str) -> bool {
    let Some(rest) = uncompressed_name(name).strip_prefix("kubelet") else {
        return false;
    };
    if rest.strip_prefix('.').is_some_and(|l| LEVELS.contains(&l)) {
        return true;
    }
    rest.match_indices(".log").any(|(at, found)| {
        let end = &rest[at + found.len()..];
        end.is_empty() || is_rotation(end)
    })
}

/// Whether `rest` is what rotation appends to a log's name: `.1`, `-20260901`, `.2.gz`, `.INFO.2026…`.
fn is_rotation(rest: &str) -> bool {
    let mut chars = rest.chars();
    matches!(chars.next(), Some('.' | '-'))
        && (chars.next().is_some_and(|c| c.is_ascii_digit())
            || rest == ".old"
            || level(rest).is_some())
}

/// Leaves out klog's files of higher levels.
fn lowest_level(names: Vec<&str>) -> Vec<&str> {
    let lowest = names.iter().filter_map(|name| level(name)).min();
    let stays = |name: &&str| level(name).is_none() || level(name) == lowest;
    names.into_iter().filter(stays).collect()
}

fn level(name: &str) -> Option<usize> {
    LEVELS.iter().position(|level| {
        name.match_indices(level).any(|(at, _)| {
            let end = &name[at + level.len()..];
            name[..at].ends_with('.') && (end.is_empty() || end.starts_with('.'))
        })
    })
}

/// Orders rotations: dated ones by date, then numbered ones from the highest number down, then the rest.
fn age(name: &str) -> (u8, Reverse<u64>, String) {
    let plain = uncompressed_name(name);
    let number = plain
        .rsplit_once('.')
        .and_then(|(_, end)| end.parse::<u64>().ok());
    let dated = plain
        .as_bytes()
        .windows(8)
        .any(|eight| eight.iter().all(u8::is_ascii_digit));
    match number {
        _ if dated => (0, Reverse(0), name.to_owned()),
        Some(number) => (1, Reverse(number), name.to_owned()),
        None => (2, Reverse(0), name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelets_log_and_its_rotations_are_chosen_oldest_first() {
        assert_eq!(
            choose(
                Family::Any,
                &[
                    "kubelet.log",
                    "kubelet.log.1",
                    "kubelet.log.10.gz",
                    "kubelet.log.2",
                    "kubelet.log-20260902",
                    "kubelet.log-20260901",
                    "kubelet.log.old",
                    "kubelet-worker-3.log",
                    "kubelet-metrics.txt",
                    "kubelet.conf",
                    "kubelet.log.swp",
                    "kube-proxy.log",
                    "messages",
                    "kubelet",
                ]
            ),
            [
                "kubelet.log-20260901",
                "kubelet.log-20260902",
                "kubelet.log.10.gz",
                "kubelet.log.2",
                "kubelet.log.1",
                "kubelet-worker-3.log",
                "kubelet.log",
                "kubelet.log.old",
            ]
        );
    }

    #[test]
    fn of_klogs_files_the_lowest_level_holds_all() {
        let info = "kubelet.worker-3.root.log.INFO.20260901-120000.2261";
        let warning = "kubelet.worker-3.root.log.WARNING.20260901-120000.2261";
        let error = "kubelet.worker-3.root.log.ERROR.20260901-120000.2261";
        assert_eq!(
            choose(
                Family::Any,
                &[
                    error,
                    "kubelet.ERROR",
                    info,
                    "kubelet.INFO",
                    warning,
                    "kubelet.WARNING"
                ]
            ),
            [info, "kubelet.INFO"]
        );
        assert_eq!(choose(Family::Any, &[error, warning]), [warning]);
    }

    #[test]
    fn the_systems_log_is_chosen_only_where_the_kubelet_has_none() {
        let system = [
            "messages",
            "messages-20260901",
            "messages.old.txt",
            "syslog",
            "syslog.1",
        ];
        assert_eq!(
            choose(Family::Any, &system),
            ["messages-20260901", "syslog.1", "messages", "syslog"]
        );
        assert_eq!(
            choose(Family::Any, &["messages", "kubelet.log"]),
            ["kubelet.log"]
        );
    }

    #[test]
    fn a_family_is_a_file_and_its_rotations() {
        assert_eq!(
            choose(
                Family::Of("messages"),
                &[
                    "messages",
                    "messages-20260901",
                    "messages2",
                    "messages.conf",
                    "syslog"
                ]
            ),
            ["messages-20260901", "messages"]
        );
    }
}
