//! Mirrors of registries, as the nodes of OpenShift are configured with them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};
use engine::Image;
use manifest::objects;
use serde_json::Value;

use crate::admission::Identity;
use crate::field::{items, text};
use crate::files;
use crate::foreign::{masked, one_line};
use crate::notes::Notes;

/// Which of the images of a source are in a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    WithDigest,
    WithTag,
}

/// The mirrors of a registry, or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirror {
    /// What names of images begin with: a host, or a host and a path. `*.` in front of a host is any host below it.
    from: String,
    /// What they begin with in each mirror.
    to: Vec<String>,
    which: Which,
    /// Whether the source itself is never contacted.
    is_closed: bool,
}

/// `--mirror`.
impl FromStr for Mirror {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((from, to)) if has_scheme(&part(from)) || has_scheme(&part(to)) => {
                Err("remove http:// or https://: registries are reached as sources.yml says")
            }
            Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok(Self {
                from: part(from),
                to: vec![part(to)],
                which: Which::All,
                is_closed: false,
            }),
            _ => Err("the format is, for example, quay.io=mirror.example.com/quay"),
        }
    }
}

/// The kinds that configure mirrors: their group, where the list is, and for which images.
const KINDS: [(&str, &str, &str, Which); 3] = [
    (
        "config.openshift.io",
        "ImageDigestMirrorSet",
        "/spec/imageDigestMirrors",
        Which::WithDigest,
    ),
    (
        "config.openshift.io",
        "ImageTagMirrorSet",
        "/spec/imageTagMirrors",
        Which::WithTag,
    ),
    (
        "operator.openshift.io",
        "ImageContentSourcePolicy",
        "/spec/repositoryDigestMirrors",
        Which::WithDigest,
    ),
];

/// The mirrors of a run.
#[derive(Debug, Default)]
pub(crate) struct Mirrors {
    mirrors: Vec<Mirror>,
}

/// A part of the name of an image, as names of images have it.
fn part(text: &str) -> String {
    let text = text.strip_prefix("docker://").unwrap_or(text);
    text.trim_end_matches('/').to_owned()
}

/// Names of images have none, and the nodes reject it.
///
/// MIRRORS: containers/image `pkg/sysregistriesv2/system_registries_v2.go`, `parseLocation`.
fn has_scheme(part: &str) -> bool {
    part.contains("://")
}

impl Which {
    fn has(self, image: &Image) -> bool {
        match self {
            Self::All => true,
            Self::WithDigest => image.has_digest(),
            Self::WithTag => !image.has_digest(),
        }
    }
}

impl Mirrors {
    /// Those of the command line, which come first, and those of a file.
    pub(crate) fn read(named: &[Mirror], files: &[PathBuf], notes: &mut Notes) -> Result<Self> {
        let mut mirrors = Self {
            mirrors: named.to_vec(),
        };
        for file in files {
            mirrors.read_file(file, notes)?;
        }
        Ok(mirrors)
    }

    fn read_file(&mut self, path: &Path, notes: &mut Notes) -> Result<()> {
        let name = one_line(&format!("--mirrors {}", path.display()));
        let text = files::text(path)?;
        let objects = match objects(&text) {
            Ok(objects) => objects,
            Err(error) => bail!("{name}:{}: {}", error.line, one_line(&error.what)),
        };
        let mut is_any = false;
        for object in &objects {
            is_any |= self.read_object(&object.value);
        }
        for mirror in &mut self.mirrors {
            let (to, from) = (&mut mirror.to, &mirror.from);
            for to in to.extract_if(.., |to| has_scheme(to)) {
                notes.push(&format!(
                    "{name}: skipped the mirror `{}` of `{from}`, because the name of a mirror must not begin with http:// or https://",
                    masked(&to)
                ));
            }
        }
        if !is_any {
            bail!(
                "{name}: no ImageDigestMirrorSet, ImageTagMirrorSet, or ImageContentSourcePolicy in it"
            );
        }
        Ok(())
    }

    /// Whether it is an object with mirrors.
    fn read_object(&mut self, object: &Value) -> bool {
        let Identity {
            api_version, kind, ..
        } = Identity::of(object);
        let group = api_version.split('/').next().unwrap_or_default();
        let known = KINDS
            .iter()
            .find(|(of, name, ..)| *of == group && *name == kind);
        let Some((_, _, list, which)) = known else {
            return false;
        };
        for entry in items(object, list) {
            let to = items(entry, "/mirrors").filter_map(Value::as_str);
            let mirror = Mirror {
                from: part(text(entry, "/source").unwrap_or_default()),
                to: to.map(part).collect(),
                which: *which,
                is_closed: text(entry, "/mirrorSourcePolicy") == Some("NeverContactSource"),
            };
            // Otherwise, the entry says nothing about its source.
            if !mirror.to.is_empty() || mirror.is_closed {
                self.mirrors.push(mirror);
            }
        }
        true
    }

