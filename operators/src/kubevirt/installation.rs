//! What KubeVirt's own object says about the architectures of VirtualMachines.

use kubernetes::json::{Json, Object, Reading, WrongType};

/// The feature gate for running VMs on nodes of another architecture, by emulation.
const CROSS_ARCHITECTURE: &str = "CrossArchitectureVirtualization";

/// A KubeVirt object. The default is one of the newest version without a default architecture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KubeVirt {
    /// `status.defaultArchitecture`; empty if it is unknown.
    pub default_architecture: String,
    /// Whether the gate `CrossArchitectureVirtualization` is on.
    pub is_cross_architecture: bool,
    /// The major and minor number of `status.observedKubeVirtVersion`; `None` if it is unknown.
    version: Option<(u32, u32)>,
}

impl KubeVirt {
    /// The only object of a list; without one, or with several, the default.
    ///
    /// # Errors
    ///
    /// A field of the list or of an object has the wrong type.
    pub fn only(list: Json<'_>) -> Result<Self, WrongType<'_>> {
        let items = Object::root(list).field("items");
        let read = items.list(|_, item| Self::read(&item.object()))?;
        let mut read = read.unwrap_or_default().into_iter();
        let only = read.next().filter(|_| read.next().is_none());
        Ok(only.unwrap_or_default())
    }

    /// Reads a KubeVirt object.
    ///
    /// # Errors
    ///
    /// A field has another type than KubeVirt's schema says.
    fn read<'a>(object: &Object<'a>) -> Result<Self, WrongType<'a>> {
        let status = object.object("status");
        let configuration = object.object("spec").object("configuration");
        let gates = configuration.object("developerConfiguration");
        let mut reading = Reading::default();
        let version = reading.take(status.field("observedKubeVirtVersion").string());
        let gates = reading.take(gates.field("featureGates").strings());
        let default = reading.take(status.field("defaultArchitecture").string());
        let read = Self {
            default_architecture: default.unwrap_or_default(),
            // MIRRORS: kubevirt pkg/virt-config/featuregate/feature-gates.go, IsEnabled, for an Alpha gate.
            is_cross_architecture: gates
                .unwrap_or_default()
                .iter()
                .any(|it| it == CROSS_ARCHITECTURE),
            version: version.as_deref().and_then(numbers),
        };
        let has_gate = read.version.is_none_or(|version| version >= (1, 9));
        reading.finish(Self {
            is_cross_architecture: read.is_cross_architecture && has_gate,
            ..read
        })
    }

    /// Whether this version gives a VM the architecture in the label of its DataSource.
    pub fn reads_labels(&self) -> bool {
        self.version.is_none_or(|version| version >= (1, 7))
    }

    /// Whether VMs of an architecture can run on nodes of another one.
    ///
    /// MIRRORS: kubevirt pkg/virt-handler/node-labeller/node_labeller.go: amd64 and arm64 are emulated, s390x is not.
    pub fn can_run(&self, architecture: &str, node: &str) -> bool {
        let is_emulated = |name| matches!(name, "amd64" | "arm64");
        architecture == node
            || (self.is_cross_architecture && is_emulated(architecture) && is_emulated(node))
    }
}

/// The major and minor number of a version such as `v1.7.0-beta.0`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version
        .strip_prefix('v')
        .unwrap_or(version)
        .split(['.', '-', '+']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> KubeVirt {
        let list = format!(r#"{{"items":[{text}]}}"#);
        KubeVirt::only(Json::parse(list.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn the_labels_of_data_sources_count_since_1_7() {
        for (version, reads) in [
            ("v1.6.3", false),
            ("v1.7.0", true),
            ("v1.10.0-rc.0", true),
            ("v2.0.0", true),
            ("main", true),
        ] {
            let text = format!(r#"{{"status":{{"observedKubeVirtVersion":"{version}"}}}}"#);
            assert_eq!(read(&text).reads_labels(), reads, "{version}");
        }
        assert!(read("{}").reads_labels());
    }

    #[test]
    fn amd64_and_arm64_are_emulated_if_the_gate_is_on_and_known() {
        let of = |version: &str| {
            read(&format!(
                r#"{{"spec":{{"configuration":{{"developerConfiguration":{{"featureGates":["CrossArchitectureVirtualization"]}}}}}},
                    "status":{{"observedKubeVirtVersion":"{version}"}}}}"#
            ))
        };
        assert!(of("v1.9.0").can_run("arm64", "amd64"));
        assert!(!of("v1.9.0").can_run("s390x", "amd64"));
        assert!(!of("v1.8.0").can_run("arm64", "amd64"));
        assert!(!read("{}").can_run("arm64", "amd64"));
        assert!(read("{}").can_run("arm64", "arm64"));
    }
}
