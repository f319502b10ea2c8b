//! A place for one test: folders of its own and an environment that holds nothing else.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::manifest::Manifest;
use crate::{files, program, ran::Ran, ran::Running, tools};

/// Who commits in these suites.
const IDENTITY: &str = "[user]\n\tname = Test Engineer\n\temail = engineer@example.org\n[init]\n\tdefaultBranch = main\n[safe]\n\tdirectory = *\n[gc]\n\tauto = 0\n";

/// The place.
pub struct TestEnvironment {
    folder: tempfile::TempDir,
    root: PathBuf,
    bin: PathBuf,
    vars: BTreeMap<OsString, OsString>,
}

impl Default for TestEnvironment {
    fn default() -> Self {
        TestEnvironment::new()
    }
}

impl TestEnvironment {
    /// A fresh place, with an empty workspace folder.
    #[must_use]
    pub fn new() -> TestEnvironment {
        TestEnvironment::with_bin(program::pcbflow())
    }

    /// The same for the release binary.
    #[must_use]
    pub fn release() -> TestEnvironment {
        TestEnvironment::with_bin(program::pcbflow_release())
    }

    fn with_bin(bin: PathBuf) -> TestEnvironment {
        let folder =
            tempfile::Builder::new().prefix("pcbflow-test-").tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("its real name");
        for part in ["home", "state", "wrappers", "ws", "hw", "tmp", "empty"] {
            fs::create_dir_all(root.join(part)).expect("a folder");
        }
        fs::write(root.join("home/.gitconfig"), IDENTITY).expect("an identity");
        let mut test = TestEnvironment { folder, root, bin, vars: BTreeMap::new() };
        test.set_path(&std::env::var_os("PATH").unwrap_or_default());
        for (name, part) in [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "home/.config"),
            ("XDG_STATE_HOME", "home/.state"),
            ("XDG_DATA_HOME", "home/.data"),
            ("XDG_CACHE_HOME", "home/.cache"),
            ("PCBFLOW_STATE_HOME", "state"),
            ("TMPDIR", "tmp"),
        ] {
            let place = test.path(part);
            test.set(name, place);
        }
        for (name, value) in [("LC_ALL", "C.UTF-8"), ("LANG", "C.UTF-8"), ("COLUMNS", "100")] {
            test.set(name, value);
        }
        test
    }

    /// A path below the place's folder.
    #[must_use]
    pub fn path(&self, part: impl AsRef<Path>) -> PathBuf {
        self.root.join(part)
    }

    /// The workspace.
    #[must_use]
    pub fn ws(&self) -> PathBuf {
        self.path("ws")
    }

    /// Folder of a board in the workspace.
    #[must_use]
    pub fn board(&self, name: &str) -> PathBuf {
        self.path("ws/projects").join(name)
    }

    /// The folder that comes first on `PATH`.
    #[must_use]
    pub fn wrappers(&self) -> PathBuf {
        self.path("wrappers")
    }

    /// Sets a variable of pcbflow's environment.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.vars.insert(name.into(), value.into());
    }

    /// Removes a variable.
    pub fn unset(&mut self, name: &str) {
        self.vars.remove(OsStr::new(name));
    }

    /// Sets `PATH`, with the wrappers before it.
    ///
    /// # Panics
    /// On a folder name with a colon.
    pub fn set_path(&mut self, path: &OsStr) {
        let dirs = std::iter::once(self.wrappers()).chain(std::env::split_paths(path));
        let path = std::env::join_paths(dirs).expect("folders without a colon");
        self.set("PATH", path);
    }

    /// Keeps the folder after the test, and says where it is.
    pub fn keep(self) -> PathBuf {
        let path = self.folder.keep();
        crate::note(&format!("kept: {}", path.display()));
        path
    }

    /// Another program in this environment, in the workspace.
    #[must_use]
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.vars).current_dir(self.ws());
        command
    }

    /// pcbflow with arguments, in the workspace.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(&self.bin);
        command.args(arguments);
        command
    }

    /// Runs pcbflow to its end.
    #[track_caller]
    #[must_use]
    pub fn pcbflow(&self, arguments: &[&str]) -> Ran {
        self.start(arguments).wait()
    }

    /// Runs pcbflow with `--json`, which must exit with `code`; its document.
    #[track_caller]
    pub fn json(&self, code: i32, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        self.pcbflow(&arguments).exits(code).json()
    }

    /// Starts pcbflow.
    #[must_use]
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command(arguments))
    }

    /// Runs git in the workspace; its output.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        let git = tools::find("git").expect("git");
        let mut command = self.program(git);
        command.args(arguments);
        let ran = Running::start(command).wait();
        assert_eq!(ran.exit, Some(0), "{ran}");
        ran.stdout
    }

    /// Makes a workspace without KiCad: a repository, and a board for each manifest.
    #[track_caller]
    pub fn boards(&self, boards: &[&Manifest]) {
        for board in boards {
            self.pcbflow(&["init", board.name()]).exits(0);
            board.write(&self.board(board.name()));
        }
    }

    /// Copies a project of KiCad's demos beside the workspace; `None` (and a note) when it is not
    /// on this machine.
    #[must_use]
    pub fn demo(&self, major: u32, name: &str) -> Option<PathBuf> {
        let from = demos(major)?.join(name);
        if !from.is_dir() {
            crate::note(&format!("skipped: demo {name} of KiCad {major} is not here"));
            return None;
        }
        let to = self.path("hw").join(name);
        files::copy_tree(&from, &to);
        Some(to)
    }

    /// Makes a workspace from KiCad's StickHub, which lies in `hw/stickhub`; `None` (and a note)
    /// when KiCad or its demos are not on this machine.
    #[track_caller]
    #[must_use]
    pub fn stickhub(&self) -> Option<PathBuf> {
        if !has_kicad(9) {
            return None;
        }
        let project = self.demo(9, "stickhub")?;
        self.pcbflow(&["init", "--from", "../hw/stickhub/StickHub.kicad_pro"]).exits(0);
        Some(project)
    }
}

