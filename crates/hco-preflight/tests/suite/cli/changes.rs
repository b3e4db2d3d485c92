//! `plan` and `status`: single changes, each with what it has to say.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::boot_sources::ungrouped;
use super::objects::{GOLDEN, beside, copy, edited, list, object, objects};
use super::schemas::{mistakes, schema_of};
use super::{effects, images, json_of, rows, run, scratch, text_of, unread, written};

fn items(list: &Value) -> &[Value] {
    list.as_array().unwrap()
}

pub(super) const PLACEMENT: &str =
    "workloads: {nodePlacement: {nodeSelector: {kubernetes.io/arch: amd64}}}";
const NO_PLACEMENT: (&str, &str) = (PLACEMENT, "workloads: {}");
const SAME_IMAGE: (&str, &str) = ("my-image:2", "my-image:1");
const OFF: (&str, &str) = (
    "enableMultiArchBootImageImport: true",
    "enableMultiArchBootImageImport: false",
);
const COMMON: (&str, &str) = (
    "enableCommonBootImageImport: false",
    "enableCommonBootImageImport: true",
);
const FOR_ARM64: (&str, &str) = (
    "dict.architectures: \"amd64,arm64\"",
    "dict.architectures: \"arm64\"",
);

/// A changed `plan.yaml`.
fn changed(edits: &[(&str, &str)]) -> String {
    copy("plan.yaml", edits, &[])
}

/// A changed `plan-cluster.yaml`.
fn stored(edits: &[(&str, &str)]) -> String {
    copy("plan-cluster.yaml", edits, &[])
}

/// Neither with nor without the policy is the object stored.
#[rstest]
#[case::placement(
    PLACEMENT,
    "workloads: {nodePlacement: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: \"a b\", operator: Exists}]}]}}}}}"
)]
#[case::template(
    "annotations: {ssp.kubevirt.io/dict.architectures: \"amd64,arm64\"}",
    "annotations: {dataimportcrontemplate.kubevirt.io/enable: perhaps}"
)]
#[case::schema(
    "template: {spec: {source:",
    "template: {spec: {contentType: iso, source:"
)]
fn an_object_that_hco_denies_changes_nothing(#[case] from: &str, #[case] to: &str) {
    let file = changed(&[(from, to)]);
    let words = format!("plan -f {file} --from plan-objects.yaml");
    let plan = json_of(&words);
    assert_eq!(plan["deniedByHco"], true, "{plan:#}");
    assert_eq!(effects(&plan, "DataSource"), [""; 0], "{plan:#}");
    assert_eq!(plan["storage"]["disks"], 0);
    assert_eq!(plan["before"]["nodes"], plan["after"]["nodes"]);
    let text = run(&words)
        .exits(1)
        .prints(&["not stored, so nothing changes."]);
    text.lacks(&["If the policy did not deny it", "no effect"]);
}

#[test]
fn without_a_forecast_its_reason_is_said() {
    let settings = "goldenImages: absent\nlevels: {default-architecture-changes: deny}\n";
    let settings = written("settings.yaml", settings);
    let on_arm64 = changed(&[(PLACEMENT, &PLACEMENT.replace("amd64", "arm64"))]);
    let remove = r#"[{"op": "remove", "path": "/spec/commonTemplates/dataImportCronTemplates"}]"#;
    let patched = format!("'1', annotations: {{ssp.kubevirt.io/jsonpatch: '{remove}'}}}}");
    let patched = stored(&[("'1'}", &patched)]);
    for (words, reason, part) in [
        (
            &*format!("-f {on_arm64} --from plan-cluster.yaml --settings {settings}"),
            "denied by the policy:",
            "  none: HCO deploys no golden images here\n",
        ),
        (
            "--from status-unknown.yaml",
            "SSP rejects the object because of node risc-1 (riscv64)",
            "later changes have no effect either, until this is fixed",
        ),
        (
            &format!("--from {patched}"),
            "",
            "The plan ignores the jsonpatch annotation for SSP",
        ),
    ] {
        run(&format!("plan {words}")).prints(&[reason, part]);
    }
}

