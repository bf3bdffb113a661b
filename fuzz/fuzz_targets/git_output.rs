#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agenthost_workspace::fuzz::git_output(data));
