//! ENV: a computer that lacks things.

use std::fs;
use std::path::PathBuf;

use pcbflow_core::event::Fact;
use pcbflow_core::evidence::Source;
use pcbflow_tests::{TestEnvironment, tools};
use serde_json::json;

use crate::lab::{BOARD, few, ready, script, step, without};
use crate::proof::{End, Want, holds};
use crate::{Recipe, real};

pub const RECIPES: &[Recipe] = &[
    real("ENV-1", &[("found elsewhere", node_found), ("too old everywhere", node_too_old)]),
    real(
        "ENV-2",
        &[
            ("found elsewhere", python_found),
            ("too old everywhere", python_too_old),
            ("another than the project's", python_of_another),
        ],
    ),
    real("ENV-3", &[("at its configured place", chrome_configured), ("nowhere", chrome_nowhere)]),
    real("ENV-4", &[("found elsewhere", kicad_found), ("nowhere", kicad_nowhere)]),
    real("ENV-5", &[("nowhere", assistant_nowhere)]),
    real("ENV-6", &[("another form of it", other_form), ("no form of it", no_form)]),
    real(
        "ENV-7",
        &[
            ("from a copy", plain_copy),
            ("no copy may be used", no_copy),
            ("named by the program itself", named_otherwise),
        ],
    ),
    real("ENV-8", &[("found elsewhere", git_found), ("too old everywhere", git_too_old)]),
    real(
        "ENV-9",
        &[
            ("installed", installed),
            ("a download broke", download_broke),
            ("the install does nothing", install_fails),
        ],
    ),
];

