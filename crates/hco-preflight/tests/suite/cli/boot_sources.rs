//! `plan`: the output about the boot sources of one template that was imported for amd64 and arm64.

use std::slice::from_ref;

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{GOLDEN, edited, instance, list, machine, node, object};
use super::{effects, json_of, rows, run, text_of, written};

/// A template for both architectures.
fn template(source: &str, retention: &str) -> Value {
    let url = format!("docker://registry.example.com/{source}:1");
    let template = super::objects::template(&format!("{source}-cron"), Some("amd64,arm64"), &url);
    let edits = json!({"/spec/managedDataSource": source, "/spec/retentionPolicy": retention, "/spec/importsToKeep": 1});
    edited(&template, &edits)
}

/// An object in the namespace of golden images.
fn golden(kind: &str, name: &str, fields: Value) -> Value {
    object(kind, &format!("{GOLDEN}/{name}"), fields)
}

fn disk(name: &str, labels: &Value) -> Value {
    let spec = json!({"storageClassName": "fast", "resources": {"requests": {"storage": "10Gi"}}});
    let fields = json!({"metadata": {"labels": labels}, "spec": spec});
    golden("PersistentVolumeClaim", name, fields)
}

/// The objects that the operators create from a template: for each architecture, or for none with the import off.
fn made_of(template: &Value, architectures: &[&str]) -> Vec<Value> {
    let of_ssp = json!({"operator-sdk/primary-resource-type": "SSP.ssp.kubevirt.io"});
    let source = template["spec"]["managedDataSource"].as_str().unwrap();
    let mut suffixes: Vec<String> = architectures
        .iter()
        .map(|name| format!("-{name}"))
        .collect();
    if architectures.is_empty() {
        suffixes.push(String::new());
    }
    let mut objects = Vec::new();
    for suffix in suffixes {
        let cron = format!("{}{suffix}", template["metadata"]["name"].as_str().unwrap());
        let name = format!("{source}{suffix}");
        let made = format!("{name}-0123456789ab");
        let mut spec = template["spec"].clone();
        spec["managedDataSource"] = json!(name);
        if let Some(architecture) = suffix.strip_prefix('-') {
            let platform = json!({"architecture": architecture});
            spec["template"]["spec"]["source"]["registry"]["platform"] = platform;
        }
        let mut labels = json!({"cdi.kubevirt.io/dataImportCron": cron});
        if spec["retentionPolicy"] == "None" {
            labels["cdi.kubevirt.io/dataImportCron.cleanup"] = json!("true");
        }
        let pvc = json!({"name": made, "namespace": GOLDEN});
        let fields = json!({"metadata": {"labels": labels}, "spec": {"source": {"pvc": pvc}}});
        let mut data_source = golden("DataSource", &name, fields);
        // SSP creates the DataSources of its VM templates; CDI creates all others.
        if source == "fedora" {
            data_source["metadata"]["annotations"] = of_ssp.clone();
        }
        objects.push(data_source);
        let fields = json!({
            "metadata": {"annotations": of_ssp}, "spec": spec, "status": {"lastImportedPVC": pvc},
        });
        objects.push(golden("DataImportCron", &cron, fields));
        objects.push(disk(&made, &labels));
    }
    if let Some(first) = architectures.first() {
        let pointer = json!({"dataSource": {"name": format!("{source}-{first}")}});
        let fields = json!({"metadata": {"annotations": of_ssp}, "spec": {"source": pointer}});
        objects.push(golden("DataSource", source, fields));
    }
    objects
}

/// The objects of a template for both architectures.
fn made_for_both(template: &Value) -> Vec<Value> {
    made_of(template, &["amd64", "arm64"])
}

fn hyperconverged(templates: &[Value], is_on: bool) -> Value {
    super::objects::hyperconverged(json!({"spec": {
        "enableCommonBootImageImport": false,
        "featureGates": {"enableMultiArchBootImageImport": is_on},
        "dataImportCronTemplates": templates,
    }}))
}

