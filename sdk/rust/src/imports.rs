//! The functions of the host. All unsafe code is here and in `exports`.

#[cfg(target_os = "wasi")]
mod wasm {
    #[link(wasm_import_module = "bulkhead")]
    unsafe extern "C" {
        fn input(destination: *mut u8, length: usize);
        fn output(source: *const u8, length: usize);
        fn host_call(source: *const u8, length: usize) -> usize;
        fn host_result(destination: *mut u8, length: usize);
        #[link_name = "log"]
        fn write_log(level: i32, source: *const u8, length: usize);
    }

    /// Reads the request, whose length is that of `bulkhead_call`.
    pub fn read_input(length: usize) -> Vec<u8> {
        read(length, input)
    }

    /// Sets the response.
    pub fn write_output(response: &[u8]) {
        // SAFETY: the host reads only the given range.
        unsafe { output(response.as_ptr(), response.len()) }
    }

    /// Performs a host operation.
    pub fn call_host(request: &[u8]) -> Vec<u8> {
        // SAFETY: the host reads only the given range.
        let length = unsafe { host_call(request.as_ptr(), request.len()) };
        read(length, host_result)
    }

    /// Writes a line to the host's log.
    pub fn log(level: i32, line: &str) {
        // SAFETY: the host reads only the given range.
        unsafe { write_log(level, line.as_ptr(), line.len()) }
    }

    fn read(length: usize, fill: unsafe extern "C" fn(*mut u8, usize)) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length);
        // SAFETY: the capacity is at least length, and the host writes exactly length bytes.
        unsafe {
            fill(bytes.as_mut_ptr(), length);
            bytes.set_len(length);
        }
        bytes
    }
}

#[cfg(target_os = "wasi")]
pub use wasm::*;

#[cfg(not(target_os = "wasi"))]
pub(crate) use crate::testing::{call_host, log};