fn want(class: &'static str, end: End) -> Want<'static> {
    Want { class, step: "look", left: &[], end }
}

/// A step that needs a tool, and a `PATH` of a few programs.
fn needs(requires: &serde_json::Value, argv: &[&str], programs: &[&str]) -> TestEnvironment {
    let with = json!({"argv": argv, "requires": requires});
    let mut test = ready(&[step("process/check", "look", &with, &[])]);
    few(&mut test, programs);
    test
}

fn cured(test: &TestEnvironment, class: &'static str, rung: &'static str) {
    test.pcbflow(&["run", BOARD, "--json"]).exits(0);
    holds(test, BOARD, &want(class, End::Cured(rung)));
}

fn asked(test: &TestEnvironment, class: &'static str) {
    let ran = test.pcbflow(&["run", BOARD, "--json"]);
    ran.exits(4);
    assert_eq!(ran.json()["class"], class, "{ran}\n{}", test.story(BOARD));
    holds(test, BOARD, &want(class, End::Asked));
}

/// Whether a tool is in one of these places of the system.
fn anywhere(places: &[&str]) -> bool {
    places.iter().any(|p| fs::metadata(p).is_ok_and(|m| m.is_file()))
}

fn node_found() {
    let test = needs(&json!({"node": ">=18"}), &["node", "--version"], &["git"]);
    let place = test.path("home/.volta/bin/node");
    fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
    match tools::find("node") {
        Some(node) => std::os::unix::fs::symlink(node, place).expect("a link"),
        None => drop(script(&place, "#!/bin/sh\necho v20.1.0\n")),
    }
    cured(&test, "ENV-1", "find-in-known-places");
}

fn node_too_old() {
    let test = needs(&json!({"node": ">=18"}), &["node", "--version"], &["git"]);
    if anywhere(&["/usr/bin/node", "/usr/bin/nodejs", "/usr/local/bin/node"]) {
        // The real one of this machine, asked for a version that no Node has.
        let path = test.board(BOARD).join("project.yaml");
        pcbflow_tests::files::replace(&path, ">=18", ">=999");
    } else {
        script(&test.wrappers().join("node"), "#!/bin/sh\necho v16.2.0\n");
    }
    asked(&test, "ENV-1");
}

fn python_found() {
    if !anywhere(&["/usr/bin/python3", "/usr/local/bin/python3"]) {
        pcbflow_tests::note("skipped: no Python in a usual place");
        return;
    }
    let test = needs(&json!({"python": ">=3.9"}), &["python3", "--version"], &["git"]);
    cured(&test, "ENV-2", "find-in-known-places");
}

fn python_too_old() {
    let test = needs(&json!({"python": ">=99"}), &["python3", "--version"], &["git", "python3"]);
    asked(&test, "ENV-2");
}

/// Small program: a browser that answers its version and starts, for this machine has no real one.
/// The package is in the project's own folder of packages, and the computer's Python ran.
fn python_of_another() {
    let with = json!({"script": "use.py", "requires": {"environment": "venv"}});
    let test = ready(&[step("process/check", "look", &with, &[])]);
    fs::write(test.board(BOARD).join("use.py"), "import netlister\n").expect("a script");
    let python = tools::find("python3").expect("python3");
    let mut venv = test.program(python);
    venv.args(["-m", "venv", "--without-pip"]).arg(test.board(BOARD).join("venv"));
    let made = pcbflow_tests::Running::start(venv).wait();
    assert_eq!(made.exit, Some(0), "{made}");
    let lib = fs::read_dir(test.board(BOARD).join("venv/lib")).expect("a folder of packages");
    let packages = lib.flatten().next().expect("a Python").path().join("site-packages");
    fs::write(packages.join("netlister.py"), "").expect("a package");
    cured(&test, "ENV-2", "find-in-known-places");
}

fn chrome_configured() {
    let test = needs(&json!({"tools": ["chrome"]}), &["true"], &["git"]);
    if anywhere(&["/usr/bin/google-chrome", "/usr/bin/chromium", "/snap/bin/chromium"]) {
        pcbflow_tests::note("a real browser is in a usual place, too");
    }
    let browser = script(&test.path("opt/chromium"), "#!/bin/sh\necho 'Chromium 131.0.1'\n");
    let settings = format!("[tools]\nchrome = {:?}\n", browser.display().to_string());
    fs::write(test.ws().join("pcbflow.toml"), settings).expect("settings");
    cured(&test, "ENV-3", "use-configured-path");
}

fn chrome_nowhere() {
    let places =
        ["/usr/bin/google-chrome", "/usr/bin/google-chrome-stable", "/opt/google/chrome/chrome"];
    let more = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/snap/bin/chromium"];
    let test = needs(&json!({"tools": ["chrome"]}), &["true"], &["git"]);
    let hidden: Vec<PathBuf> = [places, more].concat().iter().map(PathBuf::from).collect();
    nowhere(&test, &hidden, "ENV-3");
}

fn nowhere(test: &TestEnvironment, hidden: &[PathBuf], class: &'static str) {
    if hidden.iter().all(|p| !p.exists()) {
        return asked(test, class);
    }
    let Some(ran) = without(test, hidden, &["run", BOARD, "--json"]) else { return };
    ran.exits(4);
    holds(test, BOARD, &want(class, End::Asked));
}

fn kicad_places() -> Vec<PathBuf> {
    let folders = ["/usr/bin", "/usr/local/bin", "/snap/bin"];
    let names = ["kicad-cli", "kicad-cli-9", "kicad-cli-10", "kicad.kicad-cli"];
    folders.iter().flat_map(|f| names.map(|n| PathBuf::from(f).join(n))).collect()
}

fn kicad_found() {
    if !anywhere(&["/usr/bin/kicad-cli", "/usr/local/bin/kicad-cli"]) {
        pcbflow_tests::note("skipped: no KiCad in a usual place");
        return;
    }
    let test = needs(&json!({"tools": ["kicad-cli"]}), &["kicad-cli", "version"], &["git"]);
    cured(&test, "ENV-4", "find-in-known-places");
}

fn kicad_nowhere() {
    let test = needs(&json!({"tools": ["kicad-cli"]}), &["kicad-cli", "version"], &["git"]);
    nowhere(&test, &kicad_places(), "ENV-4");
}

fn assistant_nowhere() {
    let test = needs(&json!({"tools": ["claude"]}), &["claude", "--version"], &["git"]);
    asked(&test, "ENV-5");
}

fn other_form() {
    let with =
        json!({"argv": ["cmd", "/c", "ver"], "recipes": {"linux": ["true"], "macos": ["true"]}});
    let test = ready(&[step("process/check", "look", &with, &["systems: [windows]"])]);
    cured(&test, "ENV-6", "use-recipe-for-system");
}

fn no_form() {
    let with = json!({"argv": ["cmd", "/c", "ver"]});
    let test = ready(&[step("process/check", "look", &with, &["systems: [windows]"])]);
    asked(&test, "ENV-6");
}

/// A real script that forgets the quotes around its argument, and a file in a folder with a blank.
fn unquoted(uses: &str, more: &[&str]) -> TestEnvironment {
    let with = json!({"argv": ["sh", "copy.sh", "my folder/data.txt"]});
    let test = ready(&[step(uses, "look", &with, more)]);
    script(&test.board(BOARD).join("copy.sh"), "#!/bin/sh\nmkdir -p out\ncat $1 > out/copy.txt\n");
    let folder = test.board(BOARD).join("my folder");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("data.txt"), "data\n").expect("a file");
    test
}

