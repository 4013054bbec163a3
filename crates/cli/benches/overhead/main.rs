//! ipcmark's own overhead, as ratios measured side by side in one run, medians over several rounds.
//! Run it with `cargo bench`, on a machine that does nothing else.
//!
//! - (a) each system call transport through the engine against a bare loop of the same calls;
//! - (b) `shm-slot` against the floor, and 4 MiB against 64 B where payloads are handed over in
//!   place;
//! - (c) the harness's own cost per round trip;
//! - (d) the memory of a leader after 10⁴ and after 10⁷ round trips;
//! - (e) the cost of the C contract per round trip: `null-module` against `null`;
//! - (f) libraries through the engine against bare programs of the same calls, where `make overhead`
//!   has built them;
//! - (g) a run by hand, `ipcmark leader` and `ipcmark follower`, against `ipcmark run`;
//! - (h) a stream through the engine against a bare stream of the same system calls;
//! - (i) a message one way against half of a round trip, its own and a clock-free one, and what a clock reading before
//!   each message adds to bare round trips;
//! - (j) the time until the command answers, and its memory.

mod bare;
mod blocks;
mod commands;
mod lent;
mod measured;
mod modules;
mod programs;
mod readings;
mod servers;
mod shown;
mod slices;
mod streams;
mod uring;
mod xdp;

use std::process::ExitCode;

use bare::Mechanism;
use blocks::{MeasuredBlock, Ratios, Work};
use ipcmark_abi::{ExaminedModules, MODULE_COMMAND};
use ipcmark_engine::KEEPER_COMMAND;
use ipcmark_results::{Blocks, Touch};
use ipcmark_transport::Wait;
use measured::{Engine, Latency};
use readings::Words;
use servers::HeldServers;
use shown::{Limit, show, show_blocks, show_ratios};
use slices::{SliceRatios, Slices};

/// The rounds of each comparison; odd, so that the median is one of them.
const ROUNDS: usize = 11;

/// The rounds of a comparison of blocks if `ROUNDS` does not say. Sessions of one row differ by several percent, so many
/// short ones tell more than a few long ones.
const BRIEF_ROUNDS: usize = 31;

/// The same of streams, whose blocks are longer.
const STREAM_ROUNDS: usize = 21;

/// The same of messages one way: a multiple of four, because two rounds with the ends exchanged are one figure.
const ONE_WAY_ROUNDS: usize = 28;

/// The fewest slices at one distance for a figure.
const FEWEST_SLICES: usize = 11;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(KEEPER_COMMAND) => {
            ipcmark_engine::keep(&ipcmark_registry::of(&ExaminedModules::inherited()))
        }
        Some(MODULE_COMMAND) => ipcmark_abi::serve(),
        _ => {}
    }
    // `cargo test --benches` only checks that it builds.
    if !std::env::args().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    let engine = Engine::new(ipcmark_registry::of(&modules::look()));
    println!(
        "ratios: the estimate of {ROUNDS} rounds, or of the number shown (95 % interval), each side in every round; \
         other figures: the median of {ROUNDS} rounds\n"
    );
    for (letter, section) in SECTIONS {
        if is_wanted(letter) {
            section(&engine);
        }
    }
    ExitCode::SUCCESS
}

/// The rounds of a comparison of blocks: the environment's `ROUNDS`, or the usual number.
fn rounds(usual: usize) -> usize {
    std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}

type Section = fn(&Engine);

/// The sections by their letters.
const SECTIONS: [(&str, Section); 13] = [
    ("a", against_bare_loops),
    ("b", against_the_floor),
    ("b", on_its_own_line),
    ("b", in_place),
    ("c", the_harness),
    ("d", the_memory),
    ("e", the_contract),
    ("f", against_bare_programs),
    ("g", by_hand),
    ("h", streams_against_bare),
    ("i", one_way_against_half),
    ("i", readings_between_messages),
    ("j", start_and_memory),
];

/// True if a section was requested by its letter (`cargo bench -- f`), or none was.
fn is_wanted(letter: &str) -> bool {
    is_among(letter, words().filter(|word| word.len() == 1))
}

/// True if a library's row was requested by its name (`cargo bench -- f ucx-shm`), or none was.
fn is_wanted_row(name: &str) -> bool {
    is_among(name, words().filter(|word| word.len() > 1))
}

