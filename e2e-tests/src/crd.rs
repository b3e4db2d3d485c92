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
