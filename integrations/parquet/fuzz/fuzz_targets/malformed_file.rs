#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trommel_parquet_fuzz::malformed_file::run(data));
