//! `plan`: the output about the boot sources of one template that was imported for amd64 and arm64.

use std::path::PathBuf;

use rstest::{Context, rstest};
use serde_json::{Map, Value, json};

use super::{run, scratch, unfolded};

const GOLDEN: &str = "kubevirt-os-images";

/// A template for both architectures.
fn template(source: &str, retention: &str) -> Value {
    json!({
        "metadata": {
            "name": format!("{source}-cron"),
            "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64,arm64"},
        },
        "spec": {
            "managedDataSource": source,
            "schedule": "0 */12 * * *",
            "retentionPolicy": retention,
            "importsToKeep": 1,
            "template": {"spec": {
                "source": {"registry": {"url": format!("docker://registry.example.com/{source}:1")}},
                "storage": {"resources": {"requests": {"storage": "10Gi"}}},
            }},
        },
    })
}

/// The objects that the operators create from a template: for each architecture, or for none with the import off.
fn made_of(template: &Value, architectures: &[&str]) -> Vec<Value> {
    let of_ssp = json!({"operator-sdk/primary-resource-type": "SSP.ssp.kubevirt.io"});
    let source = template["spec"]["managedDataSource"].as_str().unwrap();
    // SSP creates the DataSources of its VM templates; CDI creates all others.
    let is_of_ssp = source == "fedora";
    let mut objects = Vec::new();
    let suffixes = if architectures.is_empty() {
        vec![String::new()]
    } else {
        architectures.iter().map(|it| format!("-{it}")).collect()
    };
    for suffix in suffixes {
        let cron = format!("{}{suffix}", template["metadata"]["name"].as_str().unwrap());
        let (name, disk) = (
            format!("{source}{suffix}"),
            format!("{source}{suffix}-0123456789ab"),
        );
        let mut spec = template["spec"].clone();
        spec["managedDataSource"] = json!(name);
        if let Some(architecture) = suffix.strip_prefix('-') {
            spec["template"]["spec"]["source"]["registry"]["platform"] =
                json!({"architecture": architecture});
        }
        let mut labels = json!({"cdi.kubevirt.io/dataImportCron": cron});
        if spec["retentionPolicy"] == "None" {
            labels["cdi.kubevirt.io/dataImportCron.cleanup"] = json!("true");
        }
        let mut data_source = json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource",
            "metadata": {"name": name, "namespace": GOLDEN, "labels": labels},
            "spec": {"source": {"pvc": {"name": disk, "namespace": GOLDEN}}},
        });
        if is_of_ssp {
            data_source["metadata"]["annotations"] = of_ssp.clone();
        }
        objects.push(data_source);
        objects.push(json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataImportCron",
            "metadata": {"name": cron, "namespace": GOLDEN, "annotations": of_ssp},
            "spec": spec,
            "status": {"lastImportedPVC": {"name": disk, "namespace": GOLDEN}},
        }));
        objects.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": disk, "namespace": GOLDEN, "labels": labels},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "10Gi"}}},
        }));
    }
    if let Some(first) = architectures.first() {
        objects.push(json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource",
            "metadata": {"name": source, "namespace": GOLDEN, "annotations": of_ssp},
            "spec": {"source": {"dataSource": {"name": format!("{source}-{first}")}}},
        }));
    }
    objects
}

/// The `DataVolume`s of the disks of `mine`, with the label of a cron for each architecture.
fn data_volumes(cron: &str) -> [Value; 2] {
    ["amd64", "arm64"].map(|architecture| {
        json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
            "metadata": {
                "name": format!("mine-{architecture}-0123456789ab"), "namespace": GOLDEN,
                "labels": {"cdi.kubevirt.io/dataImportCron": format!("{cron}-{architecture}")},
            },
        })
    })
}

fn hyperconverged(templates: &[Value], is_on: bool) -> Value {
    json!({
        "apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
        "spec": {
            "enableCommonBootImageImport": false,
            "featureGates": {"enableMultiArchBootImageImport": is_on},
            "dataImportCronTemplates": templates,
        },
    })
}

