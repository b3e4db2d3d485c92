//! The pages of the rules: what is read out of them.

use include_dir::{Dir, include_dir};

static RULES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../engine/src/rules");

/// A rule's page.
#[derive(Debug)]
pub struct Page {
    /// The rule's id: the file's name.
    pub id: String,
    /// The whole page.
    pub text: String,
}

/// All pages.
///
/// # Panics
///
/// If a page is not text.
pub fn pages() -> Vec<Page> {
    let files = RULES
        .files()
        .filter(|file| file.path().extension().is_some_and(|end| end == "md"));
    files
        .map(|file| Page {
            id: file
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned(),
            text: file.contents_utf8().unwrap().to_owned(),
        })
        .collect()
}

impl Page {
    /// The sentence below the title.
    pub fn summary(&self) -> &str {
        let mut paragraphs = self.text.split("\n\n");
        assert_eq!(
            paragraphs.next(),
            Some(format!("# {}", self.id).as_str()),
            "{}",
            self.id
        );
        paragraphs.next().unwrap()
    }

    /// The line `Level: …`.
    pub fn level(&self) -> &str {
        self.line("Level: `").split('`').next().unwrap()
    }

    /// Another rule that cannot but fire with it.
    pub fn fires_with(&self) -> Option<&str> {
        self.text
            .lines()
            .find_map(|line| line.strip_prefix("Fires with: "))
    }

    fn line(&self, start: &str) -> &str {
        let found = self.text.lines().find_map(|line| line.strip_prefix(start));
        found.unwrap_or_else(|| panic!("{} has no line `{start}`", self.id))
    }

    /// The fenced blocks: info string and content.
    pub fn blocks(&self) -> Vec<(&str, String)> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if let Some(info) = line.strip_prefix("```") {
                let content: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                assert!(!info.is_empty(), "{}: a block without a language", self.id);
                blocks.push((info, content.join("\n")));
            }
        }
        blocks
    }
}
