//! Text of plans and statuses, as tests compare it.

/// The text with folded lines on one line.
pub fn unfolded(text: &str) -> String {
    let mut unfolded = String::new();
    let mut width = 0;
    for line in text.lines() {
        let word = line.split_whitespace().next().unwrap_or_default();
        // Commands are not folded.
        let is_command = width > 100 || line.contains(": kubectl ");
        let is_full = width + 1 + word.chars().count() > 100;
        let is_folded = line.starts_with("  ") && is_full && !is_command;
        unfolded.push(if is_folded { ' ' } else { '\n' });
        unfolded.push_str(if is_folded { line.trim_start() } else { line });
        width = line.chars().count();
    }
    unfolded + "\n"
}
