//! Tests what the rows do not cover: existing objects, other versions of HCO, and stored objects.

use kube_objects::json::{Field, Json};
use operator_models::forecast::{Changes, Forecast, Objects, Rejected, State, Stopped, changes};
use operator_models::hco::import::Import;
use operator_models::hco::rejection::HcoRejection;
use operator_models::hco::version::HcoVersion;
use operator_models::ssp::data_sources::Key;
use serde_json::{Value, json};

use super::cluster::{MAIN, Texts};

const OLD: HcoVersion = HcoVersion::OLDEST;

#[test]
fn from_hco_1_18_on_a_template_that_changes_loses_its_disk_meanwhile() {
    assert_eq!(empty_meanwhile(&updated(MAIN, |_| {})), ["golden"]);
}

#[test]
fn before_hco_1_18_a_template_that_changes_keeps_its_disk() {
    let changes = updated(OLD, |_| {});
    assert_eq!(empty_meanwhile(&changes), [""; 0]);
    assert_eq!(names(&changes.crons.unwrap().recreated), ["golden-cron"]);
}

#[test]
fn a_stored_object_is_taken_as_it_is() {
    let store = |hco: &mut Value| hco["metadata"]["resourceVersion"] = json!("1");
    assert_eq!(empty_meanwhile(&updated(MAIN, store)), [""; 0]);
}

#[test]
fn objects_that_are_as_the_forecast_says_change_nothing() {
    let objects = [
        cron("golden-cron", &template("@daily")["spec"], "golden-1", true),
        source(
            "golden",
            &json!({"pvc": {"name": "golden-1"}}),
            Some("golden-cron"),
        ),
        disk("golden-1", Some("golden-cron")),
    ];
    let changes = from(&objects, &[template("@daily")]);
    assert_eq!(names(&changes.crons.unwrap().unchanged), ["golden-cron"]);
    assert!(changes.disks.imported.is_empty());
    assert!(changes.empty_meanwhile.is_empty() && changes.lost_image.is_empty());
    assert!(
        !changes
            .data_sources
            .deleted
            .iter()
            .any(|key| &*key.name == "golden")
    );
}

#[test]
fn a_cron_that_is_not_of_ssp_stays() {
    let spec = &template("@daily")["spec"];
    let objects = [
        cron("mine", spec, "golden-1", false),
        cron("theirs", spec, "golden-2", true),
    ];
    let changes = from(&objects, &[]);
    let crons = changes.crons.unwrap();
    assert_eq!(names(&crons.unchanged), ["mine"]);
    assert_eq!(names(&crons.deleted), ["theirs"]);
}

#[test]
fn a_disk_that_was_uploaded_keeps_ssp_from_importing_it() {
    let mut template = template("@daily");
    template["spec"]["managedDataSource"] = json!("win11");
    let objects = [
        source("win11", &json!({"pvc": {"name": "win11"}}), None),
        disk("win11", None),
        json!({"kind": "DataImportCronList", "items": []}),
    ];
    let changes = from(&objects, &[template]);
    assert!(changes.crons.unwrap().created.is_empty());
    assert!(changes.empty_meanwhile.is_empty() && changes.lost_image.is_empty());
}

/// SSP takes it for the DataSource of the default architecture, `fedora-amd64`, whether that one exists or not.
#[test]
fn a_disk_that_was_uploaded_without_suffix_is_for_the_default_architecture() {
    let empty = |kind| json!({"kind": format!("{kind}List"), "items": []});
    let nothing = [empty("DataImportCron"), empty("DataSource")];
    let uploaded = [disk("fedora", None)];
    let golden = |name| {
        let claim = json!({"pvc": {"name": name, "namespace": "kubevirt-os-images"}});
        [source("fedora-amd64", &claim, None)]
    };
    let mut template = template("@daily");
    template["spec"]["managedDataSource"] = json!("fedora");
    template["metadata"]["annotations"] = json!({"ssp.kubevirt.io/dict.architectures": "amd64"});
    let import = |hco: &mut Value| {
        hco["spec"]["featureGates"] = json!([{"name": "enableMultiArchBootImageImport"}]);
    };
    let (before, after) = (texts(&[], import), texts(&[template], import));
    for (objects, imported) in [
        ([&nothing[..], &uploaded].concat(), &[][..]),
        ([&nothing[..], &uploaded, &golden("fedora")].concat(), &[]),
        // It had a disk with another name, which no longer exists.
        (
            [&nothing[..], &uploaded, &golden("other")].concat(),
            &["golden-cron-amd64"],
        ),
        (nothing.to_vec(), &["golden-cron-amd64"]),
    ] {
        let changes = between(&json!(objects), [&before, &after]);
        let created = changes.crons.unwrap().created;
        assert_eq!(names(&created), imported, "{objects:?}");
        assert!(changes.lost_image.is_empty(), "{objects:?}");
    }
}

