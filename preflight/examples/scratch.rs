#[path = "/tmp/wt-lib/benches/nodes.rs"]
mod nodes;
use hco_preflight::*;
use saphyr_parser::{Event, Parser};
fn yaml(v: &serde_json::Value, ind: usize, out: &mut String) {
    use serde_json::Value::{Array, Object, String as Str};
    let pad = "  ".repeat(ind);
    match v {
        Object(m) => {
            for (k, v) in m {
                match v {
                    Object(x) if !x.is_empty() => {
                        out.push_str(&format!("{pad}{k}:\n"));
                        yaml(v, ind + 1, out);
                    }
                    Array(a) if !a.is_empty() => {
                        out.push_str(&format!("{pad}{k}:\n"));
                        for i in a {
                            let mut s = String::new();
                            yaml(i, ind + 1, &mut s);
                            let s = s.replacen(&format!("{pad}  "), &format!("{pad}- "), 1);
                            out.push_str(&s);
                        }
                    }
                    Str(s) => out.push_str(&format!(
                        "{pad}{k}: {}\n",
                        if s.is_empty()
                            || s == "true"
                            || s.contains(['{', '"', '['])
                            || s.parse::<f64>().is_ok()
                        {
                            format!("'{s}'")
                        } else {
                            s.clone()
                        }
                    )),
                    o => out.push_str(&format!("{pad}{k}: {o}\n")),
                }
            }
        }
        o => out.push_str(&format!("{pad}{o}\n")),
    }
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let t = std::time::Instant::now();
    match args[1].as_str() {
        "json" => {
            std::fs::write(&args[3], nodes::node_list(args[2].parse().unwrap())).unwrap();
        }
        "yaml" => {
            let list: serde_json::Value =
                serde_json::from_slice(&nodes::node_list(args[2].parse().unwrap())).unwrap();
            use std::io::Write;
            let mut f = std::io::BufWriter::new(std::fs::File::create(&args[3]).unwrap());
            writeln!(f, "apiVersion: v1\nitems:").unwrap();
            for n in list["items"].as_array().unwrap() {
                let mut n = n.clone();
                n["kind"] = "Node".into();
                n["apiVersion"] = "v1".into();
                let images: Vec<serde_json::Value> = (0..50).map(|i| serde_json::json!({"names":format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{:064x}", i*7919), "sizeBytes": 1000000+i})).collect();
                n["status"]["images"] = images.into();
                n["status"]["nodeInfo"]["kernelVersion"] = "5.14.0".into();
                let mut s = String::new();
                yaml(&n, 1, &mut s);
                let s = s.replacen("  ", "- ", 1);
                f.write_all(s.as_bytes()).unwrap();
            }
            writeln!(f, "kind: List\nmetadata:\n  resourceVersion: \"\"").unwrap();
        }
        "str" => {
            let s = std::fs::read_to_string(&args[2]).unwrap();
            let mut n = 0;
            for e in Parser::new_from_str(&s) {
                if let Event::Scalar(..) = e.unwrap().0 {
                    n += 1
                }
            }
            println!("{n}");
        }
        "iter" => {
            let s = std::fs::read_to_string(&args[2]).unwrap();
            let mut n = 0;
            for e in Parser::new_from_iter(s.chars()) {
                if let Event::Scalar(..) = e.unwrap().0 {
                    n += 1
                }
            }
            println!("{n}");
        }
        "check" | "cached" | "whole" => {
            let o = Options {
                cache: (args[1] == "cached").then(|| "/tmp/lib-cache".into()),
                ..Options::default()
            };
            let object = serde_json::json!({"apiVersion":"hco.kubevirt.io/v1beta1","kind":"HyperConverged","metadata":{"name":"kubevirt-hyperconverged","namespace":"kubevirt-hyperconverged"},"spec":{"workloads":{"nodePlacement":{"nodeSelector":{"topology.kubernetes.io/zone":"eu-central-1a"}}}}});
            let policy = Policy::embedded_with(&o).unwrap();
            eprintln!("policy {:?}", t.elapsed());
            let labels = Labels::named_in([&object]);
            let nodes = if args[1] == "whole" {
                NodeList::from_file(args[2].as_ref()).unwrap()
            } else {
                NodeList::reduced_from_file(args[2].as_ref(), &labels).unwrap()
            };
            eprintln!("nodes {} {:?}", nodes.len(), t.elapsed());
            let payload = serde_json::json!({"request":{"uid":"0","kind":{"group":"hco.kubevirt.io","version":"v1beta1","kind":"HyperConverged"},"operation":"CREATE","object":object},"settings":{}}).to_string();
            let r = policy
                .report(payload.as_bytes(), std::sync::Arc::new(nodes))
                .result
                .unwrap();
            println!(
                "{}",
                String::from_utf8_lossy(&r)
                    .chars()
                    .take(300)
                    .collect::<String>()
            );
        }
        #[cfg(feature = "cluster")]
        "live" => {
            for c in ["admin", "limited", "nobody"] {
                match Cluster::of_kubeconfig("/tmp/lib-live/kubeconfig".as_ref(), Some(c)) {
                    Ok(k) => {
                        println!("{c} {} {}", k.server(), k.namespace());
                        match k.nodes(&Labels::All) {
                            Ok(n) => println!("nodes {}", n.len()),
                            Err(e) => println!("{e}"),
                        }
                        match k.hyperconvergeds() {
                            Ok(n) => println!("hcos {}", n.len()),
                            Err(e) => println!("{e}"),
                        }
                        for v in ["v1", "v1beta1"] {
                            match k.hyperconverged(
                                &format!("hco.kubevirt.io/{v}"),
                                "kubevirt-hyperconverged",
                                "kubevirt-hyperconverged",
                            ) {
                                Ok(n) => println!("hco {}", n.is_some()),
                                Err(e) => println!("{e}"),
                            }
                        }
                        println!(
                            "{:?} {:?}",
                            k.may(Some("kubewarden/policy-server"), "list", "nodes"),
                            k.may(None, "create", "subjectaccessreviews.authorization.k8s.io")
                        );
                        println!("{:?}", k.call("kubernetes","list_resources_all",br#"{"api_version":"v1","kind":"Node","label_selector":"zone=za","field_masks":["status.nodeInfo.architecture"]}"#).map(|a| String::from_utf8(a).unwrap().len()));
                    }
                    Err(e) => println!("{e}"),
                }
            }
        }
        "all" => {
            let nodes = NodeList::reduced_from_file(args[2].as_ref(), &Labels::All).unwrap();
            eprintln!("{}", nodes.len());
        }
        _ => {}
    }
    eprintln!("{:?}", t.elapsed());
}
