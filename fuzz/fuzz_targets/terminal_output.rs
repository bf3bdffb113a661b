#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agenthost_workspace::fuzz::terminal_output(data));
