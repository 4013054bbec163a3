//! `--export FORMAT=FILE`.

use std::path::PathBuf;

use ipcmark_report::{FORMATS, Format};

/// A format and the file to write in it.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub format: &'static Format,
    pub path: PathBuf,
}

impl Export {
    /// Reads `csv=result.csv`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((name, path)) = text.split_once('=').filter(|(_, path)| !path.is_empty()) else {
            return Err("write it as FORMAT=FILE, such as csv=result.csv".into());
        };
        if name == "parquet" {
            return Err("'parquet' is not a format of the command; a data frame writes it: see docs/python.md#parquet".into());
        }
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        let format = ipcmark_report::format(name)
            .ok_or_else(|| format!("'{name}' is not a format; formats are {}", names.join(", ")))?;
        Ok(Self { format, path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_export_names_a_format_and_a_file() {
        let export = Export::parse("csv=a=b.csv").unwrap();
        assert_eq!((export.format.name, export.path.as_path()), ("csv", Path::new("a=b.csv")));
        for (text, cause) in [
            ("csv", "FORMAT=FILE"),
            ("csv=", "FORMAT=FILE"),
            ("result.csv", "FORMAT=FILE"),
            ("parquet=a", "docs/python.md#parquet"),
            ("xml=a", "'xml' is not a format; formats are table, markdown, csv, json, html"),
        ] {
            let error = Export::parse(text).unwrap_err();
            assert!(error.contains(cause), "{text}: {error}");
        }
    }
}
