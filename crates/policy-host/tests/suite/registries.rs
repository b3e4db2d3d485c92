//! Images in registries: in a real one, Debian's docker-registry, and in scripted ones with faults.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::LazyLock;
use std::time::Duration;

use e2e_tests::{
    Fault, ScriptedRegistry, SilentServer, TestRegistry, arm64, certificate, response,
};
use engine::Image;
use policy_host::{HostCalls as _, Registries};
use registry::Sources;
use rstest::rstest;
use serde_json::json;

/// The sources that a YAML text describes.
fn sources(text: &str) -> Sources {
    Sources::from_bytes(text.as_bytes()).unwrap()
}

fn registries() -> Registries {
    Registries::new(Sources::default())
}

fn image(name: &str) -> Image {
    Image::at(&format!("docker://{name}")).unwrap().unwrap()
}

/// The architectures of one image, in the format of the annotation.
fn architectures(registries: &Registries, name: &str) -> Result<String, String> {
    let arm64 = BTreeSet::from(["arm64".to_owned()]);
    let mut read = registries.contents(BTreeSet::from([image(name)]), &arm64);
    let contents = read.remove(&image(name)).unwrap();
    let contents = contents.map_err(|why| engine::why_unknown(&why))?;
    assert_eq!(contents.unreadable().next(), None);
    Ok(contents.supported.into_iter().collect::<Vec<_>>().join(","))
}

#[test]
#[ignore = "needs docker-registry: make e2e-registry"]
fn a_certificate_is_trusted_as_sources_yml_says() {
    let ((own, key), (other, _)) = (certificate(), certificate());
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let file = directory.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let tls = json!({"certificate": file("certificate", own.clone()), "key": file("key", key)});
    let registry = TestRegistry::start(&json!({"http": {"tls": tls}}));
    let host = registry.host();
    let authority = |pem: String| {
        let authority = json!([{"type": "Data", "data": pem}]);
        json!({"source_authorities": {&host: authority}}).to_string()
    };
    let insecure = json!({"insecure_sources": [host]}).to_string();
    let read = |text: &str| architectures(&Registries::new(sources(text)), &format!("{host}/a:1"));
    for trusted in [authority(own), insecure] {
        let error = read(&trusted).unwrap_err();
        assert!(error.contains("status 404"), "{error}");
    }
    let error = read(&authority(other)).unwrap_err();
    assert!(error.contains("invalid peer certificate"), "{error}");
    assert!(
        error.contains("certificate authorities in sources.yml"),
        "{error}"
    );
}

/// The architectures, or an error that contains this text, without control characters.
#[track_caller]
fn assert_read(read: &Result<String, String>, wanted: Result<&str, &str>) {
    match (read, wanted) {
        (Err(error), Err(part)) => {
            assert!(error.contains(part), "{error}");
            assert!(!error.contains(char::is_control), "{error:?}");
        }
        _ => assert_eq!(read.as_deref().map_err(String::as_str), wanted),
    }
}

/// The result of a fault: architectures, or a part of the error.
fn result_of(fault: Fault) -> Result<&'static str, &'static str> {
    match fault {
        Fault::Redirect => Ok("arm64"),
        Fault::RedirectLoop => Err("too many redirects"),
        Fault::Closed => Err("connection closed before message completed"),
        Fault::ClosedEarly => Err("error decoding response body"),
        Fault::InvalidJson => Err("the manifest is not valid (line 1, column 2)"),
        Fault::NoManifest => Err("the manifest is not valid"),
        Fault::SchemaVersion1 => Err("the unsupported schema version 1"),
        Fault::OtherMediaType => Err("an unsupported media type"),
        Fault::Unauthorized => Err("is not shown): there are no credentials for it"),
        Fault::BadGateway => Err("is not shown): try again later"),
        Fault::TooManyRequests => Err("is not shown): log in, or try again later"),
        Fault::Forbidden => Err(
            "the registry responds with status 403 (the response of a service on this machine is",
        ),
        Fault::Large => Err("the response is larger than 4 MiB"),
    }
}

