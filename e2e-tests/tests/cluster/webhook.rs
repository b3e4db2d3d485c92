//! The webhook: the real policy-server, or a replacement that uses the preflight library and responds the same.

mod broken;
mod cases;
mod grants;
mod library;
mod policy_server;
mod server;
mod timely;

use std::fmt;
use std::path::PathBuf;

use e2e_tests::module;

use crate::control_plane::ControlPlane;
use crate::policy::Policy;

pub(crate) use broken::Broken;
pub(crate) use cases::{CaseWebhook, Evaluated};
use policy_server::PolicyServer;
use server::Server;

/// The kinds of webhooks.
pub(crate) enum Kind {
    /// policy-server, and kwctl, which annotates the module for it.
    PolicyServer { program: PathBuf, kwctl: PathBuf },
    /// Our own webhook.
    Library,
}

impl Kind {
    /// The kind that `WEBHOOK` names: our own webhook, or policy-server.
    pub(crate) fn wanted() -> Result<Self, String> {
        match std::env::var("WEBHOOK").unwrap_or_default().as_str() {
            "" | "library" => Ok(Self::Library),
            "policy-server" => {
                let program = module::on_path("policy-server").zip(module::on_path("kwctl"));
                let (program, kwctl) = program.ok_or("policy-server or kwctl is not on PATH")?;
                Ok(Self::PolicyServer { program, kwctl })
            }
            other => Err(format!(
                "WEBHOOK is policy-server or library, and not {other}"
            )),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PolicyServer { .. } => "policy-server",
            Self::Library => "library",
        })
    }
}

/// A webhook that answers for one policy, ended with this value.
pub(crate) enum Webhook {
    PolicyServer(PolicyServer),
    Library(Server),
}

impl Webhook {
    /// Starts a webhook that reads the cluster with a token, and waits until it responds.
    pub(crate) fn start(
        kind: &Kind,
        policy: &Policy,
        control_plane: &ControlPlane,
        token: &str,
    ) -> Self {
        match kind {
            Kind::PolicyServer { program, kwctl } => Self::PolicyServer(policy_server::start(
                program,
                kwctl,
                policy,
                control_plane,
                token,
            )),
            Kind::Library => Self::Library(library::start(policy, control_plane, token)),
        }
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        match self {
            Self::PolicyServer(policy_server) => &policy_server.url,
            Self::Library(server) => &server.url,
        }
    }
}
