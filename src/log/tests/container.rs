//! A container's log, through a Docker that is played by a thread.

use super::{directory, gaps, outcome_in, stale};
use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixListener,
    path::Path,
    thread,
};

/// Plays Docker: answers each request whose line holds one of the words with what follows the word; others never.
fn docker(root: &Path, answers: Vec<(&'static str, Vec<u8>)>) {
    let listener = UnixListener::bind(root.join("docker.sock")).unwrap();
    thread::spawn(move || {
        let mut unanswered = Vec::new();
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if connection.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                request.push(byte[0]);
            }
            let request = String::from_utf8(request).unwrap();
            match answers
                .iter()
                .find(|(word, _)| request.lines().next().is_some_and(|l| l.contains(word)))
            {
                Some((_, answer)) => connection.write_all(answer).unwrap(),
                None => unanswered.push(connection),
            }
        }
    });
}

fn http(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Returns a list with the container `kubelet`, as Docker 20.10 answers it.
fn list() -> Vec<u8> {
    let id = "9f2c".repeat(16);
    http(
        "application/json",
        format!(
            r#"[{{"Id":"{id}","Names":["/kubelet"],"Image":"rancher/hyperkube:v1.20.15-rancher2","ImageID":"sha256:{id}","Command":"/opt/rke-tools/entrypoint.sh kubelet","Created":1796000000,"Ports":[],"Labels":{{}},"State":"running","Status":"Up 3 hours","HostConfig":{{"NetworkMode":"host"}},"Mounts":[]}}]"#
        )
        .as_bytes(),
    )
}

/// Returns a container's log in Docker's framing of the two streams.
fn stream(lines: &[String]) -> Vec<u8> {
    let mut body = Vec::new();
    for line in lines {
        body.extend([2, 0, 0, 0]);
        body.extend(u32::try_from(line.len()).unwrap().to_be_bytes());
        body.extend(line.as_bytes());
    }
    http("application/vnd.docker.raw-stream", &body)
}

#[test]
fn a_container_named_kubelet_is_read_where_there_is_no_journal() {
    let (_dir, root) = directory(&[("var/log/messages", stale(30, "10:00:00"))]);
    let line = format!("2026-11-30T11:00:00.000000000Z {}", stale(30, "11:00:00"));
    docker(
        &root,
        vec![
            ("/containers/json", list()),
            ("/containers/kubelet/logs", stream(&[line])),
        ],
    );
    let (reading, lines) = outcome_in(&root, &[]).unwrap();
    assert_eq!(lines, ["container kubelet:- 30 11:00"]);
    assert_eq!(reading.sources.len(), 1);
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
    let (named, lines) = outcome_in(&root, &["--log-container", "kubelet"]).unwrap();
    assert_eq!(lines, ["container kubelet:- 30 11:00"]);
    assert!(!named.sources[0].picked);
}

#[test]
fn a_docker_that_does_not_answer_is_a_note_where_another_log_is_found() {
    let (_dir, root) = directory(&[("var/log/messages", stale(30, "10:00:00"))]);
    docker(&root, vec![]);
    let (reading, lines) = outcome_in(&root, &[]).unwrap();
    assert_eq!(lines, ["messages:1 30 10:00"]);
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
    assert!(
        reading.notes[0].starts_with("container kubelet: Docker did not answer within "),
        "{:?}",
        reading.notes
    );
}

#[test]
fn a_containers_log_that_never_comes_is_a_gap() {
    let (_dir, root) = directory(&[]);
    docker(&root, vec![("/containers/json", list())]);
    let gaps = gaps(&outcome_in(&root, &["--log-timeout", "500ms"]).unwrap().0);
    assert!(
        gaps[0].starts_with("container kubelet: Docker did not answer within"),
        "{gaps:?}"
    );
}

#[test]
fn a_named_container_that_is_not_there_is_an_error_that_names_the_cure() {
    let (_dir, root) = directory(&[]);
    let words = format!(
        "{:#}",
        outcome_in(&root, &["--log-container", "kubelet"]).unwrap_err()
    );
    assert!(
        words.contains("can't read container kubelet: Docker does not listen at unix://"),
        "{words}"
    );
    let none = b"{\"message\":\"No such container: kubelet\"}";
    let gone = String::from_utf8(http("application/json", none))
        .unwrap()
        .replace("200 OK", "404 Not Found");
    docker(&root, vec![("/containers/kubelet/logs", gone.into_bytes())]);
    let words = format!(
        "{:#}",
        outcome_in(&root, &["--log-container", "kubelet"]).unwrap_err()
    );
    assert_eq!(
        words,
        "can't read container kubelet: there is no such container: docker ps -a lists their names"
    );
}
