//! The time limit in which the ends of a library must find each other.

use std::{
    fmt,
    time::{Duration, Instant},
};

/// The end of that limit. An end makes one when it opens, so that all its waits share the limit.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    limit: Duration,
    end: Instant,
}

impl Deadline {
    /// The deadline that ends `limit` from now on.
    pub fn after(limit: Duration) -> Self {
        Self { limit, end: Instant::now() + limit }
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// True if no time is left.
    pub fn has_passed(&self) -> bool {
        self.left().is_zero()
    }
}

/// The whole limit, as in an error: `within 8 s`.
impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "within {} s", self.limit.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_names_its_whole_limit() {
        let texts = [8000, 2400, 500].map(|ms| Deadline::after(Duration::from_millis(ms)));
        let texts = texts.map(|deadline| deadline.to_string());
        assert_eq!(texts, ["within 8 s", "within 2.4 s", "within 0.5 s"]);
    }

    #[test]
    fn a_deadline_passes() {
        let deadline = Deadline::after(Duration::from_secs(3600));
        assert!(!deadline.has_passed() && deadline.left() <= Duration::from_secs(3600));
        assert!(Deadline::after(Duration::ZERO).has_passed());
    }
}
