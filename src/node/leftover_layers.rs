//! What is left of a container's layer: the file system's own word on whether its removal came to its end.
//!
//! moby's overlay2 driver writes `link` into the folder of each layer as it makes it, and removes the folder with all
//! that is in it, going on past what does not let itself be removed (daemon/graphdriver/overlay2; Go's `os.RemoveAll`).
//! A folder without `link` is one whose removal began and did not end.

/// What every layer of overlay2 has for as long as nobody removes it.
const LINK: &str = "link";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverLayer {
    pub folder: String,
    pub names: Vec<String>,
}

impl LeftoverLayer {
    pub fn is_half_removed(&self) -> bool {
        !self.names.iter().any(|name| name == LINK)
    }

    /// The folder of the layer to which overlay2's `UpperDir` belongs.
    pub fn folder_of(upper: &str) -> Option<&str> {
        upper
            .strip_suffix("/diff")
            .filter(|folder| folder.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::LeftoverLayer;

    #[test]
    fn a_layer_is_half_removed_once_its_link_is_gone() {
        let of = |names: &[&str]| LeftoverLayer {
            folder: "/var/lib/docker/overlay2/x".to_owned(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
        };
        // As a stopped container's layer is, and one with an immutable file in it after `docker rm`.
        assert!(!of(&["diff", "link", "lower", "work"]).is_half_removed());
        assert!(of(&["diff"]).is_half_removed());
        // What is mounted elsewhere keeps only the mount's point.
        assert!(of(&["merged"]).is_half_removed());
        assert!(of(&[]).is_half_removed());
    }

    #[test]
    fn a_layers_folder_is_above_its_upper_one() {
        let folder = LeftoverLayer::folder_of("/var/lib/docker/overlay2/x/diff");
        assert_eq!(folder, Some("/var/lib/docker/overlay2/x"));
        for odd in ["", "/diff/x", "x/diff", "/var/lib/docker/zfs/graph/x"] {
            assert_eq!(LeftoverLayer::folder_of(odd), None, "{odd}");
        }
    }
}