/// The arguments for a plan of a changed object, on a cluster with these objects and three nodes.
fn planned(before: &Value, objects: &[Value], after: Option<&Value>) -> String {
    let mut before = before.clone();
    before["metadata"]["resourceVersion"] = json!("1");
    before["status"]["versions"] = json!([{"name": "operator", "version": "1.18.1"}]);
    let mut items = vec![
        node("cp-1", "amd64", "control-plane"),
        node("w-1", "amd64", "worker"),
        node("a-1", "arm64", "worker"),
        before,
    ];
    items.extend_from_slice(objects);
    let from = written("is.json", list(items).to_string());
    let after = after.map(|after| format!(" -f {}", written("after.json", after.to_string())));
    format!(
        "plan --from {from} --allow-unread{}",
        after.unwrap_or_default()
    )
}

/// The arguments for a plan of other templates, with the import on.
fn changed(before: &[Value], objects: &[Value], after: &[Value]) -> String {
    let [before, after] = [before, after].map(|templates| hyperconverged(templates, true));
    planned(&before, objects, Some(&after))
}

/// The arguments for a plan after an edit of a template that was imported.
fn words(template: &Value, edits: &Value) -> String {
    let after = edited(template, edits);
    changed(from_ref(template), &made_for_both(template), &[after])
}

/// The arguments for a plan without a change.
fn unchanged(template: Value, objects: &[Value]) -> String {
    planned(&hyperconverged(&[template], true), objects, None)
}

/// A line of a plan, once for each of its boot sources: `- a, b: deleted` is `- a deleted` and `- b deleted`.
pub(super) fn ungrouped(line: &str) -> Vec<String> {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (sign, rest) = line.split_once(' ').unwrap_or_default();
    let (names, detail) = rest.split_once(": ").unwrap_or_default();
    if names.replace(", ", "").contains(' ') || !names.contains(", ") {
        return vec![line];
    }
    let names = names.split(", ");
    names
        .map(|name| format!("{sign} {name} {detail}"))
        .collect()
}

#[track_caller]
fn shows(words: &str, rows: &[&str]) {
    let text = text_of(words);
    let lines: Vec<String> = text.lines().flat_map(ungrouped).collect();
    for row in rows {
        assert!(lines.iter().any(|line| line == row), "no `{row}`: {text}");
    }
}

/// A list of a plan, of namespaces and names.
fn in_golden(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| format!("{GOLDEN}/{name}"))
        .collect()
}

/// Edits of an imported template, and their effects on its boot sources.
#[rstest]
#[case::another_source(template("mine", "None"), json!({"/spec/managedDataSource": "other"}), &[
    "- mine-amd64 deleted with its disk",
    "+ other-amd64 imported from docker://registry.example.com/mine:1 for amd64",
])]
#[case::another_source_that_keeps_the_newest(template("mine", "All"), json!({"/spec/managedDataSource": "other"}), &[
    "- mine-amd64 has no disk any more",
    "+ other-amd64 imported from docker://registry.example.com/mine:1 for amd64",
])]
#[case::another_source_that_keeps_several(edited(&template("mine", "All"), &json!({"/spec/importsToKeep": 3})), json!({"/spec/managedDataSource": "other"}), &[
    "~ mine-amd64 keeps its disk; not updated any more",
])]
#[case::another_source_of_ssp(template("fedora", "All"), json!({"/spec/managedDataSource": "other"}), &[
    "- fedora-amd64 has no disk any more",
])]
#[case::a_schedule_that_never_runs(template("mine", "None"), json!({"/spec/schedule": "TZ=UTC 0 6 * * *"}), &[
    "- mine-amd64 never imported: the schedule contains a time zone; deleted with its disk",
])]
#[case::a_schedule_that_never_runs_again(template("mine", "All"), json!({"/spec/schedule": "TZ=UTC 0 6 * * *"}), &[
    "~ mine-amd64 its DataImportCron mine-cron-amd64 is deleted and created again, because schedule changes; its disk, if it has one, stays in use, and no image is imported: the schedule contains a time zone",
])]
// CDI does not delete disks with the retention policy `All`.
#[case::rejected(template("mine", "All"), json!({"/spec/schedule": "0 6 * *"}), &[
    "✘ mine-amd64 not imported: its DataImportCron mine-cron-amd64 is rejected: the schedule is not a valid cron expression (template mine-cron, spec.dataImportCronTemplates[0].spec.schedule); its disk stays, and is not updated any more",
])]
#[case::a_disk_that_no_import_keeps(template("mine", "None"), json!({"/spec/importsToKeep": 0}), &[
    "✘ mine-arm64 deleted and imported again, because importsToKeep changes: no disk until the import is done; importsToKeep is 0, so CDI deletes the disk after each import, and imports it again",
])]
fn an_edit_has_its_rows(#[case] template: Value, #[case] edits: Value, #[case] rows: &[&str]) {
    shows(&words(&template, &edits), rows);
}

