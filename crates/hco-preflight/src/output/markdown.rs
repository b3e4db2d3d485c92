//! The output of a check as Markdown, for a comment on a merge request: a table of problems, then the fixes to copy.

use std::fmt::{Display, Write as _};

use crate::exit::Exit;
use crate::prose::{Part, count, line, parts};
use crate::report::{Boot, Finding, Level};
use crate::verdict::{Judged, Verdicts};

pub(crate) fn render(verdicts: &Verdicts) -> String {
    let mut text = String::new();
    if let Some(cluster) = &verdicts.cluster {
        let whose = match &cluster.context {
            Some(context) => format!("context {}", code(context)),
            None => "service account of the Pod".to_owned(),
        };
        let server = code(&cluster.server);
        line!(text, "Cluster: {whose} · API server {server}\n");
    }
    for object in &verdicts.objects {
        section(&mut text, object);
    }
    if !verdicts.failures.is_empty() {
        line!(text, "### ❗ Not checked\n");
        for failure in &verdicts.failures {
            line!(text, "- {}", escape(failure.to_string()));
        }
        line!(text);
    }
    text
}

fn section(text: &mut String, object: &Judged) {
    let (sign, word) = match object.exit() {
        Exit::Accepted => ("✅", "would be accepted"),
        Exit::Denied if object.is_only_reported() => ("⚠", "would be reported, not denied"),
        Exit::Denied => ("❌", "would be denied"),
        Exit::Unjudged => ("❗", "could not be checked"),
    };
    let (kind, name) = (&object.question.identity.kind, code(object.name()));
    line!(text, "### {sign} {kind} {name} {word}\n");
    let at = match object.place_of(None) {
        Some(_) => code(object.at(None)),
        None => object.at(None),
    };
    let policy = object.policy.as_ref();
    let policy = policy.map(|policy| format!("by {}", policy.with_mode()));
    let facts = object.facts();
    let facts = facts.map(|(name, fact)| format!("{name}: {fact}"));
    let context = [object.comparison()].into_iter().chain(policy).chain(facts);
    let context: Vec<String> = [at].into_iter().chain(context.map(escape)).collect();
    line!(text, "{}\n", context.join(" · "));
    if let Some(message) = object.message() {
        for sentence in message.lines().filter(|line| !line.is_empty()) {
            line!(text, "> {}  ", escape(sentence));
        }
        line!(text);
    }
    images(text, object);
    let findings = object.of(Level::Deny).chain(object.of(Level::Warn));
    let findings: Vec<&Finding> = findings.collect();
    if !findings.is_empty() {
        table(text, object, &findings);
        fixes(text, &findings);
    }
    let carried: Vec<&Finding> = object.of(Level::Carried).collect();
    if !carried.is_empty() {
        let problems = count(carried.len(), "existing problem");
        let does = if carried.len() == 1 { "does" } else { "do" };
        let title = format!("{problems}, which {does} not cause a denial");
        line!(text, "<details><summary>{title}</summary>\n");
        table(text, object, &carried);
        line!(text, "</details>\n");
    }
}

fn images(text: &mut String, object: &Judged) {
    let Some((templates, nodes)) = object.images() else {
        return;
    };
    let heads = nodes.iter();
    let heads = heads.map(|(name, count)| format!(" {} ({count}) |", escape(name)));
    line!(text, "| Golden image |{}", heads.collect::<String>());
    line!(text, "| --- |{}", " --- |".repeat(nodes.len()));
    for template in templates {
        let cells = nodes.keys();
        let cells = cells.map(|name| match template.architectures.get(name) {
            Some(Boot::Boots) => " ✅ boots |",
            Some(Boot::Imported) => " ✅ imported |",
            Some(Boot::NotImported) => " ❌ not imported |",
            Some(Boot::Unknown) | None => " ❔ unknown |",
        });
        let (name, cells) = (code(&template.name), cells.collect::<String>());
        line!(text, "| {name} |{cells}");
    }
    line!(text);
}

