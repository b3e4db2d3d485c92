//! The result of a door.

use e2e_tests::Case;

/// The result of a door.
pub(crate) enum Outcome {
    /// The program for it is not available.
    NotRun(String),
    /// Cases ran.
    Ran(Through),
}

/// The cases that ran through a door, or the steps that ran there.
pub(crate) struct Through {
    /// The number of cases or steps.
    pub(crate) cases: usize,
    /// Their name in the output.
    pub(crate) called: &'static str,
    /// Those with an unexpected result.
    pub(crate) wrong: Vec<String>,
    /// Those that cannot run, with the reason.
    pub(crate) left_out: Vec<String>,
    /// The programs that are missing, and what cannot run without them.
    pub(crate) missing: Vec<(&'static str, &'static str)>,
}

impl Default for Through {
    fn default() -> Self {
        Self {
            cases: 0,
            called: "cases",
            wrong: Vec::new(),
            left_out: Vec::new(),
            missing: Vec::new(),
        }
    }
}

impl Through {
    /// A door that does not run cases.
    pub(crate) fn steps() -> Self {
        Self {
            called: "steps",
            ..Self::default()
        }
    }

    /// A step ran.
    pub(crate) fn step(&mut self, name: &str, came_to: Result<(), String>) {
        self.cases += 1;
        if let Err(mistake) = came_to {
            self.wrong.push(format!("{name}\n{mistake}"));
        }
    }

    /// A case ran, with or without a mistake.
    pub(crate) fn case(&mut self, case: &Case, mistake: Option<String>) {
        self.cases += 1;
        if let Some(mistake) = mistake {
            self.wrong
                .push(format!("{} ({})\n{mistake}", case.name, case.about));
        }
    }

    /// Something other than a case failed.
    pub(crate) fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    /// A case cannot run.
    pub(crate) fn left_out(&mut self, case: &Case, why: &str) {
        self.left_out.push(format!("{}: {why}", case.name));
    }
}