    /// Where an image is looked up, in this order: in the mirrors of the longest source that fits, then where its name
    /// says; nowhere if the source must not be contacted and has no mirror.
    ///
    /// MIRRORS: containers/image `pkg/sysregistriesv2/system_registries_v2.go`, `findRegistryWithParsedConfig` and
    /// `PullSourcesFromReference`.
    pub(crate) fn of(&self, image: &Image) -> Vec<Image> {
        let name = image.to_string();
        let fitting = self.mirrors.iter();
        let fitting = fitting.filter_map(|mirror| Some((mirror, behind(&name, &mirror.from)?)));
        let fitting: Vec<(&Mirror, &str)> = fitting.collect();
        // Whatever the source is for: mirrors for digests keep those of a shorter source for tags from being used.
        let longest = fitting.iter().map(|(mirror, _)| mirror.from.len()).max();
        let fitting = fitting
            .into_iter()
            .filter(|(mirror, _)| Some(mirror.from.len()) == longest && mirror.which.has(image));
        let (mut places, mut is_closed) = (Vec::new(), false);
        for (mirror, rest) in fitting {
            let to = mirror.to.iter();
            let mirrored = to.filter_map(|to| Image::at(&format!("docker://{to}{rest}"))?.ok());
            places.extend(mirrored);
            is_closed |= mirror.is_closed;
        }
        if !is_closed {
            places.push(image.clone());
        }
        let mut seen = BTreeSet::new();
        places.retain(|place| seen.insert(place.clone()));
        places
    }
}

