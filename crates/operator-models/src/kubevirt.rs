//! KubeVirt: its default architecture, and what a VirtualMachine gets.

pub mod default_architecture;
pub mod installation;
pub mod preference;
pub mod virtual_machine;
