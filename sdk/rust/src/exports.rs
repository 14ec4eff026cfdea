//! The exports of a module, which [`serve!`](crate::serve) defines.

/// Makes the module serve the plugin that a function returns. Use it once, in the crate of the plugin:
///
/// ```
/// # use bulkhead::Plugin;
/// fn plugin() -> Plugin {
///     Plugin::new()
/// }
///
/// bulkhead::serve!(plugin);
/// # fn main() {}
/// ```
///
/// The second argument is optional: a function that computes [derived data](crate::fs::Scan::derived) from the content of a file,
/// `fn(function: u32, content: &[u8]) -> Vec<u8>`.
#[macro_export]
macro_rules! serve {
    ($plugin:path) => {
        #[cfg(target_os = "wasi")]
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn bulkhead_abi_1() {}

            #[unsafe(no_mangle)]
            extern "C" fn _initialize() {
                $crate::exports::initialize()
            }

            #[unsafe(no_mangle)]
            extern "C" fn bulkhead_call(length: usize) {
                $crate::exports::call($plugin, length)
            }
        };

        // On other targets only tests call the plugin.
        #[cfg(not(target_os = "wasi"))]
        const _: fn() -> $crate::Plugin = $plugin;
    };
    ($plugin:path, $derive:path) => {
        $crate::serve!($plugin);

        #[cfg(target_os = "wasi")]
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn bulkhead_derive(function: u32, length: usize) {
                $crate::exports::derive($derive, function, length)
            }
        };

        #[cfg(not(target_os = "wasi"))]
        const _: fn(u32, &[u8]) -> Vec<u8> = $derive;
    };
}

#[cfg(target_os = "wasi")]
mod wasm {
    use crate::{imports, Plugin};
    use std::{cell::OnceCell, env, io::Write};

    thread_local! {
        static PLUGIN: OnceCell<Plugin> = const { OnceCell::new() };
    }

    unsafe extern "C" {
        fn __wasm_call_ctors();
    }

    /// Initializes the C library. The linker would otherwise have each export do that, in each call.
    pub fn initialize() {
        // SAFETY: the host calls _initialize once, before every other export.
        unsafe { __wasm_call_ctors() }
        // WASI has no working directory, so the C library starts in /. If PWD is not granted, relative paths fail later.
        if let Some(directory) = env::var_os("PWD") {
            let _ = env::set_current_dir(directory);
        }
    }

    /// Handles one request. The plugin is made by the first one, which the host sends before it takes the snapshot.
    pub fn call(make: fn() -> Plugin, length: usize) {
        let request = imports::read_input(length);
        PLUGIN.with(|cell| imports::write_output(&cell.get_or_init(make).dispatch(&request)));
        let _ = std::io::stdout().flush(); // nothing can be done about output that is not wanted
    }

    /// Computes the derived data of one file.
    pub fn derive(compute: fn(u32, &[u8]) -> Vec<u8>, function: u32, length: usize) {
        imports::write_output(&compute(function, &imports::read_input(length)));
    }
}

#[cfg(target_os = "wasi")]
pub use wasm::*;
