//! Versions of HCO, and the differences in their behavior.

use std::fmt;

/// A version of HCO, 1.N. The behavior depends only on N.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HcoVersion(u32);

/// The HCO version for each version of OpenShift Virtualization: its major and minor number, and N of HCO's 1.N.
///
/// OpenShift Virtualization 4.20 contains HCO 1.16, and so on. HCO's release-1.19 became both 4.23 and 5.0.
const OPENSHIFT_VIRTUALIZATION: [(u32, u32, u32); 5] = [
    (4, 20, 16),
    (4, 21, 17),
    (4, 22, 18),
    (4, 23, 19),
    (5, 0, 19),
];

/// The first version of KubeVirt that gives a VM the architecture in the label of its DataSource.
///
/// MIRRORS: kubevirt pkg/defaults/defaults.go, setDefaultArchitectureFromDataSource, since v1.6.4 (backport 906edc24b6).
pub const KUBEVIRT_WITH_LABELS: (u32, u32, u32) = (1, 6, 4);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionSupport {
    Known(HcoVersion),
    /// It is older than all known versions, and does not have the import.
    Older,
    /// It is newer than all known versions, and is treated as the newest one.
    Newer,
    /// Neither HCO nor OpenShift Virtualization has this version. It is treated as the newest one.
    Unassigned,
}

impl VersionSupport {
    /// Parses a version of HCO or OpenShift Virtualization; `None` if it is not a version.
    pub fn parse(version: &str) -> Option<Self> {
        let (major, minor, _) = numbers(version)?;
        let numbers = (major, minor);
        let listed = OPENSHIFT_VIRTUALIZATION
            .iter()
            .find(|(major, minor, _)| (*major, *minor) == numbers);
        let own = match (major, listed) {
            (1, _) => Some(minor),
            (_, Some((.., own))) => Some(*own),
            (4, None) => Some(minor.saturating_sub(4)),
            _ => None,
        };
        let newest = OPENSHIFT_VIRTUALIZATION.last();
        Some(match own.map(HcoVersion) {
            Some(version) if version < HcoVersion::OLDEST => Self::Older,
            Some(version) if version > HcoVersion::NEWEST => Self::Newer,
            Some(version) => Self::Known(version),
            None if newest.is_some_and(|(major, minor, _)| numbers > (*major, *minor)) => {
                Self::Newer
            }
            None => Self::Unassigned,
        })
    }
}

impl HcoVersion {
    pub const WITHOUT_IMPORT: Self = Self(15);
    /// The oldest known version: the first one with the multi-architecture import.
    pub const OLDEST: Self = Self(16);
    /// The first version that serves v1, and that sets KubeVirt's default architecture.
    pub const V1_18: Self = Self(18);
    /// The first version with the field for the import, in which the import is no longer Alpha.
    pub const V1_19: Self = Self(19);
    /// The newest known version: HCO's main branch.
    pub const NEWEST: Self = Self(20);

    /// Reads a version of HCO or OpenShift Virtualization; `None` if it is not a version.
    pub fn parse(version: &str) -> Option<Self> {
        Some(match VersionSupport::parse(version)? {
            VersionSupport::Known(version) => version,
            VersionSupport::Older => Self::WITHOUT_IMPORT,
            VersionSupport::Newer | VersionSupport::Unassigned => Self::NEWEST,
        })
    }

    /// Whether HCO writes the HyperConverged in an upgrade, so that its webhook completes the object. It does so if the
    /// object lacks the annotation `deployOVS`, which HCO then adds, or if a patch applies. In the upgrade to 1.19, a
    /// patch applies if a field has the default of earlier versions, which this function assumes. No other patch
    /// applies since 1.15.
    ///
    /// MIRRORS: hyperconverged-cluster-operator v1.17.3 to release-1.19 controllers/handlers/networkAddons.go,
    /// setDeployOvsAnnotation; `controllers/hyperconverged/hyperconverged_controller.go`, applyUpgradePatches;
    /// assets/upgradePatches.json.
    pub fn is_written_in_the_upgrade_to(self, to: Self, has_deploy_ovs: bool) -> bool {
        self < to && (!has_deploy_ovs || (self < Self::V1_19 && to >= Self::V1_19))
    }

    /// Whether a version belongs to OpenShift Virtualization, whose namespaces have other names.
    pub fn is_openshift_virtualization(version: &str) -> bool {
        let number = version.strip_prefix('v').unwrap_or(version);
        leading_number(number).is_some_and(|major| major > 1)
    }

    /// Whether HCO has the multi-architecture import. Earlier versions prune its field.
    pub fn has_import(self) -> bool {
        self >= Self::OLDEST
    }

    /// Whether KubeVirt rejects VMs of an architecture other than virt-api's while the import is off.
    ///
    /// MIRRORS: hyperconverged-cluster-operator controllers/handlers/kubevirt.go, `getFeatureGateChecks`: up to 1.17,
    /// HCO enables KubeVirt's feature gate `MultiArchitecture` only with the import; kubevirt
    /// pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go, validateArchitecture, up to 1.7.
    pub fn rejects_vms_without_import(self) -> bool {
        self < Self::V1_18
    }

    /// Whether the preferences that KubeVirt ships require an architecture. They do since KubeVirt 1.9.
    pub fn requires_architectures_in_preferences(self) -> bool {
        self >= Self::V1_19
    }

    pub fn has_finished_import(self) -> bool {
        self >= Self::V1_19
    }

    /// Whether v1 has a field for the import, which takes precedence over the feature gate, and v1beta1 has the
    /// annotation in which the conversion stores the fields that only v1 has.
    pub fn has_import_field(self) -> bool {
        self >= Self::V1_19
    }

    pub fn ignores_case_of_gates(self) -> bool {
        self >= Self::V1_19
    }

    /// The first version of KubeVirt that it deploys; `None` for the newest version of HCO. HCO 1.16 later updates
    /// KubeVirt to 1.6.6.
    ///
    /// MIRRORS: hyperconverged-cluster-operator hack/config at v1.16.0, v1.17.0, v1.18.0, and 7313576e6 (release-1.19).
    pub fn kubevirt(self) -> Option<(u32, u32, u32)> {
        match self.0 {
            ..=16 => Some((1, 6, 2)),
            17 => Some((1, 7, 1)),
            18 => Some((1, 8, 4)),
            19 => Some((1, 9, 0)),
            _ => None,
        }
    }

    /// Whether its KubeVirt reads a VM's architecture from the label of a DataSource.
    pub fn reads_data_source_labels(self) -> bool {
        self.kubevirt()
            .is_none_or(|version| version >= KUBEVIRT_WITH_LABELS)
    }

    /// Whether HCO sets KubeVirt's default architecture, and its webhook sets defaults of templates.
    pub fn sets_defaults(self) -> bool {
        self >= Self::V1_18
    }
}

impl fmt::Display for HcoVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

/// The numbers of a version such as `v1.7.0-beta.0`. If the third number is missing, it is 0.
pub(crate) fn numbers(version: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = version.strip_prefix('v').unwrap_or(version).split('.');
    let mut next = || leading_number(numbers.next()?);
    Some((next()?, next()?, next().unwrap_or(0)))
}

/// The number at the start of a text, as in `0-rc1`.
fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|character: char| !character.is_ascii_digit());
    text.get(..end.unwrap_or(text.len()))?.parse().ok()
}
