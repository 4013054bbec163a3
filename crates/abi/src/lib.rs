//! Modules: transports in shared objects, behind the C contract of `include/ipcmark/transport.h`.
//!
//! A module is loaded in workers only, never in the command. To examine one, the command starts its
//! own executable again with the word [`MODULE_COMMAND`]; the executable must call [`serve`] when it
//! finds that word. The result, [`ExaminedModules`], is passed to every process started later.
//!
//! A module can be written in any language; in Rust, `ipcmark-contract` implements the contract for it.

mod buffer;
mod catalogue;
mod description;
mod discovery;
mod end;
mod examine;
mod examined;
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
mod signal_actions;
mod supervision;
mod transport;

pub use end::ModuleEndpoint;
pub use found::ExaminedModules;
pub use list::modules;
pub use serve::serve;
pub use transport::Module;

/// The command word that makes the executable work on a module.
pub const MODULE_COMMAND: &str = "__module";
