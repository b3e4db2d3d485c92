//! `artifacthub-pkg.yml`: the policy's page on Artifact Hub, and the values that Rancher reads from it.
//!
//! MIRRORS: kubewarden-controller crates/policy-evaluator/src/policy_artifacthub.rs, field by field.
//! DIVERGES: `createdAt` is the date of the release, so that the file is always the same, the category and the changes are
//! added, and the text about the installation includes the permissions.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::{Change, Changelog, Metadata};

/// The first lines of the file.
const HEAD: &str = "# The policy's page on Artifact Hub. Written by `make artifacthub-pkg.yml` from policy-metadata.yml,\n\
                    # questions-ui.yml and CHANGELOG.md: change those.\n";

/// One of the categories of Artifact Hub.
const CATEGORY: &str = "integration-delivery";

/// The date for an unreleased version: the field is required.
const NOT_RELEASED: &str = "1970-01-01";

/// Whether the version must be released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// The changelog must contain its date.
    Released,
    /// Any date is accepted, and an unreleased version has no changes yet, so this file changes only
    /// with a release.
    Whenever,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Package<'p> {
    version: String,
    name: &'p str,
    display_name: &'p str,
    created_at: String,
    description: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<&'p str>,
    #[serde(rename = "homeURL", skip_serializing_if = "Option::is_none")]
    home_url: Option<&'p str>,
    containers_images: [Image; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    keywords: Option<Vec<&'p str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<Link>>,
    install: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    maintainers: Option<Vec<Maintainer<'p>>>,
    provider: Provider,
    recommendations: [Recommendation; 1],
    annotations: BTreeMap<&'static str, String>,
    category: &'static str,
    #[serde(skip_serializing_if = "<[Change]>::is_empty")]
    changes: &'p [Change],
}

#[derive(Serialize)]
struct Image {
    name: &'static str,
    image: String,
}

#[derive(Serialize)]
struct Link {
    name: &'static str,
    url: String,
}

#[derive(Serialize)]
struct Maintainer<'p> {
    name: &'p str,
    email: &'p str,
}

#[derive(Serialize)]
struct Provider {
    name: &'static str,
}

#[derive(Serialize)]
struct Recommendation {
    url: &'static str,
}

/// The text of the file.
///
/// # Errors
///
/// If an annotation is not valid for Artifact Hub, or a required release date is missing.
pub fn artifact_hub_package(
    metadata: &Metadata,
    questions: &str,
    changelog: &Changelog,
    created: Created,
) -> Result<String> {
    check_questions(questions)?;
    let version = metadata.version()?;
    let reference = metadata.reference()?;
    let release = changelog.release(&version.to_string());
    let day = match (release.and_then(|release| release.date.as_deref()), created) {
        (Some(day), _) => day,
        (None, Created::Whenever) => NOT_RELEASED,
        (None, Created::Released) => {
            bail!(
                "CHANGELOG.md does not say when {version} was released: head its changes with `## {version} - YYYY-MM-DD`"
            )
        }
    };
    let optional = |key: &str| metadata.annotations.get(key).map(String::as_str);
    let package = Package {
        name: metadata.annotation("io.kubewarden.policy.title")?,
        display_name: metadata.annotation("io.artifacthub.displayName")?,
        created_at: format!("{day}T00:00:00Z"),
        description: metadata.annotation("io.kubewarden.policy.description")?,
        license: optional("io.kubewarden.policy.license"),
        home_url: optional("io.kubewarden.policy.url"),
        containers_images: [Image {
            name: "policy",
            image: reference.clone(),
        }],
        keywords: optional("io.artifacthub.keywords")
            .map(keywords)
            .transpose()?,
        links: optional("io.kubewarden.policy.source")
            .map(|source| links(source, &version.to_string())),
        install: install(
            &reference,
            metadata.annotation("io.kubewarden.policy.source")?,
            &version.to_string(),
        ),
        maintainers: optional("io.kubewarden.policy.author")
            .map(maintainers)
            .transpose()?,
        provider: Provider { name: "kubewarden" },
        recommendations: [Recommendation {
            url: "https://artifacthub.io/packages/helm/kubewarden/admission-controller",
        }],
        annotations: annotations(metadata, questions)?,
        category: CATEGORY,
        changes: release.map_or(&[], |release| &release.changes),
        version: version.to_string(),
    };
    Ok(format!("{HEAD}{}", yaml_serde::to_string(&package)?))
}

/// Rancher would silently omit a value that it cannot read.
fn check_questions(questions: &str) -> Result<()> {
    #[derive(Deserialize)]
    struct Form {
        questions: Vec<yaml_serde::Mapping>,
    }
    let form: Form = yaml_serde::from_str(questions).context("questions-ui.yml")?;
    ensure!(
        !form.questions.is_empty(),
        "questions-ui.yml: there is no question"
    );
    Ok(())
}

fn keywords(list: &str) -> Result<Vec<&str>> {
    let words: Vec<&str> = list.split(',').map(str::trim).collect();
    if words.contains(&"") {
        bail!(
            "the policy's metadata: the annotation io.artifacthub.keywords has an empty word in `{list}`"
        );
    }
    Ok(words)
}

fn links(source: &str, version: &str) -> Vec<Link> {
    let mut links = Vec::new();
    if source.starts_with("https://github.com/") {
        links.push(Link {
            name: "policy",
            url: format!("{source}/releases/download/v{version}/policy.wasm"),
        });
    }
    links.push(Link {
        name: "source",
        url: source.to_owned(),
    });
    links
}

