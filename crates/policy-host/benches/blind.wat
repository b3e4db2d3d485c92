;; A guest that lists the nodes but does not read the list: it shows the cost of the host and its engine alone.
;; It answers like a policy, so that policy-server can run it.
(module
  (import "wapc" "__host_call" (func $host_call (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wapc" "__host_response_len" (func $list_length (result i32)))
  (import "wapc" "__host_response" (func $copy_list (param i32)))
  (import "wapc" "__guest_response" (func $answer (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "kubewarden")
  (data (i32.const 16) "kubernetes")
  (data (i32.const 32) "list_resources_all")
  (data (i32.const 64) "{\"api_version\":\"v1\",\"kind\":\"Node\",\"label_selector\":null,\"field_selector\":null,\"field_masks\":[\"status.nodeInfo.architecture\"]}")
  (data (i32.const 256) "{\"accepted\":true}")
  (data (i32.const 288) "{\"valid\":true}")
  (data (i32.const 320) "\"v1\"")
  ;; The three operations have names of different lengths.
  (func (export "__guest_call") (param $operation_length i32) (param $payload_length i32) (result i32)
    (if (i32.eq (local.get $operation_length) (i32.const 16)) ;; protocol_version
      (then (call $answer (i32.const 320) (i32.const 4)) (return (i32.const 1))))
    (if (i32.eq (local.get $operation_length) (i32.const 17)) ;; validate_settings
      (then (call $answer (i32.const 288) (i32.const 14)) (return (i32.const 1))))
    (drop (call $host_call (i32.const 0) (i32.const 10) (i32.const 16) (i32.const 10)
                           (i32.const 32) (i32.const 18) (i32.const 64) (i32.const 125)))
    (drop (memory.grow (i32.add (i32.shr_u (call $list_length) (i32.const 16)) (i32.const 1))))
    (call $copy_list (i32.const 65536))
    (call $answer (i32.const 256) (i32.const 17))
    (i32.const 1)))
