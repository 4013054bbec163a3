//! The times between each two ranks of a job: a map for each row that was measured between them.

use std::collections::BTreeMap;

use crate::{
    groups::GroupKey,
    model::{Between, Case, Identity, RankPlace, RunResult},
    rows::{Figure, Row},
    stats::median,
};

/// The pairs of one row: of one transport, payload, wait and so on.
#[derive(Clone, Debug)]
pub struct HostMap<'a> {
    /// The row's identity, from one of the pairs.
    pub identity: &'a Identity,
    /// The ranks, by their numbers.
    pub ranks: BTreeMap<u32, &'a RankPlace>,
    /// The pairs, by the ranks of leader and follower.
    pub pairs: BTreeMap<(u32, u32), HostPair<'a>>,
}

/// One pair of ranks.
#[derive(Clone, Copy, Debug)]
pub struct HostPair<'a> {
    /// Its case.
    pub case: &'a Case,
    /// The median of its samples over all processor positions; for a stream the mean time of a message. None if it was
    /// not measured.
    pub time: Option<Figure>,
    /// True if both ranks are on hosts with the same name.
    pub is_one_host: bool,
}

/// A pair whose time differs from that of most pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// The ranks of leader and follower.
    pub pair: (u32, u32),
    /// Its time.
    pub time: Figure,
    /// The median of all pairs that it was compared with.
    pub usual_ns: f64,
    /// The number of these pairs.
    pub among: usize,
    /// True if these are pairs on one host.
    pub is_one_host: bool,
}

/// The fewest pairs among which an outlier is reported.
const FEWEST: usize = 5;

/// The limit in scaled median absolute deviations from the median.
const FAR: f64 = 3.0;

/// The factor from the median absolute deviation of normal values to their standard deviation.
const SCALE: f64 = 1.4826;

/// The maps of a result, in the order of its groups; empty if it was not measured between each two ranks of a job.
pub fn host_maps(result: &RunResult) -> Vec<HostMap<'_>> {
    let mut maps: Vec<(Identity, HostMap)> = Vec::new();
    for case in &result.cases {
        let Some(between) = &case.identity.between else { continue };
        let row = row_of(&case.identity);
        let at = maps.iter().position(|(known, _)| *known == row).unwrap_or_else(|| {
            let (ranks, pairs) = (BTreeMap::new(), BTreeMap::new());
            maps.push((row, HostMap { identity: &case.identity, ranks, pairs }));
            maps.len() - 1
        });
        maps[at].1.add(case, between);
    }
    maps.sort_by(|(a, _), (b, _)| {
        let order = |identity: &Identity| {
            (GroupKey::of(identity), identity.transport.clone(), identity.options.clone())
        };
        order(a).cmp(&order(b))
    });
    maps.into_iter().map(|(_, map)| map).collect()
}

/// The part of an identity that the pairs of a map share. Hosts can have different versions of the library.
fn row_of(identity: &Identity) -> Identity {
    Identity { between: None, library_version: None, ..identity.clone() }
}

impl<'a> HostMap<'a> {
    fn add(&mut self, case: &'a Case, between: &'a Between) {
        let Between { leader, follower } = between;
        for end in [leader, follower] {
            self.ranks.insert(end.rank, end);
        }
        let pair = HostPair { case, time: time(case), is_one_host: leader.host == follower.host };
        self.pairs.insert((leader.rank, follower.rank), pair);
    }

    /// The pairs whose time differs from most of their kind, on one host or on two: further from the median of the
    /// logarithms than three scaled median absolute deviations, and with an interval that does not contain the median.
    pub fn outliers(&self) -> Vec<Outlier> {
        let mut found: Vec<Outlier> =
            [true, false].into_iter().flat_map(|is_one_host| self.among(is_one_host)).collect();
        found.sort_by_key(|outlier| outlier.pair);
        found
    }

    fn among(&self, is_one_host: bool) -> Vec<Outlier> {
        let alike = self.pairs.iter().filter(|(_, pair)| pair.is_one_host == is_one_host);
        let timed: Vec<((u32, u32), Figure)> = alike
            .filter_map(|(ranks, pair)| Some((*ranks, pair.time.filter(|time| time.value > 0.0)?)))
            .collect();
        let logs: Vec<f64> = timed.iter().map(|(_, time)| time.value.ln()).collect();
        let Some(middle) = median(&logs).filter(|_| logs.len() >= FEWEST) else {
            return Vec::new();
        };
        let off: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
        let limit = FAR * SCALE * median(&off).unwrap_or(0.0);
        let usual_ns = middle.exp();
        let is_far = |time: &Figure| (time.value.ln() - middle).abs() > limit;
        let is_sure = |time: &Figure| {
            time.interval.is_some_and(|bounds| usual_ns < bounds.low || usual_ns > bounds.high)
        };
        let outliers = timed.iter().filter(|(_, time)| is_far(time) && is_sure(time));
        let among = timed.len();
        outliers
            .map(|(pair, time)| Outlier { pair: *pair, time: *time, usual_ns, among, is_one_host })
            .collect()
    }
}

fn time(case: &Case) -> Option<Figure> {
    let row = Row::of(case, None)?;
    match case.identity.pattern.is_stream() {
        true => row.location(),
        false => row.percentile(0.5),
    }
}
