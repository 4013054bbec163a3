//! The bits that stand for waits and patterns.

use ipcmark_transport::{Pattern, Wait};

use crate::c;

/// The bit that stands for a wait.
pub fn wait_bit(wait: Wait) -> u32 {
    match wait {
        Wait::Spin => c::SPIN,
        Wait::Block => c::BLOCK,
        Wait::Hybrid => c::HYBRID,
    }
}

/// The wait that a bit stands for.
pub fn wait_of(bit: u32) -> Option<Wait> {
    Wait::ALL.iter().copied().find(|wait| wait_bit(*wait) == bit)
}

/// The bit that stands for a pattern.
pub fn pattern_bit(pattern: Pattern) -> u32 {
    match pattern {
        Pattern::Latency => c::LATENCY,
        Pattern::OneWay => c::ONE_WAY,
        Pattern::Throughput => c::THROUGHPUT,
        Pattern::FanOut => c::FAN_OUT,
        Pattern::FanIn => c::FAN_IN,
    }
}
