//! Modules: transports in shared objects, behind the C contract of `include/ipcmark/transport.h`.
//!
//! A module is loaded in workers only, never in the command. To see what one offers, the command
//! starts its own executable again, told so by [`MODULE_COMMAND`]; the executable must call [`serve`]
//! when it finds that word. What was [`Found`] is handed on to every process that is started later.
//!
//! A module can be written in any language; one that is written in Rust leaves the contract to
//! [`mod@export`].

mod asked;
mod buffer;
pub mod c;
mod catalogue;
mod description;
mod discovery;
mod end;
mod examine;
pub mod export;
mod failure;
mod found;
#[doc(hidden)]
pub mod fuzzing;
mod library;
mod list;
mod origin;
mod packaged;
mod process;
mod serve;
mod session;
mod supervision;
mod text;
mod transport;

pub use end::ModuleEnd;
pub use found::Found;
pub use list::modules;
pub use serve::serve;
pub use transport::Module;

/// The word by which the executable is told to deal with a module.
pub const MODULE_COMMAND: &str = "__module";
