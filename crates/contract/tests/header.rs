//! Tests the header with compilers: no warnings in C and C++, short, and with the layout of
//! `ipcmark_contract::c`.

use std::{
    fmt::Write as _,
    fs,
    mem::offset_of,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use ipcmark_contract::c;

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include")
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn compiler(command: &str) -> Command {
    let mut compiler = Command::new(command);
    compiler.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(include());
    compiler
}

#[track_caller]
fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn it_is_clean_in_c_and_in_cpp() {
    for (command, standard, name) in [
        ("cc", "-std=c11", "clean.c"),
        ("cc", "-std=c23", "clean.c"),
        ("c++", "-std=c++17", "clean.cpp"),
        ("c++", "-std=c++20", "clean.cpp"),
    ] {
        let source = scratch(&format!("{}-{name}", standard.trim_start_matches('-')));
        let text = "#include <ipcmark/transport.h>\n#include <ipcmark/transport.h>\n";
        fs::write(&source, format!("{text}int main(void) {{ return 0; }}\n")).unwrap();
        // Compilers that do not know c23 yet call it c2x.
        let standard = if standard == "-std=c23" { "-std=c2x" } else { standard };
        let mut compiler = compiler(command);
        succeeds(&compiler.args([standard, "-fsyntax-only"]).arg(&source).output().unwrap());
    }
}

#[test]
fn it_is_shorter_than_250_lines() {
    let text = fs::read_to_string(include().join("ipcmark/transport.h")).unwrap();
    assert!(text.lines().count() < 250);
}

/// The sizes and offsets of a struct's fields: a line of C that prints each, and the expected
/// value.
macro_rules! layout {
    ($($c:literal = $rust:ident { $($field:ident),+ $(,)? })+) => {
        [$((
            concat!("P(sizeof(struct ", $c, "));").to_owned(),
            size_of::<c::$rust>(),
        ), $((
            concat!("P(offsetof(struct ", $c, ", ", stringify!($field), "));").to_owned(),
            offset_of!(c::$rust, $field),
        )),+),+]
    };
}

/// The constants: a line of C that prints each, and the expected value.
macro_rules! constants {
    ($($name:ident),+ $(,)?) => {
        [$((concat!("P(IPCMARK_", stringify!($name), ");").to_owned(), c::$name as i64)),+]
    };
}

#[test]
fn its_layout_is_that_of_the_loader() {
    let mut expected: Vec<(String, i64)> = layout! {
        "ipcmark_error" = Error { size, number, operation, object, cause, remedy }
        "ipcmark_option_spec" = OptionSpec { key, accepts, standard, summary }
        "ipcmark_option" = Setting { key, value }
        "ipcmark_settings" = Settings {
            size, role, follower, wait, payload, subscribers, option_count, options, name, directory,
            address, connect_ns
        }
        "ipcmark_session" = Session { size, peers, send, receive, meet, note, may_lose }
        "ipcmark_transport" = Transport {
            size, flags, name, summary, max_payload, waits, patterns, max_subscribers, option_count,
            context, probe, open, publish, take, close, loan, release, wait, options, check, memory_limit
        }
        "ipcmark_module" = Module {
            size, abi_version, family, library_version, transports, transport_count, reserved,
            leftovers
        }
    }
    .map(|(line, value)| (line, value as i64))
    .into();
    expected.extend(constants![
        ABI_VERSION,
        DONE,
        WOULD_BLOCK,
        FAILED,
        PEER_GONE,
        SPIN,
        BLOCK,
        HYBRID,
        LATENCY,
        ONE_WAY,
        THROUGHPUT,
        FAN_OUT,
        FAN_IN,
        LOANS,
        CROSSES_HOSTS,
        UNRELIABLE,
        ALTERNATING,
        NO_HOP,
        SAME_PROCESS,
        EXCLUSIVE,
        IN_MEMORY,
        ON_NETWORK,
        IN_KERNEL,
        ONE_END,
        LEADER,
        FOLLOWER,
    ]);
    let printed = printed_by_c(expected.iter().map(|(line, _)| line.as_str()));
    assert_eq!(printed.len(), expected.len());
    for ((line, expected), printed) in expected.iter().zip(printed) {
        assert_eq!(printed, *expected, "{line}");
    }
}

/// Compiles and runs a program of these lines; returns the value that each printed.
fn printed_by_c<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<i64> {
    let mut text = String::from(
        "#include <ipcmark/transport.h>\n#define P(x) printf(\"%lld\\n\", (long long)(x))\n\
         int main(void) {\n",
    );
    lines.for_each(|line| writeln!(text, "{line}").unwrap());
    text.push_str("return 0; }\n");
    let (source, program) = (scratch("layout.c"), scratch("layout"));
    fs::write(&source, text).unwrap();
    let mut compiler = compiler("cc");
    succeeds(&compiler.arg("-std=c11").arg(&source).arg("-o").arg(&program).output().unwrap());
    let output = Command::new(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}
