//! `plan` and `status`: single changes, each with what it has to say.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::plan::objects_beside;
use super::schemas::{mistakes, schema_of};
use super::{files, run, scratch, unfolded};

const GOLDEN: &str = "kubevirt-os-images";

/// A copy of a test file with other texts.
fn edited(directory: &Path, file: &str, edits: &[(&str, &str)]) -> PathBuf {
    let text = std::fs::read_to_string(files().join(file)).unwrap();
    let text = edits.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{from}: {text}");
        text.replace(from, to)
    });
    let path = directory.join(file);
    std::fs::write(&path, text).unwrap();
    path
}

fn text_of(words: &str) -> String {
    let output = run(words);
    let text = unfolded(&output.stdout);
    assert!(
        !output.stdout.is_empty(),
        "{words}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn json_of(words: &str) -> Value {
    serde_json::from_str(&text_of(&format!("{words} -q -o json"))).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|it| it["name"].as_str()).collect()
}

const PLACEMENT: &str = "workloads: {nodePlacement: {nodeSelector: {kubernetes.io/arch: amd64}}}";

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
fn what_hco_denies_changes_nothing(
    #[case] from: &str,
    #[case] to: &str,
    #[context] context: Context,
) {
    let directory = scratch(&format!("planned-denied-{}", context.description.unwrap()));
    let file = edited(&directory, "plan.yaml", &[(from, to)]);
    let words = format!("plan -f {} --from plan-objects.yaml", file.display());
    let plan = json_of(&words);
    assert_eq!(plan["deniedByHco"], true, "{plan:#}");
    for list in [
        "/virtualMachines",
        "/crons/created",
        "/crons/deleted",
        "/crons/recreated",
        "/dataSources/created",
        "/dataSources/deleted",
        "/dataSources/retargeted",
        "/storage",
    ] {
        assert_eq!(plan.pointer(list), Some(&json!([])), "{list}");
    }
    assert_eq!(plan["nodes"]["before"], plan["nodes"]["after"]);
    assert_eq!(run(&words).status.code(), Some(1));
    let text = text_of(&words);
    assert!(text.contains("not stored, so nothing changes."), "{text}");
    assert!(
        !text.contains("If the policy did not deny it") && !text.contains("no effect"),
        "{text}"
    );
}

#[test]
fn without_a_forecast_its_reason_is_said() {
    let directory = scratch("planned-reasons");
    let settings = directory.join("settings.yaml");
    std::fs::write(
        &settings,
        "goldenImages: absent\nlevels: {default-architecture-changes: deny}\n",
    )
    .unwrap();
    let placed = PLACEMENT.replace("amd64", "arm64");
    let file = edited(&directory, "plan.yaml", &[(PLACEMENT, &*placed)]);
    let plan = text_of(&format!(
        "plan -q -f {} --from plan-cluster.yaml --settings {}",
        file.display(),
        settings.display()
    ));
    assert!(plan.contains("denied by the policy:"), "{plan}");
    assert!(
        plan.contains("  none: HCO deploys no golden images here\n"),
        "{plan}"
    );
    let rejected = "SSP rejects the object because of node risc-1 (riscv64)";
    let plan = text_of("plan -q --from status-unknown.yaml");
    let until = "later changes have no effect either, until this is fixed";
    assert!(plan.contains(rejected) && plan.contains(until), "{plan}");
    assert!(text_of("status -q --from status-unknown.yaml").contains(rejected));
    let unnamed = [(PLACEMENT, ""), ("name: my-image-cron\n", "labels: {}\n")];
    let file = edited(&directory, "plan.yaml", &unnamed);
    let plan = text_of(&format!(
        "plan -q -f {} --from plan-cluster.yaml",
        file.display()
    ));
    let why = "SSP rejects the object because of a template without a name (spec.dataImportCronTemplates[0].metadata.name)";
    assert!(plan.contains(why), "{plan}");
    let patched = edited(
        &directory,
        "plan-cluster.yaml",
        &[(
            "uid: 0c4e}",
            "uid: 0c4e, annotations: {ssp.kubevirt.io/jsonpatch: '[{\"op\": \"remove\", \"path\": \"/spec/commonTemplates/dataImportCronTemplates\"}]'}}",
        )],
    );
    let why = "a jsonpatch annotation changes what SSP gets";
    for command in ["plan", "status"] {
        let text = text_of(&format!("{command} -q --from {}", patched.display()));
        assert!(text.contains(why), "{text}");
    }
    let file = edited(&directory, "plan.yaml", &[(PLACEMENT, "")]);
    let plan = json_of(&format!(
        "plan -f {} --as-if replace --from {}",
        file.display(),
        patched.display()
    ));
    assert_eq!(plan["unknown"], Value::Null);
    assert!(!names(&plan["crons"]["created"]).is_empty(), "{plan:#}");
}

