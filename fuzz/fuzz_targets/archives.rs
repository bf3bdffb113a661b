#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agenthost_customizations::fuzz::archives(data));
