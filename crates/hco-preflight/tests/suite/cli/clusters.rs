//! `check` on several clusters.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Output;
use std::sync::{Arc, Barrier};

use rstest::{Context, rstest};
use serde_json::{Value, json};

use super::deployed::{policy, with_policies};
use super::{command, compare, files, scratch, shown};
use e2e_tests::{ApiServer, recorded};

/// A kubeconfig with a context for each of these, in this order; the first is the current one.
fn kubeconfig(name: &str, contexts: &[(&str, String)]) -> PathBuf {
    let of = |(name, address): &(&str, String)| {
        (
            json!({"name": name, "cluster": {"server": format!("http://{address}")}}),
            json!({"name": name, "context": {"cluster": name, "user": "admin"}}),
        )
    };
    let (clusters, contexts): (Vec<Value>, Vec<Value>) = contexts.iter().map(of).unzip();
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": contexts[0]["name"],
        "clusters": clusters,
        "contexts": contexts,
        "users": [{"name": "admin", "user": {"token": "admin"}}],
    });
    let path = scratch(name).join("kubeconfig");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    path
}

/// A cluster that denies its object, one whose policy only reports, and one where nobody listens.
struct Fleet {
    east: ApiServer,
    west: ApiServer,
    gone: String,
    kubeconfig: PathBuf,
}

impl Fleet {
    fn start(name: &str) -> Self {
        let (east, west) = (
            ApiServer::start(recorded()),
            ApiServer::start(with_policies(&[policy("a", "monitor", json!({}))])),
        );
        // Nobody but root could listen there.
        let gone = "127.0.0.1:1".to_owned();
        let kubeconfig = kubeconfig(
            name,
            &[
                ("east", east.address()),
                ("gone", gone.clone()),
                ("west/admin", west.address()),
            ],
        );
        Self {
            east,
            west,
            gone,
            kubeconfig,
        }
    }

    fn run(&self, words: &str) -> Output {
        let mut command = command();
        command.env("KUBECONFIG", &self.kubeconfig);
        command.args(words.split_whitespace()).output().unwrap()
    }

    fn shown(&self, words: &str, output: &Output) -> String {
        shown(words, output)
            .replace(&self.east.address(), "EAST")
            .replace(&self.west.address(), "WEST")
            .replace(&self.gone, "GONE")
    }

    fn json(&self, words: &str) -> Value {
        let output = self.run(words);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[rstest]
#[case::text("check --cluster --all-contexts", 2)]
#[case::of_a_file("check -f other.yaml --cluster --context east --context west/admin", 0)]
#[case::markdown("check --cluster --all-contexts -o markdown -q", 2)]
#[case::junit("check --cluster --all-contexts -o junit -q", 2)]
#[case::github("check --cluster --all-contexts -o github -q", 2)]
fn each_cluster_has_its_verdicts(
    #[case] words: &str,
    #[case] code: i32,
    #[context] context: Context,
) {
    let name = context.description.unwrap();
    let fleet = Fleet::start(&format!("clusters-{name}"));
    let output = fleet.run(words);
    compare(&format!("clusters-{name}"), &fleet.shown(words, &output));
    assert_eq!(output.status.code(), Some(code));
}

#[test]
fn each_cluster_is_in_the_json_with_its_own_policy() {
    let fleet = Fleet::start("clusters-json");
    let document =
        fleet.json("check -f broken.yaml -f denied.yaml --cluster --all-contexts -o json");
    let clusters = document["clusters"].as_array().unwrap();
    let contexts: Vec<&Value> = clusters
        .iter()
        .map(|it| &it["cluster"]["context"])
        .collect();
    assert_eq!(contexts, ["east", "gone", "west/admin"]);
    let policies: Vec<&Value> = clusters
        .iter()
        .filter_map(|it| it.pointer("/objects/0/policy"))
        .collect();
    assert_eq!(policies[0], &Value::Null);
    assert_eq!(policies[1]["name"], "a");
    // The one that cannot be reached does not stop the others.
    assert_eq!(clusters[1]["objects"], json!([]));
    assert!(clusters[1]["errors"][0]["what"].is_string());
    // What is about a file is not about a cluster.
    assert_eq!(document["errors"][0]["file"], "broken.yaml");
    assert_eq!(clusters[0]["errors"], json!([]));
    let schema = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/preflight.schema.json"
    );
    let schema = serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
    assert!(jsonschema::is_valid(&schema, &document), "{document:#}");
}

/// The same finding on two clusters is two findings.
#[rstest]
#[case::gitlab("gitlab", "/0/fingerprint", "/1/fingerprint")]
#[case::sarif(
    "sarif",
    "/runs/0/results/0/partialFingerprints",
    "/runs/0/results/1/partialFingerprints"
)]
fn nothing_is_taken_for_the_same_on_two_clusters(
    #[case] format: &str,
    #[case] first: &str,
    #[case] second: &str,
) {
    let (one, two) = (ApiServer::start(recorded()), ApiServer::start(recorded()));
    let contexts = [("one", one.address()), ("two", two.address())];
    let kubeconfig = kubeconfig(&format!("clusters-same-{format}"), &contexts);
    let both = |contexts: [&str; 2]| {
        let mut check = command();
        check.env("KUBECONFIG", &kubeconfig);
        check.args(["check", "--cluster", "-o", format]);
        check.args(contexts.map(|it| format!("--context={it}")));
        let document: Value = serde_json::from_slice(&check.output().unwrap().stdout).unwrap();
        [first, second].map(|it| document.pointer(it).unwrap().clone())
    };
    let [one, two] = both(["one", "two"]);
    assert_ne!(one, two);
    // Nor does it depend on their order.
    assert_eq!(both(["two", "one"]), [two, one]);
}

