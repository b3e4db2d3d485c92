//! The text output of a check of a cluster.

use std::collections::BTreeSet;

use cluster::foreign::one_line;

use super::{Checked, headline};
use crate::prose::{self, count, folded, line};
use crate::report::{Finding, NAMED};
use crate::rows::Effect;
use crate::rows::facts::Fact;
use crate::rows::text::{self, by_effect, by_namespace, of_effects, of_kind};
use crate::terminal::{BOLD, DIM};

pub(super) fn render(checked: &Checked, program: &str) -> String {
    let (situation, rows) = (&checked.situation, &checked.rows);
    let mut text = String::new();
    let (style, result, details) = headline::of(checked);
    let headline = format!("{style}{result}{style:#}: {}", one_line(&details));
    line!(text, "{}\n", folded(&headline, 2));
    let report = &situation.after.report;
    let facts = Fact::all(situation, [report, report]);
    text.extend(facts.iter().map(Fact::render));
    problems(&mut text, checked);
    let conditions = [Effect::Unhealthy, Effect::Caution];
    of_effects(&mut text, "conditions", rows, &conditions);
    let forecast = situation.forecast_after();
    let stopped = forecast.and_then(|forecast| forecast.stopped);
    let stops: Vec<_> = checked.stops().collect();
    text::stops(&mut text, "what stops SSP", stopped, &stops);
    let images = of_kind(rows, "DataSource");
    if images.is_empty() {
        let none = match &situation.outlook {
            Ok(_) => "none".to_owned(),
            Err(no_forecast) => format!("no forecast: {}", no_forecast.why()),
        };
        let none = folded(&format!("  {none}"), 2);
        line!(text, "\n{BOLD}golden images{BOLD:#}\n{none}");
    }
    by_namespace(&mut text, "golden images", &images, "");
    let machines = of_kind(rows, "VirtualMachine");
    by_effect(&mut text, "virtual machines", &machines, NAMED, "");
    of_effects(&mut text, "not read", rows, &[Effect::NotRead]);
    closing(&mut text, checked, program);
    text
}

fn problems(text: &mut String, checked: &Checked) {
    let findings = &checked.situation.current().report.findings;
    if !findings.is_empty() {
        line!(text, "\n{BOLD}problems{BOLD:#}");
    }
    let mut told = Vec::new();
    for (finding, row) in findings.iter().zip(&checked.rows) {
        let (style, sign) = row.effect.sign();
        told.push((finding, format!("  {style}{sign}{style:#} {}", row.detail)));
    }
    prose::findings(text, &mut BTreeSet::new(), &told);
}

fn closing(text: &mut String, checked: &Checked, program: &str) {
    let findings = &checked.situation.current().report.findings;
    let fixable = findings.iter().filter_map(Finding::complete_fix).count();
    let options = &checked.situation.options;
    let mut next = Vec::new();
    if fixable > 0 {
        let fix = format!("{program} fix {options} -o commands");
        next.push(format!("{}: `{fix}`", count(fixable, "fixable finding")));
    }
    if let Some(Finding { rule, .. }) = findings.iter().min_by_key(|finding| finding.level) {
        next.push(format!("the page of a rule: `{program} explain {rule}`"));
    }
    if !next.is_empty() {
        let next = format!("{DIM}{}{DIM:#}", next.join("; "));
        line!(text, "\n{}", folded(&next, 2));
    }
}
