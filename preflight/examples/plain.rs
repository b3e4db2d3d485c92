//! temporary
#![allow(clippy::all, clippy::pedantic, clippy::restriction)]
use std::sync::Arc;
use std::time::Instant;
#[path = "/tmp/nodes/fixtures/src/lib.rs"]
mod fixtures;
struct Ready(Vec<u8>);
impl hco_preflight::HostCalls for Ready {
    fn call(&self, _: &str, _: &str, _: &[u8]) -> Result<Vec<u8>, String> {
        Ok(self.0.clone())
    }
}
fn main() {
    let list = fixtures::node_list(5000);
    println!("list {}", list.len());
    let t = Instant::now();
    let p = hco_preflight::Policy::embedded().unwrap();
    println!("module {} compile {:?}", hco_preflight::Policy::embedded_module().len(), t.elapsed());
    let host = Arc::new(Ready(list.clone()));
    let payload = br#"{"request":{"uid":"x","kind":{"group":"hco.kubevirt.io","version":"v1beta1","kind":"HyperConverged"},"operation":"CREATE","name":"kubevirt-hyperconverged","namespace":"x","object":{"apiVersion":"hco.kubevirt.io/v1beta1","kind":"HyperConverged","metadata":{"name":"kubevirt-hyperconverged"},"spec":{}}},"settings":{}}"#;
    println!("{:?}", p.validate(payload, host.clone()).result);
    let (mut a, mut b, mut c, mut d) = (f64::MAX, f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..15 {
        let t = Instant::now();
        serde_json::from_slice::<serde::de::IgnoredAny>(&list).unwrap();
        a = a.min(t.elapsed().as_secs_f64());
        let t = Instant::now();
        p.validate(payload, host.clone()).result.unwrap();
        b = b.min(t.elapsed().as_secs_f64());
        let t = Instant::now();
        p.validate(b"{\"request\":{\"kind\":{\"kind\":\"Pod\"}}}", host.clone()).result.unwrap();
        c = c.min(t.elapsed().as_secs_f64());
        let t = Instant::now();
        std::hint::black_box(list.clone());
        d = d.min(t.elapsed().as_secs_f64());
    }
    println!("ignored {:.2} ms validate {:.2} ms ratio {:.2} smallest {:.0} us clone {:.2} ms", a * 1e3, b * 1e3, b / a, c * 1e6, d * 1e3);
}