/// The pointer of a template with the architectures annotation has a name that the API server rejects.
#[test]
fn a_rejected_pointer_is_traced_to_its_template() {
    let directory = scratch("planned-pointer");
    let settings = directory.join("settings.yaml");
    std::fs::write(&settings, "levels: {template-name-invalid: ignore}\n").unwrap();
    let settings = format!("--settings {}", settings.display());
    let name = [("managedDataSource: my-image", "managedDataSource: My_Image")];
    let file = edited(&directory, "plan.yaml", &name);
    let words = format!(
        "plan -f {} --from plan-objects.yaml {settings}",
        file.display()
    );
    let path = "spec.dataImportCronTemplates[0].spec.managedDataSource";
    let line = format!("DataSource {GOLDEN}/My_Image: template my-image-cron, {path}");
    let text = text_of(&words);
    assert!(
        text.contains("A DataSource is rejected: ") && text.contains(&line),
        "{text}"
    );
    let plan = json_of(&words);
    assert_eq!(
        plan["stoppedBy"],
        json!([{
            "kind": "DataSource", "namespace": GOLDEN, "name": "My_Image",
            "template": "my-image-cron", "path": path,
        }])
    );
    // The object is stored, and SSP has not said anything yet.
    let stored = edited(&directory, "plan-cluster.yaml", &name);
    let text = text_of(&format!("status -q --from {} {settings}", stored.display()));
    assert!(text.contains(&line), "{text}");
    // It has.
    let mut objects = std::fs::read_to_string(&stored).unwrap();
    let ssp = json!({
        "apiVersion": "ssp.kubevirt.io/v1beta3", "kind": "SSP",
        "metadata": {"name": "ssp", "namespace": "kubevirt-hyperconverged"},
        "status": {"conditions": [{"type": "Degraded", "status": "True", "reason": "x", "message": format!(
            "Error: failed to reconcile *v1beta1.DataSource object {GOLDEN}/My_Image: failed creating object: invalid"
        )}]},
    });
    writeln!(objects, "  - {ssp}").unwrap();
    std::fs::write(&stored, objects).unwrap();
    let status = json_of(&format!("status --from {}", stored.display()));
    let cause = &status["conditions"][0]["cause"];
    assert_eq!(
        (&cause["template"], &cause["path"]),
        (&json!("my-image-cron"), &json!(path)),
        "{status:#}"
    );
}

#[test]
fn two_templates_of_one_name_are_named() {
    let directory = scratch("planned-same-name");
    let settings = directory.join("settings.yaml");
    std::fs::write(
        &settings,
        "levels: {data-source-shared: ignore, architectures-missing: ignore}\n",
    )
    .unwrap();
    let edits = [
        ("name: my-image-cron\n", "name: old-image-cron-arm64\n"),
        (
            "            annotations: {ssp.kubevirt.io/dict.architectures: \"amd64,arm64\"}\n",
            "",
        ),
        (
            "dict.architectures: \"amd64\"",
            "dict.architectures: \"arm64\"",
        ),
    ];
    let stored = edited(&directory, "plan-cluster.yaml", &edits);
    for command in ["plan", "status"] {
        let words = format!(
            "{command} --from {} --settings {}",
            stored.display(),
            settings.display()
        );
        let result = json_of(&words);
        let templates = result["stoppedBy"].as_array().unwrap().iter();
        let templates: Vec<_> = templates
            .map(|it| it["template"].as_str().unwrap())
            .collect();
        assert_eq!(
            templates,
            ["old-image-cron", "old-image-cron-arm64"],
            "{result:#}"
        );
        let text = text_of(&format!("{words} -q"));
        let line =
            format!("DataImportCron {GOLDEN}/old-image-cron-arm64: template old-image-cron,");
        assert!(
            text.contains("which one is not determined") && text.contains(&line),
            "{text}"
        );
    }
}

/// Without a placement, virt-handler runs on every node, also on those that HCO does not count.
#[test]
fn virt_handler_leaves_a_node_that_a_placement_excludes() {
    let directory = scratch("planned-orphans");
    let instance = "metadata: {name: arm, namespace: default}, spec: {architecture: arm64}, status: {nodeName: node-7, phase: Running}";
    let worker = "{name: node-7, labels: {node-role.kubernetes.io/worker: \"\",";
    let infra = "{name: node-7, labels: {node-role.kubernetes.io/infra: \"\",";
    let from = edited(
        &directory,
        "plan-cluster.yaml",
        &[(worker, infra), (instance, instance)],
    );
    let placed = PLACEMENT.replace(
        "kubernetes.io/arch: amd64",
        "node-role.kubernetes.io/worker: \"\"",
    );
    let file = edited(&directory, "plan.yaml", &[(PLACEMENT, &placed)]);
    let orphans = |words: &str| -> Vec<String> {
        let plan = json_of(words);
        let machines = plan["virtualMachines"].as_array().unwrap().iter();
        let orphans = machines.filter(|it| it["effect"] == "orphaned");
        orphans
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let words = format!("plan -f {} --from {}", file.display(), from.display());
    assert_eq!(orphans(&words), ["arm"]);
    // A node that loses its label alone keeps virt-handler.
    let text = std::fs::read_to_string(&from).unwrap();
    let nodes: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("kind: Node"))
        .collect();
    let nodes = format!("apiVersion: v1\nkind: List\nitems:\n{}\n", nodes.join("\n"));
    let after = directory.join("after.yaml");
    std::fs::write(&after, nodes).unwrap();
    let words = format!("plan --from plan-cluster.yaml --nodes {}", after.display());
    assert_eq!(orphans(&words), Vec::<String>::new());
}

fn disk(kind: &str, name: &str, cron: &str) -> Value {
    let (api_version, spec) = match kind {
        "VolumeSnapshot" => ("snapshot.storage.k8s.io/v1", json!({})),
        _ => (
            "v1",
            json!({"resources": {"requests": {"storage": "30Gi"}}}),
        ),
    };
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": GOLDEN, "labels": {
            "cdi.kubevirt.io/dataImportCron": cron,
            "cdi.kubevirt.io/dataImportCron.cleanup": "true",
        }},
        "spec": spec,
    })
}

