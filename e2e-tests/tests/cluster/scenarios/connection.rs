//! Scenario 12: hco-preflight connects to the cluster like kubectl, and finds the policies in it.

use std::io::{BufRead as _, BufReader, Write as _, copy};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

use crate::world::World;

pub(crate) fn run(world: &World<'_>) {
    world.set_nodes("amd64");
    world.creates(&json!({}));
    kubeconfigs(world);
    credentials(world);
    proxies(world);
    policies(world);
}

/// hco-preflight reaches the cluster if and only if kubectl does.
#[track_caller]
fn both(world: &World<'_>, flags: &[&str], variables: &[(&str, &str)], reach_it: bool) {
    let run = |words: &[&str]| world.admin.run_with(&[words, flags].concat(), variables);
    let kubectl = run(&["get", "nodes"]);
    let preflight = run(&["hco-preflight", "check", "--cluster", "--allow-unread"]);
    // A problem of the cluster is exit code 1.
    for (output, codes) in [(kubectl, 0..1), (preflight, 0..2)] {
        let reached = output.code.is_some_and(|code| codes.contains(&code));
        assert_eq!(reached, reach_it, "{flags:?} {variables:?}: {output:?}");
    }
}

/// A kubeconfig that differs from the administrator's.
pub(super) fn kubeconfig(world: &World<'_>, name: &str, change: impl FnOnce(&mut Value)) {
    let view = ["config", "view", "--raw", "-o", "json"];
    let mut kubeconfig = serde_json::from_str(&world.admin.run(&view).stdout).expect("JSON");
    change(&mut kubeconfig);
    world.admin.file(name, &kubeconfig.to_string());
}

fn kubeconfigs(world: &World<'_>) {
    kubeconfig(world, "renamed", |kubeconfig| {
        kubeconfig["contexts"][0]["name"] = json!("other");
        kubeconfig["current-context"] = json!("other");
    });
    world.admin.file("broken", "{");
    both(world, &["--kubeconfig", "renamed"], &[], true);
    both(world, &["--context", "other"], &[], false);
    both(world, &["--kubeconfig", "missing"], &[], false);
    both(world, &[], &[("KUBECONFIG", "missing:renamed")], true);
    both(world, &[], &[("KUBECONFIG", "broken:renamed")], false);
    both(world, &["--request-timeout", "1m"], &[], true);

    let check = ["hco-preflight", "check", "--cluster"];
    let renamed = [&check[..], &["--kubeconfig", "renamed"]].concat();
    let note = format!(
        "note: using the context `other`; API server {}/\n",
        world.api().server
    );
    assert!(world.admin.run(&renamed).stderr.starts_with(&note));

    let elsewhere = world.admin.run(&[&check[..], &["-n", "default"]].concat());
    let error = "error: there is no HyperConverged in the namespace `default`; specify a manifest with -f\n";
    assert!(elsewhere.stderr.ends_with(error), "{elsewhere:?}");
    assert_eq!(elsewhere.code, Some(2));
}

fn credentials(world: &World<'_>) {
    both(world, &["--as", "developer"], &[], false);
    let login = |name: &str, is_right: bool| {
        kubeconfig(world, name, |kubeconfig| {
            let user = &mut kubeconfig["users"][0]["user"];
            let token = if is_right {
                user["token"].clone()
            } else {
                json!("wrong")
            };
            let credential = json!({
                "apiVersion": "client.authentication.k8s.io/v1",
                "kind": "ExecCredential",
                "status": {"token": token},
            });
            *user = json!({"exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "sh",
                "args": ["-c", format!("echo '{credential}'")],
                "interactiveMode": "Never",
            }});
        });
        both(world, &["--kubeconfig", name], &[], is_right);
    };
    login("login", true);
    login("wrong-login", false);
}