fn words() -> impl Iterator<Item = String> {
    std::env::args().skip(1).filter(|word| !word.starts_with('-'))
}

/// True if `words` contains `wanted` or is empty.
fn is_among(wanted: &str, words: impl Iterator<Item = String>) -> bool {
    let words: Vec<String> = words.collect();
    words.is_empty() || words.iter().any(|word| word == wanted)
}

/// (a) The limit is 1.02.
fn against_bare_loops(engine: &Engine) {
    println!("(a) round trip of 64 B through the engine ÷ bare loop of the same system calls");
    for mechanism in Mechanism::ALL {
        against_loop(engine, mechanism.name(), |work| bare::round_trips(*mechanism, work));
    }
    for (name, bare) in lent::LOOPS.into_iter().chain(uring::LOOPS).chain(xdp::LOOPS) {
        against_loop(engine, name, bare);
    }
}

/// Compares one transport with its bare loop, in both waits.
fn against_loop(engine: &Engine, name: &str, bare: impl Fn(Work) -> Vec<MeasuredBlock>) {
    if !is_wanted_row(name) {
        return;
    }
    if let Some(reason) = engine.lacks(name) {
        return println!("  {name:40} not there: {reason}");
    }
    for wait in [Wait::Block, Wait::Spin] {
        against(engine, name, wait, 1.02, |work, _| bare(work));
    }
}

/// Compares the blocks of a row with those of a bare program or loop.
fn against(
    engine: &Engine,
    name: &str,
    wait: Wait,
    limit: f64,
    bare: impl Fn(Work, &Latency) -> Vec<MeasuredBlock>,
) {
    let row = || engine.brief_latency(name, wait, 64);
    let sample = row();
    let work = blocks::work(wait == Wait::Spin, sample.clock_free_mean);
    let bare = || blocks::blocks(work, &bare(work, &sample));
    let ratios = compared(BRIEF_ROUNDS, blocks::ENOUGH, || row().blocks, bare);
    show_blocks(&format!("{name} {wait}"), Limit::AtMost(limit), ratios);
}

/// Compares the blocks of both sides, measured in turn, in the usual number of rounds or as many as are asked for.
fn compared(
    usual: usize,
    enough: usize,
    ours: impl Fn() -> Blocks,
    theirs: impl Fn() -> Blocks,
) -> Ratios {
    let rounds: Vec<_> = (0..rounds(usual)).map(|round| in_turn(round, &ours, &theirs)).collect();
    blocks::compare(&rounds, enough)
}

/// Our time ÷ theirs.
fn paired(round: usize, ours: impl Fn() -> f64, theirs: impl Fn() -> f64) -> f64 {
    let [ours, theirs] = in_turn(round, ours, theirs);
    ours / theirs
}

/// What both sides measure in a round. The order alternates, so that a drift favours neither.
fn in_turn<T>(round: usize, ours: impl FnOnce() -> T, theirs: impl FnOnce() -> T) -> [T; 2] {
    if round.is_multiple_of(2) {
        let theirs = theirs();
        [ours(), theirs]
    } else {
        [ours(), theirs()]
    }
}

/// (b) The limit is 1.15 for the slot.
fn against_the_floor(engine: &Engine) {
    println!(
        "\n(b) round trip of 32 B, spinning ÷ floor: clock-free blocks by the probes around them"
    );
    for name in ["shm-slot", "shm-ring"] {
        // A run has no such figure if none of its blocks lies between two equal probes.
        let ratios = (0..ROUNDS)
            .filter_map(|_| engine.latency(name, Wait::Spin, 32, Touch::Head).floor_multiple);
        let limit = if name == "shm-slot" { Limit::AtMost(1.15) } else { Limit::None };
        show_ratios(name, limit, ratios.collect());
    }
}

/// (b) The limit is 1.15.
fn on_its_own_line(_: &Engine) {
    println!(
        "\n(b) round trip of 32 B, spinning ÷ floor on the same cache line: slices of 5 ms in turn"
    );
    let found = ipcmark_native::transports(&mut Slices("shm-slot"));
    for SliceRatios { floor_ns, ratios } in found.into_iter().flatten().flatten() {
        // Fewer slices come from a transition between two distances.
        if ratios.len() >= FEWEST_SLICES {
            let name = format!("shm-slot in slices, floor {floor_ns:.0} ns");
            show_ratios(&name, Limit::AtMost(1.15), ratios);
        }
    }
}

