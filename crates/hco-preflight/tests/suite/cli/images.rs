//! `images`, and the look-ups of `--images`, with a real registry: Debian's docker-registry.

use std::io::Write as _;
use std::path::Path;
use std::process::Output;

use e2e_tests::{DockerRegistry, OCI, ScriptedRegistry, arm64, certificate, response};
use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::{check, command, compare, scratch, shown};
use e2e_tests::TestRegistry;

/// Replaces the parts of the output that differ in each run, with the same number of characters.
fn anywhere(shown: &str, registry: &TestRegistry) -> String {
    shown.replace(&registry.host(), "registry.test:1")
}

/// A manifest with templates that import from these URLs.
fn manifest(urls: &[String]) -> String {
    let template = |(index, url): (usize, &String)| {
        json!({
            "metadata": {"name": format!("template-{index}")},
            "spec": {"schedule": "0 */12 * * *", "managedDataSource": format!("template-{index}"), "template": {"spec": {"storage": {"resources": {"requests": {"storage": "10Gi"}}}, "source": {"registry": {"url": url}}}}},
        })
    };
    let templates: Vec<Value> = urls.iter().enumerate().map(template).collect();
    format!(
        "apiVersion: hco.kubevirt.io/v1beta1\nkind: HyperConverged\nmetadata: {{name: kubevirt-hyperconverged, namespace: kubevirt-hyperconverged}}\nspec:\n  dataImportCronTemplates: {}\n",
        Value::from(templates)
    )
}

/// The output of a run for images in a registry.
fn images(registry: &TestRegistry, words: &str) -> Output {
    let mut command = command();
    command.arg("images");
    let words = words.replace("registry.test:1", &registry.host());
    command.args(words.split_whitespace()).output().unwrap()
}

#[test]
#[ignore = "needs docker-registry: make e2e-registry"]
fn images_are_printed_with_their_annotation() {
    let registry = TestRegistry::start(&json!({}));
    registry.push_oci_index("containerdisks/fedora").unwrap();
    registry.push_docker_list("containerdisks/alpine").unwrap();
    let single = registry.push_single("old", Some("7"), "amd64", OCI);
    single.unwrap();
    for (name, words, code) in [
        (
            "text",
            "registry.test:1/containerdisks/fedora:1 docker://registry.test:1/containerdisks/alpine:1 registry.test:1/old:7",
            0,
        ),
        (
            "errors",
            "registry.test:1/old:7 registry.test:1/old:8 NOT/AN/IMAGE",
            2,
        ),
        (
            "json",
            "registry.test:1/old:7 registry.test:1/old:8 -o json",
            2,
        ),
    ] {
        let output = images(&registry, words);
        let shown = shown(&format!("images {words}"), &output);
        compare(&format!("images-{name}"), &anywhere(&shown, &registry));
        assert_eq!(output.status.code(), Some(code));
    }
}

/// The contents of an image's index, and the images in the registry.
#[test]
#[ignore = "needs docker-registry: make e2e-registry"]
fn each_architecture_of_an_image_is_read() {
    let registry = TestRegistry::start(&json!({}));
    registry.push_sparse_index("sparse").unwrap();
    registry.push_contradicting_index("contradicting").unwrap();
    registry.push_bootc("bootc").unwrap();
    for format in ["text", "json"] {
        let words = format!(
            "registry.test:1/sparse:1 registry.test:1/contradicting:1 registry.test:1/bootc:1 -o {format}"
        );
        let output = images(&registry, &words);
        let shown = shown(&format!("images {words}"), &output);
        compare(
            &format!("images-promises-{format}"),
            &anywhere(&shown, &registry),
        );
        assert_eq!(output.status.code(), Some(0));
    }
}

