//! bollard over our own connections: what it sends goes out unversioned, on a connection of its own.

use super::Outcome;
use crate::io::http::{self, Peer};
use bollard::{API_DEFAULT_VERSION, BollardRequest, errors::Error};
use hyper::{StatusCode, Uri};
use std::{io, path::Path, sync::Arc};
use tokio::time::Instant;

/// bollard counts whole seconds, and stops at the answer's head; the deadlines are ours.
const NO_LIMIT: u64 = 24 * 3600;

/// Returns bollard for the daemon behind `socket`; its calls wait for a full listen queue until `deadline`.
pub(super) fn bollard(socket: &Path, deadline: Instant) -> Result<bollard::Docker, Error> {
    let socket: Arc<Path> = socket.into();
    bollard::Docker::connect_with_custom_transport(
        move |mut request: BollardRequest| {
            let socket = Arc::clone(&socket);
            async move {
                *request.uri_mut() = unversioned(request.uri())?;
                let sent = http::send(Peer::Unix(&socket), deadline, request).await;
                sent.map_err(|failure| io::Error::other(failure).into())
            }
        },
        Some("http://docker"),
        NO_LIMIT,
        API_DEFAULT_VERSION,
    )
}

/// Returns what an error of bollard's means, and the HTTP status if there was an answer.
pub(super) fn failure(error: &Error) -> (http::Failure, Option<u16>) {
    match error {
        Error::DockerResponseServerError {
            status_code,
            message,
        } => {
            let status =
                StatusCode::from_u16(*status_code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (
                http::unhappy(status, message.as_bytes()),
                Some(*status_code),
            )
        }
        Error::HyperResponseError { err } => (http::of_hyper(err), None),
        Error::IOError { err } => {
            let inner = err
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<http::Failure>());
            let other = || http::Failure::new(Outcome::Error, err.to_string());
            (inner.cloned().unwrap_or_else(other), None)
        }
        other => (http::Failure::new(Outcome::Error, other.to_string()), None),
    }
}

/// Returns the path and query of `uri` without the API's version in front.
fn unversioned(uri: &Uri) -> Result<Uri, Error> {
    let whole = uri.path_and_query().map_or("/", |path| path.as_str());
    let rest = whole
        .strip_prefix("/v")
        .and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    Ok(rest.unwrap_or(whole).parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_lose_their_version_and_nothing_else() {
        for (uri, path) in [
            (
                "http://docker/v1.53/containers/b1?v=false&force=false",
                "/containers/b1?v=false&force=false",
            ),
            ("http://docker/v1.53/_ping", "/_ping"),
            ("http://docker/containers/v1", "/containers/v1"),
        ] {
            assert_eq!(
                unversioned(&uri.parse().unwrap()).unwrap().to_string(),
                path,
                "{uri}"
            );
        }
    }
}
