// A waPC host: calls an operation of a policy's module. It does not depend on Kubernetes or on the page.

/** Answers a host call of the binding `kubewarden`. The guest gets the message of an error that it throws. */
export type HostCall = (namespace: string, operation: string, payload: string) => string;

/** The guest's own error, a trap, or a module that is not a waPC guest. */
export class GuestError extends Error {}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Calls an operation on a new instance, so that a call cannot affect the next one.
 *
 * MIRRORS: the waPC protocol as the crate wapc 2 hosts it. There is no time limit here: a caller that needs one runs
 * this in a worker, and terminates the worker.
 */
export function call(module: WebAssembly.Module, operation: string, payload: string, host: HostCall): string {
  const request = { operation: encoder.encode(operation), payload: encoder.encode(payload) };
  let answer: string | undefined;
  let failure: string | undefined;
  let response = new Uint8Array();
  let hostError = new Uint8Array();

  let memory: WebAssembly.Memory;
  const write = (pointer: number, bytes: Uint8Array) => new Uint8Array(memory.buffer).set(bytes, pointer >>> 0);
  const read = (pointer: number, length: number) =>
    decoder.decode(new Uint8Array(memory.buffer, pointer >>> 0, length >>> 0));

  const wapc = {
    __guest_request(operationAt: number, payloadAt: number) {
      write(operationAt, request.operation);
      write(payloadAt, request.payload);
    },
    __guest_response: (at: number, length: number) => void (answer = read(at, length)),
    __guest_error: (at: number, length: number) => void (failure = read(at, length)),
    __host_call(...at: [number, number, number, number, number, number, number, number]): number {
      const [binding, namespace, name] = [read(at[0], at[1]), read(at[2], at[3]), read(at[4], at[5])];
      try {
        if (binding !== "kubewarden") throw new Error(`unknown binding: ${binding}`);
        response = encoder.encode(host(namespace, name, read(at[6], at[7])));
        return 1;
      } catch (error) {
        hostError = encoder.encode(textOf(error));
        return 0;
      }
    },
    __host_response: (at: number) => write(at, response),
    __host_response_len: () => response.length,
    __host_error: (at: number) => write(at, hostError),
    __host_error_len: () => hostError.length,
    __console_log: () => {},
  };

  try {
    const instance = new WebAssembly.Instance(module, { wapc });
    const guest = instance.exports as {
      memory: WebAssembly.Memory;
      wapc_init?: () => void;
      __guest_call: (operation: number, payload: number) => number;
    };
    memory = guest.memory;
    guest.wapc_init?.();
    const done = guest.__guest_call(request.operation.length, request.payload.length);
    if (done === 1 && answer !== undefined) return answer;
  } catch (error) {
    throw new GuestError(textOf(error));
  }
  throw new GuestError(failure ?? "the guest returned no response");
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
