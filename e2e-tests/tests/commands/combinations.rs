//! Every platform in `deploy/overlays` with every combination of the components in `deploy/components`, as kubectl renders
//! them: account, namespace, selector, and settings fit together in each policy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use cel::{Context, Program};
use engine::Resource;
use serde_json::{Value, json};

use e2e_tests::repository::{documents, root, text};

use crate::manifests::{kustomize, policies, policy, server};
use crate::schema::{crd, mistakes, schema};

/// A platform, the namespace of its HCO, and what its policies have in their settings.
const PLATFORMS: [(&str, &str, &str, &str); 3] = [
    (
        "openshift-virtualization",
        "openshift-cnv",
        "goldenImagesNamespace",
        "openshift-virtualization-os-images",
    ),
    (
        "okd",
        "kubevirt-hyperconverged",
        "goldenImagesNamespace",
        "kubevirt-os-images",
    ),
    (
        "kubernetes",
        "kubevirt-hyperconverged",
        "goldenImages",
        "absent",
    ),
];

/// The components for users. Each overlay includes another one, the dedicated `PolicyServer`.
const COMPONENTS: [&str; 8] = [
    "break-glass",
    "fail-closed",
    "images",
    "monitoring",
    "protect",
    "repair",
    "v1beta1-only",
    "virtual-machines",
];

const BREAK_GLASS: &str = "hco-architecture-guard-break-glass";

fn names(directory: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join(directory)).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn the_lists_are_complete() {
    let platforms = PLATFORMS.map(|(name, ..)| name.to_owned());
    assert_eq!(names("deploy/overlays"), BTreeSet::from(platforms));
    let mut components = BTreeSet::from(COMPONENTS.map(str::to_owned));
    components.insert("dedicated-policy-server".to_owned());
    assert_eq!(names("deploy/components"), components);
    // The file that users edit, and the page, list what they can choose.
    let (mine, page) = (
        text("deploy/my-cluster/kustomization.yaml"),
        text("docs/operate.md"),
    );
    for name in COMPONENTS {
        let line = format!("  # - ../components/{name}\n");
        assert!(mine.contains(&line), "deploy/my-cluster has no {name}");
        assert!(
            page.contains(&format!("| `{name}` |")),
            "docs/operate.md: {name}"
        );
    }
    let steps = text("docs/install-policy.md");
    for (name, ..) in PLATFORMS {
        assert!(mine.contains(name), "deploy/my-cluster: {name}");
        assert!(
            page.contains(&format!("| `{name}` |")),
            "docs/operate.md: {name}"
        );
        assert!(
            steps.contains(&format!("`{name}`")),
            "docs/install-policy.md: {name}"
        );
    }
}

/// Each platform has a dedicated `PolicyServer`, and its settings are in its patch.
#[test]
fn the_platforms_set_what_their_policies_need() {
    for (platform, namespace, setting, value) in PLATFORMS {
        let file = format!("deploy/overlays/{platform}/kustomization.yaml");
        let overlay = documents(&text(&file)).remove(0);
        let components = json!(["../../components/dedicated-policy-server"]);
        assert_eq!(overlay["components"], components, "{file}");
        let patch = overlay["patches"][0]["patch"].as_str().unwrap();
        let patch: Value = yaml_serde::from_str(patch).unwrap();
        assert_eq!(patch[0]["value"], selector(namespace), "{file}");
        assert_eq!(patch[1]["path"], format!("/spec/settings/{setting}"));
        assert_eq!(patch[1]["value"], value, "{file}");
    }
}

fn selector(namespace: &str) -> Value {
    json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}]})
}

/// Renders a platform with components, as a user combines them in `deploy/my-cluster`.
fn render(deploy: &Path, place: usize, platform: &str, components: &[&str]) -> Vec<Value> {
    let directory = deploy.join(format!("combination-{place}"));
    std::fs::create_dir_all(&directory).unwrap();
    let components: Vec<String> = components
        .iter()
        .map(|name| format!("../components/{name}"))
        .collect();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [format!("../overlays/{platform}")],
        "components": components,
    });
    std::fs::write(
        directory.join("kustomization.yaml"),
        kustomization.to_string(),
    )
    .unwrap();
    kustomize(&directory)
}

