//! A host that counts the instructions of the module. The number is the same on every machine.

use std::rc::Rc;
use std::sync::LazyLock;

use policy_host::Policy;
use wasmtime_provider::wasmtime::{Caller, Config, Engine, Linker, Memory, Module, Store};

/// The answer to a call, and the resources that it used.
pub(crate) struct Metered {
    pub(crate) answer: Vec<u8>,
    pub(crate) instructions: u64,
    /// The linear memory at the end, in bytes. It never shrinks.
    pub(crate) memory: usize,
}

static MODULE: LazyLock<Module> = LazyLock::new(|| {
    let mut config = Config::new();
    config.consume_fuel(true);
    let engine = Engine::new(&config).expect("an engine");
    Module::new(&engine, Policy::embedded_module()).expect("the module compiles")
});

const OPERATION: &str = "validate";

struct Host {
    payload: Vec<u8>,
    /// The response to each request.
    nodes: Rc<[u8]>,
    answer: Vec<u8>,
}

/// Calls `validate` in a new instance, as policy-server does.
pub(crate) fn validate(payload: &[u8], nodes: &[u8]) -> Metered {
    const FUEL: u64 = 1 << 60;
    let engine = MODULE.engine();
    let host = Host {
        payload: payload.to_vec(),
        nodes: nodes.into(),
        answer: Vec::new(),
    };
    let mut store = Store::new(engine, host);
    store.set_fuel(FUEL).expect("fuel");
    let mut linker = linker(engine);
    linker
        .define_unknown_imports_as_default_values(&mut store, &MODULE)
        .expect("what the guest never calls here");
    let instance = linker
        .instantiate(&mut store, &MODULE)
        .expect("an instance");
    let init = instance.get_typed_func::<(), ()>(&mut store, "wapc_init");
    init.and_then(|init| init.call(&mut store, ()))
        .expect("wapc_init");
    let before = store.get_fuel().expect("fuel");
    let call = instance
        .get_typed_func::<(u32, u32), u32>(&mut store, "__guest_call")
        .expect("a waPC guest");
    let lengths = (length(OPERATION.as_bytes()), length(payload));
    let returned = call.call(&mut store, lengths).expect("no trap");
    let answer = &store.data().answer;
    assert_eq!(returned, 1, "{}", String::from_utf8_lossy(answer));
    let memory = instance.get_memory(&mut store, "memory").expect("a memory");
    Metered {
        instructions: before - store.get_fuel().expect("fuel"),
        memory: memory.data_size(&store),
        answer: store.into_data().answer,
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("it fits into the memory of a module")
}

/// The functions of waPC that a guest calls.
fn linker(engine: &Engine) -> Linker<Host> {
    type Guest<'g> = Caller<'g, Host>;
    fn memory(guest: &mut Guest<'_>) -> Memory {
        let memory = guest.get_export("memory").expect("a memory");
        memory.into_memory().expect("a memory")
    }
    fn write(guest: &mut Guest<'_>, at: u32, bytes: &[u8]) {
        memory(guest)
            .write(guest, at as usize, bytes)
            .expect("it fits");
    }
    fn read(guest: &mut Guest<'_>, at: u32, length: u32) -> Vec<u8> {
        let mut bytes = vec![0; length as usize];
        memory(guest)
            .read(guest, at as usize, &mut bytes)
            .expect("it is there");
        bytes
    }
    let mut linker = Linker::new(engine);
    let mut define = || -> wasmtime_provider::wasmtime::Result<()> {
        linker.func_wrap(
            "wapc",
            "__guest_request",
            |mut guest: Guest<'_>, operation, payload| {
                let bytes = std::mem::take(&mut guest.data_mut().payload);
                write(&mut guest, operation, OPERATION.as_bytes());
                write(&mut guest, payload, &bytes);
            },
        )?;
        // The return value of the call distinguishes an error from an answer.
        for name in ["__guest_response", "__guest_error"] {
            linker.func_wrap("wapc", name, |mut guest: Guest<'_>, at, length| {
                guest.data_mut().answer = read(&mut guest, at, length);
            })?;
        }
        // The guest requests only the nodes.
        linker.func_wrap(
            "wapc",
            "__host_call",
            |_: u32, _: u32, _: u32, _: u32, _: u32, _: u32, _: u32, _: u32| 1,
        )?;
        linker.func_wrap("wapc", "__host_response_len", |guest: Guest<'_>| {
            length(&guest.data().nodes)
        })?;
        linker.func_wrap("wapc", "__host_response", |mut guest: Guest<'_>, at| {
            let nodes = Rc::clone(&guest.data().nodes);
            write(&mut guest, at, &nodes);
        })?;
        Ok(())
    };
    define().expect("the imports of waPC");
    linker
}
