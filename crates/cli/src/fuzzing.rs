//! Input of users and their files, as functions of texts, for the fuzz targets in `crates/fuzz`.

use std::sync::LazyLock;

use ipcmark_engine::{Plan, Registry};

use crate::{
    arguments::{plan_file::PlanFile, run::RunArguments, sizes::Sizes},
    measurement::request::RunRequest,
};

static REGISTRY: LazyLock<Registry> = LazyLock::new(ipcmark_registry::native);

/// Parses the text of a plan, up to the plan of the run.
pub fn plan(text: &str) {
    let Ok(file) = PlanFile::parse("a plan".into(), text) else { return };
    let Ok(words) = file.words(&|_| false) else { return };
    let Ok(arguments) = RunArguments::of_words(&words) else { return };
    let Ok(request) = RunRequest::new(&arguments, &REGISTRY) else { return };
    let plan = Plan::new(&REGISTRY, &request.plan);
    assert!(plan.measurable() <= plan.len());
}

/// Parses the value of `--sizes`, and the content of a file of sizes.
pub fn sizes(text: &str) {
    for sizes in [Sizes::parse(text), Sizes::of_list(text)] {
        let Ok(Sizes(sizes)) = sizes else { continue };
        assert!(sizes.iter().all(|size| (16..=4 << 20).contains(size)), "{sizes:?}");
        assert!(!sizes.is_empty());
    }
}
