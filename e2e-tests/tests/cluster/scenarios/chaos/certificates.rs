//! Scenarios 18 and 19: certificates that are no longer valid, or not yet.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::updates::{Outcome, Outcomes, update};
use super::{measured, milliseconds, not_shown, updates};
use crate::certificates::{Certificates, Pair};
use crate::waiting::until;
use crate::world::World;

const HOUR: Duration = Duration::from_hours(1);

pub(super) fn expiry(world: &World<'_>) {
    not_shown(
        world,
        "whether policy-server reads a renewed certificate without a restart",
    );
    world.deploy("mixed");
    updates::create(world);
    let expires = in_use_before_it_expires(world);
    until("the certificate expires", || {
        (SystemTime::now() > expires)
            .then_some(())
            .ok_or_else(|| "it is valid".to_owned())
    });
    // The API server looks at it only when it connects.
    let outcomes = Outcomes::default();
    let open = match (send(world, &outcomes, 2), send(world, &outcomes, 3)) {
        (Outcome::Accepted, Outcome::Denied) => "answered",
        (Outcome::Failed, Outcome::Failed) => "not answered",
        _ => panic!("the update that has to be denied is not denied"),
    };
    measured(world, "requests over the connection from before", open);

    world.webhook().kill();
    world.webhook().start_again();
    none_is_answered(world, &outcomes, "is after");
    // A renewal that does not help: what is watched in a mounted Secret is gone after the first one.
    show(world, expires - HOUR, expires);
    renewed(world, &outcomes, "the second renewed certificate");
    outcomes.print(world);
}

pub(super) fn skew(world: &World<'_>) {
    println!(
        "not shown: a clock that jumps. One machine has one clock, so the times in certificates are moved instead; tokens that \
         are valid for the one clock and not for the other have no scenario"
    );
    world.deploy("mixed");
    updates::create(world);
    let outcomes = Outcomes::default();
    // The clock of whoever issued the certificate is an hour ahead of the API server's.
    let now = SystemTime::now();
    show(world, now + HOUR, now + 2 * HOUR);
    world.webhook().kill();
    world.webhook().start_again();
    none_is_answered(world, &outcomes, "is before");
    renewed(world, &outcomes, "the first renewed certificate");
    policy_server_trusts_nobody(world, &outcomes);
    outcomes.print(world);
}

/// Gives the webhook a certificate that expires soon, and calls it over a connection that stays open: when it expires.
fn in_use_before_it_expires(world: &World<'_>) -> SystemTime {
    let outcomes = Outcomes::default();
    // The longer ones are for machines on which a webhook does not start in the shorter time.
    for lifetime in [10, 20, 40, 80] {
        let now = SystemTime::now();
        let expires = now + Duration::from_secs(lifetime);
        show(world, now - HOUR, expires);
        world.webhook().kill();
        world.webhook().start_again();
        let sent = (send(world, &outcomes, 0), send(world, &outcomes, 1));
        if sent == (Outcome::Accepted, Outcome::Denied) {
            return expires;
        }
    }
    panic!("no certificate was used before it expired");
}

/// Writes the certificate of the webhook anew.
fn show(world: &World<'_>, from: SystemTime, until: SystemTime) {
    let certificates = &world.control_plane.certificates;
    certificates.issue(&certificates.webhook, from..until);
}

fn send(world: &World<'_>, outcomes: &Outcomes, number: usize) -> Outcome {
    outcomes.add(&updates::patch(
        world.api(),
        &world.path(),
        &update(world, number),
    ))
}

/// No update gets in, and kubectl says that it is the certificate.
fn none_is_answered(world: &World<'_>, outcomes: &Outcomes, when: &str) {
    for number in 10..20 {
        assert!(
            send(world, outcomes, number) == Outcome::Failed,
            "update {number} got a verdict"
        );
    }
    let output = world.developer.run(&LABEL);
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""));
    for part in [
        "Error from server (InternalError): Internal error occurred: failed calling webhook ",
        ": tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time ",
        when,
    ] {
        assert!(output.stderr.contains(part), "{output:?}");
    }
    print!("kubectl: {}", output.stderr);
}

const LABEL: [&str; 4] = ["label", "hyperconverged", "kubevirt-hyperconverged", "a=b"];

/// There is a new certificate, and updates are answered again: at the latest after a restart.
fn renewed(world: &World<'_>, outcomes: &Outcomes, which: &str) {
    let now = SystemTime::now();
    show(world, now - HOUR, now + HOUR);
    let answered_by_itself = (0..100).any(|_| send(world, outcomes, 20) == Outcome::Accepted);
    measured(
        world,
        &format!("{which} is used without a restart"),
        if answered_by_itself { "yes" } else { "no" },
    );
    if !answered_by_itself {
        world.webhook().kill();
        world.webhook().start_again();
    }
    let begun = Instant::now();
    answered(world, outcomes);
    let took = milliseconds(begun.elapsed());
    measured(world, "from then to the next verdict", &took);
}

/// Waits until an update is accepted; then another one is denied.
fn answered(world: &World<'_>, outcomes: &Outcomes) {
    until("an update is accepted", || {
        (send(world, outcomes, 20) == Outcome::Accepted)
            .then_some(())
            .ok_or_else(|| "it fails".to_owned())
    });
    assert!(send(world, outcomes, 21) == Outcome::Denied);
}

/// policy-server starts on a machine whose clock is an hour behind: for it the API server's certificate is not valid yet.
/// Only it sees this certificate, which the API server has for another name.
fn policy_server_trusts_nobody(world: &World<'_>, outcomes: &Outcomes) {
    let certificates = &world.control_plane.certificates;
    let other = Pair::named(world.control_plane.directory(), "other");
    let now = SystemTime::now();
    certificates.issue(&other, now + HOUR..now + 2 * HOUR);
    let argument = format!(
        "{},{}:{}",
        other.certificate.display(),
        other.key.display(),
        Certificates::OTHER_NAME
    );
    world.control_plane.kill_api_server();
    world
        .control_plane
        .start_api_server_again(&["--tls-sni-cert-key", &argument]);

    let kubeconfig = world.control_plane.directory().join("kubeconfig");
    let text = std::fs::read_to_string(&kubeconfig).expect("a kubeconfig");
    let mut changed: Value = serde_json::from_str(&text).expect("JSON");
    changed["clusters"][0]["cluster"]["tls-server-name"] = json!(Certificates::OTHER_NAME);
    std::fs::write(&kubeconfig, changed.to_string()).expect("a kubeconfig");
    world.webhook().kill();
    world.webhook().start_again();

    let begun = Instant::now();
    let output = world.write("replace", &world.crd.import);
    measured(
        world,
        "until kubectl fails because policy-server rejects the API server",
        &milliseconds(begun.elapsed()),
    );
    print!("kubectl: {}", output.stderr);
    assert_eq!(output.code, Some(1), "{output:?}");
    let sent = [30, 31].map(|number| send(world, outcomes, number));
    assert!(!sent.contains(&Outcome::Accepted), "an update got in");

    // The clock is right again. The API server reads the file again by itself.
    let begun = Instant::now();
    certificates.issue(&other, now - HOUR..now + HOUR);
    answered(world, outcomes);
    let took = milliseconds(begun.elapsed());
    measured(world, "from the right clock to the next verdict", &took);
}
