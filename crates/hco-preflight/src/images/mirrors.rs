//! Mirrors of registries: `--mirror FROM=TO`.

use std::str::FromStr;

use engine::Image;

/// A mirror of a registry, or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirror {
    /// A prefix of image names: a host, or a host and a path.
    from: String,
    /// The replacement of the prefix in the mirror.
    to: String,
}

impl FromStr for Mirror {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((from, to)) if from.contains("//") || to.contains("//") => {
                Err("remove http:// or https://: registries are reached as sources.yml says")
            }
            Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok(Self {
                from: from.trim_end_matches('/').to_owned(),
                to: to.trim_end_matches('/').to_owned(),
            }),
            _ => Err("the format is, for example, quay.io=mirror.example.com/quay"),
        }
    }
}

/// The places at which an image is looked up, in this order: the mirrors of the longest matching prefix, then its own
/// name.
///
/// MIRRORS: containers/image `pkg/sysregistriesv2/system_registries_v2.go`, `findRegistryWithParsedConfig` and
/// `PullSourcesFromReference`.
pub(crate) fn places(mirrors: &[Mirror], image: &Image) -> Vec<Image> {
    let name = image.to_string();
    let fitting: Vec<(&Mirror, &str)> = mirrors
        .iter()
        .filter_map(|mirror| Some((mirror, rest_of(&name, &mirror.from)?)))
        .collect();
    let longest = fitting.iter().map(|(mirror, _)| mirror.from.len()).max();
    let mut places: Vec<Image> = fitting
        .iter()
        .filter(|(mirror, _)| Some(mirror.from.len()) == longest)
        .filter_map(|(mirror, rest)| Image::at(&format!("docker://{}{rest}", mirror.to))?.ok())
        .collect();
    places.push(image.clone());
    places
}

/// The rest of a name after a prefix, if the name begins with the prefix.
///
/// MIRRORS: containers/image `pkg/sysregistriesv2/system_registries_v2.go`, `refMatchingPrefix`.
/// DIVERGES: a host without a port does not match the same host with a port.
fn rest_of<'n>(name: &'n str, source: &str) -> Option<&'n str> {
    let rest = name.strip_prefix(source)?;
    let is_whole = rest.is_empty() || rest.starts_with(['/', '@']);
    let is_version = rest.starts_with(':') && source.contains('/');
    (is_whole || is_version).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(mirrors: &[&str], name: &str) -> Vec<String> {
        let parsed: Vec<Mirror> = mirrors.iter().map(|text| text.parse().unwrap()).collect();
        let image = Image::at(&format!("docker://{name}")).unwrap().unwrap();
        places(&parsed, &image)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn the_longest_source_that_fits_counts_and_the_source_is_last() {
        let mirrors = [
            "quay.io=m.test/quay",
            "quay.io/containerdisks=m.test/disks",
            "quay.io/containerdisks=n.test/disks/",
        ];
        for (name, places) in [
            (
                "quay.io/containerdisks/fedora:1",
                &["m.test/disks/fedora:1", "n.test/disks/fedora:1"][..],
            ),
            ("quay.io/other/fedora:1", &["m.test/quay/other/fedora:1"]),
            ("ghcr.io/a:1", &[]),
        ] {
            assert_eq!(names(&mirrors, name), [places, &[name]].concat());
        }
    }

    #[test]
    fn a_source_ends_where_a_part_of_the_name_ends() {
        let fits = |source: &str, name: &str| rest_of(name, source).is_some();
        assert!(fits("quay.io/a/b", "quay.io/a/b:1"));
        assert!(fits("quay.io/a/b", "quay.io/a/b@sha256:0"));
        assert!(!fits("quay.io/a", "quay.io/ab:1"));
        assert!(!fits("quay.io", "quay.io:5000/a:1"));
        assert!(fits("quay.io:5000", "quay.io:5000/a:1"));
        assert!(!fits("quay.io", "quay.io.test/a:1"));
    }
}
