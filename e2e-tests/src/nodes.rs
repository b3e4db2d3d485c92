//! The node list of a large cluster, the same in every run: 70 labels and 15 annotations per node, as in OpenShift with
//! Node Feature Discovery. Sizes and kinds of characters are realistic; the values have no meaning.

use std::fmt::Write as _;

const ZONES: [char; 3] = ['a', 'b', 'c'];

const FEATURES: [&str; 52] = [
    "cpu-cpuid.ADX",
    "cpu-cpuid.AESNI",
    "cpu-cpuid.AMXBF16",
    "cpu-cpuid.AMXINT8",
    "cpu-cpuid.AVX",
    "cpu-cpuid.AVX2",
    "cpu-cpuid.AVX512BF16",
    "cpu-cpuid.AVX512BITALG",
    "cpu-cpuid.AVX512BW",
    "cpu-cpuid.AVX512CD",
    "cpu-cpuid.AVX512DQ",
    "cpu-cpuid.AVX512F",
    "cpu-cpuid.AVX512FP16",
    "cpu-cpuid.AVX512IFMA",
    "cpu-cpuid.AVX512VBMI",
    "cpu-cpuid.AVX512VBMI2",
    "cpu-cpuid.AVX512VL",
    "cpu-cpuid.AVX512VNNI",
    "cpu-cpuid.AVX512VPOPCNTDQ",
    "cpu-cpuid.AVXVNNI",
    "cpu-cpuid.CMPXCHG8",
    "cpu-cpuid.FLUSH_L1D",
    "cpu-cpuid.FMA3",
    "cpu-cpuid.FXSR",
    "cpu-cpuid.FXSROPT",
    "cpu-cpuid.GFNI",
    "cpu-cpuid.HYPERVISOR",
    "cpu-cpuid.IBPB",
    "cpu-cpuid.LAHF",
    "cpu-cpuid.MD_CLEAR",
    "cpu-cpuid.MOVBE",
    "cpu-cpuid.MOVDIR64B",
    "cpu-cpuid.OSXSAVE",
    "cpu-cpuid.SERIALIZE",
    "cpu-cpuid.SHA",
    "cpu-cpuid.SPEC_CTRL_SSBD",
    "cpu-cpuid.STIBP",
    "cpu-cpuid.SYSCALL",
    "cpu-cpuid.VAES",
    "cpu-cpuid.VMX",
    "cpu-cpuid.VPCLMULQDQ",
    "cpu-cpuid.WAITPKG",
    "cpu-cpuid.X87",
    "cpu-cpuid.XSAVE",
    "cpu-hardware_multithreading",
    "cpu-model.family",
    "cpu-model.vendor_id",
    "kernel-version.full",
    "memory-numa",
    "network-sriov.capable",
    "pci-1b36.present",
    "system-os_release.ID",
];

/// The architecture of the node with this index: mostly amd64, some arm64, a few s390x.
pub fn architecture(index: usize) -> &'static str {
    match index % 20 {
        0..14 => "amd64",
        14..19 => "arm64",
        _ => "s390x",
    }
}

/// The name of the node with this index.
pub fn host(index: usize) -> String {
    let (a, b) = (index / 250, index % 250);
    format!("ip-10-{a}-{b}-17.eu-central-1.compute.internal")
}

