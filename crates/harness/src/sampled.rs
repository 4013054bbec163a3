//! Long lists of which each run of the tests tries a part: those of a few days come to all.

use std::{
    collections::hash_map::RandomState,
    env,
    hash::{BuildHasher, Hash},
    sync::LazyLock,
};

/// A variable that is set where everything is tried, as `make torture` does.
const ALL: &str = "IPCMARK_TEST_ALL";

/// One of so many is tried otherwise, from a random one on.
const OF: usize = 4;

/// The first index that is tried, and the distance to the next one; `what` is the name of the list.
pub fn first_and_step(what: impl Hash) -> (usize, usize) {
    let step = if env::var_os(ALL).is_some() { 1 } else { OF };
    let first = RandomState::new().hash_one(what) % step as u64;
    (first as usize, step)
}

/// The members of a list that are tried: at least one, unless it is empty.
pub fn sampled<T>(what: impl Hash, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let all: Vec<T> = all.collect();
    let (first, step) = first_and_step(what);
    let first = first % all.len().max(1);
    all.into_iter().skip(first).step_by(step)
}

/// True for one of `count` members of a list, at a random index `at`, which stays the same in this process.
pub fn is_drawn(what: impl Hash, count: usize, at: usize) -> bool {
    static DRAW: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    env::var_os(ALL).is_some() || DRAW.hash_one(what) % count.max(1) as u64 == at as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_member_is_drawn_each_time() {
        if env::var_os(ALL).is_some() {
            return;
        }
        for name in ["a", "b", "c", "d"] {
            let drawn = || (0..3).filter(|at| is_drawn(name, 3, *at)).collect::<Vec<_>>();
            assert_eq!(drawn().len(), 1);
            assert_eq!(drawn(), drawn());
        }
    }
}
