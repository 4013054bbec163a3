//! A card to share, as a vector drawing and as pixels.

use std::fs;

use crate::{
    report::sample::MEASURED,
    support::{Ended, end, ipcmark},
};

pub fn a_card_to_share() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("r.json"), ipcmark_results::to_json(&MEASURED)).unwrap();
    let report = |flag: &str, name: &str| -> Ended {
        end(ipcmark("report").arg(at("r.json")).arg(flag).arg(at(name)))
    };
    report("--svg", "card.svg").exits(0);
    let card = fs::read_to_string(at("card.svg")).unwrap();
    assert!(card.starts_with("<svg ") && card.contains("pipe"), "{card}");
    let shown = end(ipcmark("show --format svg").arg(at("r.json"))).exits(0).stdout;
    assert_eq!(card, shown, "one card, however it is asked for");
    let refused = report("--png", "r.json").exits(2).stderr;
    assert!(refused.contains("would replace the result"), "{refused}");
    // With any program that can draw it; without one an error says so.
    let ended = report("--png", "card.png");
    match fs::read(at("card.png")) {
        Ok(picture) => {
            ended.exits(0);
            assert_eq!(&picture[16..24], b"\0\0\x04\xb0\0\0\x02\x76", "1200 and 630");
        }
        Err(_) => {
            let why = ended.exits(1).stderr;
            assert!(why.contains("cannot draw a PNG") && why.contains("--svg"), "{why}");
        }
    }
    let mut command = ipcmark("report");
    command.arg(at("r.json")).arg("--png").arg(at("other.png")).env("PATH", "/nowhere");
    let ended = end(&mut command).exits(1);
    assert!(ended.stderr.contains("librsvg2-bin"), "{}", ended.stderr);
}
