//! `ipcmark cores`: the map of the distances between all usable processors.

mod arguments;
mod pairs;
mod transport_measurement;

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use ipcmark_machine::{
    hypervisor, pair,
    topology::{self, Cpu},
};
use ipcmark_report::{
    Matrix, MatrixCell, MatrixCpu, MatrixEnd, MatrixPart, MatrixWords, duration, matrix_json,
    matrix_svg, matrix_table,
};

use self::{
    arguments::{CoresArguments, FormatWord, flags},
    pairs::{ProcessorPair, choose},
    transport_measurement::TransportMeasurement,
};
use crate::{
    definition::{CommandDefinition, CommandOutcome, Invocation},
    distances::DistanceShares,
    guide::Guide,
    interrupts::Interrupts,
    measurement::exports,
    output, registry,
};

/// The time that a session takes per pair in addition to its measurement.
const SESSION: Duration = Duration::from_millis(700);

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: CoresArguments = invocation.arguments()?;
    exports::check_paths(&arguments.svg.iter().collect::<Vec<_>>())?;
    let transports = registry::look(&arguments.module, arguments.transport.as_slice())?;
    let interrupts = Interrupts::catch().map_err(|error| error.to_string())?;
    let cpus = match topology::usable() {
        Ok(usable) => wanted(usable, arguments.cpus.as_deref())?,
        Err(error) => return Ok(output::failed(error)),
    };
    let (pairs, missing) = choose(&cpus, arguments.all, arguments.seed);
    let Some(first) = pairs.first() else {
        return Ok(output::failed("cannot map distances: there is only one processor"));
    };
    let each = arguments.each(pairs.len());
    let transport_measurement = arguments.transport.clone().map(|transport| TransportMeasurement {
        transport,
        size: arguments.size.clone(),
        wait: arguments.wait.clone(),
        duration: each,
        transports: &transports,
        interrupts: &interrupts,
    });
    // Checks the command line before the first pair is measured.
    let what = match &transport_measurement {
        None => "a bare cache line".into(),
        Some(transport_measurement) => {
            transport_measurement.request(first.cpus)?;
            let wait = transport_measurement
                .wait
                .as_deref()
                .map_or(String::new(), |wait| format!(" · {wait}"));
            format!("{} · {}{wait}", transport_measurement.transport, transport_measurement.size)
        }
    };
    announce_duration(
        &pairs,
        missing,
        each + transport_measurement.as_ref().map_or(Duration::ZERO, |_| SESSION),
    );
    let cells = measure(&pairs, transport_measurement.as_ref(), each, &interrupts);
    if interrupts.signal().is_some() {
        return Ok(interrupts.exit_status());
    }
    let places = places(&cpus);
    let ends = places.iter().map(end).collect();
    let title = format!("round trips of {what}");
    let matrix = Matrix { title, ends, cells, missing, notes: notes(), words: &WORDS };
    let json = || matrix_json(&matrix, &what, &places);
    Ok(transports.status(show(&matrix, &json, &arguments)))
}

const WORDS: MatrixWords = MatrixWords {
    end: "cpu ",
    too_wide: "--svg FILE draws it",
    missing: "--all measures them",
    listed: "pairs with several distances, and their shares of the time",
    more: "--format json has all of them",
    cell: "a cell is divided by the shares of its distances",
};

fn end(cpu: &MatrixCpu) -> MatrixEnd {
    let place = format!("{:?} {} {}", cpu.node, cpu.package, cpu.cache);
    MatrixEnd { id: cpu.id, name: cpu.id.to_string(), place }
}

/// The named processors, which must be among those that this process may use.
fn wanted(usable: Vec<Cpu>, list: Option<&str>) -> Result<Vec<Cpu>, String> {
    let Some(list) = list else { return Ok(usable) };
    let named = topology::numbers(list);
    if named.is_empty() {
        return Err(format!("--cpus {list} names no processor; write it as 0-3,8"));
    }
    if let Some(other) = named.iter().find(|id| usable.iter().all(|cpu| cpu.id != **id)) {
        let all = topology::list(usable.iter().map(|cpu| cpu.id));
        return Err(format!("this process may not use processor {other}; it may use {all}"));
    }
    Ok(usable.into_iter().filter(|cpu| named.contains(&cpu.id)).collect())
}

