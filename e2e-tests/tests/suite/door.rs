//! What came of a door.

use e2e_tests::Case;

/// What came of a door.
pub(crate) enum Outcome {
    /// The program behind it is not there.
    NotRun(String),
    /// Cases went through.
    Ran(Through),
}

/// The cases that went through a door, or the steps that were taken there.
pub(crate) struct Through {
    /// How many.
    pub(crate) cases: usize,
    /// What they are called.
    pub(crate) called: &'static str,
    /// Which of them came out otherwise than they should.
    pub(crate) wrong: Vec<String>,
    /// Which cannot go through it, and why.
    pub(crate) left_out: Vec<String>,
}

impl Default for Through {
    fn default() -> Self {
        Self {
            cases: 0,
            called: "cases",
            wrong: Vec::new(),
            left_out: Vec::new(),
        }
    }
}

impl Through {
    /// A door that is no matter of cases.
    pub(crate) fn steps() -> Self {
        Self {
            called: "steps",
            ..Self::default()
        }
    }

    /// A step was taken.
    pub(crate) fn step(&mut self, name: &str, came_to: Result<(), String>) {
        self.cases += 1;
        if let Err(mistake) = came_to {
            self.wrong.push(format!("{name}\n{mistake}"));
        }
    }

    /// A case went through, with a mistake or without.
    pub(crate) fn case(&mut self, case: &Case, mistake: Option<String>) {
        self.cases += 1;
        if let Some(mistake) = mistake {
            self.wrong
                .push(format!("{} ({})\n{mistake}", case.name, case.about));
        }
    }

    /// Something other than a case is wrong.
    pub(crate) fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    /// A case cannot go through.
    pub(crate) fn left_out(&mut self, case: &Case, why: &str) {
        self.left_out.push(format!("{}: {why}", case.name));
    }
}