/// No component, each one, each pair, and all. Each component changes other fields than the rest, so larger combinations show
/// nothing new. The order has no effect: a pair comes in the opposite order of the others.
fn combinations() -> Vec<Vec<&'static str>> {
    let mut combinations = vec![Vec::new(), COMPONENTS.to_vec()];
    for (place, first) in COMPONENTS.iter().enumerate() {
        combinations.push(vec![*first]);
        let others = COMPONENTS.iter().skip(place + 1);
        combinations.extend(others.map(|second| vec![*second, *first]));
    }
    combinations
}

fn schemas() -> BTreeMap<&'static str, Value> {
    let kinds = [
        (
            "ClusterAdmissionPolicy",
            "kubewarden-clusteradmissionpolicies",
        ),
        ("PolicyServer", "kubewarden-policyservers"),
        ("PrometheusRule", "prometheus-prometheusrules"),
        ("ServiceMonitor", "prometheus-servicemonitors"),
    ];
    let kinds = kinds.into_iter().map(|(kind, name)| {
        let crd = crd(name);
        let version = crd["spec"]["versions"][0]["name"].as_str().unwrap();
        (kind, schema(&crd, version))
    });
    kinds.collect()
}

/// A directory with a copy of `deploy/`, in which overlays can be written.
fn copy_of_deploy() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_directory(&root().join("deploy"), &copy.path().join("deploy"));
    copy
}

#[test]
fn every_combination_fits_together() {
    let copy = copy_of_deploy();
    let deploy = copy.path().join("deploy");
    let schemas = schemas();
    let combinations = combinations();
    let next = AtomicUsize::new(0);
    let check_next = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((platform, ..)) = PLATFORMS.get(place / combinations.len()) else {
                break;
            };
            let components = &combinations[place % combinations.len()];
            let manifests = render(&deploy, place, platform, components);
            fits_together(place / combinations.len(), components, &manifests, &schemas);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(check_next);
        }
    });
}