impl TestEnvironment {
    /// Makes a workspace from the small board of the fixtures, which lies in `hw/<folder>`;
    /// `None` (and a note) when KiCad is not on this machine. The board is called `tracks`.
    ///
    /// # Panics
    /// When it can't be made.
    #[track_caller]
    #[must_use]
    pub fn tracks(&self, folder: &str) -> Option<PathBuf> {
        if !has_kicad(9) {
            return None;
        }
        let project = self.path("hw").join(folder);
        files::copy_tree(&program::source_root().join("tests/fixtures/tracks"), &project);
        let file = project.join("tracks.kicad_pro");
        self.pcbflow(&["init", "--from", &file.display().to_string()]).exits(0);
        Some(project)
    }

    /// Puts a stand-in that misbehaves before every kicad-cli.
    ///
    /// # Panics
    /// When it can't be written.
    pub fn fake_kicad(&self, orders: &Value) {
        for name in ["kicad-cli", "kicad-cli-9", "kicad-cli-10"] {
            if let Some(real) = tools::find(name) {
                let mut orders = orders.clone();
                orders["real"] = real.display().to_string().into();
                tools::put(&self.wrappers(), name, "fake-kicad-cli", &orders);
            }
        }
    }

    /// Takes all stand-ins away; whether one of them was used.
    ///
    /// # Panics
    /// When the folder can't be emptied.
    #[must_use]
    pub fn no_fakes(&self) -> bool {
        let mut used = false;
        for entry in fs::read_dir(self.wrappers()).expect("the wrappers") {
            let path = entry.expect("a wrapper").path();
            used |= path.extension().is_some_and(|e| e == "used");
            fs::remove_file(path).expect("a wrapper");
        }
        used
    }
}

/// The demo projects of a KiCad version: `PCBFLOW_TEST_DEMOS_<major>`, or beside the program.
#[must_use]
pub fn demos(major: u32) -> Option<PathBuf> {
    let named = std::env::var_os(format!("PCBFLOW_TEST_DEMOS_{major}")).map(PathBuf::from);
    let beside = || {
        let tool = tools::find(&format!("kicad-cli-{major}"))?.canonicalize().ok()?;
        let home = tool.parent()?;
        let places = ["root/usr/share/kicad/demos", "../share/kicad/demos"];
        places.iter().map(|p| home.join(p)).find(|p| p.is_dir())
    };
    let found = named.filter(|p| p.is_dir()).or_else(beside);
    if found.is_none() {
        crate::note(&format!("skipped: the demo projects of KiCad {major} are not here"));
    }
    found
}

/// Whether this version of KiCad is on the machine; says so if not.
#[must_use]
pub fn has_kicad(major: u32) -> bool {
    let found = tools::find(&format!("kicad-cli-{major}")).is_some();
    if !found {
        crate::note(&format!("skipped: kicad-cli-{major} is not here"));
    }
    found
}