/// The pointer of a template with the architectures annotation has a name that the API server rejects.
#[test]
fn a_rejected_pointer_is_traced_to_its_template() {
    let settings = written("settings.yaml", "levels: {template-name-invalid: ignore}\n");
    let name = [("managedDataSource: my-image", "managedDataSource: My_Image")];
    let file = changed(&name);
    let words = format!("plan -f {file} --from plan-objects.yaml --settings {settings}");
    let line = format!(
        "DataImportCron {GOLDEN}/my-image-cron-amd64: template my-image-cron, DataSource My_Image"
    );
    let plan = text_of(&words);
    assert!(plan.contains("A DataSource is rejected: "), "{plan}");
    assert_eq!(plan.matches(&line).count(), 1, "{plan}");
    assert_eq!(stops(&json_of(&words)), ["my-image-cron"]);
    let status = format!("check -q --from {} --settings {settings}", stored(&name));
    run(&status).prints(&[&line]);
}

/// The templates that stop SSP.
fn stops(document: &Value) -> Vec<&str> {
    let stops = items(&document["rows"])
        .iter()
        .filter(|row| row["effect"] == "stops-ssp");
    stops.filter_map(|row| row["template"].as_str()).collect()
}

#[test]
fn two_templates_of_one_name_are_named() {
    let settings = "levels: {data-source-shared: ignore, architectures-missing: ignore}\n";
    let settings = written("settings.yaml", settings);
    let annotation =
        "            annotations: {ssp.kubevirt.io/dict.architectures: \"amd64,arm64\"}\n";
    let stored = stored(&[
        ("name: my-image-cron\n", "name: old-image-cron-arm64\n"),
        (annotation, ""),
        ("architectures: \"amd64\"", "architectures: \"arm64\""),
    ]);
    for command in ["plan", "check"] {
        let words = format!("{command} --from {stored} --settings {settings}");
        let both = ["old-image-cron", "old-image-cron-arm64"];
        assert_eq!(stops(&json_of(&words)), both);
        let line =
            format!("DataImportCron {GOLDEN}/old-image-cron-arm64: template old-image-cron\n");
        let text = run(&format!("{words} -q"));
        text.prints(&["which one is not determined", &line]);
    }
}

/// Without a placement, virt-handler runs on every node, also on those that HCO does not count.
#[test]
fn virt_handler_leaves_a_node_that_a_placement_excludes() {
    let node = "{name: node-7, labels: {node-role.kubernetes.io/worker: \"\",";
    let infra = (node, &*node.replace("worker", "infra"));
    let workers = "node-role.kubernetes.io/worker: \"\"";
    let placed = PLACEMENT.replace("kubernetes.io/arch: amd64", workers);
    let file = changed(&[(PLACEMENT, &placed)]);
    let orphaned = |words: &str| {
        let plan = json_of(&format!("plan {words}"));
        effects(&plan, "VirtualMachine").contains(&"arm: orphaned".to_owned())
    };
    let with_infra = stored(&[infra]);
    assert!(orphaned(&format!("-f {file} --from {with_infra}")));
    // A node that loses its label alone keeps virt-handler.
    let text = fs::read_to_string(with_infra).unwrap();
    let (nodes, _) = text.split_once("  - apiVersion: hco").unwrap();
    let nodes = written("nodes.yaml", nodes);
    assert!(!orphaned(&format!(
        "--from plan-cluster.yaml --nodes {nodes}"
    )));
}

fn disk(kind: &str, name: &str, cron: &str) -> Value {
    let spec = match kind {
        "VolumeSnapshot" => json!({}),
        _ => json!({"resources": {"requests": {"storage": "30Gi"}}}),
    };
    let labels = json!({
        "cdi.kubevirt.io/dataImportCron": cron,
        "cdi.kubevirt.io/dataImportCron.cleanup": "true",
    });
    let fields = json!({"metadata": {"labels": labels}, "spec": spec});
    object(kind, &format!("{GOLDEN}/{name}"), fields)
}

#[test]
fn what_is_imported_again_requests_storage() {
    let from = beside(&[disk("VolumeSnapshot", "snapshot", "my-image-cron-arm64")]);
    let file = changed(&[SAME_IMAGE, ("storage: 30Gi", "storage: 60Gi"), NO_PLACEMENT]);
    let plan = json_of(&format!("plan -f {file} --from {from}"));
    let requested = json!({"disks": 2, "bytes": 120_u64 << 30, "unknown": 0});
    assert_eq!(plan["storage"], requested, "{plan:#}");
    // With the retention policy All, CDI finds the disk of the same image.
    let text = run(&format!("plan -q --from {from}"));
    let text = text.prints(&["the same image is not imported again"]);
    text.lacks(&["\nstorage of new disks\n"]);
}

