//! The results of a runner.

use e2e_tests::Case;

/// The cases or steps that a runner ran.
#[derive(Default)]
pub(crate) struct Results {
    /// The number of cases or steps.
    pub(crate) count: usize,
    /// Cases with an unexpected result.
    pub(crate) wrong: Vec<String>,
    /// Cases that this runner cannot run, with the reason.
    pub(crate) left_out: Vec<String>,
}

impl Results {
    pub(crate) fn step(&mut self, name: &str, result: Result<(), String>) {
        self.count += 1;
        if let Err(mistake) = result {
            self.wrong.push(format!("{name}\n{mistake}"));
        }
    }

    pub(crate) fn case(&mut self, case: &Case, mistake: Option<String>) {
        self.count += 1;
        if let Some(mistake) = mistake {
            self.wrong
                .push(format!("{} ({})\n{mistake}", case.name, case.about));
        }
    }

    /// Something other than a case failed.
    pub(crate) fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    pub(crate) fn left_out(&mut self, case: &Case, why: &str) {
        self.left_out.push(format!("{}: {why}", case.name));
    }
}
