#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agenthost_protocol::fuzzing::wire_decode(data));
