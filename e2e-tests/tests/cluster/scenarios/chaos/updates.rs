//! Updates of one HyperConverged by several clients. Every other update has to be denied.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{measured, milliseconds};
use crate::api::Api;
use crate::crd::{template, together};
use crate::waiting::until;
use crate::world::{WEBHOOK, World};

/// The outcome of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Accepted,
    /// By the policy.
    Denied,
    /// Another client was faster.
    Conflict,
    /// No verdict: the policy or the API server could not be reached.
    Failed,
}

/// The outcomes of all requests of a scenario.
#[derive(Default)]
pub(super) struct Outcomes {
    seen: Mutex<Vec<(Instant, Outcome)>>,
    /// How often there were errors that differ only in numbers, with one of them.
    errors: Mutex<BTreeMap<String, (String, usize)>>,
}

impl Outcomes {
    pub(super) fn count(&self, outcome: Outcome) -> usize {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|(_, seen)| *seen == outcome).count()
    }

    /// Verdicts of the policy.
    pub(super) fn verdicts(&self) -> usize {
        self.count(Outcome::Accepted) + self.count(Outcome::Denied)
    }

    /// The time from then to the next verdict.
    pub(super) fn next_verdict(&self, then: Instant) -> Option<Duration> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let verdicts = seen
            .iter()
            .filter(|(_, seen)| matches!(seen, Outcome::Accepted | Outcome::Denied));
        verdicts
            .filter_map(|(at, _)| at.checked_duration_since(then))
            .min()
    }

    /// Adds the outcome of a request.
    pub(super) fn add(&self, answer: &Result<(ureq::http::StatusCode, Value), String>) -> Outcome {
        let (outcome, error) = match answer {
            Ok((status, _)) if status.is_success() => (Outcome::Accepted, None),
            Ok((status, answer)) => {
                let message = answer["message"].as_str().unwrap_or_default();
                let verdict = format!("admission webhook \"{WEBHOOK}\" denied the request: ");
                if message.starts_with(&verdict) {
                    (Outcome::Denied, None)
                } else if *status == 409 {
                    (Outcome::Conflict, None)
                } else {
                    (Outcome::Failed, Some(format!("{status}: {message}")))
                }
            }
            Err(error) => (Outcome::Failed, Some(error.clone())),
        };
        if let Some(error) = error {
            let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
            let same = error.split(|letter: char| letter.is_ascii_digit());
            let same = same.filter(|part| !part.is_empty()).collect();
            errors.entry(same).or_insert((error, 0)).1 += 1;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push((Instant::now(), outcome));
        outcome
    }

    /// Prints how many there are of each, and the errors.
    pub(super) fn print(&self, world: &World<'_>) {
        let counts = format!(
            "{} accepted, {} denied, {} conflicts, {} without a verdict",
            self.count(Outcome::Accepted),
            self.count(Outcome::Denied),
            self.count(Outcome::Conflict),
            self.count(Outcome::Failed)
        );
        measured(world, "requests", &counts);
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        for (error, count) in errors.values() {
            println!("{count} times: {error}");
        }
    }
}

/// A program that is started again after a fault.
pub(super) struct Recovery {
    started: Instant,
    ready: Option<Instant>,
}

impl Recovery {
    pub(super) fn begin() -> Self {
        Self {
            started: Instant::now(),
            ready: None,
        }
    }

    /// The program says that it is ready.
    pub(super) fn ready(self) -> Self {
        Self {
            ready: Some(Instant::now()),
            ..self
        }
    }

    pub(super) fn print(&self, world: &World<'_>, outcomes: &Outcomes) {
        let ready = self.ready.map(|at| at.duration_since(self.started));
        let verdict = outcomes.next_verdict(self.started);
        for (what, time) in [
            ("from the new start until it is ready", ready),
            ("from the new start until the next verdict", verdict),
        ] {
            let time = time.map_or_else(|| "never".to_owned(), milliseconds);
            measured(world, what, &time);
        }
    }
}

/// Creates the object that is updated: correct on every cluster.
pub(super) fn create(world: &World<'_>) {
    let object = world.hyperconverged(&together([
        &world.crd.import,
        &world
            .crd
            .templates(&[template("image", Some("amd64,arm64"))]),
    ]));
    world.api().must("POST", &world.collection(), Some(&object));
}

/// An update. Each leaves an annotation of its own, which no other update removes: what got in stays visible.
pub(super) fn update(world: &World<'_>, number: usize) -> Value {
    let name = format!("image-{number}");
    let (mark, architectures) = if must_be_denied(number) {
        (wrong(number), None)
    } else {
        (right(number), Some("amd64,arm64"))
    };
    json!({
        "metadata": {"annotations": {mark: ""}},
        "spec": world.crd.templates(&[template(&name, architectures)]),
    })
}

