//! Certificates of servers on this machine.

/// A self-signed certificate for this machine and its key, in PEM.
pub fn certificate() -> (String, String) {
    let names = ["127.0.0.1", "localhost"].map(str::to_owned);
    let certified = rcgen::generate_simple_self_signed(names).unwrap();
    (certified.cert.pem(), certified.signing_key.serialize_pem())
}
