//! The hypervisor under this machine.

use crate::files::Files;

/// Its name, or `none` on bare metal, or `unknown`: its own signature where the processor tells it (x86), else what the firmware says.
pub fn name() -> String {
    let files = Files::of_system();
    let firmware = || {
        files.text("sys/hypervisor/type").or_else(|| files.text("sys/class/dmi/id/product_name"))
    };
    match signature() {
        Some(signature) => signature,
        None if cfg!(target_arch = "x86_64") => "none".into(),
        None => firmware().unwrap_or_else(|| "unknown".into()),
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