fn fits_together(
    platform: usize,
    components: &[&str],
    manifests: &[Value],
    schemas: &BTreeMap<&str, Value>,
) {
    let (platform, namespace, setting, value) = PLATFORMS[platform];
    let what = format!("{platform} with {components:?}");
    let has = |name: &str| components.contains(&name);

    // The schemas are large, and one check of each manifest is enough.
    for manifest in manifests.iter().filter(|_| components.len() != 2) {
        if let Some(schema) = schemas.get(manifest["kind"].as_str().unwrap()) {
            assert_eq!(mistakes(schema, manifest), [""; 0], "{what}");
        }
    }
    let server = server(manifests);
    let account = server["spec"]["serviceAccountName"].as_str().unwrap();
    let accounts = manifests.iter().filter(|it| it["kind"] == "ServiceAccount");
    let accounts: Vec<&Value> = accounts.map(|it| &it["metadata"]["name"]).collect();
    assert_eq!(accounts, [account], "{what}");
    for binding in ["nodes", "reviews"] {
        let name = format!("hco-architecture-guard-{binding}");
        let mut bindings = manifests
            .iter()
            .filter(|it| it["kind"] == "ClusterRoleBinding");
        let binding = bindings.find(|it| it["metadata"]["name"] == name).unwrap();
        let subject =
            json!([{"kind": "ServiceAccount", "name": account, "namespace": "kubewarden"}]);
        assert_eq!(binding["subjects"], subject, "{what}");
    }

    has_its_policies(manifests, components, &what);
    for policy in about_hyperconverged(manifests) {
        let spec = &policy["spec"];
        let what = format!("{what}: {}", policy["metadata"]["name"]);
        let settings = &spec["settings"];
        let verdict = engine::validate_settings(settings.to_string().as_bytes());
        assert_eq!(verdict, Ok(()), "{what}");
        assert_eq!(settings["serviceAccount"], format!("kubewarden/{account}"));
        assert_eq!(spec["policyServer"], server["metadata"]["name"], "{what}");
        assert_eq!(spec["namespaceSelector"], selector(namespace), "{what}");
        assert_eq!(settings[setting], value, "{what}");
        for (other, _, key, _) in PLATFORMS {
            assert!(
                settings[key].is_null() || key == setting,
                "{what}: as {other}"
            );
        }

        let repairs = policy["metadata"]["name"] == "hco-architecture-guard-repair";
        let denies = has("protect") || repairs;
        let mode = if denies { "protect" } else { "monitor" };
        assert_eq!(spec["mode"], mode, "{what}");
        // In protect mode, the message of a denial says what the warnings would repeat.
        let as_warnings = if denies { Value::Null } else { json!(true) };
        assert_eq!(settings["denialsAsWarnings"], as_warnings, "{what}");
        let failure = if has("fail-closed") { "Fail" } else { "Ignore" };
        assert_eq!(spec["failurePolicy"], failure, "{what}");
        let versions = if has("v1beta1-only") {
            json!(["v1beta1"])
        } else {
            json!(["v1beta1", "v1"])
        };
        assert_eq!(spec["rules"][0]["apiVersions"], versions, "{what}");
        let hco = if has("v1beta1-only") {
            json!("1.17")
        } else {
            Value::Null
        };
        assert_eq!(settings["hcoVersion"], hco, "{what}");
        // The author of the object must not choose which hosts are contacted.
        let images = if has("images") {
            json!("verify")
        } else {
            Value::Null
        };
        assert_eq!(settings["images"], images, "{what}");
        let hosts = settings["registries"].as_array().map_or(0, Vec::len);
        assert_eq!(hosts > 0, has("images"), "{what}");

        let stored = json!({"name": "kubevirt-hyperconverged"});
        assert!(matches(spec, &stored, "developers"), "{what}");
        let deleted =
            json!({"name": "kubevirt-hyperconverged", "deletionTimestamp": "2026-12-24T00:00:00Z"});
        assert!(!matches(spec, &deleted, "developers"), "{what}");
        let has_break_glass = !matches(spec, &stored, BREAK_GLASS);
        assert_eq!(has_break_glass, has("break-glass"), "{what}");
    }
    if has("repair") {
        the_repairing_policy_is_the_same(manifests, &what);
    }
    let kinds = ["PrometheusRule", "ServiceMonitor"];
    let monitoring = manifests
        .iter()
        .filter(|it| kinds.contains(&it["kind"].as_str().unwrap()));
    let places: Vec<&Value> = monitoring.map(|it| &it["metadata"]["namespace"]).collect();
    assert_eq!(
        places,
        ["kubewarden"; 2][..if has("monitoring") { 2 } else { 0 }]
    );
}

const VIRTUAL_MACHINES: &str = "hco-architecture-guard-vms";

fn about_hyperconverged(manifests: &[Value]) -> impl Iterator<Item = &Value> {
    policies(manifests).filter(|it| it["metadata"]["name"] != VIRTUAL_MACHINES)
}

/// Each component adds its policies, and there are no others.
fn has_its_policies(manifests: &[Value], components: &[&str], what: &str) {
    let mut wanted = vec!["hco-architecture-guard"];
    if components.contains(&"repair") {
        wanted.push("hco-architecture-guard-repair");
    }
    let has_virtual_machines = components.contains(&"virtual-machines");
    if has_virtual_machines {
        wanted.push(VIRTUAL_MACHINES);
    }
    let mut found: Vec<&str> = policies(manifests)
        .map(|it| it["metadata"]["name"].as_str().unwrap())
        .collect();
    found.sort_unstable();
    assert_eq!(found, wanted, "{what}");
    if has_virtual_machines {
        the_policy_for_virtual_machines_warns(manifests, what);
    }
}

