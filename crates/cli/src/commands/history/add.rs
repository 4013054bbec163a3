//! Results added to a history.

use std::{path::Path, process::ExitCode};

use ipcmark_history::{Added, History, RunLabels};

use super::arguments::AddArguments;
use crate::{history, output, saved};

pub(super) fn add(arguments: &AddArguments, file: &Path) -> Result<ExitCode, String> {
    let mut open = History::write(file)?;
    let AddArguments { commit, label, machine, .. } = arguments;
    let labels =
        RunLabels { commit: commit.clone(), label: label.clone(), machine: machine.clone() };
    let mut all = true;
    for path in &arguments.results {
        let added = saved::read(path).and_then(|result| {
            history::add(&mut open, &result, &labels).map(|added| sentence(path, added, &labels))
        });
        all &= added.map(output::say).map_err(output::say).is_ok();
    }
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn sentence(path: &Path, added: Added, labels: &RunLabels) -> String {
    let path = path.display();
    match added {
        Added::New => format!("added {path} to the history"),
        Added::Completed => format!("{path} replaced the incomplete result of its run"),
        Added::Known if *labels == RunLabels::default() => {
            format!("{path} is in the history already")
        }
        Added::Known => format!("{path} is in the history already; its labels are set"),
    }
}