/// SSP sets the label of the new DataImportCron on a DataSource of its VM templates. CDI keeps the label of any other
/// DataSource, and does not update it for the new DataImportCron.
#[rstest]
#[case::custom(
    ("mine", "All", 1),
    "~ mine-amd64 its DataImportCron mine-cron-amd64 is replaced by new-cron-amd64; its disk, if it has one, stays in use, and the same image is not imported again",
    (0, 0)
)]
#[case::custom_with_another_image(
    ("mine", "All", 2),
    "! mine-arm64 never updated for new-cron-arm64: it has the label of DataImportCron mine-cron-arm64",
    (2, 2)
)]
#[case::of_ssp(
    ("fedora", "All", 1),
    "~ fedora-arm64 its DataImportCron fedora-cron-arm64 is replaced by new-cron-arm64; its disk, if it has one, stays in use, and the same image is not imported again",
    (0, 0)
)]
#[case::of_ssp_with_another_image(
    ("fedora", "All", 2),
    "~ fedora-arm64 its DataImportCron fedora-cron-arm64 is replaced by new-cron-arm64; until the new image is imported, its disk, if it has one, stays in use",
    (0, 2)
)]
#[case::deleted(
    ("mine", "None", 1),
    "! mine-amd64 imported from docker://registry.example.com/mine:1 for amd64; no disk until the import is done",
    (0, 2)
)]
fn a_renamed_template_takes_over_its_data_sources_if_it_can(
    #[case] (source, retention, tag): (&str, &str, u8),
    #[case] row: &str,
    #[case] (not_updated, requested): (usize, usize),
) {
    let url = format!("docker://registry.example.com/{source}:{tag}");
    let edits = json!({
        "/metadata/name": "new-cron",
        "/spec/template/spec/source/registry/url": url,
    });
    let template = template(source, retention);
    let words = words(&template, &edits);
    shows(&words, &[row]);
    let plan = json_of(&words);
    let count = |list: &Value| list.as_array().unwrap().len();
    assert_eq!(
        count(&with_effect(&plan, "not-updated")),
        not_updated,
        "{plan:#}"
    );
    assert_eq!(plan["storage"]["disks"], requested, "{plan:#}");
    let is_lost = not_updated > 0 || retention == "None";
    run(&words).exits(i32::from(is_lost));
    // The same without DataImportCrons, DataSources, and disks.
    let after = edited(&template, &edits);
    shows(&changed(&[template], &[], &[after]), &[row]);
}

/// The DataSources with this effect.
fn with_effect(plan: &Value, effect: &str) -> Value {
    let rows = plan["rows"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["kind"] == "DataSource" && row["effect"] == effect);
    let name = |row: &Value| format!("{}/{}", row["namespace"], row["name"]).replace('"', "");
    rows.map(|row| Value::from(name(row))).collect()
}

/// SSP deletes its DataSources, and CDI keeps their disks because of the retention policy.
#[test]
fn a_deleted_data_source_leaves_its_disk() {
    for (retention, row) in [
        ("None", "- fedora-arm64 deleted with its disk"),
        ("All", "- fedora-arm64 deleted; its disk stays"),
    ] {
        let template = template("fedora", retention);
        for made in [made_for_both(&template), Vec::new()] {
            let words = unchanged(template.clone(), &made);
            shows(&format!("{words} --what-if arm64=-1"), &[row]);
        }
    }
}