/// CDI imports one digest for all architectures, and the stream is in the cluster.
#[test]
fn image_streams_are_noted() {
    let file = scratch("images-streams").join("hyperconverged.yaml");
    let text = manifest(&["docker://127.0.0.1:1/a:1".to_owned(), "x".to_owned()]);
    let stream = r#"{"imageStream":"fedora","pullMethod":"node"}"#;
    std::fs::write(&file, text.replace(r#"{"url":"x"}"#, stream)).unwrap();
    let output = command().args(["images", "-f"]).arg(&file).output();
    let notes = String::from_utf8(output.unwrap().stderr).unwrap();
    let note = "templates with an image stream are not read: `template-1`; CDI imports one digest of the stream for all architectures";
    assert!(notes.contains(note), "{notes}");

    // A cluster without access to registries can have only image streams.
    let alone = manifest(&["x".to_owned()]).replace(r#"{"url":"x"}"#, stream);
    std::fs::write(&file, alone).unwrap();
    let output = command()
        .args(["images", "-f"])
        .arg(&file)
        .output()
        .unwrap();
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("not read: `template-0`"), "{notes}");
    assert!(!notes.contains("error"), "{notes}");
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b""[..]));
}

#[test]
#[ignore = "needs docker-registry: make e2e-registry"]
fn the_images_of_templates_are_printed() {
    let registry = TestRegistry::start(&json!({}));
    registry.push_oci_index("fedora").unwrap();
    let url = format!("docker://{}/fedora:1", registry.host());
    let urls = [
        url.clone(),
        url,
        "docker://NOT AN IMAGE".to_owned(),
        "oci-archive:///x".to_owned(),
    ];
    let file = scratch("images-of-templates").join("hyperconverged.yaml");
    // A VM's boot disk can come from an image that is not a golden image, here by a DataVolume.
    let machine = format!(
        "---\napiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {{name: web, namespace: shop}}\nspec:\n  template:\n    spec:\n      volumes: [{{name: root, dataVolume: {{name: root}}}}]\n---\napiVersion: cdi.kubevirt.io/v1beta1\nkind: DataVolume\nmetadata: {{name: root, namespace: shop}}\nspec: {{source: {{registry: {{url: \"docker://{}/fedora:1\"}}}}}}\n",
        registry.host()
    );
    std::fs::write(&file, manifest(&urls) + &machine).unwrap();
    let mut command = command();
    let output =
        command
            .current_dir(file.parent().unwrap())
            .args(["images", "-f", "hyperconverged.yaml"]);
    let output = output.output().unwrap();
    let shown = shown("images -f hyperconverged.yaml", &output);
    compare("images-templates", &anywhere(&shown, &registry));
    assert_eq!(output.status.code(), Some(2));
}

/// A cluster whose operators use these images.
fn operators(registry: &TestRegistry) -> Value {
    let image = |name: &str| format!("{}/{name}:1", registry.host());
    let workload = |kind: &str, name: &str, pod: Value| {
        json!({
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "kubevirt-hyperconverged"},
            "spec": {"template": {"spec": pod}},
        })
    };
    let node = |name: &str, architecture: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {
                "kubernetes.io/arch": architecture,
                "node-role.kubernetes.io/worker": "",
            }},
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    json!({"apiVersion": "v1", "kind": "List", "items": [
        node("one", "amd64"),
        node("two", "arm64"),
        {
            "apiVersion": "hco.kubevirt.io/v1beta1",
            "kind": "HyperConverged",
            "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
            "spec": {},
        },
        workload("DaemonSet", "virt-handler", json!({"containers": [{"name": "a", "image": image("sparse")}]})),
        workload("Deployment", "virt-controller", json!({"containers": [
            {"name": "a", "image": image("complete"), "args": ["--launcher-image", image("single"), "--token=secret"]},
        ]})),
        workload("Deployment", "virt-api", json!({
            "nodeSelector": {"kubernetes.io/arch": "amd64"},
            "containers": [{"name": "a", "image": image("old")}],
        })),
        workload("Deployment", "virt-exportproxy", json!({
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]},
            ]}}},
            "containers": [{"name": "a", "image": image("old")}],
        })),
        {
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {"name": "kubevirt-hyperconverged-operator.v1", "namespace": "kubevirt-hyperconverged"},
            "spec": {"relatedImages": [{"name": "a", "image": image("listed")}]},
        },
    ]})
}

