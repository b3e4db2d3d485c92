//! kubectl, with the commands of users and the output that they read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e_tests::module;

use crate::control_plane::{ControlPlane, User};

/// kubectl of one user, with a separate home directory, in which it caches data about the server.
pub(crate) struct Kubectl {
    program: PathBuf,
    home: PathBuf,
}

/// The output of kubectl.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KubectlOutput {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Kubectl {
    pub(crate) fn new(program: &Path, control_plane: &ControlPlane, user: User) -> Self {
        let home = control_plane.directory().join(user.name());
        std::fs::create_dir_all(&home).expect("a home");
        control_plane.kubeconfig(&home, user.name());
        Self {
            program: program.to_owned(),
            home,
        }
    }

    /// Writes a file to its working directory.
    pub(crate) fn file(&self, name: &str, text: &str) {
        std::fs::write(self.home.join(name), text).expect("a file");
    }

    /// For its plugin, which is beside it, and for the editor of `kubectl edit`.
    fn path(&self) -> OsString {
        let mut path: Vec<PathBuf> = self
            .program
            .parent()
            .map(Path::to_owned)
            .into_iter()
            .collect();
        path.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        std::env::join_paths(path).expect("a PATH")
    }

    /// Runs it.
    pub(crate) fn run(&self, arguments: &[&str]) -> KubectlOutput {
        self.run_with(arguments, &[])
    }

    /// Runs its plugin, hco-preflight.
    pub(crate) fn preflight(&self, arguments: &[&str]) -> KubectlOutput {
        self.run(&[&["hco-preflight"], arguments].concat())
    }

    /// Runs it with additional environment variables.
    pub(crate) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> KubectlOutput {
        self.output(Command::new(&self.program).args(arguments), variables)
    }

    /// Runs commands of a shell in which it is on PATH.
    pub(crate) fn bash(&self, script: &str, variables: &[(&str, &str)]) -> KubectlOutput {
        self.output(Command::new("bash").args(["-c", script]), variables)
    }

    fn output(&self, command: &mut Command, variables: &[(&str, &str)]) -> KubectlOutput {
        let output = command
            .current_dir(&self.home)
            .env_clear()
            .env("PATH", self.path())
            .env("HOME", &self.home)
            // One cache for all homes, or hco-preflight compiles the module in each of them.
            .env("XDG_CACHE_HOME", module::caches())
            .env("TMPDIR", &self.home)
            .env("KUBECONFIG", self.home.join("kubeconfig"))
            .envs(variables.iter().copied())
            .output()
            .expect("the program runs");
        KubectlOutput {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }
}

/// The name of the object in messages.
const OBJECT: &str = "HyperConverged kubevirt-hyperconverged/kubevirt-hyperconverged";

impl KubectlOutput {
    /// It succeeded, printed this, and printed no warning.
    #[track_caller]
    pub(crate) fn prints(&self, stdout: &str) {
        self.prints_with_warnings(stdout, &[]);
    }

    /// It succeeded, printed this, and these warnings.
    #[track_caller]
    pub(crate) fn prints_and_warns(&self, stdout: &str, stderr: &str) {
        self.is(&Self {
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            code: Some(0),
        });
    }

    /// It failed with this reason.
    #[track_caller]
    pub(crate) fn fails(&self, stderr: &str) {
        self.is(&Self {
            stdout: String::new(),
            stderr: stderr.to_owned(),
            code: Some(1),
        });
    }

    /// It succeeded, printed this, and printed a warning that begins with each of these.
    #[track_caller]
    pub(crate) fn prints_with_warnings(&self, stdout: &str, warnings: &[&str]) {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (Some(0), stdout),
            "{self:?}"
        );
        self.warns(warnings);
    }

    /// The policy denied it because of these problems, each a rule and a path, and there is a warning that begins with each
    /// of these. The cases and the snapshots check the wording; scenario 2 shows that kubectl prints all of it.
    #[track_caller]
    pub(crate) fn is_denied(&self, warnings: &[&str], problems: &[(&str, &str)]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(1), ""), "{self:?}");
        let (_, message) = self
            .stderr
            .split_once("denied the request: ")
            .expect("a denial");
        let s = if problems.len() == 1 { "" } else { "s" };
        let header = format!("{OBJECT}: {} problem{s}\n", problems.len());
        assert!(message.starts_with(&header), "{self:?}");
        let found: Vec<_> = message
            .lines()
            .filter_map(|line| line.strip_prefix('[')?.split_once("] "))
            .collect();
        assert_eq!(found, problems, "{self:?}");
        self.warns(warnings);
    }

    #[track_caller]
    fn warns(&self, wanted: &[&str]) {
        let lines = self.stderr.lines();
        // Most scenarios state no version of HCO.
        let is_told = |line: &&str| !line.starts_with("[import-is-preview]");
        let found: Vec<_> = lines
            .filter_map(|line| line.strip_prefix("Warning: "))
            .filter(is_told)
            .collect();
        let mut pairs = found.iter().zip(wanted);
        assert!(
            found.len() == wanted.len() && pairs.all(|(found, wanted)| found.starts_with(wanted)),
            "wanted {wanted:?}: {self:?}"
        );
    }

    #[track_caller]
    pub(crate) fn is(&self, wanted: &Self) {
        let shown = |output: &Self| {
            let Self {
                stdout,
                stderr,
                code,
            } = output;
            format!("exit status {code:?}\nstdout: {stdout}\nstderr: {stderr}")
        };
        assert!(
            self == wanted,
            "wanted {}\n\nkubectl: {}",
            shown(wanted),
            shown(self)
        );
    }
}
