//! Objects that exist in the cluster, which the rows do not have, and patches of SSP.

use kube_objects::json::{Field, Json};
use operator_models::forecast::{Changes, CronChanges, Objects, State, Stopped, changes};
use operator_models::ssp::data_sources::Key;
use serde_json::{Value, json};

use super::cluster::Texts;

#[test]
fn objects_that_are_as_the_forecast_says_change_nothing() {
    let pvc = json!({"pvc": {"name": "golden-1"}});
    let objects = [
        cron("golden-cron", &template("@daily")["spec"], "golden-1", true),
        source("golden", &pvc, Some("golden-cron")),
        disk("golden-1", Some("golden-cron")),
    ];
    let changes = from(&objects, &[template("@daily")]);
    assert_eq!(changes.crons, Some(CronChanges::default()));
    assert!(changes.imported_disks.is_empty());
    assert!(changes.empty_meanwhile.is_empty() && changes.lost_image.is_empty());
    assert!(!names(&changes.data_sources.deleted).contains(&"golden"));
}

#[test]
fn a_cron_of_another_owner_stays() {
    let spec = &template("@daily")["spec"];
    let objects = [
        cron("mine", spec, "golden-1", false),
        cron("theirs", spec, "golden-2", true),
    ];
    let changes = from(&objects, &[]);
    let crons = changes.crons.unwrap();
    assert_eq!(names(&crons.deleted), ["theirs"]);
    assert!(crons.recreated.is_empty());
}

/// Only a `PersistentVolumeClaim` prevents SSP from importing, not a `VolumeSnapshot`.
#[test]
fn an_uploaded_disk_prevents_the_import() {
    let mut template = template("@daily");
    template["spec"]["managedDataSource"] = json!("win11");
    let snapshot = json!({
        "kind": "VolumeSnapshot",
        "metadata": {"name": "win11", "namespace": "kubevirt-os-images"},
    });
    let pointer = source("win11", &json!({"pvc": {"name": "win11"}}), None);
    for (objects, created) in [
        (
            [pointer, disk("win11", None), list("DataImportCron", &[])],
            &[][..],
        ),
        (
            [
                list("PersistentVolumeClaim", &[]),
                snapshot,
                list("DataImportCron", &[]),
            ],
            &["golden-cron"],
        ),
    ] {
        let changes = from(&objects, &[template.clone()]);
        assert_eq!(names(&changes.crons.unwrap().created), created);
        assert!(changes.empty_meanwhile.is_empty() && changes.lost_image.is_empty());
    }
}

/// SSP takes it for the DataSource of the default architecture, `fedora-amd64`, whether that one exists or not.
#[test]
fn an_uploaded_disk_without_a_suffix_is_for_the_default_architecture() {
    let nothing = list("", &[list("DataImportCron", &[]), list("DataSource", &[])]);
    let uploaded = disk("fedora", None);
    let golden = |name| {
        let claim = json!({"pvc": {"name": name, "namespace": "kubevirt-os-images"}});
        source("fedora-amd64", &claim, None)
    };
    let (before, after) = (texts(&[], true), texts(&[annotated()], true));
    let imported = &["golden-cron-amd64"][..];
    for (objects, imported) in [
        (json!([nothing, uploaded]), &[][..]),
        (json!([nothing, uploaded, golden("fedora")]), &[]),
        // It had a disk with another name, which no longer exists.
        (json!([nothing, uploaded, golden("other")]), imported),
        (json!([nothing]), imported),
    ] {
        let changes = between(&objects, [&before, &after]);
        let created = changes.crons.unwrap().created;
        assert_eq!(names(&created), imported, "{objects}");
        assert!(changes.lost_image.is_empty(), "{objects}");
    }
}

