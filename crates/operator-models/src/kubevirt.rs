//! KubeVirt: its default architecture, and the architecture of a VirtualMachine.

pub mod default_architecture;
pub mod installation;
pub mod preference;
pub mod virtual_machine;
