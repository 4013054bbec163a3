//! The machine that a run runs on, as far as it bears on the figures.

use std::fs;

use crate::topology::{self, Cpu};

/// The machine, as far as it bears on the figures. What the system does not tell is `unknown`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The processor's name.
    pub cpu_model: String,
    /// Processors that this process may use.
    pub cpus: Vec<Cpu>,
    /// Kernel name, release, version and architecture.
    pub kernel: String,
    /// Name of the distribution.
    pub os: String,
    /// The hypervisor, or `none` on bare metal.
    pub hypervisor: String,
    /// Memory in bytes; 0 where the system does not tell.
    pub memory_bytes: u64,
}

impl Facts {
    /// Reads them.
    pub fn read() -> Self {
        Self {
            cpu_model: cpu_model(),
            cpus: topology::usable().unwrap_or_default(),
            kernel: kernel(),
            os: os_name(),
            hypervisor: hypervisor(),
            memory_bytes: memory_bytes(),
        }
    }
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

/// The frequency governor of a processor, where the system tells.
pub fn governor(cpu: u32) -> Option<String> {
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