#[test]
fn the_disk_of_a_removed_template_is_lost_unless_there_was_none() {
    let spec = &template("@daily")["spec"];
    let snapshot = json!({"snapshot": {"name": "golden-1", "namespace": "kubevirt-os-images"}});
    let there = [
        cron("golden-cron", spec, "golden-1", true),
        source("golden", &snapshot, Some("golden-cron")),
    ];
    let claims = list("PersistentVolumeClaim", &[]);
    let claim = list(
        "PersistentVolumeClaim",
        &[disk("golden-1", Some("golden-cron"))],
    );
    let snapshots = list("VolumeSnapshot", &[]);
    for (lists, lost) in [
        (vec![], &["golden"][..]),
        (vec![claim], &["golden"]),
        // VolumeSnapshots or claims were not read.
        (vec![claims.clone()], &["golden"]),
        (vec![snapshots.clone()], &["golden"]),
        // All kinds of disks were read, and the DataSource does not have one.
        (vec![claims, snapshots], &[]),
    ] {
        let changes = from(&[&there[..], &lists].concat(), &[]);
        assert_eq!(names(&changes.lost_image), lost, "{lists:?}");
    }
}

/// SSP has already set the label of the DataImportCron on its own DataSource.
#[test]
fn a_data_source_is_deleted_if_its_new_cron_is_never_created() {
    let annotated = annotated();
    let mut renamed = annotated.clone();
    renamed["metadata"] = json!({"name": "new-cron"});
    let mut rejected = renamed.clone();
    rejected["spec"]["template"]["spec"]["source"]["registry"]["url"] = json!("quay.io");
    let mut nameless = annotated.clone();
    nameless["metadata"]["name"] = json!("nameless");
    nameless["spec"]["managedDataSource"] = json!("");
    let lost = &["fedora", "fedora-amd64"][..];
    for (after, stopped, lost) in [
        (vec![renamed.clone()], None, &[][..]),
        (vec![rejected], Some(Stopped::DataImportCron), lost),
        (vec![renamed, nameless], Some(Stopped::DataSource), lost),
    ] {
        let texts = [
            texts(std::slice::from_ref(&annotated), true),
            texts(&after, true),
        ];
        let [before, after] = texts.each_ref().map(|texts| texts.cluster().unwrap());
        let (before, after) = (before.forecast().unwrap(), after.forecast().unwrap());
        assert_eq!(after.stopped, stopped);
        let changes = changes(&State::new(&before), &after);
        assert_eq!(names(&changes.lost_image), lost, "{stopped:?}");
    }
}

/// Without a schedule, CDI only creates the DataSource.
#[test]
fn a_cron_without_a_schedule_that_has_imported_nothing_has_no_disk() {
    let mut never = cron("golden-cron", &template("")["spec"], "", true);
    never["status"] = json!({});
    let changes = from(&[never], &[template("@daily")]);
    assert_eq!(
        names(changes.crons.unwrap().recreated.keys()),
        ["golden-cron"]
    );
    assert!(changes.empty_meanwhile.is_empty() && changes.lost_image.is_empty());
    assert_eq!(changes.imported_disks.len(), 1);
}

/// CDI's `CronJob` for it would have a name that is too long, so CDI creates no DataSource either.
#[test]
fn a_cron_whose_cron_job_is_rejected_has_no_data_source() {
    let mut template = template("@daily");
    template["metadata"]["name"] = json!("x".repeat(50));
    let mut there = cron(&"x".repeat(50), &template["spec"], "", true);
    there["status"] = json!({});
    let changes = from(&[there, list("DataSource", &[])], &[template]);
    let created = names(&changes.data_sources.created);
    assert!(!created.contains(&"golden"), "{created:?}");
}

/// The DataSource still has the label for the clean-up, because its cron once had the retention policy None.
#[test]
fn a_data_source_that_is_created_again_on_the_same_disk_is_not_empty() {
    let mut kept = template("@daily");
    kept["spec"]["retentionPolicy"] = json!("All");
    kept["spec"]["importsToKeep"] = json!(1);
    let mut renamed = kept.clone();
    renamed["metadata"]["name"] = json!("new-cron");
    let mut there = cron("golden-cron", &kept["spec"], "golden-1", true);
    there["spec"]["retentionPolicy"] = json!("All");
    let mut claim = disk("golden-1", Some("golden-cron"));
    claim["metadata"]["labels"]["cdi.kubevirt.io/dataImportCron.cleanup"] = Value::Null;
    let pvc = json!({"pvc": {"name": "golden-1"}});
    let golden = source("golden", &pvc, Some("golden-cron"));
    let snapshots = list("VolumeSnapshot", &[]);
    let changes = from(&[there, golden, claim, snapshots], &[renamed]);
    assert_eq!(names(&changes.crons.unwrap().created), ["new-cron"]);
    assert!(
        changes.imported_disks.is_empty(),
        "{:?}",
        changes.imported_disks
    );
    assert!(changes.empty_meanwhile.is_empty() && changes.lost_image.is_empty());
}

