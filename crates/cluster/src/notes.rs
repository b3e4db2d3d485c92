use crate::foreign::one_line;

/// Notes in the order in which they were added, without duplicates.
#[derive(Debug, Default)]
pub struct Notes(Vec<String>);

impl Notes {
    pub fn push(&mut self, note: &str) {
        self.push_lines(one_line(note));
    }

    /// Adds a note that may have several lines. External text in it is already limited to one line.
    pub fn push_lines(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    pub fn append(&mut self, others: Self) {
        for note in others.0 {
            self.push_lines(note);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}
