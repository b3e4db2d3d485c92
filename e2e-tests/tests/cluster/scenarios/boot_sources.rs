//! The boot sources of a cluster with the real CRDs of CDI, KubeVirt, and SSP, without these operators.

use serde_json::{Value, json};

use crate::crd::together;
use crate::kubectl::KubectlOutput;
use crate::world::{NAMESPACE, World};

/// The namespace of golden images upstream.
pub(super) const GOLDEN: &str = "kubevirt-os-images";

/// The annotation of the objects that SSP creates.
const SSP: &str = "operator-sdk/primary-resource-type";

/// A kind that the API server does not serve has no objects.
const SERVED: [&str; 6] = [
    "cdi-dataimportcrons",
    "cdi-datasources",
    "cdi-datavolumes",
    "kubevirt-virtualmachines",
    "kubevirt-virtualmachineinstances",
    "ssp-ssps",
];

/// A cluster with nodes of two architectures, on which a test does what SSP and CDI would do.
pub(super) struct BootSources<'w> {
    pub(super) world: &'w World<'w>,
}

impl<'w> BootSources<'w> {
    /// A cluster without boot sources.
    pub(super) fn new(world: &'w World<'w>) -> Self {
        world.set_nodes("mixed");
        let cluster = Self { world };
        world.serves_all(&SERVED);
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GOLDEN}});
        let namespaces = "/api/v1/namespaces";
        world.api().must("POST", namespaces, Some(&namespace));
        cluster
    }

    /// The spec of a HyperConverged with only these templates.
    pub(super) fn hyperconverged(&self, templates: &[Value], is_on: bool, more: &Value) -> Value {
        let crd = self.world.crd;
        let import = if is_on { crd.import.clone() } else { json!({}) };
        let templates = crd.templates(templates);
        let own = json!({"enableCommonBootImageImport": false});
        together([&import, &templates, &own, more])
    }

    fn create(&self, resource: &str, mut object: Value) {
        object["apiVersion"] = json!("cdi.kubevirt.io/v1beta1");
        object["metadata"]["namespace"] = json!(GOLDEN);
        let path = format!("/apis/cdi.kubevirt.io/v1beta1/namespaces/{GOLDEN}/{resource}");
        self.world.api().must("POST", &path, Some(&object));
    }

    /// The DataImportCron of the template for an architecture, its DataSource, and its disk.
    pub(super) fn imports(&self, name: &str, architecture: Option<&str>) {
        let owner = json!({SSP: "SSP.ssp.kubevirt.io"});
        let suffix = architecture.map_or_else(String::new, |it| format!("-{it}"));
        let (cron, disk) = (format!("mine-cron{suffix}"), format!("{name}-01"));
        let condition = json!({
            "type": "UpToDate", "status": "True", "reason": "UpToDate",
            "message": "Latest import is up to date", "lastTransitionTime": "2026-11-20T08:00:00Z",
        });
        self.create(
            "dataimportcrons",
            json!({
                "kind": "DataImportCron",
                "metadata": {"name": cron, "annotations": owner},
                "spec": spec(name, architecture),
                "status": {"conditions": [condition], "lastImportedPVC": {"name": disk, "namespace": GOLDEN}},
            }),
        );
        let labels = json!({
            "cdi.kubevirt.io/dataImportCron": cron,
            "cdi.kubevirt.io/dataImportCron.cleanup": "true",
        });
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": disk, "namespace": GOLDEN, "labels": labels},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "fast",
                "resources": {"requests": {"storage": "30Gi"}},
            },
        });
        let claims = format!("/api/v1/namespaces/{GOLDEN}/persistentvolumeclaims");
        self.world.api().must("POST", &claims, Some(&claim));
        self.create(
            "datasources",
            json!({
                "kind": "DataSource",
                "metadata": {"name": name, "labels": labels},
                "spec": {"source": {"pvc": {"name": disk, "namespace": GOLDEN}}},
            }),
        );
    }

    /// A DataSource of SSP that points to another one.
    pub(super) fn points(&self, name: &str, other: &str) {
        self.create(
            "datasources",
            json!({
                "kind": "DataSource",
                "metadata": {"name": name, "annotations": {SSP: "SSP.ssp.kubevirt.io"}},
                "spec": {"source": {"dataSource": {"name": other, "namespace": GOLDEN}}},
            }),
        );
    }

    /// Creates an arm64 VM whose disk does not exist yet and is created from a DataSource.
    pub(super) fn creates_a_machine(&self, name: &str, source: &str) {
        let source = json!({"kind": "DataSource", "name": source, "namespace": GOLDEN});
        let disk = json!({"metadata": {"name": name}, "spec": {
            "sourceRef": source,
            "storage": {"resources": {"requests": {"storage": "30Gi"}}},
        }});
        let machine = json!({
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "runStrategy": "Halted",
                "dataVolumeTemplates": [disk],
                "template": {"spec": {"architecture": "arm64", "domain": {"devices": {}}}},
            },
        });
        let path = format!("/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines");
        self.world.api().must("POST", &path, Some(&machine));
    }

    /// Runs the command on the cluster and on a snapshot of it, which must print the same.
    #[track_caller]
    pub(super) fn sees(&self, words: &[&str]) -> KubectlOutput {
        let admin = &self.world.admin;
        let taken = admin.preflight(&["snapshot", "--cluster", "-o", "snapshot.json"]);
        assert_eq!(taken.code, Some(0), "{taken:?}");
        let live = admin.preflight(&[words, &["-q", "--cluster"]].concat());
        let from = admin.preflight(&[words, &["-q", "--from", "snapshot.json"]].concat());
        assert_eq!(
            (&from.stdout, from.code),
            (&live.stdout, live.code),
            "{words:?}"
        );
        live
    }
}

fn spec(name: &str, architecture: Option<&str>) -> Value {
    let mut registry = json!({"url": "docker://registry.example.com/mine:1"});
    if let Some(architecture) = architecture {
        registry["platform"] = json!({"architecture": architecture});
    }
    json!({
        "managedDataSource": name,
        "schedule": "0 */12 * * *",
        "retentionPolicy": "None",
        "importsToKeep": 1,
        "template": {"spec": {
            "source": {"registry": registry},
            "storage": {"resources": {"requests": {"storage": "30Gi"}}},
        }},
    })
}

pub(super) fn template() -> Value {
    json!({
        "metadata": {
            "name": "mine-cron",
            "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64,arm64"},
        },
        "spec": spec("mine", None),
    })
}