fn plain_copy() {
    let test = unquoted("process/check", &[]);
    cured(&test, "ENV-7", "short-plain-copy");
}

fn no_copy() {
    let test = unquoted("process/generate", &["outputs: [out/copy.txt]"]);
    asked(&test, "ENV-7");
}

/// A program that cuts its own argument, and says in its typed words which file it wanted.
fn named_otherwise() {
    let with = json!({"argv": ["python3", "open.py", "my folder/data.txt"]});
    let test = ready(&[step("process/check", "look", &with, &[])]);
    let text = "import sys\nopen(sys.argv[1].split()[0])\n";
    fs::write(test.board(BOARD).join("open.py"), text).expect("a script");
    fs::create_dir_all(test.board(BOARD).join("my folder")).expect("a folder");
    fs::write(test.board(BOARD).join("my folder/data.txt"), "data\n").expect("a file");
    cured(&test, "ENV-7", "short-plain-copy");
    // A fact of ours, and not only an awkward path that lies about.
    let own = |f: Fact| matches!(f, Fact::FailureDiagnosed { trust: Source::Own, .. });
    let seen = test.facts(BOARD).into_iter().any(own);
    assert!(seen, "{}", test.story(BOARD));
}

fn git_found() {
    if !anywhere(&["/usr/bin/git", "/usr/local/bin/git"]) {
        pcbflow_tests::note("skipped: no git in a usual place");
        return;
    }
    let test = needs(&json!({"tools": ["git"]}), &["git", "--version"], &[]);
    let ran = test.pcbflow(&["run", BOARD, "--json"]);
    // The commit of the phase lacks it as well, and is healed in the same way.
    ran.exits(0);
    holds(&test, BOARD, &want("ENV-8", End::Cured("find-in-known-places")));
    let healed = test
        .facts(BOARD)
        .into_iter()
        .filter(|f| matches!(f, Fact::StepRecovered { class, .. } if class.as_str() == "ENV-8"));
    assert_eq!(healed.count(), 2, "{}", test.story(BOARD));
}

fn git_too_old() {
    let test = needs(&json!({"git": ">=99"}), &["git", "--version"], &["git"]);
    asked(&test, "ENV-8");
}

/// A board whose scripts need a package of its own environment: a lock list, and a folder of
/// packages that an install script copies from.
fn with_packages(install: &str) -> TestEnvironment {
    let requires = json!({"lock": "requirements.txt", "environment": "venv"});
    let with = json!({"argv": ["venv/bin/python", "use.py"], "requires": requires});
    let more = ["install: [sh, install.sh]"];
    let test = ready(&[step("process/check", "look", &with, &more)]);
    let board = test.board(BOARD);
    fs::write(board.join("requirements.txt"), "boardtool==1.2\n").expect("a lock list");
    fs::write(board.join("use.py"), "import boardtool\nprint(boardtool.NAME)\n").expect("a script");
    let package = board.join("packages");
    let meta = package.join("boardtool-1.2.dist-info");
    fs::create_dir_all(&meta).expect("a folder");
    fs::write(package.join("boardtool.py"), "NAME = 'boardtool'\n").expect("a package");
    fs::write(meta.join("METADATA"), "Metadata-Version: 2.1\nName: boardtool\nVersion: 1.2\n")
        .expect("its name");
    let python = tools::find("python3").expect("python3");
    let mut venv = test.program(python);
    venv.args(["-m", "venv", "--without-pip"]).arg(board.join("venv"));
    assert_eq!(pcbflow_tests::Running::start(venv).wait().exit, Some(0), "an environment");
    fs::write(board.join("install.sh"), install).expect("an install script");
    test
}

const COPY: &str = "cp -r packages/. venv/lib/python3*/site-packages/\n";

fn installed() {
    cured(&with_packages(COPY), "ENV-9", "install-declared");
}

fn download_broke() {
    // What package managers say when a connection breaks; the second download works.
    let text = format!(
        "if [ -f tried ]; then {COPY} exit 0; fi\ntouch tried\necho 'Connection reset by peer' >&2\nexit 1\n"
    );
    cured(&with_packages(&text), "ENV-9", "install-after-broken-download");
}

fn install_fails() {
    asked(&with_packages("exit 3\n"), "ENV-9");
}
