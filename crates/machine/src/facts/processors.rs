//! The number of processors, their topology, and the isolated ones.

use std::collections::BTreeMap;

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    system::System,
};
use crate::{
    cgroup::Groups,
    topology::{self, Cpu},
};

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "processors",
        source: "sched_getaffinity, /sys/devices/system/cpu/online",
        examine: examine_processors,
    },
    Fact {
        name: "SMT siblings",
        source: "/sys/devices/system/cpu/cpu*/topology",
        examine: examine_siblings,
    },
    Fact {
        name: "NUMA nodes",
        source: "/sys/devices/system/node/node*/cpulist",
        examine: examine_nodes,
    },
    Fact {
        name: "NUMA balancing",
        source: "/proc/sys/kernel/numa_balancing",
        examine: examine_balancing,
    },
    Fact {
        name: "isolated processors",
        source: "/sys/devices/system/cpu/{isolated,nohz_full}",
        examine: examine_isolated,
    },
    Fact {
        name: "cpuset",
        source: "cpuset.cpus.effective, cpuset.cpus.partition of the control group",
        examine: examine_cpuset,
    },
];

fn examine_processors(system: &System) -> Option<Examined> {
    let online = system.files.text("sys/devices/system/cpu/online");
    let cores = topology::count_cores(&system.cpus);
    let of_online = online.as_ref().map(|list| format!(" of {list} online")).unwrap_or_default();
    // If the user chose fewer than are available, taskset does not help.
    let allowed = system.files.field("proc/self/status", "Cpus_allowed_list");
    let is_chosen = allowed.is_some_and(|list| topology::numbers(&list).len() > system.cpus.len());
    let (ids, verb) = (topology::list(system.ids()), if is_chosen { "chosen" } else { "usable" });
    let value = format!(
        "CPU {ids} {verb}{of_online}, on {cores} core{}",
        if cores == 1 { "" } else { "s" }
    );
    let online = online.filter(|_| !is_chosen);
    Some(Examined::harmless(value).with(few(system.cpus.len(), online.as_deref())))
}

fn few(usable: usize, online: Option<&str>) -> Option<Effect> {
    let others = online.filter(|list| topology::numbers(list).len() > usable);
    let command = |list: &str| format!("taskset --cpu-list {list} ipcmark run");
    let price = "none, where the control group allows it";
    match usable {
        0 | 1 => {
            let effect = Effect::new(
                Weight::Unfit,
                &[Question::Spinning, Question::Tails],
                "both ends share one processor: an end that spins waits for the other's time slice to end, so its \
                 rows measure the scheduler, and sleeping rows measure a switch on one processor",
            );
            Some(match others {
                Some(list) => effect.remedy(command(list), price),
                None => effect,
            })
        }
        2 => Some(Effect::new(
            Weight::Note,
            &[Question::Tails],
            "leader and follower take both processors: whatever else runs interrupts one of them, and rows whose \
             library has threads of its own measure the scheduler",
        )),
        _ => None,
    }
}

fn examine_siblings(system: &System) -> Option<Examined> {
    let has_topology = !system.of_each_cpu("topology/core_id").is_empty();
    let mut cores: BTreeMap<(i64, i64), Vec<u32>> = BTreeMap::new();
    for cpu in &system.cpus {
        cores.entry(cpu.physical_core()).or_default().push(cpu.id);
    }
    let is_one_core = cores.len() == 1 && system.cpus.len() > 1;
    cores.retain(|_, siblings| siblings.len() > 1);
    let lists: Vec<String> = cores.into_values().map(topology::list).collect();
    let value = if lists.is_empty() { "none".into() } else { lists.join(" ") };
    let effect = (!lists.is_empty()).then(|| siblings(is_one_core));
    has_topology.then(|| Examined::harmless(value).with(effect))
}

fn siblings(is_one_core: bool) -> Effect {
    let effect = match is_one_core {
        true => Effect::new(
            Weight::Reservation,
            &[Question::Spinning, Question::Tails],
            "all processors are threads of one core: both ends share its units and caches, so rows look faster or \
             slower than between cores",
        ),
        false => Effect::new(
            Weight::Note,
            &[Question::Tails],
            "ipcmark puts the ends on different cores; work on the other thread of such a core slows it down",
        ),
    };
    with_one_thread_a_core(effect)
}

/// Adds the remedy that leaves one thread to each core.
pub fn with_one_thread_a_core(effect: Effect) -> Effect {
    effect.remedy(
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
        "half of the processors are gone until `on` is written there",
    )
}

