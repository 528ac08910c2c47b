//! A headless Chromium, driven over its own pipe: no port, no socket, no further crate.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where Chromium is, if it is installed.
pub fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut places = std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name)));
    places.find(|place| place.is_file())
}

/// A browser with one page.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    next: u64,
    session: Option<String>,
    /// What the page told by itself, oldest first.
    pub events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser whose window has this size.
    pub fn start(program: &Path, width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().expect("a directory");
        // The browser reads commands from descriptor 3 and answers on 4; ours are its input and output.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null", "sh"]);
        command.arg(program);
        command.args(["--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run"]);
        command.args(["--disable-quic", "--disable-background-networking", "--disable-component-update"]);
        command.args(["--disable-sync", "--hide-scrollbars", "--disable-dev-shm-usage"]);
        command.arg(format!("--window-size={width},{height}"));
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        command.arg("about:blank");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let input = child.stdin.take().expect("a pipe");
        let output = child.stdout.take().expect("a pipe");
        let (send, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message else { return };
                let message = serde_json::from_slice(&message).expect("JSON");
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Self { child, input, messages, next: 0, session: None, events: vec![], _profile: profile };
        let targets = browser.call("Target.getTargets", json!({}));
        let page = targets["targetInfos"].as_array().into_iter().flatten().find(|one| one["type"] == "page");
        let target = match page {
            Some(page) => page["targetId"].clone(),
            None => browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone(),
        };
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Network", "Log", "Runtime"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut text = message.to_string().into_bytes();
        text.push(0);
        self.input.write_all(&text).expect("the browser reads");
        loop {
            let answer = self.receive(method);
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn receive(&mut self, what: &str) -> Value {
        let message = self.messages.recv_timeout(PATIENCE);
        let message = message.unwrap_or_else(|_| panic!("the browser is silent: {what}"));
        if message["id"].is_null() {
            self.events.push(message.clone());
        }
        message
    }

    /// Opens an address and waits until it is loaded.
    pub fn open(&mut self, url: &str) {
        let before = self.events.len();
        let answer = self.call("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{url}: {answer}");
        while !self.events[before..].iter().any(|event| event["method"] == "Page.loadEventFired") {
            self.receive("load");
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression holds.
    pub fn wait(&mut self, expression: &str) {
        let began = Instant::now();
        while self.value(expression) != true {
            assert!(began.elapsed() < PATIENCE, "never: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks the middle of what a selector finds first, as a mouse does.
    pub fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const at = document.querySelector({}); at.scrollIntoView({{ block: 'center', inline: \
             'center' }}); const r = at.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            let code = match key {
                "Enter" => 13,
                "Escape" => 27,
                "ArrowLeft" => 37,
                "ArrowUp" => 38,
                "ArrowRight" => 39,
                "ArrowDown" => 40,
                "Tab" => 9,
                other => panic!("no code for {other}"),
            };
            let text = if key == "Enter" && kind == "rawKeyDown" { "\r" } else { "" };
            let kind = if text.is_empty() { kind } else { "keyDown" };
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// A picture of the whole page, as PNG in base64.
    pub fn picture(&mut self) -> String {
        let answer =
            self.call("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": false }));
        answer["data"].as_str().expect("a picture").to_owned()
    }

    /// What went wrong in the page, as it told.
    pub fn complaints(&self) -> Vec<String> {
        let complaint = |event: &Value| match event["method"].as_str()? {
            "Runtime.exceptionThrown" => Some(event["params"].to_string()),
            "Runtime.consoleAPICalled" if event["params"]["type"] == "error" => {
                Some(event["params"].to_string())
            }
            "Log.entryAdded" if event["params"]["entry"]["level"] != "verbose" => {
                Some(event["params"].to_string())
            }
            _ => None,
        };
        self.events.iter().filter_map(complaint).collect()
    }

    /// The addresses that the page asked for.
    pub fn requests(&self) -> Vec<String> {
        let request = |event: &Value| match event["method"].as_str()? {
            "Network.requestWillBeSent" => Some(event["params"]["request"]["url"].as_str()?.to_owned()),
            "Network.webSocketCreated" => Some(event["params"]["url"].as_str()?.to_owned()),
            _ => None,
        };
        self.events.iter().filter_map(request).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends by itself when asked; a browser that hangs is killed.
        let close = json!({ "id": u64::MAX >> 12, "method": "Browser.close" }).to_string() + "\0";
        let _ = self.input.write_all(close.as_bytes());
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
