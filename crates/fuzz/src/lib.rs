//! Fuzz targets: functions of any bytes that must neither panic nor hang, one file each in `targets/`. libFuzzer calls
//! them in `make fuzz`; a test calls them with every input that is kept in `corpus/`.

mod edits;
mod target;
mod targets;

pub use target::Target;
pub use targets::ALL as TARGETS;
