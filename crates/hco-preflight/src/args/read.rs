//! Parses the command line into the arguments of a command.

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory, FromArgMatches};
use cluster::foreign::one_line;

use super::{Args, Check, Command, EXAMPLES, Fix};

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
        if let Command::Check(Check { subject, .. }) | Command::Fix(Fix { subject, .. }) =
            &mut args.command
        {
            subject.filename.append(&mut subject.files);
        }
        Ok(Self { name, ..args })
    }

    /// The clap command, for completions.
    pub(crate) fn command() -> clap::Command {
        command_of("hco-preflight")
    }
}

/// An option that is also the name of a file. A shell may have expanded it from `*.yaml`, so the name of a file would
/// change the check.
fn option_and_file(words: &[OsString]) -> Option<&OsString> {
    words
        .split(|word| word == "--")
        .next()?
        .iter()
        .skip(1)
        .find(|word| {
            word.len() > 1
                && word.as_encoded_bytes().starts_with(b"-")
                && Path::new(word).symlink_metadata().is_ok()
        })
}

fn command_of(name: &str) -> clap::Command {
    let (version, rules) = (env!("CARGO_PKG_VERSION"), engine::RULES.len());
    // clap requires a string that is never freed.
    let version: &str = Box::leak(format!("{version}\nrules {rules}").into_boxed_str());
    <Args as CommandFactory>::command()
        // The positional arguments are all of one kind.
        .mut_subcommand("images", |images| {
            images.mut_args(|arg| arg.help_heading(None))
        })
        .name("hco-preflight")
        .version(version)
        .bin_name(name)
        .after_help(EXAMPLES.replace("hco-preflight", name))
}

/// The name with which the program was called. For a kubectl plugin, the file of the program is
/// `kubectl-hco_preflight`.
fn typed(first: Option<&OsString>) -> String {
    let file = first
        .and_then(|path| Path::new(path).file_name())
        .unwrap_or_default()
        .to_string_lossy();
    match file.strip_prefix("kubectl-") {
        Some(plugin) => format!("kubectl {}", plugin.replace('-', " ").replace('_', "-")),
        None if file.is_empty() => "hco-preflight".to_owned(),
        None => file.into_owned(),
    }
}
