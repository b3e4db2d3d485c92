//! `record`: what kwctl needs to repeat a check, and the command that does.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use policy_host::Record;

use crate::args;
use crate::exit::Exit;
use crate::foreign::{self, shell_word};
use crate::notes::Notes;
use crate::stage::{self, Purpose};
use crate::terminal::Terminal;

/// Writes the files beside one another and prints a command for each object.
pub(crate) fn run(args: &args::Record, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let purpose = Purpose::Check(args.sent.as_if);
    let prepared = stage::prepare(&args.subject, purpose, &mut notes);
    terminal.notes(&notes);
    let prepared = prepared?;
    if let Some(failure) = prepared.failures().first() {
        bail!("{failure}");
    }
    let to = &args.to;
    std::fs::create_dir_all(to)
        .with_context(|| format!("{} cannot be created", foreign::path(to)))?;
    let write = |path: &Path, text: &str| write(path, text, args.force);
    let word = |path: &Path| shell_word(&path.display().to_string());
    let module = args.subject.policy.as_deref();
    let module = module.unwrap_or_else(|| Path::new("annotated-policy.wasm"));
    let mut commands = String::new();
    let pairs = prepared.pairs();
    for (index, (question, settings)) in pairs.iter().enumerate() {
        // Most people have one object, and one policy.
        let number = if pairs.len() == 1 {
            String::new()
        } else {
            format!("-{}", index + 1)
        };
        let settings_file = to.join(format!("settings{number}.json"));
        write(&settings_file, &settings.value.to_string())?;
        let request = question.request(question.sent());
        let record = Arc::new(Record::new(prepared.host(question)));
        prepared.report_of(question, settings, Arc::clone(&record) as _)?;
        let request_file = to.join(format!("request{number}.json"));
        write(&request_file, &format!("{request:#}\n"))?;
        let session_file = to.join(format!("session{number}.yml"));
        write(&session_file, &record.session().to_text()?)?;
        // Writing to a String cannot fail.
        let _ = writeln!(
            commands,
            "kwctl run {} --allow-context-aware --settings-path {} --request-path {} --replay-host-capabilities-interactions {}",
            word(module),
            word(&settings_file),
            word(&request_file),
            word(&session_file)
        );
    }
    if args.subject.policy.is_none() {
        terminal.note("annotated-policy.wasm is the policy as it is deployed: build it with `make annotated-policy.wasm`, or use the registry:// address of the policy instead");
    }
    terminal.print(&commands)?;
    Ok(Exit::Accepted)
}

/// Not over a file of the user's, which may be the very one that was read.
fn write(path: &Path, text: &str, force: bool) -> Result<()> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .truncate(force)
        .create(force)
        .create_new(!force);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
            "{} already exists; choose another directory with --to, or overwrite the file with --force",
            foreign::path(path)
        ),
        file => file.and_then(|mut file| file.write_all(text.as_bytes())),
    }
    .with_context(|| format!("{} cannot be written", foreign::path(path)))
}