/// The arguments for a plan of a changed object, on a cluster with these objects and four nodes.
fn planned(test: &str, before: &Value, objects: &[Value], after: Option<&Value>) -> String {
    let node = |name: &str, architecture: &str, role: &str| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {format!("node-role.kubernetes.io/{role}"): ""}},
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    let mut before = before.clone();
    before["metadata"]["uid"] = json!("0c4e");
    before["status"] = json!({"versions": [{"name": "operator", "version": "1.18.1"}]});
    let mut items = vec![
        node("cp-1", "amd64", "control-plane"),
        node("w-1", "amd64", "worker"),
        node("a-1", "arm64", "worker"),
        before,
    ];
    items.extend_from_slice(objects);
    let directory = scratch(&format!("boot-sources-{test}"));
    let write = |name: &str, value: &Value| -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path
    };
    let is = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let from = format!("plan -q --from {}", write("is.json", &is).display());
    match after {
        Some(after) => format!("{from} -f {}", write("after.json", after).display()),
        None => from,
    }
}

/// A template with other values, by their pointers. `null` removes the value.
fn edited(template: &Value, edits: &Value) -> Value {
    let mut edited = template.clone();
    for (pointer, value) in edits.as_object().unwrap() {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = edited.pointer_mut(parent).and_then(Value::as_object_mut);
        let parent: &mut Map<String, Value> = parent.unwrap();
        let field = field.replace("~1", "/");
        if value.is_null() {
            parent.remove(&field).unwrap();
        } else {
            parent.insert(field, value.clone());
        }
    }
    edited
}

/// The arguments for a plan after an edit of a template that was imported.
fn words(test: &str, source: &str, retention: &str, edits: &Value) -> String {
    let template = template(source, retention);
    let edited = edited(&template, edits);
    let after = hyperconverged(&[edited], true);
    let made = made_of(&template, &["amd64", "arm64"]);
    planned(
        test,
        &hyperconverged(&[template], true),
        &made,
        Some(&after),
    )
}

#[track_caller]
fn shows(words: &str, rows: &[&str]) {
    let text = unfolded(&run(words).stdout);
    for row in rows {
        let has = |line: &str| {
            let line: Vec<&str> = line.split_whitespace().collect();
            line.join(" ") == *row
        };
        assert!(text.lines().any(has), "no `{row}`: {text}");
    }
}

fn json_of(words: &str) -> Value {
    serde_json::from_slice(&run(&format!("{words} -o json")).stdout).unwrap()
}

/// SSP sets the label of the new DataImportCron on a DataSource of its VM templates. CDI keeps the label of any other
/// DataSource, and does not update it for the new DataImportCron.
#[rstest]
#[case::custom(
    "mine",
    "All",
    json!({"/metadata/name": "new-cron"}),
    "~ mine-amd64 its DataImportCron mine-cron-amd64 is replaced by new-cron-amd64; its disk, if it has one, stays in use, and the same image is not imported again",
    0,
    0
)]
#[case::custom_with_another_image(
    "mine",
    "All",
    json!({"/metadata/name": "new-cron", "/spec/template/spec/source/registry/url": "docker://registry.example.com/mine:2"}),
    "! mine-arm64 never updated for new-cron-arm64: it has the label of DataImportCron mine-cron-arm64",
    2,
    2
)]
#[case::of_ssp(
    "fedora",
    "All",
    json!({"/metadata/name": "new-cron"}),
    "~ fedora-arm64 its DataImportCron fedora-cron-arm64 is replaced by new-cron-arm64; its disk, if it has one, stays in use, and the same image is not imported again",
    0,
    0
)]
#[case::of_ssp_with_another_image(
    "fedora",
    "All",
    json!({"/metadata/name": "new-cron", "/spec/template/spec/source/registry/url": "docker://registry.example.com/fedora:2"}),
    "~ fedora-arm64 its DataImportCron fedora-cron-arm64 is replaced by new-cron-arm64; until the new image is imported, its disk, if it has one, stays in use",
    0,
    2
)]
#[case::deleted(
    "mine",
    "None",
    json!({"/metadata/name": "new-cron"}),
    "! mine-amd64 imported from docker://registry.example.com/mine:1 for amd64; no disk until the import is done",
    0,
    2
)]
fn a_renamed_template_takes_over_its_data_sources_if_it_can(
    #[case] source: &str,
    #[case] retention: &str,
    #[case] edits: Value,
    #[case] row: &str,
    #[case] not_updated: usize,
    #[case] requested: usize,
    #[context] context: Context,
) {
    let test = format!("renamed-{}", context.description.unwrap());
    let words = words(&test, source, retention, &edits);
    shows(&words, &[row]);
    let plan = json_of(&words);
    let count = |list: &Value| list.as_array().unwrap().len();
    assert_eq!(count(&plan["notUpdated"]), not_updated, "{plan:#}");
    assert_eq!(count(&plan["storage"]), requested, "{plan:#}");
    let is_lost = not_updated > 0 || retention == "None";
    assert_eq!(run(&words).status.code(), Some(i32::from(is_lost)));
    // The same without DataImportCrons, DataSources, and disks.
    let template = template(source, retention);
    let after = hyperconverged(&[edited(&template, &edits)], true);
    let before = hyperconverged(&[template], true);
    shows(
        &planned(&format!("{test}-unread"), &before, &[], Some(&after)),
        &[row],
    );
}