/// A disk whose DataImportCron was not read must not appear as a disk without one.
#[test]
fn without_data_import_crons_no_boot_source_is_lost() {
    let template = template("mine", "All");
    let mut made = made_of(&template, &[]);
    made.retain(|it| it["kind"] != "DataImportCron");
    made.push(json!({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotList", "items": []}));
    let plan = run(&planned(&hyperconverged(&[template], false), &made, None));
    plan.exits(0).prints(&["not read"]).lacks(&["has no disk"]);
}

#[test]
fn without_disks_a_new_import_is_counted() {
    let (old, new) = (template("mine", "All"), template("other", "All"));
    let mut made = made_for_both(&old);
    made.retain(|object| object["kind"] != "PersistentVolumeClaim");
    let plan = run(&planned(&hyperconverged(&[old, new], true), &made, None));
    plan.prints(&["storage of new disks: 2 disks", "not read"]);
}

/// SSP labels the DataSource of its VM templates, although the image can be for another architecture.
#[test]
fn a_label_that_the_image_need_not_have_is_said() {
    let annotation = "/metadata/annotations/ssp.kubevirt.io~1dict.architectures";
    let template = template("fedora", "None");
    let templates = [edited(&template, &json!({annotation: null}))];
    let [off, on] = [false, true].map(|is_on| hyperconverged(&templates, is_on));
    let row = "+ fedora-amd64 imported from docker://registry.example.com/fedora:1 for one architecture: the image's, or for a multi-architecture image, the architecture of the importer's node (amd64, arm64); its label says amd64 in any case";
    shows(
        &planned(&off, &made_of(&templates[0], &[]), Some(&on)),
        &[row],
    );
}

#[test]
fn a_pointer_that_follows_the_control_plane_loses_its_disk() {
    let template = template("fedora", "None");
    let made = made_for_both(&template);
    let words = unchanged(template, &made);
    let row = "- fedora has no disk any more: it points to fedora-amd64";
    shows(&format!("{words} --what-if amd64=-1"), &[row]);
    // SSP counts the control plane first, but the order does not change its VM templates.
    let moved = "--what-if control-plane:amd64=-1,control-plane:arm64=1";
    let plan = run(&format!("{words} {moved}")).prints(&["control plane"]);
    plan.lacks(&["SSP's VM templates  "]);
}

/// SSP leaves the spec of its VM templates' DataSource to CDI, which changes it after the import.
#[test]
fn a_data_source_keeps_pointing_to_a_deleted_one_until_its_import_is_done() {
    let templates = [template("fedora", "None")];
    let made = made_for_both(&templates[0]);
    let [off, on] = [false, true].map(|is_on| hyperconverged(&templates, is_on));
    let row = "! fedora keeps pointing to the deleted fedora-amd64 until its own import is done";
    let text = text_of(&planned(&on, &made, Some(&off)));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let label =
        "get the architecture that they set, or the one in an older label, or amd64, whatever";
    assert!(text.contains(&format!("{row}; imported from")), "{text}");
    assert!(text.contains(label), "{text}");
    // In the meantime, the DataImportCron exists, and has not imported an image.
    let mut meanwhile = made_of(&templates[0], &[]);
    meanwhile.retain(|it| it["kind"] == "DataImportCron");
    meanwhile[0] = edited(&meanwhile[0], &json!({"/status": null}));
    meanwhile.push(golden("PersistentVolumeClaim", "other", json!({})));
    let mut made = made.into_iter();
    meanwhile
        .extend(made.find(|it| it["kind"] == "DataSource" && it["metadata"]["name"] == "fedora"));
    shows(&planned(&off, &meanwhile, None), &[row]);
}

/// The HyperConverged no longer has its template.
#[test]
fn the_disk_of_a_removed_template_stays_and_is_not_updated() {
    let made = made_for_both(&template("mine", "All"));
    let words = planned(&hyperconverged(&[], true), &made, None);
    let row = "~ mine-arm64 keeps its disk; not updated any more";
    shows(&words, &[&row.replace("arm64", "amd64"), row]);
}

/// CDI checks the label of an existing DataSource, whichever template names it.
#[test]
fn a_data_source_of_a_removed_template_is_not_taken_over() {
    let (removed, other) = (template("mine", "All"), template("other", "All"));
    let made = [made_of(&removed, &["amd64"]), made_of(&other, &["amd64"])].concat();
    let takes = edited(&other, &json!({"/spec/managedDataSource": "mine"}));
    let words = changed(&[removed, other], &made, &[takes]);
    let row = "! mine-amd64 never updated for other-cron-amd64: it has the label of DataImportCron mine-cron-amd64";
    let fix = "fix, after other-cron-amd64 is created: kubectl label --overwrite datasource.cdi.kubevirt.io -n kubevirt-os-images mine-amd64 cdi.kubevirt.io/dataImportCron=other-cron-amd64";
    shows(&words, &[row, fix]);
    let not_updated = with_effect(&json_of(&words), "not-updated");
    assert_eq!(not_updated, in_golden(&["mine-amd64"]));
}

/// An existing problem is outstanding, and does not count as an effect of the requested change.
#[test]
fn a_label_that_is_wrong_already_is_outstanding() {
    let template = template("mine", "All");
    let mut made = made_of(&template, &["amd64"]);
    made[0]["metadata"]["labels"]["cdi.kubevirt.io/dataImportCron"] = json!("gone");
    let words = unchanged(template, &made);
    let headline = "1 import, 1 boot source never updated; not read: DataVolume, VirtualMachine, VirtualMachineInstance, VolumeSnapshot";
    let row =
        "! mine-amd64 never updated for mine-cron-amd64: it has the label of DataImportCron gone";
    shows(&words, &[headline, row]);
    run(&words).exits(1);
}

/// The disk of a running VM has the architecture of its node, whatever KubeVirt would choose.
#[rstest]
#[case::where_it_will_be_started(Some("a-1"), "")]
#[case::elsewhere(
    Some("w-1"),
    "; set its spec.template.spec.architecture to amd64 now, or its amd64 disk is started on arm64"
)]
#[case::nowhere(
    None,
    "; set its spec.template.spec.architecture to its disk's architecture now, or the disk is started on arm64"
)]
fn the_disk_of_a_running_virtual_machine_is_of_its_node(
    #[case] node: Option<&str>,
    #[case] advice: &str,
) {
    let templates = [template("mine", "None")];
    let mut objects = made_of(&templates[0], &[]);
    let status = if node.is_some() { "Running" } else { "Stopped" };
    objects.push(machine("mine-arm64", status));
    objects.push(
        json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolumeList", "items": []}),
    );
    objects.extend(node.map(|node| instance("default/vm", node, None)));
    let [off, on] = [false, true].map(|is_on| hyperconverged(&templates, is_on));
    let plan = json_of(&planned(&off, &objects, Some(&on)));
    let machine = &rows(&plan, "VirtualMachine")[0];
    let detail = format!(
        "no architecture is set: from then on, KubeVirt would choose arm64 instead of amd64{advice}"
    );
    assert_eq!(machine["detail"], detail, "{plan:#}");
    let decides = "the label of DataSource kubevirt-os-images/mine-arm64";
    assert_eq!(machine["decides"], decides, "{plan:#}");
}