fn announce_duration(pairs: &[ProcessorPair], missing: usize, each: Duration) {
    let time = each * pairs.len() as u32;
    if time < Duration::from_secs(5) {
        return;
    }
    let all = match missing {
        0 => "all".to_owned(),
        _ => format!("{} of {}", pairs.len(), pairs.len() + missing),
    };
    let time = duration(time.as_nanos() as f64);
    output::say(format_args!("measuring {all} pairs, which takes about {time}"));
}

/// Measures one pair after another, until the user interrupts.
fn measure(
    pairs: &[ProcessorPair],
    transport_measurement: Option<&TransportMeasurement>,
    duration: Duration,
    interrupts: &Interrupts,
) -> BTreeMap<(u32, u32), MatrixCell> {
    let mut cells = BTreeMap::new();
    for pair in pairs {
        if interrupts.signal().is_some() {
            break;
        }
        let found = match transport_measurement {
            None => line(pair.cpus, duration),
            Some(transport_measurement) => transport_measurement.measure(pair.cpus),
        };
        let (parts, reason) = found.map_or_else(|why| (Vec::new(), Some(why)), |all| (all, None));
        let relation = pair.relation.to_string();
        cells.insert(pair.cpus, MatrixCell { ends: pair.cpus, relation, parts, reason });
    }
    cells
}

/// A pair's distances over a bare cache line, and their shares of the time.
fn line(cpus: (u32, u32), duration: Duration) -> Result<Vec<MatrixPart>, String> {
    let probes = pair::probes(cpus, duration).map_err(|error| error.to_string())?;
    let distances = DistanceShares::of(&probes).distances.into_iter();
    let parts = distances.map(|distance| MatrixPart {
        time_ns: (!distance.apart).then_some(distance.floor_ns),
        share: distance.share_of_probes,
    });
    Ok(parts.collect())
}

/// The processors in the order of the map: near ones are adjacent.
fn places(cpus: &[Cpu]) -> Vec<MatrixCpu> {
    let nodes: BTreeMap<u32, u32> = topology::nodes();
    let place = |cpu: &Cpu| MatrixCpu {
        id: cpu.id,
        node: nodes.get(&cpu.id).copied(),
        package: cpu.package,
        core: cpu.core,
        cache: cpu.cache.clone(),
    };
    let mut places: Vec<MatrixCpu> = cpus.iter().map(place).collect();
    let first = |list: &str| topology::numbers(list).first().copied();
    places.sort_by_key(|cpu| (cpu.package, cpu.node, first(&cpu.cache), cpu.core, cpu.id));
    places
}

fn notes() -> Vec<String> {
    let sentence = "this is a virtual machine: the hypervisor reports the topology and moves the processors; the \
    shares are a snapshot";
    let is_virtual = !matches!(hypervisor::name().as_str(), "none" | "unknown");
    is_virtual.then(|| sentence.to_owned()).into_iter().collect()
}

/// Shows and draws the map.
fn show(matrix: &Matrix, json: &dyn Fn() -> String, arguments: &CoresArguments) -> ExitCode {
    let shown = match arguments.format {
        FormatWord::Json => output::print(&json()),
        FormatWord::Table => {
            output::print(&output::shown(&matrix_table(matrix, output::terminal())))
        }
    };
    let drawn = arguments.svg.as_ref().is_none_or(|path| {
        ipcmark_results::write_text(path, &matrix_svg(matrix)).map_err(output::say).is_ok()
    });
    let known = matrix.cells.values().all(|cell| cell.reason.is_none());
    ExitCode::from(u8::from(!(shown && drawn && known)))
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "cores",
    summary: "Map the distances between processors, by a bare cache line or any transport",
    guide: Guide {
        about: "The round trip time between every two processors, through a bare cache line or any transport. On a \
        virtual machine the distances of a pair change several times a second: each is shown with its share.",
        examples: &[
            ("ipcmark cores", "all processors that this process may use"),
            ("ipcmark cores --cpus 0-3,8", "some of them"),
            ("ipcmark cores -t uds-stream -w block", "the same through a transport"),
            ("ipcmark cores --svg cores.svg", "also as a picture"),
            ("ipcmark cores --format json", "every pair with all its distances"),
        ],
        exit: "0 every chosen pair was measured; 1 some were not, or the picture could not be written; 2 the command \
        line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["doctor", "run"],
    },
    flags,
    run,
};
