//! This process's rank in its job, as its launcher sets it in the environment.

use std::env;

/// This process's position in its job.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JobRank {
    /// Its number, from 0.
    pub number: u32,
    /// The number of ranks.
    pub count: u32,
    /// A name that is unique among the launcher's jobs.
    pub job: Option<String>,
}

/// The variables that a launcher sets.
struct Launcher {
    name: &'static str,
    rank: &'static str,
    count: &'static [&'static str],
    /// The variables that together identify a job.
    job: &'static [&'static str],
}

/// Launchers that start others come last: mpirun in an allocation of Slurm is asked first.
const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        count: &["OMPI_COMM_WORLD_SIZE"],
        job: &["PMIX_NAMESPACE"],
    },
    Launcher { name: "MPICH", rank: "PMI_RANK", count: &["PMI_SIZE"], job: &[] },
    Launcher {
        name: "Slurm",
        rank: "SLURM_PROCID",
        count: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        job: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    },
    Launcher { name: "PMIx", rank: "PMIX_RANK", count: &[], job: &["PMIX_NAMESPACE"] },
    Launcher { name: "Kubernetes", rank: "JOB_COMPLETION_INDEX", count: &[], job: &[] },
];

impl JobRank {
    /// The rank from the command line, or else from the launcher.
    pub(super) fn find(number: Option<u32>, count: Option<u32>) -> Result<Self, String> {
        Self::among(number, count, &|name| env::var(name).ok())
    }

    fn among(
        number: Option<u32>,
        count: Option<u32>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let launcher = launcher(variable);
        let told =
            |names: &[&str]| match names.iter().find_map(|name| Some((name, variable(name)?))) {
                Some((name, text)) => parsed(name, &text).map(Some),
                None => Ok(None),
            };
        let of_launcher = launcher.map_or(Ok(None), |launcher| told(&[launcher.rank]))?;
        let Some(number) = number.or(of_launcher) else {
            return Err("no launcher sets the rank of this process: start it with mpirun or srun, or name --rank \
                        and --ranks"
                .into());
        };
        let count = match (count, launcher) {
            (Some(count), _) => Some(count),
            (None, launcher) => launcher.map_or(Ok(None), |launcher| told(launcher.count))?,
        };
        let count = count.ok_or_else(|| {
            let name = launcher.map_or("nobody", |launcher| launcher.name);
            format!("{name} does not give the number of ranks: use --ranks")
        })?;
        match (number, count) {
            (_, 0 | 1) => Err("one rank cannot measure: start at least two".into()),
            (_, 66..) => Err(format!("{count} ranks are too many: one leads at most 64 followers")),
            _ if number >= count => {
                Err(format!("there is no rank {number} of {count}: they count from 0"))
            }
            _ => Ok(Self {
                number,
                count,
                job: launcher.and_then(|launcher| job(launcher, variable)),
            }),
        }
    }
}

/// The launcher that set the rank. Slurm sets the variables of MPICH too if it speaks its protocol: of two that say the
/// same, that which names the job.
fn launcher(variable: &dyn Fn(&str) -> Option<String>) -> Option<&'static Launcher> {
    let says = |launcher: &Launcher| {
        let count = launcher.count.iter().find_map(|name| variable(name));
        Some((variable(launcher.rank)?, count))
    };
    let mut saying = LAUNCHERS.iter().filter(|launcher| says(launcher).is_some());
    let first = saying.next()?;
    let same = saying.find(|other| !other.job.is_empty() && says(other) == says(first));
    Some(same.filter(|_| first.job.is_empty()).unwrap_or(first))
}

fn parsed(name: &str, text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| format!("{name} is not a number: '{}'", text.escape_debug()))
}

/// The job's name, with only characters that are valid in a file name.
fn job(launcher: &Launcher, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let parts: Option<Vec<String>> = launcher.job.iter().map(|name| variable(name)).collect();
    let name = parts.filter(|parts| !parts.is_empty())?.join("-");
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    Some(name.chars().take(64).map(plain).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn found(variables: &str, number: Option<u32>, count: Option<u32>) -> Result<JobRank, String> {
        let split = |pair: &str| pair.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()));
        let all: BTreeMap<String, String> =
            variables.split_whitespace().filter_map(split).collect();
        JobRank::among(number, count, &|name| all.get(name).cloned())
    }

    fn rank(number: u32, count: u32, job: Option<&str>) -> Result<JobRank, String> {
        Ok(JobRank { number, count, job: job.map(Into::into) })
    }

    #[test]
    fn the_variables_of_every_launcher_are_read() {
        for (variables, wanted) in [
            (
                "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=a/b@1",
                rank(1, 2, Some("a_b_1")),
            ),
            ("PMI_RANK=0 PMI_SIZE=4", rank(0, 4, None)),
            (
                "SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_JOB_ID=17 SLURM_STEP_ID=0",
                rank(3, 4, Some("17-0")),
            ),
            // Regression: srun --mpi=pmi2 was taken for an MPICH that names no job.
            (
                "PMI_RANK=1 PMI_SIZE=2 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_ID=17 SLURM_STEP_ID=0",
                rank(1, 2, Some("17-0")),
            ),
            ("SLURM_PROCID=0 SLURM_NTASKS=1 PMI_RANK=1 PMI_SIZE=2", rank(1, 2, None)),
        ] {
            assert_eq!(found(variables, None, None), wanted, "{variables}");
        }
        assert_eq!(found("JOB_COMPLETION_INDEX=1", None, Some(2)), rank(1, 2, None));
        assert_eq!(found("", Some(1), Some(3)), rank(1, 3, None));
    }

    #[test]
    fn impossible_ranks_are_rejected_with_the_reason() {
        for (variables, number, count, wanted) in [
            ("", None, None, "no launcher sets"),
            ("JOB_COMPLETION_INDEX=1", None, None, "Kubernetes does not give the number"),
            ("PMI_RANK=x PMI_SIZE=2", None, None, "PMI_RANK is not a number: 'x'"),
            ("", Some(0), Some(1), "start at least two"),
            ("", Some(2), Some(2), "they count from 0"),
            ("", Some(2), Some(99), "at most 64 followers"),
        ] {
            let refused = found(variables, number, count).unwrap_err();
            assert!(refused.contains(wanted), "{variables}: {refused}");
        }
    }
}
