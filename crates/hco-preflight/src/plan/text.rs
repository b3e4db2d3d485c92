//! The text output of a plan.

use cluster::foreign::lines;

use super::Plan;
use crate::prose::{count, folded, line};
use crate::report::NAMED;
use crate::rows::Effect;
use crate::rows::facts::Fact;
use crate::rows::no_forecast::NoForecast;
use crate::rows::text::{self, by_effect, by_namespace, of_effects, of_kind, with_effects};
use crate::terminal::{BOLD, RED, YELLOW};

pub(super) fn render(plan: &Plan<'_>, all_vms: bool) -> String {
    let mut text = String::new();
    if let Some(denied) = &plan.denied {
        denial(&mut text, plan, denied);
        if plan.is_denied_by_hco {
            return text;
        }
    }
    let (style, headline) = plan.consequences();
    let (first, rest) = headline.split_at(headline.find(": ").unwrap_or(headline.len()));
    let headline = format!("{style}{first}{style:#}{rest}");
    line!(text, "{}\n", folded(&headline, 2));
    text.extend(plan.facts.iter().map(Fact::render));
    let problems = with_effects(&plan.rows, &[Effect::Problem]);
    if !problems.is_empty() {
        line!(text, "\n{BOLD}new problems{BOLD:#}");
        for row in problems {
            line!(text, "{}", folded(&format!("  {}", row.detail), 4));
        }
        let line =
            "  The policy does not deny later updates of this object because of these problems.";
        line!(text, "{}", folded(line, 2));
    }
    for (title, effect) in [
        ("new warnings", Effect::MinorProblem),
        ("problems that end", Effect::ProblemEnds),
    ] {
        of_effects(&mut text, title, &plan.rows, &[effect]);
    }
    let machines = of_kind(&plan.rows, "VirtualMachine");
    let limit = if all_vms { usize::MAX } else { NAMED };
    let hint = " (--all-vms names them)";
    by_effect(&mut text, "virtual machines", &machines, limit, hint);
    boot_sources(&mut text, plan);
    storage(&mut text, plan);
    of_effects(&mut text, "not read", &plan.rows, &[Effect::NotRead]);
    let world = &plan.situation.world;
    if !world.crons.is_read() || !world.sources.is_read() {
        let line = "  For boot sources that were not read, the plan assumes that they match the current object.";
        line!(text, "{}", folded(line, 2));
    }
    text
}

fn denial(text: &mut String, plan: &Plan<'_>, denied: &str) {
    line!(text, "{RED}{}{RED:#}:", plan.who_denies());
    for line in lines(denied).lines() {
        line!(text, "{}", folded(&format!("  {line}"), 4));
    }
    let what = if plan.is_denied_by_hco {
        "HCO denies the object with or without the policy. It is not stored, so nothing changes."
    } else {
        "If the policy did not deny it, this would happen:\n"
    };
    line!(
        text,
        "  `check -f` prints how to fix it, and `explain` the page of a rule.\n\n{what}"
    );
}

fn boot_sources(text: &mut String, plan: &Plan<'_>) {
    if let Some(no_forecast) = plan.no_forecast {
        let why = no_forecast.why();
        let why = match no_forecast {
            NoForecast::NotDeployed => format!("none: {why}"),
            NoForecast::RejectedBySsp(_) => format!(
                "stay as they are, and later changes have no effect either, until this is fixed: {why}"
            ),
            NoForecast::Other(_) => format!("there is no forecast: {why}"),
        };
        let why = folded(&format!("  {why}"), 2);
        line!(text, "\n{BOLD}boot sources{BOLD:#}\n{why}");
        return;
    }
    let stops = with_effects(&plan.rows, &[Effect::StopsSsp]);
    let title = if stops.iter().all(|stop| stop.is_pending) {
        "what stops SSP, even without this change"
    } else {
        "what stops SSP"
    };
    let forecast = plan.situation.forecast_after();
    let stopped = forecast.and_then(|forecast| forecast.stopped);
    text::stops(text, title, stopped, &stops);
    if !stops.is_empty() && !plan.situation.is_asked {
        line!(text, "      `check` of the cluster shows how to fix this.");
    }
    let (pending, asked): (Vec<_>, Vec<_>) = of_kind(&plan.rows, "DataSource")
        .into_iter()
        .partition(|row| row.is_pending);
    if asked.is_empty() {
        line!(text, "\n{BOLD}boot sources{BOLD:#}\n  nothing changes");
    }
    by_namespace(text, "boot sources", &asked, "");
    for row in with_effects(&plan.rows, &[Effect::NeverSettles, Effect::Caution]) {
        let line = format!("  {YELLOW}!{YELLOW:#} {}", row.detail);
        line!(text, "{}", folded(&line, 4));
    }
    let end = ": still outstanding without this change";
    by_namespace(text, "boot sources", &pending, end);
}

fn storage(text: &mut String, plan: &Plan<'_>) {
    let storage = plan.sources.storage();
    if storage.disks == 0 {
        return;
    }
    let tenths = storage.bytes.saturating_mul(10).div_ceil(1 << 30);
    let gibibytes = match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} GiB"),
        (whole, tenth) => format!("{whole}.{tenth} GiB"),
    };
    let size = match (storage.unknown, storage.bytes) {
        (0, _) => gibibytes,
        (_, 0) => "unknown size".to_owned(),
        _ => format!("at least {gibibytes}"),
    };
    let disks = count(storage.disks, "disk");
    line!(
        text,
        "\n{BOLD}storage of new disks{BOLD:#}: {disks}, {size}"
    );
}