/// A must-gather can lack the namespace of golden images.
#[test]
fn disks_are_read_with_the_namespace_of_golden_images() {
    for (namespace, is_unread) in [("default", true), (GOLDEN, false)] {
        let root = scratch();
        fs::write(root.join("objects.yaml"), super::file("plan-cluster.yaml")).unwrap();
        let core = root.join("namespaces").join(namespace).join("core");
        fs::create_dir_all(&core).unwrap();
        let claims = "apiVersion: v1\nkind: PersistentVolumeClaimList\nitems: []\n";
        fs::write(core.join("persistentvolumeclaims.yaml"), claims).unwrap();
        let plan = json_of(&format!("plan --from {}", root.display()));
        let mut unread = unread(&plan).into_iter();
        let is_named = unread.any(|row| row["kind"] == "PersistentVolumeClaim");
        assert_eq!(is_named, is_unread, "{namespace}: {plan:#}");
    }
}

#[rstest]
#[case(
    "4.21.3",
    "HCO                                 4.21.3 (HCO 1.17)\n",
    ""
)]
#[case(
    "1.99.0",
    "1.99.0 (evaluated as HCO 1.20)\n",
    "HCO 1.99.0 is newer than"
)]
fn a_version_is_shown_as_it_is_written(
    #[case] version: &str,
    #[case] wanted: &str,
    #[case] note: &str,
) {
    let from = stored(&[("version: 1.18.1", &format!("version: {version}"))]);
    run(&format!("plan --from {from}"))
        .prints(&[wanted])
        .notes(note);
    run(&format!("check -q --from {from}")).prints(&[version]);
}

/// Up to HCO 1.17, the import and KubeVirt's feature gate `MultiArchitecture` are one switch. With a placement of the
/// infrastructure, virt-api can run on nodes of another architecture.
#[rstest]
#[case("1.17.3", "{}", &["arm: rejected"])]
#[case("1.17.3", "{nodePlacement: {}}", &["arm: rejected"])]
#[case("1.17.3", "{nodePlacement: {nodeSelector: {kubernetes.io/arch: arm64}}}", &[])]
#[case("1.18.1", "{}", &[])]
fn without_the_import_hco_1_17_rejects_vms_of_other_architectures(
    #[case] version: &str,
    #[case] infra: &str,
    #[case] wanted: &[&str],
) {
    let with_infra = format!("workloads: {{}}\n  infra: {infra}");
    let file = changed(&[OFF, (PLACEMENT, &with_infra)]);
    let version = [("version: 1.18.1", &*format!("version: {version}"))];
    let from = copy("plan-objects.yaml", &version, &[]);
    let plan = json_of(&format!("plan -f {file} --from {from}"));
    let mut rejected = effects(&plan, "VirtualMachine");
    rejected.retain(|row| row.ends_with(": rejected"));
    assert_eq!(rejected, wanted, "{plan:#}");
}

#[test]
fn a_placement_imports_nothing_again() {
    let from = copy("plan-objects.yaml", &[OFF], &[]);
    let plan = run(&format!("plan -q -f {} --from {from}", changed(&[OFF])));
    let part = "The placement imports nothing again";
    plan.prints(&[part]);
}

#[test]
fn a_preference_of_the_cluster_decides() {
    let preference = json!({
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "spec": {"preferredArchitecture": "arm64"},
    });
    let prefers = json!({"spec": {"preference": {"name": "mine"}, "template": {"spec": {}}}});
    let from = beside(&[
        object("VirtualMachineClusterPreference", "mine", preference),
        object("VirtualMachine", "default/prefers", prefers),
    ]);
    let plan = json_of(&format!("plan --from {from} --what-if arm64=-1"));
    assert_eq!(effects(&plan, "VirtualMachine"), ["prefers: no-node"]);
}

