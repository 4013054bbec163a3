//! Text from and for a module.

use std::ffi::{CStr, c_char};

/// A NUL-terminated text of a module; `None` if the address is null.
///
/// # Safety
/// `text` is null or the address of a text that ends with a NUL byte.
pub unsafe fn read(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller guarantees a NUL-terminated text.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// The text in a fixed array, which may lack the final NUL byte.
pub fn read_array(array: &[c_char]) -> String {
    let bytes: Vec<u8> =
        array.iter().map(|c| c.to_ne_bytes()[0]).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes a text into a fixed array, truncated if it does not fit.
pub fn write_array(array: &mut [c_char], text: &str) {
    let room = array.len() - 1;
    let bytes = text.bytes().take(room).chain([0]);
    array.iter_mut().zip(bytes).for_each(|(to, from)| *to = c_char::from_ne_bytes([from]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_holds_what_fits() {
        let mut array = [c_char::from_ne_bytes([b'x']); 4];
        assert_eq!(read_array(&array), "xxxx");
        for (text, kept) in [("", ""), ("ab", "ab"), ("abc", "abc"), ("abcd", "abc")] {
            write_array(&mut array, text);
            assert_eq!(read_array(&array), kept);
        }
    }
}
