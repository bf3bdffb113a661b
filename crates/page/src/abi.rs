//! The interface to JavaScript: JSON text in, JSON text out, in regions of the memory.
//!
//! `page_alloc` returns a region for the input. `page_step` takes it over and returns the
//! address of the output: its length in four bytes (little-endian), then the text. `page_free`
//! releases it.

#![expect(
    unsafe_code,
    reason = "JavaScript passes addresses of regions that this module has allocated"
)]

use std::cell::RefCell;

use agenthost_frontend::{ClientName, Frontend, TimedInput};
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::wire::read_input;

const CLIENT: ClientName = ClientName("agenthost-page");

thread_local! {
    static CORE: RefCell<Frontend> = RefCell::new(Frontend::new(CLIENT));
    /// Regions that JavaScript holds, by address.
    static REGIONS: RefCell<SortedMap<usize, Box<[u8]>>> = const { RefCell::new(SortedMap::new()) };
}

/// Keeps a region until JavaScript returns its address.
fn lend(region: Box<[u8]>) -> *mut u8 {
    REGIONS.with_borrow_mut(|regions| {
        let mut region = region;
        let address = region.as_mut_ptr();
        regions.insert(address.addr(), region);
        address
    })
}

fn take_back(address: *mut u8) -> Option<Box<[u8]>> {
    REGIONS.with_borrow_mut(|regions| regions.remove(&address.addr()))
}

/// Allocates a region for an input.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_alloc(length: usize) -> *mut u8 {
    lend(vec![0; length].into_boxed_slice())
}

/// Executes one step. The region of the input is released.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_step(address: *mut u8, length: usize) -> *mut u8 {
    let input = take_back(address).unwrap_or_default();
    let input = input.get(..length).unwrap_or_default();
    // The worker sends nothing but valid inputs.
    let input = std::str::from_utf8(input).unwrap_or_default();
    let effects = match read_input::<TimedInput>(input) {
        Ok(input) => CORE.with_borrow_mut(|core| core.step(input)),
        Err(_) => Vec::new(),
    };
    let text = serde_json::to_vec(&effects).unwrap_or_else(|_| b"[]".to_vec());
    let mut output = Vec::with_capacity(text.len() + 4);
    output.extend_from_slice(&u32::try_from(text.len()).unwrap_or_default().to_le_bytes());
    output.extend_from_slice(&text);
    lend(output.into_boxed_slice())
}

/// Releases the region of an output.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_free(address: *mut u8) {
    drop(take_back(address));
}
