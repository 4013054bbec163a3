//! Operations that this process is not allowed to perform.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    system::System,
};

pub(super) const FACTS: &[Fact] = &[
    Fact { name: "seccomp", source: "/proc/self/status", examine: examine_seccomp },
    Fact { name: "no_new_privs", source: "/proc/self/status", examine: examine_privileges },
    Fact {
        name: "user namespaces",
        source: "/proc/sys/user/max_user_namespaces, \
                 /proc/sys/kernel/{unprivileged_userns_clone,apparmor_restrict_unprivileged_userns}",
        examine: examine_namespaces,
    },
    Fact {
        name: "ptrace scope",
        source: "/proc/sys/kernel/yama/ptrace_scope",
        examine: examine_ptrace,
    },
    Fact {
        name: "io_uring",
        source: "/proc/sys/kernel/io_uring_disabled",
        examine: examine_io_uring,
    },
];

fn status(system: &System, key: &str) -> Option<u64> {
    system.files.field("proc/self/status", key)?.parse().ok()
}

fn examine_seccomp(system: &System) -> Option<Examined> {
    let mode = status(system, "Seccomp")?;
    let filters = status(system, "Seccomp_filters").map(|count| format!(", {count} filters"));
    let value = match mode {
        0 => "off".into(),
        1 => "strict".into(),
        _ => format!("on{}", filters.unwrap_or_default()),
    };
    let effect = Effect::new(
        Weight::Note,
        &[Question::Sleeping],
        "every system call goes through a filter first: sleeping rows and the kernel's transports cost more than \
         outside, and calls that it refuses make rows fail",
    )
    .remedy(
        "docker run --security-opt seccomp=unconfined",
        "the container can make every system call: only with code that is trusted",
    );
    Some(Examined::harmless(value).with((mode > 0).then_some(effect)))
}

fn examine_privileges(system: &System) -> Option<Examined> {
    let is_set = status(system, "NoNewPrivs")? > 0;
    Some(Examined::harmless(if is_set { "set: sudo does not work in here" } else { "not set" }))
}

fn examine_namespaces(system: &System) -> Option<Examined> {
    let most = system.sysctl("user.max_user_namespaces");
    let cloning = system.sysctl("kernel.unprivileged_userns_clone");
    let apparmor = system.sysctl("kernel.apparmor_restrict_unprivileged_userns");
    let (value, command) = if most? == 0 {
        ("none allowed", "sudo sysctl user.max_user_namespaces=10000")
    } else if cloning == Some(0) {
        ("for root only", "sudo sysctl kernel.unprivileged_userns_clone=1")
    } else if apparmor == Some(1) {
        ("restricted by AppArmor", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0")
    } else {
        return Some(Examined::harmless("allowed"));
    };
    let effect = Effect::new(
        Weight::Note,
        &Question::ALL,
        "sessions run without a sandbox: libraries share names and daemons with other programs, and the system's \
        limits of queues and shared memory apply",
    )
    .remedy(command, "a larger surface for attacks on the kernel; or run ipcmark as root");
    Some(Examined::harmless(value).with((!system.is_root()).then_some(effect)))
}

fn examine_ptrace(system: &System) -> Option<Examined> {
    let scope = system.sysctl("kernel.yama.ptrace_scope")?;
    let effect = Effect::new(
        Weight::Note,
        &[Question::Large],
        "transports that copy from one process's memory to another's are refused, or fall back to something slower",
    )
    .remedy("sudo sysctl kernel.yama.ptrace_scope=0", "programs of one user can read each other's memory");
    let does_harm = scope > 0 && !system.is_root();
    Some(Examined::harmless(scope.to_string()).with(does_harm.then_some(effect)))
}

fn examine_io_uring(system: &System) -> Option<Examined> {
    let level = system.sysctl("kernel.io_uring_disabled")?;
    let is_refused = level == 2 || (level == 1 && !system.is_root());
    let effect = Effect::new(
        Weight::Note,
        &[Question::Spinning, Question::Sleeping],
        "transports through io_uring are refused",
    )
    .remedy("sudo sysctl kernel.io_uring_disabled=0", "a larger surface for attacks on the kernel");
    let value = if is_refused { "refused" } else { "allowed" };
    Some(Examined::harmless(value).with(is_refused.then_some(effect)))
}
