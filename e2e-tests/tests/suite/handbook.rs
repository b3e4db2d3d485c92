//! The YAML in the pages of the handbook: settings that the policy accepts, manifests that kubectl renders, and pipelines
//! with existing names. `make e2e-cluster` applies the manifests of docs/options.md; crates/hco-preflight/tests runs the commands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use e2e_tests::repository::{documents, root, text};
use e2e_tests::{ClusterOf, FakeCluster, Page};
use serde_json::{Value, json};

use crate::schema::{crd, mistakes, schema};

/// Its position, the info string, and the YAML.
struct Block {
    page: String,
    info: String,
    text: String,
}

/// The pages in docs/, README.md, and CONTRIBUTING.md.
fn pages() -> Vec<Page> {
    let pages = ["docs", "docs/developers"]
        .into_iter()
        .flat_map(|directory| {
            let entries = std::fs::read_dir(root().join(directory)).unwrap();
            entries
                .map(move |entry| format!("{directory}/{}", entry.unwrap().file_name().display()))
        });
    let pages = pages.filter(|path| Path::new(path).extension().is_some_and(|it| it == "md"));
    let pages = pages.chain(["README.md".to_owned(), "CONTRIBUTING.md".to_owned()]);
    pages
        .map(|id| Page {
            text: text(&id),
            id,
        })
        .collect()
}

/// All blocks of YAML in the handbook. The engine's tests check the pages of the rules.
fn blocks() -> Vec<Block> {
    let pages = pages().into_iter();
    pages
        .flat_map(|page| {
            let blocks = page.blocks().into_iter();
            let yaml = blocks.filter(|(info, _)| info.starts_with("yaml"));
            yaml.map(|(info, text)| Block {
                page: page.id.clone(),
                info: info.to_owned(),
                text,
            })
            .collect::<Vec<_>>()
        })
        .collect()
}

fn is_kustomization(block: &Block) -> bool {
    block.text.contains("kind: Kustomization")
}

#[test]
fn every_block_is_checked() {
    let (mut settings, mut pipelines) = (0, 0);
    for block in blocks() {
        let Block { page, info, text } = &block;
        match info.as_str() {
            "yaml" if is_kustomization(&block) => {}
            "yaml" => {
                for document in documents(text) {
                    if document.get("kind").is_some() {
                        assert_eq!(page, "docs/options.md", "no test applies:\n{text}");
                    } else {
                        let checked = engine::validate_settings(document.to_string().as_bytes());
                        assert_eq!(checked, Ok(()), "{page}:\n{text}");
                        settings += 1;
                    }
                }
            }
            "yaml github" | "yaml gitlab" => {
                let file = documents(text).remove(0);
                names_what_is_there(page, &file);
                pipelines += 1;
            }
            "yaml pre-commit" => {
                let hooks = self::text(".pre-commit-hooks.yaml");
                let file = documents(text).remove(0);
                let id = file.pointer("/repos/0/hooks/0/id").and_then(Value::as_str);
                let wanted = format!("- id: {}\n", id.unwrap());
                assert!(hooks.contains(&wanted), "{page}: no hook {id:?}");
                pipelines += 1;
            }
            // The next test evaluates these.
            info if info.starts_with("yaml cluster=") => {}
            info => panic!("{page}: no test knows `{info}`:\n{text}"),
        }
    }
    assert!(
        settings >= 3 && pipelines >= 3,
        "{settings}, {pipelines}: blocks are missing"
    );
}

/// The blocks `yaml cluster=NAME VERDICT` of docs/heterogeneous.md: an object is accepted, or one rule denies it.
#[test]
fn the_examples_have_the_verdict_of_their_page() {
    let id = "docs/heterogeneous.md".to_owned();
    let text = text(&id);
    let page = Page { id, text };
    let blocks = page.blocks().into_iter();
    let blocks = blocks.filter(|(info, _)| info.starts_with("yaml cluster="));
    let mut evaluated = 0;
    for ((info, _), example) in blocks.zip(page.examples()) {
        let verdict = info.rsplit(' ').next().unwrap();
        let cluster = FakeCluster::of(&ClusterOf::Name(example.cluster));
        assert_eq!(denied_by(&example.object, &cluster), verdict, "{info}");
        evaluated += 1;
    }
    assert!(evaluated >= 3, "{evaluated} examples");
}

