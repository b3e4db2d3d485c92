//! `--cluster`, against an API server that replays recorded answers.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::{command, command_on, compare, scratch, shown};
use e2e_tests::{ApiServer, recorded};

/// Runs a command line against the recorded cluster. Its address differs from run to run.
fn run(server: &ApiServer, words: &str) -> (String, i32) {
    let output = command_on(server).args(words.split_whitespace()).output();
    let output = output.unwrap();
    let shown = shown(words, &output).replace(&server.address(), "SERVER");
    (shown, output.status.code().unwrap())
}

#[rstest]
#[case::live_objects("check --cluster", 1)]
#[case::live_objects_in_json("check --cluster -o json", 1)]
#[case::live_objects_in_junit("check --cluster -o junit", 1)]
#[case::live_objects_in_github("check --cluster -o github", 1)]
#[case::live_objects_in_markdown("check --cluster -o markdown", 1)]
#[case::what_if("check --cluster --what-if riscv64=2", 1)]
#[case::live_is_old("check -f live.yaml --cluster", 0)]
#[case::old_beats_live("check -f denied.yaml --old old.yaml --cluster", 0)]
#[case::new_object("check -f other.yaml --cluster", 0)]
#[case::another_context("check -f other.yaml --cluster --context limited", 2)]
#[case::wrong_credentials("check -f other.yaml --cluster --context wrong", 2)]
#[case::no_such_context("check --cluster --context nowhere", 2)]
fn the_output_is_as_reviewed(#[case] words: &str, #[case] code: i32, #[context] context: Context) {
    let server = ApiServer::start(recorded());
    let (shown, ended) = run(&server, words);
    compare(&format!("cluster-{}", context.description.unwrap()), &shown);
    assert_eq!(ended, code, "{shown}");
}

#[test]
fn without_a_kubeconfig_the_error_says_what_to_do() {
    let output = super::run("check --cluster");
    compare("cluster-no-kubeconfig", &shown("check --cluster", &output));
    assert_eq!(output.status.code(), Some(2));
}

/// The kubeconfig of a server, changed.
fn kubeconfig(server: &ApiServer, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = std::fs::read(server.kubeconfig()).unwrap();
    let mut kubeconfig = serde_json::from_slice(&text).unwrap();
    change(&mut kubeconfig);
    let path = scratch(name).join("kubeconfig");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    path
}

/// The error with another kubeconfig.
fn check_with(kubeconfig: &Path) -> Command {
    let mut check = command();
    check.args(["check", "-f", "other.yaml", "--cluster", "--kubeconfig"]);
    check.arg(kubeconfig);
    check
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Credentials from a command, as clusters of cloud providers use them.
#[cfg(unix)]
#[rstest]
#[case::taken(
    r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"admin"}}'"#,
    None
)]
#[case::failed(
    "echo secret; exit 3",
    Some(
        "error: logging in with the kubeconfig failed: its command `sh` ended with exit status: 3; log in again, and check with `kubectl get nodes`\n"
    )
)]
#[case::garbage(
    "echo '{secret: ['",
    Some(
        "error: logging in with the kubeconfig failed: its command `sh` did not print credentials; log in again, and check with `kubectl get nodes`\n"
    )
)]
fn a_command_logs_in(
    #[case] script: &str,
    #[case] error: Option<&str>,
    #[context] context: Context,
) {
    let server = ApiServer::start(recorded());
    let name = format!("exec-{}", context.description.unwrap());
    let path = kubeconfig(&server, &name, |kubeconfig| {
        kubeconfig["users"][0]["user"] = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "sh",
            "args": ["-c", script],
            "interactiveMode": "Never",
        }});
    });
    let output = check_with(&path).output().unwrap();
    match error {
        None => assert_eq!(output.status.code(), Some(0), "{output:?}"),
        Some(error) => assert_eq!(text(&output.stderr), error),
    }
}

/// Not to this machine either, as in kubectl.
#[test]
fn credentials_that_are_not_sent_are_mentioned() {
    let server = ApiServer::start(recorded());
    let note = "note: no credentials are sent, because the address of the API server begins with http://; use https://\n";
    let with = |name: &str, scheme: &str| {
        let path = kubeconfig(&server, name, |kubeconfig| {
            let address = format!("{scheme}://{}", server.address());
            kubeconfig["clusters"][0]["cluster"]["server"] = json!(address);
        });
        let output = check_with(&path).output().unwrap();
        (text(&output.stderr).contains(note), output.status.code())
    };
    assert_eq!(with("withheld", "http"), (true, Some(2)));
    assert_eq!(with("not-withheld", "https"), (false, Some(0)));
}

