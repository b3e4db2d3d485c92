//! The scenarios, in the order in which they run.

mod audit_log;
mod audit_scanner;
mod boot_sources;
mod broken_webhook;
mod cases;
mod combinations;
mod commands;
mod connection;
mod contexts;
mod grant;
mod images;
mod kubectl_verbs;
mod manifests;
mod messages;
mod node_changes;
mod plans;
mod preflight;
mod procedures;
mod repair;
mod rules;
mod status;
mod stored;
mod virtual_machines;
mod without_kubewarden;

use crate::crd::Crds;
use crate::world::World;

/// A procedure of users.
pub(crate) struct Scenario {
    pub(crate) number: usize,
    pub(crate) about: &'static str,
    pub(crate) crds: Crds,
    /// Panics if the result differs.
    pub(crate) run: fn(&World<'_>),
}

/// The scenario that runs only with `WEBHOOK=policy-server`.
pub(crate) const AUDIT_SCANNER: usize = 19;

/// The scenario that has its own webhook, and runs only without `WEBHOOK=policy-server`.
pub(crate) const CASES: usize = 21;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        number: 1,
        about: "the documented procedures",
        crds: Crds::EachAndBoth,
        run: procedures::run,
    },
    Scenario {
        number: 2,
        about: "kubectl shows the message whole, and every warning once",
        crds: Crds::V1beta1,
        run: messages::run,
    },
    Scenario {
        number: 3,
        about: "nodes join and leave",
        crds: Crds::Each,
        run: node_changes::run,
    },
    Scenario {
        number: 4,
        about: "the ways in which kubectl writes",
        crds: Crds::Each,
        run: kubectl_verbs::run,
    },
    Scenario {
        number: 5,
        about: "the audit log",
        crds: Crds::V1beta1,
        run: audit_log::run,
    },
    Scenario {
        number: 6,
        about: "the grant for nodes is missing",
        crds: Crds::V1beta1,
        run: grant::run,
    },
    Scenario {
        number: 7,
        about: "the webhook is down, slow, or answers garbage",
        crds: Crds::V1beta1,
        run: broken_webhook::run,
    },
    Scenario {
        number: 8,
        about: "what deploy/ has is accepted, and grants what it says",
        crds: Crds::V1beta1,
        run: manifests::run,
    },
    Scenario {
        number: 9,
        about: "hco-preflight, the plugin of kubectl",
        crds: Crds::Each,
        run: preflight::run,
    },
    Scenario {
        number: 11,
        about: "repair at admission",
        crds: Crds::Each,
        run: repair::run,
    },
    Scenario {
        number: 12,
        about: "hco-preflight finds the cluster as kubectl does, and the policies in it",
        crds: Crds::V1beta1,
        run: connection::run,
    },
    Scenario {
        number: 13,
        about: "images in a registry",
        crds: Crds::V1beta1,
        run: images::run,
    },
    Scenario {
        number: 14,
        about: "check and plan, with the objects of CDI, KubeVirt, and SSP",
        crds: Crds::V1beta1,
        run: status::run,
    },
    Scenario {
        number: 15,
        about: "what plan says of the changes that administrators make",
        crds: Crds::V1beta1,
        run: plans::run,
    },
    Scenario {
        number: 16,
        about: "kubectl shows what each rule says",
        crds: Crds::OfHco,
        run: rules::run,
    },
    Scenario {
        number: 17,
        about: "virtual machines",
        crds: Crds::V1beta1,
        run: virtual_machines::run,
    },
    Scenario {
        number: 18,
        about: "the commands of the pages, as they are printed",
        crds: Crds::V1beta1,
        run: commands::run,
    },
    Scenario {
        number: AUDIT_SCANNER,
        about: "the reports of Kubewarden's audit scanner",
        crds: Crds::V1beta1,
        run: audit_scanner::run,
    },
    Scenario {
        number: 20,
        about: "the commands of fix, with several contexts",
        crds: Crds::V1beta1,
        run: contexts::run,
    },
    Scenario {
        number: CASES,
        about: "every case, as a request that the API server sends",
        crds: Crds::V1beta1,
        run: cases::run,
    },
    Scenario {
        number: 22,
        about: "the guard without Kubewarden denies nothing that the policy accepts",
        crds: Crds::V1beta1,
        run: without_kubewarden::run,
    },
];
