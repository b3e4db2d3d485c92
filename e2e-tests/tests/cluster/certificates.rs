//! The certificate authority of a cluster, and the certificates of its servers.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};

/// The certificates of a cluster.
pub(crate) struct Certificates {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The certificate of the authority, in PEM.
    pub(crate) authority: String,
    pub(crate) authority_file: PathBuf,
    pub(crate) api_server: Pair,
    /// The certificate of webhooks.
    pub(crate) webhook: Pair,
}

/// The files of a certificate and of its key, in a directory as the kubelet mounts a Secret.
#[derive(Clone)]
pub(crate) struct Pair {
    directory: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Pair {
    pub(crate) fn named(directory: &Path, name: &str) -> Self {
        let directory = directory.join(name);
        Self {
            certificate: directory.join(CERTIFICATE),
            key: directory.join(KEY),
            directory,
        }
    }

    /// Replaces both files atomically: they are links into a directory, which is itself a link to the newest one.
    ///
    /// MIRRORS: kubernetes `pkg/volume/util/atomic_writer.go`, `Write`.
    fn write(&self, certificate: &str, key: &str) -> io::Result<()> {
        std::fs::create_dir_all(&self.directory)?;
        let (data, new_link) = (
            self.directory.join("..data"),
            self.directory.join("..data_tmp"),
        );
        let old = data.read_link().ok();
        let new = tempfile::Builder::new()
            .prefix("..")
            .tempdir_in(&self.directory)?
            .keep();
        for (name, pem) in [(CERTIFICATE, certificate), (KEY, key)] {
            std::fs::write(new.join(name), pem)?;
        }
        symlink(&new, &new_link)?;
        std::fs::rename(&new_link, &data)?;
        match old {
            Some(old) => std::fs::remove_dir_all(old),
            None => [CERTIFICATE, KEY].into_iter().try_for_each(|name| {
                symlink(Path::new("..data").join(name), self.directory.join(name))
            }),
        }
    }
}

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

impl Certificates {
    /// Another name in the certificates, which does not resolve.
    pub(crate) const OTHER_NAME: &str = "other.test";

    /// Creates the certificates, and writes them to a directory.
    pub(crate) fn new(directory: &Path) -> Outcome<Self> {
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let authority = issuer.pem();
        let authority_file = directory.join("authority.pem");
        std::fs::write(&authority_file, &authority)?;

        let certificates = Self {
            issuer,
            authority,
            authority_file,
            api_server: Pair::named(directory, "api-server"),
            webhook: Pair::named(directory, "webhook"),
        };
        for pair in [&certificates.api_server, &certificates.webhook] {
            certificates.write(pair, &Self::params()?)?;
        }
        Ok(certificates)
    }

    /// A certificate for the loopback interface, valid for longer than any test.
    fn params() -> Result<CertificateParams, rcgen::Error> {
        let names = ["127.0.0.1", "localhost", Self::OTHER_NAME];
        CertificateParams::new(names.map(str::to_owned))
    }

    fn write(&self, pair: &Pair, params: &CertificateParams) -> Outcome<()> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        pair.write(&certificate.pem(), &key.serialize_pem())?;
        Ok(())
    }
}
