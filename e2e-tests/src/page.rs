//! The pages of the rules, and the parts that tests read from them.

use include_dir::{Dir, include_dir};
use serde_json::{Value, json};

static RULES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../crates/engine/src/rules");

/// A rule's page.
#[derive(Debug)]
pub struct Page {
    /// The rule's id: the file's name.
    pub id: String,
    /// The whole page.
    pub text: String,
}

/// All pages.
///
/// # Panics
///
/// If a page is not text.
pub fn pages() -> Vec<Page> {
    let files = RULES
        .files()
        .filter(|file| file.path().extension().is_some_and(|end| end == "md"));
    files
        .map(|file| Page {
            id: file
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned(),
            text: file.contents_utf8().unwrap().to_owned(),
        })
        .collect()
}

/// An object that is fixed.
#[derive(Debug)]
pub struct Example {
    /// The name of the cluster that it is evaluated on.
    pub cluster: String,
    /// The architectures that its images support, separated by commas, if they are looked up.
    pub image: Option<String>,
    /// The whole object.
    pub object: Value,
}

impl Page {
    /// The sentence below the title.
    pub fn summary(&self) -> &str {
        let mut paragraphs = self.text.split("\n\n");
        assert_eq!(
            paragraphs.next(),
            Some(format!("# {}", self.id).as_str()),
            "{}",
            self.id
        );
        paragraphs.next().unwrap()
    }

    /// The line `Level: …`.
    pub fn level(&self) -> &str {
        let level = self.code_after("Level: ");
        level.unwrap_or_else(|| panic!("{} has no line `Level: `", self.id))
    }

    /// Whether the rule is silent on plain Kubernetes, where HCO deploys no golden images.
    pub fn is_silent_on_plain_kubernetes(&self) -> bool {
        match self.code_after("Plain Kubernetes: ") {
            None => false,
            Some("silent") => true,
            Some(other) => panic!("{}: `Plain Kubernetes: {other}`", self.id),
        }
    }

    /// The only API version that the rule is about, if there is only one.
    pub fn only_in(&self) -> Option<&str> {
        self.code_after("Only in: ")
    }

    /// The code span in the line that begins with a label.
    fn code_after(&self, label: &str) -> Option<&str> {
        let rest = self
            .text
            .lines()
            .find_map(|line| line.strip_prefix(label))?;
        rest.split('`').nth(1)
    }

    /// The blocks `yaml cluster=NAME`, which show how an object is fixed. A page shows only the fields that matter, so the
    /// rest is added.
    ///
    /// # Panics
    ///
    /// If a block is not YAML.
    pub fn examples(&self) -> Vec<Example> {
        let mut examples = Vec::new();
        for (info, text) in self.blocks() {
            let mut words = info.split(' ').skip(1);
            let Some(cluster) = words.next().and_then(|word| word.strip_prefix("cluster=")) else {
                continue;
            };
            let words: Vec<&str> = words.collect();
            let image = words.iter().find_map(|word| word.strip_prefix("image="));
            let fields: Value = yaml_serde::from_str(&text).expect(&self.id);
            examples.extend(
                self.objects(&fields, words.contains(&"import=on"))
                    .into_iter()
                    .map(|object| Example {
                        cluster: cluster.to_owned(),
                        image: image.map(str::to_owned),
                        object,
                    }),
            );
        }
        examples
    }

    /// The objects with these fields. A list of templates stands for one in v1beta1 and one in v1.
    fn objects(&self, fields: &Value, import: bool) -> Vec<Value> {
        let hyperconverged = |version: &str, spec: &Value| {
            json!({
                "apiVersion": format!("hco.kubevirt.io/{version}"),
                "kind": "HyperConverged",
                "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
                "spec": spec,
            })
        };
        if self.only_in() == Some("kubevirt.io/v1") {
            return vec![json!({
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachine",
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": fields["spec"],
            })];
        }
        let Some(templates) = fields["dataImportCronTemplates"].as_array() else {
            let version = self.only_in().unwrap_or("v1beta1");
            return vec![hyperconverged(version, &fields["spec"])];
        };
        let templates: Vec<Value> = templates.iter().map(complete).collect();
        vec![
            hyperconverged(
                "v1beta1",
                &json!({
                    "featureGates": {"enableMultiArchBootImageImport": import},
                    "dataImportCronTemplates": templates,
                }),
            ),
            hyperconverged(
                "v1",
                &json!({"workloadSources": {
                    "enableMultiArchBootImageImport": import,
                    "dataImportCronTemplates": templates,
                }}),
            ),
        ]
    }

    /// The fenced blocks: info string and content, without the indentation of a list.
    pub fn blocks(&self) -> Vec<(&str, String)> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            let text = line.trim_start();
            if let Some(info) = text.strip_prefix("```") {
                let indentation = line.len() - text.len();
                let content: Vec<&str> = lines
                    .by_ref()
                    .take_while(|line| line.trim_start() != "```")
                    .map(|line| line.get(indentation..).unwrap_or_default())
                    .collect();
                assert!(!info.is_empty(), "{}: a block without a language", self.id);
                blocks.push((info, content.join("\n")));
            }
        }
        blocks
    }
}

/// A template with the fields of the spec that a page does not show. A disabled template needs no spec.
fn complete(template: &Value) -> Value {
    let mut template = template.clone();
    let name = template["metadata"]["name"].clone();
    if let Some(spec) = template.get_mut("spec") {
        let shown = std::mem::replace(
            spec,
            json!({
                "schedule": "0 */12 * * *",
                "managedDataSource": name,
                "template": {"spec": {
                    "source": {"registry": {"url": "docker://registry.example.com/my-image:latest"}},
                    "storage": {"resources": {"requests": {"storage": "10Gi"}}},
                }},
            }),
        );
        merge(spec, shown);
    }
    template
}

/// Sets the fields that a page shows.
fn merge(object: &mut Value, shown: Value) {
    match (object, shown) {
        (Value::Object(object), Value::Object(shown)) => {
            for (name, value) in shown {
                merge(object.entry(name).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (object, shown) => *object = shown,
    }
}
