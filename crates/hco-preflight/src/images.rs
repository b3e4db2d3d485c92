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
use anyhow::{Context as _, Result, bail};
use cluster::field::{name, text};
use cluster::foreign::{self, one_line};
use engine::{
    Availability, Contents, Image, ImageKind, is_architecture, why_unimportable, why_unknown,
};
use policy_host::Registries;
use registry::Sources;
use serde::Serialize;
use serde_json::{Value, json};

const ANNOTATION: &str = "ssp.kubevirt.io/dict.architectures";

/// The architectures that KubeVirt supports. The table always has a column for each of them.
const COLUMNS: [&str; 3] = ["amd64", "arm64", "s390x"];

struct Row {
    image: Image,
    /// The templates that use it.
    templates: Vec<Place>,
    /// The answer of the registry, or the error.
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
    let files = files::read(&args.filename, args.walk.clone(), &[]);
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
    for (what, templates) in &asked.unread {
        let templates = Vec::from_iter(templates.clone()).join(", ");
        terminal.note(&format!("templates {what} are not read: {templates}"));
    }
    // A cluster without access to registries can have only image streams, so that there are no images to look up.
    let has_streams = asked.unread.contains_key(WITH_STREAM);
    if asked.rows.is_empty() && asked.failures.is_empty() && !has_streams {
        bail!(
            "no images to look up: specify images, for example quay.io/containerdisks/fedora:latest, or use -f with a manifest whose templates have a registry URL"
        );
    }
    let Asked {
        mut rows,
        mut failures,
        ..
    } = asked;
    look_up(&mut rows, &registries);
    for row in &rows {
        let errors = row.errors().into_iter();
        failures.extend(errors.map(|why| one_line(&format!("{}: {why}", row.image))));
    }
    for failure in &failures {
        terminal.failure(failure);
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

/// A template whose image is not looked up.
const WITH_STREAM: &str =
    "with an image stream (CDI imports one digest of it for all architectures)";

#[derive(Default)]
struct Asked {
    /// The images, before they are looked up.
    rows: Vec<Row>,
    failures: Vec<String>,
    /// The templates whose images are not looked up, by reason.
    unread: BTreeMap<&'static str, BTreeSet<String>>,
}

impl Asked {
    fn image(&mut self, image: Image, place: Option<Place>) {
        match self.rows.iter_mut().find(|row| row.image == image) {
            Some(row) => row.templates.extend(place),
            None => self.rows.push(Row {
                image,
                templates: place.into_iter().collect(),
                contents: Err(String::new()),
            }),
        }
    }

    fn fail(&mut self, why: &str) {
        self.failures.push(one_line(why));
    }

    fn name(&mut self, name: &str) {
        let bare = name.strip_prefix("docker://").unwrap_or(name);
        match Image::at(&format!("docker://{bare}")) {
            Some(Ok(image)) => self.image(image, None),
            Some(Err(_)) | None => self.fail(&format!(
                "`{name}` is not an image such as quay.io/containerdisks/fedora:latest; to specify a file, use -f"
            )),
        }
    }

    /// The images of a HyperConverged's templates.
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
                    let why = why_unimportable(why);
                    self.fail(&format!("{file}:{line}: template `{name}`: {url}: {why}"));
                }
                None => {
                    let what = registry
                        .get("imageStream")
                        .filter(|stream| !stream.is_null())
                        .map_or("without a docker:// URL", |_| WITH_STREAM);
                    let name = one_line(&format!("`{}`", place.name));
                    self.unread.entry(what).or_default().insert(name);
                }
            }
        }
    }
}

/// The registries that this sources.yml describes.
pub(crate) fn registries(sources: Option<&Path>) -> Result<Registries> {
    let read = |path| {
        let sources = cluster::files::text(path).and_then(|text| Sources::from_bytes(&text));
        sources.with_context(|| format!("--sources-path {}", foreign::path(path)))
    };
    let described = sources.map(read).transpose()?;
    Ok(Registries::new(described.unwrap_or_default()))
}

/// Looks up all images in parallel.
fn look_up(rows: &mut [Row], registries: &Registries) {
    let images = rows.iter().map(|row| row.image.clone()).collect();
    let read = registries.contents(images, &COLUMNS);
    for row in rows {
        if let Some(found) = read.get(&row.image) {
            row.contents = found.clone().map_err(|why| why_unknown(&why));
        }
    }
}

impl Row {
    /// The architectures that can be imported; `None` if they are unknown.
    fn architectures(&self) -> Option<BTreeSet<&str>> {
        let contents = self.contents.as_ref().ok()?;
        let mut names: BTreeSet<&str> = contents.supported.iter().map(String::as_str).collect();
        for (name, _) in contents.unreadable() {
            names.remove(name);
        }
        Some(names)
    }

