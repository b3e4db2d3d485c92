//! One authority for a cluster, and the certificates of what listens in it.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

/// The certificates of a cluster.
pub(crate) struct Certificates {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The authority's, in PEM.
    pub(crate) authority: String,
    pub(crate) authority_file: PathBuf,
    pub(crate) api_server: Pair,
    /// What webhooks show.
    pub(crate) webhook: Pair,
}

/// The files of a certificate and of its key.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Pair {
    pub(crate) fn named(directory: &Path, name: &str) -> Self {
        Self {
            certificate: directory.join(format!("{name}.pem")),
            key: directory.join(format!("{name}-key.pem")),
        }
    }
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

impl Certificates {
    /// Another name for the loopback interface, which resolves nowhere.
    pub(crate) const OTHER_NAME: &str = "other.test";

    /// Makes them, and writes them to a directory.
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
            api_server: Pair::named(directory, "certificate"),
            webhook: Pair::named(directory, "webhook"),
        };
        for pair in [&certificates.api_server, &certificates.webhook] {
            certificates.write(pair, &Self::params()?)?;
        }
        Ok(certificates)
    }

    /// Writes a certificate that is valid for this time, and its key.
    pub(crate) fn issue(&self, pair: &Pair, valid: Range<SystemTime>) {
        let date = |time: SystemTime| {
            let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH);
            date_time_ymd(1970, 1, 1) + since_1970.expect("a time after 1970")
        };
        let mut params = Self::params().expect("names");
        (params.not_before, params.not_after) = (date(valid.start), date(valid.end));
        self.write(pair, &params).expect("a certificate");
    }

    /// For the loopback interface, valid for longer than anything lasts.
    fn params() -> Result<CertificateParams, rcgen::Error> {
        let names = ["127.0.0.1", "localhost", Self::OTHER_NAME];
        CertificateParams::new(names.map(str::to_owned))
    }

    fn write(&self, pair: &Pair, params: &CertificateParams) -> Outcome<()> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let write = |file: &Path, pem: String| -> io::Result<()> { std::fs::write(file, pem) };
        write(&pair.key, key.serialize_pem())?;
        write(&pair.certificate, certificate.pem())?;
        Ok(())
    }
}
