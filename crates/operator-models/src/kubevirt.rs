//! KubeVirt: its default architecture, and the architecture of a VirtualMachine.

pub mod installation;
pub mod machine_type;
pub mod preference;
pub mod virtual_machine;
