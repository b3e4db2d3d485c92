//! The kustomizations in the pages.

use std::path::Path;

use e2e_tests::Page;
use e2e_tests::repository::{root, text};

use crate::manifests::kustomize;

fn kustomizations() -> Vec<String> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    docs.map(|entry| format!("docs/{}", entry.unwrap().file_name().display()))
        .filter(|path| Path::new(path).extension().is_some_and(|end| end == "md"))
        .flat_map(|path| {
            let page = Page {
                text: text(&path),
                id: path,
            };
            let blocks = page.blocks().into_iter().map(|(_, text)| text);
            let blocks = blocks.filter(|text| text.contains("kind: Kustomization"));
            blocks.collect::<Vec<_>>()
        })
        .collect()
}

/// In a directory beside `deploy/my-cluster`, as the pages describe.
#[test]
fn the_kustomizations_are_rendered() {
    let copy = tempfile::tempdir().unwrap();
    crate::combinations::copy_directory(&root().join("deploy"), &copy.path().join("deploy"));
    let overlay = copy.path().join("deploy/from-the-handbook");
    std::fs::create_dir(&overlay).unwrap();
    let mut count = 0;
    for block in &kustomizations() {
        std::fs::write(overlay.join("kustomization.yaml"), block).unwrap();
        kustomize(&overlay);
        count += 1;
    }
    assert!(count >= 2, "{count} kustomizations");
}
