//! Opens the page of a run in a browser and uses it: with a mouse, with keys, and without scripts.
//!
//! Needs Chromium (Debian's package `chromium`). Where it is missing the test says so and does nothing,
//! but not where `CI` is set: there it fails. `PLAN_PICTURES=DIR` keeps pictures of what it saw.

#[path = "browser/devtools.rs"]
mod devtools;

use std::path::Path;
use std::process::Command;

use devtools::Browser;
use serde_json::json;

/// Runs a plan and writes its page.
fn page(dir: &Path) -> String {
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/hostile.plan");
    std::fs::copy(plan, dir.join("hostile.plan")).expect("a copy");
    let call = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plan"));
        command.current_dir(dir).args(arguments).output().expect("plan starts")
    };
    let ran = call(&["run", "--plan", "hostile.plan"]);
    assert_eq!(ran.status.code(), Some(3), "{}", String::from_utf8_lossy(&ran.stderr));
    let wrote = call(&["status", "--format", "html", "-o", "page.html"]);
    assert!(wrote.status.success(), "{}", String::from_utf8_lossy(&wrote.stderr));
    format!("file://{}", dir.join("page.html").display())
}

/// Keeps a picture where somebody wants to look at it.
fn keep(browser: &mut Browser, name: &str) {
    let Some(dir) = std::env::var_os("PLAN_PICTURES") else { return };
    let file = Path::new(&dir).join(format!("{name}.png.base64"));
    std::fs::write(file, browser.picture()).expect("a picture");
}

fn panel(browser: &mut Browser) -> String {
    let text = browser
        .value("document.getElementById('panel').hidden ? '' : document.getElementById('panel').innerText");
    text.as_str().unwrap_or_default().to_owned()
}

fn focused(browser: &mut Browser) -> String {
    browser.value("document.activeElement.textContent").as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_page_can_be_used() {
    let Some(program) = devtools::chromium() else {
        assert!(std::env::var_os("CI").is_none(), "Chromium is missing: `apt-get install chromium`");
        eprintln!("skipped: Chromium is missing, so that no page was opened (`apt-get install chromium`)");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let url = page(dir.path());
    let mut browser = Browser::start(&program, 1280, 1000);
    browser.open(&url);
    assert_eq!(browser.value("document.title"), "browser: invalid");
    keep(&mut browser, "light");
    with_a_mouse(&mut browser);
    with_keys(&mut browser);
    the_list(&mut browser);
    other_looks(&mut browser, &url);
    without_scripts(&mut browser, &url);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert!(
        browser.requests().iter().all(|request| request.split('#').next() == Some(&*url)),
        "{:?}",
        browser.requests()
    );
    assert_eq!(browser.value("typeof hacked"), "undefined");
    assert_eq!(browser.value("document.querySelectorAll('img, b[onclick]').length"), 0);
    assert_eq!(browser.value("document.scripts.length"), 1);
}

/// From the graph and from the timeline to details.
fn with_a_mouse(browser: &mut Browser) {
    browser.click("#graph a[href='#task-triage'] text");
    let details = panel(browser);
    for said in ["triage", "<b onclick=hacked()>2 of 3</b>", "</pre><img src=", "Depends on", "Needed by"] {
        assert!(details.contains(said), "{said:?} is missing in: {details}");
    }
    keep(browser, "panel");
    // A name in the panel leads on.
    browser.click("#panel a[href='#task-publish']");
    assert!(panel(browser).contains("Blocked: dependency of triage"), "{}", panel(browser));
    browser.press("Escape");
    assert_eq!(panel(browser), "");
    browser.click("#timeline a.b[href='#task-audit.1']");
    let details = panel(browser);
    for said in ["audit[<img src=x onerror=stop()>]", "</script><script>hacked = true</script>", "exit 1"] {
        assert!(details.contains(said), "{said:?} is missing in: {details}");
    }
    browser.click("#panel button:last-of-type");
    assert_eq!(panel(browser), "");
}

/// Along the edges, into the details, and back.
fn with_keys(browser: &mut Browser) {
    browser.value("document.querySelector(\"#graph a[href='#task-scan']\").focus()");
    browser.press("ArrowRight");
    assert!(focused(browser).starts_with("audit"), "{}", focused(browser));
    browser.press("ArrowRight");
    browser.press("ArrowRight");
    assert!(focused(browser).starts_with("publish"), "{}", focused(browser));
    browser.press("ArrowLeft");
    browser.press("Enter");
    assert!(panel(browser).contains("2 of 3"), "{}", panel(browser));
    browser.press("Escape");
    assert!(focused(browser).starts_with("triage"), "{}", focused(browser));
}

/// Opens a line, narrows the list down, and finds an instance.
fn the_list(browser: &mut Browser) {
    let shown =
        "[...document.querySelectorAll('details.t:not([hidden]) > summary .nm')].map(e => e.textContent)";
    assert_eq!(browser.value(&format!("{shown}.length")), 6);
    browser.click(".chip.s-blocked");
    assert_eq!(browser.value(shown), json!(["publish"]));
    browser.click(".chip.s-blocked");
    browser.click(".filter input");
    browser.call("Input.insertText", json!({ "text": "INSTANCES failed" }));
    assert_eq!(browser.value(shown), json!(["audit"]));
    browser.click(".filter .clear");
    browser.click("#tasks details.t.s-fail:has(#task-audit) > summary");
    assert_eq!(browser.value("document.getElementById('task-audit').checkVisibility()"), true);
    assert_eq!(browser.value("document.querySelectorAll('.instances tbody tr').length"), 2);
    browser.click(".instances tr.s-fail summary");
    assert_eq!(browser.value("document.getElementById('task-audit.1').checkVisibility()"), true);
    keep(browser, "list");
}

/// Nothing is wider than a narrow window, in the dark too.
fn other_looks(browser: &mut Browser, url: &str) {
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.call("Emulation.setEmulatedMedia", dark);
    keep(browser, "dark");
    let narrow = json!({ "width": 390, "height": 1000, "deviceScaleFactor": 1, "mobile": true });
    browser.call("Emulation.setDeviceMetricsOverride", narrow);
    // To a part of the same page there would be nothing to load.
    browser.open("about:blank");
    browser.open(&format!("{url}#task-triage"));
    browser.wait("document.getElementById('task-triage').checkVisibility()");
    keep(browser, "narrow");
    assert_eq!(browser.value("document.documentElement.scrollWidth <= innerWidth"), true);
    browser.click("#graph a[href='#task-scan'] text");
    keep(browser, "narrow-panel");
    browser.press("Escape");
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
}

/// Links lead into what is folded, which opens by itself.
fn without_scripts(browser: &mut Browser, url: &str) {
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.open(url);
    assert_eq!(browser.value("document.querySelector('.filter').hidden"), true);
    assert_eq!(browser.value("document.getElementById('task-triage').checkVisibility()"), false);
    browser.click("#graph a[href='#task-triage'] text");
    browser.wait("document.getElementById('task-triage').checkVisibility()");
    browser.click("#tasks details.t:has(#task-scan) > summary");
    browser.wait("document.getElementById('task-scan').checkVisibility()");
}
