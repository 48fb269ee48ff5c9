#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    trommel_fuzz::bloom_operations::run(data);
});
