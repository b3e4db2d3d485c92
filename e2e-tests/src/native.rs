//! The answers of the engine, which the module, kwctl, and policy-server must give too.

use engine::Report;

use crate::answer::Answer;
use crate::case::{Case, findings};
use crate::cluster::FakeCluster;
use crate::session;

/// A case, and the engine's report.
#[derive(Debug)]
pub struct Judged<'c> {
    /// The case.
    pub case: &'c Case,
    /// The verdict of the operation `validate`.
    pub verdict: Report,
    /// The result of the operation `report`, which always reads the nodes.
    pub report: Report,
    /// The cluster, which has recorded the calls of `validate`.
    pub cluster: FakeCluster,
}

impl<'c> Judged<'c> {
    /// Evaluates a case with the engine.
    pub fn new(case: &'c Case) -> Self {
        let cluster = case.host();
        Self {
            case,
            verdict: engine::validate(&case.payload(), &cluster),
            report: engine::report(&case.payload(), &case.host()),
            cluster,
        }
    }

    /// The expected response.
    pub fn answer(&self) -> Answer {
        Answer::from(&self.verdict)
    }

    /// The session for `kwctl run --replay-host-capabilities-interactions`.
    ///
    /// # Errors
    ///
    /// Why no host responds as the case expects.
    pub fn session(&self) -> Result<String, String> {
        session::session(self.case, &self.cluster.calls())
    }

    /// The error when the policy is loaded, if the settings are invalid.
    pub fn refused_settings(&self) -> Option<String> {
        engine::validate_settings(self.case.settings().to_string().as_bytes()).err()
    }

    /// The difference between the engine's verdict and the expected one, if there is one.
    pub fn mistake(&self) -> Option<String> {
        let asked = self.cluster.lists();
        let wanted = self.case.expect.sorted();
        let object = &self.case.request()["object"];
        let calls = self.cluster.calls();
        let came_to = self.case.expect.of(object, &self.verdict, &calls);
        if came_to != wanted || asked > 1 {
            return Some(format!(
                "  wanted  {wanted:?}\n  came to {came_to:?}\n  asked {asked} times"
            ));
        }
        if self.report.virtual_machine.is_some() {
            let wanted = wanted.in_files.as_ref().unwrap_or(&wanted.findings);
            let found = findings(&self.report);
            let is_equal = found == *wanted;
            return (!is_equal).then(|| format!("  in files {wanted:?}\n  came to {found:?}"));
        }
        let [verdict, report] = [&self.verdict, &self.report].map(|it| (it.allowed, it.code));
        (verdict != report).then(|| format!("  validate {verdict:?}\n  report {report:?}"))
    }
}