/// A masked list of this many nodes. The first three are the control plane. One in ten of the others has neither role.
pub fn node_list(nodes: usize) -> Vec<u8> {
    let mut list = String::with_capacity(nodes * 5_000 + 200);
    list.push_str(r#"{"apiVersion":"v1","items":["#);
    for index in 0..nodes {
        if index > 0 {
            list.push(',');
        }
        push_node(&mut list, index);
    }
    list.push_str(r#"],"kind":"NodeList","metadata":{"resourceVersion":"83751234"}}"#);
    list.into_bytes()
}

fn push_node(list: &mut String, index: usize) {
    let arch = architecture(index);
    let (a, b) = (index / 250, index % 250);
    let host = host(index);
    list.push_str(r#"{"metadata":{"annotations":{"#);
    let _ = write!(
        list,
        concat!(
            r#""alpha.kubernetes.io/provided-node-ip":"10.{a}.{b}.17","#,
            r#""cloud.network.openshift.io/egress-ipconfig":"[{{\"interface\":\"eni-0{b:05}a{a:03}f\",\"capacity\":{{\"ipv4\":14}}}}]","#,
            r#""csi.volume.kubernetes.io/nodeid":"{{\"ebs.csi.aws.com\":\"i-0{b:04}c{a:04}f3\",\"rbd.csi.ceph.com\":\"{host}\"}}","#,
            r#""k8s.ovn.org/host-cidrs":"[\"10.{a}.{b}.17/19\"]","#,
            r#""k8s.ovn.org/l3-gateway-config":"{{\"default\":{{\"mode\":\"shared\",\"mac-address\":\"06:{a:02x}:{b:02x}:1c:7e:91\",\"ip-addresses\":[\"10.{a}.{b}.17/19\"],\"next-hops\":[\"10.{a}.0.1\"]}}}}","#,
            r#""k8s.ovn.org/node-id":"{index}","#,
            r#""k8s.ovn.org/node-subnets":"{{\"default\":[\"10.{a}.{b}.0/23\"]}}","#,
            r#""k8s.ovn.org/zone-name":"{host}","#,
            r#""machine.openshift.io/machine":"openshift-machine-api/w-{index:05}","#,
            r#""machineconfiguration.openshift.io/controlPlaneTopology":"HighlyAvailable","#,
            r#""machineconfiguration.openshift.io/currentConfig":"rendered-worker-8f3e5d{b:04}","#,
            r#""machineconfiguration.openshift.io/desiredConfig":"rendered-worker-8f3e5d{b:04}","#,
            r#""machineconfiguration.openshift.io/state":"Done","#,
            r#""nfd.node.kubernetes.io/master.version":"v4.20.0","#,
            r#""volumes.kubernetes.io/controller-managed-attach-detach":"true""#,
        ),
        a = a,
        b = b,
        host = host,
        index = index,
    );
    list.push_str(r#"},"creationTimestamp":"2026-02-11T08:14:55Z","labels":{"#);
    let _ = write!(
        list,
        concat!(
            r#""beta.kubernetes.io/arch":"{arch}","beta.kubernetes.io/instance-type":"m6i.metal","#,
            r#""beta.kubernetes.io/os":"linux","cpu-feature.node.kubevirt.io/generation":"{generation}","#,
            r#""failure-domain.beta.kubernetes.io/region":"eu-central-1","failure-domain.beta.kubernetes.io/zone":"eu-central-1{zone}","#,
        ),
        arch = arch,
        generation = index % 9,
        zone = ZONES[index % 3],
    );
    for feature in FEATURES {
        let _ = write!(list, r#""feature.node.kubernetes.io/{feature}":"true","#);
    }
    let _ = write!(
        list,
        concat!(
            r#""kubernetes.io/arch":"{arch}","kubernetes.io/hostname":"{host}","kubernetes.io/os":"linux","#,
            r#""kubevirt.io/schedulable":"true","node.kubernetes.io/instance-type":"m6i.metal","node.openshift.io/os_id":"rhcos","#,
            r#""machineconfiguration.openshift.io/role":"x","example.com/rack":"{rack}","#,
        ),
        arch = arch,
        host = host,
        rack = index % 40,
    );
    match index {
        0..3 => list.push_str(
            r#""node-role.kubernetes.io/control-plane":"","node-role.kubernetes.io/master":"","#,
        ),
        _ if index % 10 == 9 => list.push_str(r#""node-role.kubernetes.io/infra":"","#),
        _ => list.push_str(r#""node-role.kubernetes.io/worker":"","#),
    }
    let _ = write!(
        list,
        concat!(
            r#""topology.ebs.csi.aws.com/zone":"eu-central-1{zone}","topology.kubernetes.io/region":"eu-central-1","#,
            r#""topology.kubernetes.io/zone":"eu-central-1{zone}"}},"name":"{host}","resourceVersion":"837{index:05}","#,
            r#""uid":"0e{a:02x}{b:02x}51-77aa-4d0e-8c5e-1f{b:06x}20ab"}},"#,
            r#""status":{{"nodeInfo":{{"architecture":"{arch}"}}}}}}"#,
        ),
        zone = ZONES[index % 3],
        host = host,
        index = index,
        a = a,
        b = b,
        arch = arch,
    );
}
