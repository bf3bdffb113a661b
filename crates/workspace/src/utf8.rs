//! Incremental UTF-8 decoding of a byte stream.

/// Drains all complete characters and leaves an incomplete one at the end in the buffer.
/// Invalid bytes are replaced.
pub fn drain_valid_utf8(bytes: &mut Vec<u8>) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        // Invalid bytes in the middle are replaced; an incomplete character at the end is kept.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => {
            let open = bytes.iter().rev().take(3).position(|byte| *byte >= 0xc0);
            let end = open.map_or(bytes.len(), |back| bytes.len() - back - 1);
            let tail = bytes.get(end..).unwrap_or_default();
            let unfinished = std::str::from_utf8(tail).is_err_and(|e| e.error_len().is_none());
            if unfinished { end } else { bytes.len() }
        }
    };
    let rest = bytes.split_off(whole);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_characters_are_joined() {
        let text = "a🦀é";
        for split in 0..text.len() {
            let (first, second) = text.as_bytes().split_at(split);
            let mut bytes = first.to_vec();
            let mut read = drain_valid_utf8(&mut bytes);
            bytes.extend(second);
            read.push_str(&drain_valid_utf8(&mut bytes));
            assert_eq!(read, text);
            assert!(bytes.is_empty());
        }
        let mut bytes = b"ok \xff\xfe ok \xf0\x9f".to_vec();
        assert_eq!(drain_valid_utf8(&mut bytes), "ok \u{fffd}\u{fffd} ok ");
        assert_eq!(bytes, b"\xf0\x9f");
    }
}
