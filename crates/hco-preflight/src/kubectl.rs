//! Builds commands for the cluster that the command used. Another context may be current when the user runs them.

use cluster::Connection;
use cluster::foreign::{Foreign, one_line, shell_word};
use kube_objects::name::is_dns1123_subdomain;

use crate::report::Report;

#[derive(Debug, Clone, Default)]
pub(crate) struct Kubectl {
    /// The flags, with a blank after each.
    pub(crate) flags: String,
}

impl Kubectl {
    pub(crate) fn new(connection: &Connection, context: Option<&str>) -> Self {
        let path = connection.kubeconfig.as_ref();
        let kubeconfig = path.map(|path| path.display().to_string());
        let flags = [
            ("--context", context.map(str::to_owned)),
            ("--kubeconfig", kubeconfig),
            ("--as", connection.impersonate.clone()),
        ]
        .into_iter()
        .filter_map(|(flag, value)| Some(format!("{flag} {} ", shell_word(&one_line(&value?)))))
        .collect();
        Self { flags }
    }

    /// A report, with the flags in its commands.
    pub(crate) fn complete(&self, mut report: Report) -> Report {
        let texts = report
            .findings
            .iter_mut()
            .flat_map(|finding| &mut finding.fixes)
            .filter_map(|fix| fix.command.as_mut())
            .chain(&mut report.message);
        for text in texts {
            *text = self.in_fix(text);
        }
        report
    }

    fn in_fix(&self, fix: &str) -> String {
        let kubectl = format!("kubectl {}", self.flags);
        let line = |line: &str| {
            let is_command = line.trim_start().starts_with("kubectl ");
            line.replacen("kubectl ", &kubectl, usize::from(is_command))
        };
        fix.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }

    /// After this command, CDI immediately updates a DataSource for a DataImportCron. If the user deleted the
    /// DataSource instead, CDI would reconcile only the DataImportCron of the old label, and create the DataSource at
    /// the next poll of this one.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `mapSourceObjectToCron`.
    pub(crate) fn hand_over(
        &self,
        namespace: &Foreign,
        source: &Foreign,
        cron: &Foreign,
    ) -> Option<String> {
        let [namespace, source, cron] = names([namespace, source, cron])?;
        Some(format!(
            "kubectl {}label --overwrite datasource.cdi.kubevirt.io -n {namespace} {source} cdi.kubevirt.io/dataImportCron={cron}",
            self.flags
        ))
    }

    /// After this command, CDI reconciles a DataImportCron again. While another one manages the same DataSource, CDI
    /// does nothing, and does not try again.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `shouldReconcileCron`.
    pub(crate) fn wake(&self, namespace: &Foreign, cron: &Foreign) -> Option<String> {
        let [namespace, cron] = names([namespace, cron])?;
        Some(format!(
            "kubectl {}annotate --overwrite dataimportcron.cdi.kubevirt.io -n {namespace} {cron} hco-preflight=seen",
            self.flags
        ))
    }
}

/// Names for a command; `None` if Kubernetes does not accept one of them. kubectl would read a name such as `--all` as
/// a flag.
fn names<const N: usize>(names: [&Foreign; N]) -> Option<[&str; N]> {
    let names = names.map(Foreign::raw);
    let are_valid = names.iter().all(|name| is_dns1123_subdomain(name));
    are_valid.then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_fix_have_the_flags() {
        let kubectl = Kubectl {
            flags: "--context 'a b' ".to_owned(),
        };
        let fix = "as kubectl says:\n  kubectl get nodes\nor: run:\n  kubectl create role a\n  see kubectl get";
        assert_eq!(
            kubectl.in_fix(fix),
            "as kubectl says:\n  kubectl --context 'a b' get nodes\nor: run:\n  kubectl --context 'a b' create role a\n  see kubectl get"
        );
        assert_eq!(Kubectl::default().in_fix(fix), fix);
    }

    #[test]
    fn there_is_no_command_for_a_name_that_kubernetes_does_not_accept() {
        let [good, bad] = ["a.b-1", "--all"].map(Foreign::from);
        let kubectl = Kubectl::default();
        assert!(kubectl.hand_over(&good, &good, &good).is_some());
        assert_eq!(kubectl.hand_over(&good, &bad, &good), None);
        assert_eq!(kubectl.wake(&bad, &good), None);
    }
}
