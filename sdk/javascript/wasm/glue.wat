;; Joins the QuickJS-ng engine of the npm package quickjs-wasi to ABI 1 of Bulkhead. wasm-merge makes one module of this one ("env",
;; which the engine imports), the engine ("engine"), and the plugin's script ("script", which bin/build.js writes).
;;
;; The engine passes a value as the address of a box, 8 bytes that it allocates, and its C API as an i64. Scripts get one function,
;; __bulkhead(operation, ...), whose operations system.js names. All of the SDK that can be JavaScript is.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "_initialize" (func $initialize_libc))
  (import "engine" "wasm_malloc" (func $malloc (param i32) (result i32)))
  (import "engine" "wasm_free" (func $free (param i32)))
  (import "engine" "qjs_init" (func $init (result i32)))
  (import "engine" "qjs_set_max_stack_size" (func $set_max_stack_size (param i32)))
  (import "engine" "qjs_set_promise_rejection_handler" (func $track_rejections (param i32)))
  (import "engine" "qjs_run_gc" (func $collect_garbage))
  (import "engine" "qjs_set_gc_threshold" (func $set_gc_threshold (param i32)))
  (import "engine" "qjs_get_context_ptr" (func $context (result i32)))
  (import "engine" "qjs_get_global" (func $get_global (result i32)))
  (import "engine" "qjs_get_undefined" (func $get_undefined (result i32)))
  (import "engine" "qjs_set_prop_string" (func $set_property (param i32 i32 i32) (result i32)))
  (import "engine" "qjs_new_host_function" (func $new_host_function (param i32 i32 i32) (result i32)))
  (import "engine" "qjs_new_number" (func $new_number (param f64) (result i32)))
  (import "engine" "qjs_new_string" (func $new_string (param i32 i32) (result i32)))
  (import "engine" "qjs_get_float64" (func $get_float64 (param i32) (result f64)))
  (import "engine" "qjs_eval" (func $eval (param i32 i32 i32 i32) (result i32)))
  (import "engine" "qjs_call" (func $call (param i32 i32 i32 i32) (result i32)))
  (import "engine" "qjs_is_exception" (func $is_exception (param i32) (result i32)))
  (import "engine" "qjs_get_exception" (func $get_exception (result i32)))
  (import "engine" "qjs_execute_pending_job" (func $execute_pending_job (result i32)))
  (import "engine" "qjs_dup_value" (func $dup_value (param i32) (result i32)))
  (import "engine" "qjs_free_value" (func $free_value (param i32)))
  (import "engine" "JS_GetUint8Array" (func $get_uint8_array (param i32 i32 i64) (result i32)))
  (import "engine" "JS_NewUint8ArrayCopy" (func $new_uint8_array (param i32 i32 i32) (result i64)))
  (import "engine" "JS_ToCStringLen2" (func $to_utf8 (param i32 i32 i64 i32) (result i32)))
  (import "engine" "JS_FreeCString" (func $free_utf8 (param i32 i32)))

  (import "script" "source_length" (global $source_length i32))
  (import "script" "source" (func $copy_source (param i32)))
  (import "script" "map_length" (global $map_length i32))
  (import "script" "map" (func $copy_map (param i32)))

  (import "bulkhead" "input" (func $input (param i32 i32)))
  (import "bulkhead" "output" (func $output (param i32 i32)))
  (import "bulkhead" "host_call" (func $host_call (param i32 i32) (result i32)))
  (import "bulkhead" "host_result" (func $host_result (param i32 i32)))
  (import "bulkhead" "log" (func $log (param i32 i32 i32)))

  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_readdir" (func $fd_readdir (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_get" (func $path_filestat_get (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_create_directory" (func $path_create_directory (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_remove_directory" (func $path_remove_directory (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_unlink_file" (func $path_unlink_file (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_rename" (func $path_rename (param i32 i32 i32 i32 i32 i32) (result i32)))

  ;; The engine's stack has 1 MiB. Scripts get a RangeError before it is full. The rest is for functions of the engine that do not check.
  (global $stack_size i32 (i32.const 114688))
  (global $entry (mut i32) (i32.const 0))     ;; the function that takes requests, in a box
  (global $rejected (mut i32) (i32.const 0))  ;; the function that is told of rejected promises, in a box
  (global $cells (mut i32) (i32.const 0))     ;; the address of 8 bytes for a result, and 8 for an argument

  (data $names "__bulkhead\00plugin.js\00")
  (global $names_length i32 (i32.const 21))
  (global $file_name i32 (i32.const 11))      ;; the offset of the script's file name

  (func (export "bulkhead_abi_1"))

  (func (export "_initialize")
    (local $names i32) (local $source i32) (local $global i32) (local $promise i32)
    (call $initialize_libc)
    (if (call $init) (then (unreachable)))
    (call $set_max_stack_size (global.get $stack_size))
    (call $track_rejections (i32.const 1))
    (global.set $cells (call $allocate (i32.const 16)))
    (local.set $names (call $allocate (global.get $names_length)))
    (memory.init $names (local.get $names) (i32.const 0) (i32.const 21))
    (local.set $global (call $get_global))
    (drop (call $set_property (local.get $global) (local.get $names)
      (call $new_host_function (local.get $names) (i32.const 10) (i32.const 0))))
    (call $free_value (local.get $global))
    (local.set $source (call $allocate (i32.add (global.get $source_length) (i32.const 1))))
    (call $copy_source (local.get $source))
    (i32.store8 (i32.add (local.get $source) (global.get $source_length)) (i32.const 0))
    (local.set $promise (call $checked (call $eval (local.get $source) (global.get $source_length)
      (i32.add (local.get $names) (global.get $file_name)) (i32.const 1)))) ;; 1: a module
    (call $free (local.get $source))
    (call $enter (local.get $promise))
    ;; Each call begins with the heap after this. So no call should have to collect garbage unless it makes more than about a megabyte:
    ;; the memory has 1.1 MiB that are not the heap.
    (call $collect_garbage)
    (call $set_gc_threshold (i32.shl (memory.size) (i32.const 16))))

  (func (export "bulkhead_call") (param $length i32)
    (call $enter (call $new_number (f64.convert_i32_u (local.get $length)))))

  ;; Calls the entry function with a value, and frees that.
  (func $enter (param $value i32)
    (local $undefined i32)
    (if (i32.eqz (global.get $entry)) (then (unreachable)))
    (local.set $undefined (call $get_undefined))
    (i32.store offset=8 (global.get $cells) (local.get $value))
    (call $free_value (call $checked
      (call $call (global.get $entry) (local.get $undefined) (i32.const 1) (i32.add (global.get $cells) (i32.const 8)))))
    (call $free_value (local.get $undefined))
    (call $free_value (local.get $value)))

  ;; Returns a value, but logs an exception and traps.
  (func $checked (param $value i32) (result i32)
    (local $text i32)
    (if (call $is_exception (local.get $value)) (then
      (local.set $text (call $to_utf8 (call $context) (global.get $cells) (i64.load (call $get_exception)) (i32.const 0)))
      (if (local.get $text) (then
        (call $log (i32.const 5) (local.get $text) (i32.load (global.get $cells)))))
      (unreachable)))
    (local.get $value))

  (func $allocate (param $length i32) (result i32)
    (local $address i32)
    (local.set $address (call $malloc (local.get $length)))
    (if (i32.eqz (local.get $address)) (then (unreachable)))
    (local.get $address))

  ;; Puts an i64 of the engine's C API in a box.
  (func $box (param $value i64) (result i32)
    (local $box i32)
    (local.set $box (call $allocate (i32.const 8)))
    (i64.store (local.get $box) (local.get $value))
    (local.get $box))

  ;; Returns the box of an argument, and the value of one that is an integer.
  (func $argument (param $argv i32) (param $index i32) (result i32)
    (i32.load (i32.add (local.get $argv) (i32.shl (local.get $index) (i32.const 2)))))
  (func $int (param $argv i32) (param $index i32) (result i32)
    (i32.wrap_i64 (i64.trunc_sat_f64_s (call $get_float64 (call $argument (local.get $argv) (local.get $index))))))

  ;; Called by the engine when a script calls __bulkhead. It returns a box, or 0 if an exception is pending.
  (func (export "host_call") (param $name i32) (param $name_length i32) (param $this i32) (param $argc i32) (param $argv i32) (result i32)
    (local $operation i32) (local $address i32) (local $value i64)
    (local.set $operation (call $int (local.get $argv) (i32.const 0)))
    (if (i32.eq (local.get $operation) (i32.const 0)) (then ;; address(bytes)
      (local.set $address (call $get_uint8_array (call $context) (global.get $cells)
        (i64.load (call $argument (local.get $argv) (i32.const 1)))))
      (if (i32.eqz (local.get $address)) (then (return (i32.const 0))))
      (return (call $new_number (f64.convert_i32_u (local.get $address))))))
    (if (i32.eq (local.get $operation) (i32.const 1)) (then ;; decode(address, length)
      (return (call $thrown (call $new_string
        (call $int (local.get $argv) (i32.const 1)) (call $int (local.get $argv) (i32.const 2)))))))
    (if (i32.eq (local.get $operation) (i32.const 2)) (then ;; encode(string)
      (local.set $address (call $to_utf8 (call $context) (global.get $cells)
        (i64.load (call $argument (local.get $argv) (i32.const 1))) (i32.const 0)))
      (if (i32.eqz (local.get $address)) (then (return (i32.const 0))))
      (local.set $value (call $new_uint8_array (call $context) (local.get $address) (i32.load (global.get $cells))))
      (call $free_utf8 (call $context) (local.get $address))
      (return (call $thrown (call $box (local.get $value))))))
    (if (i32.eq (local.get $operation) (i32.const 3)) (then ;; setEntry(function)
      (global.set $entry (call $dup_value (call $argument (local.get $argv) (i32.const 1))))
      (return (call $get_undefined))))
    (if (i32.eq (local.get $operation) (i32.const 4)) (then ;; setRejected(function)
      (global.set $rejected (call $dup_value (call $argument (local.get $argv) (i32.const 1))))
      (return (call $get_undefined))))
    (if (i32.eq (local.get $operation) (i32.const 5)) (then ;; sourceMap()
      (local.set $address (call $allocate (i32.add (global.get $map_length) (i32.const 1))))
      (call $copy_map (local.get $address))
      (local.set $operation (call $new_string (local.get $address) (global.get $map_length)))
      (call $free (local.get $address))
      (return (call $thrown (local.get $operation)))))
    (return (call $new_number (f64.convert_i32_s (call $integers (local.get $operation) (local.get $argc) (local.get $argv))))))

  ;; Returns a box, or frees it and returns 0 if its value is an exception, which is then pending.
  (func $thrown (param $value i32) (result i32)
    (if (call $is_exception (local.get $value)) (then
      (call $free_value (local.get $value))
      (return (i32.const 0))))
    (local.get $value))

  ;; Performs an operation whose arguments and result are integers.
  (func $integers (param $operation i32) (param $argc i32) (param $argv i32) (result i32)
    (local $a i32) (local $b i32) (local $c i32) (local $d i32) (local $e i32) (local $f i32)
    (if (i32.gt_u (local.get $argc) (i32.const 1)) (then (local.set $a (call $int (local.get $argv) (i32.const 1)))))
    (if (i32.gt_u (local.get $argc) (i32.const 2)) (then (local.set $b (call $int (local.get $argv) (i32.const 2)))))
    (if (i32.gt_u (local.get $argc) (i32.const 3)) (then (local.set $c (call $int (local.get $argv) (i32.const 3)))))
    (if (i32.gt_u (local.get $argc) (i32.const 4)) (then (local.set $d (call $int (local.get $argv) (i32.const 4)))))
    (if (i32.gt_u (local.get $argc) (i32.const 5)) (then (local.set $e (call $int (local.get $argv) (i32.const 5)))))
    (if (i32.gt_u (local.get $argc) (i32.const 6)) (then (local.set $f (call $int (local.get $argv) (i32.const 6)))))
    (if (i32.eq (local.get $operation) (i32.const 10)) (then ;; runs up to a jobs, and returns their number
      (loop $next
        (if (call $execute_pending_job) (then
          (local.set $b (i32.add (local.get $b) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $b) (local.get $a))))))
      (return (local.get $b))))
    (if (i32.eq (local.get $operation) (i32.const 11)) (then (unreachable)))
    (if (i32.eq (local.get $operation) (i32.const 12)) (then
      (call $input (local.get $a) (local.get $b))
      (return (i32.const 0))))
    (if (i32.eq (local.get $operation) (i32.const 13)) (then
      (call $output (local.get $a) (local.get $b))
      (return (i32.const 0))))
    (if (i32.eq (local.get $operation) (i32.const 14)) (then (return (call $host_call (local.get $a) (local.get $b)))))
    (if (i32.eq (local.get $operation) (i32.const 15)) (then
      (call $host_result (local.get $a) (local.get $b))
      (return (i32.const 0))))
    (if (i32.eq (local.get $operation) (i32.const 16)) (then
      (call $log (local.get $a) (local.get $b) (local.get $c))
      (return (i32.const 0))))
    (if (i32.eq (local.get $operation) (i32.const 20)) (then
      (return (call $environ_sizes_get (local.get $a) (local.get $b)))))
    (if (i32.eq (local.get $operation) (i32.const 21)) (then
      (return (call $environ_get (local.get $a) (local.get $b)))))
    (if (i32.eq (local.get $operation) (i32.const 22)) (then
      (return (call $random_get (local.get $a) (local.get $b)))))
    (if (i32.eq (local.get $operation) (i32.const 23)) (then
      (return (call $poll_oneoff (local.get $a) (local.get $b) (local.get $c) (local.get $d)))))
    (if (i32.eq (local.get $operation) (i32.const 24)) (then (return (call $fd_close (local.get $a)))))
    (if (i32.eq (local.get $operation) (i32.const 25)) (then
      (return (call $fd_read (local.get $a) (local.get $b) (local.get $c) (local.get $d)))))
    (if (i32.eq (local.get $operation) (i32.const 26)) (then
      (return (call $fd_write (local.get $a) (local.get $b) (local.get $c) (local.get $d)))))
    (if (i32.eq (local.get $operation) (i32.const 27)) (then
      (return (call $fd_readdir (local.get $a) (local.get $b) (local.get $c)
        (i64.load (local.get $d)) (local.get $e))))) ;; the cookie has 64 bits
    (if (i32.eq (local.get $operation) (i32.const 28)) (then
      (return (call $path_open (local.get $a) (local.get $b) (local.get $c) (local.get $d) (local.get $e)
        (i64.extend_i32_u (local.get $f)) (i64.extend_i32_u (local.get $f))
        (call $int (local.get $argv) (i32.const 7)) (call $int (local.get $argv) (i32.const 8))))))
    (if (i32.eq (local.get $operation) (i32.const 29)) (then
      (return (call $path_filestat_get (local.get $a) (local.get $b) (local.get $c) (local.get $d) (local.get $e)))))
    (if (i32.eq (local.get $operation) (i32.const 30)) (then
      (return (call $path_create_directory (local.get $a) (local.get $b) (local.get $c)))))
    (if (i32.eq (local.get $operation) (i32.const 31)) (then
      (return (call $path_remove_directory (local.get $a) (local.get $b) (local.get $c)))))
    (if (i32.eq (local.get $operation) (i32.const 32)) (then
      (return (call $path_unlink_file (local.get $a) (local.get $b) (local.get $c)))))
    (if (i32.eq (local.get $operation) (i32.const 33)) (then
      (return (call $path_rename (local.get $a) (local.get $b) (local.get $c) (local.get $d) (local.get $e) (local.get $f)))))
    (unreachable))

  ;; Called by the engine when a promise is rejected without a handler, or gets one later. It owns the two values.
  (func (export "host_promise_rejection") (param $promise i32) (param $reason i32) (param $handled i32)
    (local $arguments i32) (local $undefined i32) (local $number i32) (local $result i32)
    (if (global.get $rejected) (then
      (local.set $undefined (call $get_undefined))
      (local.set $number (call $new_number (f64.convert_i32_u (local.get $handled))))
      (local.set $arguments (call $allocate (i32.const 12)))
      (i32.store (local.get $arguments) (local.get $promise))
      (i32.store offset=4 (local.get $arguments) (local.get $reason))
      (i32.store offset=8 (local.get $arguments) (local.get $number))
      (local.set $result (call $call (global.get $rejected) (local.get $undefined) (i32.const 3) (local.get $arguments)))
      ;; The stack or the memory can be exhausted, since that is a reason of rejections. The promise has its reason in any case.
      (if (call $is_exception (local.get $result)) (then (call $free_value (call $get_exception))))
      (call $free_value (local.get $result))
      (call $free (local.get $arguments))
      (call $free_value (local.get $number))
      (call $free_value (local.get $undefined))))
    (call $free_value (local.get $promise))
    (call $free_value (local.get $reason)))

  ;; The engine's other imports. It is not told to use the first, the host interrupts scripts, and there are no modules to load.
  (func (export "host_interrupt") (result i32) (i32.const 0))
  (func (export "host_module_normalize") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_module_load") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_get_timezone_offset") (param i32 i32) (result i32) (i32.const 0))) ;; UTC