/// `Name <mail>, Name <mail>`.
fn maintainers(authors: &str) -> Result<Vec<Maintainer<'_>>> {
    let one = |author| -> Option<Maintainer<'_>> {
        let (name, email) = str::trim(author).strip_suffix('>')?.split_once('<')?;
        email.contains('@').then_some(Maintainer {
            name: name.trim(),
            email,
        })
    };
    let all: Option<Vec<_>> = authors.split(',').map(one).collect();
    all.with_context(|| {
        format!("the policy's metadata: the annotation io.kubewarden.policy.author must be `Name <mail>, …`, not `{authors}`")
    })
}

fn install(reference: &str, source: &str, version: &str) -> String {
    format!(
        "You need Kubewarden 1.35 or later. The policy reads the nodes of the cluster (its policy for virtual machines reads \
         HyperConverged, KubeVirt, and DataSources instead). The manifests in the repository grant these permissions, add a \
         dedicated PolicyServer, and start the policy in `monitor` mode, which denies nothing. They use the module \
         `registry://{reference}`.\n\
         \n\
         1. Clone the repository:\n\
         ```console\n\
         git clone --branch v{version} {source} && cd hco-architecture-guard\n\
         kubectl get policyserver default -o jsonpath='{{.spec.image}}'\n\
         ```\n\
         2. In `deploy/base/kubewarden.yaml`, set `policyServerImage` to the image that the second command prints.\n\
         3. In `deploy/my-cluster/kustomization.yaml`, choose your platform. For HCO 1.17 and earlier, add `v1beta1-only`.\n\
         4. Apply it:\n\
         ```console\n\
         kubectl apply -k deploy/my-cluster\n\
         ```\n\
         The page [Install the policy]({source}/blob/v{version}/docs/install-policy.md) explains each step for OpenShift \
         Virtualization and OKD.\n"
    )
}

fn annotations(metadata: &Metadata, questions: &str) -> Result<BTreeMap<&'static str, String>> {
    let mut annotations = BTreeMap::from([
        ("kubewarden/mutation", metadata.mutating.to_string()),
        ("kubewarden/rules", yaml_serde::to_string(&metadata.rules)?),
        ("kubewarden/questions-ui", questions.to_owned()),
    ]);
    if !metadata.context_aware_resources.is_empty() {
        let resources = yaml_serde::to_string(&metadata.context_aware_resources)?;
        annotations.insert("kubewarden/contextAwareResources", resources);
    }
    for (ours, theirs) in [
        ("io.artifacthub.resources", "kubewarden/resources"),
        ("io.kubewarden.hidden-ui", "kubewarden/hidden-ui"),
    ] {
        if let Some(value) = metadata.annotations.get(ours) {
            annotations.insert(theirs, value.clone());
        }
    }
    Ok(annotations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(from: &str, to: &str) -> Metadata {
        let text = include_str!("../../policy-metadata.yml");
        assert!(text.contains(from));
        Metadata::parse(&text.replace(from, to)).unwrap()
    }

    fn package(metadata: &Metadata, changelog: &str, created: Created) -> Result<String> {
        artifact_hub_package(
            metadata,
            "questions: [{variable: updates}]",
            &Changelog::parse(changelog)?,
            created,
        )
    }

    #[test]
    fn a_release_needs_its_day() {
        let metadata = metadata("mutating: false", "mutating: false");
        let version = metadata.version().unwrap();
        let released = format!("## {version} - 2026-12-24\n### Added\n- It.");
        let text = package(&metadata, &released, Created::Released).unwrap();
        assert!(text.contains("createdAt: 2026-12-24T00:00:00Z"), "{text}");
        assert!(text.contains("description: It."), "{text}");
        let error = package(&metadata, "## Unreleased", Created::Released).unwrap_err();
        assert!(error.to_string().contains("when"), "{error}");
        let text = package(
            &metadata,
            "## Unreleased\n### Added\n- More.",
            Created::Whenever,
        )
        .unwrap();
        assert!(!text.contains("More"), "{text}");
        assert!(text.contains("createdAt: 1970-01-01T00:00:00Z"), "{text}");
    }

    #[test]
    fn an_author_without_mail_is_refused() {
        let metadata = metadata("<hco-architecture-guard@example.com>", "");
        let error = package(&metadata, "## Unreleased", Created::Whenever).unwrap_err();
        assert!(error.to_string().contains("policy.author"), "{error}");
    }

    #[test]
    fn a_form_that_cannot_be_read_is_refused() {
        let changelog = Changelog::parse("## Unreleased").unwrap();
        let metadata = metadata("mutating: false", "mutating: false");
        for questions in ["questions: a: b", "questions: []", "question: [{}]"] {
            let package = artifact_hub_package(&metadata, questions, &changelog, Created::Whenever);
            let error = package.unwrap_err().to_string();
            assert!(error.contains("questions-ui.yml"), "{error}");
        }
    }

    #[test]
    fn an_empty_keyword_is_refused() {
        let metadata = metadata("kubevirt, hyperconverged", "kubevirt,, hyperconverged");
        let error = package(&metadata, "## Unreleased", Created::Whenever).unwrap_err();
        assert!(error.to_string().contains("keywords"), "{error}");
    }
}
