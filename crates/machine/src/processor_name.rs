//! The name of the processors, from `/proc/cpuinfo`: a text on x86, numbers on Arm.

use std::collections::BTreeSet;

use crate::files::{Files, field};

/// Implementer, part and name of Arm's processors and of compatible ones, as in `lscpu` of util-linux.
const PARTS: &[(u32, u32, &str)] = &[
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "TaiShan-v110"),
    (0x4e, 0x004, "Carmel"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];

/// The name; if a machine has several kinds of processors, all their names.
pub(crate) fn name(files: &Files) -> Option<String> {
    let info = files.text("proc/cpuinfo")?;
    let told = ["model name", "Model"].iter().find_map(|key| field(&info, key));
    told.map(str::to_owned).or_else(|| parts(&info)).or_else(|| board(files))
}

/// Each processor has its own paragraph.
fn parts(info: &str) -> Option<String> {
    let kinds: BTreeSet<String> = info.split("\n\n").filter_map(part).collect();
    (!kinds.is_empty()).then(|| kinds.into_iter().collect::<Vec<_>>().join(", "))
}

fn part(processor: &str) -> Option<String> {
    let number = |key| u32::from_str_radix(field(processor, key)?.strip_prefix("0x")?, 16).ok();
    let (implementer, part) = (number("CPU implementer")?, number("CPU part")?);
    let known = PARTS.iter().find(|known| (known.0, known.1) == (implementer, part));
    Some(match known {
        Some((_, _, name)) => (*name).to_owned(),
        None => format!("Arm implementer {implementer:#04x} part {part:#05x}"),
    })
}

/// The firmware's name of the board, for files without a paragraph for each processor.
fn board(files: &Files) -> Option<String> {
    let text = files.text("proc/device-tree/model")?;
    Some(text.trim_end_matches('?').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIG: &str =
        "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\nCPU revision\t: 3\n";
    const LITTLE: &str = "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n";

    fn named(files: &[(&str, &str)]) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        name(&Files::below(directory.path()))
    }

    fn of(info: &str) -> Option<String> {
        named(&[("proc/cpuinfo", info)])
    }

    #[test]
    fn words_are_taken_as_they_are() {
        assert_eq!(of("processor\t: 0\nmodel name\t: A 1\n").unwrap(), "A 1");
        assert_eq!(of(&format!("{BIG}\nModel\t\t: Raspberry Pi 4\n")).unwrap(), "Raspberry Pi 4");
    }

    #[test]
    fn numbers_become_names() {
        assert_eq!(of(BIG).unwrap(), "Cortex-A72");
        assert_eq!(of(&format!("{BIG}\n{LITTLE}\n{BIG}")).unwrap(), "Cortex-A53, Cortex-A72");
        let other = of("CPU implementer\t: 0x7f\nCPU part\t: 0x01\n").unwrap();
        assert_eq!(other, "Arm implementer 0x7f part 0x001");
    }

    #[test]
    fn a_board_name_replaces_a_missing_processor_name() {
        let files = [("proc/cpuinfo", "processor\t: 0\n"), ("proc/device-tree/model", "Board\0")];
        assert_eq!(named(&files).unwrap(), "Board");
        assert_eq!(of("processor\t: 0\n"), None);
        assert_eq!(of("CPU implementer\t: x\nCPU part\t: 0x1\n"), None);
    }
}