#[test]
fn a_password_in_an_address_is_not_printed() {
    let server = ApiServer::start(recorded());
    let address = format!("https://bob:SECRET@{}", server.address());
    let path = kubeconfig(&server, "password", |kubeconfig| {
        kubeconfig["clusters"][0]["cluster"]["server"] = json!(address);
    });
    let path = path.to_str().unwrap();
    let file = "-f denied.yaml --cluster --kubeconfig";
    for (words, wanted) in [
        (format!("check {file} {path}"), "API server https://127"),
        (format!("check {file} {path} -o json"), "\"https://127"),
        (format!("check {file} {path} -o markdown"), "https://127"),
        (
            format!("fix --cluster --kubeconfig {path} -s {address} -o commands"),
            " --server ",
        ),
        (
            "images https://bob:SECRET@127.0.0.1:1/x:1".to_owned(),
            "***@",
        ),
        (
            "images --mirror quay.io/x=http://bob:SECRET@127.0.0.1:1 a".to_owned(),
            "***@",
        ),
        (
            "check -f https://bob:SECRET@127.0.0.1/x.yaml --arch amd64=1".to_owned(),
            "***@",
        ),
    ] {
        let output = command().args(words.split(' ')).output().unwrap();
        let printed = [text(&output.stdout), text(&output.stderr)].concat();
        assert!(printed.contains(wanted), "{words}: {printed}");
        assert!(!printed.contains("SECRET"), "{words}: {printed}");
    }
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let server = ApiServer::start(recorded());
    for (proxy, wanted) in [
        (
            "http://bob:SECRET@127.0.0.1:1",
            "cannot be reached through the proxy http://127.0.0.1:1/: ",
        ),
        (
            "ftp://bob:SECRET@127.0.0.1:1",
            "the protocol of the proxy ftp://127.0.0.1:1/ is not supported",
        ),
    ] {
        let path = kubeconfig(&server, "dead-proxy", |kubeconfig| {
            kubeconfig["clusters"][0]["cluster"]["proxy-url"] = json!(proxy);
        });
        let output = check_with(&path).output().unwrap();
        let error = text(&output.stderr);
        assert!(error.contains(wanted), "{error}");
        assert!(!error.contains("SECRET"), "{error}");
    }
}

/// As in kubectl, an unset variable counts as a missing flag.
#[test]
fn an_empty_flag_is_none() {
    let server = ApiServer::start(recorded());
    let flags = [
        "-n",
        "",
        "--context",
        "",
        "--token",
        "",
        "--as",
        "",
        "--as-group",
        "",
        "--user",
        "",
        "--server",
        "",
    ];
    let check = |flags: &[&str]| {
        let mut check = check_with(server.kubeconfig());
        let output = check.args(flags).output().unwrap();
        (output.status.code(), text(&output.stderr).to_owned())
    };
    let wanted = check(&[]);
    assert_eq!(wanted.0, Some(0), "{wanted:?}");
    assert_eq!(check(&flags), wanted);
}

/// The command may ask for a one-time password.
#[test]
fn a_command_logs_in_once() {
    let server = ApiServer::start(recorded());
    let log = scratch("exec-once").join("log");
    let script = format!(
        "echo >>{}; echo '{{status: {{token: t, expirationTimestamp: \"2999-01-01T00:00:00Z\"}}}}'",
        log.display()
    );
    let path = kubeconfig(&server, "exec-once", |kubeconfig| {
        kubeconfig["users"][0]["user"] = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "sh",
            "args": ["-c", script],
        }});
    });
    check_with(&path).output().unwrap();
    assert_eq!(std::fs::read(&log).unwrap().len(), 1);
}

/// The client requests a tunnel through the proxy, which refuses it.
#[test]
fn the_proxy_of_the_environment_is_used_but_for_exceptions() {
    let (server, proxy) = (ApiServer::start(recorded()), ApiServer::start(Vec::new()));
    // Without a scheme it is http, as in kubectl.
    let through = |name: &str, url: &str, variables: &[(&str, &str)]| {
        let path = kubeconfig(&server, name, |kubeconfig| {
            kubeconfig["clusters"][0]["cluster"]["server"] = json!(url);
        });
        let mut check = check_with(&path);
        check.env("HTTPS_PROXY", proxy.address());
        check.envs(variables.iter().copied());
        check.output().unwrap().status.code()
    };
    let local = format!("https://{}", server.address());
    assert_eq!(through("proxy-local", &local, &[]), Some(0));
    // This address is this machine, where no server uses TLS. Only NO_PROXY excludes it.
    let here = server.address().replace("127.0.0.1", "https://0.0.0.0");
    let exception = [("NO_PROXY", "10.0.0.0/8,0.0.0.0")];
    assert_eq!(through("proxy-exception", &here, &exception), Some(2));
    assert_eq!(proxy.asked(), [""; 0]);
    assert_eq!(through("proxy-used", "https://api.test:6443", &[]), Some(2));
    assert_eq!(proxy.asked()[0], "CONNECT api.test:6443");
}

