//! Encodes bytes as hexadecimal text.

/// Returns the bytes as lower-case hexadecimal digits, two for each byte.
pub fn encode_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(encode_hex(&[0, 10, 255]), "000aff");
        assert_eq!(encode_hex(&[]), "");
    }
}