/// CDI deletes the disks of former imports with the name, although they are in use.
#[test]
fn a_former_name_with_another_image_loses_the_disks() {
    let template = template("mine", "All");
    let edits = json!({
        "/metadata/name": "former-cron",
        "/spec/template/spec/source/registry/url": "docker://registry.example.com/mine:2",
    });
    let after = hyperconverged(&[edited(&template, &edits)], true);
    let mut objects = made_of(&template, &["amd64", "arm64"]);
    for (count, is_empty) in [(0, false), (5, true)] {
        objects.extend((0..count).map(|number| {
            json!({
                "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
                "metadata": {
                    "name": format!("mine-amd64-{number}"), "namespace": "kubevirt-os-images",
                    "labels": {"cdi.kubevirt.io/dataImportCron": "former-cron-amd64"},
                },
            })
        }));
        let before = hyperconverged(std::slice::from_ref(&template), true);
        let plan = json_of(&planned("former-name", &before, &objects, Some(&after)));
        let empty = plan["emptyMeanwhile"].as_array().unwrap();
        let wanted = json!("kubevirt-os-images/mine-amd64");
        assert_eq!(empty.contains(&wanted), is_empty, "{plan:#}");
    }
}

/// The `DataVolume` keeps the label of the `DataImportCron` that created it, although the template was renamed since.
#[test]
fn a_former_name_for_another_data_source_deletes_the_disk_in_use() {
    let template = template("mine", "All");
    let edits = json!({"/metadata/name": "former-cron", "/spec/managedDataSource": "other"});
    let former = edited(&template, &edits);
    let before = hyperconverged(std::slice::from_ref(&template), true);
    let mut objects = made_of(&template, &["amd64", "arm64"]);
    objects.extend(data_volumes("former-cron"));
    for (test, templates, list) in [
        ("kept", vec![template, former.clone()], "emptyMeanwhile"),
        ("removed", vec![former], "lostImage"),
    ] {
        let after = hyperconverged(&templates, true);
        let test = format!("former-name-other-{test}");
        let plan = json_of(&planned(&test, &before, &objects, Some(&after)));
        let sources = ["mine", "mine-amd64", "mine-arm64"].map(|it| format!("{GOLDEN}/{it}"));
        assert_eq!(plan[list], json!(sources), "{plan:#}");
    }
}

