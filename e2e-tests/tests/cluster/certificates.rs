//! One authority for a cluster, and one certificate for whatever listens in it.

use std::io;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};

/// The certificates of a cluster.
pub(crate) struct Certificates {
    /// The authority's, in PEM.
    pub(crate) authority: String,
    pub(crate) authority_file: PathBuf,
    /// What all servers show: for the loopback interface.
    pub(crate) certificate: String,
    pub(crate) certificate_file: PathBuf,
    pub(crate) key: String,
    pub(crate) key_file: PathBuf,
}

impl Certificates {
    /// Makes them, and writes them to a directory.
    pub(crate) fn new(directory: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let names = ["127.0.0.1", "localhost"].map(str::to_owned);
        let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;

        let write = |name: &str, pem: &str| -> io::Result<PathBuf> {
            let file = directory.join(name);
            std::fs::write(&file, pem)?;
            Ok(file)
        };
        let (authority, certificate, key) =
            (authority.pem(), certificate.pem(), key.serialize_pem());
        Ok(Self {
            authority_file: write("authority.pem", &authority)?,
            certificate_file: write("certificate.pem", &certificate)?,
            key_file: write("key.pem", &key)?,
            authority,
            certificate,
            key,
        })
    }
}