#[test]
fn lists_in_lists_are_read_and_other_kinds_are_not() {
    let spec = &template("@daily")["spec"];
    let other = json!({"kind": "ConfigMap", "metadata": {"name": ["not", "a", "name"]}});
    let crons = list("DataImportCron", &[cron("x", spec, "", true)]);
    let changes = from(&[list("", &[list("", &[crons]), other])], &[]);
    assert_eq!(names(&changes.crons.unwrap().deleted), ["x"]);
}

/// Specs that the rows of the operators' code do not contain.
#[test]
fn specs_are_compared_as_go_stores_them() {
    type Change = fn(&mut Value);
    let changes: [(Change, &[&str]); 4] = [
        (
            |spec| spec["serviceAccountName"] = json!("x"),
            &["serviceAccountName"],
        ),
        // An empty value equals a missing one.
        (
            |spec| {
                spec["template"]["kind"] = json!("");
                let volume = &mut spec["template"]["spec"];
                volume["checkpoints"] = json!([]);
                volume["finalCheckpoint"] = json!(false);
                volume["contentType"] = json!("");
            },
            &[],
        ),
        (
            |spec| spec["template"]["spec"]["pvc"] = json!({"resources": {"limits": {}}}),
            &["template.spec.pvc"],
        ),
        // The order of a list matters.
        (
            |spec| {
                let storage = &mut spec["template"]["spec"]["storage"];
                storage["accessModes"] = json!(["ReadWriteMany", "ReadWriteOnce"]);
            },
            &["template.spec.storage.accessModes"],
        ),
    ];
    let mut template = template("@daily");
    template["spec"]["template"]["spec"]["storage"]["accessModes"] =
        json!(["ReadWriteOnce", "ReadWriteMany"]);
    for (change, fields) in changes {
        let mut spec = template["spec"].clone();
        change(&mut spec);
        let there = cron("golden-cron", &spec, "golden-1", true);
        let changes = from(&[there], std::slice::from_ref(&template));
        let recreated = changes.crons.unwrap().recreated;
        let changed: Vec<_> = recreated.into_values().flatten().collect();
        assert_eq!(changed, fields, "{spec}");
    }
}

/// The platform comes from SSP, or from the template.
#[test]
fn a_cron_of_another_platform_is_recreated() {
    let registry = |platform: Value| {
        let url = "docker://quay.io/golden";
        json!({"registry": {"url": url, "platform": platform}})
    };
    let [plain, empty] = [Value::Null, json!({})].map(registry);
    let [amd64, arm64] = ["amd64", "arm64"].map(|name| registry(json!({"architecture": name})));
    let pvc = json!({"pvc": {"namespace": "x", "name": "x"}});
    for (of_template, has_suffix, there, is_same) in [
        (&plain, true, &amd64, true),
        (&empty, true, &amd64, true),
        (&amd64, true, &arm64, false),
        (&plain, false, &arm64, false),
        (&plain, false, &empty, false),
        (&pvc, true, &pvc, true),
    ] {
        let mut template = annotated();
        template["spec"]["template"]["spec"]["source"] = of_template.clone();
        let mut spec = template["spec"].clone();
        spec["template"]["spec"]["source"] = there.clone();
        let suffix = if has_suffix { "-amd64" } else { "" };
        spec["managedDataSource"] = json!(format!("fedora{suffix}"));
        let cron = cron(&format!("golden-cron{suffix}"), &spec, "golden-1", true);
        let texts = [texts(&[], has_suffix), texts(&[template], has_suffix)];
        let changes = between(&json!([cron]), texts.each_ref());
        let recreated = changes.crons.unwrap().recreated;
        assert_eq!(recreated.is_empty(), is_same, "{of_template} {there}");
    }
}