/// Some of many are named, and all with `--all-vms`.
#[test]
fn many_virtual_machines_are_counted() {
    let machines = (0..25).map(|number| {
        let spec = json!({"spec": {"template": {"spec": {"architecture": "arm64"}}}});
        object("VirtualMachine", &format!("default/vm-{number:02}"), spec)
    });
    let from = beside(&machines.collect::<Vec<_>>());
    let words = format!("plan -f plan.yaml --from {from}");
    let some = "default/vm-19 and 5 more (--all-vms names them): ";
    run(&words).prints(&[some]).lacks(&["vm-20"]);
    let all = run(&format!("{words} --all-vms")).prints(&["default/vm-24: "]);
    all.lacks(&[" more ("]);
    assert_eq!(rows(&json_of(&words), "VirtualMachine").len(), 25);
}

/// The import is enabled: HCO's own templates get a disk for each architecture.
#[test]
fn common_templates_are_planned() {
    let (from, file) = (stored(&[COMMON, OFF]), changed(&[COMMON, NO_PLACEMENT]));
    let text = text_of(&format!("plan -q -f {file} --from {from}"));
    for (start, part) in [
        ("! fedora ", "points to fedora-amd64"),
        ("+ fedora-arm64 ", "imported for arm64"),
        ("multi-architecture import ", "off → on"),
    ] {
        let mut lines = text.lines().flat_map(ungrouped);
        let row = lines.find(|line| line.starts_with(start));
        assert!(row.is_some_and(|row| row.contains(part)), "{start}: {text}");
    }
}

/// HCO writes an object without the annotation `deployOVS` in any upgrade, and 1.18 sets defaults that 1.17 did not. The
/// namespace stays the platform's.
#[rstest]
#[case("1.17.0", "1.18", GOLDEN)]
#[case("4.21.3", "1.18", "openshift-virtualization-os-images")]
#[case("4.22.1", "1.19", "openshift-virtualization-os-images")]
fn an_upgrade_keeps_the_namespace_of_golden_images(
    #[case] is: &str,
    #[case] version: &str,
    #[case] namespace: &str,
) {
    let defaults = "            retentionPolicy: None\n            importsToKeep: 1\n";
    let from = stored(&[
        ("version: 1.18.1", &format!("version: {is}")),
        (defaults, ""),
    ]);
    let plan = json_of(&format!("plan --from {from} --hco-version {version}"));
    let sources = items(&plan["bootSources"]);
    let mut sources = sources
        .iter()
        .filter(|source| source["after"]["template"] == "my-image-cron");
    let fields = json!(["retentionPolicy", "importsToKeep"]);
    let source = sources.next().unwrap();
    assert_eq!(source["after"]["changedFields"], fields, "{plan:#}");
    assert_eq!(source["namespace"], namespace, "{plan:#}");
}

/// `check` evaluates by the running version, for which the annotation is not a problem.
#[test]
fn a_denial_of_another_version_is_explained_and_not_checked() {
    let file = changed(&[(
        "namespace: kubevirt-hyperconverged}",
        "namespace: kubevirt-hyperconverged, annotations: {hco.kubevirt.io/v1-only-fields: \"{\"}}",
    )]);
    let words = format!("-f {file} --from plan-cluster.yaml");
    let planned = run(&format!("plan {words} --hco-version 1.19"));
    let fix = "`explain` the page of a rule.";
    planned.prints(&["[v1-only-fields-unreadable]", fix]);
    let checked = run(&format!("check {words}"));
    checked.lacks(&["[v1-only-fields-unreadable]"]);
}

/// `kubectl replace` removes what the file does not have; `kubectl apply` keeps what it did not set.
#[test]
fn a_replaced_object_is_another_one_than_an_applied_one() {
    let common = "      enableCommonBootImageImport: false\n";
    let from = stored(&[(common, &format!("{common}      {PLACEMENT}\n"))]);
    let file = changed(&[(PLACEMENT, "infra: {}")]);
    for (how, nodes) in [
        // A placement counts control-plane nodes as well.
        ("", json!({"amd64": 3})),
        ("--as-if replace", json!({"amd64": 2, "arm64": 1})),
    ] {
        let plan = json_of(&format!("plan -f {file} --from {from} {how}"));
        assert_eq!(plan["after"]["nodes"], nodes);
    }
}