#[rstest]
#[case::none(
    "mine", "None", 1,
    &["- mine-amd64 deleted with its disk", "+ other-amd64 imported from docker://registry.example.com/mine:1 for amd64"],
)]
#[case::only_the_newest(
    "mine", "All", 1,
    &[
        "- mine-amd64 has no disk any more",
        "+ other-amd64 imported from docker://registry.example.com/mine:1 for amd64",
    ],
)]
#[case::several(
    "mine", "All", 3,
    &[
        "~ mine-amd64 keeps its disk; not updated any more",
        "+ other-amd64 imported from docker://registry.example.com/mine:1 for amd64",
    ],
)]
#[case::of_ssp("fedora", "All", 1, &["- fedora-amd64 has no disk any more"])]
fn another_data_source_is_a_new_one(
    #[case] source: &str,
    #[case] retention: &str,
    #[case] imports: u32,
    #[case] rows: &[&str],
    #[context] context: Context,
) {
    let test = format!("moved-{}", context.description.unwrap());
    let template = edited(
        &template(source, retention),
        &json!({"/spec/importsToKeep": imports}),
    );
    let after = edited(&template, &json!({"/spec/managedDataSource": "other"}));
    let made = made_of(&template, &["amd64", "arm64"]);
    let (before, after) = (
        hyperconverged(&[template], true),
        hyperconverged(&[after], true),
    );
    let words = planned(&test, &before, &made, Some(&after));
    shows(&words, rows);
}

#[rstest]
#[case::none(
    "None",
    "- mine-amd64 never imported: the schedule contains a time zone; deleted with its disk"
)]
#[case::all(
    "All",
    "~ mine-amd64 its DataImportCron mine-cron-amd64 is deleted and created again, because schedule changes; its disk, if it has one, stays in use, and no image is imported: the schedule contains a time zone"
)]
fn a_schedule_that_never_runs_imports_nothing_again(#[case] retention: &str, #[case] row: &str) {
    let edits = json!({"/spec/schedule": "TZ=UTC 0 6 * * *"});
    shows(
        &words(&format!("schedule-{retention}"), "mine", retention, &edits),
        &[row],
    );
}

/// SSP deletes its DataSources, and CDI keeps their disks because of the retention policy.
#[rstest]
#[case("None", "- fedora-arm64 deleted with its disk")]
#[case("All", "- fedora-arm64 deleted; its disk stays")]
fn a_deleted_data_source_leaves_its_disk(#[case] retention: &str, #[case] row: &str) {
    let template = template("fedora", retention);
    let made = made_of(&template, &["amd64", "arm64"]);
    let before = hyperconverged(&[template], true);
    for (test, made) in [("read", &*made), ("unread", &[])] {
        let words = planned(&format!("deleted-{retention}-{test}"), &before, made, None);
        let templates = "SSP's VM templates amd64, arm64 → amd64";
        shows(&format!("{words} --what-if arm64=-1"), &[row, templates]);
    }
}

/// A disk whose DataImportCron was not read must not appear as a disk without one.
#[test]
fn without_data_import_crons_no_boot_source_is_lost() {
    let template = template("mine", "All");
    let mut made = made_of(&template, &[]);
    made.retain(|it| it["kind"] != "DataImportCron");
    made.push(json!({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotList", "items": []}));
    let words = planned("no-crons", &hyperconverged(&[template], false), &made, None);
    let output = run(&words);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("not read"), "{text}");
    assert!(!text.contains("has no disk"), "{text}");
    assert_eq!(output.status.code(), Some(0), "{text}");
}

/// SSP labels the DataSource of its VM templates, although the image can be for another architecture.
#[test]
fn a_label_that_the_image_need_not_have_is_said() {
    let annotation = "/metadata/annotations/ssp.kubevirt.io~1dict.architectures";
    let template = edited(&template("fedora", "None"), &json!({annotation: null}));
    let made = made_of(&template, &[]);
    let templates = [template];
    let (before, after) = (
        hyperconverged(&templates, false),
        hyperconverged(&templates, true),
    );
    shows(
        &planned("label", &before, &made, Some(&after)),
        &[
            "+ fedora-amd64 imported from docker://registry.example.com/fedora:1 for one architecture: that of the image, or for a multi-architecture image, that of the importer's node (amd64, arm64); its label says amd64 in any case",
            "SSP's VM templates amd64 → amd64, arm64",
        ],
    );
}

#[test]
fn a_pointer_that_follows_the_control_plane_loses_its_disk() {
    let template = template("fedora", "None");
    let made = made_of(&template, &["amd64", "arm64"]);
    let words = planned("pointer", &hyperconverged(&[template], true), &made, None);
    shows(
        &format!("{words} --what-if amd64=-1"),
        &["- fedora has no disk any more: it points to fedora-amd64"],
    );
}

/// SSP leaves the spec of its VM templates' DataSource to CDI, which changes it after the import.
#[test]
fn a_data_source_keeps_pointing_to_a_deleted_one_until_its_import_is_done() {
    let template = template("fedora", "None");
    let made = made_of(&template, &["amd64", "arm64"]);
    let templates = [template];
    let (on, off) = (
        hyperconverged(&templates, true),
        hyperconverged(&templates, false),
    );
    let row = "! fedora keeps pointing to the deleted fedora-amd64 until its own import is done";
    let words = planned("off", &on, &made, Some(&off));
    let text = String::from_utf8(run(&words).stdout).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("{row}; imported from")), "{text}");
    assert!(
        text.contains(
            "get the architecture that they set, that of an older label, or amd64, whatever"
        ),
        "{text}"
    );
    // In the meantime, the DataImportCron exists, and has not imported an image.
    let mut meanwhile = made_of(&templates[0], &[]);
    meanwhile.retain(|it| it["kind"] == "DataImportCron");
    meanwhile[0].as_object_mut().unwrap().remove("status");
    meanwhile.push(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "other", "namespace": GOLDEN},
    }));
    meanwhile.extend(
        made.into_iter()
            .filter(|it| it["metadata"]["name"] == "fedora"),
    );
    shows(&planned("off-meanwhile", &off, &meanwhile, None), &[row]);
}