/// A command that is pasted must not change the cluster of another context.
#[test]
fn the_commands_of_a_fix_name_the_cluster() {
    let (one, two) = (ApiServer::start(recorded()), ApiServer::start(recorded()));
    let contexts = [("a one", one.address()), ("two", two.address())];
    let kubeconfig = kubeconfig("clusters-commands", &contexts);
    let new = kubeconfig.with_file_name("new.yaml");
    let denied = std::fs::read_to_string(files().join("denied.yaml")).unwrap();
    let named = denied.replacen("name: kubevirt-hyperconverged", "name: new", 1);
    std::fs::write(&new, named).unwrap();
    let text = |flags: &[&str]| {
        let mut check = command();
        check.env("KUBECONFIG", &kubeconfig);
        check.args(["check", "-q", "--cluster", "-f"]).arg(&new);
        check.args(flags);
        String::from_utf8(check.output().unwrap().stdout).unwrap()
    };
    let patch = "patch hyperconvergeds.v1beta1.hco.kubevirt.io new";
    let all = text(&["--all-contexts"]);
    for context in ["'a one'", "two"] {
        let command = format!("kubectl --context {context} {patch}");
        assert!(all.contains(&command), "{all}");
    }
    let path = kubeconfig.to_str().unwrap();
    let named = text(&["--context", "two", "--kubeconfig", path]);
    let patched = format!("kubectl --context two --kubeconfig {path} {patch}");
    assert!(named.contains(&patched), "{named}");
    let json = text(&["--context", "two", "-o", "json"]);
    let document: Value = serde_json::from_str(&json).unwrap();
    let remedies = document.pointer("/objects/0/findings/0/remedies").unwrap();
    let commands = remedies.as_array().unwrap().iter().map(|it| &it["command"]);
    let commands: Vec<&str> = commands.filter_map(Value::as_str).collect();
    let starts = |it: &&str| it.starts_with("kubectl --context two patch");
    assert!(
        !commands.is_empty() && commands.iter().all(starts),
        "{json}"
    );
    let mut check = command();
    check.env("KUBECONFIG", &kubeconfig);
    check.args([
        "check",
        "-f",
        "undecodable.yaml",
        "--cluster",
        "--context",
        "two",
    ]);
    let unreadable = String::from_utf8(check.output().unwrap().stdout).unwrap();
    assert!(
        unreadable.contains("kubectl --context two explain "),
        "{unreadable}"
    );
    // kubectl asks the same cluster then.
    let current = text(&[]);
    assert!(current.contains(&format!("kubectl {patch}")), "{current}");
}

/// OpenShift's `oc project` makes a context for each namespace.
#[test]
fn of_contexts_with_the_same_cluster_and_user_one_is_checked() {
    let server = ApiServer::start(recorded());
    let path = kubeconfig("clusters-projects", &[("b", server.address())]);
    let text = std::fs::read(&path).unwrap();
    let mut file: Value = serde_json::from_slice(&text).unwrap();
    let contexts = file["contexts"].as_array_mut().unwrap();
    let mut other = contexts[0].clone();
    other["name"] = json!("a");
    other["context"]["namespace"] = json!("elsewhere");
    contexts.insert(0, other);
    std::fs::write(&path, file.to_string()).unwrap();
    let mut check = command();
    check.env("KUBECONFIG", &path);
    let output = check
        .args(["check", "--cluster", "--all-contexts"])
        .output();
    let output = output.unwrap();
    let notes = String::from_utf8(output.stderr).unwrap();
    let note = "skipped the context `a`: it has the cluster and the user of `b`";
    assert!(notes.contains(note), "{notes}");
    let verdicts = String::from_utf8(output.stdout).unwrap();
    assert!(verdicts.ends_with("\n1 cluster: denied\n"), "{verdicts}");
}

