#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agenthost_versions::fuzzing::versions_up(data));