#[test]
fn what_is_imported_again_requests_storage() {
    let objects = [disk("VolumeSnapshot", "snapshot", "my-image-cron-arm64")];
    let from = objects_beside("planned-storage", &objects);
    let edits = [
        ("my-image:2", "my-image:1"),
        ("storage: 30Gi", "storage: 60Gi"),
        (PLACEMENT, "workloads: {}"),
    ];
    let file = edited(from.parent().unwrap(), "plan.yaml", &edits);
    let plan = json_of(&format!(
        "plan -f {} --from {}",
        file.display(),
        from.display()
    ));
    let requested = json!([
        {"architecture": "amd64", "disks": 1, "bytes": 60_u64 << 30},
        {"architecture": "arm64", "disks": 1, "bytes": 60_u64 << 30},
    ]);
    assert_eq!(plan["storage"], requested, "{plan:#}");
    // With the retention policy All, CDI finds the disk of the same image.
    let stays = plan["crons"]["recreated"].as_array().unwrap().len();
    assert!(stays >= 2, "{plan:#}");
    let text = text_of(&format!("plan -q --from {}", from.display()));
    assert!(
        !text.contains("\nstorage of new disks\n")
            && text.contains("the same image is not imported again"),
        "{text}"
    );
}

/// A pointer moves to the disk of another architecture: a disk that is still to be created from it would not boot.
#[rstest]
#[case::to_be_made("Provisioning", Some("disk-source-replaced"))]
#[case::made("Running", None)]
fn a_pointer_that_moves_affects_what_is_still_to_be_made(
    #[case] status: &str,
    #[case] effect: Option<&str>,
) {
    let machine = |name: &str, architecture: &str| {
        json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {
                "dataVolumeTemplates": [{"spec": {"sourceRef": {"kind": "DataSource", "name": "my-image", "namespace": GOLDEN}}}],
                "template": {"spec": {"architecture": architecture}},
            },
            "status": {"printableStatus": status},
        })
    };
    let objects = [machine("pinned", "amd64"), machine("arm", "arm64")];
    let from = objects_beside(&format!("planned-moves-{status}"), &objects);
    let edits = [
        (PLACEMENT, "workloads: {}"),
        ("my-image:2", "my-image:1"),
        (
            "dict.architectures: \"amd64,arm64\"",
            "dict.architectures: \"arm64\"",
        ),
    ];
    let file = edited(from.parent().unwrap(), "plan.yaml", &edits);
    let plan = json_of(&format!(
        "plan -f {} --from {}",
        file.display(),
        from.display()
    ));
    let machines = &plan["virtualMachines"];
    assert_eq!(
        names(machines),
        effect.map(|_| "pinned").into_iter().collect::<Vec<_>>(),
        "{plan:#}"
    );
    if let Some(effect) = effect {
        assert_eq!(machines[0]["effect"], effect);
        let detail = machines[0]["detail"].as_str().unwrap();
        assert!(
            detail
                .contains("which now points to my-image-arm64, which is for arm64; let it finish"),
            "{detail}"
        );
    }
}

/// A must-gather can lack the namespace of golden images.
#[rstest]
#[case("default", true)]
#[case(GOLDEN, false)]
fn disks_are_read_if_those_of_golden_images_are(#[case] namespace: &str, #[case] is_unread: bool) {
    let root = scratch(&format!("planned-gather-{namespace}"));
    let objects = std::fs::read_to_string(files().join("plan-cluster.yaml")).unwrap();
    std::fs::write(root.join("objects.yaml"), objects).unwrap();
    let core = root.join("namespaces").join(namespace).join("core");
    std::fs::create_dir_all(&core).unwrap();
    let list = "apiVersion: v1\nkind: PersistentVolumeClaimList\nitems: []\n";
    std::fs::write(core.join("persistentvolumeclaims.yaml"), list).unwrap();
    let plan = json_of(&format!("plan --from {}", root.display()));
    let unread = plan["unread"].as_array().unwrap();
    let is_named = unread
        .iter()
        .any(|it| it["kind"] == "PersistentVolumeClaim");
    assert_eq!(is_named, is_unread, "{plan:#}");
}

#[rstest]
#[case(
    "4.21.3",
    "",
    "HCO                                 4.21.3 (HCO 1.17)\n",
    ""
)]
#[case("1.18.1", "--hco-version 1.19", "1.18.1 → 1.19 (--hco-version)\n", "")]
#[case(
    "1.18.1",
    "--hco-version 4.23",
    "1.18.1 → 4.23 (HCO 1.19, --hco-version)\n",
    ""
)]
#[case(
    "1.99.0",
    "",
    "1.99.0 (evaluated as HCO 1.20)\n",
    "HCO 1.99.0 is newer than"
)]
#[case(
    "1.18.1",
    "--hco-version 1.14",
    "1.18.1 → 1.14 (evaluated as HCO 1.15, --hco-version)\n",
    "HCO 1.14 is older than this version of hco-preflight knows: HCO 1.15 is assumed"
)]
#[case(
    "1.18.1",
    "--hco-version 2.5",
    "1.18.1 → 2.5 (evaluated as HCO 1.20, --hco-version)\n",
    "HCO 2.5 is no version that hco-preflight knows: HCO 1.20 is assumed"
)]
fn a_version_is_shown_as_it_is_written(
    #[case] version: &str,
    #[case] words: &str,
    #[case] wanted: &str,
    #[case] note: &str,
) {
    let directory = scratch(&format!(
        "planned-version-{version}{}",
        words.replace(' ', "-")
    ));
    let from = edited(
        &directory,
        "plan-cluster.yaml",
        &[("version: 1.18.1", &format!("version: {version}"))],
    );
    let output = run(&format!("plan --from {} {words}", from.display()));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(wanted), "{text}");
    assert!(String::from_utf8(output.stderr).unwrap().contains(note));
    let status = text_of(&format!("status -q --from {}", from.display()));
    assert!(status.contains(version), "{status}");
}

