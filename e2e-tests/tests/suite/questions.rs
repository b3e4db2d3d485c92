//! `questions-ui.yml`: the form offers every setting, and what it sends is accepted.
//!
//! MIRRORS: rancher/kubewarden-ui pkg/kubewarden, components/Questions and utils/object.ts: a question sends
//! its default as soon as it is shown; dots in the variable name nest; before the policy is saved, null, "", and
//! everything that is then empty are removed. A `map[` sends an object of strings.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use e2e_tests::repository::text;

#[derive(Deserialize)]
struct Form {
    questions: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    variable: String,
    #[serde(rename = "type")]
    kind: String,
    /// A missing default is not null: null is sent.
    #[serde(default, deserialize_with = "some")]
    default: Option<Value>,
    #[serde(default)]
    options: Vec<String>,
    label: String,
    group: String,
    description: String,
    required: bool,
    #[serde(default)]
    hide_input: bool,
}

fn some<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn questions() -> Vec<Question> {
    let form: Form = yaml_serde::from_str(&text("questions-ui.yml")).unwrap();
    form.questions
}

/// Sets the value that a question sends.
fn set(settings: &mut Value, variable: &str, value: Value) {
    let mut place = settings;
    for key in variable.split('.') {
        place = place
            .as_object_mut()
            .unwrap()
            .entry(key)
            .or_insert_with(|| Value::Object(Map::new()));
    }
    *place = value;
}

/// Removes what the form removes before it saves.
fn cleaned(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::Object(map) => {
            let map: Map<String, Value> = map
                .into_iter()
                .filter_map(|(key, value)| Some((key, cleaned(value)?)))
                .collect();
            (!map.is_empty()).then_some(Value::Object(map))
        }
        value => Some(value),
    }
}

/// The settings that the form sends now, and the settings before it removed anything.
fn assert_accepted(settings: &Value) {
    for sent in [
        settings.clone(),
        cleaned(settings.clone()).unwrap_or_default(),
    ] {
        let verdict = engine::validate_settings(sent.to_string().as_bytes());
        assert_eq!(verdict, Ok(()), "{sent}");
    }
}

fn defaults() -> Value {
    let mut settings = json!({});
    for question in questions() {
        if let Some(default) = question.default {
            set(&mut settings, &question.variable, default);
        }
    }
    settings
}

#[test]
fn the_defaults_of_the_form_are_accepted() {
    let settings = defaults();
    assert_eq!(settings["description"], Value::Null);
    assert_eq!(settings["updates"], "ratchet");
    assert_accepted(&settings);
}

#[test]
fn nothing_set_is_accepted() {
    assert_accepted(&json!({}));
    // Every field is emptied manually; the form removes everything that is left.
    let mut settings = json!({});
    for question in questions() {
        set(&mut settings, &question.variable, json!(""));
    }
    assert_eq!(cleaned(settings), None);
}

#[test]
fn every_option_of_every_question_is_accepted() {
    for question in questions() {
        let values: Vec<Value> = match question.kind.as_str() {
            "enum" => question.options.iter().map(|it| json!(it)).collect(),
            "array[" => vec![json!(["registry.example.com:5000"])],
            "map[" => vec![json!({"rhel9-image-cron": "docker://registry.redhat.io/rhel9"})],
            "string" if question.hide_input => vec![Value::Null],
            "string" if question.variable == "hcoVersion" => vec![json!("1.18"), json!("4.22")],
            "string" if question.variable.ends_with("Namespace") => {
                vec![json!("openshift-virtualization-os-images")]
            }
            "boolean" => vec![json!(true), json!(false)],
            "string" => vec![json!("cattle-kubewarden-system/policy-server")],
            other => panic!("{}: no answer is known to a {other}", question.variable),
        };
        assert!(!values.is_empty(), "{}", question.variable);
        for value in values {
            let mut settings = defaults();
            if value == "from-image" {
                set(&mut settings, "images", json!("verify"));
            }
            set(&mut settings, &question.variable, value);
            assert_accepted(&settings);
        }
    }
}

/// The settings, according to the engine: it lists them all when it reads an unknown one.
#[test]
fn every_setting_has_a_question() {
    let page = text("docs/settings.md");
    let (_, example) = page.split_once("All settings:").unwrap();
    let (_, example) = example.split_once("```yaml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let example: Map<String, Value> = yaml_serde::from_str(example).unwrap();
    assert!(example.len() >= 4);
    // The form cannot nest two names.
    for key in example.keys().filter(|key| *key != "templates") {
        let asked = questions()
            .iter()
            .any(|question| question.variable.split('.').next() == Some(key));
        assert!(asked, "questions-ui.yml has no question for {key}");
    }
}

#[test]
fn every_question_explains_itself() {
    for question in questions() {
        assert!(!question.label.is_empty() && !question.required);
        assert!(question.description.len() > 20, "{}", question.variable);
        assert!(["Settings", "Repair", "Rules"].contains(&question.group.as_str()));
    }
}
