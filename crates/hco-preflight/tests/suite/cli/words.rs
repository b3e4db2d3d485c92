//! The English about objects is in one table, beside the writers of text, of headlines, and of values.

use std::fs;
use std::path::Path;

const WRITERS: [&str; 4] = ["words.rs", "facts.rs", "headline.rs", "text.rs"];

#[test]
fn only_the_table_and_the_writers_have_english() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = ["plan", "check/cluster", "rows"];
    let files = folders.map(|folder| fs::read_dir(source.join(folder)).unwrap());
    let mut number = 0;
    for file in files.into_iter().flatten() {
        let path = file.unwrap().path();
        if WRITERS.iter().any(|writer| path.ends_with(writer)) {
            continue;
        }
        number += 1;
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let english: Vec<&str> = lines
            .filter(|line| !line.contains("reason = "))
            .filter(|line| line.split('"').skip(1).step_by(2).any(has_words))
            .collect();
        assert!(english.is_empty(), "{}: {english:#?}", path.display());
    }
    assert!(number >= 5, "{number} files");
}

/// Whether there is a space between two lowercase letters.
fn has_words(literal: &str) -> bool {
    literal
        .as_bytes()
        .windows(3)
        .any(|part| matches!(part, [b'a'..=b'z', b' ', b'a'..=b'z']))
}
