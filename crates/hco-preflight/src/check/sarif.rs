//! The output of a check as SARIF 2.1.0: code scanning shows each finding at its line, with the rule's page. It is built
//! as JSON, because serde-sarif depends on three crates, and code with its builders is longer.

use cluster::foreign::Foreign;
use engine::Rule;
use kube_objects::text::percent_encode;
use serde_json::{Value, json};

use crate::check::entry::{CLUSTER, Entry};
use crate::exit::Exit;
use crate::explain::{self, Page};
use crate::report::Level;
use crate::verdict::Verdicts;

pub(crate) fn render(verdicts: &Verdicts) -> Value {
    let (of_objects, others): (Vec<Entry<'_>>, Vec<_>) = Entry::all(verdicts)
        .into_iter()
        .partition(|entry| entry.object.is_some());
    json!({
        "$schema": "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "hco-preflight",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_HOMEPAGE"),
                "rules": explain::rules().map(rule).collect::<Value>(),
            }},
            "invocations": [{
                "executionSuccessful": verdicts.exit() != Exit::Unjudged,
                "toolExecutionNotifications": others.into_iter().map(notification).collect::<Value>(),
            }],
            "results": of_objects.into_iter().map(result).collect::<Value>(),
            "columnKind": "unicodeCodePoints",
        }],
    })
}

fn rule((rule, page): (&Rule, Page)) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": page.summary()},
        "help": {"text": page.summary(), "markdown": page.text},
        "helpUri": page.url,
        "defaultConfiguration": {"level": match rule.level.into_str() {
            "deny" => "error",
            _ => "warning",
        }},
    })
}

fn result(entry: Entry<'_>) -> Value {
    let name = entry.object.unwrap_or_default();
    // GitHub does not accept a result without a file.
    let in_cluster = || (format!("{CLUSTER}/{name}"), 1);
    let place = entry.place.unwrap_or_else(in_cluster);
    let field = match entry.finding {
        Some(finding) => format!("{name}:{}", Foreign::raw(&finding.path)),
        None => name,
    };
    json!({
        "ruleId": entry.rule,
        "level": match entry.level {
            None | Some(Level::Deny) => "error",
            Some(Level::Warn) => "warning",
            Some(Level::Carried) => "note",
        },
        "message": {"text": without_links(&entry.text)},
        "locations": [{
            "physicalLocation": physical(place),
            "logicalLocations": [{"fullyQualifiedName": field, "kind": "member"}],
        }],
        "partialFingerprints": {"hcoPreflight/v1": entry.fingerprint},
    })
}

fn notification(entry: Entry<'_>) -> Value {
    let location = |place| json!({"physicalLocation": physical(place)});
    json!({
        "level": "error",
        "message": {"text": without_links(&entry.text)},
        "locations": entry.place.into_iter().map(location).collect::<Value>(),
    })
}

/// Escapes brackets, because a name from outside could contain a link (SARIF 2.1.0, section 3.11.6).
fn without_links(text: &str) -> String {
    if !text.contains("](") {
        return text.to_owned();
    }
    text.replace('\\', r"\\")
        .replace('[', r"\[")
        .replace(']', r"\]")
}

fn physical((file, line): (String, usize)) -> Value {
    let parts: Vec<String> = file
        .split('/')
        .map(|part| percent_encode(part, usize::MAX))
        .collect();
    json!({"artifactLocation": {"uri": parts.join("/")}, "region": {"startLine": line}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_no_link() {
        let text = without_links(r"[click](https://example.com) \d");
        assert_eq!(text, r"\[click\](https://example.com) \\d");
        assert_eq!(without_links("templates[0]"), "templates[0]");
    }

    #[test]
    fn a_path_becomes_a_reference() {
        let place = physical(("deploy/my hco:1.yaml".to_owned(), 1));
        assert_eq!(place["artifactLocation"]["uri"], "deploy/my%20hco%3A1.yaml");
    }
}
