//! A machine's noise: autocorrelated, with bursts and with distances that change.

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Random numbers from a fixed seed.
pub struct Noise(ChaCha8Rng);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Evenly distributed in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let angle = std::f64::consts::TAU * self.uniform();
        (-2.0 * self.uniform().ln()).sqrt() * angle.cos()
    }

    /// Mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    pub fn normals(&mut self, count: usize, deviation: f64) -> Vec<f64> {
        (0..count).map(|_| deviation * self.normal()).collect()
    }

    /// Logarithms of consecutive blocks: AR(1) with a correlation of 0.7 and this standard
    /// deviation, and bursts that begin in one block of 100, last five on average and make blocks
    /// longer by a factor of up to 4.
    pub fn blocks(&mut self, count: usize, deviation: f64) -> Vec<f64> {
        const CORRELATION: f64 = 0.7;
        let innovation = deviation * (1.0 - CORRELATION * CORRELATION).sqrt();
        let mut level = deviation * self.normal();
        let mut burst = None;
        let mut next = || {
            level = CORRELATION * level + innovation * self.normal();
            burst = match burst {
                Some(height) if !self.happens(0.2) => Some(height),
                _ => self.happens(0.01).then(|| 4.0_f64.ln() * self.uniform()),
            };
            level + burst.unwrap_or(0.0)
        };
        (0..count).map(|_| next()).collect()
    }
}
