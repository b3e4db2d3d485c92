//! The warnings: one line for each repair, for each finding that warns, for each reason why images were not
//! looked up, and for each rule that carries existing problems over.

use kubernetes::text::cut;

use crate::findings::{Judged, Outcome};
use crate::repair::Step;

/// The maximum length of a line, and of all lines together. The API server truncates longer ones.
const LINE: usize = 256;
const LINES: usize = 4096;

pub(super) fn warnings(
    repairs: &[Step],
    rules: &[Judged<'_>],
    not_checked: &[String],
) -> Vec<String> {
    let mut lines = Lines::default();
    for step in repairs {
        lines.push(step.warning());
    }
    for judged in rules {
        let (shown, more) = judged.with(Outcome::Warn);
        for finding in shown {
            lines.push(format!("[{}] {}", judged.rule.id, finding.fact));
        }
        lines.omitted += more;
    }
    for line in not_checked {
        lines.push(line.clone());
    }
    for judged in rules {
        if let Some(first) = judged.with(Outcome::Carried).0.first() {
            let more = match judged.count(Outcome::Carried) - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            lines.push(format!(
                "[{}] Existing problem{more}: {}",
                judged.rule.id, first.fact
            ));
        }
    }
    lines.finish()
}

/// Lines up to the limit, then the number of omitted lines.
#[derive(Default)]
struct Lines {
    shown: Vec<String>,
    length: usize,
    omitted: usize,
}

impl Lines {
    fn push(&mut self, line: String) {
        /// Space for the line with the number of omitted lines.
        const REST: usize = 32;
        let line = cut(line, LINE);
        if self.omitted == 0 && self.length + line.len() <= LINES - REST {
            self.length += line.len();
            self.shown.push(line);
        } else {
            self.omitted += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.omitted > 0 {
            self.shown.push(format!("and {} more", self.omitted));
        }
        self.shown
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn lines_are_shown_up_to_the_limit_and_then_counted() {
        let lines = |last: usize| {
            let mut lines = Lines::default();
            for _ in 0..15 {
                lines.push("x".repeat(LINE));
            }
            lines.push("y".repeat(last));
            lines.push("z".to_owned());
            lines.finish()
        };
        // 32 bytes are for the line that counts.
        let room = LINES - 32 - 15 * LINE;
        let shown = lines(room - 1);
        assert_eq!((shown.len(), shown.last().unwrap().as_str()), (17, "z"));
        let shown = lines(room);
        assert_eq!(
            (shown.len(), shown.last().unwrap().as_str()),
            (17, "and 1 more")
        );
        // What comes after a line that is left out is left out as well.
        let shown = lines(room + 1);
        assert_eq!(
            (shown.len(), shown.last().unwrap().as_str()),
            (16, "and 2 more")
        );
    }
}