/// SSP deletes the old DataImportCron before the new one is rejected, and with it the disk.
#[test]
fn an_edit_that_makes_a_template_invalid_destroys_its_disk() {
    let schedule = ("schedule: \"0 */12 * * *\"", "schedule: \"0 12 * *\"");
    let file = changed(&[schedule, NO_PLACEMENT, SAME_IMAGE]);
    let words = format!("plan -f {file} --from plan-objects.yaml --settings settings-stopped.yaml");
    run(&format!("{words} -q")).exits(1).prints(&[
        " has no disk any more: it points to my-image-amd64\n",
        "  - my-image-amd64   not imported: its DataImportCron my-image-cron-amd64 is rejected: ",
        "spec.dataImportCronTemplates[0].spec.schedule); deleted with its disk\n",
    ]);
}

/// The objects of a cluster where nothing is outstanding, after edits of the object of this name.
fn ready(name: &str, edits: &Value) -> Vec<Value> {
    let mut objects = objects("status-ready.yaml");
    let object = objects.iter_mut().find(|it| it["metadata"]["name"] == name);
    let object = object.unwrap();
    *object = edited(object, edits);
    objects
}

fn saved(objects: Vec<Value>) -> String {
    written("objects.json", list(objects).to_string())
}

/// A DataImportCron that an older CDI accepted.
#[test]
fn a_value_that_is_rejected_is_not_to_be_restored() {
    let schedule = [("0 */12 * * *", "0 */12 * *")];
    let from = copy("status-ready.yaml", &schedule, &[]);
    let status = run(&format!("check -q --from {from}"));
    status
        .prints(&["    fix  use five fields"])
        .lacks(&["restore"]);
}

const OF_SSP: &str = "operator-sdk/primary-resource-type";
const LABEL: &str = "/metadata/labels/cdi.kubevirt.io~1dataImportCron";

/// An import is useless while its DataSource is not ready, or is not updated. CDI does not look at a DataImportCron whose
/// DataSource has another label, and reports nothing about it. SSP sets the label of the DataSources that it creates.
#[rstest]
#[case::not_ready(
    json!({"/status": {"conditions": [{"type": "Ready", "status": "False", "message": "PVC not found"}]}}),
    "source-not-ready",
    "  ✘ good-amd64  no disk: its DataSource is not ready: PVC not found\n"
)]
#[case::of_another(
    json!({LABEL: "old-cron"}),
    "not-managed",
    "  ✘ good-amd64  CDI does not update its DataSource: it has the label of DataImportCron old-cron\n      fix: kubectl label --overwrite datasource.cdi.kubevirt.io -n kubevirt-os-images good-amd64 cdi.kubevirt.io/dataImportCron=good-cron-amd64\n"
)]
#[case::of_none(json!({LABEL: null}), "not-managed", "it has no DataImportCron label\n")]
#[case::of_ssp(
    json!({LABEL: "old-cron", "/metadata/annotations": {OF_SSP: "SSP.ssp.kubevirt.io"}}),
    "ready",
    "no problem: 2 golden images have a disk"
)]
fn an_import_that_its_data_source_does_not_have_is_not_ready(
    #[case] edits: Value,
    #[case] state: &str,
    #[case] row: &str,
) {
    let mut objects = ready("good-amd64", &edits);
    let from = saved(objects.clone());
    let text = run(&format!("check --from {from}")).prints(&[row]);
    assert_eq!(text.code, i32::from(state != "ready"), "{text:?}");
    if state == "not-managed" {
        let is_cron = |object: &&mut Value| object["kind"] == "DataImportCron";
        for cron in objects.iter_mut().filter(is_cron) {
            cron["status"]["conditions"] = json!([]);
        }
    }
    for from in [from, saved(objects)] {
        let status = json_of(&format!("check --from {from}"));
        let image = &images(&status)[0];
        assert_eq!(image["effect"], state, "{status:#}");
        assert_eq!(image["command"].is_object(), state == "not-managed");
    }
}

