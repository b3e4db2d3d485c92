//! `images`, and the look-ups of `--images`, with a real registry: Debian's docker-registry.

use std::path::Path;

use super::objects::template;
use e2e_tests::{
    DOCKER, DockerRegistry, OCI, ScriptedRegistry, TestRegistry, arm64, certificate, response,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::transcripts::reviewed;
use super::{Run, command, run, run_in, run_of, run_with, scratch, written};

/// Runs a command line in a directory. The output has these lines; the address of the registry differs from run to run.
#[track_caller]
fn shows_at(registry: &TestRegistry, directory: &Path, words: &str, lines: &[&str]) -> Run {
    let words = words.replace("registry.test:1", &registry.host());
    let mut run = run_in(directory, &words);
    for text in [&mut run.stdout, &mut run.stderr] {
        *text = text.replace(&registry.host(), "registry.test:1");
    }
    run.shows(lines)
}

/// A manifest with these templates, and the import on.
fn manifest(templates: &[Value]) -> String {
    format!(
        "apiVersion: hco.kubevirt.io/v1beta1\nkind: HyperConverged\nmetadata: {{name: kubevirt-hyperconverged, namespace: kubevirt-hyperconverged}}\nspec:\n  dataImportCronTemplates: {}\n  featureGates: {{enableMultiArchBootImageImport: true}}\n",
        json!(templates)
    )
}

/// A manifest with templates that import from these URLs.
fn importing(urls: &[&str]) -> String {
    let urls = urls.iter().enumerate();
    let templates = urls.map(|(index, url)| template(&format!("template-{index}"), None, url));
    manifest(&templates.collect::<Vec<_>>())
}

#[test]
#[ignore = "needs docker-registry: make e2e-registry"]
fn images_are_printed_with_their_annotation() {
    let registry = TestRegistry::start(&json!({}));
    let index = registry.push_oci_index("containerdisks/fedora").unwrap();
    registry.push_docker_list("containerdisks/alpine").unwrap();
    let old = registry.push_single("old", Some("7"), "amd64", OCI);
    let latest = registry.push_single("single", Some("latest"), "s390x", OCI);
    let docker = registry.push_single("docker", Some("1"), "arm64", DOCKER);
    old.and(latest).and(docker).unwrap();
    registry.push_nested_index("nested").unwrap();
    // The contents of an image's index, and the images in the registry.
    registry.push_sparse_index("sparse").unwrap();
    registry.push_contradicting_index("contradicting").unwrap();
    registry.push_bootc("bootc").unwrap();
    let fedora = format!("docker://{}/containerdisks/fedora:1", registry.host());
    let urls = [
        &*fedora,
        &fedora,
        "docker://NOT AN IMAGE",
        "oci-archive:///x",
    ];
    let directory = scratch();
    std::fs::write(directory.join("hco.yaml"), importing(&urls)).unwrap();
    let words = "images docker://registry.test:1/containerdisks/alpine:1 registry.test:1/old:7 registry.test:1/old:8 registry.test:1/sparse:1 registry.test:1/contradicting:1 registry.test:1/bootc:1 registry.test:1/single registry.test:1/docker:1 registry.test:1/nested:1 NOT/AN/IMAGE -f hco.yaml";
    let annotation = r#"ssp.kubevirt.io/dict.architectures: "amd64""#;
    let lines = [
        "image                                    amd64  arm64  s390x  arm",
        "registry.test:1/containerdisks/alpine:1  ✔      ✔      –      ✔",
        "registry.test:1/old:7                    ✔      –      –      –",
        "registry.test:1/old:8                    ?      ?      ?      ?",
        "registry.test:1/sparse:1                 ✔      ✘      –      –",
        "registry.test:1/contradicting:1          ✔      ✘      –      –",
        "registry.test:1/bootc:1                  ✔      –      –      –",
        "registry.test:1/single:latest            –      –      ✔      –",
        "registry.test:1/docker:1                 –      ✔      –      –",
        "registry.test:1/nested:1                 ?      ?      ?      ?",
        "registry.test:1/containerdisks/fedora:1  ✔      ✔      ✔      –",
        r#"ssp.kubevirt.io/dict.architectures: "amd64,arm64,arm""#,
        annotation,
        "arm64: listed, but not in the registry: mirror it",
        annotation,
        "arm64: listed, but its configuration says `amd64`",
        annotation,
        "amd64: a bootc image, which later versions of CDI do not import[..]",
        "template `template-0` (hco.yaml:5)",
        "template `template-1` (hco.yaml:5)",
        r#"ssp.kubevirt.io/dict.architectures: "amd64,arm64,s390x""#,
        "note: templates without a docker:// URL, for example with an image stream, are not read: `template-3`",
        "error: `NOT/AN/IMAGE` is not an image such as quay.io/containerdisks/fedora:latest; to specify a file, use -f",
        "error: hco.yaml:5: template `template-2`: docker://NOT AN IMAGE: the URL is not a valid image reference",
        "error: registry.test:1/old:8: the registry responds with status 404 [..]",
        "error: registry.test:1/nested:1: an entry of the index has no platform",
    ];
    shows_at(&registry, &directory, words, &lines).exits(2);
    let digest = format!("registry.test:1/containerdisks/fedora@{}", index.digest);
    let words = format!("{words} {digest} -o json");
    let lines = [
        r#""ssp.kubevirt.io/dict.architectures": "amd64,arm64,arm""#,
        r#""error": "the registry responds with status 404 [..]"#,
        r#""arm64": "listed, but not in the registry: mirror it""#,
        r#""amd64","#,
        r#""arm64","#,
        r#""s390x""#,
        &format!(r#""image": "{digest}","#),
    ];
    shows_at(&registry, &directory, &words, &lines);
}

/// CDI imports one digest of a stream for all architectures, and the stream is in the cluster.
#[test]
fn image_streams_are_noted() {
    let stream = r#"{"imageStream":"fedora","pullMethod":"node"}"#;
    let images = |urls: &[&str]| {
        let text = importing(urls).replace(r#"{"url":"x"}"#, stream);
        run_with("images -f -", &text)
    };
    let note = "templates without a docker:// URL, for example with an image stream, are not read: `template-1`";
    images(&["docker://127.0.0.1:1/a:1", "x"]).notes(note);
    // A cluster without access to registries can have only image streams.
    let alone = images(&["x"]).exits(0).notes("not read: `template-0`");
    assert_eq!(
        (&*alone.stdout, alone.stderr.contains("error")),
        ("", false)
    );
}

/// A credential helper of docker with this answer.
fn helper(directory: &Path, name: &str, answer: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let file = directory.join(format!("docker-credential-{name}"));
    std::fs::write(&file, format!("#!/bin/sh\ncat >/dev/null\n{answer}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Credentials in the files of docker and podman, for a registry that requires them.
#[test]
#[ignore = "needs docker-registry: make e2e-registry"]
fn credentials_are_those_of_docker_and_podman() {
    let directory = scratch();
    let images = TestRegistry::start(&json!({}));
    images.push_oci_index("private/fedora").unwrap();
    // No credentials are sent by HTTP.
    let (certificate, key) = certificate();
    let [file, key] = [&certificate, &key].map(|text| written("certificate", text));
    let mut config = DockerRegistry::with_password(&directory).unwrap();
    config["storage"] = json!({"filesystem": {"rootdirectory": images.data()}});
    config["http"] = json!({"tls": {"certificate": file, "key": key}});
    let registry = TestRegistry::start(&config);
    let authority = json!({registry.host(): [{"type": "Data", "data": certificate}]});
    let sources = json!({"source_authorities": authority}).to_string();
    let sources = written("sources.yml", sources);
    let credentials = r#"echo '{"ServerURL":"x","Username":"user","Secret":"secret"}'"#;
    helper(&directory, "good", credentials);
    let empty = "echo credentials not found in native keychain; exit 1";
    helper(&directory, "empty", empty);
    let broken = r"printf 'the keyring is locked\033[2J'; exit 1";
    helper(&directory, "broken", broken);
    helper(&directory, "chatty", "echo my password is hunter2");
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", directory.display());
    let host = &registry.host();
    // The wrong credentials are `user:wrong`.
    let right = json!({"auth": DockerRegistry::credentials()});
    let wrong = json!({"auth": "dXNlcjp3cm9uZw=="});
    let read = |variable: &str, value: &Path| {
        let mut command = command();
        command.env("PATH", &path).env(variable, value);
        let words = format!("images {host}/private/fedora:1 --sources-path {sources}");
        run_of(command, words.split(' '))
    };
    let no_credentials = "there are no credentials for it; to store them, run `podman login HOST`";
    let replace = "are from DIR/config.json; to replace them, run `podman login HOST`";
    let broken = "DIR/config.json cannot be used: the credential helper `docker-credential-broken` failed: the keyring is locked\\u{1b}[2J; ";
    let helper_and_file = json!({"credHelpers": {host: "good"}, "auths": {host: wrong}});
    let identity_token = json!({"auths": {host: {"identitytoken": "x"}}});
    for (file, error) in [
        (json!({}), no_credentials),
        (json!({"auths": {host: right}}), ""),
        (json!({"auths": {host: wrong}}), replace),
        (helper_and_file, ""),
        (json!({"credsStore": "good", "auths": {host: {}}}), ""),
        (json!({"credsStore": "empty"}), no_credentials),
        (json!({"credHelpers": {host: "broken"}}), broken),
        (json!({"credsStore": "chatty"}), "response malformed\n"),
        (
            json!({"credsStore": "of-nobody"}),
            "helper cannot be started; ",
        ),
        (identity_token, "identity tokens are not supported; "),
    ] {
        let file_of_docker = directory.join("config.json");
        std::fs::write(&file_of_docker, file.to_string()).unwrap();
        let run = read("DOCKER_CONFIG", &directory);
        assert_eq!(run.code == 0, error.is_empty(), "{file}: {run:?}");
        let errors = run.stderr.replace(host, "HOST");
        let errors = errors.replace(&*directory.display().to_string(), "DIR");
        assert!(errors.contains(error), "{file}: {errors}");
        // Podman's file takes precedence over docker's.
        let file_of_podman = directory.join("auth.json");
        std::fs::rename(&file_of_docker, &file_of_podman).unwrap();
        let run = read("REGISTRY_AUTH_FILE", &file_of_podman);
        assert_eq!(run.code == 0, error.is_empty(), "{file}: {run:?}");
    }
}

/// The command reads the images of the templates before it calls the module.
#[rstest]
fn with_images_registries_are_asked(#[values("check", "fix")] subcommand: &str) {
    let registry = with(&[]);
    let url = format!("docker://{}/a:1", registry.host);
    let file = written("hyperconverged.yaml", importing(&[&url]));
    let settings = written("registries.yaml", "registries: [quay.io]\n");
    let words = format!("{subcommand} -f {file} --arch amd64=1,arm64=1");
    run(&words);
    let unlisted = run(&format!("{words} --images --settings {settings}"));
    unlisted.notes("were not checked: the setting registries does not list the host.");
    assert_eq!(registry.paths(), [""; 0]);
    run(&format!("{words} --images"));
    assert_eq!(registry.paths(), ["/v2/", "/v2/a/manifests/1"]);
}

/// The annotation does not prove what an unreadable image supports.
#[test]
fn an_unreadable_image_is_unknown() {
    let registry = with(&[]);
    let url = format!("docker://{}/a:1", registry.host);
    let text = manifest(&[template("template-0", Some("arm64"), &url)]);
    let words = format!("-f {} --arch amd64=1,arm64=1", written("hco.yaml", text));
    for (more, row) in [
        ("", "template-0 ✘ not imported ✔ expected"),
        ("--images", "template-0 ✘ not imported ? unknown"),
    ] {
        let text = run(&format!("check {words} {more}")).stdout;
        let line = text.lines().find(|line| line.starts_with("  template-0"));
        let line: Vec<&str> = line.unwrap().split_whitespace().collect();
        assert_eq!(line.join(" "), row);
    }
    let warning =
        "hco.yaml:5: [image-unreadable] The image of template `template-0` cannot be read (";
    let fix = format!("fix {words} --images");
    assert_eq!(run(&fix).stderr.matches(warning).count(), 1);
    let quiet = run(&format!("{fix} --quiet")).stderr;
    assert!(!quiet.contains("image-unreadable"), "{quiet}");
}

/// The annotation is compared with the image, and corrected in the file.
#[test]
#[ignore = "needs docker-registry: make e2e-registry"]
fn the_annotation_is_compared_with_the_image() {
    let registry = TestRegistry::start(&json!({}));
    let single = registry.push_single("amd64-only", Some("1"), "amd64", OCI);
    single.unwrap();
    registry.push_oci_index("all").unwrap();
    let url = |name: &str| format!("docker://{}/{name}:1", registry.host());
    let templates = ["all", "amd64-only"];
    let text = manifest(&templates.map(|name| template(name, Some("amd64,arm64"), &url(name))));
    let directory = scratch();
    let file = directory.join("hyperconverged.yaml");
    std::fs::write(&file, &text).unwrap();
    let words = "-f hyperconverged.yaml --arch amd64=3,arm64=2";
    run_in(&directory, &format!("check {words}")).exits(0);
    let [check, fix] = ["check", "fix"].map(|it| format!("{it} {words} --images"));
    let lines = [
        "all                         ✔ image has amd64  ✔ image has arm64",
        "amd64-only                  ✔ image has amd64  ✘ not imported",
        "✘ deny  image-architectures-mismatch",
        "1 object: 1 denial, 1 warning; 1 fixable: `hco-preflight fix` with the same files and options",
    ];
    shows_at(&registry, &directory, &check, &lines).exits(1);
    let line = "note: hyperconverged.yaml:1: set the annotation to the architectures of the image";
    shows_at(&registry, &directory, &fix, &[line]).exits(1);
    run_in(&directory, &format!("{fix} --write"));
    let fixed = std::fs::read_to_string(&file).unwrap();
    assert!(fixed.contains(r#"dict.architectures":"amd64"}"#), "{fixed}");
    run_in(&directory, &check).exits(0);
}

/// Texts of a registry and of a manifest are escaped.
#[rstest]
fn strings_of_a_registry_are_escaped(#[values("text", "json")] format: &str) {
    let forged = super::outputs::FORGED;
    let registry = ScriptedRegistry::answering(move |request| {
        let index = json!({"schemaVersion": 2, "manifests": [{
            "mediaType": "", "digest": "", "size": 1,
            "platform": {"os": "linux", "architecture": format!("arm{forged}")},
        }]});
        let error = json!({"errors": [{"code": forged, "message": forged}]});
        match request.path.as_str() {
            "/v2/" => response(200, ""),
            path if path.contains("index") => response(200, &index.to_string()),
            _ => response(500, &error.to_string()),
        }
    });
    let url = |name: &str| format!("docker://{}/{name}", registry.host);
    let templates = [
        template(forged, None, &url("index")),
        template("b", None, &url("error")),
        template("c", None, &format!("docker://{forged}")),
    ];
    let file = written("hyperconverged.yaml", manifest(&templates));
    let words = ["images", "-o", format, "-f", &file, forged];
    super::outputs::nothing_is_raw(&run_of(command(), words).exits(2));
}

/// A registry that has these images for arm64, and no other.
fn with(paths: &'static [&'static str]) -> ScriptedRegistry {
    ScriptedRegistry::answering(move |request| match &*request.path {
        path if path.ends_with("/v2/") => response(200, ""),
        path if paths.contains(&path) || path.contains("/sha256:") => response(200, &arm64(path)),
        _ => response(404, ""),
    })
}

#[test]
fn the_table_has_the_architectures_of_each_image() {
    let source = with(&["/v2/disks/fedora/manifests/1"]);
    let images = ["fedora", "debian"].map(|name| format!("{}/disks/{name}:1", source.host));
    let mut run = run(&format!("images {}", images.join(" ")));
    for text in [&mut run.stdout, &mut run.stderr] {
        *text = text.replace(&source.host, "SOURCE");
    }
    reviewed("images", "images", &run);
}
