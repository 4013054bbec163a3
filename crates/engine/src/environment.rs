//! The machine that a run runs on, as far as it bears on the figures.

use std::fs;

use ipcmark_results::{Clock, Environment};

use crate::{
    clock,
    placement::{self, Placement},
};

/// Describes the machine; what the system does not tell is `unknown`.
pub(crate) fn describe(placement: &Placement, sandbox: String) -> Environment {
    let cpus = placement::usable().unwrap_or_default();
    Environment {
        cpu_model: cpu_model(),
        cpus_usable: cpus.len() as u32,
        cores_usable: placement::count_cores(&cpus) as u32,
        kernel: kernel(),
        os: os_name(),
        hypervisor: hypervisor(),
        governor: placement.leader.and_then(governor),
        memory_bytes: memory_bytes(),
        sandbox,
        placement: placement.words.clone(),
    }
}

/// The clock as a worker found it on its own processor.
pub(crate) fn clock(read_ns: f64, step_ns: u64) -> Clock {
    Clock { read_ns, step_ns, source: clock::source() }
}

fn cpu_model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    field("model name").or_else(|| field("Model")).unwrap_or_else(unknown)
}

fn kernel() -> String {
    match nix::sys::utsname::uname() {
        Ok(name) => [name.sysname(), name.release(), name.version(), name.machine()]
            .map(|part| part.to_string_lossy().into_owned())
            .join(" "),
        Err(_) => unknown(),
    }
}

fn os_name() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(unknown, |name| name.trim_matches('"').into())
}

fn governor(cpu: u32) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    fs::read_to_string(path).ok().map(|text| text.trim().into())
}

fn memory_bytes() -> u64 {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The hypervisor's own signature where the processor tells it (x86), else what the firmware says.
fn hypervisor() -> String {
    let firmware = fs::read_to_string("/sys/hypervisor/type")
        .or_else(|_| fs::read_to_string("/sys/class/dmi/id/product_name"));
    match signature() {
        Some(signature) => signature,
        None if cfg!(target_arch = "x86_64") => "none".into(),
        None => firmware.map_or_else(|_| unknown(), |text| text.trim().into()),
    }
}

#[cfg(target_arch = "x86_64")]
fn signature() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    if __cpuid(1).ecx & (1 << 31) == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let text = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned();
    Some(match text.as_str() {
        "KVMKVMKVM" => "KVM".into(),
        "Microsoft Hv" => "Hyper-V".into(),
        "VMwareVMware" => "VMware".into(),
        "XenVMMXenVMM" => "Xen".into(),
        "TCGTCGTCGTCG" => "QEMU".into(),
        _ => text,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Option<String> {
    None
}

fn unknown() -> String {
    "unknown".into()
}