#[test]
fn the_fault_of_a_registry_is_reported() {
    for fault in Fault::ALL {
        let registry = ScriptedRegistry::faulty(fault);
        let read = architectures(&registries(), &format!("{}/a:1", registry.host));
        assert_read(&read, result_of(fault));
    }
}

/// An insecure registry may be reached in several ways, and each way would reach the time limit.
#[rstest]
#[case::one_way(false)]
#[case::several_ways(true)]
fn a_registry_that_never_answers_is_not_waited_for(#[case] is_insecure: bool) {
    let registry = SilentServer::start();
    let insecure = Vec::from_iter(is_insecure.then(|| registry.address.to_string()));
    let sources = sources(&json!({"insecure_sources": insecure}).to_string());
    let mut registries = Registries::new(sources);
    registries.patience = Duration::from_millis(50);
    let error = architectures(&registries, &format!("{}/a:1", registry.address)).unwrap_err();
    assert!(error == "no response within 50ms", "{error}");
}

/// It supports only HTTP, so two ways fail before.
#[test]
fn the_answer_of_an_insecure_registry_is_the_error() {
    let registry = ScriptedRegistry::answering(|_| response(401, "no"));
    let host = &registry.host;
    let insecure = Registries::new(sources(&json!({"insecure_sources": [host]}).to_string()));
    let error = architectures(&insecure, &format!("{host}/a:1")).unwrap_err();
    let start = "the registry responds with status 401 (the response of a service on this machine is not shown): there are no credentials";
    assert!(error.starts_with(start), "{error}");
    let end = format!("`docker login {host}`");
    assert!(error.ends_with(&end), "{error}");
    // The port is closed. The policy shows the end of a long reason, where the cause is.
    let error = architectures(&registries(), "127.0.0.1:1/a:1").unwrap_err();
    assert!(
        error.starts_with("the registry cannot be reached; check"),
        "{error}"
    );
    assert!(
        error.ends_with("Connection refused (os error 111)"),
        "{error}"
    );
    let gone = Registries::new(sources("insecure_sources: ['127.0.0.1:1']"));
    let error = architectures(&gone, "127.0.0.1:1/a:1").unwrap_err();
    assert_eq!(error.matches("check the name").count(), 1, "{error}");
    assert_eq!(error.matches("Connection refused").count(), 3, "{error}");
}

#[test]
fn another_image_than_that_of_the_digest_is_not_taken() {
    let registry = ScriptedRegistry::answering(|request| response(200, &arm64(&request.path)));
    let name = format!("{}/a@sha256:{}", registry.host, "0".repeat(64));
    let error = architectures(&registries(), &name).unwrap_err();
    let part = "does not match the digest sha256:000";
    assert!(error.contains(part), "{error}");
}

/// A login that fails.
const REFUSED: &str = r#"{"errors": [{"code": "DENIED", "message": "no\u0007"}]}"#;

/// A valid token, in an answer of 5 MB.
static LARGE_TOKEN: LazyLock<String> =
    LazyLock::new(|| json!({"token": "t", "x": "x".repeat(5_000_000)}).to_string());

/// The registry uses tokens, as most public registries do.
#[rstest]
#[case::granted(r#"{"token": "t"}"#, Ok("arm64"))]
#[case::under_the_other_name(r#"{"access_token": "t"}"#, Ok("arm64"))]
#[case::refused(
    REFUSED,
    Err(
        "the token server responds with status 403 (the response of a service on this machine is not shown): there are no credentials for it; to store them, run `podman login"
    )
)]
#[case::no_header(r#"{"token": "a\nb"}"#, Err("failed to parse header value"))]
#[case::no_token("{}", Err("the response of the token server has no token"))]
#[case::large(&LARGE_TOKEN, Err("the response is larger than 4 MiB"))]
fn a_registry_with_tokens(#[case] token: &'static str, #[case] found: Result<&str, &str>) {
    let registry = ScriptedRegistry::answering(move |request| {
        match request.path.split('?').next() {
            Some("/v2/") => format!(
                "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer realm=\"http://{}/token\",service=\"s\"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                request.host
            ),
            Some("/token") if token == REFUSED => response(403, token),
            Some("/token") => response(200, token),
            _ if request.authorization == "Bearer t" => response(200, &arm64(&request.path)),
            _ => response(401, ""),
        }
    });
    let read = architectures(&registries(), &format!("{}/a:1", registry.host));
    assert_read(&read, found);
}

