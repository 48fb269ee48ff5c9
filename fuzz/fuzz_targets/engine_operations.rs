#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    trommel_fuzz::engine_operations::run(data);
});