pub(super) fn must_be_denied(number: usize) -> bool {
    number % 2 == 1
}

fn right(number: usize) -> String {
    format!("e2e.test/right-{number}")
}

fn wrong(number: usize) -> String {
    format!("e2e.test/wrong-{number}")
}

/// Ends the clients when it is dropped, also by a panic: nobody waits for clients that wait for nothing.
pub(super) struct End<'e>(pub(super) &'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends all updates, each again until there is a verdict, while something else happens.
///
/// # Panics
///
/// If the policy accepts what has to be denied, or denies what is right.
pub(super) fn send_all(
    world: &World<'_>,
    clients: usize,
    updates: usize,
    send: impl Fn(&Api, &str, &Value) -> Result<(ureq::http::StatusCode, Value), String> + Sync,
    meanwhile: impl FnOnce(&Outcomes),
) -> Outcomes {
    let (outcomes, given_up) = (Outcomes::default(), AtomicBool::new(false));
    let path = world.path();
    let all: Vec<Value> = (0..updates).map(|number| update(world, number)).collect();
    thread::scope(|scope| {
        for client in 0..clients {
            let (api, path, all) = (world.api().clone(), &path, &all);
            let (outcomes, send, given_up) = (&outcomes, &send, &given_up);
            scope.spawn(move || {
                for number in (client..updates).step_by(clients) {
                    let wanted = if must_be_denied(number) {
                        Outcome::Denied
                    } else {
                        Outcome::Accepted
                    };
                    let mut update = all[number].clone();
                    let mut attempt = 0;
                    let outcome = until("a verdict", || {
                        if given_up.load(Ordering::Relaxed) {
                            return Ok(wanted);
                        }
                        // If only the answer was lost, the update is stored already. The same again would change
                        // nothing, and nothing would be judged.
                        attempt += 1;
                        let template = &mut update["spec"]["dataImportCronTemplates"][0];
                        template["metadata"]["name"] = json!(format!("image-{number}-{attempt}"));
                        let answer = send(&api, path, &update);
                        match outcomes.add(&answer) {
                            outcome @ (Outcome::Accepted | Outcome::Denied) => Ok(outcome),
                            Outcome::Conflict | Outcome::Failed => Err(format!("{answer:?}")),
                        }
                    });
                    assert!(outcome == wanted, "update {number} has the wrong verdict");
                }
            });
        }
        let end = End(&given_up);
        meanwhile(&outcomes);
        std::mem::forget(end);
    });
    none_got_in(world, updates);
    outcomes
}

/// A merge patch: the API server tries it again by itself if another client was faster.
pub(super) fn patch(
    api: &Api,
    path: &str,
    update: &Value,
) -> Result<(ureq::http::StatusCode, Value), String> {
    api.try_to("PATCH", path, Some(update))
}

/// What was right is there, and nothing that was wrong; and the audit log says that each accepted update was judged.
fn none_got_in(world: &World<'_>, updates: usize) {
    let object = world.api().get(&world.path());
    let annotations = object["metadata"]["annotations"].as_object();
    let annotations = annotations.expect("annotations");
    for number in 0..updates {
        let (right, wrong) = (right(number), wrong(number));
        assert!(!annotations.contains_key(&wrong), "{wrong} got in");
        assert!(
            must_be_denied(number) || annotations.contains_key(&right),
            "{right} is lost"
        );
    }
    for event in audited(world, &["patch", "update"]) {
        let accepted = event["responseStatus"]["code"] == 200;
        let denial = findings(&event).contains("=deny");
        let judged = annotation(&event, "multi-arch-import").is_some();
        assert!(!accepted || judged && !denial, "{event}");
    }
}

/// The complete requests for HyperConvergeds with these verbs, from the audit log.
pub(super) fn audited(world: &World<'_>, verbs: &[&str]) -> Vec<Value> {
    let mut events = world.control_plane.audited();
    events.retain(|event| {
        let verb = event["verb"].as_str().unwrap_or_default();
        verbs.contains(&verb) && event["stage"] == "ResponseComplete"
    });
    events
}

/// An audit annotation of the policy.
pub(super) fn annotation<'e>(event: &'e Value, name: &str) -> Option<&'e str> {
    event["annotations"][format!("{WEBHOOK}/{name}")].as_str()
}

pub(super) fn findings(event: &Value) -> &str {
    annotation(event, "findings").unwrap_or_default()
}
