//! One of two plans that are measured in turns.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::ArgMatches;
use ipcmark_engine::{Plan, Trials};
use ipcmark_machine::placement::Pinning;
use ipcmark_results::Outcome;

use super::arguments::{OF_RUN_ALONE, shared_flags};
use crate::{
    arguments::{
        of_run::{self, given},
        plan_file::PlanFile,
        run::RunArguments,
    },
    definition::Rejection,
    measurement::RunRequest,
    registry::{self, Transports},
};

/// A plan with its transports and its request.
pub(super) struct PlanSide {
    pub name: String,
    pub transports: Transports,
    pub request: RunRequest,
    /// All its rows.
    pub plan: Plan,
    /// Keys of the plan that a comparison does not use.
    pub unused: Vec<&'static str>,
}

impl PlanSide {
    /// Reads a plan; flags that the user has written override it.
    pub(super) fn read(path: &Path, flags: &ArgMatches) -> Result<Self, Rejection> {
        let file = PlanFile::read(path)?;
        let unused = OF_RUN_ALONE.into_iter().filter(|key| file.has(key)).collect();
        let file = file.without(&OF_RUN_ALONE);
        let given = given(&shared_flags(), flags);
        let words = [file.words(&|flag| of_run::is_given(flags, flag))?, given].concat();
        let arguments = RunArguments::of_words(&words)?;
        let transports = registry::look(&arguments.module, &arguments.named())?;
        let mut request = RunRequest::new(&arguments, &transports.registry)?;
        request.plan.trials = Trials::Fixed(1);
        request.options.command = command(&words);
        let plan = Plan::new(&transports.registry, &request.plan);
        Ok(Self { name: path.display().to_string(), transports, request, plan, unused })
    }

    /// True if it names a transport that cannot be measured.
    pub(super) fn lacks_named_transports(&self) -> bool {
        let named = |session: usize| {
            self.request.selection.by_name.contains(&self.plan.sessions[session].transport)
        };
        let is_lacking = |outcome: &Option<Outcome>| outcome.is_some();
        self.plan.rows.iter().any(|row| is_lacking(&row.verdict) && named(row.session))
    }
}

/// The words of `ipcmark run` that measure the same, for the result file.
fn command(words: &[OsString]) -> Vec<String> {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    ["ipcmark".into(), "run".into()].into_iter().chain(words).collect()
}

/// Reads both plans.
pub(super) fn read(paths: [&PathBuf; 2], flags: &ArgMatches) -> Result<[PlanSide; 2], Rejection> {
    let (base, mut new) = (PlanSide::read(paths[0], flags)?, PlanSide::read(paths[1], flags)?);
    // Both members of a pair are measured in the same order.
    new.request.plan.seed = base.request.plan.seed;
    new.plan.seed = base.plan.seed;
    let sides = [base, new];
    check(&sides)?;
    Ok(sides)
}

/// The bare round trip at which rows are compared, if one was requested.
pub(super) fn distance_ns(sides: &[PlanSide; 2]) -> Option<f64> {
    let of = |side: &PlanSide| side.request.options.distance;
    sides.iter().find_map(of).map(|distance| distance.as_nanos() as f64)
}

/// Refuses what pairs of trials cannot be compared with.
fn check(sides: &[PlanSide; 2]) -> Result<(), String> {
    let cannot = format!("cannot compare {} with {}", sides[0].name, sides[1].name);
    let [base, new] = sides.each_ref().map(|side| &side.request.options);
    if base.distance.zip(new.distance).is_some_and(|(base, new)| base != new) {
        return Err(format!(
            "{cannot}: they name different distances, and pairs are compared at one; name it with --distance"
        ));
    }
    if [base, new].iter().any(|options| options.pinning == Pinning::EachLevel) {
        return Err(format!(
            "{cannot} at each placement in turn: both trials of a pair have one placement; name it, as with \
             --placement same-cache"
        ));
    }
    Ok(())
}
