//! A card as a PNG, drawn by a program that the user has. A library for it, with text, would lengthen the build by more
//! than a minute and enlarge the command by 5 MB.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// Width and height of the card.
const SIZE: [u32; 2] = [1200, 630];

/// A program that draws, and its arguments for the input and output files.
struct Renderer {
    name: &'static str,
    words: fn(&Path, &Path) -> Vec<OsString>,
}

/// The quickest first.
const PAINTERS: [Renderer; 6] = [
    Renderer { name: "rsvg-convert", words: |svg, png| words(&["-o"], &[png, svg]) },
    Renderer { name: "resvg", words: |svg, png| words(&[], &[svg, png]) },
    Renderer {
        name: "inkscape",
        words: |svg, png| words(&["--export-type=png", "-o"], &[png, svg]),
    },
    Renderer { name: "chromium", words: browser },
    Renderer { name: "chromium-browser", words: browser },
    Renderer { name: "google-chrome", words: browser },
];

fn words(flags: &[&str], paths: &[&Path]) -> Vec<OsString> {
    let flags = flags.iter().map(OsString::from);
    flags.chain(paths.iter().map(|path| path.as_os_str().into())).collect()
}

fn browser(svg: &Path, png: &Path) -> Vec<OsString> {
    let [width, height] = SIZE;
    let profile = svg.with_file_name("profile");
    let mut all: Vec<OsString> =
        ["--headless", "--disable-gpu", "--hide-scrollbars"].map(OsString::from).into();
    // A browser refuses to run sandboxed as root; the page is the command's own drawing, without scripts.
    if nix::unistd::geteuid().is_root() {
        all.push("--no-sandbox".into());
    }
    all.push(format!("--window-size={width},{height}").into());
    for (flag, path) in [("--user-data-dir=", &*profile), ("--screenshot=", png), ("file://", svg)]
    {
        let mut word = OsString::from(flag);
        word.push(path);
        all.push(word);
    }
    all
}

/// Draws the card as a PNG file.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>, String> {
    let directory = tempfile::tempdir().map_err(|e| format!("cannot make a directory: {e}"))?;
    let (source, target) = (directory.path().join("card.svg"), directory.path().join("card.png"));
    fs::write(&source, svg).map_err(|e| format!("cannot write {}: {e}", source.display()))?;
    let mut reason = None;
    for painter in &PAINTERS {
        match drawn(painter, &source, &target) {
            Some(Ok(picture)) => return Ok(picture),
            Some(Err(why)) => reason = Some(why),
            None => {}
        }
    }
    let names: Vec<&str> = PAINTERS.iter().map(|painter| painter.name).collect();
    Err(reason.unwrap_or_else(|| {
        format!(
            "cannot draw a PNG: there is none of {}; install one (apt install librsvg2-bin), or use --svg",
            names.join(", ")
        )
    }))
}

/// The picture that a program drew; None if there is no such program.
fn drawn(painter: &Renderer, svg: &Path, png: &Path) -> Option<Result<Vec<u8>, String>> {
    let mut command = Command::new(painter.name);
    command.args((painter.words)(svg, png)).stdin(Stdio::null());
    let output = command.output().ok()?;
    let picture = fs::read(png).unwrap_or_default();
    Some(match size(&picture) {
        Some(SIZE) => Ok(picture),
        _ => Err(format!(
            "cannot draw a PNG: {} ended with {} and drew no picture of {} × {}; use --svg",
            painter.name, output.status, SIZE[0], SIZE[1]
        )),
    })
}

/// Width and height of a picture, from the first bytes of its file.
fn size(png: &[u8]) -> Option<[u32; 2]> {
    let head = png.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")?;
    let number = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    Some([number(0)?, number(4)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_picture_is_read_from_its_head() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x04\xb0\0\0\x02\x76".to_vec();
        assert_eq!(size(&png), Some(SIZE));
        png.truncate(20);
        assert_eq!((size(&png), size(b""), size(b"<svg")), (None, None, None));
    }

    #[test]
    fn a_missing_program_is_skipped_and_a_failing_one_is_reported() {
        let none = Renderer { name: "ipcmark-no-such-program", words: |_, _| Vec::new() };
        let nothing = Path::new("/nowhere/at/all.png");
        assert!(drawn(&none, nothing, nothing).is_none());
        let idle = Renderer { name: "true", words: |_, _| Vec::new() };
        let why = drawn(&idle, nothing, nothing).unwrap().unwrap_err();
        assert!(why.contains("true ended with exit status: 0"), "{why}");
    }
}
