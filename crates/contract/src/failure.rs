//! Converts errors to and from the contract's form.

use std::{ffi::c_int, io};

use ipcmark_transport::Error;

use crate::{
    c,
    text::{read_array, write_array},
};

/// An empty error to pass to a module.
pub fn blank() -> c::Error {
    c::Error {
        size: size_of::<c::Error>() as u32,
        number: 0,
        operation: [0; 64],
        object: [0; 192],
        cause: [0; 512],
        remedy: [0; 256],
    }
}

/// The error that a module reported in a call that returned `code`; `operation` and `object`
/// replace empty fields.
#[cold]
pub fn read(code: c_int, error: &c::Error, operation: &str, object: &str) -> Error {
    let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
    let operation = or(read_array(&error.operation), operation);
    let object = or(read_array(&error.object), object);
    let read = match (code, read_array(&error.cause)) {
        (c::PEER_GONE, _) => Error::peer_gone(operation, object),
        (c::FAILED, cause) if !cause.is_empty() => Error::new(operation, object, cause),
        (c::FAILED, _) if error.number != 0 => {
            Error::os(operation, object, io::Error::from_raw_os_error(error.number))
        }
        (c::FAILED, _) => Error::new(operation, object, "the module gives no reason"),
        (code, _) => {
            let cause = format!("the module returned {code}, which the contract does not know");
            Error::new(operation, object, cause)
        }
    };
    match read_array(&error.remedy) {
        remedy if remedy.is_empty() => read,
        remedy => read.remedy(remedy),
    }
}

/// Writes an error for the other side of the contract; returns its code. [`read`] restores the same
/// error from both, except for texts that had to be cut.
pub fn write(error: &Error, to: &mut c::Error) -> c_int {
    let [operation, object, cause] = error.parts();
    write_array(&mut to.operation, operation);
    write_array(&mut to.object, object);
    // The reader makes the text of a number.
    to.number = error.os_error().unwrap_or(0);
    write_array(&mut to.cause, if to.number == 0 { cause } else { "" });
    write_array(&mut to.remedy, error.remedy_text().unwrap_or(""));
    if error.is_peer_gone() { c::PEER_GONE } else { c::FAILED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_the_text_of_the_module() {
        let mut error = blank();
        assert_eq!(
            read(c::FAILED, &error, "open", "x").to_string(),
            "cannot open x: the module gives no reason"
        );
        error.number = 2;
        assert_eq!(read(c::FAILED, &error, "open", "x").os_error(), Some(2));
        write_array(&mut error.operation, "bind");
        write_array(&mut error.object, "ipc://x");
        write_array(&mut error.cause, "in use");
        write_array(&mut error.remedy, "rm x");
        let text = read(c::FAILED, &error, "open", "x").to_string();
        assert_eq!(text, "cannot bind ipc://x: in use; rm x");
        assert!(read(c::PEER_GONE, &error, "open", "x").is_peer_gone());
        assert!(read(77, &error, "open", "x").to_string().contains("returned 77"));
    }

    #[test]
    fn an_error_is_the_same_on_both_sides() {
        for error in [
            Error::os("create", "the queue /x", io::Error::from_raw_os_error(28)),
            Error::new("bind", "ipc://x", "in use").remedy("rm x"),
            Error::peer_gone("receive", "a frame"),
        ] {
            let mut said = blank();
            let read = read(write(&error, &mut said), &said, "open", "x");
            assert_eq!(read.to_string(), error.to_string());
            assert_eq!(read.os_error(), error.os_error());
            assert_eq!(read.is_peer_gone(), error.is_peer_gone());
        }
    }
}
