#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agenthost_mcp::fuzzing::mcp_responses(data));
