//! `--cluster`, against an API server that replays recorded answers.

use std::net::{Ipv4Addr, TcpListener};

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{
    CRONS, answer, cluster as with_objects, edited, hyperconverged, list, objects, template,
};
use super::{Run, command, run, run_of, run_on, scratch, written};
use e2e_tests::{ApiServer, recorded};

const HYPERCONVERGEDS: &str = "/apis/hco.kubevirt.io/v1/hyperconvergeds";

/// The kubeconfig of a server, with another value.
fn kubeconfig(server: &ApiServer, pointer: &str, value: impl Into<Value>) -> String {
    let text = std::fs::read(server.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_json::from_slice(&text).unwrap();
    *kubeconfig.pointer_mut(pointer).unwrap() = value.into();
    written("kubeconfig", kubeconfig.to_string())
}

const SERVER: &str = "/clusters/0/cluster/server";

/// The run of a check with another kubeconfig.
fn check_with(kubeconfig: &str) -> Run {
    run(&format!(
        "check -f other.yaml --cluster --kubeconfig {kubeconfig}"
    ))
}

/// The kubeconfig of a server, with the credentials that this script prints.
fn with_login(server: &ApiServer, script: &str) -> String {
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
        "command": "sh", "args": ["-c", script],
    });
    kubeconfig(server, "/users/0/user", json!({"exec": exec}))
}

/// Credentials from a command, as clusters of cloud providers use them. It may ask for a one-time password, so each poll of a
/// wait uses its credentials until they expire. The wait ends when the DataImportCrons exist.
#[rstest]
#[case("2999-01-01T00:00:00Z", false)]
#[case("2000-01-01T00:00:00Z", true)]
fn a_command_logs_in_again_when_its_credentials_expire(#[case] end: &str, #[case] again: bool) {
    let none = answer(CRONS, 200, list([Value::Null; 0]));
    let once = vec![edited(&none, &json!({"/times": 1}))];
    let server = [once, with_objects(&objects("status-ready.yaml"))].concat();
    let server = ApiServer::start(server);
    let log = scratch().join("log");
    let credentials = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"token": "admin", "expirationTimestamp": end},
    });
    let script = format!("echo >>{}; echo '{credentials}'", log.display());
    let kubeconfig = with_login(&server, &script);
    let words = format!("check --cluster --wait 10m --kubeconfig {kubeconfig}");
    run(&words).exits(0);
    assert_eq!(std::fs::read(&log).unwrap().len() > 1, again);
    let asked = server.asked();
    let number = |path: &str| asked.iter().filter(|asked| asked.contains(path)).count();
    assert_eq!(
        [number("dataimportcrons"), number("/apis/policies")],
        [2, 2]
    );
}

#[test]
fn a_command_that_fails_is_reported() {
    let server = ApiServer::start(recorded());
    for (script, how) in [
        ("echo secret; exit 3", "ended with exit status: 3"),
        ("echo '{secret: ['", "did not print credentials"),
    ] {
        let run = check_with(&with_login(&server, script)).exits(2);
        let error = format!(
            "error: logging in with the kubeconfig failed: its command {how}; log in again, and check with `kubectl get nodes`\n"
        );
        assert_eq!(run.stderr, error);
    }
}

/// Not to this machine either, as in kubectl.
#[test]
fn credentials_that_are_not_sent_are_mentioned() {
    let server = ApiServer::start(recorded());
    let note = "note: no credentials are sent, because the address of the API server begins with http://; use https://\n";
    for (scheme, code) in [("http", 2), ("https", 0)] {
        let address = format!("{scheme}://{}", server.address());
        let run = check_with(&kubeconfig(&server, SERVER, address)).exits(code);
        assert_eq!(run.stderr.contains(note), code == 2, "{run:?}");
    }
}

#[test]
fn a_password_in_an_address_is_not_printed() {
    let server = ApiServer::start(recorded());
    let address = format!("https://bob:SECRET@{}", server.address());
    let path = kubeconfig(&server, SERVER, &*address);
    let check = format!("check -f denied.yaml --cluster --kubeconfig {path}");
    for (words, wanted) in [
        (&*check, "API server https://***@127"),
        (&format!("{check} -o json"), "\"https://***@127"),
        (&format!("{check} -o markdown"), "https://***@127"),
        ("images https://bob:SECRET@a.test/x:1", "***@"),
        (
            "check -f https://bob:SECRET@a.test/x.yaml --arch amd64=1",
            "***@",
        ),
    ] {
        let run = run(words);
        let printed = run.stdout + &run.stderr;
        assert!(printed.contains(wanted), "{words}: {printed}");
        assert!(!printed.contains("SECRET"), "{words}: {printed}");
    }
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let server = ApiServer::start(recorded());
    for (scheme, wanted) in [
        (
            "http",
            "cannot be reached through the proxy http://***@127.0.0.1:1/: ",
        ),
        (
            "ftp",
            "configured proxy ftp://***@127.0.0.1:1/ uses an unsupported protocol; correct `proxy-url` in the kubeconfig, or HTTPS_PROXY",
        ),
    ] {
        let proxy = format!("{scheme}://bob:SECRET@127.0.0.1:1");
        let address = format!("https://{}", server.address());
        let cluster = json!({"server": address, "proxy-url": proxy});
        let run = check_with(&kubeconfig(&server, "/clusters/0/cluster", cluster));
        assert!(!run.notes(wanted).stderr.contains("SECRET"));
    }
}

