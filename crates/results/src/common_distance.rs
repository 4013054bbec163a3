//! The common distance: several results of one sitting, placed together as if they were one run.

use crate::{
    counting::Counting,
    model::{RunResult, Trial},
    placing::{classes, clock_free_at, probes},
    stats::{self, Distances},
};

/// The distance at which the rows of several results are compared: the one with most blocks over all results, unless
/// another was requested.
pub(crate) struct CommonDistance {
    distances: Distances,
    reference: Option<usize>,
}

impl CommonDistance {
    /// From all probes of these results together. Their own distances may differ: one that is rare in a result is not a
    /// distance there. The distance nearest to `wanted_ns`, a bare round trip, is the reference if it is given.
    pub(crate) fn of(results: &[&RunResult], wanted_ns: Option<f64>) -> Self {
        let probes: Vec<f64> = results.iter().flat_map(|result| probes(result)).collect();
        let distances = Distances::of(&probes);
        let trials = results.iter().flat_map(|result| &result.cases).flat_map(|c| c.trials());
        let blocks: Vec<Option<usize>> =
            trials.flat_map(|trial| classes(&distances, &trial.blocks)).collect();
        let wanted = wanted_ns.and_then(|wanted_ns| distances.nearest(wanted_ns));
        let reference = wanted.or_else(|| distances.reference(&blocks));
        Self { distances, reference }
    }

    /// The bare round trip at this distance.
    pub(crate) fn floor_ns(&self) -> Option<f64> {
        self.reference.map(|at| self.distances.all()[at].floor_ns)
    }

    /// The logarithms of the locations of a row's trials. A trial without probes has its clock-free mean.
    pub(crate) fn log_locations(&self, trials: &[Option<&Trial>]) -> Vec<Option<f64>> {
        let counting = Counting::of(trials.iter().copied().flatten());
        let placed = |trial: &Trial| {
            let at = self
                .reference
                .map(|at| clock_free_at(&self.distances, counting, &trial.blocks, at));
            at.unwrap_or_default()
        };
        let sessions: Vec<Vec<stats::ProbedBlock>> =
            trials.iter().map(|trial| trial.map(placed).unwrap_or_default()).collect();
        let elasticity = stats::elasticity(&sessions);
        let floor_ns = self.floor_ns().unwrap_or(0.0);
        let location = |(trial, blocks): (&Option<&Trial>, &Vec<stats::ProbedBlock>)| match trial {
            Some(trial) if trial.blocks.probe_before_ns.is_empty() => unprobed(trial),
            _ => stats::adjusted_location(blocks, floor_ns, elasticity),
        };
        trials.iter().zip(&sessions).map(location).collect()
    }
}

fn unprobed(trial: &Trial) -> Option<f64> {
    Some(trial.clock_free_mean_ns).filter(|mean| *mean > 0.0).map(f64::ln)
}
