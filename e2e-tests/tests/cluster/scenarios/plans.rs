//! Scenario 15: what plan says of the changes that administrators make, and that a snapshot gives the same plan, byte for
//! byte.

use e2e_tests::unfolded;
use serde_json::{Value, json};

use super::boot_sources::{BootSources, GOLDEN, template};
use crate::crd::together;
use crate::world::{NAMESPACE, World};

pub(crate) fn run(world: &World<'_>) {
    let cluster = BootSources::new(world);
    world.creates(&cluster.hyperconverged(&[template()], false, &json!({})));
    cluster.imports("mine", None);
    cluster.enables();
    cluster.disables();
    cluster.gains_and_loses_nodes();
    cluster.changes_a_template();
    cluster.excludes_a_node();
    cluster.may_not_list_everything();
    cluster.rejects();
}

impl BootSources<'_> {
    fn delete(&self, path: &str) {
        let api = self.world.api();
        let path = format!("{path}?propagationPolicy=Background");
        api.must("DELETE", &path, None);
    }

    /// The plan has these lines, and ends with this code.
    #[track_caller]
    fn plans(&self, words: &[&str], code: i32, lines: &[&str]) {
        let plan = self.sees(&[&["plan"], words].concat());
        assert_eq!(plan.code, Some(code), "{plan:?}");
        let text = unfolded(&plan.stdout);
        for line in lines {
            let is_there = text.lines().any(|it| it.trim() == *line);
            assert!(is_there, "{line}\n\n{}", plan.stdout);
        }
    }

    /// The plan for the HyperConverged with this spec has these lines.
    #[track_caller]
    fn plans_file(&self, spec: &Value, code: i32, lines: &[&str]) {
        let object = self.world.hyperconverged(spec).to_string();
        self.world.admin.file("hyperconverged.yaml", &object);
        self.plans(&["-f", "hyperconverged.yaml"], code, lines);
    }

    fn enables(&self) {
        let on = self.hyperconverged(&[template()], true, &json!({}));
        self.plans_file(
            &on,
            1,
            &[
                "multi-architecture import           off → on",
                "! mine        points to mine-amd64 from now on; no disk until the import is done",
                "+ mine-amd64  imported from docker://registry.example.com/mine:1 for amd64",
                "+ mine-arm64  imported from docker://registry.example.com/mine:1 for arm64",
                "storage of new disks: 2 disks, 60 GiB",
            ],
        );
        // SSP and CDI do what the plan said.
        self.world.replaces(&on, &[]);
        let cdi = format!("/apis/cdi.kubevirt.io/v1beta1/namespaces/{GOLDEN}");
        self.delete(&format!("{cdi}/dataimportcrons/mine-cron"));
        self.delete(&format!("{cdi}/datasources/mine"));
        let claim = format!("/api/v1/namespaces/{GOLDEN}/persistentvolumeclaims/mine-01");
        let unprotected = json!({"metadata": {"finalizers": null}});
        self.world.api().must("PATCH", &claim, Some(&unprotected));
        self.delete(&claim);
        self.imports("mine-amd64", Some("amd64"));
        self.imports("mine-arm64", Some("arm64"));
        self.points("mine", "mine-amd64");
        self.plans(
            &[],
            0,
            &["created without a disk: 32 DataSources of SSP's VM templates"],
        );
        let status = self.sees(&["check"]);
        assert_eq!(status.code, Some(0), "{status:?}");
    }

    fn disables(&self) {
        let off = self.hyperconverged(&[template()], false, &json!({}));
        let off = together([
            &off,
            &json!({"featureGates": {"enableMultiArchBootImageImport": false}}),
        ]);
        self.plans_file(
            &off,
            1,
            &[
                "multi-architecture import           on → off",
                "- mine-amd64, mine-arm64: deleted with its disk",
            ],
        );
    }

    fn gains_and_loses_nodes(&self) {
        self.plans(
            &["--what-if", "arm64=1"],
            0,
            &["created without a disk: 32 DataSources of SSP's VM templates"],
        );
        self.creates_a_machine("web", "mine-arm64");
        self.plans(
            &["--what-if", "arm64=-2"],
            1,
            &[
                "nodes that leave                    worker-arm64-0, worker-arm64-1",
                "- mine-arm64  deleted with its disk",
                &format!("! {NAMESPACE}/web: no workload node has its architecture arm64 any more: once stopped, it cannot start"),
            ],
        );
    }

    fn changes_a_template(&self) {
        let mut weekly = template();
        weekly["spec"]["schedule"] = json!("@weekly");
        let again = "deleted and imported again, because schedule changes: no disk until the import is done";
        self.plans_file(
            &self.hyperconverged(&[weekly], true, &json!({})),
            1,
            &[&format!("! mine-amd64, mine-arm64: {again}")],
        );
        let mut elsewhere = template();
        elsewhere["metadata"]["namespace"] = json!("team-images");
        self.plans_file(
            &self.hyperconverged(&[elsewhere], true, &json!({})),
            1,
            &[
                "boot sources in team-images",
                "+ mine-amd64  imported from docker://registry.example.com/mine:1 for amd64",
            ],
        );
    }

    /// A virtual machine runs on a node that the placement excludes.
    fn excludes_a_node(&self) {
        let instance = json!({
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "metadata": {"name": "db", "namespace": NAMESPACE},
            "spec": {"architecture": "amd64", "domain": {"devices": {}}},
            "status": {"nodeName": "worker-amd64-0", "phase": "Running"},
        });
        let path = format!("/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachineinstances");
        self.world.api().must("POST", &path, Some(&instance));
        let placement = json!({"nodeSelector": {"nodeType": "nested-virtualization"}});
        let placed = self.world.crd.placement(&placement);
        self.plans_file(
            &self.hyperconverged(&[template()], true, &placed),
            1,
            &[&format!(
                "! {NAMESPACE}/db: the placement excludes its node worker-amd64-0: it keeps running there without virt-handler, so KubeVirt can neither migrate it nor open its console, and stopping it cuts its power after the grace period; before the change, migrate it: it has no VirtualMachine that starts it again"
            )],
        );
    }

    /// CDI rejects a template, and SSP stops there.
    fn rejects(&self) {
        let mut wrong = template();
        wrong["metadata"]["name"] = json!("wrong-cron");
        wrong["spec"]["managedDataSource"] = json!("wrong");
        wrong["spec"]["schedule"] = json!("often");
        let spec = self.hyperconverged(&[template(), wrong], true, &json!({}));
        self.plans_file(
            &spec,
            1,
            &["✘ A DataImportCron is rejected: until you fix this, SSP deletes no further DataImportCrons that are no longer wanted, and does not update its VM templates."],
        );
        self.world.replaces(&spec, &[]);
        let api = self.world.api();
        let ssps = format!("/apis/ssp.kubevirt.io/v1beta3/namespaces/{NAMESPACE}/ssps");
        let mut ssp = json!({
            "apiVersion": "ssp.kubevirt.io/v1beta3",
            "kind": "SSP",
            "metadata": {"name": "ssp", "namespace": NAMESPACE},
            "spec": {"commonTemplates": {"namespace": "openshift"}},
        });
        ssp = api.must("POST", &ssps, Some(&ssp));
        ssp["status"] = json!({"phase": "Deploying", "conditions": [{
            "type": "Degraded", "status": "True", "reason": "degraded",
            "message": format!(
                "Error: failed to reconcile *v1beta1.DataImportCron object {GOLDEN}/wrong-cron-amd64: admission webhook \"dataimportcron-validate.cdi.kubevirt.io\" denied the request:  Illegal cron schedule"
            ),
        }]});
        api.must("PUT", &format!("{ssps}/ssp/status"), Some(&ssp));
        let status = self.sees(&["check"]);
        assert_eq!(status.code, Some(1), "{status:?}");
        for part in ["template wrong-cron", ".schedule"] {
            assert!(status.stdout.contains(part), "{part}\n\n{}", status.stdout);
        }
    }

    /// The developer may read nodes and the HyperConverged.
    fn may_not_list_everything(&self) {
        let words = [
            "plan",
            "--cluster",
            "--what-if",
            "arm64=-2",
            "-o",
            "json",
            "-q",
        ];
        let plan = self.world.developer.preflight(&words);
        assert_eq!(plan.code, Some(2), "{plan:?}");
        let plan: Value = serde_json::from_str(&plan.stdout).expect("a plan");
        let rows = plan["rows"].as_array().expect("a list");
        let unread = rows.iter().filter(|row| row["effect"] == "not-read");
        let kinds: Vec<&str> = unread.filter_map(|row| row["kind"].as_str()).collect();
        let all = [
            "DataImportCron",
            "DataSource",
            "PersistentVolumeClaim",
            "VolumeSnapshot",
            "VirtualMachine",
            "VirtualMachineInstance",
            "DataVolume",
            "KubeVirt",
            "VirtualMachinePreference",
            "VirtualMachineClusterPreference",
        ];
        assert_eq!(kinds, all);
        let mut rows = rows.iter();
        assert!(rows.any(|row| row["effect"] == "lost" && row["name"] == "mine-arm64"));
        let allowed = [&words[..], &["--allow-unread"]].concat();
        assert_eq!(self.world.developer.preflight(&allowed).code, Some(1));
    }
}