/// No other component changes the policy for VirtualMachines, and its service account can read what it needs.
fn the_policy_for_virtual_machines_warns(manifests: &[Value], what: &str) {
    let is_named = |it: &&Value| it["metadata"]["name"] == VIRTUAL_MACHINES;
    let spec = &policies(manifests).find(is_named).unwrap()["spec"];
    let first = &policy(manifests)["spec"];
    assert_eq!(spec["module"], first["module"], "{what}");
    let account = &first["settings"]["serviceAccount"];
    let mut servers = manifests.iter().filter(|it| it["kind"] == "PolicyServer");
    let own = &servers.find(is_named).unwrap()["spec"];
    assert_eq!(spec["policyServer"], VIRTUAL_MACHINES, "{what}");
    let shared = &server(manifests)["spec"];
    for same in ["image", "serviceAccountName"] {
        assert_eq!(own[same], shared[same], "{what}: {same}");
    }
    let settings = json!({"denialsAsWarnings": true, "serviceAccount": account});
    assert_eq!(spec["settings"], settings, "{what}");
    assert_eq!(spec["mode"], "monitor", "{what}");
    assert_eq!(spec["failurePolicy"], "Ignore", "{what}");
    assert_eq!(spec["backgroundAudit"], false, "{what}");
    assert_eq!(spec["namespaceSelector"], Value::Null, "{what}");
    let rules = json!([{
        "apiGroups": ["kubevirt.io"], "apiVersions": ["v1"], "resources": ["virtualmachines"],
        "operations": ["CREATE", "UPDATE"],
    }]);
    assert_eq!(spec["rules"], rules, "{what}");

    let roles = manifests.iter().filter(is_named);
    let of = |kind: &str| roles.clone().find(|it| it["kind"] == kind).unwrap();
    let all = "hco-architecture-guard-nodes";
    let nodes = manifests
        .iter()
        .find(|it| it["kind"] == "ClusterRoleBinding" && it["metadata"]["name"] == all);
    assert_eq!(
        of("ClusterRoleBinding")["subjects"],
        nodes.unwrap()["subjects"],
        "{what}"
    );
    let (mut granted, mut resources) = (Vec::new(), Vec::new());
    for resource in [
        Resource::HyperConvergeds,
        Resource::KubeVirts,
        Resource::DataSources,
    ] {
        let (group, _) = resource.group_version();
        let verbs = match resource {
            Resource::DataSources => json!(["get"]),
            _ => json!(["list", "watch"]),
        };
        granted
            .push(json!({"apiGroups": [group], "resources": [resource.plural()], "verbs": verbs}));
        let api_version = resource.api_version();
        resources.push(json!({"apiVersion": api_version, "kind": resource.kind()}));
    }
    assert_eq!(of("ClusterRole")["rules"], Value::from(granted), "{what}");
    assert_eq!(
        spec["contextAwareResources"],
        Value::from(resources.clone()),
        "{what}"
    );
    // The metadata has what all policies together need.
    let metadata = documents(&text("policy-metadata.yml")).remove(0);
    let all = metadata["contextAwareResources"].as_array().unwrap();
    assert!(resources.iter().all(|it| all.contains(it)), "{what}");
    assert_eq!(all.len(), resources.len() + 1, "{what}");
}

/// The two policies are the same, except for the fields that repairs need.
fn the_repairing_policy_is_the_same(manifests: &[Value], what: &str) {
    let policies = about_hyperconverged(manifests);
    let mut all: Vec<Value> = policies.cloned().collect();
    for policy in &mut all {
        let settings = policy["spec"]["settings"].as_object_mut().unwrap();
        settings.remove("repair");
        settings.remove("denialsAsWarnings");
        policy["metadata"]["name"] = json!("either");
    }
    all[0]["spec"]["mode"] = json!("protect");
    all[0]["spec"]["mutating"] = json!(true);
    all[0]["spec"]["backgroundAudit"] = json!(false);
    assert_eq!(all[1], all[0], "{what}");
}

/// Whether the API server calls the webhook of a policy for an object with this metadata, from a member of this group.
fn matches(spec: &Value, metadata: &Value, group: &str) -> bool {
    let conditions = spec["matchConditions"].as_array().unwrap();
    conditions.iter().all(|condition| {
        let program = Program::compile(condition["expression"].as_str().unwrap()).unwrap();
        let mut context = Context::default();
        let object = json!({ "metadata": metadata });
        context.add_variable("object", object).unwrap();
        let request = json!({"userInfo": {"groups": ["system:authenticated", group]}});
        context.add_variable("request", request).unwrap();
        program.execute(&context).unwrap() == cel::Value::Bool(true)
    })
}

