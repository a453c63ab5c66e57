//! Every field of every kind of message. Written by hand after the kubelet's sources, as the lines are.

use super::events;
use crate::support::program::fed;
use plegdoctor::kubelet::event::Kind;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fmt::Write as _};

const SID: &str = "b15929dfcea1f936928eac739da685548d915c17d410c4b045b69597cf60d8d0";
const CID: &str = "16f838fe6438f936928eac739da685548d915c17d410c4b045b69597cf60d8d0";
const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";
const DEADLINE: &str = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";

/// A message behind klog's letter, and its events: what is not told of one is null, `error` is class and text.
const ROWS: &[(&str, &[&str])] = &[
    // PLEG
    (
        "E skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m4.25s ago; threshold is 3m0s",
        &[
            r#"{"id":"skip-sync","weight":"decisive"}"#,
            r#"{"id":"pleg-stale","weight":"decisive","lag":184.25,"threshold":180.0,"carrier":"skip-sync"}"#,
        ],
    ),
    (
        r#"E "Skipping pod synchronization" err="[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]""#,
        &[
            r#"{"id":"skip-sync","weight":"decisive"}"#,
            r#"{"id":"runtime-status-pending","weight":"context","carrier":"skip-sync"}"#,
            r#"{"id":"pleg-never","weight":"strong","carrier":"skip-sync"}"#,
        ],
    ),
    (
        r#"E "Skipping pod synchronization" err="[EventedPLEG is not healthy: EventedPLEG: pleg event channel capacity is full with 1000 events, container runtime is down]""#,
        &[
            r#"{"id":"skip-sync","weight":"decisive"}"#,
            r#"{"id":"evented-pleg-full","weight":"moderate","carrier":"skip-sync"}"#,
            r#"{"id":"runtime-down","weight":"strong","carrier":"skip-sync"}"#,
        ],
    ),
    (
        r#"I "Evented PLEG: Failed to get container events, retrying: " err="DEADLINE""#,
        &[r#"{"id":"evented-pleg-retry","weight":"weak","error":["deadline","DEADLINE"]}"#],
    ),
    (
        r#"I "Fall back to Generic PLEG relisting since Evented PLEG is not working""#,
        &[r#"{"id":"evented-pleg-fallback","weight":"moderate"}"#],
    ),
    (
        r#"E "failed to receive streaming container event" err="DEADLINE""#,
        &[r#"{"id":"evented-pleg-stream","weight":"weak","error":["deadline","DEADLINE"]}"#],
    ),
    (
        r#"E "Evented PLEG: received ContainerEventResponse with nil PodSandboxStatus or PodSandboxStatus.Metadata" containerEventResponse="x""#,
        &[r#"{"id":"evented-pleg-bad-event","weight":"weak"}"#],
    ),
    (
        r#"E "Evented PLEG: Event channel is full, discarded pod lifecycle event""#,
        &[r#"{"id":"evented-pleg-dropped","weight":"moderate"}"#],
    ),
    (
        "E GenericPLEG: Unable to retrieve pods: rpc error: code = ResourceExhausted desc = grpc: trying to send message larger than max (20086028 vs. 16777216)",
        &[
            r#"{"id":"relist-failed","weight":"strong","error":["too_large","rpc error: code = ResourceExhausted desc = grpc: trying to send message larger than max (20086028 vs. 16777216)",20086028,16777216]}"#,
        ],
    ),
    (
        "E PLEG: Ignoring events for pod web-2/default: DEADLINE",
        &[
            r#"{"id":"pleg-inspect-failed","weight":"strong","pod":"web-2","namespace":"default","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        r#"E "PLEG: pod failed reinspection" err="DEADLINE" pod="default/web-2""#,
        &[
            r#"{"id":"pleg-reinspect-failed","weight":"strong","pod":"web-2","namespace":"default","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        r#"E "PLEG: Write status" err="DEADLINE" pod="default/web-2""#,
        &[
            r#"{"id":"pleg-write-status","weight":"strong","pod":"web-2","namespace":"default","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        "E event channel is full, discard this relist() cycle event",
        &[r#"{"id":"pleg-events-dropped","weight":"moderate"}"#],
    ),
    (
        "I GenericPLEG: Relisting",
        &[r#"{"id":"pleg-relisting","weight":"context"}"#],
    ),
    (
        "I GenericPLEG: <UID>/CID: running -> exited",
        &[
            r#"{"id":"pleg-state-change","weight":"context","uid":"<UID>","container":"CID","detail":"running -> exited"}"#,
        ],
    ),
    (
        r#"I "Generic (PLEG): container finished" podID=<UID> containerID="CID" exitCode=0"#,
        &[r#"{"id":"pleg-container-finished","weight":"context","uid":"<UID>","container":"CID"}"#],
    ),
    (
        r#"I "SyncLoop (PLEG): event for pod" pod="default/web-2" event=&{ID:<UID> Type:ContainerStarted Data:CID}"#,
        &[
            r#"{"id":"pleg-event","weight":"context","pod":"web-2","namespace":"default","uid":"<UID>","container":"CID","detail":"ContainerStarted"}"#,
        ],
    ),
    // runtime state and sync loop
    (
        "E Container runtime not ready: RuntimeReady=false reason:DockerDaemonNotReady message:docker: failed to get docker version: DEADLINE",
        &[
            r#"{"id":"runtime-not-ready","weight":"strong","detail":"DockerDaemonNotReady","error":["deadline","docker: failed to get docker version: DEADLINE"]}"#,
        ],
    ),
    (
        "E Container runtime sanity check failed: DEADLINE",
        &[r#"{"id":"runtime-sanity-failed","weight":"strong","error":["deadline","DEADLINE"]}"#],
    ),
    (
        "E Container runtime status is nil",
        &[r#"{"id":"runtime-status-nil","weight":"strong"}"#],
    ),
    (
        "E Get runtime version failed: DEADLINE",
        &[r#"{"id":"runtime-version-failed","weight":"strong","error":["deadline","DEADLINE"]}"#],
    ),
    (
        "E Status from runtime service failed: DEADLINE",
        &[r#"{"id":"runtime-status-failed","weight":"strong","error":["deadline","DEADLINE"]}"#],
    ),
    (
        r#"E "Connect remote runtime failed" err="dial unix /run/x.sock: connect: connection refused" address="/run/x.sock""#,
        &[
            r#"{"id":"cri-connect-failed","weight":"strong","error":["unavailable","dial unix /run/x.sock: connect: connection refused"]}"#,
        ],
    ),
    (
        "I Starting kubelet main sync loop.",
        &[r#"{"id":"syncloop-start","weight":"context"}"#],
    ),
    (
        "I Container runtime docker initialized, version: 20.10.24, apiVersion: 1.41.0",
        &[
            r#"{"id":"runtime-initialized","weight":"context","detail":"docker"}"#,
            r#"{"id":"software-version","weight":"context","detail":"docker 20.10.24","carrier":"runtime-initialized"}"#,
            r#"{"id":"dockershim-used","weight":"context","carrier":"runtime-initialized"}"#,
        ],
    ),
    (
        "E Update channel is closed. Exiting the sync loop.",
        &[r#"{"id":"syncloop-closed","weight":"moderate"}"#],
    ),
    (
        "E sync Loop took longer than expected",
        &[r#"{"id":"syncloop-slow","weight":"moderate"}"#],
    ),
    (
        r#"E "Housekeeping took longer than expected" err="housekeeping took too long" expected="1s" actual="1.5s""#,
        &[
            r#"{"id":"housekeeping-slow","weight":"moderate","detail":"1.5s","error":["other","housekeeping took too long"]}"#,
        ],
    ),
    (
        "E Failed cleaning pods: DEADLINE",
        &[r#"{"id":"clean-pods-failed","weight":"moderate","error":["deadline","DEADLINE"]}"#],
    ),
    // calls on the relist path
    (
        r#"E ListPodSandbox with pod UID "<UID>" failed: DEADLINE"#,
        &[
            r#"{"id":"list-sandboxes-failed","weight":"strong","uid":"<UID>","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        "E ListContainers error: rpc error: code = Canceled desc = context canceled",
        &[
            r#"{"id":"list-containers-failed","weight":"strong","error":["canceled","rpc error: code = Canceled desc = context canceled"]}"#,
        ],
    ),
    (
        r#"E "StreamPodSandboxes from runtime service failed" err="DEADLINE" filter="""#,
        &[r#"{"id":"list-stream-failed","weight":"strong","error":["deadline","DEADLINE"]}"#],
    ),
    (
        r#"E PodSandboxStatus of sandbox "SID" for pod "web-2_default(<UID>)" error: DEADLINE"#,
        &[
            r#"{"id":"sandbox-status-failed","weight":"decisive","pod":"web-2","namespace":"default","uid":"<UID>","sandbox":"SID","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        r#"E "ContainerStatus from runtime service failed" err="rpc error: code = NotFound desc = gone" containerID="CID""#,
        &[
            r#"{"id":"container-status-failed","weight":"decisive","container":"CID","error":["not_found","rpc error: code = NotFound desc = gone"]}"#,
        ],
    ),
    (
        r#"E getPodContainerStatuses for pod "db-node-1_prod(de17858b93b5459e01e9992c835cd6a8)" failed: DEADLINE"#,
        &[
            r#"{"id":"pod-containers-status-failed","weight":"strong","pod":"db-node-1","namespace":"prod","uid":"de17858b93b5459e01e9992c835cd6a8","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    // start, stop, remove, exec
    (
        r#"E StopPodSandbox "SID" from runtime service failed: DEADLINE"#,
        &[
            r#"{"id":"stop-sandbox-failed","weight":"strong","sandbox":"SID","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        r#"E Failed to remove sandbox "SID": DEADLINE"#,
        &[
            r#"{"id":"remove-sandbox-failed","weight":"strong","sandbox":"SID","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        r#"E "CreatePodSandbox for pod failed" err="failed to reserve sandbox name: name is reserved for SID" pod="default/web-2""#,
        &[
            r#"{"id":"run-sandbox-failed","weight":"moderate","pod":"web-2","namespace":"default","error":["name_reserved","failed to reserve sandbox name: name is reserved for SID"]}"#,
        ],
    ),
    (
        r#"E CreateContainer in sandbox "SID" from runtime service failed: DEADLINE"#,
        &[
            r#"{"id":"create-container-failed","weight":"moderate","sandbox":"SID","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        r#"E StartContainer "CID" from runtime service failed: fork/exec /usr/bin/runc: resource temporarily unavailable"#,
        &[
            r#"{"id":"start-container-failed","weight":"strong","container":"CID","error":["no_resources","fork/exec /usr/bin/runc: resource temporarily unavailable"]}"#,
        ],
    ),
    (
        r#"E Container "docker://CID" termination failed with gracePeriod 30: DEADLINE"#,
        &[
            r#"{"id":"stop-container-failed","weight":"strong","container":"CID","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        r#"E RemoveContainer "CID" from runtime service failed: unlinkat /x/merged: device or resource busy"#,
        &[
            r#"{"id":"remove-container-failed","weight":"strong","container":"CID","error":["busy","unlinkat /x/merged: device or resource busy"]}"#,
        ],
    ),
    (
        r#"E ExecSync "CID" '/bin/true' from runtime service failed: DEADLINE"#,
        &[
            r#"{"id":"exec-sync-failed","weight":"moderate","container":"CID","detail":"/bin/true","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        r#"E UpdateContainerResources "CID" from runtime service failed: DEADLINE"#,
        &[
            r#"{"id":"update-resources-failed","weight":"weak","container":"CID","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        r#"E "ListPodSandboxStats with filter from runtime service failed" err="DEADLINE""#,
        &[r#"{"id":"list-stats-failed","weight":"weak","error":["deadline","DEADLINE"]}"#],
    ),
    (
        r#"E killPodWithSyncResult failed: failed to "KillPodSandbox" for "<UID>" with KillPodSandboxError: "DEADLINE""#,
        &[
            r#"{"id":"kill-pod-failed","weight":"moderate","uid":"<UID>","error":["deadline","failed to \"KillPodSandbox\" for \"<UID>\" with KillPodSandboxError: \"DEADLINE\""]}"#,
        ],
    ),
    (
        r#"W "PreStop hook not completed in grace period" pod="default/web-2" gracePeriod=30"#,
        &[r#"{"id":"prestop-hook","weight":"weak","pod":"web-2","namespace":"default"}"#],
    ),
    // around them
    (
        "E Container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: cni config uninitialized",
        &[
            r#"{"id":"cni-not-ready","weight":"decisive","detail":"NetworkPluginNotReady","error":["other","docker: cni config uninitialized"]}"#,
        ],
    ),
    (
        r#"I "Node became not ready" node="worker-3" condition={Type:Ready Status:False LastHeartbeatTime:2026-11-30 11:00:00 +0000 UTC m=+12.5 LastTransitionTime:2026-11-30 11:00:00 +0000 UTC m=+12.5 Reason:KubeletNotReady Message:PLEG is not healthy: pleg was last seen active 3m45s ago; threshold is 3m0s}"#,
        &[
            r#"{"id":"node-not-ready","weight":"decisive","node":"worker-3","detail":"KubeletNotReady","error":["other","PLEG is not healthy: pleg was last seen active 3m45s ago; threshold is 3m0s"]}"#,
            r#"{"id":"pleg-stale","weight":"decisive","lag":225.0,"threshold":180.0,"carrier":"node-not-ready"}"#,
        ],
    ),
    (
        "I Recording NodeReady event message for node worker-3",
        &[r#"{"id":"node-ready","weight":"decisive","node":"worker-3","detail":"NodeReady"}"#],
    ),
    (
        r#"I "Recording event message for node" node="worker-3" event="NodeNotReady""#,
        &[
            r#"{"id":"recording-event","weight":"context","node":"worker-3","detail":"NodeNotReady"}"#,
        ],
    ),
    (
        "E Unable to update node status: update node status exceeds retry count",
        &[
            r#"{"id":"node-status-update-failed","weight":"strong","error":["other","update node status exceeds retry count"]}"#,
        ],
    ),
    (
        r#"E "Failed to update lease" err="x""#,
        &[r#"{"id":"lease-update-failed","weight":"strong","error":["other","x"]}"#],
    ),
    (
        "I Successfully registered node worker-3",
        &[r#"{"id":"node-registered","weight":"context","node":"worker-3"}"#],
    ),
    (
        r#"E "Error syncing pod, skipping" err="x" pod="default/web-2" podUID=<UID>"#,
        &[
            r#"{"id":"pod-sync-error","weight":"moderate","pod":"web-2","namespace":"default","uid":"<UID>","error":["other","x"]}"#,
        ],
    ),
    (
        r#"I SyncLoop (REMOVE, "api"): "web-2_default(<UID>), db_prod(de17858b93b5459e01e9992c835cd6a8)""#,
        &[
            r#"{"id":"pod-removed","weight":"context","pod":"web-2","namespace":"default","uid":"<UID>","detail":"REMOVE"}"#,
            r#"{"id":"pod-removed","weight":"context","pod":"db","namespace":"prod","uid":"de17858b93b5459e01e9992c835cd6a8","detail":"REMOVE"}"#,
        ],
    ),
    (
        "E Container garbage collection failed: DEADLINE",
        &[r#"{"id":"container-gc-failed","weight":"strong","error":["deadline","DEADLINE"]}"#],
    ),
    (
        r#"E "Failed to stop container" err="DEADLINE" containerID="CID""#,
        &[
            r#"{"id":"gc-stop-container-failed","weight":"strong","container":"CID","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        "E eviction manager: failed to get summary stats: DEADLINE",
        &[
            r#"{"id":"eviction-summary-failed","weight":"moderate","error":["deadline","DEADLINE"]}"#,
        ],
    ),
    (
        "I Got sys oom event: &{4711 java 2026-11-30 03:00:00.39 +0000 UTC m=+9.1 / /}",
        &[r#"{"id":"system-oom","weight":"moderate"}"#],
    ),
    (
        "I Connecting to docker on unix:///var/run/docker.sock",
        &[r#"{"id":"dockershim-used","weight":"context"}"#],
    ),
    (
        r#"E "Failed to start ContainerManager" err="no PodsandBox found with Id 'x'""#,
        &[
            r#"{"id":"container-manager-failed","weight":"decisive","error":["not_found","no PodsandBox found with Id 'x'"]}"#,
        ],
    ),
    (
        "W Could not set up iptables canary mangle/KUBE-KUBELET-CANARY: exit status 4: Another app is currently holding the xtables lock",
        &[
            r#"{"id":"xtables-locked","weight":"weak","error":["other","Could not set up iptables canary mangle/KUBE-KUBELET-CANARY: exit status 4: Another app is currently holding the xtables lock"]}"#,
        ],
    ),
    (
        "F Failed to start ContainerManager: no PodsandBox found with Id 'x'",
        &[
            r#"{"id":"kubelet-fatal","weight":"decisive","error":["not_found","Failed to start ContainerManager: no PodsandBox found with Id 'x'"]}"#,
        ],
    ),
];

fn spelled(text: &str) -> String {
    text.replace("SID", SID)
        .replace("CID", CID)
        .replace("<UID>", UID)
        .replace("DEADLINE", DEADLINE)
}

/// Returns a whole event, from what is told of it.
fn whole(told: &str) -> Value {
    let told: Value = serde_json::from_str(told).unwrap();
    let mut event = json!({
        "schema": "plegdoctor.event/1", "time": null, "time_guessed": false, "received": null, "id": null,
        "weight": null, "severity": null, "pod": null, "namespace": null, "uid": null, "sandbox": null,
        "container": null, "node": null, "lag": null, "threshold": null, "error": null, "detail": null,
        "carrier": null, "source": "standard input", "line": null, "text": null,
    });
    for (key, value) in told.as_object().unwrap() {
        event[key] = match value.as_array() {
            Some(error) => json!({"class": error[0], "text": spelled(error[1].as_str().unwrap()),
                "bytes": error.get(2), "limit": error.get(3)}),
            None => value
                .as_str()
                .map_or(value.clone(), |text| spelled(text).into()),
        };
    }
    event
}

/// What other programs and the kernel say: who, what, and what it tells.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "ntpd[811]",
        "0.0.0.0 061c 0c clock_step +7200.5 s",
        r#"{"id":"clock-stepped","weight":"context","detail":"+7200.5 s"}"#,
    ),
    (
        "kernel",
        "Out of memory: Killed process 1201 (dockerd) total-vm:3456789kB, anon-rss:1234567kB",
        r#"{"id":"out-of-memory","weight":"moderate","detail":"dockerd"}"#,
    ),
    (
        "kernel",
        "INFO: task runc:[2:INIT]:812 blocked for more than 120 seconds.",
        r#"{"id":"hung-task","weight":"strong","detail":"runc:[2:INIT]"}"#,
    ),
    (
        "kernel",
        "nfs: server 10.0.0.5 not responding, timed out",
        r#"{"id":"server-silent","weight":"strong","detail":"10.0.0.5"}"#,
    ),
    (
        "kernel",
        "nfs: server 10.0.0.5 OK",
        r#"{"id":"server-answers","weight":"weak","detail":"10.0.0.5"}"#,
    ),
    (
        "kernel",
        "unregister_netdevice: waiting for lo to become free. Usage count = 2",
        r#"{"id":"netdevice-held","weight":"strong","detail":"lo"}"#,
    ),
    (
        "kernel",
        "blk_update_request: I/O error, dev sda, sector 2048 op 0x1:(WRITE)",
        r#"{"id":"disk-error","weight":"strong","detail":"sda"}"#,
    ),
    (
        "systemd[1]",
        "docker.service: Main process exited, code=killed, status=9/KILL",
        r#"{"id":"unit-ended","weight":"strong","detail":"docker.service","error":["other","Main process exited, code=killed, status=9/KILL"]}"#,
    ),
];

/// Every message as the journal keeps it, a second after the other.
#[test]
fn every_field_of_every_kind_is_what_the_line_says() {
    let (mut log, mut expected) = (String::new(), Vec::new());
    for (at, (line, told)) in (0_u64..).zip(ROWS) {
        let (letter, message) = line.split_once(' ').unwrap();
        let message = spelled(message);
        let time = format!("11:{:02}:{:02}", at / 60, at % 60);
        writeln!(
            log,
            "2026-11-30T{time}+0000 worker-3 kubelet[2261]: {letter}1130 {time}.250000    2261 kubelet.go:1846] {message}"
        )
        .unwrap();
        for event in *told {
            let mut event = whole(event);
            event["time"] = format!("2026-11-30T{time}.250Z").into();
            event["received"] = format!("2026-11-30T{time}Z").into();
            event["severity"] = match letter {
                "I" => "info",
                "W" => "warning",
                "E" => "error",
                _ => "fatal",
            }
            .into();
            event["line"] = (at + 1).into();
            event["text"] = match message.len() > 400 {
                true => message[..400].into(),
                false => message.clone().into(),
            };
            expected.push(event);
        }
    }
    // What is not the kubelet's word.
    for (at, (writer, message, told)) in (ROWS.len() + 1..).zip(OTHERS) {
        writeln!(log, "2026-11-30T11:20:00+0000 worker-3 {writer}: {message}").unwrap();
        let mut event = whole(told);
        for key in ["time", "received"] {
            event[key] = "2026-11-30T11:20:00Z".into();
        }
        event["severity"] = "info".into();
        event["line"] = at.into();
        event["text"] = (*message).into();
        expected.push(event);
    }
    // Pasted from `kubectl describe node`: no kubelet logs it.
    let pasted = "Ready   False   Mon, 30 Nov 2026 11:30:00 +0000   Mon, 30 Nov 2026 11:20:00 +0000   KubeletNotReady   something new";
    // The empty line ends the message before it.
    writeln!(log, "\n  {pasted}").unwrap();
    let mut event = whole(
        r#"{"id":"ready-condition","weight":"decisive","severity":"info","time":"2026-11-30T11:30:00Z","received":"2026-11-30T11:30:00Z","detail":"KubeletNotReady","error":["other","something new"]}"#,
    );
    event["line"] = (ROWS.len() + OTHERS.len() + 2).into();
    event["text"] = pasted.into();
    expected.push(event);

    let args = [
        "events",
        "--all",
        "--log",
        "-",
        "--now",
        "2026-11-30T12:00:00Z",
    ];
    let told = fed(&args, log.as_bytes());
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    let given = events(&told.out);
    for (given, expected) in given.iter().zip(&expected) {
        assert_eq!(given, expected);
    }
    assert_eq!(given.len(), expected.len());

    let seen: BTreeSet<&str> = given.iter().map(|it| it["id"].as_str().unwrap()).collect();
    let known: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.id()).collect();
    assert_eq!(seen, known);
    let classes: BTreeSet<&str> = given
        .iter()
        .filter_map(|it| it["error"]["class"].as_str())
        .collect();
    assert_eq!(classes.len(), 9, "{classes:?}");

    // Without --all the same, but for what is context only.
    let told = fed(&[&args[..1], &args[2..]].concat(), log.as_bytes());
    let rest: Vec<&Value> = expected
        .iter()
        .filter(|it| it["weight"] != "context")
        .collect();
    assert_eq!(events(&told.out).iter().collect::<Vec<_>>(), rest);
}
