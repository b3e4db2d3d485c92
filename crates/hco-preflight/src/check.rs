//! `check`: judges every HyperConverged of the files, or of the cluster, with the module.

use anyhow::Result;

use crate::args::{self, FailOn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output;
use crate::stage::{self, OnCluster, Purpose, Unread};
use crate::terminal::Terminal;
use crate::verdict::Verdicts;

/// Judges the objects, prints the verdicts, and returns the worst exit code.
pub(crate) fn run(args: &args::Check, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let purpose = Purpose::Check(args.sent.as_if);
    let contexts = stage::contexts(&args.subject, args.all_contexts, &mut notes)?;
    let mut all = if let Some(contexts) = contexts {
        let each = stage::on_each(&args.subject, &contexts, purpose, &mut notes);
        by_cluster(each, args, &mut notes)
    } else {
        let prepared = stage::prepare(&args.subject, purpose, &mut notes);
        let verdicts = prepared.map(|prepared| prepared.judge(&mut notes));
        let verdicts = or_failures(verdicts, args, &mut notes);
        if !args.quiet {
            verdicts.add_notes(&mut notes);
        }
        vec![verdicts]
    };
    for verdicts in &mut all {
        verdicts.not_for_fix = not_for_fix(args);
    }
    if !args.quiet {
        terminal.notes(&notes);
    }
    for verdicts in &all {
        let context = verdicts.context().map(|context| format!("{context}: "));
        let context = context.unwrap_or_default();
        for failure in &verdicts.failures {
            terminal.failure(&format!("{context}{failure}"));
        }
    }
    output::print(&all, args.output, terminal)?;
    let exits = all.iter().map(|verdicts| match verdicts.exit() {
        Exit::Denied if args.fail_on == FailOn::Never => Exit::Accepted,
        Exit::Accepted if args.fail_on == FailOn::Warn && verdicts.warns() => Exit::Denied,
        exit => exit,
    });
    Ok(exits.max().unwrap_or(Exit::Unjudged))
}

/// The verdicts, or why there are none: a program that reads the report must find it there.
fn or_failures(verdicts: Result<Verdicts>, args: &args::Check, notes: &mut Notes) -> Verdicts {
    verdicts.unwrap_or_else(|error| {
        let mut verdicts = Verdicts::default();
        match error.downcast() {
            Ok(Unread::Nothing(what)) if args.allow_empty => {
                verdicts.may_be_empty = true;
                notes.push_lines(what.to_string());
            }
            Ok(Unread::Nothing(what)) => verdicts.failures.push(what),
            Ok(Unread::Failures(failures)) => verdicts.failures = failures,
            Err(error) => verdicts.failures.push(Failure::of(&error)),
        }
        verdicts
    })
}

/// The verdicts of each cluster, behind what is about no cluster.
fn by_cluster(
    each: Result<(Vec<OnCluster>, Verdicts)>,
    args: &args::Check,
    notes: &mut Notes,
) -> Vec<Verdicts> {
    let (each, unread) = match each {
        Ok((each, unread)) => (each, Ok(unread)),
        Err(error) => (Vec::new(), Err(error)),
    };
    let mut all = Vec::new();
    let unread = or_failures(unread, args, notes);
    if each.is_empty() || !unread.failures.is_empty() {
        all.push(Verdicts {
            is_one_of_several: true,
            ..unread
        });
    }
    let mut of_clusters = Vec::new();
    for mut cluster in each {
        let verdicts = Verdicts {
            cluster: Some(cluster.origin),
            is_one_of_several: true,
            ..or_failures(cluster.verdicts, args, &mut cluster.notes)
        };
        if !args.quiet {
            verdicts.add_notes(&mut cluster.notes);
        }
        let context = verdicts.context().map(ToString::to_string);
        of_clusters.push((context.unwrap_or_default(), cluster.notes));
        all.push(verdicts);
    }
    notes.add_of_each(&of_clusters);
    all
}

/// The options that are set and that `fix` does not have.
fn not_for_fix(args: &args::Check) -> Vec<&'static str> {
    let all = [
        ("--all-contexts", args.all_contexts),
        ("--fail-on", args.fail_on != FailOn::Deny),
        ("--old", args.subject.old.is_some()),
    ];
    let set = all.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(option, _)| option).collect()
}