    /// Why the image, or its parts for architectures, could not be read.
    fn errors(&self) -> Vec<String> {
        match &self.contents {
            Ok(contents) => {
                let unreadable = contents.unreadable();
                unreadable
                    .map(|(name, why)| format!("{name}: {}", why_unknown(why)))
                    .collect()
            }
            Err(error) => vec![error.clone()],
        }
    }

    /// Whether the image can be imported for an architecture.
    fn cell(&self, architecture: &str) -> (Style, String) {
        let (style, sign) = match &self.contents {
            Ok(contents) => match contents.availability.get(architecture) {
                Some(Availability::Unreadable(_)) => (YELLOW, "?"),
                Some(Availability::ListedButMissing | Availability::Contradicts(_)) => (RED, "✘"),
                _ if contents.supported.contains(architecture) => (GREEN, "✔"),
                _ => (DIM, "–"),
            },
            Err(_) => (YELLOW, "?"),
        };
        (style, sign.to_owned())
    }

    fn notes(&self) -> BTreeMap<&str, String> {
        let contents = self.contents.as_ref().ok();
        contents
            .into_iter()
            .flat_map(|contents| contents.availability.iter())
            .filter_map(|(name, found)| {
                let note = match found {
                    Availability::Present(ImageKind::ContainerDisk) | Availability::Absent => None,
                    // No release of CDI has this yet: commit 2fb3fd570.
                    Availability::Present(ImageKind::Bootc) => {
                        Some("a bootc image, which later versions of CDI do not import".to_owned())
                    }
                    Availability::ListedButMissing => {
                        Some("listed, but not in the registry: mirror it".to_owned())
                    }
                    Availability::Contradicts(other) => {
                        Some(format!("listed, but its configuration says `{other}`"))
                    }
                    Availability::Unreadable(why) => {
                        Some(format!("listed, but cannot be read: {}", why_unknown(why)))
                    }
                };
                Some((name.as_str(), note?))
            })
            .collect()
    }
}

/// The value of the annotation: only names that the policy accepts, starting with the architectures of the columns.
fn annotation(architectures: &BTreeSet<&str>) -> String {
    let (of_columns, others): (Vec<&str>, Vec<&str>) = architectures
        .iter()
        .copied()
        .filter(|name| is_architecture(name))
        .partition(|name| COLUMNS.contains(name));
    [of_columns, others].concat().join(",")
}

fn in_text(rows: &[Row]) -> String {
    let named: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.contents.as_ref().ok())
        .flat_map(|contents| {
            let listed = contents
                .availability
                .iter()
                .filter(|(_, found)| **found != Availability::Absent)
                .map(|(name, _)| name);
            contents.supported.iter().chain(listed)
        })
        .map(String::as_str)
        .collect();
    let mut columns: Vec<&str> = COLUMNS.to_vec();
    columns.extend(named.into_iter().filter(|name| !COLUMNS.contains(name)));
    let heads: Vec<String> = columns.iter().map(|column| one_line(column)).collect();
    let cells: Vec<(String, Vec<_>)> = rows
        .iter()
        .map(|row| {
            let cells = columns.iter().map(|column| row.cell(column));
            (row.image.to_string(), cells.collect())
        })
        .collect();
    let mut text = String::new();
    table(&mut text, ("", usize::MAX), "image", &heads, &cells);
    for row in rows {
        let Some(architectures) = row.architectures() else {
            continue;
        };
        line!(text, "\n{BOLD}{}{BOLD:#}", row.image);
        for Place { name, file, line } in &row.templates {
            let place = one_line(&format!("template `{name}` ({file}:{line})"));
            line!(text, "  {DIM}{place}{DIM:#}");
        }
        for (name, note) in row.notes() {
            line!(text, "  {}", one_line(&format!("{name}: {note}")));
        }
        let value = annotation(&architectures);
        if !value.is_empty() {
            // Quoted as JSON, which is valid YAML, because the name of an architecture in an image can be any text.
            let value = foreign::json(Value::from(value).to_string());
            line!(text, "  {ANNOTATION}: {value}");
        }
    }
    text
}

/// Unknown values are left out.
fn in_json(rows: &[Row]) -> Value {
    let images = rows
        .iter()
        .map(|row| {
            let architectures = row.architectures();
            let annotation = architectures.as_ref().map(annotation);
            let mut row = json!({
                "image": row.image.to_string(),
                "templates": row.templates,
                "architectures": architectures,
                "notes": Some(row.notes()).filter(|notes| !notes.is_empty()),
                "annotations": annotation.map(|value| json!({ANNOTATION: value})),
                "error": row.contents.as_ref().err(),
            });
            if let Some(fields) = row.as_object_mut() {
                fields.retain(|_, value| !value.is_null());
            }
            row
        })
        .collect::<Vec<_>>();
    json!({"images": images})
}