/// Up to HCO 1.17, the import and KubeVirt's feature gate `MultiArchitecture` are one switch.
#[test]
fn without_the_import_hco_1_17_rejects_vms_of_other_architectures() {
    let directory = scratch("planned-rejected");
    let off = [
        (
            "enableMultiArchBootImageImport: true",
            "enableMultiArchBootImageImport: false",
        ),
        (PLACEMENT, "workloads: {}"),
    ];
    let file = edited(&directory, "plan.yaml", &off);
    for (version, is_rejected) in [("1.17.3", true), ("1.18.1", false)] {
        let version = [("version: 1.18.1", &*format!("version: {version}"))];
        let from = edited(&directory, "plan-objects.yaml", &version);
        let plan = json_of(&format!(
            "plan -f {} --from {}",
            file.display(),
            from.display()
        ));
        let machines = plan["virtualMachines"].as_array().unwrap().iter();
        let rejected: Vec<&Value> = machines.filter(|it| it["effect"] == "rejected").collect();
        assert_eq!(!rejected.is_empty(), is_rejected, "{plan:#}");
        assert!(rejected.iter().all(|it| it["name"] == "arm"), "{plan:#}");
    }
}

#[test]
fn a_placement_imports_nothing_again() {
    let directory = scratch("planned-placement");
    let off = [(
        "enableMultiArchBootImageImport: true",
        "enableMultiArchBootImageImport: false",
    )];
    let from = edited(&directory, "plan-objects.yaml", &off);
    let file = edited(&directory, "plan.yaml", &off);
    let plan = text_of(&format!(
        "plan -q -f {} --from {}",
        file.display(),
        from.display()
    ));
    assert!(
        plan.contains("The placement imports nothing again"),
        "{plan}"
    );
}

#[test]
fn a_node_that_hco_has_not_noticed_is_named() {
    let directory = scratch("status-unnoticed");
    let info = [(
        "      versions: [{name: operator",
        "      nodeInfo: {workloadsArchitectures: [amd64]}\n      versions: [{name: operator",
    )];
    let from = edited(&directory, "plan-objects.yaml", &info);
    let status = text_of(&format!("status -q --from {}", from.display()));
    assert!(
        status.contains("HCO has not noticed node node-7: change any label"),
        "{status}"
    );
}

#[test]
fn a_preference_of_the_cluster_decides() {
    let from = objects_beside(
        "planned-preference",
        &[
            json!({
                "apiVersion": "instancetype.kubevirt.io/v1beta1",
                "kind": "VirtualMachineClusterPreference",
                "metadata": {"name": "mine"},
                "spec": {"preferredArchitecture": "arm64"},
            }),
            json!({
                "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
                "metadata": {"name": "prefers", "namespace": "default"},
                "spec": {"preference": {"name": "mine"}, "template": {"spec": {}}},
            }),
        ],
    );
    let plan = json_of(&format!(
        "plan --from {} --what-if arm64=-1",
        from.display()
    ));
    let mut machines = plan["virtualMachines"].as_array().unwrap().iter();
    let is_there = machines.any(|it| it["name"] == "prefers" && it["effect"] == "no-node");
    assert!(is_there, "{plan:#}");
}

/// Some of many are named, and all with `--all-vms`.
#[test]
fn many_virtual_machines_are_counted() {
    let machines = (0..25).map(|number| {
        json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"name": format!("vm-{number:02}"), "namespace": "default"},
            "spec": {"template": {"spec": {"architecture": "arm64"}}},
        })
    });
    let from = objects_beside("planned-many", &machines.collect::<Vec<_>>());
    let words = format!("plan -f plan.yaml --from {}", from.display());
    let some = text_of(&words);
    assert!(
        some.contains("default/vm-19 and 5 more (--all-vms names them): "),
        "{some}"
    );
    assert!(!some.contains("vm-20"), "{some}");
    let all = text_of(&format!("{words} --all-vms"));
    assert!(
        all.contains("default/vm-24: ") && !all.contains(" more ("),
        "{all}"
    );
    assert_eq!(
        json_of(&words)["virtualMachines"].as_array().unwrap().len(),
        25
    );
}

