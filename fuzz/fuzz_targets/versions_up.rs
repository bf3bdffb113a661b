#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agenthost_versions::fuzz::versions_up(data));