/// What is left of a name behind a source, if it begins with it.
///
/// MIRRORS: containers/image `pkg/sysregistriesv2/system_registries_v2.go`, `refMatchingPrefix`.
/// DIVERGES: a host without a port is no host with one.
fn behind<'n>(name: &'n str, source: &str) -> Option<&'n str> {
    let rest = match source.strip_prefix('*') {
        Some(domain) => {
            let host = name.split('/').next().unwrap_or_default();
            let bare = host.split(':').next().unwrap_or_default();
            bare.ends_with(domain).then(|| name.get(host.len()..))??
        }
        None => name.strip_prefix(source)?,
    };
    let is_whole = rest.is_empty() || rest.starts_with(['/', '@']);
    let is_version = rest.starts_with(':') && source.contains('/');
    (is_whole || is_version).then_some(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIGEST: &str = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn places(mirrors: &Mirrors, name: &str) -> Vec<String> {
        let image = Image::at(&format!("docker://{name}")).unwrap().unwrap();
        mirrors.of(&image).iter().map(ToString::to_string).collect()
    }

    fn named(mirrors: &[&str]) -> Mirrors {
        let mirrors = mirrors.iter().map(|text| text.parse().unwrap());
        Mirrors {
            mirrors: mirrors.collect(),
        }
    }

    #[test]
    fn the_longest_source_that_fits_counts_and_the_source_is_last() {
        let mirrors = named(&[
            "quay.io=m.test/quay",
            "quay.io/containerdisks=m.test/disks",
            "quay.io/containerdisks=n.test/disks/",
        ]);
        assert_eq!(
            places(&mirrors, "quay.io/containerdisks/fedora:1"),
            [
                "m.test/disks/fedora:1",
                "n.test/disks/fedora:1",
                "quay.io/containerdisks/fedora:1"
            ]
        );
        assert_eq!(
            places(&mirrors, "quay.io/other/fedora"),
            [
                "m.test/quay/other/fedora:latest",
                "quay.io/other/fedora:latest"
            ]
        );
    }

    /// As in registries.conf, where each source is an entry of its own.
    #[test]
    fn a_longer_source_for_digests_hides_a_shorter_one_for_tags() {
        let set = |kind: &str, list: &str, source: &str| {
            let spec = json!({list: [{"source": source, "mirrors": ["m.test/x"]}]});
            json!({"apiVersion": "config.openshift.io/v1", "kind": kind, "spec": spec})
        };
        let mut mirrors = Mirrors::default();
        let tags = set("ImageTagMirrorSet", "imageTagMirrors", "quay.io");
        assert!(mirrors.read_object(&tags));
        let tagged = "quay.io/a/b:1";
        assert_eq!(places(&mirrors, tagged), ["m.test/x/a/b:1", tagged]);
        let digests = set("ImageDigestMirrorSet", "imageDigestMirrors", "quay.io/a");
        assert!(mirrors.read_object(&digests));
        assert_eq!(places(&mirrors, tagged), [tagged]);
    }

    #[test]
    fn a_source_ends_where_a_part_of_the_name_ends() {
        let fits = |source: &str, name: &str| behind(name, source).is_some();
        assert!(fits("quay.io/a/b", "quay.io/a/b:1"));
        assert!(fits("quay.io/a/b", "quay.io/a/b@sha256:0"));
        assert!(!fits("quay.io/a", "quay.io/ab:1"));
        assert!(!fits("quay.io", "quay.io:5000/a:1"));
        assert!(fits("quay.io:5000", "quay.io:5000/a:1"));
        assert!(!fits("quay.io", "quay.io.test/a:1"));
        assert!(fits("*.redhat.io", "registry.redhat.io/a:1"));
        assert!(fits("*.redhat.io", "registry.redhat.io:5000/a:1"));
        assert!(!fits("*.redhat.io", "redhat.io/a:1"));
        assert!(!fits("*.redhat.io", "quay.io/x.redhat.io/a:1"));
    }

    #[test]
    fn a_host_below_a_domain_is_replaced_as_a_whole() {
        let mirrors = named(&["*.redhat.io=m.test/redhat"]);
        assert_eq!(
            places(&mirrors, "registry.redhat.io/rhel9/rhel:1").first(),
            Some(&"m.test/redhat/rhel9/rhel:1".to_owned())
        );
    }

    #[test]
    fn the_kind_says_for_which_images() {
        let mut mirrors = Mirrors::default();
        for (api_version, kind, list, mirror) in [
            (
                "config.openshift.io/v1",
                "ImageDigestMirrorSet",
                "imageDigestMirrors",
                "idms.test",
            ),
            (
                "config.openshift.io/v1",
                "ImageTagMirrorSet",
                "imageTagMirrors",
                "itms.test",
            ),
            (
                "operator.openshift.io/v1alpha1",
                "ImageContentSourcePolicy",
                "repositoryDigestMirrors",
                "icsp.test",
            ),
        ] {
            let spec = json!({list: [{"source": "quay.io", "mirrors": [mirror]}]});
            assert!(
                mirrors
                    .read_object(&json!({"apiVersion": api_version, "kind": kind, "spec": spec}))
            );
        }
        assert!(!mirrors.read_object(&json!({"apiVersion": "v1", "kind": "ImageTagMirrorSet"})));
        assert_eq!(
            places(&mirrors, "quay.io/a:1"),
            ["itms.test/a:1", "quay.io/a:1"]
        );
        let name = |host: &str| format!("{host}/a{DIGEST}");
        assert_eq!(
            places(&mirrors, &name("quay.io")),
            ["idms.test", "icsp.test", "quay.io"].map(name)
        );
    }

    #[test]
    fn a_source_that_is_never_contacted_and_has_no_mirror_is_nowhere() {
        let mut mirrors = named(&["quay.io=m.test"]);
        let entry = json!({"source": "quay.io/a", "mirrors": ["not an image:::"], "mirrorSourcePolicy": "NeverContactSource"});
        mirrors.read_object(&json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ImageTagMirrorSet",
            "spec": {"imageTagMirrors": [entry]},
        }));
        assert_eq!(places(&mirrors, "quay.io/a/b:1"), [""; 0]);
        assert_eq!(
            places(&mirrors, "quay.io/c:1"),
            ["m.test/c:1", "quay.io/c:1"]
        );
        let entry = json!({"source": "ghcr.io", "mirrorSourcePolicy": "NeverContactSource"});
        mirrors.read_object(&json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ImageTagMirrorSet",
            "spec": {"imageTagMirrors": [entry]},
        }));
        assert_eq!(places(&mirrors, "ghcr.io/c:1"), [""; 0]);
    }

    #[test]
    fn a_source_that_is_never_contacted_is_not_asked() {
        let mut mirrors = Mirrors::default();
        let entry = json!({"source": "quay.io/", "mirrors": ["m.test"], "mirrorSourcePolicy": "NeverContactSource"});
        mirrors.read_object(&json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ImageTagMirrorSet",
            "spec": {"imageTagMirrors": [entry]},
        }));
        assert_eq!(places(&mirrors, "quay.io/a:1"), ["m.test/a:1"]);
        // It is a rule for tags.
        let name = format!("quay.io/a{DIGEST}");
        assert_eq!(places(&mirrors, &name), std::slice::from_ref(&name));
    }
}