/// The admin may impersonate any user.
#[test]
fn a_user_and_groups_are_impersonated() {
    let mut answers = recorded();
    for answer in &mut answers {
        if answer["as"] == "limited" {
            answer["as"] = json!("jane/ops/dev");
        }
    }
    let server = ApiServer::start(answers);
    let words = "check --cluster --as jane --as-group ops --as-group dev -f other.yaml";
    let (shown, code) = run(&server, words);
    compare("cluster-impersonated", &shown);
    assert_eq!(code, 2);
}

/// The server only listens.
#[test]
fn a_request_that_takes_too_long_is_an_error() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = ApiServer::at(silent.local_addr().unwrap());
    let (shown, code) = run(&server, "check --cluster --request-timeout 1ms");
    compare("cluster-timed-out", &shown);
    assert_eq!(code, 2);
    // The command requests only the first object.
    let words = "check --cluster --request-timeout 1ms -f live.yaml -f other.yaml";
    let (of_files, code) = run(&server, words);
    assert!(
        of_files.contains("to get hyperconvergeds.hco.kubevirt.io within"),
        "{of_files}"
    );
    assert_eq!(code, 2);
}

#[test]
fn a_namespace_limits_what_is_listed() {
    let mut answers = recorded();
    let all = "GET /apis/hco.kubevirt.io/v1/hyperconvergeds";
    let list = answers.iter_mut().find(|answer| answer["request"] == all);
    let of_namespace = all.replace("/hyper", "/namespaces/kubevirt-hyperconverged/hyper");
    list.unwrap()["request"] = json!(of_namespace);
    answers.push(json!({
        "as": "admin",
        "request": all.replace("/hyper", "/namespaces/other/hyper"),
        "status": 200,
        "body": {"items": []},
    }));
    let server = ApiServer::start(answers);
    assert_eq!(
        run(&server, "check --cluster -n kubevirt-hyperconverged").1,
        1
    );
    let (shown, code) = run(&server, "check --cluster -n other");
    compare("cluster-empty-namespace", &shown);
    assert_eq!(code, 2);
}

/// `kubectl apply -n` does the same.
#[test]
fn a_namespace_is_that_of_objects_without_one_and_not_of_others() {
    let server = ApiServer::start(recorded());
    let (shown, code) = run(
        &server,
        "check --cluster -n elsewhere -f other.yaml -f old.yaml",
    );
    compare("cluster-namespaces", &shown);
    assert_eq!(code, 2);
}

/// The recorded cluster, with another live object.
pub(super) fn with_live(change: impl FnOnce(&mut Value)) -> Vec<Value> {
    let mut answers = recorded();
    let live = answers.iter_mut().find(|answer| {
        let request = answer["request"].as_str().unwrap_or_default();
        answer["status"] == 200 && request.contains("/v1beta1/namespaces/")
    });
    change(&mut live.unwrap()["body"]);
    answers
}

/// The policy does not evaluate an update that changes nothing, so its verdict says nothing about the object.
#[test]
fn an_update_that_changes_nothing_lists_no_problems() {
    let mut live = Value::Null;
    let server = ApiServer::start(with_live(|it| live = it.clone()));
    let file = scratch("unchanged").join("hco.json");
    let checked = |object: &Value, how: &str| {
        std::fs::write(&file, object.to_string()).unwrap();
        run(&server, &format!("check -f {} {how}", file.display())).0
    };
    for how in ["--cluster", "--arch amd64=3 --old"] {
        let flag = if how == "--cluster" { "-f" } else { "--old" };
        let note = format!(
            "hco.json:1: nothing that the policy checks changes, so existing problems are not listed; to list them, run this without {flag}\n"
        );
        let old = scratch("unchanged").join("old.json");
        std::fs::write(&old, live.to_string()).unwrap();
        let how = how.replace("--old", &format!("--old {}", old.display()));
        let same = checked(&live, &how);
        assert!(same.contains(&note), "{same}");
        let mut other = live.clone();
        other["spec"]["defaultCPUModel"] = json!("Haswell");
        let other = checked(&other, &how);
        assert!(other.contains(&note), "{other}");
        let mut other = live.clone();
        other["spec"]["dataImportCronTemplates"] = json!([]);
        other["spec"]["workloads"] = json!({"nodePlacement": {"nodeSelector": {"a": "b"}}});
        let other = checked(&other, &how);
        assert!(!other.contains("nothing that the policy"), "{other}");
    }
}

