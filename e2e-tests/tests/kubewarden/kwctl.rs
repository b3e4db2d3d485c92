//! `kwctl run` with a session, one process for each case.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;

use e2e_tests::{Answer, Judged, Refusal, module};
use policy_host::Policy;

use crate::results::Results;

/// As many as the build machines have cores.
const THREADS: usize = 2;

pub(crate) fn run(kwctl: &Path, cases: &[Judged<'_>]) -> Results {
    let mut results = Results::default();
    let (module, scratch) = match (
        module::annotated(kwctl, Policy::embedded_module()),
        module::scratch("kwctl"),
    ) {
        (Ok(module), Ok(scratch)) => (module, scratch),
        (Err(error), _) | (_, Err(error)) => {
            results.wrong(error);
            return results;
        }
    };

    let mut jobs = Vec::new();
    for judged in cases {
        match judged.session() {
            Ok(session) => jobs.push((judged, session)),
            Err(why) => results.left_out(judged.case, &why),
        }
    }
    // Only plain data can go to another thread, because a cluster counts its calls in cells.
    let jobs: Vec<Job> = jobs
        .into_iter()
        .map(|(judged, session)| Job {
            name: judged.case.name.clone(),
            request: judged.case.request(),
            settings: judged.case.settings().to_string(),
            refused_settings: judged.refused_settings(),
            refusal: judged.case.cluster.refusal(),
            session,
            wanted: judged.answer(),
        })
        .collect();
    let next = Mutex::new(jobs.iter());
    let done: Mutex<Vec<(&str, Option<String>)>> = Mutex::default();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let file = scratch.join(format!("session-{thread}.yml"));
            let (next, done, module) = (&next, &done, &module);
            scope.spawn(move || {
                loop {
                    let job = next.lock().expect("no thread panics here").next();
                    let Some(job) = job else { break };
                    let mistake = job.mistake(kwctl, module, &file);
                    let mut done = done.lock().expect("no thread panics here");
                    done.push((&job.name, mistake));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics here");
    for judged in cases {
        let place = done.iter().position(|(name, _)| *name == judged.case.name);
        if let Some(place) = place {
            results.case(judged.case, done.swap_remove(place).1);
        }
    }
    results
}

/// One run of kwctl.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) request: serde_json::Value,
    pub(crate) settings: String,
    /// The error that kwctl prints instead of a response.
    pub(crate) refused_settings: Option<String>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) session: String,
    pub(crate) wanted: Answer,
}

impl Job {
    /// The difference to the engine, if there is one.
    pub(crate) fn mistake(&self, kwctl: &Path, module: &Path, session: &Path) -> Option<String> {
        let output = match self.run(kwctl, module, session) {
            Ok(output) => output,
            Err(error) => return Some(format!("kwctl run: {error}")),
        };
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        if let Some(refused) = &self.refused_settings {
            let expected = format!("Provided settings are not valid: {refused}");
            let refused = !output.status.success() && stderr.contains(&expected);
            return (!refused).then(|| format!("expected {expected}, came to {stdout}{stderr}"));
        }
        // kwctl only warns if there were fewer calls than the engine made.
        if stderr.contains("have not been replayed") {
            return Some(stderr.into_owned());
        }
        match Answer::to(&self.request, &stdout) {
            Ok(answer) => answer.difference(&self.wanted),
            Err(error) => Some(format!("{error}\n{stderr}")),
        }
    }

    fn run(&self, kwctl: &Path, module: &Path, session: &Path) -> std::io::Result<Output> {
        std::fs::write(session, &self.session)?;
        let mut command = Command::new(kwctl);
        command
            // Host errors contain a backtrace if backtraces are on.
            .env("RUST_BACKTRACE", "0")
            .env("NO_COLOR", "1")
            .args(["run", "--request-path", "-", "--settings-json"])
            .arg(&self.settings)
            .arg("--replay-host-capabilities-interactions")
            .arg(session)
            // One flag with several values: kwctl rejects the repeated flag, although its help allows it.
            .args([
                "--allowed-host-capabilities",
                "kubernetes/can_i",
                "kubernetes/get_resource",
                "oci/*",
            ]);
        if self.refusal != Some(Refusal::Capability) {
            command.arg("kubernetes/list_resources_all");
        }
        // Nothing is verified here. Without a file, kwctl downloads one, which takes a second.
        command.args(["--sigstore-trust-config", "/dev/null"]);
        if self.refusal != Some(Refusal::Resource) {
            command.arg("--allow-context-aware");
        }
        let mut child = command
            .arg(module)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(self.request.to_string().as_bytes())?;
        }
        child.wait_with_output()
    }
}