/// The HyperConverged objects in deploy/examples that are denied, or describe a cluster.
const NOT_ACCEPTED: [&str; 3] = [
    "amd64-cluster.yaml",
    "hyperconverged.yaml",
    "with-a-mistake.yaml",
];

/// The nodes in deploy/examples accept every other HyperConverged there, and HCO's CRD has its fields.
#[test]
fn the_examples_are_accepted() {
    let directory = root().join("deploy/examples");
    let documents_of = |name: &str| documents(&text(&format!("deploy/examples/{name}")));
    let nodes = documents_of("mixed-nodes.yaml").remove(0);
    let crd = crd("hco-main-2026-08-21");
    let mut evaluated = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().display().to_string();
        for object in documents_of(&name) {
            if object["kind"] != "HyperConverged" || NOT_ACCEPTED.contains(&name.as_str()) {
                continue;
            }
            let nodes = nodes["items"].as_array().unwrap().iter().cloned();
            let cluster = FakeCluster::with_nodes(nodes);
            assert_eq!(denied_by(&object, &cluster), "accepted", "{name}");
            let version = object["apiVersion"].as_str().unwrap();
            let version = version.trim_start_matches("hco.kubevirt.io/");
            let schema = &schema(&crd, version)["properties"]["spec"];
            assert_eq!(mistakes(schema, &object["spec"]).len(), 0, "{name}");
            evaluated += 1;
        }
    }
    assert!(evaluated >= 4, "{evaluated} examples");
}

/// The rule that denies an object, or `accepted`.
fn denied_by(object: &Value, cluster: &FakeCluster) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    let version = version.trim_start_matches("hco.kubevirt.io/");
    let payload = json!({"settings": {}, "request": {
        "uid": "0",
        "kind": {"group": "hco.kubevirt.io", "version": version, "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": object,
    }});
    let report = engine::validate(payload.to_string().as_bytes(), cluster);
    let findings = report.findings.iter();
    let mut denials = findings.filter(|finding| finding.level == engine::Outcome::Deny);
    match denials.next() {
        None => "accepted".to_owned(),
        Some(finding) => finding.rule.to_string(),
    }
}

/// The inputs of our action, and the reports that GitLab has.
fn names_what_is_there(page: &str, file: &Value) {
    let action = documents(&text("action.yml")).remove(0);
    if let Some(reports) = file.pointer("/hyperconverged/artifacts/reports") {
        for (report, _) in reports.as_object().unwrap() {
            assert_eq!(report, "codequality", "{page}");
        }
        return;
    }
    let mut seen = 0;
    for step in file["jobs"]["check"]["steps"].as_array().unwrap() {
        let uses = step["uses"].as_str().unwrap_or_default();
        if uses.contains("/hco-architecture-guard@") {
            seen += 1;
            for (input, _) in step["with"].as_object().into_iter().flatten() {
                assert!(action["inputs"].get(input).is_some(), "{page}: {input}");
            }
        }
    }
    assert_eq!(seen, 1, "{page}: our action");
}