/// The HyperConverged no longer has its template.
#[test]
fn the_disk_of_a_removed_template_stays_and_is_not_updated() {
    let template = template("mine", "All");
    let made = made_of(&template, &["amd64", "arm64"]);
    let words = planned("removed-unasked", &hyperconverged(&[], true), &made, None);
    shows(
        &words,
        &[
            "~ mine-amd64 keeps its disk; not updated any more",
            "~ mine-arm64 keeps its disk; not updated any more",
        ],
    );
}

/// SSP counts the control plane first, but the order does not change its VM templates.
#[test]
fn vm_templates_of_the_same_architectures_do_not_change() {
    let template = template("fedora", "None");
    let made = made_of(&template, &["amd64", "arm64"]);
    let words = planned("order", &hyperconverged(&[template], true), &made, None);
    let moved = "--what-if control-plane:amd64=-1,control-plane:arm64=1";
    let output = run(&format!("{words} {moved}"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("control plane") && !text.contains("SSP's VM templates  "),
        "{text}"
    );
}

/// CDI checks the label of an existing DataSource, whichever template names it.
#[test]
fn a_data_source_of_a_removed_template_is_not_taken_over() {
    let (removed, other) = (template("mine", "All"), template("other", "All"));
    let mut made = made_of(&removed, &["amd64"]);
    made.extend(made_of(&other, &["amd64"]));
    let before = hyperconverged(&[removed, other.clone()], true);
    let takes = edited(&other, &json!({"/spec/managedDataSource": "mine"}));
    let after = hyperconverged(&[takes], true);
    let words = planned("taken", &before, &made, Some(&after));
    let row = "! mine-amd64 never updated for other-cron-amd64: it has the label of DataImportCron mine-cron-amd64";
    let fix = "fix, when other-cron-amd64 is there: kubectl label --overwrite datasource.cdi.kubevirt.io -n kubevirt-os-images mine-amd64 cdi.kubevirt.io/dataImportCron=other-cron-amd64";
    shows(&words, &[row, fix]);
    let plan = json_of(&words);
    assert_eq!(plan["notUpdated"], json!(["kubevirt-os-images/mine-amd64"]));
}

/// An existing problem is outstanding, and does not count as an effect of the requested change.
#[test]
fn a_label_that_is_wrong_already_is_outstanding() {
    let template = template("mine", "All");
    let mut made = made_of(&template, &["amd64"]);
    made[0]["metadata"]["labels"]["cdi.kubevirt.io/dataImportCron"] = json!("gone");
    let object = hyperconverged(&[template], true);
    let words = planned("wrong-label", &object, &made, None);
    let row =
        "! mine-amd64 never updated for mine-cron-amd64: it has the label of DataImportCron gone";
    shows(&words, &[row]);
    assert_eq!(run(&words).status.code(), Some(1));
}

/// SSP keeps the pointer in its own namespace, even if the template has another namespace.
#[test]
fn a_namespace_that_is_missing_is_named() {
    let template = template("mine", "All");
    let made = made_of(&template, &["amd64"]);
    let moved = edited(&template, &json!({"/metadata/namespace": "my-images"}));
    let [before, after] = [template, moved].map(|it| hyperconverged(&[it], true));
    let words = planned("moved-namespace", &before, &made, Some(&after));
    let plan = json_of(&words);
    // No operator creates the namespace.
    shows(
        &words,
        &[
            "! The namespace my-images has to exist before the change: HCO and SSP do not create it, and without it SSP stops.",
        ],
    );
    assert_eq!(plan["newNamespaces"], json!(["my-images"]));
    let other = &json!({"/metadata/name": "other", "/metadata/namespace": "my-images"});
    let there: Vec<Value> = made.iter().map(|it| edited(it, other)).collect();
    let words = planned(
        "there-namespace",
        &before,
        &[made, there].concat(),
        Some(&after),
    );
    assert_eq!(json_of(&words)["newNamespaces"], json!([]));
}

/// The disk of a running VM has the architecture of its node, whatever KubeVirt would choose.
#[rstest]
#[case::where_it_will_be_started("a-1", "")]
#[case::elsewhere(
    "w-1",
    "; set its spec.template.spec.architecture to amd64 now, or its amd64 disk is started on arm64"
)]
#[case::nowhere(
    "",
    "; set its spec.template.spec.architecture to that of its disk now, or the disk is started on arm64"
)]
fn the_disk_of_a_running_virtual_machine_is_of_its_node(
    #[case] node: &str,
    #[case] advice: &str,
    #[context] context: Context,
) {
    let template = template("mine", "None");
    let mut objects = made_of(&template, &[]);
    let source = json!({"kind": "DataSource", "name": "mine-arm64", "namespace": GOLDEN});
    objects.push(json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": "vm", "namespace": "default", "uid": "1"},
        "spec": {"dataVolumeTemplates": [{"spec": {"sourceRef": source}}], "template": {"spec": {}}},
        "status": {"printableStatus": if node.is_empty() { "Stopped" } else { "Running" }},
    }));
    objects.push(json!({"apiVersion": "v1", "kind": "List", "items": []}));
    objects.push(
        json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolumeList", "items": []}),
    );
    if !node.is_empty() {
        objects.push(json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": "vm", "namespace": "default"},
            "status": {"nodeName": node, "phase": "Running"},
        }));
    }
    let [off, on] =
        [false, true].map(|is_on| hyperconverged(std::slice::from_ref(&template), is_on));
    let test = format!("runs-{}", context.description.unwrap());
    let plan = json_of(&planned(&test, &off, &objects, Some(&on)));
    let machine = &plan["virtualMachines"][0];
    let detail = format!(
        "no architecture is set: from then on, KubeVirt would choose arm64 instead of amd64{advice}"
    );
    assert_eq!(machine["detail"], detail, "{plan:#}");
    let decides = "the label of DataSource kubevirt-os-images/mine-arm64";
    assert_eq!(machine["decides"], decides, "{plan:#}");
}