/// The import is enabled: HCO's own templates get a disk for each architecture.
#[test]
fn common_templates_are_planned() {
    let directory = scratch("planned-common");
    let edits = [
        (
            "enableCommonBootImageImport: false",
            "enableCommonBootImageImport: true",
        ),
        (
            "enableMultiArchBootImageImport: true",
            "enableMultiArchBootImageImport: false",
        ),
    ];
    let from = edited(&directory, "plan-cluster.yaml", &edits);
    let edits = [
        (
            "enableCommonBootImageImport: false",
            "enableCommonBootImageImport: true",
        ),
        (PLACEMENT, "workloads: {}"),
    ];
    let file = edited(&directory, "plan.yaml", &edits);
    let words = format!("plan -q -f {} --from {}", file.display(), from.display());
    let text = text_of(&words);
    let row = |name: &str| {
        let line = text
            .lines()
            .find(|it| it.split_whitespace().nth(1) == Some(name));
        line.unwrap_or_default().to_owned()
    };
    assert!(row("fedora").contains("points to fedora-amd64"), "{text}");
    assert!(row("fedora-arm64").contains("imported for arm64"), "{text}");
    assert!(
        text.contains("multi-architecture import           off → on"),
        "{text}"
    );
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
    let directory = scratch(&format!("planned-upgrade-{is}"));
    let edits = [
        ("version: 1.18.1", &*format!("version: {is}")),
        (
            "            retentionPolicy: None\n            importsToKeep: 1\n",
            "",
        ),
    ];
    let from = edited(&directory, "plan-cluster.yaml", &edits);
    let plan = json_of(&format!(
        "plan --from {} --hco-version {version}",
        from.display()
    ));
    let of = |list: &str| {
        let items = plan["crons"][list].as_array().unwrap().iter();
        items
            .map(|it| it["namespace"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let all = [of("recreated"), of("unchanged")].concat();
    assert!(
        !all.is_empty() && all.iter().all(|it| it == namespace),
        "{plan:#}"
    );
    let fields = plan["crons"]["recreated"][0]["changedFields"].as_array();
    let fields = fields.into_iter().flatten();
    assert!(fields.eq(["retentionPolicy", "importsToKeep"]), "{plan:#}");
}

/// `check` evaluates by the running version, for which the annotation is not a problem.
#[test]
fn a_denial_of_another_version_is_explained_and_not_checked() {
    let directory = scratch("planned-denial");
    let edits = [(
        "namespace: kubevirt-hyperconverged}",
        "namespace: kubevirt-hyperconverged, annotations: {hco.kubevirt.io/v1-only-fields: \"{\"}}",
    )];
    let file = edited(&directory, "plan.yaml", &edits);
    let words = format!("-f {} --from plan-cluster.yaml", file.display());
    let planned = text_of(&format!("plan {words} --hco-version 1.19"));
    let fix = "  `explain` with the name of the rule prints how to fix it.";
    assert!(
        planned.contains("[v1-only-fields-unreadable]") && planned.contains(fix),
        "{planned}"
    );
    let checked = text_of(&format!("check {words}"));
    assert!(
        !checked.contains("[v1-only-fields-unreadable]"),
        "{checked}"
    );
}

/// `kubectl replace` removes what the file does not have; `kubectl apply` keeps what it did not set.
#[test]
fn a_replaced_object_is_another_one_than_an_applied_one() {
    let directory = scratch("planned-replace");
    let edits = [(
        "      enableCommonBootImageImport: false\n",
        "      enableCommonBootImageImport: false\n      workloads: {nodePlacement: {nodeSelector: {kubernetes.io/arch: amd64}}}\n",
    )];
    let from = edited(&directory, "plan-cluster.yaml", &edits);
    let file = edited(&directory, "plan.yaml", &[(PLACEMENT, "infra: {}")]);
    let nodes = |how: &str| {
        json_of(&format!(
            "plan -f {} --from {} {how}",
            file.display(),
            from.display()
        ))["nodes"]["after"]
            .clone()
    };
    // A placement counts control-plane nodes as well.
    assert_eq!(nodes(""), json!({"amd64": 3}));
    assert_eq!(nodes("--as-if replace"), json!({"amd64": 2, "arm64": 1}));
}

/// SSP deletes the old DataImportCron before the new one is rejected, and with it the disk.
#[test]
fn an_edit_that_makes_a_template_invalid_destroys_its_disk() {
    let directory = scratch("planned-invalid");
    let edits = [
        ("schedule: \"0 */12 * * *\"", "schedule: \"0 12 * *\""),
        (PLACEMENT, "workloads: {}"),
        ("my-image:2", "my-image:1"),
    ];
    let file = edited(&directory, "plan.yaml", &edits);
    let words = format!(
        "plan -f {} --from plan-objects.yaml --settings settings-stopped.yaml",
        file.display()
    );
    let plan = json_of(&words);
    let deleted = names(&plan["crons"]["deleted"]);
    assert!(deleted.contains(&"my-image-cron-amd64"), "{plan:#}");
    assert!(
        plan["lostImage"]
            .as_array()
            .unwrap()
            .contains(&json!(format!("{GOLDEN}/my-image"))),
        "{plan:#}"
    );
    assert_eq!(
        names(&plan["crons"]["rejected"]),
        ["my-image-cron-amd64", "my-image-cron-arm64"]
    );
    assert_eq!(run(&words).status.code(), Some(1));
    let text = text_of(&format!("{words} -q"));
    for row in [
        " has no disk any more: it points to my-image-amd64\n",
        "  - my-image-amd64   deleted with its disk, and not imported again: its DataImportCron my-image-cron-amd64 is rejected",
    ] {
        assert!(text.contains(row), "{text}");
    }
}

/// A copy of a cluster where nothing is outstanding, with other texts in its HyperConverged.
fn of_ready(directory: &Path, edits: &[(&str, &str)], of_object: &[(&str, &str)]) -> PathBuf {
    let path = edited(directory, "status-ready.yaml", edits);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut changed = String::new();
    for line in text.lines() {
        let mut line = line.to_owned();
        if line.contains("\"HyperConverged\"") {
            for (from, to) in of_object {
                assert!(line.contains(from), "{from}: {line}");
                line = line.replace(from, to);
            }
        }
        changed += &(line + "\n");
    }
    std::fs::write(&path, changed).unwrap();
    path
}

/// A DataImportCron that an older CDI accepted.
#[test]
fn a_value_that_is_rejected_is_not_to_be_restored() {
    let edit = ("0 */12 * * *", "0 */12 * *");
    let file = of_ready(&scratch("status-old-value"), &[edit], &[]);
    let text = text_of(&format!("status -q --from {}", file.display()));
    assert!(
        text.contains("      fix: use five fields") && !text.contains("restore"),
        "{text}"
    );
}

/// An import is useless while its DataSource is not ready, or is not updated.
#[rstest]
#[case::not_ready(
    (
        "{\"name\": \"good-amd64-01\", \"namespace\": \"kubevirt-os-images\"}}}}",
        "{\"name\": \"good-amd64-01\", \"namespace\": \"kubevirt-os-images\"}}}, \"status\": {\"conditions\": [{\"type\": \"Ready\", \"status\": \"False\", \"reason\": \"NotFound\", \"message\": \"PVC not found\"}]}}",
    ),
    "source-not-ready",
    "  ✘ good-amd64  imported, but its DataSource is not ready: PVC not found\n"
)]
#[case::of_another(
    ("\"cdi.kubevirt.io/dataImportCron\": \"good-cron-amd64\"", "\"cdi.kubevirt.io/dataImportCron\": \"old-cron\""),
    "not-managed",
    "  ✘ good-amd64  CDI does not update its DataSource: it has the label of DataImportCron old-cron\n      fix: kubectl label --overwrite datasource.cdi.kubevirt.io -n kubevirt-os-images good-amd64 cdi.kubevirt.io/dataImportCron=good-cron-amd64\n"
)]
#[case::of_none(
    ("\"cdi.kubevirt.io/dataImportCron\": \"good-cron-amd64\", ", ""),
    "not-managed",
    "CDI does not update its DataSource: it has no label of a DataImportCron\n"
)]
fn an_import_that_its_data_source_does_not_have_is_not_ready(
    #[case] edit: (&str, &str),
    #[case] state: &str,
    #[case] row: &str,
    #[context] context: Context,
) {
    let name = format!("status-source-{}", context.description.unwrap());
    let file = of_ready(&scratch(&name), &[edit], &[]);
    let words = format!("status --from {}", file.display());
    let status = json_of(&words);
    let image = &status["goldenImages"][0];
    assert_eq!(image["state"], state, "{status:#}");
    assert_eq!(image["command"].is_string(), state == "not-managed");
    let text = text_of(&words);
    assert!(text.contains(row), "{text}");
    assert!(
        text.contains("not ready: 1 DataImportCron outstanding"),
        "{text}"
    );
    assert_eq!(run(&words).status.code(), Some(1));
}

