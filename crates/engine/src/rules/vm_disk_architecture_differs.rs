use operator_models::kubevirt::virtual_machine::SourceRef;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-disk-architecture-differs", Level::Warn);

/// The boot disk is for another architecture than the VM.
pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<Violation<'f>> {
    let architecture = machine.architecture.as_str();
    let template = |index| FieldPath::new(&["spec", "dataVolumeTemplates"]).index(index);
    // Without a source, the disk is imported from an image.
    let (source, name, path, label) = if let Some((source, label)) = machine.boot_source() {
        let name = format!("{}/{}", source.namespace, source.name);
        let path = template(source.index).keys(&["spec", "sourceRef"]);
        (Some(source), name, path, label)
    } else {
        let image = machine.vm.boot_image.as_ref()?;
        let path = template(image.template).keys(&["spec", "source", "registry"]);
        (None, image.url.clone(), path, image.architecture.clone())
    };
    let differs = !architecture.is_empty() && label != architecture;
    differs.then(|| Violation {
        value: format!("{name} {label} {architecture}").into(),
        ..Violation::new(move || Description {
            path: path.clone(),
            fact: fact(machine, source, &label),
            fixes: fixes(machine, source, &label),
        })
    })
}

fn fact(machine: &Machine<'_>, source: Option<&SourceRef>, label: &str) -> String {
    let made = match source {
        Some(source) => format!("made from DataSource {}, which is", quote(&source.name)),
        None => "imported".to_owned(),
    };
    format!(
        "The boot disk is {made} for {}, but the VM's architecture is {}: it does not boot.",
        escape(label, 32),
        machine.shown()
    )
}

fn fixes<'f>(machine: &Machine<'_>, source: Option<&SourceRef>, label: &str) -> Vec<Proposal<'f>> {
    let replacement = source.and_then(|source| machine.replace_source(source));
    let mut fixes = Vec::from_iter(replacement);
    if machine.can_start_as(label) {
        fixes.push(machine.set_architecture(label));
    }
    // If no workload node has the VM's architecture, the disk's architecture is used.
    if machine.is_available(&machine.architecture) == Some(false) {
        fixes.reverse();
    }
    if fixes.is_empty() {
        fixes.push(Proposal::advice(match source {
            Some(_) => "use a DataSource for the VM's architecture",
            None => "import the image for the VM's architecture",
        }));
    }
    fixes
}
