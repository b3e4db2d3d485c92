//! The screenshot in the README, from a real run. `make generate` updates it.

use std::path::Path;

use super::{command, run_of};

#[test]
fn the_picture_in_docs_is_that_of_a_real_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let words =
        "check -f deploy/examples/hyperconverged.yaml --nodes deploy/examples/mixed-nodes.yaml";
    let mut command = command();
    command.current_dir(&root).env("COLUMNS", "100");
    let run = run_of(command, words.split(' ').chain(["--color", "always"]));
    let shown = format!("$ hco-preflight {words}\n{}", run.stdout);
    let drawn = anstyle_svg::Term::new()
        .min_width_px(860)
        .render_svg(&shown)
        // Dimmed text must be readable on black.
        .replace("opacity: 0.4", "opacity: 0.7");
    let path = root.join("docs/check.svg");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(&path, &drawn).unwrap();
    }
    let picture = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        picture == drawn,
        "docs/check.svg is not what the command shows; draw it with: make generate"
    );
}
