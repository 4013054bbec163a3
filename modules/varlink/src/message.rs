//! The method and its parameters, as the JSON of Varlink: bytes are a string, base64.

use base64::{DecodeSliceError, Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

/// The interface `ipcmark.varlink`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "method", content = "parameters")]
pub enum Method<'m> {
    /// `method Exchange(payload: string) -> (payload: string)`
    #[serde(rename = "ipcmark.varlink.Exchange")]
    Exchange {
        #[serde(borrow)]
        payload: &'m str,
    },
}

/// The parameters of a reply.
#[derive(Debug, Deserialize, Serialize)]
pub struct Exchanged<'m> {
    pub payload: &'m str,
}

/// An upper bound of what JSON adds to a payload.
pub const JSON_BYTES: usize = 128;

/// The characters of a payload of this length.
pub const fn encoded_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Encodes a payload, in the memory of an earlier one.
#[inline]
pub fn encode(payload: &[u8], text: &mut String) {
    text.clear();
    STANDARD.encode_string(payload, text);
}

/// Decodes a payload, and returns its length.
#[inline]
pub fn decode(text: &str, payload: &mut [u8]) -> Result<usize, DecodeSliceError> {
    STANDARD.decode_slice(text, payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_decoded_as_it_was_encoded() {
        let payload: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let (mut text, mut room) = (String::new(), vec![0; payload.len()]);
        for len in [0, 1, 2, 3, 16, 64, 999, 1000] {
            encode(&payload[..len], &mut text);
            assert_eq!(text.len(), encoded_len(len));
            assert_eq!(decode(&text, &mut room), Ok(len));
            assert_eq!(room[..len], payload[..len]);
        }
    }

    #[test]
    fn a_payload_that_is_too_long_or_no_base64_is_refused() {
        let (mut text, mut room) = (String::new(), vec![0; 16]);
        encode(&[7; 17], &mut text);
        assert!(decode(&text, &mut room).is_err());
        assert!(decode("no base64!", &mut room).is_err());
    }
}