/// With a version that is not served, the audit scanner fails for the policy.
#[test]
fn the_versions_that_are_judged_are_served() {
    let copy = copy_of_deploy();
    let deploy = copy.path().join("deploy");
    for (components, file) in [
        (&["v1beta1-only"][..], "hco-v1.17.0"),
        (&[], "hco-v1.18.0"),
        (&[], "hco-main-2026-08-21"),
    ] {
        let crd = crd(file);
        let versions = crd["spec"]["versions"].as_array().unwrap();
        let served: BTreeSet<&str> = versions
            .iter()
            .filter(|version| version["served"] == true)
            .map(|version| version["name"].as_str().unwrap())
            .collect();
        let manifests = render(&deploy, 0, "okd", components);
        let judged = &policy(&manifests)["spec"]["rules"][0]["apiVersions"];
        let judged: BTreeSet<&str> = judged
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap())
            .collect();
        assert_eq!(judged, served, "{file}");
    }
}

/// Every policy of `deploy/` is in every command for an emergency: those that delete the policies or their webhooks, and
/// those that wait for it. The alerts are about all policies.
#[test]
fn every_policy_can_be_switched_off() {
    let copy = copy_of_deploy();
    let manifests = render(&copy.path().join("deploy"), 0, "okd", &COMPONENTS);
    let names = policies(&manifests).map(|policy| {
        let name = policy["metadata"]["name"].as_str().unwrap();
        (name, policy["spec"]["mutating"].as_bool().unwrap())
    });
    let names: Vec<(&str, bool)> = names.collect();
    assert_eq!(names.len(), 3);

    let pages = [text("README.md"), text("docs/operate.md")];
    let lines = pages.iter().flat_map(|page| page.lines().map(str::trim));
    let commands = |start: String| -> Vec<&str> {
        let lines = lines.clone().filter(|line| line.starts_with(&start));
        // Without this, the command is about one policy.
        let lines =
            lines.filter(|line| line.contains("--ignore-not-found") || line.contains(" wait "));
        lines.collect()
    };
    let deletions = commands("$ kubectl delete clusteradmissionpolicy ".to_owned());
    assert_eq!(deletions.len(), 3, "{deletions:?}");
    for (name, is_mutating) in &names {
        for line in &deletions {
            assert!(line.split(' ').any(|word| word == *name), "{name}: {line}");
        }
        let kind = if *is_mutating {
            "mutating"
        } else {
            "validating"
        };
        let kind = format!("{kind}webhookconfiguration");
        let webhook = format!("clusterwide-{name}");
        let mut off = commands(format!("$ kubectl delete {kind} ")).into_iter();
        assert!(
            off.any(|line| line.split(' ').any(|word| word == webhook)),
            "{webhook} is not deleted"
        );
        let wait = commands(format!("$ kubectl wait --for delete {kind}/{webhook} "));
        assert_eq!(wait.len(), 1, "{webhook}");
    }

    let suffixes = names
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("hco-architecture-guard"));
    let suffixes: BTreeSet<&str> = suffixes.filter(|suffix| !suffix.is_empty()).collect();
    let suffixes: Vec<&str> = suffixes.into_iter().collect();
    let alerts = text("deploy/components/monitoring/alerts.yaml");
    let all = format!("guard({})?", suffixes.join("|"));
    assert_eq!(
        alerts.matches("guard(").count(),
        alerts.matches(&all).count(),
        "{all}"
    );
}

/// The page explains every alert, each alert has what a reader needs, and the metrics are those of our policies.
/// `make alerts` reads the expressions with Prometheus' own parser.
#[test]
fn every_alert_is_explained() {
    let rule = documents(&text("deploy/components/monitoring/alerts.yaml")).remove(0);
    let page = text("docs/alerts.md");
    let alerts = rule["spec"]["groups"][0]["rules"].as_array().unwrap();
    for alert in alerts {
        let name = alert["alert"].as_str().unwrap();
        assert!(
            page.contains(&format!("\n## {name}\n")),
            "docs/alerts.md: {name}"
        );
        assert!(["info", "warning"].contains(&alert["labels"]["severity"].as_str().unwrap()));
        for annotation in ["summary", "description"] {
            assert!(
                alert["annotations"][annotation].is_string(),
                "{name}: {annotation}"
            );
        }
        assert!(
            alert["expr"]
                .as_str()
                .unwrap()
                .contains("hco-architecture-guard"),
            "{name}"
        );
    }
    assert_eq!(
        page.matches("\n## HCOArchitectureGuard").count(),
        alerts.len()
    );
}

pub(crate) fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
