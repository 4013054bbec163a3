//! Long lists of which each run of the tests tries a part: those of a few days come to all.

use std::{
    collections::hash_map::RandomState,
    env,
    hash::{BuildHasher, Hash},
};

/// A variable that is set where everything is tried, as `make torture` does.
const ALL: &str = "IPCMARK_TEST_ALL";

/// One of so many is tried otherwise, from a random one on.
const OF: usize = 3;

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
