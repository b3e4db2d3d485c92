#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::update_properties(input));