/// The memory nodes of the processors, by number.
fn nodes(system: &System) -> BTreeMap<u32, Vec<u32>> {
    let ids = system.ids();
    let names = system.files.names("sys/devices/system/node");
    let numbers = names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok());
    let members = |node: u32| {
        let list = system.files.text(&format!("sys/devices/system/node/node{node}/cpulist"))?;
        let numbers = topology::numbers(&list);
        let members: Vec<u32> = ids.iter().copied().filter(|id| numbers.contains(id)).collect();
        (!members.is_empty()).then_some((node, members))
    };
    numbers.filter_map(members).collect()
}

fn examine_nodes(system: &System) -> Option<Examined> {
    let nodes = nodes(system);
    let each = |(node, members): (&u32, &Vec<u32>)| {
        format!("node {node}: {}", topology::list(members.iter().copied()))
    };
    let value: Vec<String> = nodes.iter().map(each).collect();
    let effect = || {
        let first = nodes.keys().next().copied().unwrap_or(0);
        Effect::new(
            Weight::Note,
            &[Question::Spinning, Question::Large],
            "memory belongs to the node that touches it first, and hops between nodes are slower",
        )
        .remedy(
            format!("numactl --cpunodebind={first} --membind={first} ipcmark run"),
            "the other nodes are not measured",
        )
    };
    (!nodes.is_empty())
        .then(|| Examined::harmless(value.join("; ")).with((nodes.len() > 1).then(effect)))
}

fn examine_balancing(system: &System) -> Option<Examined> {
    let is_on = system.sysctl("kernel.numa_balancing")? > 0;
    let effect = Effect::new(
        Weight::Reservation,
        &[Question::Large, Question::Tails],
        "the kernel unmaps pages now and then to see which node uses them: page faults fall into the measurement",
    )
    .remedy(
        "sudo sysctl kernel.numa_balancing=0",
        "until it is set again, memory of other programs is not moved to the node that uses it",
    );
    let does_harm = is_on && nodes(system).len() > 1;
    Some(Examined::harmless(if is_on { "on" } else { "off" }).with(does_harm.then_some(effect)))
}

fn examine_isolated(system: &System) -> Option<Examined> {
    let read = |name: &str| system.files.text(&format!("sys/devices/system/cpu/{name}"));
    let isolated = read("isolated")?;
    // If there are none, the kernel writes (null).
    let ticks = read("nohz_full").filter(|list| !topology::numbers(list).is_empty());
    let value = [
        (!isolated.is_empty()).then_some(isolated.clone()),
        ticks.map(|list| format!("without ticks {list}")),
    ];
    let value: Vec<String> = value.into_iter().flatten().collect();
    let value = if value.is_empty() { "none".into() } else { value.join("; ") };
    Some(Examined::harmless(value).with(isolation(&isolated, &system.cpus)))
}

/// The kernel removes isolated processors from the usable set of a process; `taskset` adds them
/// again.
fn isolation(isolated: &str, cpus: &[Cpu]) -> Option<Effect> {
    let isolated = topology::numbers(isolated);
    let used = cpus.iter().filter(|cpu| isolated.contains(&cpu.id)).count();
    if isolated.len() >= 2 && used < 2 {
        let list = topology::list(isolated.iter().copied());
        let effect = Effect::new(
            Weight::Note,
            &[Question::Tails],
            "the isolated processors, on which nothing else runs, are not among those that ipcmark may use",
        );
        let command = format!("taskset --cpu-list {list} ipcmark run");
        return Some(effect.remedy(command, "other programs intended for them are disturbed"));
    }
    (isolated.is_empty() && cpus.len() > 3).then(|| {
        let last = [cpus[cpus.len() - 2].id, cpus[cpus.len() - 1].id];
        let list = topology::list(last);
        Effect::new(
            Weight::Note,
            &[Question::Tails],
            "no processor is kept free of other programs, of timer ticks and of the kernel's own work",
        )
        .remedy(
            format!("isolcpus={list} nohz_full={list} rcu_nocbs={list}  # on the kernel's command line"),
            "a restart, and nothing else uses these processors any more",
        )
    })
}

fn examine_cpuset(system: &System) -> Option<Examined> {
    let groups = Groups::of(&system.files, "cpuset")?;
    let first = |names: [&str; 2]| {
        let mut texts = names.iter().flat_map(|name| groups.texts(&system.files, name));
        texts.find(|text| !text.is_empty())
    };
    let cpus = first(["cpuset.cpus.effective", "cpuset.effective_cpus"])?;
    let partition = first(["cpuset.cpus.partition", "cpuset.cpu_exclusive"]);
    let kind = partition.filter(|kind| kind != "member" && kind != "0" && kind != "1");
    Some(Examined::harmless(match kind {
        Some(kind) => format!("{cpus}, partition {kind}"),
        None => cpus,
    }))
}
