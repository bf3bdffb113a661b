#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agenthost_mcp::fuzz::mcp_responses(data));
