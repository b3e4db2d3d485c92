//! The identity of rules: data that the settings, the checks, and the answers share. Each rule has a file with its
//! check in `rules/`.

use strum::IntoStaticStr;

/// The effect of a finding on the request, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum Level {
    Deny,
    Warn,
    /// It has no effect, and is not listed.
    Ignore,
}

impl Level {
    pub const ALL: [Self; 3] = [Self::Deny, Self::Warn, Self::Ignore];
}

/// The kind of object that the findings of a rule describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    HyperConverged,
    /// Single templates of a HyperConverged, for which the settings can have other levels.
    Template,
    VirtualMachine,
}

/// When a rule applies to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Always,
    ImportOff,
    ImportOn,
    /// While KubeVirt accepts only VMs of virt-api's architecture.
    VmsRestricted,
    PlacementChanges,
    /// If there are golden images, or if another rule about the placement or VMs can apply.
    WorkloadsMatter,
}

/// A change that repairs a finding at admission, if the settings name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Repair {
    /// Enable the import. The settings can choose [`Repair::PlaceOn`] instead.
    EnableImport,
    /// Place the workloads on one architecture.
    PlaceOn(&'static str),
    /// Correct the entries of an annotation.
    Normalise,
    /// Set the annotation of a template to the architectures of its image.
    FromImage,
}

/// A rule, without its check.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a column of the table of rules"
)]
pub struct Rule {
    /// The name of the problem, which never changes.
    pub id: &'static str,
    /// The level if the settings do not set one.
    pub level: Level,
    pub subject: Subject,
    /// Whether no finding is an existing problem, because the rule is about the update itself or about the policy.
    pub is_exempt_from_ratchet: bool,
    pub condition: Condition,
    /// Whether it is about the architectures annotation that HCO uses. If that is not known, its findings are warnings.
    pub is_about_annotations: bool,
    /// Whether it is about golden images. Such a rule is silent where HCO deploys no golden images.
    pub is_about_golden_images: bool,
    /// Whether its findings say that the policy cannot evaluate the object. If only such a rule denies a request, the
    /// answer is a server error.
    pub is_about_the_policy: bool,
    /// How its findings can be repaired. `EnableImport` also allows `PlaceOn`.
    pub repair: Option<Repair>,
    /// The alert of HCO that fires for its findings in a live object.
    pub alert: Option<&'static str>,
}

impl Rule {
    /// Whether the level without settings depends on the request.
    pub fn has_level_of_request(&self) -> bool {
        ["no-workload-nodes", "vm-architecture-unavailable"].contains(&self.id)
    }

    pub(crate) const fn about_object(id: &'static str, level: Level) -> Self {
        Self {
            id,
            level,
            subject: Subject::HyperConverged,
            is_exempt_from_ratchet: false,
            condition: Condition::Always,
            is_about_annotations: false,
            is_about_golden_images: false,
            is_about_the_policy: false,
            repair: None,
            alert: None,
        }
    }

    pub(crate) const fn about_virtual_machines(id: &'static str, level: Level) -> Self {
        Self {
            subject: Subject::VirtualMachine,
            ..Self::about_object(id, level)
        }
    }

    pub(crate) const fn about_templates(id: &'static str, level: Level) -> Self {
        Self {
            subject: Subject::Template,
            ..Self::about_object(id, level)
        }
    }

    /// A rule about the architectures annotations that HCO uses while the import is on.
    pub(crate) const fn about_annotations(id: &'static str, level: Level) -> Self {
        Self {
            is_about_annotations: true,
            ..Self::about_templates(id, level)
                .about_golden_images()
                .only(Condition::ImportOn)
        }
    }

    /// The same rule, but none of its findings is an existing problem.
    pub(crate) const fn exempt_from_ratchet(mut self) -> Self {
        self.is_exempt_from_ratchet = true;
        self
    }

    /// The same rule, for findings that say that the policy cannot evaluate the object. None of them is an existing
    /// problem.
    pub(crate) const fn about_the_policy(mut self) -> Self {
        self.is_about_the_policy = true;
        self.exempt_from_ratchet()
    }

    /// The same rule, silent where HCO deploys no golden images.
    pub(crate) const fn about_golden_images(mut self) -> Self {
        self.is_about_golden_images = true;
        self
    }

    pub(crate) const fn only(self, condition: Condition) -> Self {
        Self { condition, ..self }
    }

    /// The same rule, for whose findings an alert fires.
    pub(crate) const fn alerted_by(mut self, alert: &'static str) -> Self {
        self.alert = Some(alert);
        self
    }

    pub(crate) const fn repaired_by(mut self, repair: Repair) -> Self {
        self.repair = Some(repair);
        self
    }
}
