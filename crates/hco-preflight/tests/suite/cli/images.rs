//! `images`, and the look-ups of `--images`, with a real registry: Debian's docker-registry.

use std::path::Path;

use super::objects::object;
use e2e_tests::{
    DockerRegistry, OCI, ScriptedRegistry, TestRegistry, arm64, certificate, response,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::transcripts::{compare, shown};
use super::{Run, command, run, run_in, run_of, scratch, written};

/// Compares the output of a run with a transcript. The address of the registry differs from run to run.
#[track_caller]
fn compare_at(registry: &TestRegistry, name: &str, words: &str, run: &Run) {
    let shown = shown(words, run).replace(&registry.host(), "registry.test:1");
    compare(&format!("images-{name}"), &shown);
}

/// Runs command lines in a directory, and compares the outputs.
#[track_caller]
fn compare_all(registry: &TestRegistry, directory: &Path, rows: &[(&str, &str)]) {
    for (name, words) in rows {
        let actual = words.replace("registry.test:1", &registry.host());
        compare_at(registry, name, words, &run_in(directory, &actual));
    }
}

/// A golden image in a registry.
fn template(name: &str, architectures: Option<&str>, url: &str) -> Value {
    json!({
        "metadata": {"name": name, "annotations": architectures.map(|it| json!({"ssp.kubevirt.io/dict.architectures": it}))},
        "spec": {
            "schedule": "0 */12 * * *", "managedDataSource": name,
            "template": {"spec": {"storage": {"resources": {"requests": {"storage": "10Gi"}}}, "source": {"registry": {"url": url}}}},
        },
    })
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
    registry.push_oci_index("containerdisks/fedora").unwrap();
    registry.push_docker_list("containerdisks/alpine").unwrap();
    let single = registry.push_single("old", Some("7"), "amd64", OCI);
    single.unwrap();
    // The contents of an image's index, and the images in the registry.
    registry.push_sparse_index("sparse").unwrap();
    registry.push_contradicting_index("contradicting").unwrap();
    registry.push_bootc("bootc").unwrap();
    compare_all(
        &registry,
        &scratch(),
        &[
            (
                "text",
                "images registry.test:1/containerdisks/fedora:1 docker://registry.test:1/containerdisks/alpine:1 registry.test:1/old:7",
            ),
            (
                "errors",
                "images registry.test:1/old:7 registry.test:1/old:8 NOT/AN/IMAGE",
            ),
            (
                "json",
                "images registry.test:1/old:7 registry.test:1/old:8 -o json",
            ),
            (
                "promises-text",
                "images registry.test:1/sparse:1 registry.test:1/contradicting:1 registry.test:1/bootc:1 -o text",
            ),
            (
                "promises-json",
                "images registry.test:1/sparse:1 registry.test:1/contradicting:1 registry.test:1/bootc:1 -o json",
            ),
        ],
    );
}

/// CDI imports one digest for all architectures, and the stream is in the cluster.
#[test]
fn image_streams_are_noted() {
    let stream = r#"{"imageStream":"fedora","pullMethod":"node"}"#;
    let images = |urls: &[&str]| {
        let text = importing(urls).replace(r#"{"url":"x"}"#, stream);
        run(&format!(
            "images -f {}",
            written("hyperconverged.yaml", text)
        ))
    };
    let note = "templates with an image stream (CDI imports one digest of it for all architectures) are not read: `template-1`";
    images(&["docker://127.0.0.1:1/a:1", "x"]).notes(note);
    // A cluster without access to registries can have only image streams.
    let alone = images(&["x"]).exits(0).notes("not read: `template-0`");
    assert!(
        !alone.stderr.contains("error") && alone.stdout.is_empty(),
        "{alone:?}"
    );
}

#[test]
#[ignore = "needs docker-registry: make e2e-registry"]
fn the_images_of_templates_are_printed() {
    let registry = TestRegistry::start(&json!({}));
    registry.push_oci_index("fedora").unwrap();
    let url = format!("docker://{}/fedora:1", registry.host());
    let urls = [&*url, &url, "docker://NOT AN IMAGE", "oci-archive:///x"];
    // A VM's boot disk can come from an image that is not a golden image, here by a DataVolume.
    let volumes = json!([{"name": "root", "dataVolume": {"name": "root"}}]);
    let machine = json!({"spec": {"template": {"spec": {"volumes": volumes}}}});
    let machine = object("VirtualMachine", "shop/web", machine);
    let source = json!({"spec": {"source": {"registry": {"url": url}}}});
    let volume = object("DataVolume", "shop/root", source);
    let text = format!("{}\n---\n{machine}\n---\n{volume}\n", importing(&urls));
    let directory = scratch();
    std::fs::write(directory.join("hyperconverged.yaml"), text).unwrap();
    compare_all(
        &registry,
        &directory,
        &[("templates", "images -f hyperconverged.yaml")],
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
    let tls =
        json!({"certificate": written("certificate", &certificate), "key": written("key", &key)});
    let mut config = DockerRegistry::with_password(&directory).unwrap();
    config["storage"] = json!({"filesystem": {"rootdirectory": images.data()}});
    config["http"] = json!({"tls": tls});
    let registry = TestRegistry::start(&config);
    let authority = json!({registry.host(): [{"type": "Data", "data": certificate}]});
    let sources = json!({"source_authorities": authority}).to_string();
    let sources = written("sources.yml", sources);
    let credentials = r#"echo '{"ServerURL":"x","Username":"user","Secret":"secret"}'"#;
    helper(&directory, "good", credentials);
    let empty = "echo credentials not found in native keychain; exit 1";
    helper(&directory, "empty", empty);
    helper(
        &directory,
        "broken",
        r"printf 'the keyring is locked\033[2J'; exit 1",
    );
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
    let mut all = String::new();
    for (name, file, is_read) in [
        ("none", json!({}), false),
        ("right", json!({"auths": {host: right}}), true),
        ("wrong", json!({"auths": {host: wrong}}), false),
        (
            "helper",
            json!({"credHelpers": {host: "good"}, "auths": {host: wrong}}),
            true,
        ),
        (
            "store",
            json!({"credsStore": "good", "auths": {host: {}}}),
            true,
        ),
        ("empty_store", json!({"credsStore": "empty"}), false),
        (
            "broken_helper",
            json!({"credHelpers": {host: "broken"}}),
            false,
        ),
        ("chatty_helper", json!({"credsStore": "chatty"}), false),
        ("no_helper", json!({"credsStore": "of-nobody"}), false),
        (
            "identity_token",
            json!({"auths": {host: {"identitytoken": "x"}}}),
            false,
        ),
    ] {
        let file_of_docker = directory.join("config.json");
        std::fs::write(&file_of_docker, file.to_string()).unwrap();
        let run = read("DOCKER_CONFIG", &directory);
        assert_eq!(run.code == 0, is_read, "{name}: {run:?}");
        if !is_read {
            all = all + name + "\n  " + &run.stderr;
        }
        // Podman's file takes precedence over docker's.
        let file_of_podman = directory.join("auth.json");
        std::fs::rename(&file_of_docker, &file_of_podman).unwrap();
        let run = read("REGISTRY_AUTH_FILE", &file_of_podman);
        assert_eq!(run.code == 0, is_read, "{name}: {run:?}");
    }
    let all = all.replace(&*directory.display().to_string(), "DIR");
    compare("images-credentials", &all.replace(host, "registry.test:1"));
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
    let template = |name: &str, architectures: &str| {
        format!(
            "  - metadata: {{name: {name}, annotations: {{ssp.kubevirt.io/dict.architectures: \"{architectures}\"}}}}\n    spec: {{schedule: 0 */12 * * *, managedDataSource: {name}, template: {{spec: {{storage: {{resources: {{requests: {{storage: 10Gi}}}}}}, source: {{registry: {{url: \"docker://{}/{name}:1\"}}}}}}}}}}\n",
            registry.host()
        )
    };
    let text = format!(
        "apiVersion: hco.kubevirt.io/v1beta1\nkind: HyperConverged\nmetadata: {{name: kubevirt-hyperconverged, namespace: kubevirt-hyperconverged}}\nspec:\n  featureGates: {{enableMultiArchBootImageImport: true}}\n  dataImportCronTemplates:\n{}{}",
        template("all", "amd64,arm64"),
        template("amd64-only", "amd64,arm64")
    );
    let directory = scratch();
    let file = directory.join("hyperconverged.yaml");
    std::fs::write(&file, &text).unwrap();
    let words = "-f hyperconverged.yaml --arch amd64=3,arm64=2";
    run_in(&directory, &format!("check {words}")).exits(0);
    let [check, fix] = ["check", "fix"].map(|it| format!("{it} {words} --images"));
    let rows = [("compared-check", &*check), ("compared-fix", &fix)];
    compare_all(&registry, &directory, &rows);
    run_in(&directory, &format!("{fix} --write"));
    let fixed = std::fs::read_to_string(&file).unwrap();
    assert!(fixed.ends_with(&template("amd64-only", "amd64")), "{fixed}");
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
    let words = [
        "images", "--color", "never", "-o", format, "-f", &file, forged,
    ];
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
fn an_image_is_looked_up_in_its_mirror_first() {
    let mirror = with(&["/v2/quay/disks/fedora/manifests/1"]);
    let source = with(&[
        "/v2/disks/fedora/manifests/1",
        "/v2/disks/centos/manifests/1",
    ]);
    let images = ["fedora", "centos", "debian"];
    let images = images.map(|name| format!("{}/disks/{name}:1", source.host));
    let words = format!("images {} --mirror", images.join(" "));
    let by_flag = run(&format!("{words} {}={}/quay", source.host, mirror.host));
    let shown = shown("images", &by_flag).replace(&mirror.host, "MIRROR");
    compare("images-mirror", &shown.replace(&source.host, "SOURCE"));
    let asked = source.paths();
    let fedora = "/v2/disks/fedora/manifests/1".to_owned();
    assert!(!asked.contains(&fedora), "the mirror has it: {asked:?}");

    for (mirror, error) in [
        ("quay.io=http://a.test", "remove http:// or https://"),
        ("https://quay.io=a.test", "remove http:// or https://"),
        (
            "quay.io",
            "the format is, for example, quay.io=mirror.example.com/quay",
        ),
    ] {
        run(&format!("{words} {mirror}")).notes(error);
    }
}

#[test]
fn the_mirror_that_answered_is_in_the_json() {
    let mirror = with(&["/v2/fedora/manifests/1"]);
    let image = "quay.invalid/disks/fedora:1";
    let flag = format!("--mirror quay.invalid/disks={}", mirror.host);
    let document = run(&format!("images {image} -o json {flag}")).json();
    let found = &document["images"][0];
    assert_eq!(found["image"], image);
    assert_eq!(found["mirror"], format!("{}/fedora:1", mirror.host));
    assert_eq!(found["architectures"], json!(["arm64"]));
}