/// A manifest names a registry that redirects to a host of the network, or has its token server there.
#[rstest]
#[case::redirect("307 Elsewhere", "Location: http://HOST/secret")]
#[case::token_server("401 No", "WWW-Authenticate: Bearer realm=\"http://HOST/secret\"")]
fn the_answer_of_another_host_is_not_shown(
    #[case] status: &'static str,
    #[case] header: &'static str,
) {
    let other = ScriptedRegistry::answering(|_| response(403, "SECRET"));
    let header = header.replace("HOST", &other.host);
    let registry = ScriptedRegistry::answering(move |request| {
        let is_token = status.starts_with("401");
        if is_token == (request.path == "/v2/") {
            format!(
                "HTTP/1.1 {status}\r\n{header}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
        } else {
            response(200, "")
        }
    });
    let error = architectures(&registries(), &format!("{}/a:1", registry.host)).unwrap_err();
    let part = "came from another host and is not shown";
    assert!(error.contains(part), "{error}");
    assert!(!error.contains("SECRET"), "{error}");
}

#[test]
fn an_image_is_read_once() {
    let registry = ScriptedRegistry::answering(|request| match request.path.as_str() {
        "/v2/" => response(200, ""),
        path if path.contains("/a/") => response(200, &arm64(path)),
        _ => response(404, ""),
    });
    let registries = registries();
    for _ in 0..3 {
        let read = |name: &str| architectures(&registries, &format!("{}/{name}:1", registry.host));
        assert!(read("a").is_ok());
        // A failed look-up is not repeated either.
        assert!(read("b").is_err());
    }
    let mut asked = registry.paths();
    asked.retain(|path| path != "/v2/");
    let unique: BTreeSet<&String> = asked.iter().collect();
    assert_eq!(unique.len(), asked.len(), "{asked:?}");
    // The index of one image, its manifest with the configuration, and the other image.
    let by_digest = asked.iter().filter(|path| path.contains("sha256:"));
    assert_eq!((by_digest.count(), asked.len()), (2, 4), "{asked:?}");
}

#[test]
fn nothing_else_is_asked_of_registries() {
    let error = registries().call("oci", "v1/oci_manifest", br#""a b""#);
    let expected = "Callback evaluation failure: `a b` is not an image such as registry.example.com/name:tag: invalid reference format";
    assert_eq!(error.unwrap_err(), expected);
    let error = registries().call("net", "v1/dns_lookup_host", br#""a""#);
    assert!(error.unwrap_err().ends_with("only images can be read"));
    let none: BTreeMap<Image, _> = registries().contents(BTreeSet::new(), &BTreeSet::new());
    assert!(none.is_empty());
}

#[test]
fn a_large_answer_is_not_read_to_its_end() {
    let (sent, all) = std::sync::mpsc::channel();
    let registry = ScriptedRegistry::start(move |request, to| {
        let answer = match request.path.as_str() {
            "/v2/" => response(200, ""),
            path => Fault::Large.response(path),
        };
        let _ = sent.send(to.write_all(answer.as_bytes()).is_ok());
    });
    let error = architectures(&registries(), &format!("{}/a:1", registry.host)).unwrap_err();
    assert!(error == "the response is larger than 4 MiB", "{error}");
    assert_eq!([all.recv(), all.recv()], [Ok(true), Ok(false)]);
}