/// The import of a new image fails, and virtual machines still boot from the last one.
#[test]
fn an_older_disk_stays_while_an_import_fails() {
    let row = |objects: &[Value]| {
        let from = copy("status-cluster.yaml", &[], objects);
        let text = text_of(&format!("check -q --from {from}"));
        let row = text.lines().find(|line| line.contains("✘ busy-arm64 "));
        row.unwrap_or_default().to_owned()
    };
    let condition = json!({"type": "Ready", "status": "True", "message": "ready"});
    let labels = json!({"cdi.kubevirt.io/dataImportCron": "busy-cron-arm64"});
    let pvc = json!({"name": "busy-arm64-00", "namespace": GOLDEN});
    let fields = json!({
        "metadata": {"labels": labels}, "spec": {"source": {"pvc": pvc}}, "status": {"conditions": [condition]},
    });
    let source = object("DataSource", &format!("{GOLDEN}/busy-arm64"), fields);
    let before = row(&[]);
    assert!(before.contains("import fails"), "{before}");
    let missing = "; the DataSource is not created yet";
    let older = "; the older disk stays in use";
    assert_eq!(row(&[source]), before.replace(missing, older));
}

const HYPERCONVERGED: &str = "kubevirt-hyperconverged";

/// OpenShift Virtualization ships other common templates than KubeVirt. HCO lists them.
#[test]
fn a_common_template_that_hco_does_not_list_is_neither_expected_nor_planned() {
    let objects = ready(HYPERCONVERGED, &json!({}));
    let object = objects.iter().find(|it| it["kind"] == "HyperConverged");
    let edits = json!({"/spec/enableCommonBootImageImport": true});
    let mut common = edited(object.unwrap(), &edits);
    let templates = common["status"]["dataImportCronTemplates"].as_array_mut();
    for template in templates.unwrap() {
        template["status"]["commonTemplate"] = json!(true);
    }
    let edits = json!({"/metadata/generation": 2, "/status/observedGeneration": 2});
    let seen = edited(&common, &edits);
    let with = |object: &Value| {
        let edits = json!({"/spec": object["spec"], "/status": object["status"], "/metadata": object["metadata"]});
        saved(ready(HYPERCONVERGED, &edits))
    };
    let missing = |object: &Value| {
        let status = json_of(&format!("check --from {}", with(object)));
        let rows = effects(&status, "DataSource").into_iter();
        rows.filter(|row| row.ends_with("not-created")).count()
    };
    let planned = |object: &Value, more: &str| {
        let plan = json_of(&format!("plan --from {} {more}", with(object)));
        let mut rows = effects(&plan, "DataSource").into_iter();
        rows.any(|row| row.contains("centos-stream10") && row.ends_with("created"))
    };
    assert!(missing(&common) > 0 && planned(&common, ""));
    assert!(missing(&seen) == 0 && !planned(&seen, ""));
    // Another version can ship others.
    assert!(planned(&seen, "--hco-version 1.20"));
    // HCO has not seen a template that the file adds.
    let mut templates = seen["spec"]["dataImportCronTemplates"].clone();
    let edits = json!({"/metadata/name": "added-cron", "/spec/managedDataSource": "added"});
    let added = edited(&templates[0], &edits);
    templates.as_array_mut().unwrap().push(added);
    let changed = edited(&seen, &json!({"/spec/dataImportCronTemplates": templates}));
    let changed = written("changed.json", changed.to_string());
    let plan = json_of(&format!("plan --from {} -f {changed}", with(&seen)));
    let created = effects(&plan, "DataSource").join(" ");
    assert!(created.contains("added-amd64: created"), "{plan:#}");
    // Nor is another one still outstanding.
    assert!(!created.contains("centos-stream10"), "{plan:#}");
}

/// SSP deletes the pointer of a removed template, and leaves the DataSources of its VM templates that are not read here.
#[test]
fn a_pointer_without_a_template_is_deleted() {
    let pointers = ["gone", "win11"].map(|name| {
        let source = json!({"dataSource": {"name": format!("{name}-amd64")}});
        let annotations = json!({OF_SSP: "SSP.ssp.kubevirt.io"});
        let fields = json!({"metadata": {"annotations": annotations}, "spec": {"source": source}});
        object("DataSource", &format!("{GOLDEN}/{name}"), fields)
    });
    let from = copy("status-ready.yaml", &[], &pointers);
    let plan = run(&format!("plan -q --from {from}"));
    plan.prints(&["  - gone  deleted; it pointed to gone-amd64\n"]);
    let plan = json_of(&format!("plan --from {from}"));
    for (is_left, name) in [(false, "gone"), (true, "win11")] {
        let mut sources = items(&plan["bootSources"]).iter();
        let source = sources.find(|source| source["name"] == name).unwrap();
        assert_eq!(source["before"]["pointsTo"], format!("{name}-amd64"));
        assert_eq!(source["after"].is_object(), is_left, "{plan:#}");
    }
    let status = json_of(&format!("check --from {from}"));
    let effects = effects(&status, "DataSource");
    let unwanted = effects.iter().filter(|row| row.ends_with("unwanted"));
    assert_eq!(unwanted.collect::<Vec<_>>(), ["gone: source-unwanted"]);
}

