//! A VirtualMachine with the facts that the rules about it use.

use std::collections::BTreeSet;

use kube_objects::edit::{PatchOperation, set};
use kube_objects::json::{Json, Object};
use kube_objects::path::FieldPath;
use kube_objects::text::{escape, quote};
use operator_models::kubevirt::machine_type;
use operator_models::kubevirt::preference::{Preference, PreferenceName};
use operator_models::kubevirt::virtual_machine::{Reason, SourceRef, VirtualMachine};
use operator_models::ssp::architecture::{Architecture, KNOWN, is_known};

use crate::context::Context;
use crate::proposal::Proposal;

/// A VirtualMachine, and the values that KubeVirt derives for it.
pub(crate) struct Machine<'a> {
    pub(crate) vm: &'a VirtualMachine,
    object: Json<'a>,
    pub(crate) context: &'a Context,
    /// The architecture that KubeVirt chooses; empty if it is unknown.
    pub(crate) architecture: String,
    pub(crate) reason: Reason,
    /// The preference, if it is known and KubeVirt compares its architecture.
    pub(crate) preference: Option<(PreferenceName, Preference)>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(vm: &'a VirtualMachine, object: Json<'a>, context: &'a Context) -> Self {
        let (architecture, reason) = vm.resolve(&context.kubevirt, &mut { context });
        let preference = vm.preference(&mut { context });
        Self {
            preference: preference.filter(|_| context.kubevirt.applies_preferences()),
            vm,
            object,
            context,
            architecture,
            reason,
        }
    }

    /// The DataSource of the boot disk, and its architecture.
    pub(crate) fn boot_source(&self) -> Option<(&'a SourceRef, String)> {
        let source = self.vm.boot_data_source()?;
        Some((source, source.label(&mut { self.context })?))
    }

    /// Whether the boot disk is for an architecture, as far as that is known.
    pub(crate) fn boots_on(&self, architecture: &str) -> bool {
        let (source, image) = (self.boot_source(), self.vm.boot_image.as_ref());
        source.is_none_or(|(_, label)| label == architecture)
            && image.is_none_or(|image| image.architecture == architecture)
    }

    /// Whether a workload node has an architecture; `None` if the workload architectures are unknown.
    pub(crate) fn is_available(&self, architecture: &str) -> Option<bool> {
        Some(self.context.workload.as_ref()?.contains(architecture))
    }

    /// Whether the VM can start if its architecture changes to this one, as far as that is known.
    pub(crate) fn can_start_as(&self, architecture: &str) -> bool {
        let required = self
            .preference
            .as_ref()
            .and_then(|(_, preference)| preference.required.as_deref());
        is_known(architecture)
            && required.is_none_or(|required| required == architecture)
            && self
                .accepted()
                .is_none_or(|names| names.contains(architecture))
            && self.is_available(architecture) != Some(false)
            && self.boots_on(architecture)
            && !self.vm.affinity.affinity_excludes(architecture)
    }

    /// Whether a workload node can run VMs of an architecture, natively or by emulation.
    pub(crate) fn can_run(&self, architecture: &str) -> bool {
        let kubevirt = &self.context.kubevirt;
        self.context
            .workload
            .iter()
            .flatten()
            .any(|node| kubevirt.can_run(architecture, node))
    }

    /// The only architectures whose VMs KubeVirt accepts; `None` if it accepts all, or if that is unknown.
    pub(crate) fn accepted(&self) -> Option<&'a BTreeSet<String>> {
        let kubevirt = &self.context.kubevirt;
        let virt_api = self.context.virt_api.as_ref();
        virt_api.filter(|_| kubevirt.rejects_other_architectures())
    }

    /// The architecture, if it is known and KubeVirt starts VMs of it. `vm-architecture-unavailable` reports the others.
    pub(crate) fn supported_architecture(&self) -> Option<&str> {
        let kubevirt = &self.context.kubevirt;
        Some(self.architecture.as_str()).filter(|name| kubevirt.supports(name))
    }

    /// The path of a field of the VM's template.
    pub(crate) fn path(keys: &[&'static str]) -> FieldPath {
        FieldPath::new(&["spec", "template", "spec"]).keys(keys)
    }

    pub(crate) fn selector_path(label: &'static str) -> FieldPath {
        Self::path(&["nodeSelector", label])
    }

    pub(crate) fn machine_type_path() -> FieldPath {
        Self::path(&["domain", "machine", "type"])
    }

    /// Sets the architecture of the VM, and of its nodeSelector. A person has to confirm it.
    pub(crate) fn set_architecture(&self, architecture: &str) -> Proposal<'static> {
        let instance = Object::root(self.object).object("spec").object("template");
        let field = instance.object("spec").field("architecture");
        let mut patch = set(&field, architecture);
        for (label, selected) in self.vm.node_selectors() {
            if selected != architecture {
                let path = Self::selector_path(label);
                patch.push(PatchOperation::replace(&path, architecture));
            }
        }
        let machine_type = &self.vm.machine_type;
        // KubeVirt has written the machine type of the other architecture, and rejects it for this one.
        if !machine_type.is_empty()
            && machine_type::architecture_of(machine_type) != Some(architecture)
        {
            patch.push(PatchOperation::remove(&Self::machine_type_path()));
        }
        Proposal::edits(format!("use {architecture}"), patch)
    }

    /// Replaces the DataSource with the one that has the same image for the VM's architecture, if it exists.
    pub(crate) fn replace_source(&self, source: &SourceRef) -> Option<Proposal<'static>> {
        let architecture = Architecture::parse(&self.architecture)?;
        let (namespace, name) = self.context.sibling(source, architecture)?;
        let sibling = self.context.data_source(&namespace, &name)?;
        if sibling.architecture_label? != architecture.name() {
            return None;
        }
        let path = FieldPath::new(&["spec", "dataVolumeTemplates"])
            .index(source.index)
            .keys(&["spec", "sourceRef"]);
        let mut patch = vec![PatchOperation::replace(&path.key("name"), name.as_str())];
        if namespace != source.namespace {
            let path = path.key("namespace");
            patch.push(PatchOperation::add(&path, namespace.as_str()));
        }
        let summary = format!("use the DataSource for {}", architecture.name());
        Some(Proposal::edits(summary, patch))
    }

    /// Sets one of the other architectures with which the VM can start on a workload node.
    pub(crate) fn set_other_architectures(&self) -> impl Iterator<Item = Proposal<'static>> {
        KNOWN
            .into_iter()
            .filter(|name| *name != self.architecture && self.is_available(name) == Some(true))
            .filter(|name| self.can_start_as(name))
            .map(|name| self.set_architecture(name))
    }

    /// The architecture in a form that makes blanks visible to users.
    pub(crate) fn shown(&self) -> String {
        if self.architecture.contains(' ') {
            quote(&self.architecture)
        } else {
            escape(&self.architecture, 32)
        }
    }
}
