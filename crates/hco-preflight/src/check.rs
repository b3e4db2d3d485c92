//! `check`: whether objects of files would be accepted, or whether a cluster is all right as it is.

mod cluster;
mod entry;
mod github;
mod gitlab;
mod json;
mod sarif;
mod text;

use ::cluster::{Notes, foreign};
use anyhow::Result;

use crate::args::{self, FailOn, Format};
use crate::exit::Exit;
use crate::failure::{Failure, Nothing, chain};
use crate::input::{Check, Purpose};
use crate::prose::line;
use crate::terminal::{Terminal, print_json, print_markdown, print_raw};
use crate::verdict::{Judged, Verdicts};

/// A check without nodes is a usage error of files.
pub(crate) fn run(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    if args.subject.filename.is_empty() && args.subject.source.is_live() {
        cluster::run(args, terminal)
    } else {
        files(args, terminal)
    }
}

fn files(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let (subject, purpose, mut failures) = (&args.subject, Purpose::Check, Vec::new());
    let verdicts = match Check::read(subject, purpose, None, &mut notes, &mut failures) {
        Ok(check) => check.judge(failures),
        Err(error) if subject.allow_empty && error.is::<Nothing>() => {
            notes.push_lines(error.to_string());
            Verdicts::default()
        }
        // A program that reads the report must find the error in it.
        Err(error) => {
            failures.push(Failure::new(None, chain(&error)));
            Verdicts {
                failures,
                ..Verdicts::default()
            }
        }
    };
    verdicts.add_notes(&mut notes);
    terminal.notes(&notes);
    for failure in &verdicts.failures {
        terminal.failure(&failure.to_string());
    }
    match args.output {
        Format::Text => terminal.print(&text::render(&verdicts, &terminal.name))?,
        Format::Json => print_json(&json::render(&verdicts))?,
        Format::Sarif => print_json(&sarif::render(&verdicts))?,
        Format::Gitlab => print_json(&gitlab::render(&verdicts))?,
        Format::Markdown => markdown(&verdicts, &terminal.name)?,
        Format::Github => {
            // This format has no colors, so all control characters in it come from external text.
            let text = foreign::lines(&github::render(&verdicts));
            print_raw(foreign::inert_anywhere(&text).as_bytes())?;
        }
    }
    Ok(match verdicts.exit() {
        Exit::Denied if args.fail_on == FailOn::Never => Exit::Accepted,
        Exit::Accepted if args.fail_on == FailOn::Warn && verdicts.warns() => Exit::Denied,
        exit => exit,
    })
}

fn markdown(verdicts: &Verdicts, name: &str) -> Result<()> {
    let is_denied = |object: &Judged| object.exit() == Exit::Denied && !object.is_only_reported();
    let (sign, result) = match verdicts.exit() {
        Exit::Accepted => ("✅", "accepted"),
        Exit::Denied if verdicts.objects.iter().any(is_denied) => ("❌", "denied"),
        Exit::Denied => ("⚠", "reported, not denied"),
        Exit::Unjudged => ("❗", "not everything was checked"),
    };
    let mut text = String::new();
    if let Some(cluster) = &verdicts.cluster {
        line!(text, "API server {}\n", cluster.server);
    }
    text += &text::render(verdicts, name);
    for failure in &verdicts.failures {
        line!(text, "error: {failure}");
    }
    print_markdown(&format!("{sign} hco-preflight check: {result}"), &text)
}
