//! The pauses of an end that polls memory.

use std::{cell::Cell, hint::spin_loop};

use ipcmark_transport::{OptionSpec, Role, Settings};

/// The option of a ring whose ends poll the memory itself.
pub const PAUSE: OptionSpec = OptionSpec::new(
    "pause",
    "most|none",
    "none on Intel processors, else most",
    "the processor's hint (PAUSE, YIELD) between two looks of a spinning end: after most looks, or never",
);

/// One look in this many, at random, is followed by the next one at once.
const LOOKS_WITHOUT_A_PAUSE: u64 = 16;

/// The processor's own hint for loops that poll, left out now and then, at random.
///
/// With a pause after each look, two ends that pass one message back and forth fall into step: the processor, it seems,
/// learns how many looks a wait takes, and executes what follows before the message is there, which moves the lines
/// earlier or later. Each pair of processes then had one of several speeds, a factor of 1.3 apart with 64 B, for as
/// long as it lived (docs/repeatability.md). A message that comes out of step takes as long either way.
pub struct Pauses {
    /// The state of the generator: never 0.
    state: Cell<u64>,
}

impl Pauses {
    /// The pauses of a spinning end of a ring, if it makes any.
    ///
    /// On an Intel processor an end that polls without them has a message of two lines in 0.76 of the time one way, and
    /// trials are half as far apart (docs/repeatability.md, also for what was measured on AMD processors).
    pub fn of_ring(settings: &Settings) -> Option<Self> {
        let pauses = match settings.options.get("pause") {
            Some(word) => word == "most",
            None => !is_intel(),
        };
        pauses.then(|| Self::new(settings.role))
    }

    /// The pauses of an end with this role: the two ends of a pair have different ones.
    pub fn new(role: Role) -> Self {
        let state = if role.is_leader() { 0x9e37_79b9_7f4a_7c15 } else { 0xd1b5_4a32_d192_ed03 };
        Self { state: Cell::new(state) }
    }

    /// Lets some time pass between two looks.
    #[inline(always)]
    pub fn pause(&self) {
        if self.has_pause() {
            spin_loop();
        }
    }

    /// True if a pause follows. The generator has few instructions and a state of one word: G. Marsaglia, Xorshift RNGs,
    /// Journal of Statistical Software 8(14), 2003.
    #[inline(always)]
    fn has_pause(&self) -> bool {
        let mut state = self.state.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.state.set(state);
        !(state >> 32).is_multiple_of(LOOKS_WITHOUT_A_PAUSE)
    }
}

/// True if Intel made the processor, which says so itself.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_intel() -> bool {
    let vendor = std::arch::x86_64::__cpuid(0);
    [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == *b"GenuineIntel"
}

#[cfg(any(miri, not(target_arch = "x86_64")))]
fn is_intel() -> bool {
    false
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use ipcmark_transport::Wait;

    use super::*;
    use crate::testing::settings;

    fn next(role: Role, count: usize) -> Vec<bool> {
        let pauses = Pauses::new(role);
        (0..count).map(|_| pauses.has_pause()).collect()
    }

    #[test]
    fn one_look_in_sixteen_has_no_pause() {
        for role in [Role::Leader, Role::Follower(0)] {
            let without = next(role, 16_000).iter().filter(|pauses| !**pauses).count();
            assert!((900..1100).contains(&without), "{without}");
        }
    }

    /// A processor could learn a distance that repeats.
    #[test]
    fn the_looks_without_a_pause_are_at_no_fixed_distance() {
        let looks = next(Role::Leader, 16_000);
        let at: Vec<usize> = (0..looks.len()).filter(|look| !looks[*look]).collect();
        let distances: BTreeSet<usize> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(distances.len() > 40, "{distances:?}");
    }

    #[test]
    fn the_option_decides_and_else_the_processor() {
        let pauses = |word: Option<&str>| {
            let mut settings = settings(Wait::Spin, 64);
            settings.options.extend(word.map(|word| ("pause".into(), word.into())));
            Pauses::of_ring(&settings).is_some()
        };
        assert!(pauses(Some("most")) && !pauses(Some("none")));
        assert_eq!(pauses(None), !is_intel());
    }

    #[test]
    fn the_ends_of_a_pair_have_different_pauses() {
        assert_ne!(next(Role::Leader, 1000), next(Role::Follower(0), 1000));
    }
}
