//! Fuzz targets: functions of arbitrary bytes that must neither panic nor hang, one file each in `targets/`. libFuzzer
//! calls them in `make fuzz`; a test calls them with every input in `corpus/`.

mod edits;
mod target;
mod targets;

pub use target::Target;
pub use targets::ALL as TARGETS;
