//! The documentation covers every format.

use ipcmark_report::FORMATS;

use crate::{sample::run, shown};

const PAGE: &str = include_str!("../../../../../docs/exports.md");

#[test]
fn every_column_of_the_csv_is_documented() {
    let head = shown(&run(vec![]), "csv");
    for column in head.trim_end().split(',') {
        let of_process = ["leader_", "others_"].iter().find_map(|whose| column.strip_prefix(whose));
        let name = of_process.unwrap_or(column);
        assert!(
            PAGE.contains(&format!("`{name}`")),
            "docs/exports.md does not say what {column} is"
        );
    }
}

#[test]
fn every_format_is_documented() {
    for format in FORMATS {
        assert!(PAGE.contains(&format!("`{format}`")), "docs/exports.md does not name {format}");
    }
}
