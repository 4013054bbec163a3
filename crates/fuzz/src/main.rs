//! The fuzzer of the target that `IPCMARK_FUZZ` names. See `make fuzz`.

#![no_main]

use std::{env, sync::LazyLock};

use ipcmark_fuzz::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    // As the standard library does before `main`, which libFuzzer has instead: a closed socket is an error to a writer.
    // SAFETY: SIG_IGN runs no code.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let name = env::var("IPCMARK_FUZZ").unwrap_or_default();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    let target = TARGETS.iter().find(|target| target.name == name);
    target.unwrap_or_else(|| panic!("IPCMARK_FUZZ must be one of {}", names.join(", ")))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.run)(data));