/// SSP deletes other pointers, and CDI creates their DataSources again.
#[rstest]
#[case("fedora", &["vm: architecture-changes"])]
#[case("mine", &[])]
fn a_data_source_of_vm_templates_keeps_its_label(#[case] source: &str, #[case] wanted: &[&str]) {
    let templates = [template(source, "None")];
    let mut objects = made_for_both(&templates[0]);
    let pointer = objects.last_mut().unwrap();
    pointer["metadata"]["labels"] = json!({"template.kubevirt.io/architecture": "arm64"});
    objects.push(machine(source, "Stopped"));
    let [off, on] = [false, true].map(|is_on| hyperconverged(&templates, is_on));
    let plan = json_of(&planned(&on, &objects, Some(&off)));
    assert_eq!(effects(&plan, "VirtualMachine"), wanted, "{plan:#}");
}

/// Imported boot sources of SSP's VM templates are deleted like any others.
#[test]
fn the_status_names_what_ssp_deletes_of_its_own() {
    let template = template("fedora", "None");
    let mut objects = made_for_both(&template);
    objects.push(golden("DataSource", "rhel9-arm64", json!({
        "metadata": {"annotations": {"operator-sdk/primary-resource-type": "SSP.ssp.kubevirt.io"}},
        "spec": {"source": {"pvc": {"name": "rhel9-arm64", "namespace": GOLDEN}}},
    })));
    let mut object = hyperconverged(&[template], true);
    object["spec"]["workloads"] =
        json!({"nodePlacement": {"nodeSelector": {"kubernetes.io/hostname": "w-1"}}});
    let status = json_of(&planned(&object, &objects, None).replacen("plan", "check", 1));
    let mut unwanted = effects(&status, "DataSource");
    unwanted.retain(|row| row.ends_with("source-unwanted"));
    assert_eq!(unwanted, ["fedora-arm64: source-unwanted"], "{status:#}");
}

