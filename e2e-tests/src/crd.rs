//! The `CustomResourceDefinitions` of others, which are in `crds/`.

use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;

/// The text of a `CustomResourceDefinition`, for example `hco-v1.17.0`.
pub fn crd(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("crds")
        .join(format!("{name}.yaml.gz"));
    let file =
        std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_file_has_its_source_and_each_source_its_file() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
        let readme = std::fs::read_to_string(directory.join("README.md")).unwrap();
        let rows: BTreeSet<&str> = readme
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(name, _)| name)
            .collect();
        let files: BTreeSet<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|file| file.strip_suffix(".yaml.gz").map(str::to_owned))
            .collect();
        assert_eq!(rows, files.iter().map(String::as_str).collect());
        for name in rows {
            assert!(
                crd(name).contains("\nkind: CustomResourceDefinition\n"),
                "{name}"
            );
        }
    }
}