/// CDI does not look at a DataImportCron whose DataSource has another label, and reports nothing of it.
#[test]
fn an_import_that_another_label_prevents_is_named() {
    let edits = [(
        "\"cdi.kubevirt.io/dataImportCron\": \"good-cron-amd64\"",
        "\"cdi.kubevirt.io/dataImportCron\": \"old-cron\"",
    )];
    let file = of_ready(&scratch("status-prevented"), &edits, &[]);
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("\"type\": \"UpToDate\"", "\"type\": \"Other\"");
    let text = text.replace("\"type\": \"Progressing\"", "\"type\": \"Another\"");
    std::fs::write(&file, text).unwrap();
    let status = json_of(&format!("status --from {}", file.display()));
    assert_eq!(
        status["goldenImages"][0]["state"], "not-managed",
        "{status:#}"
    );
}

/// SSP sets the label of the DataSources that it creates.
#[test]
fn the_label_of_a_data_source_of_ssp_is_not_for_long() {
    let edit = (
        "\"labels\": {\"cdi.kubevirt.io/dataImportCron\": \"good-cron-amd64\"",
        "\"annotations\": {\"operator-sdk/primary-resource-type\": \"SSP.ssp.kubevirt.io\"}, \"labels\": {\"cdi.kubevirt.io/dataImportCron\": \"old-cron\"",
    );
    let file = of_ready(&scratch("status-source-of-ssp"), &[edit], &[]);
    let status = run(&format!("status -q --from {}", file.display()));
    assert_eq!(status.status.code(), Some(0), "{status:?}");
}

/// The import of a new image fails, and virtual machines still boot from the last one.
#[test]
fn an_older_disk_stays_while_an_import_fails() {
    let directory = scratch("status-older-disk");
    let file = edited(&directory, "status-cluster.yaml", &[]);
    let words = format!("status -q --from {}", file.display());
    let failing = |text: &str| {
        let row = text.lines().find(|it| it.contains("✘ busy-arm64 "));
        row.unwrap_or_default().to_owned()
    };
    let older = "; the older disk stays in use";
    let before = failing(&text_of(&words));
    assert!(
        before.contains("the import fails") && !before.contains(older),
        "{before}"
    );
    let mut objects = std::fs::read_to_string(&file).unwrap();
    let source = json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource",
        "metadata": {"name": "busy-arm64", "namespace": GOLDEN, "labels": {"cdi.kubevirt.io/dataImportCron": "busy-cron-arm64"}},
        "spec": {"source": {"pvc": {"name": "busy-arm64-00", "namespace": GOLDEN}}},
        "status": {"conditions": [{"type": "Ready", "status": "True", "message": "DataSource is ready to be consumed"}]},
    });
    writeln!(objects, "  - {source}").unwrap();
    std::fs::write(&file, objects).unwrap();
    let missing = "; the DataSource is not created yet";
    assert_eq!(failing(&text_of(&words)), before.replace(missing, older));
}