#[rstest]
#[case::another_command(
    "fix -f other.yaml --cluster --context east --context gone",
    "the argument '--context <NAME>' cannot be used multiple times"
)]
#[case::a_token(
    "check --cluster --all-contexts --token secret",
    "--token cannot be used with several contexts"
)]
#[case::a_server(
    "check --cluster --context east --context gone --server http://127.0.0.1:1",
    "--server cannot be used with several contexts"
)]
#[case::both("check --cluster --all-contexts --context east", "cannot be used with")]
#[case::no_cluster(
    "check -f other.yaml --arch amd64=1 --all-contexts",
    "--all-contexts requires --cluster"
)]
fn what_is_for_one_cluster_is_refused(#[case] words: &str, #[case] wanted: &str) {
    let fleet = Fleet::start(&format!("clusters-refused-{}", wanted.len()));
    let output = fleet.run(words);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(wanted), "{error}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fleet.east.asked(), [""; 0], "{words}");
}

#[test]
fn one_context_named_twice_is_one_cluster() {
    let fleet = Fleet::start("clusters-twice");
    let document = fleet.json("check --cluster --context east --context east -o json");
    assert_eq!(document["cluster"]["context"], "east");
    assert_eq!(document.get("clusters"), None);
}

#[test]
fn a_cluster_without_an_object_is_accepted_if_it_may_be_empty() {
    let mut answers = recorded();
    let list = "GET /apis/hco.kubevirt.io/v1/hyperconvergeds";
    let list = answers.iter_mut().find(|it| it["request"] == list).unwrap();
    list["body"]["items"] = json!([]);
    let server = ApiServer::start(answers);
    let contexts = [("one", server.address()), ("two", server.address())];
    let kubeconfig = kubeconfig("clusters-empty", &contexts);
    let run = |more: &[&str]| {
        let mut check = command();
        check.env("KUBECONFIG", &kubeconfig);
        check.args(["check", "--cluster", "--all-contexts"]);
        check.args(more).output().unwrap().status.code()
    };
    assert_eq!(run(&[]), Some(2));
    assert_eq!(run(&["--allow-empty"]), Some(0));
}

/// Each server answers when the other one was asked.
#[test]
fn clusters_are_asked_at_the_same_time() {
    let both = Arc::new(Barrier::new(2));
    let server = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let both = Arc::clone(&both);
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            both.wait();
            let answer = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer.as_bytes()).unwrap();
        });
        address
    };
    let kubeconfig = kubeconfig("clusters-parallel", &[("a", server()), ("b", server())]);
    let mut check = command();
    check.env("KUBECONFIG", kubeconfig);
    let words = "check --cluster --all-contexts --request-timeout 20s -o json";
    let output = check.args(words.split_whitespace()).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let clusters = document["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 2);
    for cluster in clusters {
        let what = cluster["errors"][0]["what"].as_str().unwrap();
        assert!(
            what.contains("rejects the credentials of the user `"),
            "{what}"
        );
    }
}

#[test]
#[cfg(unix)]
fn a_login_that_hangs_does_not_stop_the_other_clusters() {
    let server = ApiServer::start(recorded());
    let path = kubeconfig(
        "clusters-hanging-login",
        &[("bad", server.address()), ("good", server.address())],
    );
    let mut kubeconfig: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    kubeconfig["users"].as_array_mut().unwrap().push(json!({
        "name": "hangs",
        "user": {"exec": {"command": "tail", "args": ["-f", "/dev/null"], "interactiveMode": "Never"}},
    }));
    kubeconfig["contexts"][0]["context"]["user"] = json!("hangs");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let mut command = command();
    command.env("KUBECONFIG", &path).args([
        "check",
        "--cluster",
        "--all-contexts",
        "--request-timeout=2s",
        "-ojson",
        "-q",
    ]);
    let document = command.output().unwrap().stdout;
    let document: Value = serde_json::from_slice(&document).unwrap();
    let [bad, good] = [0, 1].map(|index| &document["clusters"][index]);
    let error = bad["errors"][0]["what"].as_str().unwrap();
    assert!(
        error.contains("its command `tail` did not end in time"),
        "{error}"
    );
    assert_eq!(good["objects"][0]["allowed"], json!(false));
}