/// The client requests a tunnel through the proxy, which refuses it.
#[test]
fn the_proxy_of_the_environment_is_used_but_for_exceptions() {
    let (server, proxy) = (ApiServer::start(recorded()), ApiServer::start(Vec::new()));
    // Without a scheme it is http, as in kubectl.
    let through = |url: &str, exceptions: &str| {
        let path = kubeconfig(&server, SERVER, url);
        let mut check = command();
        check.env("HTTPS_PROXY", proxy.address());
        check.env("NO_PROXY", exceptions);
        let words = format!("check -f other.yaml --cluster --kubeconfig {path}");
        run_of(check, words.split(' ')).code
    };
    let local = format!("https://{}", server.address());
    assert_eq!(through(&local, ""), 0);
    // This address is this machine, where no server uses TLS. Only NO_PROXY excludes it.
    let here = server.address().replace("127.0.0.1", "https://0.0.0.0");
    assert_eq!(through(&here, "10.0.0.0/8,0.0.0.0"), 2);
    assert_eq!(proxy.asked(), [""; 0]);
    assert_eq!(through("https://api.test:6443", ""), 2);
    assert_eq!(proxy.asked()[0], "CONNECT api.test:6443");
}

/// The admin may impersonate any user.
#[test]
fn a_user_is_impersonated() {
    let mut answers = recorded();
    for answer in &mut answers {
        if answer["as"] == "limited" {
            answer["as"] = json!("jane");
        }
    }
    let none = answer(HYPERCONVERGEDS, 200, json!({"items": []}));
    answers.push(edited(&none, &json!({"/as": "jane"})));
    let words = "check --cluster --as jane -f other.yaml";
    run_on(&ApiServer::start(answers), words).exits(2).shows(&[
        "note: using the context `admin`, as the user `jane`; API server https://[..]",
        "error: you are not allowed to list nodes: nodes is forbidden: User \"limited\" cannot list resource \"nodes\"[..]",
    ]);
}

/// The server only listens.
#[test]
fn a_request_that_takes_too_long_is_an_error() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = ApiServer::at(silent.local_addr().unwrap());
    let words = "check --cluster --request-timeout 1ms";
    let error = "did not complete the request to get /apis/hco.kubevirt.io within 1ms; ";
    run_on(&server, words).exits(2).notes(error);
    run_on(&server, &format!("{words} -f live.yaml"))
        .exits(2)
        .notes(error);
}

#[test]
fn a_namespace_limits_what_is_listed() {
    let in_namespace = |namespace: &str| {
        HYPERCONVERGEDS.replace("/hyper", &format!("/namespaces/{namespace}/hyper"))
    };
    let all = format!("GET {HYPERCONVERGEDS}");
    let list = recorded()
        .into_iter()
        .find(|answer| answer["request"] == all);
    let own = answer(
        &in_namespace("kubevirt-hyperconverged"),
        200,
        list.unwrap()["body"].take(),
    );
    let none = answer(&in_namespace("other"), 200, json!({"items": []}));
    let server = ApiServer::start([vec![own, none], recorded()].concat());
    run_on(&server, "check --cluster -n kubevirt-hyperconverged").exits(1);
    run_on(&server, "check --cluster -n other").exits(2).shows(&[
        "error: there is no HyperConverged in the namespace `other`; specify a manifest with -f",
    ]);
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
    let old = written("old.json", live.to_string());
    let placement = json!({"nodePlacement": {"nodeSelector": {"a": "b"}}});
    for (how, flag) in [
        ("--cluster", "-f"),
        (&*format!("--arch amd64=3 --old {old}"), "--old"),
    ] {
        let note = format!(
            "hco.json:1: the change affects nothing that the policy checks, so existing problems are not listed; to list them, run this without {flag}\n"
        );
        let other = json!({"/spec/dataImportCronTemplates": [], "/spec/workloads": placement});
        for (edits, is_same) in [
            (json!({}), true),
            (json!({"/spec/defaultCPUModel": "Haswell"}), true),
            (other, false),
        ] {
            let file = written("hco.json", edited(&live, &edits).to_string());
            let run = run_on(&server, &format!("check -f {file} {how}"));
            let number = run.stderr.matches("nothing that the policy").count();
            assert_eq!(number, usize::from(is_same), "{edits}: {run:?}");
            assert_eq!(run.stderr.contains(&note), is_same, "{edits}: {run:?}");
        }
    }
}