/// The import was enabled by `kubectl patch`, and is not in the file: `kubectl apply` leaves it enabled.
#[test]
fn what_others_set_stays_where_the_file_is_applied() {
    let server = ApiServer::start(with_live(|live| {
        live["spec"]["featureGates"]["enableMultiArchBootImageImport"] = json!(true);
        live["spec"]["dataImportCronTemplates"] = json!([]);
    }));
    let code = |more: &str| {
        let mut check = command_on(&server);
        check.args(["check", "-f", "accepted-live.yaml", "--cluster"]);
        let output = check.args(more.split_whitespace()).output().unwrap();
        output.status.code()
    };
    assert_eq!(code(""), Some(0));
    assert_eq!(code("--as-if apply"), Some(0));
    assert_eq!(code("--as-if replace"), Some(1));
}

/// A template of OpenShift, which only the status of the live object names, needs no annotation. The file has no
/// status, or a status that is not sent.
#[rstest]
fn the_live_status_stays(#[values("apply", "replace")] as_if: &str) {
    let spec = json!({"schedule": "0 */12 * * *", "managedDataSource": "rhel9", "template": {"spec": {"storage": {"resources": {"requests": {"storage": "10Gi"}}}, "source": {"registry": {"url": "docker://registry.redhat.io/rhel9/rhel-guest-image"}}}}});
    let status = json!({"dataImportCronTemplates": [{
        "metadata": {"name": "rhel9-image-cron", "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64,arm64"}},
        "spec": spec,
        "status": {"commonTemplate": true, "originalSupportedArchitectures": "amd64,arm64,s390x"},
    }]});
    let mut file = json!({
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
        "spec": {
            "featureGates": {"enableMultiArchBootImageImport": true},
            "dataImportCronTemplates": [{"metadata": {"name": "rhel9-image-cron"}, "spec": spec}],
        },
    });
    let path = scratch(&format!("live-status-{as_if}")).join("hco.yaml");
    let code = |file: &Value, server: &ApiServer| {
        std::fs::write(&path, file.to_string()).unwrap();
        let mut check = command_on(server);
        check.args(["check", "--cluster", "--as-if", as_if, "-f"]);
        check.arg(&path).output().unwrap().status.code()
    };
    let named = ApiServer::start(with_live(|live| live["status"] = status.clone()));
    assert_eq!(code(&file, &named), Some(0));
    let unnamed = ApiServer::start(with_live(|live| {
        live.as_object_mut().unwrap().remove("status");
    }));
    file["status"] = status;
    assert_eq!(code(&file, &unnamed), Some(1));
}

/// As in kubectl, the user can select another user of the kubeconfig, or use a token.
#[test]
fn the_server_and_who_asks_can_be_named() {
    let server = ApiServer::start(recorded());
    let check = |words: &[&str]| {
        let mut check = command_on(&server);
        check
            .args(["check", "-f", "other.yaml", "--cluster"])
            .args(words);
        let output = check.output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let of_admin = "the cluster has no HyperConverged";
    let of_limited = "you are not allowed to";
    assert!(check(&["--user", "limited"]).contains(of_limited));
    assert!(check(&["--token", "limited"]).contains(of_limited));
    assert!(check(&["--context", "limited", "--token", "admin"]).contains(of_admin));
    let nowhere = check(&["--server", "https://127.0.0.1:1"]);
    assert!(
        nowhere.contains("the API server https://127.0.0.1:1/ cannot be reached"),
        "{nowhere}"
    );
}

#[test]
fn who_may_read_one_namespace_is_told_how_to_name_it() {
    let mut answers = recorded();
    answers.push(json!({
        "as": "limited",
        "request": "GET /apis/hco.kubevirt.io/v1/hyperconvergeds*",
        "status": 403,
        "body": {"message": "hyperconvergeds.hco.kubevirt.io is forbidden"},
    }));
    let server = ApiServer::start(answers);
    let (shown, code) = run(&server, "check --cluster --context limited");
    let hint = "; if you may read only one namespace, specify it with -n";
    assert!(shown.contains(hint), "{shown}");
    assert_eq!(code, 2);
}
