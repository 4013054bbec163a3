//! `ipcmark run`: measures.

use clap::Args;

use crate::{
    arguments::{plan_file, run::RunArguments},
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    measurement,
};

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: RunArguments = plan_file::arguments(invocation)?;
    measurement::measure_here(&arguments)
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "run",
    summary: "Measure; without arguments, everything available, in two or three minutes",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark run", "everything available, at 64 B, 4 KiB and 1 MiB"),
            (
                "ipcmark run -t 'shm-*',pipe -s 64,4k -d 1s",
                "some transports, a second for each row of a trial",
            ),
            ("ipcmark run -t os -s 16..4M -w block", "sleeping, every power of two"),
            ("ipcmark run -t os -s 64 --rate 100/s,10k/s", "an open loop at rates"),
            (
                "ipcmark run -t os --precision 3% -o r.json",
                "trials until every mean is known to ± 3 %",
            ),
            ("ipcmark run -t os --live", "drawn on the whole terminal while it measures"),
            ("ipcmark run examples/quick.toml --format markdown", "a plan, shown as Markdown"),
        ],
        exit: "0 everything requested was measured; 1 something requested failed or is not available; 2 the command \
        line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["list", "advise", "show", "report", "doctor", "history"],
    },
    flags: RunArguments::augment_args,
    run,
};