/// OpenShift Virtualization ships other common templates than KubeVirt. HCO lists them.
#[test]
fn a_common_template_that_hco_does_not_list_is_neither_expected_nor_planned() {
    let common = [
        (
            "\"enableCommonBootImageImport\": false",
            "\"enableCommonBootImageImport\": true",
        ),
        (
            "\"status\": {\"originalSupportedArchitectures\"",
            "\"status\": {\"commonTemplate\": true, \"originalSupportedArchitectures\"",
        ),
    ];
    let seen = [
        ("\"uid\": \"0c4e\"", "\"uid\": \"0c4e\", \"generation\": 2"),
        (
            "\"systemHealthStatus\"",
            "\"observedGeneration\": 2, \"systemHealthStatus\"",
        ),
    ];
    let directory = scratch("status-not-shipped");
    let missing = |edits: &[(&str, &str)]| -> Vec<String> {
        let file = of_ready(&directory, &[], edits);
        let status = json_of(&format!("status --from {}", file.display()));
        let lists = [&status["goldenImages"], &status["dataSources"]];
        let all = lists.into_iter().flat_map(|it| it.as_array().unwrap());
        let missing = all.filter(|it| it["state"] == "not-created");
        missing
            .map(|it| it["name"].to_string() + &it["dataSource"].to_string())
            .collect()
    };
    let planned = |edits: &[(&str, &str)], more: &str| -> Vec<String> {
        let file = of_ready(&directory, &[], edits);
        let plan = json_of(&format!("plan --from {}{more}", file.display()));
        let lists = [&plan["crons"]["created"], &plan["dataSources"]["created"]];
        let all = lists.into_iter().flat_map(|it| it.as_array().unwrap());
        let names = all.map(|it| it["name"].to_string());
        names
            .filter(|it| it.starts_with("\"centos-stream10"))
            .collect()
    };
    let seen = [common, seen].concat();
    assert!(!missing(&common).is_empty() && !planned(&common, "").is_empty());
    assert_eq!(missing(&seen), Vec::<String>::new());
    assert_eq!(planned(&seen, ""), Vec::<String>::new());
    // Another version can ship others.
    assert!(!planned(&seen, " --hco-version 1.20").is_empty());
    // HCO has not seen a template that the file adds.
    let file = of_ready(&directory, &[], &seen);
    let changed = with_changed_object(&file, |object| {
        let templates = &mut object["spec"]["dataImportCronTemplates"];
        let mut added = templates[0].clone();
        added["metadata"]["name"] = json!("added-cron");
        added["spec"]["managedDataSource"] = json!("added");
        templates.as_array_mut().unwrap().push(added);
    });
    let plan = json_of(&format!(
        "plan --from {} -f {}",
        file.display(),
        changed.display()
    ));
    let created = names(&plan["crons"]["created"]);
    assert_eq!(created, ["added-cron-amd64", "added-cron-arm64"]);
    // Nor is it still outstanding.
    let pending = plan["pending"].to_string();
    assert!(!pending.contains("centos-stream10"), "{pending}");
}

/// The object of a snapshot, changed, in a file of its own.
fn with_changed_object(snapshot: &Path, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = std::fs::read_to_string(snapshot).unwrap();
    let line = text.lines().find(|it| it.contains("\"HyperConverged\""));
    let line = line.unwrap().trim_start().trim_start_matches("- ");
    let mut object: Value = serde_json::from_str(line).unwrap();
    change(&mut object);
    let path = snapshot.with_file_name("changed.yaml");
    std::fs::write(&path, object.to_string()).unwrap();
    path
}

/// SSP deletes the pointer of a removed template, and leaves the DataSources of its VM templates that are not read here.
#[test]
fn a_pointer_without_a_template_is_deleted() {
    let directory = scratch("plan-pointer");
    let file = of_ready(&directory, &[], &[]);
    let mut text = std::fs::read_to_string(&file).unwrap();
    for name in ["gone", "win11"] {
        let pointer = json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource",
            "metadata": {
                "name": name, "namespace": GOLDEN,
                "annotations": {"operator-sdk/primary-resource-type": "SSP.ssp.kubevirt.io"},
            },
            "spec": {"source": {"dataSource": {"name": format!("{name}-amd64")}}},
        });
        writeln!(text, "  - {pointer}").unwrap();
    }
    std::fs::write(&file, text).unwrap();
    let plan = text_of(&format!("plan -q --from {}", file.display()));
    assert!(
        plan.contains("  - gone  deleted; it pointed to gone-amd64\n"),
        "{plan}"
    );
    let plan = json_of(&format!("plan --from {}", file.display()));
    for (list, name) in [("deleted", "gone"), ("unchanged", "win11")] {
        let mut sources = plan["dataSources"][list].as_array().unwrap().iter();
        let source = sources.find(|it| it["name"] == name).unwrap();
        assert_eq!(source["pointsTo"], format!("{name}-amd64"), "{plan:#}");
    }
    let status = json_of(&format!("status --from {}", file.display()));
    let sources = status["dataSources"].as_array().unwrap();
    let states: Vec<_> = sources
        .iter()
        .map(|it| (&it["name"], &it["state"]))
        .collect();
    assert_eq!(states, [(&json!("gone"), &json!("unwanted"))]);
}

