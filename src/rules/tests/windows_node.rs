use super::*;
use crate::{
    finding::{Confidence, Severity},
    rules::windows_node::RULE,
};

fn stale(n: u32, fraction: &str) -> String {
    line(
        &format!("03:00:{:02}", 5 * n),
        &format!(
            "skipping pod synchronization - PLEG is not healthy: pleg was last seen active 7m{}.{fraction}s ago; threshold is 3m0s",
            24 + 5 * n
        ),
    )
}

fn lags(fractions: &[&str]) -> Evidence {
    let lines: Vec<String> = (0..).zip(fractions).map(|(n, it)| stale(n, it)).collect();
    evidence(&lines, None)
}

#[test]
fn lags_in_steps_of_100_ns_are_windows() {
    let finding = only(&RULE, &lags(&["0513035", "9289039", "068354"]));
    assert_eq!(finding.severity, Severity::Info);
    assert_eq!(finding.confidence, Confidence::Suspected);
}

#[test]
fn few_rounded_or_finer_lags_are_not() {
    for fractions in [
        &["0513035", "9289039"][..],
        &["0513035", "9289039", "068354", "381920471"],
        &["1", "2", "3", "4", "5"],
        &["05", "92", "06"],
        // Cut to microseconds.
        &["051303", "928903", "068354", "117882"],
    ] {
        quiet(&RULE, &lags(fractions));
    }
}

#[test]
fn the_words_of_its_container_service_tell_it_too() {
    let lines = [line(
        "03:00:00",
        &format!(
            "StartContainer \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = hcs::CreateComputeSystem {ID}: timeout"
        ),
    )];
    assert_eq!(found(&RULE, &evidence(&lines, None)).len(), 1);
    quiet(&RULE, &evidence(&[status_deadline("03:00:00", ID)], None));
}

#[test]
fn no_command_of_linux_is_offered_there() {
    let lines = [line(
        "03:00:00",
        &format!(
            "StartContainer \"{ID}\" from runtime service failed: rpc error: code = Unknown desc = hcs::CreateComputeSystem {ID}: {DEADLINE}"
        ),
    )];
    let findings = check_all(&evidence(&lines, None));
    assert!(findings.len() > 1, "{findings:#?}");
    assert!(
        findings.iter().all(|it| it.remedies.is_empty()),
        "{findings:#?}"
    );
}
