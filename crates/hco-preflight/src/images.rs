//! `images`: prints the architectures of images.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::args::{self, ImagesFormat};
use crate::exit::Exit;
use crate::input::files::{self, Found};
use crate::prose::{line, table};
use crate::templates;
use crate::terminal::{BOLD, DIM, GREEN, RED, Terminal, YELLOW, print_json};
use anstyle::Style;
use anyhow::{Context as _, Result, ensure};
use cluster::field::{name, text};
use cluster::foreign::{self, one_line};
use engine::{Availability, Contents, Image, is_architecture, why_unknown};
use policy_host::Registries;
use registry::Sources;
use serde::Serialize;
use serde_json::{Value, json};

const ANNOTATION: &str = "ssp.kubevirt.io/dict.architectures";

/// The architectures that KubeVirt supports. The table always has a column for each of them.
const COLUMNS: [&str; 3] = ["amd64", "arm64", "s390x"];

struct Row {
    image: Image,
    templates: Vec<Place>,
    contents: Result<Contents, String>,
}

#[derive(Serialize)]
struct Place {
    name: String,
    file: String,
    line: usize,
}

pub(crate) fn run(args: &args::Images, terminal: &Terminal) -> Result<Exit> {
    files::check_stdin(&args.filename)?;
    files::check_directories(&args.filename, &args.walk)?;
    let registries = registries(args.sources_path.as_deref())?;
    let files = files::read(&args.filename, args.walk.clone(), false);
    terminal.notes(&files.notes);
    let mut asked = Asked::default();
    for name in &args.names {
        asked.name(name);
    }
    asked
        .failures
        .extend(files.failures.iter().map(ToString::to_string));
    for found in &files.found {
        asked.object(found);
    }
    if !asked.unread.is_empty() {
        let names = one_line(&asked.unread.join(", "));
        terminal.note(&format!(
            "templates without a docker:// URL, for example with an image stream, are not read: {names}"
        ));
    }
    // The templates of a cluster without access to registries can have only image streams.
    ensure!(
        !asked.images.is_empty() || !asked.failures.is_empty() || !asked.unread.is_empty(),
        "no images to look up: specify images, for example quay.io/containerdisks/fedora:latest, or use -f with a manifest whose templates have a registry URL"
    );
    let mut failures = asked.failures;
    let rows = look_up(asked.images, &registries);
    for row in &rows {
        let image = &row.image;
        match &row.contents {
            Ok(contents) => failures.extend(
                contents
                    .unreadable()
                    .map(|(name, why)| format!("{image}: {name}: {}", why_unknown(why))),
            ),
            Err(why) => failures.push(format!("{image}: {why}")),
        }
    }
    for failure in &failures {
        terminal.failure(&one_line(failure));
    }
    match args.output {
        ImagesFormat::Text if rows.is_empty() => {}
        ImagesFormat::Text => terminal.print(&in_text(&rows))?,
        ImagesFormat::Json => print_json(&in_json(&rows))?,
    }
    Ok(if failures.is_empty() {
        Exit::Accepted
    } else {
        Exit::Unjudged
    })
}

#[derive(Default)]
struct Asked {
    images: Vec<(Image, Vec<Place>)>,
    failures: Vec<String>,
    /// The templates whose images are not looked up.
    unread: Vec<String>,
}

impl Asked {
    fn image(&mut self, image: Image, place: Option<Place>) {
        match self.images.iter_mut().find(|(other, _)| *other == image) {
            Some((_, templates)) => templates.extend(place),
            None => self.images.push((image, place.into_iter().collect())),
        }
    }

    fn name(&mut self, name: &str) {
        let bare = name.strip_prefix("docker://").unwrap_or(name);
        match Image::at(&format!("docker://{bare}")) {
            Some(Ok(image)) => self.image(image, None),
            Some(Err(_)) | None => self.failures.push(format!(
                "`{name}` is not an image such as quay.io/containerdisks/fedora:latest; to specify a file, use -f"
            )),
        }
    }

    fn object(&mut self, found: &Found) {
        let object = &found.object;
        for (path, template) in templates::of_spec(&object.value) {
            let Some(registry) = template.pointer("/spec/template/spec/source/registry") else {
                continue;
            };
            let url = text(registry, "/url").unwrap_or_default();
            let place = Place {
                name: name(template).to_owned(),
                file: found.source.name(),
                line: object.line_of(&path),
            };
            match Image::of_cron(url) {
                Some(Ok(image)) => self.image(image, Some(place)),
                Some(Err(why)) => {
                    let Place { name, file, line } = &place;
                    let why = why_unknown(&why);
                    let failure = format!("{file}:{line}: template `{name}`: {url}: {why}");
                    self.failures.push(failure);
                }
                None => self.unread.push(format!("`{}`", place.name)),
            }
        }
    }
}