#[test]
fn a_disk_that_could_not_be_read_is_still_there() {
    let spec = &template("@daily")["spec"];
    let snapshot = json!({"snapshot": {"name": "golden-1", "namespace": "kubevirt-os-images"}});
    let there = [
        cron("golden-cron", spec, "golden-1", true),
        source("golden", &snapshot, Some("golden-cron")),
    ];
    let claims = json!({"kind": "PersistentVolumeClaimList", "items": []});
    let snapshots = json!({"kind": "VolumeSnapshotList", "items": []});
    let lost = |more: &[&Value]| {
        let more = more.iter().map(|list| (*list).clone());
        let objects: Vec<Value> = there.iter().cloned().chain(more).collect();
        names(&from(&objects, &[]).lost_image).join(" ")
    };
    assert_eq!(lost(&[]), "golden");
    assert_eq!(lost(&[&claims]), "golden", "VolumeSnapshots were not read");
    assert_eq!(lost(&[&snapshots]), "golden", "claims were not read");
    assert_eq!(lost(&[&claims, &snapshots]), "", "there was no disk");
}

/// Only a `PersistentVolumeClaim` prevents SSP from importing.
#[test]
fn a_volume_snapshot_does_not_keep_ssp_from_importing() {
    let mut template = template("@daily");
    template["spec"]["managedDataSource"] = json!("win11");
    let snapshot = json!({
        "kind": "VolumeSnapshot",
        "metadata": {"name": "win11", "namespace": "kubevirt-os-images"},
    });
    let crons = json!({"kind": "DataImportCronList", "items": []});
    let claims = json!({"kind": "PersistentVolumeClaimList", "items": []});
    let changes = from(&[crons, claims, snapshot], &[template]);
    assert_eq!(names(&changes.crons.unwrap().created), ["golden-cron"]);
}

#[test]
fn a_disk_is_away_with_a_template_that_is_removed() {
    let objects = json!({"kind": "DataImportCronList", "items": [
        cron("golden-cron", &template("@daily")["spec"], "golden-1", true)]});
    let sources = json!({"kind": "DataSourceList", "items": [
        source("golden", &json!({"pvc": {"name": "golden-1"}}), Some("golden-cron"))]});
    let disks = json!({"kind": "PersistentVolumeClaimList", "items": [
        disk("golden-1", Some("golden-cron"))]});
    let changes = from(&[objects, sources, disks], &[]);
    assert_eq!(names(&changes.lost_image), ["golden"]);
}

