//! Parses the command line into the arguments of a command.

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, CommandFactory, FromArgMatches};

use super::{Args, Check, Command, EXAMPLES, Fix};
use crate::foreign::{one_line, shell_word};

impl Args {
    /// Reads the words of the command line, the name of the program first.
    pub(crate) fn read(mut words: Vec<OsString>) -> Result<Self, clap::Error> {
        let name = typed(words.first());
        // Without this, clap would use the path of the file as the name.
        if let Some(first) = words.first_mut() {
            *first = OsString::from("hco-preflight");
        }
        let mut command = command_of(&name);
        if words.len() == 1 {
            words.push(OsString::from("--help"));
        }
        if let Some(word) = behind_cluster(&words) {
            let word = one_line(&word.to_string_lossy());
            return Err(command.error(
                clap::error::ErrorKind::UnknownArgument,
                format!("--cluster takes no name, and there is no file `{word}`; to use a context of the kubeconfig, use --cluster --context {word}"),
            ));
        }
        if let Some(word) = option_and_file(&words) {
            let word = one_line(&word.to_string_lossy());
            return Err(command.error(
                clap::error::ErrorKind::UnknownArgument,
                format!("`{word}` is an option and also the name of a file; to name files, use ./*.yaml instead of *.yaml"),
            ));
        }
        let matches = command.try_get_matches_from_mut(words)?;
        let args = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command));
        let mut args = args?;
        let piped = piped(&name, &command, &matches);
        if let Some(connection) = args.command.as_mut().and_then(Command::connection) {
            connection.without_empty();
        }
        match &mut args.command {
            _ if args.version => args.command = None,
            Some(Command::Check(Check { subject, .. }) | Command::Fix(Fix { subject, .. })) => {
                subject.filename.append(&mut subject.files);
                subject.walk.piped = piped;
            }
            Some(Command::Plan(plan)) => plan.piped = piped,
            Some(Command::Images(images)) => images.walk.piped = piped,
            Some(_) => {}
            None => {
                return Err(command.error(
                    clap::error::ErrorKind::MissingSubcommand,
                    format!("a command is missing, for example `{name} check`; `{name} --help` lists all commands"),
                ));
            }
        }
        Ok(Self { name, ..args })
    }

    /// The clap command, for completions.
    pub(crate) fn command() -> clap::Command {
        command_of("hco-preflight")
    }
}

/// The word after `--cluster`, if it looks like the name of a cluster, which users of kubectl may expect. Files don't
/// count, because pre-commit puts them after all arguments.
fn behind_cluster(words: &[OsString]) -> Option<&OsString> {
    let options = words.split(|word| word == "--").next()?;
    let pairs = options.iter().zip(options.iter().skip(1));
    let mut behind = pairs.filter(|(word, _)| *word == "--cluster");
    let (_, word) = behind.next()?;
    let is_option = word.as_encoded_bytes().starts_with(b"-");
    (!is_option && (Path::new(word).is_dir() || !Path::new(word).exists())).then_some(word)
}

/// An option that is also the name of a file. A shell may have expanded it from `*.yaml`, so the name of a file would
/// change the check.
fn option_and_file(words: &[OsString]) -> Option<&OsString> {
    let mut options = words.split(|word| word == "--").next()?.iter().skip(1);
    options.find(|word| {
        word.len() > 1
            && word.as_encoded_bytes().starts_with(b"-")
            && Path::new(word).symlink_metadata().is_ok()
    })
}

/// The typed command, with standard input in place of its files.
fn piped(name: &str, command: &clap::Command, matches: &ArgMatches) -> String {
    const OF_FILES: [&str; 4] = ["filename", "recursive", "include_ignored", "exclude"];
    let Some((subcommand, matches)) = matches.subcommand() else {
        return String::new();
    };
    let mut words = format!("{name} {subcommand} -f -");
    let arguments = command.find_subcommand(subcommand).into_iter();
    for argument in arguments.flat_map(clap::Command::get_arguments) {
        let id = argument.get_id().as_str();
        let Some(long) = argument.get_long().filter(|_| !OF_FILES.contains(&id)) else {
            continue;
        };
        // `--help` is not an argument with a value.
        let is_typed = matches.try_contains_id(id).is_ok()
            && matches.value_source(id) == Some(ValueSource::CommandLine);
        if !is_typed {
            continue;
        }
        if !argument.get_action().takes_values() {
            words.extend([" --", long]);
            continue;
        }
        for value in matches.get_raw(id).into_iter().flatten() {
            let value = match value.to_str() {
                _ if id == "token" => "TOKEN".to_owned(),
                // Standard input is already in use.
                Some("-") => "FILE".to_owned(),
                _ => shell_word(&one_line(&value.to_string_lossy())),
            };
            // With a blank, the value would be read as an option.
            let between = if value.starts_with('-') { "=" } else { " " };
            words.extend([" --", long, between, &value]);
        }
    }
    words
}

fn command_of(name: &str) -> clap::Command {
    let words = <Args as CommandFactory>::command();
    let commands: Vec<String> = words
        .get_subcommands()
        .filter(|it| it.get_name() != "check")
        .filter(|it| it.get_arguments().any(|it| it.get_id() == "context"))
        .map(|it| it.get_name().to_owned())
        .collect();
    let words = commands.into_iter().fold(words, |words, command| {
        words.mut_subcommand(command, |command| {
            command.mut_arg("context", |it| {
                it.action(ArgAction::Set)
                    .help("The context to use instead of the current one")
            })
        })
    });
    words
        .mut_subcommand("fix", |fix| fix.mut_arg("old", |it| it.hide(true)))
        // The positional arguments are all of one kind.
        .mut_subcommand("images", |images| {
            images.mut_args(|it| it.help_heading(None))
        })
        .name("hco-preflight")
        .bin_name(name)
        .after_help(EXAMPLES.replace("hco-preflight", name))
}

/// The name with which the program was called. For a kubectl plugin, the file of the program is
/// `kubectl-hco_preflight`.
fn typed(first: Option<&OsString>) -> String {
    let stem = first
        .and_then(|path| Path::new(path).file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let stem = stem.strip_suffix(".exe").unwrap_or(&stem);
    match stem.strip_prefix("kubectl-") {
        Some(plugin) => format!("kubectl {}", plugin.replace('-', " ").replace('_', "-")),
        None if stem.is_empty() => "hco-preflight".to_owned(),
        None => stem.to_owned(),
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_finds_no_contradiction() {
        command_of("hco-preflight").debug_assert();
    }

    #[test]
    fn the_name_is_what_was_typed() {
        for (path, name) in [
            ("/usr/bin/hco-preflight", "hco-preflight"),
            ("/usr/bin/kubectl-hco_preflight", "kubectl hco-preflight"),
            ("kubectl-hco_preflight.exe", "kubectl hco-preflight"),
            ("", "hco-preflight"),
        ] {
            assert_eq!(typed(Some(&OsString::from(path))), name);
        }
        assert_eq!(typed(None), "hco-preflight");
    }
}