/// A VM cannot wait for a boot source that is deleted even without the change.
#[test]
fn a_boot_source_that_goes_anyway_cannot_be_waited_for() {
    let template = template("mine", "None");
    let mut objects = made_of(&template, &["amd64"]);
    let source = json!({"kind": "DataSource", "name": "mine-amd64", "namespace": GOLDEN});
    objects.push(json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": "vm", "namespace": "default"},
        "spec": {"dataVolumeTemplates": [{"spec": {"sourceRef": source}}], "template": {"spec": {}}},
        "status": {"printableStatus": "Provisioning"},
    }));
    let detail = |test: &str, before: &Value, after: &Value| {
        let plan = json_of(&planned(test, before, &objects, Some(after)));
        let detail = plan["virtualMachines"][0]["detail"].as_str();
        detail.unwrap().to_owned()
    };
    let [with, without] = [vec![template], vec![]].map(|it| hyperconverged(&it, true));
    let change = detail("goes-by-change", &with, &without);
    assert!(
        change.ends_with("; let it finish before the change, or use another boot source"),
        "{change}"
    );
    let mut again = with.clone();
    again["spec"]["dataImportCronTemplates"][0]["spec"]["schedule"] = json!("0 6 * * *");
    let again = detail("comes-back", &with, &again);
    assert!(
        again.ends_with("; let it finish before the change, or delete its DataVolume after the import, and KubeVirt creates the DataVolume again"),
        "{again}"
    );
    let mut other = without.clone();
    other["spec"]["enableCommonBootImageImport"] = json!(true);
    let anyway = detail("goes-anyway", &without, &other);
    assert!(anyway.ends_with("; use another boot source"), "{anyway}");
}