/// The project has no public home yet: the command in CONTRIBUTING.md replaces the hosts of its repository and of its
/// artifacts, and `OWNER` in `uses:`.
#[test]
fn the_project_has_two_addresses() {
    let between = |path: &str, begin: &str, end: &str| {
        let text = text(path);
        let (_, rest) = text.split_once(begin).expect(path);
        rest.split_once(end).expect(path).0.to_owned()
    };
    let known = [
        between(
            "Cargo.toml",
            "repository = \"https://",
            "/hco-architecture-guard",
        ),
        between("policy-metadata.yml", "ociUrl: ", "/policies/"),
        // The registry and the repository of a user.
        "registry.example.com".to_owned(),
        "gitlab.example.com".to_owned(),
    ];
    let files = [
        "SECURITY.md",
        "artifacthub-pkg.yml",
        "deploy/base/policy.yaml",
    ];
    let files = files.map(|path| Page {
        id: path.to_owned(),
        text: text(path),
    });
    let mut seen = 0;
    for Page { id, text } in pages().into_iter().chain(files) {
        for line in text.lines() {
            let is_command = id == "CONTRIBUTING.md" && line.starts_with("$ ");
            let names_owner = line.contains("OWNER/") && !is_command;
            assert!(!names_owner || line.contains("uses: "), "{id}: {line}");
            for word in line.split(|letter: char| " =`\"'()<>".contains(letter)) {
                let Some((address, _)) = word.split_once("/hco-architecture-guard") else {
                    continue;
                };
                let address = address.rsplit("://").next().unwrap();
                let address = address.strip_suffix("/policies").unwrap_or(address);
                // Without a host, it is a path, a name in Kubernetes, or an action.
                if address.split('/').next().unwrap().contains('.') {
                    assert!(known.iter().any(|it| it == address), "{id}: {word}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen >= 20, "{seen} addresses");
}

/// `hco-preflight explain ALERT` prints a section of docs/alerts.md. Our own alerts have the severity of their
/// `PrometheusRule`.
#[test]
fn the_sections_about_alerts_have_the_same_parts() {
    let page = text("docs/alerts.md");
    let sections = page.split("\n## ").skip(1);
    let sections: BTreeMap<&str, &str> = sections.filter_map(|it| it.split_once('\n')).collect();
    for (name, section) in &sections {
        if name.contains(' ') {
            continue;
        }
        let mut rest = *section;
        let parts = [
            "- **Severity:**",
            "- **Meaning:**",
            "- **Impact:**",
            "**Fix:**",
        ];
        for part in parts {
            let (_, after) = rest.split_once(&format!("\n{part} ")).expect(name);
            rest = after;
        }
        let is_ours = name.starts_with("HCOArchitectureGuard");
        let runbook = format!("\n[Runbook](https://kubevirt.io/monitoring/runbooks/{name})");
        assert!(is_ours || rest.contains(&runbook), "{name}: {runbook}");
    }
    let rule = documents(&text("deploy/components/monitoring/alerts.yaml")).remove(0);
    let ours = rule["spec"]["groups"][0]["rules"].as_array().unwrap();
    for alert in ours {
        let name = alert["alert"].as_str().unwrap();
        let severity = alert["labels"]["severity"].as_str().unwrap();
        let line = format!("\n- **Severity:** {severity}.\n");
        assert!(sections[name].contains(&line), "{name}: {line}");
    }
    assert!(ours.len() >= 5, "{ours:?}");
}

/// The threat model names the tests that show what it claims.
#[test]
fn the_threat_model_names_tests_that_exist() {
    let page = text("docs/developers/threat-model.md");
    let mut tests = String::new();
    for directory in ["crates", "e2e-tests"] {
        read_all(&root().join(directory), &mut tests);
    }
    let mut seen = 0;
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let shown_by = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for name in shown_by.split('`').skip(1).step_by(2) {
            let is_there = if name.contains('/') {
                e2e_tests::cases().iter().any(|case| case.name == name)
                    || root().join(name).exists()
            } else if name.contains('_') {
                tests.contains(&format!("fn {name}("))
            } else {
                continue;
            };
            assert!(
                is_there,
                "docs/developers/threat-model.md: `{name}` does not exist"
            );
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen} names");
}

fn read_all(directory: &Path, to: &mut String) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, to);
        } else if path.extension().is_some_and(|end| end == "rs") {
            to.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The specs of the HyperConverged objects on the rules' pages, by the schema of HCO's main branch.
#[test]
fn the_examples_of_the_rules_are_valid_by_the_crd() {
    let crd = crd("hco-main-2026-08-21");
    let (mut found, mut seen) = (BTreeSet::new(), 0);
    for page in e2e_tests::pages() {
        for example in page.examples() {
            let object = example.object;
            let version = object["apiVersion"].as_str().unwrap();
            // KubeVirt's CRD is not here.
            let Some(version) = version.strip_prefix("hco.kubevirt.io/") else {
                continue;
            };
            let schema = &schema(&crd, version)["properties"]["spec"];
            for mistake in mistakes(schema, &object["spec"]) {
                found.insert(format!("{}: {mistake}", page.id));
            }
            seen += 1;
        }
    }
    assert_eq!(found, BTreeSet::new());
    assert!(seen >= 30, "{seen} examples");
}
