//! What users and their files can ask for, as functions of texts: the fuzz targets in `crates/fuzz` call them.

use std::sync::LazyLock;

use ipcmark_engine::{Plan, Registry};

use crate::{
    arguments::{plan_file::PlanFile, run::RunArguments, sizes::Sizes},
    measurement::request::RunRequest,
};

static REGISTRY: LazyLock<Registry> = LazyLock::new(ipcmark_registry::native);

/// The text of a plan, up to the plan of the run.
pub fn plan(text: &str) {
    let Ok(file) = PlanFile::parse("a plan".into(), text) else { return };
    let Ok(words) = file.words(&|_| false) else { return };
    let Ok(arguments) = RunArguments::of_words(&words) else { return };
    let Ok(request) = RunRequest::new(&arguments, &REGISTRY) else { return };
    let plan = Plan::new(&REGISTRY, &request.plan);
    assert!(plan.measurable() <= plan.len());
}

/// What stands behind `--sizes`, and in a file of sizes.
pub fn sizes(text: &str) {
    for sizes in [Sizes::parse(text), Sizes::of_list(text)] {
        let Ok(Sizes(sizes)) = sizes else { continue };
        assert!(sizes.iter().all(|size| (16..=4 << 20).contains(size)), "{sizes:?}");
        assert!(!sizes.is_empty());
    }
}