/// SSP removes the pointer from its own DataSource.
#[test]
fn a_pointer_that_is_taken_away_is_not_there_any_more() {
    let template = template("fedora", "None");
    let made = made_for_both(&template);
    let [before, after] = [
        hyperconverged(&[template], true),
        hyperconverged(&[], false),
    ];
    let row = "- fedora no longer points to fedora-amd64; has no disk any more";
    shows(&planned(&before, &made, Some(&after)), &[row]);
}

#[test]
fn a_data_import_cron_that_never_imported_imports_when_it_is_recreated() {
    let template = template("mine", "All");
    let mut objects = made_for_both(&template);
    for object in &mut objects {
        object["status"] = Value::Null;
    }
    let after = edited(&template, &json!({"/spec/schedule": "0 1 * * *"}));
    let row = "~ mine-arm64 its DataImportCron mine-cron-arm64 is deleted and created again, because schedule changes; its image is imported, because it was not imported before";
    shows(&changed(&[template], &objects, &[after]), &[row]);
}

/// The DataSource and its disk are the user's, and the disk that the DataImportCron imported is deleted with it.
#[test]
fn a_disk_is_imported_again_beside_a_users_disk() {
    let template = template("mine", "None");
    let mut objects = made_of(&template, &["amd64"]);
    objects[0]["metadata"]["labels"] = json!({});
    objects[0]["spec"]["source"]["pvc"]["name"] = json!("by-hand");
    objects.push(disk("by-hand", &json!({})));
    let after = edited(&template, &json!({"/spec/schedule": "0 1 * * *"}));
    let plan = json_of(&changed(&[template], &objects, &[after]));
    assert_eq!(plan["storage"]["disks"], 2, "{plan:#}");
}

#[test]
fn a_patch_of_ssp_is_not_part_of_a_plan() {
    let template = template("mine", "None");
    let made = made_for_both(&template);
    let before = hyperconverged(&[template], true);
    let operation =
        json!({"op": "add", "path": "/spec/cluster/workloadArchitectures", "value": ["amd64"]});
    let annotations = json!({"ssp.kubevirt.io/jsonpatch": json!([operation]).to_string()});
    let after = edited(&before, &json!({"/metadata/annotations": annotations}));
    let plan = json_of(&planned(&before, &made, Some(&after)));
    let mut rows = plan["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["effect"] == "caution").unwrap();
    let note = "The plan ignores the jsonpatch annotation for SSP";
    assert!(row["detail"].as_str().unwrap().starts_with(note), "{row}");
}

/// HCO's webhook sends the architectures of the status to SSP, also without golden images.
#[test]
fn an_unknown_architecture_in_the_status_denies_every_change() {
    let after = hyperconverged(&[], false);
    let info = json!({"workloadsArchitectures": ["amd64", "riscv64"]});
    let before = edited(&after, &json!({"/status": {"nodeInfo": info}}));
    let after = edited(&after, &json!({"/spec/defaultCPUModel": "Haswell"}));
    let words = planned(&before, &[], Some(&after));
    assert_eq!(json_of(&words)["deniedByHco"], true);
    let plan = text_of(&words);
    assert!(plan.contains("lists the architecture `riscv64`"), "{plan}");
}
