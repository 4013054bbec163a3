//! Keys of System V objects, which have no names.
//!
//! A key is derived from the name of its session, which is recorded before the session begins. So the
//! leftovers of a killed session can be found, and nothing else is mistaken for them; and neither end
//! tells the other which object to use or to remove.

use libc::key_t;

/// The letter `i`, to recognise the keys in a listing.
const FIRST_BYTE: u32 = 0x6900_0000;

/// The key of one of a session's objects.
pub fn key(session: &str, number: u8) -> key_t {
    let bytes = session.bytes().chain([number]);
    // FNV-1a: the same in every version of ipcmark, because another version may clean up.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (FIRST_BYTE | (hash ^ hash >> 24 ^ hash >> 48) as u32 & 0x00ff_ffff) as key_t
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn objects_and_sessions_have_keys_of_their_own() {
        let sessions = (0..100).map(|n| format!("ipcmark-01234567-{n}"));
        let keys = sessions.flat_map(|session| [key(&session, 0), key(&session, 1)]);
        assert_eq!(keys.collect::<BTreeSet<_>>().len(), 200);
        assert_eq!(key("ipcmark-01234567-1", 0), key("ipcmark-01234567-1", 0));
        assert_eq!(key("", 0) >> 24, 0x69);
    }
}