#[test]
#[ignore = "needs docker-registry: make e2e-registry"]
fn the_images_of_operators_are_read_with_the_nodes_on_which_they_run() {
    let registry = TestRegistry::start(&json!({}));
    registry.push_oci_index("complete").unwrap();
    registry.push_sparse_index("sparse").unwrap();
    for name in ["single", "old", "listed"] {
        registry.push_single(name, Some("1"), "amd64", OCI).unwrap();
    }
    let directory = scratch("images-operators");
    let file = directory.join("cluster.json");
    std::fs::write(&file, operators(&registry).to_string()).unwrap();
    for (name, words, code) in [
        ("all", "images --operators --from cluster.json", 1),
        (
            "amd64",
            "images --operators --from cluster.json --arch amd64",
            0,
        ),
        (
            "json",
            "images --operators --from cluster.json --arch arm64 -o json",
            1,
        ),
    ] {
        let mut command = command();
        command
            .current_dir(&directory)
            .args(words.split_whitespace());
        let output = command.output().unwrap();
        let shown = anywhere(&shown(words, &output), &registry);
        compare(&format!("images-operators-{name}"), &shown);
        assert_eq!(output.status.code(), Some(code));
    }
}

#[rstest]
#[case::nothing("images", 2)]
#[case::operators_of_nothing("images --operators", 2)]
#[case::no_templates("images -f accepted.yaml", 2)]
#[case::no_sources("images a --sources-path nowhere.yml", 2)]
#[case::help("images -h", 0)]
#[case::sources_without_images("check -f accepted.yaml --arch amd64=1 --sources-path x.yml", 2)]
fn usage(#[case] words: &str, #[case] code: i32, #[context] context: Context) {
    check(
        &format!("images-usage-{}", context.description.unwrap()),
        words,
        code,
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
    let directory = scratch("images-credentials");
    let images = TestRegistry::start(&json!({}));
    images.push_oci_index("private/fedora").unwrap();
    // No credentials are sent by HTTP.
    let (certificate, key) = certificate();
    let file = |name: &str, text: &str| {
        let file = directory.join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let mut config = DockerRegistry::with_password(&directory).unwrap();
    config["storage"] = json!({"filesystem": {"rootdirectory": images.data()}});
    config["http"] = json!({"tls": {
        "certificate": file("certificate", &certificate), "key": file("key", &key),
    }});
    let registry = TestRegistry::start(&config);
    let authority = json!({registry.host(): [{"type": "Data", "data": certificate}]});
    let sources = json!({"source_authorities": authority}).to_string();
    let sources = file("sources.yml", &sources).display().to_string();
    for (name, answer) in [
        (
            "good",
            r#"echo '{"ServerURL":"x","Username":"user","Secret":"secret"}'"#,
        ),
        (
            "empty",
            "echo credentials not found in native keychain; exit 1",
        ),
        ("broken", r"printf 'the keyring is locked\033[2J'; exit 1"),
        ("chatty", "echo my password is hunter2"),
    ] {
        helper(&directory, name, answer);
    }
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", directory.display());
    let host = &registry.host();
    let repository = format!("{host}/private");
    // The wrong credentials are `user:wrong`.
    let (right, wrong) = (
        json!({"auth": DockerRegistry::credentials()}),
        json!({"auth": "dXNlcjp3cm9uZw=="}),
    );
    let read = |variable: &str, value: &Path| {
        let mut command = command();
        command.env("PATH", &path).env(variable, value);
        command.args(["images", &format!("{host}/private/fedora:1")]);
        command.args(["--sources-path", &sources]).output().unwrap()
    };
    let mut all = String::new();
    for (name, file, is_read) in [
        ("none", json!({}), false),
        ("right", json!({"auths": {host: right}}), true),
        ("wrong", json!({"auths": {host: wrong}}), false),
        (
            "of_a_part",
            json!({"auths": {host: wrong, repository: right}}),
            true,
        ),
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
        let output = read("DOCKER_CONFIG", &directory);
        assert_eq!(output.status.success(), is_read, "{name}: {output:?}");
        if !is_read {
            let error = String::from_utf8(output.stderr).unwrap();
            all = all + name + "\n  " + &error;
        }
        // Podman's file takes precedence over docker's.
        let file_of_podman = directory.join("auth.json");
        std::fs::rename(&file_of_docker, &file_of_podman).unwrap();
        let output = read("REGISTRY_AUTH_FILE", &file_of_podman);
        assert_eq!(output.status.success(), is_read, "{name}: {output:?}");
    }
    let all = all.replace(&*directory.display().to_string(), "DIR");
    compare("images-credentials", &anywhere(&all, &registry));
}

/// The command reads the images of the templates before it calls the module.
#[rstest]
fn with_images_registries_are_asked(#[values("check", "fix")] subcommand: &str) {
    let registry = ScriptedRegistry::start(|_, to| {
        let _ = to.write_all(response(404, "").as_bytes());
    });
    let directory = scratch(&format!("images-asked-{subcommand}"));
    let file = directory.join("hyperconverged.yaml");
    std::fs::write(
        &file,
        manifest(&[format!("docker://{}/a:1", registry.host)]),
    )
    .unwrap();
    let run = |more: &[&str]| {
        let mut command = command();
        command
            .arg(subcommand)
            .arg("-f")
            .arg(&file)
            .args(["--arch", "amd64=1,arm64=1"])
            .args(more);
        command.output().unwrap()
    };
    run(&[]);
    assert_eq!(registry.paths(), [""; 0]);
    let settings = directory.join("registries.yaml");
    std::fs::write(&settings, "registries: [quay.io]\n").unwrap();
    let output = run(&["--images", "--settings", settings.to_str().unwrap()]);
    assert_eq!(registry.paths(), [""; 0], "it is not listed");
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(
        notes.contains("were not checked: the setting registries does not list the host."),
        "{notes}"
    );
    run(&["--images"]);
    assert_eq!(registry.paths(), ["/v2/", "/v2/a/manifests/1"]);
}

/// The annotation does not prove what an unreadable image supports.
#[test]
fn an_unreadable_image_is_unknown() {
    let registry = ScriptedRegistry::start(|_, to| {
        let _ = to.write_all(response(404, "").as_bytes());
    });
    let text = manifest(&[format!("docker://{}/a:1", registry.host)]).replace(
        r#"{"name":"template-0"}"#,
        r#"{"name":"template-0","annotations":{"ssp.kubevirt.io/dict.architectures":"arm64"}}"#,
    );
    let text = text.replace(
        "spec:\n",
        "spec:\n  featureGates: {enableMultiArchBootImageImport: true}\n",
    );
    let file = scratch("images-unknown").join("hyperconverged.yaml");
    std::fs::write(&file, &text).unwrap();
    let run = |words: &str| {
        let mut command = command();
        command.current_dir(file.parent().unwrap());
        let output = command.args(words.split_whitespace()).output().unwrap();
        (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let row = |text: &str| {
        let row = text.lines().find(|line| line.starts_with("  template-0"));
        row.unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let words = "-f hyperconverged.yaml --arch amd64=1,arm64=1";
    let (without, _) = run(&format!("check {words}"));
    assert_eq!(row(&without), "template-0 ✘ not imported ✔ imported");
    let (with, _) = run(&format!("check {words} --images"));
    assert_eq!(row(&with), "template-0 ✘ not imported ? unknown");
    let warning = "warning: hyperconverged.yaml:6: [image-unreadable] The image of template `template-0` cannot be read (";
    let (_, printed) = run(&format!("fix {words} --images"));
    assert_eq!(printed.matches(warning).count(), 1, "{printed}");
    let (_, printed) = run(&format!("fix {words} --images --quiet"));
    assert!(!printed.contains("image-unreadable"), "{printed}");
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
    let directory = scratch("images-compared");
    let file = directory.join("hyperconverged.yaml");
    std::fs::write(&file, &text).unwrap();
    let run = |words: &str| {
        let mut command = command();
        command.current_dir(&directory);
        command.args(words.split_whitespace()).output().unwrap()
    };
    let without = "check -f hyperconverged.yaml --arch amd64=3,arm64=2";
    assert_eq!(run(without).status.code(), Some(0));
    for (name, words, code) in [
        (
            "check",
            "check -f hyperconverged.yaml --arch amd64=3,arm64=2 --images",
            1,
        ),
        (
            "fix",
            "fix -f hyperconverged.yaml --arch amd64=3,arm64=2 --images",
            1,
        ),
    ] {
        let output = run(words);
        compare(
            &format!("images-compared-{name}"),
            &anywhere(&shown(words, &output), &registry),
        );
        assert_eq!(output.status.code(), Some(code));
    }
    run("fix -f hyperconverged.yaml --arch amd64=3,arm64=2 --images --write");
    let fixed = std::fs::read_to_string(&file).unwrap();
    let wanted = template("amd64-only", "amd64,arm64").replace("amd64,arm64", "amd64");
    assert!(fixed.ends_with(&wanted), "{fixed}");
    let again = run("check -f hyperconverged.yaml --arch amd64=3,arm64=2 --images");
    assert_eq!(again.status.code(), Some(0), "{again:?}");
}

/// Texts of a registry and of a manifest are escaped.
#[rstest]
fn strings_of_a_registry_are_escaped(#[values("text", "json")] format: &str) {
    let forged = super::outputs::FORGED;
    let registry = ScriptedRegistry::start(move |request, to| {
        let index = json!({"schemaVersion": 2, "manifests": [{
            "mediaType": "", "digest": "", "size": 1,
            "platform": {"os": "linux", "architecture": format!("arm{forged}")},
        }]});
        let answer = match request.path.as_str() {
            "/v2/" => response(200, ""),
            path if path.contains("index") => response(200, &index.to_string()),
            _ => response(
                500,
                &json!({"errors": [{"code": forged, "message": forged}]}).to_string(),
            ),
        };
        let _ = to.write_all(answer.as_bytes());
    });
    let file = scratch(&format!("images-raw-{format}")).join("hyperconverged.yaml");
    let host = &registry.host;
    let urls = [
        format!("docker://{host}/index"),
        format!("docker://{host}/error"),
        format!("docker://{forged}"),
    ];
    let text = manifest(&urls).replace("template-0", &json!(forged).to_string().replace('"', ""));
    std::fs::write(&file, text).unwrap();
    let mut command = command();
    command
        .args(["images", "--color", "never", "-o", format, "-f"])
        .arg(&file)
        .arg(forged);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    super::outputs::nothing_is_raw(&output);
}

/// A registry that has these images for arm64, and no other.
fn with(paths: &'static [&'static str]) -> ScriptedRegistry {
    ScriptedRegistry::start(move |request, to| {
        let is_ping = request.path.ends_with("/v2/");
        let is_there = paths.contains(&&*request.path) || request.path.contains("/sha256:");
        let answer = match (is_ping, is_there) {
            (true, _) => response(200, ""),
            (_, true) => response(200, &arm64(&request.path)),
            (_, false) => response(404, ""),
        };
        let _ = to.write_all(answer.as_bytes());
    })
}

#[test]
fn an_image_is_looked_up_in_its_mirror_first() {
    let mirror = with(&["/v2/quay/disks/fedora/manifests/1"]);
    let source = with(&[
        "/v2/disks/fedora/manifests/1",
        "/v2/disks/centos/manifests/1",
    ]);
    let run = |more: &[&str]| {
        let mut command = command();
        command.arg("images").args(more);
        for name in ["fedora", "centos", "debian"] {
            command.arg(format!("{}/disks/{name}:1", source.host));
        }
        let output = command.output().unwrap();
        let shown = shown("images", &output).replace(&mirror.host, "MIRROR");
        shown.replace(&source.host, "SOURCE")
    };
    let flag = format!("{}={}/quay", source.host, mirror.host);
    let by_flag = run(&["--mirror", &flag]);
    compare("images-mirror", &by_flag);
    let asked = source.paths();
    let fedora = "/v2/disks/fedora/manifests/1".to_owned();
    assert!(!asked.contains(&fedora), "the mirror has it: {asked:?}");

    for mirror in ["quay.io=http://a.test", "https://quay.io=a.test"] {
        let error = run(&["--mirror", mirror]);
        assert!(error.contains("remove http:// or https://"), "{error}");
    }
    let error = run(&["--mirror", "quay.io"]);
    assert!(
        error.contains("the format is, for example, quay.io=mirror.example.com/quay"),
        "{error}"
    );
}

#[test]
fn the_mirror_that_answered_is_in_the_json() {
    let mirror = with(&["/v2/fedora/manifests/1"]);
    let mut command = command();
    let flag = format!("quay.invalid/disks={}", mirror.host);
    command.args([
        "images",
        "quay.invalid/disks/fedora:1",
        "-o",
        "json",
        "--mirror",
        &flag,
    ]);
    let output = command.output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        document["images"][0]["image"],
        "quay.invalid/disks/fedora:1"
    );
    assert_eq!(
        document["images"][0]["mirror"],
        format!("{}/fedora:1", mirror.host)
    );
    assert_eq!(document["images"][0]["architectures"], json!(["arm64"]));
}