fn table(text: &mut String, object: &Judged, findings: &[&Finding]) {
    line!(text, "| | Rule | Where | What |\n| --- | --- | --- | --- |");
    for finding in findings {
        let sign = match finding.level {
            Level::Deny if !object.is_only_reported() => "❌",
            Level::Deny | Level::Warn => "⚠",
            Level::Carried => "·",
        };
        let at = match object.place_of(None) {
            Some(_) => code(object.at(Some(finding))) + "<br>",
            None => String::new(),
        };
        line!(
            text,
            "| {sign} {} | {} | {at}{} | {} |",
            finding.level.name(),
            code(&finding.rule),
            code(&finding.path),
            escape(&finding.fact)
        );
    }
    line!(text);
}

/// Each fix once, with its commands in blocks to copy.
fn fixes(text: &mut String, findings: &[&Finding]) {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    line!(text, "**To fix**\n");
    for finding in findings {
        if seen.contains(&(&*finding.rule, finding.fix.as_str())) {
            continue;
        }
        seen.push((&*finding.rule, &finding.fix));
        let mut item = format!("- {}:", code(&finding.rule));
        for part in parts(&finding.fix) {
            let _ = match part {
                Part::Fix(prose) => write!(item, " {}", escape(prose)),
                Part::Or(prose) => write!(item, "\n\n  or: {}", escape(prose)),
                Part::Paste(lines) => {
                    let (fence, block) = (fence(&lines.join("\n"), 3), lines.join("\n  "));
                    write!(item, "\n  {fence}\n  {block}\n  {fence}")
                }
            };
        }
        line!(text, "{}", item.trim_end());
    }
    line!(text);
}

/// A code span, in a table cell or outside. Its content cannot end the span.
fn code(value: impl Display) -> String {
    let value = value
        .to_string()
        .replace('|', "\\|")
        .replace(['\n', '\r'], " ");
    let fence = fence(&value, 1);
    let has_tick = value.starts_with('`') || value.ends_with('`');
    let blank = if has_tick { " " } else { "" };
    format!("{fence}{blank}{value}{blank}{fence}")
}

/// A fence of backticks that no text inside it can end.
fn fence(text: &str, least: usize) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max();
    "`".repeat(least.max(longest.unwrap_or_default() + 1))
}

/// Escapes prose: text in backticks stays code, and other characters lose their Markdown meaning.
fn escape(prose: impl Display) -> String {
    let prose = prose.to_string().replace(['\n', '\r'], " ");
    let parts: Vec<&str> = prose.split('`').collect();
    let is_balanced = !parts.len().is_multiple_of(2);
    let escaped = parts.iter().enumerate().map(|(index, part)| {
        if is_balanced && index % 2 == 1 {
            return code(part);
        }
        let escape = |letter: char| "\\*_[]<>|#~@".contains(letter).then_some('\\');
        let letters = part.chars();
        letters
            .flat_map(|it| escape(it).into_iter().chain([it]))
            .collect()
    });
    let tick = if is_balanced { "" } else { "\\`" };
    escaped.collect::<Vec<_>>().join(tick)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_block_to_paste_has_one_fence() {
        let finding: Finding = serde_json::from_value(json!({
            "rule": "r", "level": "deny", "path": "spec", "fact": "f", "template": null, "value": "", "fixes": [],
            "fix": "add:\n  a:\n    b: ```\nor: run:\n  c",
        }))
        .unwrap();
        let mut text = String::new();
        fixes(&mut text, &[&finding]);
        assert_eq!(
            text,
            "**To fix**\n\n- `r`: add:\n  ````\n  a:\n    b: ```\n  ````\n\n  or: run:\n  ```\n  c\n  ```\n\n"
        );
    }

    #[test]
    fn values_cannot_break_out() {
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(
            escape("of `a_b|c` and <x> *y*"),
            "of `a_b\\|c` and \\<x\\> \\*y\\*"
        );
        assert_eq!(escape("one ` tick"), "one \\` tick");
    }
}
