//! Every known message in each version's form, and what is taken out of it.

use super::{KLOG, read, shown_all, spelled};

/// Checks each message behind a klog header, alone in its log.
fn check(rows: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (message, expected) in rows {
        let (events, _) = read(spelled(&format!("{KLOG}{message}")));
        let shown = shown_all(&events);
        if shown != *expected {
            wrong.push(format!(
                "{message}\n  expected {expected}\n  got      {shown}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pleg() {
    check(&[
        (
            "GenericPLEG: Unable to retrieve pods: DEADLINE",
            "relist-failed Deadline",
        ),
        (
            r#""GenericPLEG: Unable to retrieve pods" err="DEADLINE""#,
            "relist-failed Deadline",
        ),
        (
            "PLEG: Ignoring events for pod web-2/default: DEADLINE",
            "pleg-inspect-failed default/web-2 Deadline",
        ),
        (
            r#""PLEG: Ignoring events for pod" err="DEADLINE" pod="default/web-2""#,
            "pleg-inspect-failed default/web-2 Deadline",
        ),
        (
            "PLEG: pod web-2/default failed reinspection: DEADLINE",
            "pleg-reinspect-failed default/web-2 Deadline",
        ),
        (
            r#""PLEG: pod failed reinspection" err="DEADLINE" pod="default/web-2""#,
            "pleg-reinspect-failed default/web-2 Deadline",
        ),
        (
            "PLEG: Write status for web-2/default: &container.PodStatus{ID:\"a\", IP:\"\"} (err: DEADLINE)",
            "pleg-write-status default/web-2 Deadline",
        ),
        (
            "PLEG: Write status for web-2/default: &container.PodStatus{ID:\"a\", IP:\"\"} (err: <nil>)",
            "",
        ),
        (
            r#""PLEG: Write status" err="DEADLINE" pod="default/web-2""#,
            "pleg-write-status default/web-2 Deadline",
        ),
        (
            r#""PLEG: Write status" pod="default/web-2" podStatus=&{ID:x Name:web-2}"#,
            "",
        ),
        (
            "event channel is full, discard this relist() cycle event",
            "pleg-events-dropped",
        ),
        (
            r#""Event channel is full, discard this relist() cycle event""#,
            "pleg-events-dropped",
        ),
        (
            r#""Evented PLEG: Failed to get container events, retrying: " err="DEADLINE""#,
            "evented-pleg-retry Deadline",
        ),
        (
            r#""Fall back to Generic PLEG relisting since Evented PLEG is not working""#,
            "evented-pleg-fallback",
        ),
        (
            r#""GetContainerEvents failed to get streaming client" err="DEADLINE""#,
            "evented-pleg-stream Deadline",
        ),
        (
            r#""failed to receive streaming container event" err="DEADLINE""#,
            "evented-pleg-stream Deadline",
        ),
        (
            r#""Evented PLEG: received ContainerEventResponse with nil PodSandboxStatus or PodSandboxStatus.Metadata" containerEventResponse="x""#,
            "evented-pleg-bad-event",
        ),
        (
            r#""Evented PLEG: Event channel is full, discarded pod lifecycle event""#,
            "evented-pleg-dropped",
        ),
    ]);
}

#[test]
fn runtime_state_and_sync_loop() {
    check(&[
        (
            "skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m45.252087921s ago; threshold is 3m0s",
            "skip-sync; pleg-stale lag:225252ms limit:180s in:skip-sync",
        ),
        (
            "skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 3m45.2s ago; threshold is 3m0s]",
            "skip-sync; pleg-stale lag:225200ms limit:180s in:skip-sync",
        ),
        (
            "skipping pod synchronization - [container runtime is down PLEG is not healthy: pleg was last seen active 1h3m45.2s ago; threshold is 3m0s]",
            "skip-sync; runtime-down in:skip-sync; pleg-stale lag:3825200ms limit:180s in:skip-sync",
        ),
        (
            r#""Skipping pod synchronization" err="[container runtime is down, PLEG is not healthy: pleg was last seen active 11m0s ago; threshold is 10m0s]""#,
            "skip-sync; runtime-down in:skip-sync; pleg-stale lag:660000ms limit:600s in:skip-sync",
        ),
        (
            "skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 2562047h47m16.854775807s ago; threshold is 3m0s]",
            "skip-sync; pleg-never lag:9223372036854ms limit:180s in:skip-sync",
        ),
        (
            "skipping pod synchronization - [container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]",
            "skip-sync; runtime-status-pending in:skip-sync; pleg-never in:skip-sync",
        ),
        (
            "skipping pod synchronization - [container runtime status check may not have completed yet., PLEG is not healthy: pleg has yet to be successful.]",
            "skip-sync; runtime-status-pending in:skip-sync; pleg-never in:skip-sync",
        ),
        (
            r#""Skipping pod synchronization" err="container runtime not ready: RuntimeReady=false reason:DockerDaemonNotReady message:docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?""#,
            "skip-sync; runtime-not-ready 'DockerDaemonNotReady' Unavailable in:skip-sync",
        ),
        (
            r#""Skipping pod synchronization" err="[EventedPLEG is not healthy: EventedPLEG: pleg event channel capacity is full with 1000 events, container runtime is down]""#,
            "skip-sync; evented-pleg-full in:skip-sync; runtime-down in:skip-sync",
        ),
        (
            r#""Skipping pod synchronization" err="something new""#,
            "skip-sync Other",
        ),
        (
            "Container runtime not ready: RuntimeReady=false reason:DockerDaemonNotReady message:docker: failed to get docker version: DEADLINE",
            "runtime-not-ready 'DockerDaemonNotReady' Deadline",
        ),
        (
            r#""Container runtime not ready" runtimeReady="RuntimeReady=false reason:DockerDaemonNotReady message:docker: x""#,
            "runtime-not-ready 'DockerDaemonNotReady' Other",
        ),
        (
            "Container runtime sanity check failed: DEADLINE",
            "runtime-sanity-failed Deadline",
        ),
        (
            r#""Container runtime sanity check failed" err="DEADLINE""#,
            "runtime-sanity-failed Deadline",
        ),
        ("Container runtime status is nil", "runtime-status-nil"),
        (r#""Container runtime status is nil""#, "runtime-status-nil"),
        (
            "Get runtime version failed: DEADLINE",
            "runtime-version-failed Deadline",
        ),
        (
            r#""Get runtime version failed" err="DEADLINE""#,
            "runtime-version-failed Deadline",
        ),
        (
            "Version from runtime service failed: DEADLINE",
            "runtime-version-failed Deadline",
        ),
        (
            r#""Version from runtime service failed" err="DEADLINE""#,
            "runtime-version-failed Deadline",
        ),
        (
            "Status from runtime service failed: DEADLINE",
            "runtime-status-failed Deadline",
        ),
        (
            r#""Status from runtime service failed" err="DEADLINE""#,
            "runtime-status-failed Deadline",
        ),
        (
            "Connect remote runtime /var/run/dockershim.sock failed: context deadline exceeded",
            "cri-connect-failed Deadline",
        ),
        (
            r#""Connect remote runtime failed" err="context deadline exceeded" address="/run/containerd/containerd.sock""#,
            "cri-connect-failed Deadline",
        ),
        ("Starting kubelet main sync loop.", "syncloop-start"),
        (r#""Starting kubelet main sync loop""#, "syncloop-start"),
        (
            "Container runtime containerd initialized, version: 1.4.0, apiVersion: v1alpha2",
            "runtime-initialized 'containerd'; software-version 'containerd 1.4.0' in:runtime-initialized",
        ),
        (
            "Container runtime docker initialized, version: 20.10.24, apiVersion: 1.41.0",
            "runtime-initialized 'docker'; software-version 'docker 20.10.24' in:runtime-initialized; dockershim-used in:runtime-initialized",
        ),
        (
            "Version: {KernelVersion:5.4.214-120.368.amzn2.x86_64 ContainerOsVersion:Amazon Linux 2 DockerVersion:20.10.17 DockerAPIVersion:1.41 CadvisorVersion: CadvisorRevision:}",
            "software-version 'kernel 5.4.214-120.368.amzn2.x86_64'",
        ),
        (
            r#""Container runtime initialized" containerRuntime="docker" version="20.10.24" apiVersion="1.41.0""#,
            "runtime-initialized 'docker'; software-version 'docker 20.10.24' in:runtime-initialized; dockershim-used in:runtime-initialized",
        ),
        (
            "Update channel is closed. Exiting the sync loop.",
            "syncloop-closed",
        ),
        (
            r#""Update channel is closed, exiting the sync loop""#,
            "syncloop-closed",
        ),
        ("sync Loop took longer than expected", "syncloop-slow"),
        (
            r#""Housekeeping took longer than 15s" err="housekeeping took too long" seconds=17.284"#,
            "housekeeping-slow '17.284' Other",
        ),
        (
            r#""Housekeeping took longer than expected" err="housekeeping took too long" expected="1s" actual="1.5s""#,
            "housekeeping-slow '1.5s' Other",
        ),
        (
            "Failed cleaning pods: DEADLINE",
            "clean-pods-failed Deadline",
        ),
        (
            r#""Failed cleaning pods" err="DEADLINE""#,
            "clean-pods-failed Deadline",
        ),
    ]);
}

#[test]
fn calls_on_the_relist_path() {
    check(&[
        (
            "ListPodSandbox with filter nil from runtime service failed: DEADLINE",
            "list-sandboxes-failed Deadline",
        ),
        (
            "ListPodSandbox with filter &PodSandboxFilter{Id:,State:&PodSandboxStateValue{State:SANDBOX_READY,},LabelSelector:map[string]string{},} from runtime service failed: rpc error: code = 4 desc = context deadline exceeded",
            "list-sandboxes-failed Deadline",
        ),
        (
            "ListPodSandbox with filter &PodSandboxFilter{Id:,State:nil,LabelSelector:map[string]string{io.kubernetes.pod.uid: <UID>,},} from runtime service failed: DEADLINE",
            "list-sandboxes-failed uid Deadline",
        ),
        (
            r#""ListPodSandbox with filter from runtime service failed" err="DEADLINE" filter="nil""#,
            "list-sandboxes-failed Deadline",
        ),
        (
            "ListPodSandbox failed: DEADLINE",
            "list-sandboxes-failed Deadline",
        ),
        (
            r#""Failed to list pod sandboxes" err="DEADLINE""#,
            "list-sandboxes-failed Deadline",
        ),
        (
            r#"ListPodSandbox with pod UID "<UID>" failed: DEADLINE"#,
            "list-sandboxes-failed uid Deadline",
        ),
        (
            r#""Failed to list sandboxes for pod" err="DEADLINE" podUID=<UID>"#,
            "list-sandboxes-failed uid Deadline",
        ),
        (
            "ListContainers with filter &ContainerFilter{Id:,State:nil,PodSandboxId:,LabelSelector:map[string]string{},} from runtime service failed: rpc error: code = ResourceExhausted desc = grpc: trying to send message larger than max (20086028 vs. 16777216)",
            "list-containers-failed TooLarge",
        ),
        (
            r#""ListContainers with filter from runtime service failed" err="DEADLINE" filter="&ContainerFilter{Id:,State:nil,}""#,
            "list-containers-failed Deadline",
        ),
        (
            "getKubeletContainers failed: DEADLINE",
            "list-containers-failed Deadline",
        ),
        (
            r#""ListContainers failed" err="DEADLINE""#,
            "list-containers-failed Deadline",
        ),
        (
            "ListContainers error: DEADLINE",
            "list-containers-failed Deadline",
        ),
        (
            r#""ListContainers error" err="DEADLINE""#,
            "list-containers-failed Deadline",
        ),
        (
            r#""StreamPodSandboxes from runtime service failed" err="DEADLINE" filter="""#,
            "list-stream-failed Deadline",
        ),
        (
            r#""StreamContainers recv failed" err="DEADLINE" filter="" itemsReceived=12"#,
            "list-stream-failed Deadline",
        ),
        (
            r#"PodSandboxStatus of sandbox "SID" for pod "web-2_default(<UID>)" error: DEADLINE"#,
            "sandbox-status-failed default/web-2 uid s:b15929dfcea1 Deadline",
        ),
        (
            r#""PodSandboxStatus of sandbox for pod" err="DEADLINE" podSandboxID="SID" pod="default/web-2""#,
            "sandbox-status-failed default/web-2 s:b15929dfcea1 Deadline",
        ),
        (
            r#"Failed to get pod sandbox status: DEADLINE; Skipping pod "web-2_default(<UID>)""#,
            "sandbox-status-failed default/web-2 uid Deadline",
        ),
        (
            r#""Failed to get pod sandbox status; Skipping pod" err="DEADLINE" pod="default/web-2""#,
            "sandbox-status-failed default/web-2 Deadline",
        ),
        (
            r#"ContainerStatus "CID" from runtime service failed: DEADLINE"#,
            "container-status-failed c:16f838fe6438 Deadline",
        ),
        (
            r#"ContainerStatus "CID" from runtime service failed: rpc error: code = Unknown desc = Error: No such container: CID"#,
            "container-status-failed c:16f838fe6438 NotFound",
        ),
        (
            r#""ContainerStatus from runtime service failed" err="DEADLINE" containerID="CID""#,
            "container-status-failed c:16f838fe6438 Deadline",
        ),
        (
            r#"ContainerStatus of "CID" failed: status.CreatedAt is not set"#,
            "container-status-failed c:16f838fe6438 Other",
        ),
        (
            r#""verify ContainerStatus failed" err="status.CreatedAt is not set" containerID="CID""#,
            "container-status-failed c:16f838fe6438 Other",
        ),
        (
            "ContainerStatus for CID error: DEADLINE",
            "container-status-failed c:16f838fe6438 Deadline",
        ),
        (
            r#""ContainerStatus return error" containerID="CID" err="DEADLINE""#,
            "container-status-failed c:16f838fe6438 Deadline",
        ),
        (
            r#"getPodContainerStatuses for pod "payments-db-node-1_prod(de17858b93b5459e01e9992c835cd6a8)" failed: DEADLINE"#,
            "pod-containers-status-failed prod/payments-db-node-1 de17858b93b5459e01e9992c835cd6a8 Deadline",
        ),
        (
            r#""getPodContainerStatuses for pod failed" err="DEADLINE" pod="prod/payments-db-node-1""#,
            "pod-containers-status-failed prod/payments-db-node-1 Deadline",
        ),
    ]);
}

#[test]
fn calls_on_start_and_exec() {
    check(&[
        (
            "RunPodSandbox from runtime service failed: DEADLINE",
            "run-sandbox-failed Deadline",
        ),
        (
            r#""RunPodSandbox from runtime service failed" err="DEADLINE""#,
            "run-sandbox-failed Deadline",
        ),
        (
            r#"createPodSandbox for pod "web-2_default(<UID>)" failed: DEADLINE"#,
            "run-sandbox-failed default/web-2 uid Deadline",
        ),
        (
            r#"CreatePodSandbox for pod "web-2_default(<UID>)" failed: DEADLINE"#,
            "run-sandbox-failed default/web-2 uid Deadline",
        ),
        (
            r#""CreatePodSandbox for pod failed" err="DEADLINE" pod="default/web-2""#,
            "run-sandbox-failed default/web-2 Deadline",
        ),
        (
            r#""Failed to create sandbox for pod" err="DEADLINE" pod="default/web-2""#,
            "run-sandbox-failed default/web-2 Deadline",
        ),
        (
            r#"CreateContainer in sandbox "SID" from runtime service failed: DEADLINE"#,
            "create-container-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#""CreateContainer in sandbox from runtime service failed" err="DEADLINE" podSandboxID="SID""#,
            "create-container-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#"StartContainer "CID" from runtime service failed: DEADLINE"#,
            "start-container-failed c:16f838fe6438 Deadline",
        ),
        (
            r#""StartContainer from runtime service failed" err="DEADLINE" containerID="CID""#,
            "start-container-failed c:16f838fe6438 Deadline",
        ),
        (
            "ExecSync CID '/bin/sh -c true' from runtime service failed: DEADLINE",
            "exec-sync-failed c:16f838fe6438 '/bin/sh -c true' Deadline",
        ),
        (
            r#"ExecSync "CID" '/bin/true' from runtime service failed: DEADLINE"#,
            "exec-sync-failed c:16f838fe6438 '/bin/true' Deadline",
        ),
        (
            r#""ExecSync cmd from runtime service failed" err="command \"/bin/true\" timed out" containerID="CID" cmd=[/bin/sh -c true]"#,
            "exec-sync-failed c:16f838fe6438 '[/bin/sh -c true]' Deadline",
        ),
        (
            r#""ExecSync cmd from runtime service failed" err="DEADLINE" containerID="CID" cmd=["/bin/sh","-c","true"]"#,
            r#"exec-sync-failed c:16f838fe6438 '["/bin/sh","-c","true"]' Deadline"#,
        ),
        (
            r#"UpdateContainerResources "CID" from runtime service failed: DEADLINE"#,
            "update-resources-failed c:16f838fe6438 Deadline",
        ),
        (
            r#""UpdateContainerResources from runtime service failed" err="DEADLINE" containerID="CID""#,
            "update-resources-failed c:16f838fe6438 Deadline",
        ),
        (
            "ListContainerStats with filter &ContainerStatsFilter{Id:,} from runtime service failed: DEADLINE",
            "list-stats-failed Deadline",
        ),
        (
            r#""ListContainerStats with filter from runtime service failed" err="DEADLINE" filter="&ContainerStatsFilter{Id:,}""#,
            "list-stats-failed Deadline",
        ),
        (
            r#""ListPodSandboxStats with filter from runtime service failed" err="DEADLINE""#,
            "list-stats-failed Deadline",
        ),
    ]);
}

#[test]
fn calls_on_stop_and_removal() {
    check(&[
        (
            r#"StopPodSandbox "SID" from runtime service failed: DEADLINE"#,
            "stop-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#""StopPodSandbox from runtime service failed" err="DEADLINE" podSandboxID="SID""#,
            "stop-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#"Failed to stop sandbox {"docker" "SID"}"#,
            "stop-sandbox-failed s:b15929dfcea1",
        ),
        (
            r#""Failed to stop sandbox" podSandboxID={Type:docker ID:SID}"#,
            "stop-sandbox-failed s:b15929dfcea1",
        ),
        (
            r#""Failed to stop sandbox" podSandboxID={"Type":"containerd","ID":"SID"}"#,
            "stop-sandbox-failed s:b15929dfcea1",
        ),
        (
            r#"Failed to stop sandbox "SID" before removing: DEADLINE"#,
            "stop-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#""Failed to stop sandbox before removing" err="DEADLINE" sandboxID="SID""#,
            "stop-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#"Failed to stop sandbox "SID": operation timeout: context deadline exceeded"#,
            "stop-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#"RemovePodSandbox "SID" from runtime service failed: DEADLINE"#,
            "remove-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#""RemovePodSandbox from runtime service failed" err="DEADLINE" podSandboxID="SID""#,
            "remove-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#"Failed to remove sandbox "SID": DEADLINE"#,
            "remove-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#""Failed to remove sandbox" err="DEADLINE" sandboxID="SID""#,
            "remove-sandbox-failed s:b15929dfcea1 Deadline",
        ),
        (
            r#"StopContainer "CID" from runtime service failed: DEADLINE"#,
            "stop-container-failed c:16f838fe6438 Deadline",
        ),
        (
            r#""StopContainer from runtime service failed" err="rpc error: code = Unknown desc = an error occurs during waiting for container \"CID\" to be killed: wait container \"CID\": context deadline exceeded" containerID="CID""#,
            "stop-container-failed c:16f838fe6438 Deadline",
        ),
        (
            r#"Container "docker://CID" termination failed with gracePeriod 30: DEADLINE"#,
            "stop-container-failed c:16f838fe6438 Deadline",
        ),
        (
            r#""Container termination failed with gracePeriod" err="DEADLINE" pod="default/web-2" podUID=<UID> containerName="app" containerID="docker://CID" gracePeriod=30"#,
            "stop-container-failed default/web-2 uid c:16f838fe6438 Deadline",
        ),
        (
            r#"killContainer "app"(id={"docker" "CID"}) for pod "web-2_default(<UID>)" failed: DEADLINE"#,
            "stop-container-failed default/web-2 uid c:16f838fe6438 Deadline",
        ),
        (
            r#""Kill container failed" err="DEADLINE" pod="default/web-2" podUID="<UID>" containerName="app" containerID={"Type":"containerd","ID":"CID"}"#,
            "stop-container-failed default/web-2 uid c:16f838fe6438 Deadline",
        ),
        (
            r#""killContainer for pod failed" err="DEADLINE" containerName="app" containerID={Type:docker ID:CID} pod="default/web-2""#,
            "stop-container-failed default/web-2 c:16f838fe6438 Deadline",
        ),
        (
            r#"RemoveContainer "CID" from runtime service failed: rpc error: code = Unknown desc = failed to remove container "CID": Error response from daemon: container CID: driver "overlay2" failed to remove root filesystem: unlinkat /var/lib/docker/overlay2/x/merged: device or resource busy"#,
            "remove-container-failed c:16f838fe6438 Busy",
        ),
        (
            r#""RemoveContainer from runtime service failed" err="DEADLINE" containerID="CID""#,
            "remove-container-failed c:16f838fe6438 Deadline",
        ),
        (
            r#"Failed to remove container "CID": rpc error: code = Unknown desc = removal of container CID is already in progress"#,
            "remove-container-failed c:16f838fe6438 Busy",
        ),
        (
            r#""Failed to remove container" err="DEADLINE" containerID="CID""#,
            "remove-container-failed c:16f838fe6438 Deadline",
        ),
        (
            r#"killPodWithSyncResult failed: failed to "KillPodSandbox" for "<UID>" with KillPodSandboxError: "DEADLINE""#,
            "kill-pod-failed uid Deadline",
        ),
        (
            r#""killPodWithSyncResult failed" err="failed to \"KillPodSandbox\" for \"<UID>\" with KillPodSandboxError: \"DEADLINE\"""#,
            "kill-pod-failed uid Deadline",
        ),
        (
            r#"preStop hook for container "app" failed: command '/bin/x' exited with 1"#,
            "prestop-hook Other",
        ),
        (
            r#"preStop hook for container "app" did not complete in 30 seconds"#,
            "prestop-hook",
        ),
        (
            r#""PreStop hook failed" err="x" pod="default/web-2" podUID=<UID> containerName="app" containerID="docker://CID""#,
            "prestop-hook default/web-2 uid c:16f838fe6438 Other",
        ),
        (
            r#""PreStop hook not completed in grace period" pod="default/web-2" gracePeriod=30"#,
            "prestop-hook default/web-2",
        ),
        (
            r#"Failed to stop container "CID": DEADLINE"#,
            "gc-stop-container-failed c:16f838fe6438 Deadline",
        ),
        (
            r#""Failed to stop container" err="DEADLINE" containerID="CID""#,
            "gc-stop-container-failed c:16f838fe6438 Deadline",
        ),
        (
            "Container garbage collection failed: DEADLINE",
            "container-gc-failed Deadline",
        ),
        (
            r#""Container garbage collection failed" err="DEADLINE""#,
            "container-gc-failed Deadline",
        ),
    ]);
}

#[test]
fn node_status_network_and_pods() {
    check(&[
        (
            "Container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized",
            "cni-not-ready 'NetworkPluginNotReady' Other",
        ),
        (
            r#""Container runtime network not ready" networkReady="NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized""#,
            "cni-not-ready 'NetworkPluginNotReady' Other",
        ),
        (
            "Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2023-03-14 09:26:53.1 +0000 UTC m=+12.5 LastTransitionTime:2023-03-14 09:26:53.1 +0000 UTC m=+12.5 Reason:KubeletNotReady Message:[container runtime is down, PLEG is not healthy: pleg was last seen active 3m45.2s ago; threshold is 3m0s]}",
            "node-not-ready 'KubeletNotReady' Other; runtime-down in:node-not-ready; pleg-stale lag:225200ms limit:180s in:node-not-ready",
        ),
        (
            r#""Node became not ready" node="worker-3" condition={Type:Ready Status:False LastHeartbeatTime:2023-03-14 09:26:53.1 +0000 UTC m=+12.5 LastTransitionTime:2023-03-14 09:26:53.1 +0000 UTC m=+12.5 Reason:KubeletNotReady Message:PLEG is not healthy: pleg was last seen active 3m45.2s ago; threshold is 3m0s}"#,
            "node-not-ready node:worker-3 'KubeletNotReady' Other; pleg-stale lag:225200ms limit:180s in:node-not-ready",
        ),
        (
            r#""Node became not ready" node="worker-3" condition={"type":"Ready","status":"False","lastHeartbeatTime":"2023-03-14T09:26:53Z","lastTransitionTime":"2023-03-14T09:26:53Z","reason":"KubeletNotReady","message":"container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"}"#,
            "node-not-ready node:worker-3 'KubeletNotReady' Other; cni-not-ready 'NetworkPluginNotReady' Other in:node-not-ready",
        ),
        (
            "Recording NodeNotReady event message for node worker-3",
            "recording-event node:worker-3 'NodeNotReady'",
        ),
        (
            r#""Recording event message for node" node="worker-3" event="NodeNotReady""#,
            "recording-event node:worker-3 'NodeNotReady'",
        ),
        (
            "Recording NodeReady event message for node worker-3",
            "node-ready node:worker-3 'NodeReady'",
        ),
        (
            r#""Recording event message for node" node="worker-3" event="NodeReady""#,
            "node-ready node:worker-3 'NodeReady'",
        ),
        (
            r#""Fast updating node status as it just became ready""#,
            "node-ready",
        ),
        (
            r#"Error updating node status, will retry: error getting node "worker-3": Get https://10.0.0.1:6443/api/v1/nodes/worker-3: dial tcp 10.0.0.1:6443: connect: connection refused"#,
            "node-status-update-failed Other",
        ),
        (
            r#""Error updating node status, will retry" err="x""#,
            "node-status-update-failed Other",
        ),
        (
            "Unable to update node status: update node status exceeds retry count",
            "node-status-update-failed Other",
        ),
        (
            r#""Unable to update node status" err="update node status exceeds retry count""#,
            "node-status-update-failed Other",
        ),
        (
            "failed to ensure lease exists, will retry in 7s, error: x",
            "lease-update-failed Other",
        ),
        (
            "failed to update lease, error: x",
            "lease-update-failed Other",
        ),
        (
            r#""Failed to ensure lease exists, will retry" err="x" interval="7s""#,
            "lease-update-failed Other",
        ),
        (
            r#""Failed to update lease" err="x""#,
            "lease-update-failed Other",
        ),
        (
            r#"Error syncing pod <UID> ("web-2_default(<UID>)"), skipping: error killing pod: failed to "KillPodSandbox" for "<UID>" with KillPodSandboxError: "DEADLINE""#,
            "pod-sync-error default/web-2 uid Deadline",
        ),
        (
            r#""Error syncing pod, skipping" err="failed to \"StartContainer\" for \"app\" with RunContainerError: \"DEADLINE\"" pod="default/web-2" podUID=<UID>"#,
            "pod-sync-error default/web-2 uid Deadline",
        ),
        (
            r#""Error syncing pod, skipping" err="x" pod="default/web-2" podUID="<UID>""#,
            "pod-sync-error default/web-2 uid Other",
        ),
        (
            r#"SyncLoop (DELETE, "api"): "web-2_default(<UID>)""#,
            "pod-removed default/web-2 uid 'DELETE'",
        ),
        (
            r#"SyncLoop (REMOVE, "api"): "web-2_default(<UID>), db_prod(de17858b93b5459e01e9992c835cd6a8)""#,
            "pod-removed default/web-2 uid 'REMOVE'; pod-removed prod/db de17858b93b5459e01e9992c835cd6a8 'REMOVE'",
        ),
        (
            r#""SyncLoop DELETE" source="api" pods=[default/web-2 prod/db]"#,
            "pod-removed default/web-2 'DELETE'; pod-removed prod/db 'DELETE'",
        ),
        (
            r#""SyncLoop REMOVE" source="api" pods="[default/web-2]""#,
            "pod-removed default/web-2 'REMOVE'",
        ),
        (
            r#""SyncLoop REMOVE" source="api" pods=["default/web-2","prod/db"]"#,
            "pod-removed default/web-2 'REMOVE'; pod-removed prod/db 'REMOVE'",
        ),
        (r#"SyncLoop (ADD, "api"): "web-2_default(<UID>)""#, ""),
        (
            "eviction manager: failed to get summary stats: DEADLINE",
            "eviction-summary-failed Deadline",
        ),
        (
            "eviction manager: failed to get get summary stats: DEADLINE",
            "eviction-summary-failed Deadline",
        ),
        (
            r#""Eviction manager: failed to get summary stats" err="DEADLINE""#,
            "eviction-summary-failed Deadline",
        ),
        (
            "Got sys oom event: &{4711 java 2026-11-30 03:00:00.39 +0000 UTC m=+9.1 / /}",
            "system-oom",
        ),
        (
            r#""Got sys oom event" event={"Pid":4711,"ProcessName":"java"}"#,
            "system-oom",
        ),
        (
            "Connecting to docker on unix:///var/run/docker.sock",
            "dockershim-used",
        ),
    ]);
}

/// Messages of a healthy log are read after trouble only; so each stands behind a line of trouble.
#[test]
fn context_after_trouble() {
    for (message, expected) in [
        (
            "Successfully registered node worker-3",
            "node-registered node:worker-3",
        ),
        (
            r#""Successfully registered node" node="worker-3""#,
            "node-registered node:worker-3",
        ),
        ("GenericPLEG: Relisting", "pleg-relisting"),
        (r#""GenericPLEG: Relisting""#, "pleg-relisting"),
        (
            "GenericPLEG: <UID>/CID: running -> exited",
            "pleg-state-change uid c:16f838fe6438 'running -> exited'",
        ),
        (
            r#""GenericPLEG" podUID=<UID> containerID="CID" oldState=running newState=exited"#,
            "pleg-state-change uid c:16f838fe6438 'running -> exited'",
        ),
        (
            r#""GenericPLEG" podUID="<UID>" containerID="CID" oldState="running" newState="exited""#,
            "pleg-state-change uid c:16f838fe6438 'running -> exited'",
        ),
        (
            r#""Generic (PLEG): container finished" podID=<UID> containerID="CID" exitCode=0"#,
            "pleg-container-finished uid c:16f838fe6438",
        ),
        (
            r#"SyncLoop (PLEG): "web-2_default(<UID>)", event: &pleg.PodLifecycleEvent{ID:"<UID>", Type:"ContainerDied", Data:"CID"}"#,
            "pleg-event default/web-2 uid c:16f838fe6438 'ContainerDied'",
        ),
        (
            r#""SyncLoop (PLEG): event for pod" pod="default/web-2" event=&{ID:<UID> Type:ContainerStarted Data:CID}"#,
            "pleg-event default/web-2 uid c:16f838fe6438 'ContainerStarted'",
        ),
        (
            r#""SyncLoop (PLEG): event for pod" pod="default/web-2" event={"ID":"<UID>","Type":"ContainerDied","Data":"CID"}"#,
            "pleg-event default/web-2 uid c:16f838fe6438 'ContainerDied'",
        ),
    ] {
        let log = spelled(&format!(
            "{KLOG}GenericPLEG: Unable to retrieve pods: x\n{KLOG}{message}"
        ));
        assert_eq!(
            shown_all(&read(log).0),
            format!("relist-failed Other; {expected}"),
            "{message}"
        );
    }
}

#[test]
fn a_fatal_line_ends_the_kubelet() {
    let line = "F0314 09:26:53.589793    2261 kubelet.go:1368] Failed to start ContainerManager failed to build map of initial containers from runtime: no PodsandBox found with Id 'x'";
    for envelope in [
        "",
        "Mar 14 09:26:53 worker-3 kubelet[2261]: ",
        "2023-03-14T09:26:53.5Z stderr F ",
    ] {
        let (events, _) = read(format!("{envelope}{line}"));
        assert_eq!(shown_all(&events), "kubelet-fatal NotFound", "{envelope}");
    }
}

#[test]
fn a_kubelet_that_cannot_start_its_container_manager_says_why() {
    check(&[
        (
            r#""Failed to start ContainerManager" err="failed to build map of initial containers from runtime: no PodsandBox found with Id 'x'""#,
            "container-manager-failed NotFound",
        ),
        (
            "Failed to start ContainerManager failed to build map of initial containers from runtime: no PodsandBox found with Id 'x'",
            "container-manager-failed NotFound",
        ),
    ]);
}

#[test]
fn iptables_lock_is_known_in_any_message() {
    check(&[
        (
            "Failed to execute iptables-restore: exit status 4 (Another app is currently holding the xtables lock. Perhaps you want to use the -w option?)",
            "xtables-locked Other",
        ),
        (
            r#""Failed to ensure that iptables hint chain" err="exit status 4: Another app is currently holding the xtables lock.""#,
            "xtables-locked Other",
        ),
        // A call that is known keeps its own name.
        (
            "RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = exit status 4: Another app is currently holding the xtables lock.",
            "run-sandbox-failed Other",
        ),
    ]);
}

#[test]
fn what_sets_the_clock_is_heard_though_it_is_not_the_kubelet() {
    let stale = format!(
        "Mar 14 09:26:52 worker-3 kubelet[2261]: {KLOG}Version from runtime service failed: DEADLINE"
    );
    for (line, expected) in [
        (
            "Mar 14 09:26:53 worker-3 systemd[1]: Time has been changed",
            "clock-stepped",
        ),
        (
            "Mar 14 09:26:53 worker-3 ntpd[811]: 0.0.0.0 061c 0c clock_step +28799.938451 s",
            "clock-stepped '+28799.938451 s'",
        ),
        (
            "2023-03-14T09:26:53.000000+00:00 worker-3 chronyd[702]: System clock was stepped by -3600.000012 seconds",
            "clock-stepped '-3600.000012 s'",
        ),
        (
            r#"{"__REALTIME_TIMESTAMP":"1678786013000000","_HOSTNAME":"worker-3","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"Time has been changed"}"#,
            "clock-stepped",
        ),
        (
            "Mar 14 09:26:53 worker-3 app[9]: Time has been changed by me",
            "",
        ),
        (
            "Mar 14 09:26:53 worker-3 kubelet[2261]: Time has been changed",
            "",
        ),
    ] {
        let (events, told) = read(spelled(&format!("{stale}\n{line}")));
        let first = "runtime-version-failed Deadline";
        let expected = match expected {
            "" => first.to_owned(),
            more => format!("{first}; {more}"),
        };
        assert_eq!(shown_all(&events), expected, "{line}");
        assert!(events.iter().all(|event| event.at.is_some()), "{line}");
        assert_eq!(told.lines, 2);
    }
}

#[test]
fn the_kernel_and_systemd_are_heard_in_a_log_of_all_programs() {
    let stale = format!(
        "Mar 14 09:26:52 worker-3 kubelet[2261]: {KLOG}Version from runtime service failed: DEADLINE"
    );
    for (line, expected) in [
        (
            "Mar 14 09:26:53 worker-3 kernel: Out of memory: Killed process 1201 (dockerd) total-vm:3kB",
            "out-of-memory 'dockerd'",
        ),
        (
            "Mar 14 09:26:53 worker-3 kernel: [88411.204117] INFO: task jbd2/sda1-8:412 blocked for more than 120 seconds.",
            "hung-task 'jbd2/sda1-8'",
        ),
        (
            "2023-03-14T09:26:53.000000+00:00 worker-3 kernel: nfs: server 10.0.0.5 not responding, still trying",
            "server-silent '10.0.0.5'",
        ),
        (
            "Mar 14 09:26:53 worker-3 kernel: nfs: server 10.0.0.5 OK",
            "server-answers '10.0.0.5'",
        ),
        (
            "Mar 14 09:26:53 worker-3 kernel: unregister_netdevice: waiting for lo to become free. Usage count = 1",
            "netdevice-held 'lo'",
        ),
        (
            "Mar 14 09:26:53 worker-3 kernel: Buffer I/O error on dev sdb1, logical block 7, lost sync page write",
            "disk-error 'sdb1'",
        ),
        (
            "Mar 14 09:26:53 worker-3 systemd[1]: containerd.service: Main process exited, code=killed, status=9/KILL",
            "unit-ended 'containerd.service' Other",
        ),
        (
            r#"{"__REALTIME_TIMESTAMP":"1678786013000000","_HOSTNAME":"worker-3","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"docker.service: Main process exited, code=exited, status=2/INVALIDARGUMENT"}"#,
            "unit-ended 'docker.service' Other",
        ),
        // The same words from others, and other words.
        (
            "Mar 14 09:26:53 worker-3 app[9]: Out of memory: Killed process 1201 (dockerd)",
            "",
        ),
        (
            "Mar 14 09:26:53 worker-3 kernel: Memory cgroup out of memory: Killed process 1201 (java)",
            "",
        ),
        (
            "Mar 14 09:26:53 worker-3 systemd[1]: backup.service: Main process exited, code=exited, status=1/FAILURE",
            "",
        ),
    ] {
        let (events, told) = read(spelled(&format!("{stale}\n{line}")));
        let first = "runtime-version-failed Deadline";
        let expected = match expected {
            "" => first.to_owned(),
            more => format!("{first}; {more}"),
        };
        assert_eq!(shown_all(&events), expected, "{line}");
        assert!(events.iter().all(|event| event.at.is_some()), "{line}");
        assert_eq!(told.lines, 2);
    }
}

#[test]
fn a_kubelet_that_ends_with_an_error_is_heard_without_a_fatal_line() {
    check(&[
        (
            r#""command failed" err="failed to run Kubelet: running with swap on is not supported""#,
            "kubelet-fatal Other",
        ),
        (
            r#""Failed to run kubelet" err="failed to run Kubelet: misconfiguration""#,
            "kubelet-fatal Other",
        ),
    ]);
}
