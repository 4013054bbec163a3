//! Memory: its size, its pages, and swapping.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    identity::memory_bytes,
    quantity::bytes,
    system::System,
};

/// The needs of the largest default run, with some room: a few sessions with rings of 1 MiB slots.
const ENOUGH_MEMORY: u64 = 512 << 20;

/// The same for shared memory. Docker's default is 64 MiB.
const ENOUGH_SHARED_MEMORY: u64 = 256 << 20;

const HUGE_PAGES: &str = "sys/kernel/mm/transparent_hugepage";
const RESERVED: &str = "sys/kernel/mm/hugepages";

pub(super) const FACTS: &[Fact] = &[
    Fact { name: "memory", source: "/proc/meminfo", examine: examine_memory },
    Fact { name: "shared memory", source: "statvfs of /dev/shm", examine: examine_shared_memory },
    Fact { name: "swap", source: "/proc/meminfo, /proc/sys/vm/swappiness", examine: examine_swap },
    Fact {
        name: "transparent huge pages",
        source: "/sys/kernel/mm/transparent_hugepage/{enabled,shmem_enabled,defrag}",
        examine: examine_huge_pages,
    },
    Fact {
        name: "reserved huge pages",
        source: "/sys/kernel/mm/hugepages/hugepages-*/nr_hugepages",
        examine: examine_reserved,
    },
    Fact { name: "page merging", source: "/sys/kernel/mm/ksm/run", examine: examine_merging },
];

fn examine_memory(system: &System) -> Option<Examined> {
    let all = memory_bytes(&system.files, "MemTotal")?;
    let free = memory_bytes(&system.files, "MemAvailable")?;
    let effect = Effect::new(
        Weight::Reservation,
        &[Question::Large, Question::Tails],
        "so little memory is available that rows with large messages can fail, or wait for the kernel to free some",
    );
    let value = format!("{}, {} available", bytes(all), bytes(free));
    Some(Examined::harmless(value).with((free < ENOUGH_MEMORY).then_some(effect)))
}

fn examine_shared_memory(system: &System) -> Option<Examined> {
    let free = system.shared_memory_bytes?;
    let effect = Effect::new(
        Weight::Reservation,
        &[Question::Large],
        "without a sandbox, transports in shared memory and libraries with pools fail on so small a /dev/shm",
    )
    .remedy(
        "sudo mount -o remount,size=1g /dev/shm  # in a container: docker run --shm-size=1g",
        "up to 1 GiB of memory, as it is used",
    );
    let value = format!("{} free in /dev/shm", bytes(free));
    Some(Examined::harmless(value).with((free < ENOUGH_SHARED_MEMORY).then_some(effect)))
}

fn examine_swap(system: &System) -> Option<Examined> {
    let all = memory_bytes(&system.files, "SwapTotal")?;
    let used = all.saturating_sub(memory_bytes(&system.files, "SwapFree")?);
    if all == 0 {
        return Some(Examined::harmless("none"));
    }
    let swappiness = system.sysctl("vm.swappiness");
    let swappiness = swappiness.map(|number| format!(", swappiness {number}")).unwrap_or_default();
    let effect = Effect::new(
        Weight::Note,
        &[Question::Tails],
        "memory has been moved to a disk, and can be again: fetching a page back takes up to milliseconds",
    )
    .remedy("sudo swapoff --all", "programs are killed where memory runs out; `sudo swapon --all` undoes it");
    let value = format!("{} of {} used{swappiness}", bytes(used), bytes(all));
    Some(Examined::harmless(value).with((used > 0).then_some(effect)))
}

/// The word in brackets.
fn chosen(list: &str) -> Option<&str> {
    list.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

fn examine_huge_pages(system: &System) -> Option<Examined> {
    let read = |name: &str| {
        let text = system.files.text(&format!("{HUGE_PAGES}/{name}"))?;
        Some(chosen(&text)?.to_owned())
    };
    let enabled = read("enabled")?;
    let others = ["shmem_enabled", "defrag"].map(|name| Some(format!(", {name} {}", read(name)?)));
    let value = format!("{enabled}{}", others.into_iter().flatten().collect::<String>());
    let effect = Effect::new(
        Weight::Note,
        &[Question::Large, Question::Tails],
        "the kernel makes large pages of private memory in the background: large messages get faster at an \
        unpredictable moment, and a process can be stopped for it",
    )
    .remedy(
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        "programs that gained from it without asking get slower",
    );
    Some(Examined::harmless(value).with((enabled == "always").then_some(effect)))
}

fn examine_reserved(system: &System) -> Option<Examined> {
    let sizes = system.files.names(RESERVED);
    let counts: Vec<String> = sizes
        .iter()
        .filter_map(|name| {
            let count = system.files.number(&format!("{RESERVED}/{name}/nr_hugepages"))?;
            let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            Some((count > 0).then(|| format!("{count} of {}", bytes(kib.saturating_mul(1024)))))
        })
        .flatten()
        .collect();
    let value = if counts.is_empty() { "none".into() } else { counts.join(", ") };
    (!sizes.is_empty()).then(|| Examined::harmless(value))
}

fn examine_merging(system: &System) -> Option<Examined> {
    let is_on = system.files.number("sys/kernel/mm/ksm/run")? == 1;
    let effect = Effect::new(
        Weight::Note,
        &[Question::Large, Question::Tails],
        "the kernel looks for equal pages and makes one of them: writing to such a page takes a fault and a copy",
    )
    .remedy("echo 0 | sudo tee /sys/kernel/mm/ksm/run", "more memory used by virtual machines on this host");
    Some(Examined::harmless(if is_on { "on" } else { "off" }).with(is_on.then_some(effect)))
}
