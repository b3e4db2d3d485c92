//! Escapes external text: from a manifest, the nodes, a cluster, or a module.

use std::fmt::Write as _;
use std::path::Path;

pub use kube_objects::text::Foreign;
use kube_objects::text::{escape, is_invisible};

/// A separate line could look like a line of this program, or be a command for the runner of a pipeline.
pub fn one_line(text: &str) -> String {
    escape(text, usize::MAX)
}

pub fn lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(one_line).collect();
    lines.join("\n")
}

/// A text without commands for a runner: `##vso[` and `##[` anywhere in a line, `::` and `##teamcity[` at its beginning.
pub fn inert(text: &str) -> String {
    let inert_line = |line: &str| {
        let plain = anstream::adapter::strip_str(line).to_string();
        if plain.trim_start().starts_with("::") {
            line.replacen("::", ": :", 1)
        } else {
            line.to_owned()
        }
    };
    let lines: Vec<String> = text.split('\n').map(inert_line).collect();
    inert_anywhere(&lines.join("\n"))
}

pub fn inert_anywhere(text: &str) -> String {
    interrupted(text, "# #")
}

fn interrupted(text: &str, start: &str) -> String {
    ["", "vso", "teamcity"]
        .iter()
        .fold(text.to_owned(), |text, command| {
            text.replace(&format!("##{command}["), &format!("{start}{command}["))
        })
}

/// Masks credentials in a message of an operator: a URL in it can contain a password, or a token in its query.
pub fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let ends = |character: char| character.is_whitespace() || "\"'`<>\\".contains(character);
        let (url, behind) = after.split_at(after.find(ends).unwrap_or(after.len()));
        let (url, query) = url
            .split_once('?')
            .map_or((url, ""), |(url, _)| (url, "?***"));
        let (authority, path) = url.split_at(url.find('/').unwrap_or(url.len()));
        let (user, host) = authority
            .rsplit_once('@')
            .map_or(("", authority), |(_, host)| ("***@", host));
        masked.extend([before, "://", user, host, path, query]);
        rest = behind;
    }
    masked + rest
}

/// The path of a file in a sentence. Like all external text, it can contain a newline.
pub fn path(path: &Path) -> String {
    one_line(&path.display().to_string())
}

pub fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=@%+".contains(&byte);
    if text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    // It fails only for NUL, which no argument can contain, and which JSON escapes.
    shlex::try_quote(text).unwrap_or("''".into()).into_owned()
}

/// JSON in which these characters, and commands for the runner of a pipeline, are escaped. They only occur in strings.
pub fn json(text: String) -> String {
    let is_shown = |character: char| character == '\n' || !is_invisible(character);
    if !text.contains("##") && text.chars().all(is_shown) {
        return text;
    }
    let mut json = String::new();
    for character in interrupted(&text, "\\u0023#").chars() {
        if is_shown(character) {
            json.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(json, "\\u{unit:04x}");
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_printed_raw() {
        let text = Foreign::from("a\n::error::\u{1b}[2J\u{202e}b");
        assert_eq!(text.to_string(), "a\\u{a}::error::\\u{1b}[2J\\u{202e}b");
        assert_eq!(format!("{:<4}|", Foreign::from("é")), "é   |");
        assert_eq!(lines("a\n\u{7}"), "a\n\\u{7}");
    }

    #[test]
    fn a_runner_finds_no_command() {
        for (text, wanted) in [
            (" \u{1b}[1m::error::a", " \u{1b}[1m: :error::a"),
            ("a ::b\n::c", "a ::b\n: :c"),
            ("a ##[error]b ##vso[c]", "a # #[error]b # #vso[c]"),
            ("##teamcity[a]", "# #teamcity[a]"),
        ] {
            assert_eq!(inert(text), wanted);
        }
        let text = "##[error] ##vso[x]";
        let escaped = json(serde_json::to_string(text).unwrap());
        assert_eq!(escaped, "\"\\u0023#[error] \\u0023#vso[x]\"");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }

    #[test]
    fn json_means_the_same() {
        let text = "\u{202e}\u{e0041}\u{7f}é";
        let escaped = json(serde_json::to_string(text).unwrap());
        assert_eq!(escaped, "\"\\u202e\\udb40\\udc41\\u007fé\"");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
