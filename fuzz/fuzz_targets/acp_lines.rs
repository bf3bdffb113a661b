#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agenthost_acp::fuzz::acp_lines(data));
