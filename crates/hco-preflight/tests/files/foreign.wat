;; Another policy: it knows nothing of `report`, takes any settings, and denies everything with a sentence of its own.
;; The guest tells operations apart by the length of their names: report 6, validate 8, validate_settings 17.
(module
  (import "wapc" "__guest_response" (func $respond (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\"accepted\":false,\"code\":400,\"message\":\"no HyperConverged on Fridays\"}")
  (data (i32.const 256) "{\"valid\":true}")
  (func (export "__guest_call") (param $operation i32) (param $payload i32) (result i32)
    (if (i32.eq (local.get $operation) (i32.const 8))
      (then (call $respond (i32.const 0) (i32.const 70)) (return (i32.const 1))))
    (if (i32.eq (local.get $operation) (i32.const 17))
      (then (call $respond (i32.const 256) (i32.const 14)) (return (i32.const 1))))
    (i32.const 0)))