/// SSP has already set the label of the DataImportCron on its own DataSource.
#[test]
fn a_data_source_is_deleted_if_its_new_cron_is_never_created() {
    let import = |hco: &mut Value| {
        hco["spec"]["featureGates"] = json!([{"name": "enableMultiArchBootImageImport"}]);
    };
    let mut annotated = template("@daily");
    annotated["spec"]["managedDataSource"] = json!("fedora");
    annotated["metadata"]["annotations"] = json!({"ssp.kubevirt.io/dict.architectures": "amd64"});
    let mut renamed = annotated.clone();
    renamed["metadata"] = json!({"name": "new-cron"});
    let mut rejected = renamed.clone();
    rejected["spec"]["template"]["spec"]["source"]["registry"]["url"] = json!("quay.io");
    let mut nameless = annotated.clone();
    nameless["metadata"]["name"] = json!("nameless");
    nameless["spec"]["managedDataSource"] = json!("");
    for (after, stopped, lost) in [
        (vec![renamed.clone()], None, &[][..]),
        (
            vec![rejected],
            Some(Stopped::DataImportCron),
            &["fedora", "fedora-amd64"],
        ),
        (
            vec![renamed, nameless],
            Some(Stopped::DataSource),
            &["fedora", "fedora-amd64"],
        ),
    ] {
        let texts = [texts(&[annotated.clone()], import), texts(&after, import)];
        let [before, after] = texts.each_ref().map(|texts| texts.cluster().unwrap());
        let (before, after) = (before.forecast().unwrap(), after.forecast().unwrap());
        assert_eq!(after.stopped, stopped);
        let changes = changes(&State::new(&before), Ok(&after));
        assert_eq!(names(&changes.lost_image), lost, "{stopped:?}");
    }
}

#[test]
fn objects_of_other_kinds_are_not_read() {
    let other = json!({"kind": "ConfigMap", "metadata": {"name": ["not", "a", "name"]}});
    let changes = from(&[other], &[template("@daily")]);
    assert_eq!(names(&changes.crons.unwrap().created), ["golden-cron"]);
}

/// Without a schedule, CDI only creates the DataSource.
#[test]
fn a_cron_without_a_schedule_that_has_imported_nothing_has_no_disk() {
    let mut never = cron("golden-cron", &template("")["spec"], "", true);
    never["status"] = json!({});
    let changes = from(&[never], &[template("@daily")]);
    assert_eq!(names(&changes.crons.unwrap().recreated), ["golden-cron"]);
    assert!(changes.empty_meanwhile.is_empty() && changes.lost_image.is_empty());
    assert_eq!(changes.disks.imported.len(), 1);
}

/// CDI's `CronJob` for it would have a name that is too long, so CDI creates no DataSource either.
#[test]
fn a_cron_whose_cron_job_is_rejected_has_no_data_source() {
    let mut template = template("@daily");
    template["metadata"]["name"] = json!("x".repeat(50));
    let mut there = cron(&"x".repeat(50), &template["spec"], "", true);
    there["status"] = json!({});
    let sources = json!({"kind": "DataSourceList", "items": []});
    let changes = from(&[there, sources], &[template]);
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
    let golden = source(
        "golden",
        &json!({"pvc": {"name": "golden-1"}}),
        Some("golden-cron"),
    );
    let snapshots = json!({"kind": "VolumeSnapshotList", "items": []});
    let changes = from(&[there, golden, claim, snapshots], &[renamed]);
    assert_eq!(names(&changes.crons.unwrap().created), ["new-cron"]);
    assert!(changes.disks.imported.is_empty(), "{:?}", changes.disks);
    assert_eq!(names(&changes.empty_meanwhile), [""; 0]);
    assert_eq!(names(&changes.lost_image), [""; 0]);
}

#[test]
fn lists_in_lists_are_read() {
    let spec = &template("@daily")["spec"];
    let crons = json!({"kind": "DataImportCronList", "items": [cron("x", spec, "", true)]});
    let list = json!({"kind": "List", "items": [{"kind": "List", "items": [crons]}]});
    let changes = from(&[list], &[]);
    assert_eq!(names(&changes.crons.unwrap().deleted), ["x"]);
}

#[test]
fn a_label_that_a_patch_adds_leaves_the_forecast_as_it_is() {
    let patch = |operation: Value| {
        let texts = texts(&[template("@daily")], |hco| {
            let patch = json!([operation]).to_string();
            hco["metadata"]["annotations"] = json!({"ssp.kubevirt.io/jsonpatch": patch});
        });
        let cluster = texts.cluster().unwrap();
        let forecast = cluster.forecast().unwrap();
        let is_on = forecast.import == Import::Enabled;
        (is_on, forecast.uncertain.contains("golden-cron"))
    };
    let templates = "/spec/commonTemplates/dataImportCronTemplates";
    for (path, value, expected) in [
        (
            format!("{templates}/0/metadata/labels/team"),
            json!("a"),
            (false, false),
        ),
        (
            format!("{templates}/0/spec/schedule"),
            json!("@weekly"),
            (false, true),
        ),
        (
            "/spec/enableMultipleArchitectures".to_owned(),
            json!(true),
            (true, false),
        ),
        ("/spec/cluster".to_owned(), json!({}), (false, true)),
    ] {
        let operation = json!({"op": "add", "path": path, "value": value});
        assert_eq!(patch(operation), expected, "{path}");
    }
}

