//! The hypervisor under this machine.

use crate::files::Files;

/// Its name, `none` on bare metal, or `unknown`. On x86 from the hypervisor's own signature, which the processor
/// reports; else from the firmware.
pub fn name() -> String {
    if cfg!(target_arch = "x86_64") {
        return signature().unwrap_or_else(|| "none".into());
    }
    of_firmware(&Files::of_system())
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

/// The files in which a machine identifies itself. The last two are the device tree's, whose texts end with a NUL byte.
const SOURCES: [&str; 6] = [
    "sys/hypervisor/type",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
    "sys/class/dmi/id/bios_vendor",
    "proc/device-tree/hypervisor/compatible",
    "proc/device-tree/compatible",
];

/// The texts of virtual machines in these files, as in systemd-detect-virt.
const SIGNS: [(&str, &str); 14] = [
    ("xen", "Xen"),
    ("KVM", "KVM"),
    ("linux,kvm", "KVM"),
    ("linux,dummy-virt", "QEMU"),
    ("QEMU", "QEMU"),
    ("OpenStack", "KVM"),
    ("KubeVirt", "KVM"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("VMware", "VMware"),
    ("vmware", "VMware"),
    ("Virtual Machine", "Hyper-V"),
    ("VirtualBox", "VirtualBox"),
    ("Apple Virtualization", "Apple Virtualization"),
];

/// A machine that identifies itself without a hypervisor is bare metal: EC2 has such machines too.
fn of_firmware(files: &Files) -> String {
    let texts: Vec<String> = SOURCES.iter().filter_map(|path| files.text(path)).collect();
    let says = |sign: &str| texts.iter().any(|text| text.contains(sign));
    if texts.is_empty() {
        return "unknown".into();
    }
    let sign = SIGNS.iter().find(|(sign, _)| says(sign));
    match sign {
        Some((_, name)) if !texts.iter().any(|text| text.ends_with(".metal")) => (*name).into(),
        _ => "none".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hypervisor_entry_identifies_a_virtual_machine() {
        for (files, name) in [
            (&[][..], "unknown"),
            (&[("sys_vendor", "QEMU"), ("product_name", "KVM Virtual Machine")], "KVM"),
            (&[("sys_vendor", "Amazon EC2"), ("product_name", "m7g.large")], "Amazon EC2"),
            (&[("sys_vendor", "Amazon EC2"), ("product_name", "m7g.metal")], "none"),
            (
                &[("sys_vendor", "Microsoft Corporation"), ("product_name", "Virtual Machine")],
                "Hyper-V",
            ),
            (&[("sys_vendor", "GIGABYTE"), ("product_name", "R152-P30-00")], "none"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let place = directory.path().join("sys/class/dmi/id");
            std::fs::create_dir_all(&place).unwrap();
            for (file, text) in files {
                std::fs::write(place.join(file), text).unwrap();
            }
            assert_eq!(of_firmware(&Files::below(directory.path())), name, "{files:?}");
        }
    }

    #[test]
    fn a_device_tree_identifies_a_virtual_machine() {
        for (text, name) in
            [("linux,dummy-virt\0", "QEMU"), ("raspberrypi,4-model-b\0brcm,bcm2711\0", "none")]
        {
            let directory = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(directory.path().join("proc/device-tree")).unwrap();
            std::fs::write(directory.path().join("proc/device-tree/compatible"), text).unwrap();
            assert_eq!(of_firmware(&Files::below(directory.path())), name, "{text}");
        }
    }
}