fn proxies(world: &World<'_>) {
    let server = world.api().server.replace("https://", "");
    let proxy = proxy_to(&server);
    let nobody = ("HTTPS_PROXY", "127.0.0.1:1");
    // No client uses a proxy for this machine.
    both(world, &[], &[nobody], true);
    // This is the same machine, but kubectl and hco-preflight do not detect that.
    kubeconfig(world, "here", |kubeconfig| {
        let cluster = &mut kubeconfig["clusters"][0]["cluster"];
        cluster["server"] = json!(world.api().server.replace("127.0.0.1", "0.0.0.0"));
        cluster["tls-server-name"] = json!("localhost");
    });
    both(world, &["--kubeconfig", "here"], &[nobody], false);
    let exception = ("NO_PROXY", "10.0.0.0/8,0.0.0.0");
    both(world, &["--kubeconfig", "here"], &[nobody, exception], true);
    // Only the proxy can resolve this name.
    kubeconfig(world, "far", |kubeconfig| {
        let cluster = &mut kubeconfig["clusters"][0]["cluster"];
        cluster["server"] = json!("https://cluster.test:6443");
        cluster["tls-server-name"] = json!("localhost");
    });
    let through = [("HTTPS_PROXY", proxy.as_str())];
    both(world, &["--kubeconfig", "far"], &through, true);
    // The proxy of the kubeconfig takes precedence.
    kubeconfig(world, "own", |kubeconfig| {
        let cluster = &mut kubeconfig["clusters"][0]["cluster"];
        cluster["server"] = json!("https://cluster.test:6443");
        cluster["tls-server-name"] = json!("localhost");
        cluster["proxy-url"] = json!(proxy);
    });
    both(world, &["--kubeconfig", "own"], &[nobody], true);
}

/// A proxy that connects to this server, regardless of the request. It stops with the process.
fn proxy_to(server: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = server.to_owned();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = server.clone();
            // If a connection breaks, the client handles it.
            thread::spawn(move || tunnel(client, &server));
        }
    });
    format!("http://{address}")
}

fn tunnel(mut client: TcpStream, server: &str) -> std::io::Result<()> {
    let mut head = BufReader::new(client.try_clone()?);
    let mut line = String::new();
    while head.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut server = TcpStream::connect(server)?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || copy(&mut answers, &mut back));
    copy(&mut head, &mut server).map(drop)
}

/// The settings of the policies in the cluster: without Kubewarden, with policies, and for a user who cannot list them.
fn policies(world: &World<'_>) {
    world.set_nodes("mixed");
    let mut object = world.hyperconverged(&json!({}));
    object["metadata"]["name"] = json!("new");
    for user in [&world.admin, &world.developer] {
        user.file("new.yaml", &object.to_string());
    }
    let check = ["hco-preflight", "check", "-f", "new.yaml", "--cluster"];
    let output = world.developer.run(&check);
    let note = "note: using the default settings: Kubewarden is not installed in the cluster; use --settings to specify other settings\n";
    assert!(output.stderr.contains(note), "{output:?}");
    assert_eq!(output.code, Some(1), "{output:?}");

    serve_policies(world);
    let create = |name: &str, mode: &str, settings: Value| {
        let policy = json!({
            "apiVersion": "policies.kubewarden.io/v1",
            "kind": "ClusterAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "module": "registry://mirror.test:5000/kubewarden/hco-architecture-guard:v0.1.0",
                "mode": mode,
                "rules": [{"resources": ["hyperconvergeds"]}],
                "settings": settings,
            },
        });
        let path = "/apis/policies.kubewarden.io/v1/clusteradmissionpolicies";
        world.api().must("POST", path, Some(&policy));
    };
    create("everywhere", "monitor", json!({}));
    let output = world.admin.run(&check);
    let by = "\n  by ClusterAdmissionPolicy everywhere (mode monitor: the cluster would only report a denial)\n";
    assert!(output.stdout.contains(by), "{output:?}");
    assert_eq!(output.code, Some(1), "{output:?}");

    let settings = json!({"levels": {"multi-arch-import-disabled": "warn"}});
    create("here", "protect", settings);
    let output = world.admin.run(&check);
    let by = "\n  by ClusterAdmissionPolicy here (mode protect)\n";
    assert!(output.stdout.contains(by), "{output:?}");
    assert_eq!(output.code, Some(0), "{output:?}");

    let output = world.developer.run(&check);
    let note = "note: using the default settings: you are not allowed to list clusteradmissionpolicies.policies.kubewarden.io: ";
    assert!(output.stderr.contains(note), "{output:?}");
}

/// Serves a definition of Kubewarden's resource. Scenario 8 uses Kubewarden's own CRDs.
fn serve_policies(world: &World<'_>) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusteradmissionpolicies.policies.kubewarden.io"},
        "spec": {
            "group": "policies.kubewarden.io",
            "names": {"kind": "ClusterAdmissionPolicy", "plural": "clusteradmissionpolicies"},
            "scope": "Cluster",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    });
    world.serves(&definition);
}