/// The import was enabled by `kubectl patch`, and is not in the file: `kubectl apply` leaves it enabled.
#[test]
fn what_others_set_stays_where_the_file_is_applied() {
    let server = ApiServer::start(with_live(|live| {
        live["spec"]["featureGates"]["enableMultiArchBootImageImport"] = json!(true);
        live["spec"]["dataImportCronTemplates"] = json!([]);
    }));
    for (how, code) in [("", 0), ("--as-if apply", 0), ("--as-if replace", 1)] {
        let words = format!("check -f accepted-live.yaml --cluster {how}");
        run_on(&server, &words).exits(code);
    }
}

/// A manifest in Git has no status. With the printed settings, a change of a template that OpenShift ships is accepted as
/// in the cluster.
#[test]
fn the_settings_of_a_cluster_are_printed_for_manifests_without_a_status() {
    let spec = |schedule: &str| {
        let registry = json!({"imageStream": "rhel9-guest", "pullMethod": "node"});
        let template = template("rhel9", None, "");
        let edits =
            json!({"/spec/schedule": schedule, "/spec/template/spec/source/registry": registry});
        edited(&template, &edits)["spec"].clone()
    };
    let common = |name: &str, modified: bool| {
        json!({
            "metadata": {"name": name, "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64"}},
            "spec": spec("0 */12 * * *"),
            "status": {"commonTemplate": true, "modified": modified, "originalSupportedArchitectures": "amd64,arm64,s390x"},
        })
    };
    let live = hyperconverged(json!({"status": {
        "versions": [{"name": "operator", "version": "1.19.2"}],
        "dataImportCronTemplates": [common("rhel9-image-cron", false), common("rhel8-image-cron", true)],
    }}));
    let cluster = written("live.json", live.to_string());
    let settings = run(&format!("settings --from {cluster}")).exits(0);
    let settings = settings.notes("rhel8-image-cron: left out");
    let printed: Value = yaml_serde::from_str(&settings.stdout).unwrap();
    let registry = json!({"imageStream": "rhel9-guest", "pullMethod": "node"});
    let expected = json!({"source": {"registry": registry}, "architectures": "amd64,arm64,s390x"});
    assert_eq!(
        printed["commonTemplates"],
        json!({"rhel9-image-cron": expected})
    );
    assert_eq!(printed["hcoVersion"], "1.19");
    let path = written("settings.yaml", &settings.stdout);
    let manifest = hyperconverged(json!({"spec": {
        "featureGates": {"enableMultiArchBootImageImport": true},
        "dataImportCronTemplates": [{"metadata": {"name": "rhel9-image-cron"}, "spec": spec("0 1 * * *")}],
    }}));
    let manifest = written("hco.yaml", manifest.to_string());
    let words = format!("check -f {manifest} --arch amd64=3,arm64=2");
    run(&words).exits(1);
    run(&format!("{words} --settings {path}")).exits(0);
}

/// A template of OpenShift, which only the status of the live object names, needs no annotation. The file has no
/// status, or a status that is not sent.
#[rstest]
fn the_live_status_stays(#[values("apply", "replace")] as_if: &str) {
    let url = "docker://registry.redhat.io/rhel9/rhel-guest-image";
    let mut rhel9 = template("rhel9-image-cron", Some("amd64,arm64"), url);
    let file = hyperconverged(json!({"spec": {
        "featureGates": {"enableMultiArchBootImageImport": true},
        "dataImportCronTemplates": [{"metadata": {"name": "rhel9-image-cron"}, "spec": rhel9["spec"]}],
    }}));
    rhel9["status"] =
        json!({"commonTemplate": true, "originalSupportedArchitectures": "amd64,arm64,s390x"});
    let status = json!({"dataImportCronTemplates": [rhel9]});
    let with_status = edited(&file, &json!({"/status": status}));
    for (file, live, code) in [(file, status, 0), (with_status, Value::Null, 1)] {
        let path = written("hco.yaml", file.to_string());
        let server = ApiServer::start(with_live(|object| object["status"] = live));
        let words = format!("check --cluster --as-if {as_if} -f {path}");
        run_on(&server, &words).exits(code);
    }
}

#[test]
fn who_may_read_one_namespace_is_told_how_to_name_it() {
    let body = json!({"message": "hyperconvergeds.hco.kubevirt.io is forbidden"});
    let list = answer(&format!("{HYPERCONVERGEDS}*"), 403, body);
    let list = edited(&list, &json!({"/as": "limited"}));
    let server = ApiServer::start([recorded(), vec![list]].concat());
    let hint = "; if you may read only one namespace, specify it with -n";
    run_on(&server, "check --cluster --context limited")
        .exits(2)
        .notes(hint);
}
