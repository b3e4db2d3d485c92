//! What identifies a rule: data that the settings, the checks, and the answers share. A rule's check is in a file of its
//! own, in `rules/`.

/// What a finding of a rule means for the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It denies the request.
    Deny,
    /// It causes a warning.
    Warn,
    /// The rule is not checked.
    Ignore,
}

impl Level {
    /// All levels, the most severe first.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Warn, Self::Ignore];

    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Ignore => "ignore",
        }
    }
}

/// What the findings of a rule are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The object as a whole.
    Object,
    /// Single templates, for which the settings can have other levels.
    Template,
}

impl Subject {
    /// All subjects.
    pub(crate) const ALL: [Self; 2] = [Self::Object, Self::Template];
}

/// Whether an update carries the findings of a rule over that its old object has as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ratchet {
    /// The old object is judged too.
    Applies,
    /// Every finding counts: the rule is about the update itself, or about the policy.
    Exempt,
}

/// What a rule reads, which determines when it is checked. A rule that is checked later can use what was read for an
/// earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reads {
    /// The object, and the nodes if it asks for them.
    Object,
    /// What the operators behind HCO will make of the object.
    Forecast,
    /// The nodes, but only if another rule has asked for them.
    NodesOfOthers,
    /// The images in their registries.
    Images,
}

/// How a finding of a rule can be repaired at admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairKind {
    /// Not at all.
    None,
    /// Enable the import, or place the workloads on one architecture.
    Import,
    /// Correct the entries of an annotation.
    Normalise,
    /// Set an annotation to the architectures of its image.
    FromImage,
}

/// The kind of objects that a rule is about. A rule never runs on objects of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// HyperConverged.
    HyperConverged,
    /// VirtualMachine.
    VirtualMachine,
}

/// The identity of a rule.
#[derive(Debug)]
pub struct Rule {
    /// The name of the problem, which never changes.
    pub id: &'static str,
    /// The level if the settings do not set one.
    pub level: Level,
    /// The kind of objects that it is about.
    pub kind: ObjectKind,
    /// What its findings are about.
    pub subject: Subject,
    /// Whether an update carries its findings over.
    pub ratchet: Ratchet,
    /// What it reads.
    pub reads: Reads,
    /// Whether it is about golden images: it is silent where HCO deploys none.
    pub is_about_golden_images: bool,
    /// Whether its fix depends on the images. If a rule without this property denies a request, no image is looked up.
    pub is_fixed_by_images: bool,
    /// Whether it says that the policy cannot judge: if it alone denies a request, the answer is an error of the server.
    pub is_about_the_policy: bool,
    /// How its findings can be repaired at admission.
    pub repairs: RepairKind,
}

impl Rule {
    /// A rule about the object as a whole.
    pub(crate) const fn about_object(id: &'static str, level: Level) -> Self {
        Self {
            id,
            level,
            kind: ObjectKind::HyperConverged,
            subject: Subject::Object,
            ratchet: Ratchet::Applies,
            reads: Reads::Object,
            is_about_golden_images: false,
            is_fixed_by_images: false,
            is_about_the_policy: false,
            repairs: RepairKind::None,
        }
    }

    /// A rule about a VirtualMachine.
    pub(crate) const fn about_virtual_machines(id: &'static str, level: Level) -> Self {
        Self {
            kind: ObjectKind::VirtualMachine,
            ..Self::about_object(id, level)
        }
    }

    /// A rule about single templates.
    pub(crate) const fn about_templates(id: &'static str, level: Level) -> Self {
        Self {
            subject: Subject::Template,
            ..Self::about_object(id, level)
        }
    }

    /// The same rule, but updates never carry its findings over.
    pub(crate) const fn exempt_from_ratchet(self) -> Self {
        Self {
            ratchet: Ratchet::Exempt,
            ..self
        }
    }

    /// The same rule, which says that the policy cannot judge. Updates never carry its findings over.
    pub(crate) const fn about_the_policy(self) -> Self {
        Self {
            is_about_the_policy: true,
            ..self.exempt_from_ratchet()
        }
    }

    /// The same rule, silent where HCO deploys no golden images.
    pub(crate) const fn about_golden_images(self) -> Self {
        Self {
            is_about_golden_images: true,
            ..self
        }
    }

    /// The same rule, whose fix depends on the images.
    pub(crate) const fn fixed_by_images(self) -> Self {
        Self {
            is_fixed_by_images: true,
            ..self
        }
    }

    /// The same rule, checked when this can be read.
    pub(crate) const fn reading(self, reads: Reads) -> Self {
        Self { reads, ..self }
    }

    /// The same rule, with a repair.
    pub(crate) const fn repaired_by(self, repairs: RepairKind) -> Self {
        Self { repairs, ..self }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// In the catalogue, the compiler runs these methods.
    #[test]
    fn each_method_says_one_thing_about_a_rule() {
        let object = Rule::about_object("o", Level::Deny);
        let read = (object.subject, object.ratchet, object.reads, object.repairs);
        let none = RepairKind::None;
        let (of_object, applies) = (Subject::Object, Ratchet::Applies);
        assert_eq!(read, (of_object, applies, Reads::Object, none));
        assert!(!object.is_about_golden_images && !object.is_fixed_by_images);
        assert!(!object.is_about_the_policy);
        let policy = Rule::about_object("p", Level::Deny).about_the_policy();
        assert!(policy.is_about_the_policy);
        assert_eq!(policy.ratchet, Ratchet::Exempt);

        assert_eq!(object.kind, ObjectKind::HyperConverged);
        let machine = Rule::about_virtual_machines("m", Level::Warn);
        assert_eq!(machine.kind, ObjectKind::VirtualMachine);

        let template = Rule::about_templates("t", Level::Warn);
        assert_eq!((template.id, template.level), ("t", Level::Warn));
        assert_eq!(template.subject, Subject::Template);
        let template = template.exempt_from_ratchet();
        assert_eq!(template.ratchet, Ratchet::Exempt);
        let template = template.about_golden_images();
        assert!(template.is_about_golden_images && !template.is_fixed_by_images);
        let template = template.fixed_by_images();
        assert!(template.is_fixed_by_images);
        let template = template.reading(Reads::Images);
        assert_eq!(template.reads, Reads::Images);
        let template = template.repaired_by(RepairKind::Normalise);
        assert_eq!(template.repairs, RepairKind::Normalise);
    }
}
