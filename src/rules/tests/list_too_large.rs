use super::*;
use crate::{finding::Confidence, rules::list_too_large::RULE};

fn too_large(time: &str) -> String {
    line(
        time,
        "GenericPLEG: Unable to retrieve pods: rpc error: code = ResourceExhausted desc = grpc: trying to send message larger than max (20086028 vs. 16777216)",
    )
}

fn daemon_listing(bytes: u64) -> Runtime {
    daemon_with(Vec::new()).with_list_bytes(bytes)
}

#[test]
fn both_sizes_are_told() {
    let found = only(&RULE, &evidence(&[too_large("03:40:40")], None));
    assert!(found.explanation.contains("20086028") && found.explanation.contains("16777216"));
    assert_eq!(
        (found.confidence, found.active),
        (Confidence::Suspected, true)
    );
    assert!(
        found
            .remedies
            .iter()
            .any(|remedy| remedy.command == "plegdoctor clean --exited --yes")
    );
}

#[test]
fn the_receivers_limit_counts_too() {
    let old = line(
        "03:40:40",
        "ListContainers with filter &ContainerFilter{Id:,State:nil,PodSandboxId:,LabelSelector:map[string]string{},} from runtime service failed: rpc error: code = ResourceExhausted desc = grpc: received message larger than max (4194305 vs. 4194304)",
    );
    assert!(
        only(&RULE, &evidence(&[old], None))
            .explanation
            .contains("4194304")
    );
}

#[test]
fn a_list_as_large_in_docker_confirms() {
    let found = only(
        &RULE,
        &evidence(&[too_large("03:40:40")], Some(daemon_listing(22_000_000))),
    );
    assert_eq!(found.confidence, Confidence::Confirmed);
}

#[test]
fn a_list_that_shrank_is_over() {
    let found = only(
        &RULE,
        &evidence(&[too_large("03:40:40")], Some(daemon_listing(50_000))),
    );
    assert!(!found.active);
}

#[test]
fn a_large_image_list_is_no_matter_of_the_relist() {
    let images = line(
        "03:40:40",
        "ListImages failed: rpc error: code = ResourceExhausted desc = grpc: trying to send message larger than max (20086028 vs. 16777216)",
    );
    quiet(&RULE, &evidence(&[images], None));
}
