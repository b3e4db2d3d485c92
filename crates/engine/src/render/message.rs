//! The message of a denial, for users: the object, then a paragraph for each rule.

use std::fmt::Write as _;

use kube_objects::text::{cut, quote};

use super::RuleSection;
use crate::evaluate::Outcome;
use crate::finding::Finding;
use crate::unevaluated::MAX_MESSAGE_LENGTH;

/// The maximum length of a paragraph, so that one rule does not displace the others.
const PARAGRAPH: usize = 1800;
/// The maximum number of further templates that a paragraph names, and of different fixes that it contains.
const NAMED: usize = 5;
const FIXES: usize = 3;

pub(super) fn message(object: &str, denying: &[&RuleSection<'_>]) -> String {
    /// Space for the line with the number of omitted findings.
    const REST: usize = 64;
    let count = |sections: &[&RuleSection<'_>]| -> usize {
        sections
            .iter()
            .map(|section| section.count(Outcome::Deny))
            .sum()
    };
    let all = count(denying);
    let s = if all == 1 { "" } else { "s" };
    let mut message = format!("{object}: {all} problem{s}");
    for (index, section) in denying.iter().enumerate() {
        let paragraph = paragraph(section);
        if message.len() + paragraph.len() > MAX_MESSAGE_LENGTH - REST {
            let rest = count(denying.get(index..).unwrap_or_default());
            let _ = write!(message, "\n\nand {rest} more");
            break;
        }
        message.push_str(&paragraph);
    }
    message
}

fn paragraph(section: &RuleSection<'_>) -> String {
    let (findings, more) = section.with(Outcome::Deny);
    let Some((first, others)) = findings.split_first() else {
        return String::new();
    };
    let (id, path, fact) = (section.rule.id, first.path.raw(), &first.fact);
    let mut text = format!("\n\n[{id}] {path}\n{fact}");
    text.push_str(&also(first, others, more));
    let mut fixes = vec![first.fix_text()];
    for finding in others {
        let fix = finding.fix_text();
        if fixes.len() < FIXES && !fixes.contains(&fix) {
            fixes.push(fix);
        }
    }
    for fix in fixes {
        let _ = write!(text, "\nfix: {fix}");
    }
    cut(text, PARAGRAPH)
}

/// The line that names the other templates, if there are any.
fn also(first: &Finding, others: &[&Finding], mut more: usize) -> String {
    let mut text = String::new();
    // Findings with the same path are about the same template and are adjacent.
    let mut last = &first.path;
    let mut named = 0;
    for finding in others {
        if finding.path == *last {
            continue;
        }
        last = &finding.path;
        if named == NAMED {
            more += 1;
            continue;
        }
        text.push_str(if named == 0 { "\nAlso: " } else { ", " });
        named += 1;
        match &finding.template {
            Some(name) => {
                let path = short(finding.path.raw());
                let _ = write!(text, "{} ({path})", quote(name.raw()));
            }
            None => text.push_str(finding.path.raw()),
        }
    }
    if more > 0 {
        let also = if named == 0 { "\nAlso:" } else { " and" };
        let _ = write!(text, "{also} {more} more");
    }
    text
}

/// `dataImportCronTemplates[3]` is enough to find a template.
fn short(path: &str) -> &str {
    path.find(']')
        .and_then(|end| path.get(..=end))
        .and_then(|path| path.rsplit_once('.'))
        .map_or(path, |(_, last)| last)
}