/// Nothing starts an instance again that has no virtual machine.
#[test]
fn an_instance_without_a_virtual_machine_ends() {
    let directory = scratch("plan-instance");
    let file = edited(
        &directory,
        "plan-cluster.yaml",
        &[("name: arm,", "name: alone,")],
    );
    let text = std::fs::read_to_string(&file).unwrap();
    // The virtual machine keeps its name.
    let text = text.replacen("name: alone,", "name: arm,", 1);
    std::fs::write(&file, text).unwrap();
    let plan = text_of(&format!(
        "plan -q --from {} --what-if arm64=-1",
        file.display()
    ));
    assert!(
        plan.contains("default/alone: its node node-7 leaves, and it ends with the node; it has no VirtualMachine that starts it again\n"),
        "{plan}"
    );
}

/// An outstanding import would use the old image without the change.
#[test]
fn what_is_outstanding_is_that_of_the_object_as_it_is() {
    let directory = scratch("plan-outstanding");
    let without_crons = [("\"DataImportCron\"", "\"Unread\"")];
    let file = of_ready(&directory, &without_crons, &[]);
    let mut text = std::fs::read_to_string(&file).unwrap();
    text += "  - {\"apiVersion\": \"cdi.kubevirt.io/v1beta1\", \"kind\": \"DataImportCronList\", \"items\": []}\n";
    std::fs::write(&file, text).unwrap();
    let changed = with_changed_object(&file, |object| {
        let source = "/spec/dataImportCronTemplates/0/spec/template/spec/source/registry/url";
        *object.pointer_mut(source).unwrap() = json!("docker://quay.io/containerdisks/changed:1");
    });
    let plan = text_of(&format!(
        "plan -q --from {} -f {}",
        file.display(),
        changed.display()
    ));
    let (change, outstanding) = plan.split_once("still outstanding").unwrap();
    assert!(change.contains("containerdisks/changed:1"), "{plan}");
    assert!(!outstanding.contains("containerdisks/changed:1"), "{plan}");
}

/// Between the two plans, each list has an item.
#[test]
fn the_schema_describes_every_field_of_a_plan() {
    let common = objects_beside(
        "planned-contract",
        &[
            json!({
                "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
                "metadata": {"name": "vm", "namespace": "default"},
                "spec": {"template": {"spec": {"architecture": "arm64"}}},
            }),
            json!({
                "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
                "metadata": {"name": "waits", "namespace": "default"},
                "spec": {"sourceRef": {"kind": "DataSource", "name": "old-image", "namespace": GOLDEN}},
                "status": {"phase": "Pending"},
            }),
            disk(
                "PersistentVolumeClaim",
                "my-image-arm64-x",
                "my-image-cron-arm64",
            ),
        ],
    );
    let directory = common.parent().unwrap();
    let added = "dataImportCronTemplates:
    - metadata:
        name: added-cron
        annotations: {ssp.kubevirt.io/dict.architectures: \"amd64\"}
      spec:
        managedDataSource: added
        schedule: \"0 12 * * *\"
        template: {spec: {source: {registry: {url: \"docker://registry.example.com/added:1\"}}, storage: {resources: {requests: {storage: 10Gi}}}}}
    - metadata:
        name: stops-cron
        annotations: {ssp.kubevirt.io/dict.architectures: \"amd64\"}
      spec:
        managedDataSource: stops
        schedule: \"0 12 * *\"
        template: {spec: {source: {registry: {url: \"docker://registry.example.com/stops:1\"}}, storage: {resources: {requests: {storage: 10Gi}}}}}
";
    let edits = [
        ("dataImportCronTemplates:\n", added),
        (
            "dict.architectures: \"amd64,arm64\"",
            "dict.architectures: \"arm64\"",
        ),
        (PLACEMENT, "workloads: {}"),
    ];
    let file = edited(directory, "plan.yaml", &edits);
    let plan = json_of(&format!(
        "plan -f {} --from {} --settings settings-stopped.yaml --what-if amd64=-1",
        file.display(),
        common.display()
    ));
    // A rejected object keeps SSP from deleting anything.
    let other = json_of(&format!("plan -f plan.yaml --from {}", common.display()));
    for plan in [&plan, &other] {
        assert_eq!(mistakes(&schema_of("plan"), plan), [""; 0], "{plan:#}");
    }
    for list in [
        "/crons/created",
        "/crons/deleted",
        "/crons/recreated",
        "/crons/rejected",
        "/dataSources/created",
        "/dataSources/deleted",
        "/dataSources/retargeted",
        "/dataSources/unchanged",
        "/virtualMachines",
        "/storage",
        "/stoppedBy",
        "/unread",
        "/pending/crons/recreated",
    ] {
        let has_items = |it: &Value| {
            it.pointer(list)
                .and_then(Value::as_array)
                .is_some_and(|it| !it.is_empty())
        };
        assert!(has_items(&plan) || has_items(&other), "{list}: {plan:#}");
    }
    assert!(plan["crons"]["rejected"][0]["rejectedPath"].is_string());
}
