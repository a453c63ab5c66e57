//! What to do about what could not be removed: the looks at the reason come first, since what failed fails again as long as
//! that is there.

use crate::evidence::Evidence;
use crate::finding::{Remedy, Risk};
use crate::node::mount_holder::Place;
use crate::rules::remedies::{docker_command, remedy};
use crate::runtime::Container;
use crate::syntax::id::ContainerId;

/// The looks at the mount, which need no Docker, and at the layer, which do; for where the reason is not known.
pub(super) fn looks(evidence: &Evidence, dead: &[&Container]) -> Option<[Remedy; 2]> {
    let short = dead.first()?.id.short();
    let docker = docker_command(evidence);
    Some([
        see_mounts(
            "If it says that something is still mounted: see which process holds the mount",
            &patterns(dead, short),
        ),
        see_immutable(
            "If it says that an operation is not permitted: look for an immutable file in its layer",
            &format!("$({docker} inspect -f '{{{{.GraphDriver.Data.UpperDir}}}}' {short})"),
        ),
    ])
}

fn see_mounts(title: &str, patterns: &str) -> Remedy {
    remedy(
        title,
        Risk::Safe,
        format!("grep -l {patterns} /proc/[0-9]*/mountinfo"),
        "nothing; restart what holds it, then remove the container again",
    )
}

fn see_immutable(title: &str, folder: &str) -> Remedy {
    remedy(
        title,
        Risk::Safe,
        format!("lsattr -R {folder} | grep -e '-i-'"),
        "nothing; chattr -i takes the mark away",
    )
}

/// Returns the look at the reason that the removal itself gave, of the first of these containers.
pub(super) fn look_by(evidence: &Evidence, reason: &str, ids: &[&ContainerId]) -> Option<Remedy> {
    let id = ids.first()?.short();
    if reason.contains("resource busy") {
        let layer = layer(reason).map_or_else(String::new, |layer| format!(" -e {layer}"));
        return Some(see_mounts(
            "See which process holds the mount: until it lets go, no removal succeeds",
            &format!("-e {id}{layer}"),
        ));
    }
    let folder = layer(reason).map(|layer| format!("/var/lib/docker/overlay2/{layer}/diff"));
    let asked = || {
        let docker = docker_command(evidence);
        format!("$({docker} inspect -f '{{{{.GraphDriver.Data.UpperDir}}}}' {id})")
    };
    reason.contains("operation not permitted").then(|| {
        see_immutable(
            "See which file in its layer is immutable: until it is not, no removal succeeds",
            &folder.unwrap_or_else(asked),
        )
    })
}

/// Returns the name of the layer that an error names: `unlinkat /var/lib/docker/overlay2/aa11/merged: …`. It goes into a
/// command: nothing but a name of letters and digits is one.
fn layer(reason: &str) -> Option<&str> {
    let (_, rest) = reason.rsplit_once("/overlay2/")?;
    let name = rest.split(['/', ':']).next()?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (plain && !name.is_empty()).then_some(name)
}

/// Returns what to look for in a `mountinfo`: the first one's id, and its layer's name.
fn patterns(dead: &[&Container], short: &str) -> String {
    let inspected = dead.first().and_then(|first| first.inspected.as_ref());
    let layers = inspected.into_iter().flat_map(|it| &it.layers);
    let names = layers.filter_map(|place| match place {
        Place::Layer(name) => Some(format!(" -e {name}")),
        Place::Container(_) => None,
    });
    format!("-e {short}{}", names.collect::<String>())
}