/// Nothing starts an instance again that has no virtual machine.
#[test]
fn an_instance_without_a_virtual_machine_ends() {
    let alone = super::objects::instance("default/alone", "node-7", Some("arm64"));
    let from = copy("plan-cluster.yaml", &[], &[alone]);
    run(&format!("plan -q --from {from} --what-if arm64=-1")).prints(&[
        "default/alone: it stops when its node node-7 leaves; it has no VirtualMachine that starts it again\n",
    ]);
}

/// An outstanding import would use the old image without the change.
#[test]
fn what_is_outstanding_is_that_of_the_object_as_it_is() {
    let mut objects = ready(HYPERCONVERGED, &json!({}));
    let object = objects.iter().find(|it| it["kind"] == "HyperConverged");
    let url = "/spec/dataImportCronTemplates/0/spec/template/spec/source/registry/url";
    let mut changed = object.unwrap().clone();
    *changed.pointer_mut(url).unwrap() = json!("docker://quay.io/containerdisks/changed:1");
    let changed = written("changed.json", changed.to_string());
    objects.retain(|it| it["kind"] != "DataImportCron");
    let api_version = "cdi.kubevirt.io/v1beta1";
    objects.push(json!({"apiVersion": api_version, "kind": "DataImportCronList", "items": []}));
    let plan = text_of(&format!("plan -q --from {} -f {changed}", saved(objects)));
    let (change, outstanding) = plan.split_once("still outstanding").unwrap();
    assert!(change.contains("containerdisks/changed:1"), "{plan}");
    assert!(!outstanding.contains("containerdisks/changed:1"), "{plan}");
}

/// Between the two plans, each list has an item.
#[test]
fn the_schema_describes_every_field_of_a_plan() {
    let vm = json!({"spec": {"template": {"spec": {"architecture": "arm64"}}}});
    let source = json!({"kind": "DataSource", "name": "old-image", "namespace": GOLDEN});
    let waits = json!({"spec": {"sourceRef": source}, "status": {"phase": "Pending"}});
    let claim = "PersistentVolumeClaim";
    let from = beside(&[
        object("VirtualMachine", "default/vm", vm),
        object("DataVolume", "default/waits", waits),
        disk(claim, "my-image-arm64-x", "my-image-cron-arm64"),
    ]);
    let added = "dataImportCronTemplates:
    - metadata:
        name: added-cron
        annotations: {ssp.kubevirt.io/dict.architectures: \"amd64\"}
      spec:
        managedDataSource: added
        schedule: \"0 12 * * *\"
        template: {spec: {source: {registry: {url: \"docker://registry.example.com/added:1\"}}, storage: {resources: {requests: {storage: 10Gi}}}}}
";
    let item = added.split_once('\n').unwrap().1.replace("added", "stops");
    let added = format!("{added}{}", item.replace("0 12 * * *", "0 12 * *"));
    let added = ("dataImportCronTemplates:\n", &*added);
    let file = changed(&[added, FOR_ARM64, NO_PLACEMENT]);
    let words = "--settings settings-stopped.yaml --what-if amd64=-1";
    let plan = json_of(&format!("plan -f {file} --from {from} {words}"));
    // A rejected object keeps SSP from deleting anything.
    let other = json_of(&format!("plan -f plan.yaml --from {from}"));
    for plan in [&plan, &other] {
        assert_eq!(mistakes(&schema_of("plan"), plan), [""; 0], "{plan:#}");
    }
    let sources = items(&plan["bootSources"]);
    for field in ["pointsTo", "template", "disk"] {
        let mut sources = sources.iter();
        assert!(
            sources.any(|source| source["after"][field].is_string()),
            "{field}: {plan:#}"
        );
    }
}