/// (b) The limit is 2.
fn in_place(engine: &Engine) {
    println!("\n(b) round trip of 4 MiB ÷ 64 B, spinning, heads touched (p50)");
    for name in ["shm-slot", "shm-ring"] {
        let ratios = (0..ROUNDS).map(|_| {
            let large = engine.latency(name, Wait::Spin, 4 << 20, Touch::Head).p50;
            large / engine.latency(name, Wait::Spin, 64, Touch::Head).p50
        });
        show_ratios(name, Limit::AtMost(2.0), ratios.collect());
    }
}

/// (c) No limit.
fn the_harness(engine: &Engine) {
    println!("\n(c) round trip of null: the harness alone, in ns");
    let rounds: Vec<_> =
        (0..ROUNDS).map(|_| engine.latency("null", Wait::Spin, 64, Touch::Head)).collect();
    show("sampled, with its clock reading (p50)", rounds.iter().map(|r| r.p50).collect());
    show("clock-free (mean)", rounds.iter().map(|r| r.clock_free_mean).collect());
    show("one clock reading", rounds.iter().map(|r| r.clock).collect());
}

/// (d) The limit is 1.05.
fn the_memory(engine: &Engine) {
    println!("\n(d) peak memory of the leader at 10⁷ ÷ at 10⁴ round trips of null");
    let ratios = (0..3).map(|_| {
        engine.leader_peak_bytes("null", 10_000_000) / engine.leader_peak_bytes("null", 10_000)
    });
    show_ratios("null", Limit::AtMost(1.05), ratios.collect());
}

/// (e) No limit.
fn the_contract(engine: &Engine) {
    println!(
        "\n(e) round trip of null-module less that of null: four calls of the C contract, in ns"
    );
    let less = (0..ROUNDS).map(|_| {
        let native = engine.latency("null", Wait::Spin, 64, Touch::Head).clock_free_mean;
        engine.latency("null-module", Wait::Spin, 64, Touch::Head).clock_free_mean - native
    });
    show("clock-free (mean)", less.collect());
}

/// (f) The limit is 1.03, and 1.05 for libraries that the seeds do not have.
fn against_bare_programs(engine: &Engine) {
    println!("\n(f) round trip of 64 B through the engine ÷ bare program of the same calls");
    for (name, wait, limit) in programs::PROGRAMS.iter().filter(|(name, ..)| is_wanted_row(name)) {
        let Some(program) = programs::program(name) else {
            println!("  {name:40} not there; `make overhead` builds it where the library is");
            continue;
        };
        let _held = (*wait == Wait::Spin).then(HeldServers::new);
        against(engine, name, *wait, *limit, |work, sample| {
            programs::round_trips(&program, 64, work, sample.cpus)
        });
    }
}

/// (g) The limit is 1.05.
fn by_hand(_: &Engine) {
    println!("\n(g) round trip of 64 B by hand ÷ in a run of one command (p50)");
    for (name, wait) in [
        ("pipe", Wait::Block),
        ("pipe", Wait::Spin),
        ("tcp", Wait::Block),
        ("uds-stream", Wait::Spin),
        ("shm-futex", Wait::Block),
        ("shm-slot", Wait::Spin),
    ] {
        let ratios = (0..ROUNDS).map(|round| {
            let by_hand = || commands::by_hand_p50_ns(name, wait);
            paired(round, by_hand, || commands::run_p50_ns(name, wait))
        });
        show_ratios(&format!("{name} {wait}"), Limit::AtMost(1.05), ratios.collect());
    }
}

/// (h) At least 0.95, in messages per second.
fn streams_against_bare(engine: &Engine) {
    println!(
        "\n(h) messages a second of a stream through the engine ÷ bare stream of the same calls"
    );
    for payload in STREAMED.into_iter().filter(|_| is_wanted_row("shm-ring")) {
        let bare = || streams::own_blocks("shm-ring", payload);
        stream_against(engine, "shm-ring", Wait::Spin, payload, bare);
    }
    for mechanism in streams::MECHANISMS.iter().filter(|one| is_wanted_row(one.name())) {
        for payload in STREAMED {
            for wait in [Wait::Spin, Wait::Block] {
                let bare = || streams::blocks(*mechanism, wait, payload);
                stream_against(engine, mechanism.name(), wait, payload, bare);
            }
        }
    }
}

