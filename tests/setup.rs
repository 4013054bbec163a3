//! The installation and the questions of `make bench` on an empty machine: the commands that would install or build are
//! scripts that record their arguments.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::support::{Ended, end, pty::OnTerminal};

ipcmark_harness::tests![
    the_answer_yes_installs_the_shown_packages,
    the_answer_no_leaves_the_rows_of_the_operating_system,
    nothing_can_be_built_without_a_compiler,
    without_a_terminal_no_question_is_asked,
    a_given_answer_skips_the_question,
];

/// The system's commands that the scripts need.
const TOOLS: &str = "basename cat dirname env fold grep head make mkdir mktemp nproc paste rm sed sh sort tail tr uname";

/// Commands that record their arguments. Nothing is installed, and every package is offered.
const STUBS: [(&str, &str); 6] = [
    ("apt-cache", ""),
    (
        "apt-get",
        "case $* in *assume-no*) echo 'Need to get 41.7 MB of archives.'; exit 1 ;; esac\n\
         echo \"apt-get $*\" >>$NOTES",
    ),
    (
        "cargo",
        "echo \"cargo $*\" >>$NOTES\ncase $1 in build) mkdir -p target/release\n\
         { echo '#!/bin/sh'; echo 'echo \"ipcmark $*\" >>$NOTES'; } >target/release/ipcmark\n\
         chmod +x target/release/ipcmark ;; esac",
    ),
    ("dpkg-query", "exit 1"),
    ("id", "echo 1000"),
    ("sudo", "echo sudo >>$NOTES\nexec \"$@\""),
];

/// A machine on which nothing is installed, and a checkout.
struct Machine {
    place: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { place: tempfile::tempdir().expect("a directory") };
        fs::create_dir(machine.path("bin")).expect("it is new");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        for name in ["Makefile", "scripts", "modules"] {
            symlink(root.join(name), machine.path(name)).expect("it is new");
        }
        TOOLS.split(' ').for_each(|tool| machine.offer(tool, &found(tool)));
        machine.offer("chmod", &found("chmod"));
        machine.offer("cc", &found("true"));
        for (name, body) in STUBS {
            let file = machine.path("bin").join(name);
            fs::write(&file, format!("#!/bin/sh\n{body}\n")).expect("it is new");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn offer(&self, name: &str, program: &Path) {
        symlink(program, self.path("bin").join(name)).expect("it is new");
    }

    fn bench(&self) -> Command {
        let mut command = Command::new("make");
        command.args(["--no-print-directory", "bench"]).current_dir(self.place.path());
        command.env_clear().env("PATH", self.path("bin")).env("NOTES", self.path("notes"));
        command.env("HOME", self.place.path());
        command
    }

    /// At a terminal, with this answer.
    fn answered(&self, answer: &str) -> (bool, String) {
        let mut terminal = OnTerminal::start(self.bench(), 120, 40);
        terminal.await_text("Install them? [y/N] ");
        terminal.types(answer);
        let (status, text) = terminal.end();
        (status.success(), text)
    }

    /// The recorded calls of the commands.
    fn notes(&self) -> String {
        fs::read_to_string(self.path("notes")).unwrap_or_default()
    }
}

fn found(tool: &str) -> PathBuf {
    let places = ["/usr/bin", "/bin", "/usr/local/bin"].map(|place| Path::new(place).join(tool));
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("no {tool}"))
}

/// Everything was installed, built and measured.
#[track_caller]
fn is_installed(notes: &str) {
    let install = "\napt-get install -y -qq --no-install-recommends gcc ";
    for step in ["sudo\napt-get update", install, "cmake", "cargo build --release", "ipcmark run"] {
        assert!(notes.contains(step), "{step}: {notes}");
    }
}

fn the_answer_yes_installs_the_shown_packages() {
    let machine = Machine::new();
    let (succeeds, text) = machine.answered("y\n");
    assert!(succeeds, "{text}");
    for word in ["gcc ", "libzmq3-dev", "Need to get 41.7 MB", "with sudo"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    is_installed(&machine.notes());
    let installed = machine.notes();
    let line = installed.lines().find(|line| line.starts_with("apt-get install")).unwrap();
    for package in line.split("--no-install-recommends ").nth(1).unwrap().split(' ') {
        assert!(text.contains(package), "{package}: {text}");
    }
}

fn the_answer_no_leaves_the_rows_of_the_operating_system() {
    for answer in ["n\n", "\n", "why\n"] {
        let machine = Machine::new();
        let (succeeds, text) = machine.answered(answer);
        let notes = machine.notes();
        assert!(succeeds, "{text}{notes}");
        assert!(!notes.contains("apt-get") && !notes.contains("sudo"), "{notes}");
        assert!(notes.contains("cargo build") && notes.contains("ipcmark run"), "{notes}");
        assert!(text.contains("nothing is installed") && text.contains("make deps"), "{text}");
        assert!(text.contains("modules: none are built, for this machine has no cmake"), "{text}");
        assert_eq!(text.matches("[y/N]").count(), 1, "it asks once: {text}");
    }
}

fn nothing_can_be_built_without_a_compiler() {
    let machine = Machine::new();
    fs::remove_file(machine.path("bin").join("cc")).unwrap();
    let (succeeds, text) = machine.answered("n\n");
    assert!(!succeeds && text.contains("apt install gcc libc6-dev"), "{text}");
    assert_eq!(machine.notes(), "");
}

/// As in a continuous build.
fn without_a_terminal_no_question_is_asked() {
    let machine = Machine::new();
    let Ended { stdout, stderr, .. } = end(machine.bench().stdin(Stdio::null())).exits(0);
    assert!(!stderr.contains("[y/N]"), "{stdout}{stderr}");
    is_installed(&machine.notes());
}

fn a_given_answer_skips_the_question() {
    let machine = Machine::new();
    let mut command = machine.bench();
    command.arg("YES=1");
    let (status, text) = OnTerminal::start(command, 120, 40).end();
    assert!(status.success() && !text.contains("[y/N]"), "{text}");
    is_installed(&machine.notes());
}