/// The changes in a cluster with these objects when its HyperConverged gets these templates.
fn from(objects: &[Value], templates: &[Value]) -> Changes {
    let texts = [&[], templates].map(|templates| texts(templates, false));
    between(&json!(objects), texts.each_ref())
}

/// The changes in a cluster with these objects from one HyperConverged to another.
fn between(objects: &Value, texts: [&Texts; 2]) -> Changes {
    let [before, after] = texts.map(|texts| texts.cluster().unwrap());
    let (before, after) = (before.forecast().unwrap(), after.forecast().unwrap());
    let objects = objects.to_string();
    let objects = Field::root(Json::parse(objects.as_bytes()).unwrap());
    let objects = Objects::read(&objects).unwrap();
    changes(&State::new(&before).with(&objects), &after)
}

fn texts(templates: &[Value], import: bool) -> Texts {
    let gate = json!({"name": "enableMultiArchBootImageImport"});
    let hco = json!({
        "apiVersion": "hco.kubevirt.io/v1",
        "metadata": {"name": "hco", "namespace": "kubevirt-hyperconverged"},
        "spec": {
            "featureGates": vec![gate; usize::from(import)],
            "workloadSources": {
                "enableCommonBootImageImport": false,
                "dataImportCronTemplates": templates,
            },
        },
    });
    let labels =
        json!({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/master": ""});
    let node = json!({
        "metadata": {"name": "n", "labels": labels},
        "status": {"nodeInfo": {"architecture": "amd64"}},
    });
    Texts::new(&hco, &json!([node]))
}

/// A template for `fedora`, for which SSP has VM templates.
fn annotated() -> Value {
    let mut template = template("@daily");
    template["spec"]["managedDataSource"] = json!("fedora");
    template["metadata"]["annotations"] = json!({"ssp.kubevirt.io/dict.architectures": "amd64"});
    template
}

fn list(kind: &str, items: &[Value]) -> Value {
    json!({"kind": format!("{kind}List"), "items": items})
}

fn template(schedule: &str) -> Value {
    json!({"metadata": {"name": "golden-cron"}, "spec": {
        "managedDataSource": "golden",
        "schedule": schedule,
        "template": {"spec": {
            "source": {"registry": {"url": "docker://quay.io/golden"}},
            "storage": {"resources": {"requests": {"storage": "1Gi"}}},
        }},
    }})
}

/// A cron as it is in the cluster, after HCO has set its retention policy.
fn cron(name: &str, spec: &Value, disk: &str, is_of_ssp: bool) -> Value {
    let mut spec = spec.clone();
    spec["retentionPolicy"] = json!("None");
    spec["importsToKeep"] = json!(1);
    let mut annotations = json!({});
    if is_of_ssp {
        annotations["operator-sdk/primary-resource-type"] = json!("SSP.ssp.kubevirt.io");
    }
    json!({
        "kind": "DataImportCron",
        "metadata": {"name": name, "namespace": "kubevirt-os-images", "annotations": annotations},
        "spec": spec,
        "status": {"lastImportedPVC": {"name": disk, "namespace": "kubevirt-os-images"}},
    })
}

fn source(name: &str, source: &Value, cron: Option<&str>) -> Value {
    json!({
        "kind": "DataSource",
        "metadata": {"name": name, "namespace": "kubevirt-os-images", "labels": labels(cron)},
        "spec": {"source": source},
    })
}

fn disk(name: &str, cron: Option<&str>) -> Value {
    json!({
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "kubevirt-os-images", "labels": labels(cron)},
    })
}

fn labels(cron: Option<&str>) -> Value {
    match cron {
        Some(cron) => json!({
            "cdi.kubevirt.io/dataImportCron": cron,
            "cdi.kubevirt.io/dataImportCron.cleanup": "true",
        }),
        None => json!({}),
    }
}

fn names<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Vec<&'a str> {
    keys.into_iter().map(|key| &*key.name).collect()
}