/// Imported boot sources of SSP's VM templates are deleted like any others.
#[test]
fn the_status_names_what_ssp_deletes_of_its_own() {
    let template = template("fedora", "None");
    let mut objects = made_of(&template, &["amd64", "arm64"]);
    objects.push(json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource",
        "metadata": {
            "name": "rhel9-arm64", "namespace": GOLDEN,
            "annotations": {"operator-sdk/primary-resource-type": "SSP.ssp.kubevirt.io"},
        },
        "spec": {"source": {"pvc": {"name": "rhel9-arm64", "namespace": GOLDEN}}},
    }));
    let mut object = hyperconverged(&[template], true);
    object["spec"]["workloads"] =
        json!({"nodePlacement": {"nodeSelector": {"kubernetes.io/hostname": "w-1"}}});
    let words = planned("ssp-deletes", &object, &objects, None);
    let status = json_of(&words.replacen("plan", "status", 1));
    let unwanted = status["dataSources"].as_array().unwrap().iter();
    let unwanted = unwanted.filter(|it| it["state"] == "unwanted");
    let names: Vec<&str> = unwanted.filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["fedora-arm64"], "{status:#}");
}

/// SSP removes the pointer from its own DataSource.
#[test]
fn a_pointer_that_is_taken_away_is_not_there_any_more() {
    let template = template("fedora", "None");
    let made = made_of(&template, &["amd64", "arm64"]);
    let before = hyperconverged(&[template], true);
    let after = hyperconverged(&[], false);
    shows(
        &planned("pointer-gone", &before, &made, Some(&after)),
        &["- fedora no longer points to fedora-amd64; has no disk any more"],
    );
}

/// CDI does not delete disks with the retention policy `All`.
#[test]
fn a_disk_stays_although_its_import_is_rejected() {
    let edits = json!({"/spec/schedule": "0 6 * *"});
    shows(
        &words("rejected-all", "mine", "All", &edits),
        &[
            "✘ mine-amd64 not imported: its DataImportCron mine-cron-amd64 is rejected: the schedule is not a valid cron expression (template mine-cron, spec.dataImportCronTemplates[0].spec.schedule); its disk stays, and is not updated any more",
        ],
    );
}

#[test]
fn a_disk_that_no_import_keeps_is_imported_again_and_again() {
    shows(
        &words(
            "keeps-none",
            "mine",
            "None",
            &json!({"/spec/importsToKeep": 0}),
        ),
        &[
            "✘ mine-arm64 deleted and imported again, because importsToKeep changes: no disk until the import is done; importsToKeep is 0, so CDI deletes the disk after each import, and imports it again",
        ],
    );
}

/// The policy was `All` when the disk was imported, and is `None` now.
#[test]
fn a_disk_whose_data_volume_stays_is_imported_again() {
    let template = template("mine", "None");
    let mut objects = made_of(&template, &["amd64", "arm64"]);
    objects.extend(data_volumes("mine-cron"));
    let (before, after) = (hyperconverged(&[template], true), hyperconverged(&[], true));
    let words = planned("returns", &before, &objects, Some(&after));
    shows(
        &words,
        &[
            "- mine-arm64 deleted; its disk is deleted, imported again, and stays, until you delete its DataVolume",
        ],
    );
    let disks = json!([{"architecture": null, "disks": 2, "bytes": null}]);
    assert_eq!(json_of(&words)["storage"], disks);
}

