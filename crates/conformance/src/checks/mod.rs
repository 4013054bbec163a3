//! The checks, one file each: the code of both processes and of the test around them. Each file ends in its definition,
//! and has a line in [`ALL`].

mod back_pressure;
mod both_full;
mod capabilities;
mod crash;
mod crash_opening;
mod held;
mod open_close;
mod own_message;
mod sizes;
mod steady;
mod stopped;
mod two_sessions;
mod varied;

use crate::check::Check;

pub use back_pressure::BACK_PRESSURE;
pub use both_full::BOTH_FULL;
pub use capabilities::CAPABILITIES;
pub use crash::CRASH;
pub use crash_opening::CRASH_OPENING;
pub use held::HELD;
pub use open_close::OPEN_CLOSE;
pub use own_message::OWN_MESSAGE;
pub use sizes::SIZES;
pub use steady::STEADY;
pub use stopped::STOPPED_RECEIVER;
pub use two_sessions::TWO_SESSIONS;
pub use varied::VARIED;

/// All of them, in the order in which they run.
pub const ALL: [Check; 13] = [
    CAPABILITIES,
    OPEN_CLOSE,
    STEADY,
    SIZES,
    VARIED,
    BACK_PRESSURE,
    HELD,
    BOTH_FULL,
    OWN_MESSAGE,
    STOPPED_RECEIVER,
    TWO_SESSIONS,
    CRASH,
    CRASH_OPENING,
];

/// The check with this name.
pub(crate) fn named(name: &str) -> Option<Check> {
    ALL.into_iter().find(|check| check.name == name)
}
