//! Scenario 5: the audit annotations are in the API server's audit log under the name of the webhook.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::crd::{template, together};
use crate::waiting::until;
use crate::world::{WEBHOOK, World};

pub(crate) fn run(world: &World<'_>) {
    world.deploy("mixed");
    let crd = world.crd;
    let with = |architectures| {
        together([
            &crd.import,
            &crd.templates(&[template("mine", architectures)]),
        ])
    };
    for (spec, status) in [
        (json!({}), 403),
        (with(None), 403),
        (with(Some("amd64, arm64")), 403),
        (with(Some("amd64")), 201),
    ] {
        let object = world.hyperconverged(&spec);
        let answer = world.ask(&object).expect("an answer");
        let before = world.control_plane.audited().len();
        world
            .developer
            .file("hyperconverged.yaml", &object.to_string());
        world
            .developer
            .run(&["create", "-f", "hyperconverged.yaml"]);
        let event = until("the request is in the audit log", || {
            let events = world.control_plane.audited().split_off(before);
            let create =
                |event: &Value| event["verb"] == "create" && event["stage"] == "ResponseComplete";
            events
                .into_iter()
                .find(create)
                .ok_or_else(|| "not yet".to_owned())
        });
        assert_eq!(event["user"]["username"], "developer");
        assert_eq!(event["responseStatus"]["code"], status, "{event}");
        let annotations = event["annotations"].as_object().expect("annotations");
        let ours: BTreeMap<&str, &Value> = annotations
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(WEBHOOK)?.strip_prefix('/')?, value)))
            .collect();
        assert_eq!(json!(ours), answer["auditAnnotations"], "{event}");
        assert!(ours.contains_key("findings"), "{event}");
    }
}