/// The payloads of the streams.
const STREAMED: [usize; 2] = [64, 65_536];

fn stream_against(
    engine: &Engine,
    name: &str,
    wait: Wait,
    payload: usize,
    bare: impl Fn() -> Blocks,
) {
    let ours = || engine.stream(name, wait, payload);
    let times = compared(STREAM_ROUNDS, streams::ENOUGH, ours, bare);
    let rates = times.ratios.into_iter().map(|ratio| 1.0 / ratio).collect();
    let name = format!("{name} {wait} {payload} B");
    show_blocks(&name, Limit::AtLeast(0.95), Ratios { ratios: rates, ..times });
}

/// (i) Within 10 % of 1.
fn one_way_against_half(engine: &Engine) {
    println!(
        "\n(i) message one way ÷ half of the same messages' round trip; less a clock reading ÷ half of a clock-free \
        round trip; spinning"
    );
    for (name, payload) in
        [("shm-slot", 64), ("shm-ring", 64), ("pipe", 64), ("uds-stream", 64), ("shm-slot", 65_536)]
    {
        let mut of_own = Vec::new();
        let rounds: Vec<_> = (0..rounds(ONE_WAY_ROUNDS))
            .map(|round| {
                let is_swapped = round / 2 % 2 == 1;
                let whole = || engine.latency(name, Wait::Spin, payload, Touch::All).blocks;
                let one_way = || {
                    let one_way = engine.one_way(name, payload, is_swapped);
                    of_own.push(Some(2.0 * one_way.p50 / one_way.round_trip_p50));
                    one_way.blocks
                };
                in_turn(round, one_way, whole)
            })
            .collect();
        let (floor_ns, of_whole) = blocks::compare_each(&rounds, blocks::ENOUGH);
        let ratios = both_ways(&of_whole).into_iter().map(|ratio| 2.0 * ratio).collect();
        let limit = Limit::Between(0.9, 1.1);
        show_ratios(&format!("{name} {payload} B, the same messages"), limit, both_ways(&of_own));
        show_blocks(&format!("{name} {payload} B"), limit, Ratios { floor_ns, ratios });
    }
}

/// The mean of each round with the ends on one processor each and that in which they are exchanged, which the second
/// next one is: a constant difference of the two clocks cancels.
fn both_ways(ratios: &[Option<f64>]) -> Vec<f64> {
    let pairs = ratios.chunks_exact(4).flat_map(|four| [(four[0], four[2]), (four[1], four[3])]);
    pairs.filter_map(|(one, exchanged)| Some((one? + exchanged?) / 2.0)).collect()
}

/// (i) No limit.
fn readings_between_messages(_: &Engine) {
    println!(
        "\n(i) what a clock reading before each message adds to a bare round trip ÷ one reading"
    );
    let cost = ipcmark_machine::clock::reading_cost_ns();
    for (name, words) in
        [("both words in one line", Words::Together), ("each in its own line", Words::Apart)]
    {
        show(name, (0..ROUNDS).map(|_| readings::added_ns(words) / cost).collect());
    }
}

/// (j) Help within 10 ms, the list with all modules within 100 ms; no more memory than before.
fn start_and_memory(engine: &Engine) {
    println!(
        "\n(j) until the command answers, in ms (limits: 10 and 100), and the most memory it had, in MiB"
    );
    for words in [&["--help"], &["list"]] {
        let answers: Vec<_> = (0..ROUNDS).map(|_| commands::answer(words)).collect();
        show(words[0], answers.iter().map(|answer| answer.ms).collect());
        let memory = answers.iter().map(|answer| answer.peak_mib).collect();
        show(&format!("{}: memory", words[0]), memory);
    }
    show(
        "a leader of null: memory",
        vec![engine.leader_peak_bytes("null", 10_000) / f64::from(1 << 20)],
    );
    show("the command's file", vec![commands::size_mib()]);
}