#[test]
fn a_data_import_cron_that_never_imported_imports_when_it_is_recreated() {
    let template = template("mine", "All");
    let mut objects = made_of(&template, &["amd64", "arm64"]);
    for object in &mut objects {
        object.as_object_mut().unwrap().remove("status");
    }
    let after = edited(&template, &json!({"/spec/schedule": "0 1 * * *"}));
    let (before, after) = (
        hyperconverged(&[template], true),
        hyperconverged(&[after], true),
    );
    shows(
        &planned("never-imported", &before, &objects, Some(&after)),
        &[
            "~ mine-arm64 its DataImportCron mine-cron-arm64 is deleted and created again, because schedule changes; its image is imported, because it was not imported before",
        ],
    );
}

/// The DataSource and its disk are the user's, and the disk that the DataImportCron imported is deleted with it.
#[test]
fn a_disk_is_imported_again_beside_that_of_a_user() {
    let template = template("mine", "None");
    let mut objects = made_of(&template, &["amd64"]);
    objects[0]["metadata"]["labels"] = json!({});
    objects[0]["spec"]["source"]["pvc"]["name"] = json!("by-hand");
    objects.push(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "by-hand", "namespace": GOLDEN},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "10Gi"}}},
    }));
    let after = edited(&template, &json!({"/spec/schedule": "0 1 * * *"}));
    let (before, after) = (
        hyperconverged(&[template], true),
        hyperconverged(&[after], true),
    );
    let plan = json_of(&planned("by-hand", &before, &objects, Some(&after)));
    let imported: Vec<&Value> = plan["storage"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["architecture"])
        .collect();
    assert_eq!(imported, ["amd64", "arm64"], "{plan:#}");
}

/// CDI does not try again after it has found the label of the old DataImportCron.
#[test]
fn a_data_import_cron_that_cdi_may_miss_is_named() {
    let remark = |source: &str| {
        let words = words(
            &format!("missed-{source}"),
            source,
            "All",
            &json!({"/metadata/name": "new-cron"}),
        );
        unfolded(&run(&words).stdout).contains(
            "CDI often misses a new DataImportCron that takes over the DataSource of another one (new-cron-amd64, new-cron-arm64)",
        )
    };
    assert!(remark("mine") && !remark("fedora"));
}

#[test]
fn a_patch_of_ssp_is_not_part_of_a_plan() {
    let template = template("mine", "None");
    let made = made_of(&template, &["amd64", "arm64"]);
    let before = hyperconverged(&[template], true);
    let mut after = before.clone();
    after["metadata"]["annotations"] = json!({"ssp.kubevirt.io/jsonpatch": json!([
        {"op": "add", "path": "/spec/cluster/workloadArchitectures", "value": ["amd64"]},
    ]).to_string()});
    let plan = unfolded(&run(&planned("patched", &before, &made, Some(&after))).stdout);
    assert!(
        plan.contains("The plan ignores the jsonpatch annotation for SSP"),
        "{plan}"
    );
}

/// HCO's webhook sends the architectures of the status to SSP, also without golden images.
#[test]
fn an_unknown_architecture_in_the_status_denies_every_change() {
    let before = hyperconverged(&[], false);
    let mut after = before.clone();
    after["spec"]["defaultCPUModel"] = json!("Haswell");
    let words = planned("unknown-status", &before, &[], Some(&after));
    let path = words
        .split(' ')
        .find(|word| word.ends_with("is.json"))
        .unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let status =
        r#""status":{"nodeInfo":{"workloadsArchitectures":["amd64","riscv64"]},"versions""#;
    std::fs::write(path, text.replace(r#""status":{"versions""#, status)).unwrap();
    assert_eq!(json_of(&words)["deniedByHco"], true);
    assert!(unfolded(&run(&words).stdout).contains("lists the architecture `riscv64`"));
}