/// HCO's mutating webhook cannot decode the object.
#[test]
fn hco_rejects_a_wrong_type() {
    let mut mistyped = template("@daily");
    mistyped["spec"]["managedDataSource"] = json!(true);
    let texts = texts(&[mistyped], |_| {});
    let cluster = texts.cluster().unwrap();
    assert_eq!(
        cluster.forecast().map(|_| ()),
        Err(Rejected::ByHco(HcoRejection::WrongType(0)))
    );
}

#[test]
fn ssp_stops_at_the_namespace_of_common_templates() {
    for (namespace, import, is_rejected) in [
        ("Bad_NS", true, true),
        ("my-images", true, false),
        ("Bad_NS", false, false),
    ] {
        let texts = texts(&[template("@daily")], |hco| {
            let sources = &mut hco["spec"]["workloadSources"];
            sources["commonBootImageNamespace"] = json!(namespace);
            sources["enableCommonBootImageImport"] = json!(import);
        });
        let cluster = texts.cluster().unwrap();
        let forecast = cluster.forecast().unwrap();
        assert_eq!(forecast.common_namespace_rejected(), is_rejected);
        assert_eq!(forecast.stopped.is_some(), is_rejected);
    }
}

/// The changes that an update of the schedule causes. `edit` edits both objects.
fn updated(version: HcoVersion, edit: impl Fn(&mut Value)) -> Changes {
    let before = texts(&[template("@daily")], &edit);
    let after = texts(&[template("@weekly")], &edit);
    let (before, after) = (before.cluster().unwrap(), after.cluster().unwrap());
    let before = before.forecast_of(version).unwrap();
    let after = after.forecast_of(version).unwrap();
    changes(&State::new(&before), Ok(&after))
}

/// The changes in a cluster with these objects when its HyperConverged gets these templates.
fn from(objects: &[Value], templates: &[Value]) -> Changes {
    let texts = [texts(&[], |_| {}), texts(templates, |_| {})];
    between(&json!(objects), texts.each_ref())
}

/// The changes in a cluster with these objects from one HyperConverged to another.
fn between(objects: &Value, texts: [&Texts; 2]) -> Changes {
    let [before, after] = texts.map(|texts| texts.cluster().unwrap());
    let (before, after) = (before.forecast().unwrap(), after.forecast().unwrap());
    let objects = objects.to_string();
    let objects = Field::root(Json::parse(objects.as_bytes()).unwrap());
    let objects = Objects::read(&objects).unwrap();
    changes(&state(&before, &objects), Ok(&after))
}

fn state<'a>(forecast: &'a Forecast<'a>, objects: &'a Objects<'a>) -> State<'a> {
    State::new(forecast).with(objects)
}

fn texts(templates: &[Value], edit: impl Fn(&mut Value)) -> Texts {
    let mut hco = json!({
        "apiVersion": "hco.kubevirt.io/v1",
        "metadata": {"name": "hco", "namespace": "kubevirt-hyperconverged"},
        "spec": {"workloadSources": {
            "enableCommonBootImageImport": false,
            "dataImportCronTemplates": templates,
        }},
    });
    edit(&mut hco);
    let labels =
        json!({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/master": ""});
    let node = json!({
        "metadata": {"name": "n", "labels": labels},
        "status": {"nodeInfo": {"architecture": "amd64"}},
    });
    Texts::new(&hco, &json!([node]))
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

fn empty_meanwhile(changes: &Changes) -> Vec<&str> {
    names(&changes.empty_meanwhile)
}

fn names<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Vec<&'a str> {
    keys.into_iter().map(|key| &*key.name).collect()
}
