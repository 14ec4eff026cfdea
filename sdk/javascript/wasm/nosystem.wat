;; Takes the place of WASI in a module that reaches nothing (`bulkhead-js build --no-system`): wasm-merge binds the imports of the engine
;; and of glue.wat to it. So the module imports only the functions of ABI 1, whatever its script does. There are no files, variables or
;; standard streams, the clocks stand still at 2000-01-01, and the random numbers are the same in each call.
(module
  (import "engine" "memory" (memory 1))
  (global $badf i32 (i32.const 8))
  (global $random (mut i64) (i64.const 0x9e3779b97f4a7c15))

  (func (export "clock_time_get") (param i32 i64 i32) (result i32)
    (i64.store (local.get 2) (i64.const 946684800000000000))
    (i32.const 0))
  (func (export "poll_oneoff") (param i32 i32 i32 i32) (result i32) ;; no time passes
    (i32.store (local.get 3) (local.get 2))
    (i32.const 0))
  (func (export "random_get") (param $at i32) (param $length i32) (result i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (loop $next
      (if (i32.lt_u (local.get $at) (local.get $end)) (then
        (global.set $random (i64.add (i64.mul (global.get $random) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))
        (i64.store8 (local.get $at) (i64.shr_u (global.get $random) (i64.const 56)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next))))
    (i32.const 0))
  (func (export "environ_sizes_get") (param i32 i32) (result i32)
    (i32.store (local.get 0) (i32.const 0))
    (i32.store (local.get 1) (i32.const 0))
    (i32.const 0))
  (func (export "environ_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "fd_close") (param i32) (result i32) (global.get $badf))
  (func (export "fd_fdstat_get") (param i32 i32) (result i32) (global.get $badf))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (global.get $badf))
  (func (export "fd_read") (param i32 i32 i32 i32) (result i32) (global.get $badf))
  (func (export "fd_write") (param i32 i32 i32 i32) (result i32) (global.get $badf))
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (global.get $badf))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (global.get $badf))
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) (global.get $badf))
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) (global.get $badf))
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) (global.get $badf))
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) (global.get $badf))
  (func (export "path_rename") (param i32 i32 i32 i32 i32 i32) (result i32) (global.get $badf)))
