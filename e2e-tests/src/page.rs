//! The pages of the rules, and the parts that tests read from them.

use include_dir::{Dir, include_dir};

static RULES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../crates/engine/src/rules");

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
        let level = self.code_after("Level: ");
        level.unwrap_or_else(|| panic!("{} has no line `Level: `", self.id))
    }

    /// Whether the rule is silent on plain Kubernetes, where HCO deploys no golden images.
    pub fn is_silent_on_plain_kubernetes(&self) -> bool {
        match self.code_after("Plain Kubernetes: ") {
            None => false,
            Some("silent") => true,
            Some(other) => panic!("{}: `Plain Kubernetes: {other}`", self.id),
        }
    }

    /// The only API version that the rule is about, if there is only one.
    pub fn only_in(&self) -> Option<&str> {
        self.code_after("Only in: ")
    }

    /// Another rule that fires with the examples of this page.
    pub fn fires_with(&self) -> Option<&str> {
        self.code_after("Fires with: ")
    }

    /// The code span in the line that begins with a label.
    fn code_after(&self, label: &str) -> Option<&str> {
        let rest = self
            .text
            .lines()
            .find_map(|line| line.strip_prefix(label))?;
        rest.split('`').nth(1)
    }

    /// The part of the page below a heading.
    ///
    /// # Panics
    ///
    /// If the page does not have the heading.
    #[must_use]
    pub fn section(&self, heading: &str) -> Self {
        let sections = self.text.split("\n## ");
        let text = sections
            .filter_map(|section| section.split_once('\n'))
            .find_map(|(title, text)| (title == heading).then_some(text));
        Self {
            id: self.id.clone(),
            text: text
                .unwrap_or_else(|| panic!("{} has no heading `{heading}`", self.id))
                .to_owned(),
        }
    }

    /// The fenced blocks: info string and content, without the indentation of a list.
    pub fn blocks(&self) -> Vec<(&str, String)> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            let text = line.trim_start();
            if let Some(info) = text.strip_prefix("```") {
                let indentation = line.len() - text.len();
                let content: Vec<&str> = lines
                    .by_ref()
                    .take_while(|line| line.trim_start() != "```")
                    .map(|line| line.get(indentation..).unwrap_or_default())
                    .collect();
                assert!(!info.is_empty(), "{}: a block without a language", self.id);
                blocks.push((info, content.join("\n")));
            }
        }
        blocks
    }
}
