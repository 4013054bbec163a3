//! The output for limited terminals: only ASCII if the locale has no UTF-8, and short lines if there are few columns.

use crate::support::{Ended, end, ipcmark, ipcmark_under, read};

ipcmark_harness::tests![
    a_locale_without_utf8_gets_ascii,
    files_and_programs_get_utf8_in_any_locale,
    a_narrow_terminal_gets_short_lines,
];

/// Every table has non-ASCII characters: µ, ½, ±, ×.
const RUN: &str = "run -t pipe,tcp -s 64 -n 50 --trials 3 -w block";

fn under(locale: &str, words: &str) -> Ended {
    let mut command = ipcmark(words);
    end(command.env_remove("LC_ALL").env_remove("LC_CTYPE").env("LANG", locale))
}

/// Regression: it got bytes that it cannot show.
fn a_locale_without_utf8_gets_ascii() {
    let tables = [RUN, "list", "list tcp", "--help", "run --help", "doctor --duration 100ms"];
    for words in tables.into_iter().chain(["run -t pip", "run -w sleep", "run -t pipe -s 64..16"]) {
        for locale in ["C", "POSIX", "en_US.ISO-8859-1"] {
            let Ended { stdout, stderr, .. } = under(locale, words);
            assert!(stdout.is_ascii() && stderr.is_ascii(), "{locale}, {words}: {stdout}{stderr}");
        }
    }
    let [ascii, other] = ["C", "C.UTF-8"].map(|locale| under(locale, RUN).exits(0).stdout);
    assert!(ascii.contains("1/2 round trip in us") && ascii.contains("x floor"), "{ascii}");
    assert!(other.contains("½ round trip in µs") && other.contains("× floor"), "{other}");
    let head = ascii.lines().find(|line| line.contains("x floor")).unwrap();
    let row = ascii.lines().find(|line| line.trim_start().starts_with("tcp ")).unwrap();
    // The last column is flush right, so both are as long as each other if `+-` was given two columns. On a busy machine a
    // row can have no interval.
    assert_eq!(head.len(), row.len(), "{ascii}");
    if let Some(percent) = row.find(" %") {
        assert_eq!(head.find("+-"), Some(percent), "{ascii}");
    }
}

fn files_and_programs_get_utf8_in_any_locale() {
    let directory = tempfile::tempdir().unwrap();
    let [file, table] = ["result.json", "table.txt"].map(|name| directory.path().join(name));
    let words = format!("{RUN} -o {} --export table={}", file.display(), table.display());
    under("C", &words).exits(0);
    read(&file);
    let table = std::fs::read_to_string(&table).unwrap();
    assert!(table.contains("½ round trip in µs"), "{table}");
    let shown = under("C", &format!("{RUN} --format markdown")).exits(0).stdout;
    assert!(shown.contains("½ round trip"), "{shown}");
}

/// Regression: it got lines of 198 columns.
fn a_narrow_terminal_gets_short_lines() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result.json");
    end(ipcmark(RUN).arg("-o").arg(&file)).exits(0);
    let compare = format!("compare {0} {0}", file.display());
    for words in [RUN, "list", "list tcp", "list zeromq", "doctor --duration 100ms", &compare] {
        let shown = end(&mut ipcmark_under("env", &["COLUMNS=20"], words)).stdout;
        for line in shown.lines() {
            // A command is not wrapped, so that it can be copied.
            let is_command =
                ["install: ", "remedy: "].iter().any(|start| line.trim_start().starts_with(start));
            assert!(is_command || line.chars().count() <= 40, "{words}: {line}");
        }
    }
}