pub(crate) fn registries(sources: Option<&Path>) -> Result<Registries> {
    let read = |path| {
        let sources = cluster::files::text(path).and_then(|text| Sources::from_bytes(&text));
        sources.with_context(|| format!("--sources-path {}", foreign::path(path)))
    };
    let described = sources.map(read).transpose()?;
    Ok(Registries::new(described.unwrap_or_default()))
}

fn look_up(images: Vec<(Image, Vec<Place>)>, registries: &Registries) -> Vec<Row> {
    let names = images.iter().map(|(image, _)| image.clone()).collect();
    let mut found = registries.contents(names, &COLUMNS.map(str::to_owned).into());
    let row = |(image, templates)| {
        let contents = found.remove(&image)?.map_err(|why| why_unknown(&why));
        Some(Row {
            image,
            templates,
            contents,
        })
    };
    images.into_iter().filter_map(row).collect()
}

impl Row {
    fn cell(&self, architecture: &str) -> (Style, String) {
        let (style, sign) = match &self.contents {
            Err(_) => (YELLOW, "?"),
            Ok(contents) => match contents.availability.get(architecture) {
                Some(Availability::Unreadable(_)) => (YELLOW, "?"),
                Some(Availability::ListedButMissing | Availability::Contradicts(_)) => (RED, "✘"),
                _ if contents.supported.contains(architecture) => (GREEN, "✔"),
                _ => (DIM, "–"),
            },
        };
        (style, sign.to_owned())
    }
}

/// The architectures that can be imported, in alphabetical order.
fn architectures(contents: &Contents) -> impl Iterator<Item = &str> {
    let is_read = |name: &&str| contents.unreadable().all(|(other, _)| other != *name);
    contents
        .supported
        .iter()
        .map(String::as_str)
        .filter(is_read)
}

/// The value of the annotation, with only the names that the policy accepts.
fn annotation(contents: &Contents) -> String {
    sorted(architectures(contents).filter(|name| is_architecture(name))).join(",")
}

fn notes(contents: &Contents) -> BTreeMap<&str, String> {
    let mut notes = BTreeMap::new();
    for (name, found) in &contents.availability {
        let note = match found {
            Availability::Present | Availability::Absent => continue,
            // No release of CDI has this yet: commit 2fb3fd570.
            Availability::Bootc => {
                "a bootc image, which later versions of CDI do not import".to_owned()
            }
            Availability::ListedButMissing => {
                "listed, but not in the registry: mirror it".to_owned()
            }
            Availability::Contradicts(other) => {
                format!("listed, but its configuration says `{other}`")
            }
            Availability::Unreadable(why) => {
                format!("listed, but cannot be read: {}", why_unknown(why))
            }
        };
        notes.insert(name.as_str(), note);
    }
    notes
}

/// The names, with the architectures of the columns first.
fn sorted<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let mut sorted = Vec::from_iter(names);
    sorted.sort_by_key(|name| !COLUMNS.contains(name));
    sorted
}

fn in_text(rows: &[Row]) -> String {
    let mut named = BTreeSet::from(COLUMNS);
    for contents in rows.iter().flat_map(|row| &row.contents) {
        named.extend(contents.supported.iter().map(String::as_str));
    }
    let columns = sorted(named);
    let heads: Vec<String> = columns.iter().map(|column| one_line(column)).collect();
    let cells = |row: &Row| columns.iter().map(|column| row.cell(column)).collect();
    let cells: Vec<(String, Vec<_>)> = rows
        .iter()
        .map(|row| (row.image.to_string(), cells(row)))
        .collect();
    let mut text = String::new();
    table(&mut text, ("", usize::MAX), "image", &heads, &cells);
    for row in rows {
        let Ok(contents) = &row.contents else {
            continue;
        };
        line!(text, "\n{BOLD}{}{BOLD:#}", row.image);
        for Place { name, file, line } in &row.templates {
            let place = one_line(&format!("template `{name}` ({file}:{line})"));
            line!(text, "  {DIM}{place}{DIM:#}");
        }
        for (name, note) in notes(contents) {
            line!(text, "  {}", one_line(&format!("{name}: {note}")));
        }
        let annotation = annotation(contents);
        if !annotation.is_empty() {
            line!(text, "  {ANNOTATION}: \"{annotation}\"");
        }
    }
    text
}

fn in_json(rows: &[Row]) -> Value {
    let images = rows
        .iter()
        .map(|row| {
            let contents = row.contents.as_ref();
            let mut row = json!({
                "image": row.image.to_string(),
                "templates": row.templates,
                "architectures": contents.ok().map(|contents| architectures(contents).collect::<Vec<_>>()),
                "notes": contents.ok().map(notes).filter(|notes| !notes.is_empty()),
                "annotations": contents.ok().map(|contents| json!({ANNOTATION: annotation(contents)})),
                "error": contents.err(),
            });
            if let Some(fields) = row.as_object_mut() {
                fields.retain(|_, value| !value.is_null());
            }
            row
        })
        .collect::<Vec<_>>();
    json!({"images": images})
}
