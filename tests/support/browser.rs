//! A real headless browser, controlled with its DevTools protocol over two pipes.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{watchdog::WATCHDOG, works};

/// The possible names of the program.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The pipes must be the browser's descriptors 3 and 4; the shell redirects them.
const PIPES: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

const FLAGS: [&str; 6] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "about:blank",
];

/// A page in its own browser.
pub struct Page {
    browser: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    number: u64,
    session: Option<String>,
    complaints: Vec<String>,
    loaded: bool,
    home: TempDir,
}

/// The display settings for a page.
#[derive(Clone, Copy)]
pub struct Look {
    /// The width in pixels.
    pub width: u32,
    /// True if the system prefers dark colours.
    pub dark: bool,
}

/// A usual window.
pub const WIDE: Look = Look { width: 1400, dark: false };

impl Page {
    /// Opens a file; the error is the reason why there is no browser here.
    pub fn open(path: &Path, look: Look) -> Result<Self, String> {
        let program = NAMES.into_iter().find(|name| works(name, &["--version"]));
        let names = || NAMES.join(", ");
        let program = program.ok_or_else(|| {
            format!("there is none of {}; install it: apt install chromium", names())
        })?;
        let mut page = Self::start(program);
        page.attach();
        page.look(look);
        page.call("Page.navigate", json!({"url": format!("file://{}", path.display())}));
        page.receive_until(|page, _| page.loaded.then_some(()));
        Ok(page)
    }

    fn start(program: &str) -> Self {
        let home = tempfile::tempdir().expect("there is a place for temporary files");
        let profile = format!("--user-data-dir={}", home.path().display());
        let mut browser = Command::new("sh")
            .args(["-c", PIPES, "sh", program, &profile])
            .args(FLAGS)
            .env("TMPDIR", home.path())
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let to = browser.stdin.take().expect("it is piped");
        let from = messages(browser.stdout.take().expect("it is piped"));
        let (number, session, complaints, loaded) = (0, None, Vec::new(), false);
        Self { browser, to, from, number, session, complaints, loaded, home }
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let request = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", request);
        self.session = attached["sessionId"].as_str().map(Into::into);
        for domain in ["Page", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Changes the display settings.
    pub fn look(&mut self, look: Look) {
        let mobile = look.width < 500;
        let size =
            json!({"width": look.width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if look.dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// The value of a JavaScript expression.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let request =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let outcome = self.call("Runtime.evaluate", request);
        let failure = &outcome["exceptionDetails"];
        assert!(failure.is_null(), "{expression}: {failure}");
        outcome["result"]["value"].clone()
    }

    /// The same, as text.
    #[track_caller]
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).into()
    }

    /// The same, as a number.
    #[track_caller]
    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        let text = if key == " " { " " } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let code = match key {
                "Tab" => 9,
                "Escape" => 27,
                " " => 32,
                other => panic!("no test presses {other}"),
            };
            let event = json!({"type": kind, "key": key, "code": key, "text": text,
                "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Renders the page for printing.
    pub fn print(&mut self) {
        self.call("Page.printToPDF", json!({}));
    }

    /// Fails if the page wrote to the console, threw an exception, or violated its own policy.
    #[track_caller]
    pub fn has_no_complaint(&mut self) {
        // Pending messages have arrived before the answer.
        self.value("new Promise((done) => setTimeout(done, 50))");
        assert!(self.complaints.is_empty(), "{:?}", self.complaints);
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let number = self.number;
        let mut message = json!({"id": number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.to, "{message}\0").expect("the browser listens");
        self.receive_until(|_, answer| (answer["id"] == number).then(|| answer.clone()))
            .get_mut("result")
            .unwrap_or_else(|| panic!("{method} has no result"))
            .take()
    }

    fn receive_until<T>(&mut self, mut wanted: impl FnMut(&Self, &Value) -> Option<T>) -> T {
        loop {
            let message = self.from.recv_timeout(WATCHDOG).expect("the browser lives and answers");
            self.note(&message);
            if let Some(found) = wanted(self, &message) {
                return found;
            }
        }
    }

    fn note(&mut self, message: &Value) {
        match message["method"].as_str() {
            Some("Page.loadEventFired") => self.loaded = true,
            Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded") => {
                self.complaints.push(message["params"].to_string());
            }
            _ => {}
        }
    }
}

impl Drop for Page {
    /// Asks the browser to close, so that it leaves nothing behind; kills it if it does not.
    fn drop(&mut self) {
        let _ = write!(self.to, "{}\0", json!({"id": 0, "method": "Browser.close"}));
        let deadline = Instant::now() + Duration::from_secs(10);
        while matches!(self.browser.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.browser.kill();
        let _ = self.browser.wait();
        let _ = self.home.path();
    }
}

/// The messages of the browser; each ends with a NUL byte.
fn messages(stream: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for message in BufReader::new(stream).split(0).map_while(Result::ok) {
            let Ok(message) = serde_json::from_slice(&message) else { return };
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}
