//! A world of its own for each test: empty environment, fixed columns, own home and state home.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A workspace in a temporary folder.
pub struct TestEnvironment {
    _dir: tempfile::TempDir,
    home: PathBuf,
    /// The workspace.
    pub workspace: PathBuf,
}

/// What a call gave.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// The one document on standard output.
    pub fn json(&self) -> Value {
        assert!(self.out.ends_with('\n'), "no line end: {:?}", self.out);
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

impl TestEnvironment {
    /// With a workspace without boards.
    pub fn new() -> TestEnvironment {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (home, workspace) = (root.join("home"), root.join("work space"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(workspace.join(".pcbflow")).unwrap();
        std::fs::create_dir_all(workspace.join("projects")).unwrap();
        std::fs::write(workspace.join("pcbflow.toml"), "").unwrap();
        TestEnvironment { _dir: dir, home, workspace }
    }

    /// Folder of what the computer knows of its records.
    pub fn state_home(&self) -> PathBuf {
        self.home.join("state")
    }

    /// A folder beside the workspace that belongs to none.
    pub fn outside(&self) -> PathBuf {
        self.home.clone()
    }

    /// Adds a board with this project file.
    pub fn board(&self, name: &str, manifest: &str) {
        let dir = self.workspace.join("projects").join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("project.yaml"), manifest).unwrap();
    }

    /// A call that is not started yet.
    pub fn command(&self, args: &[&str]) -> Command {
        self.command_in(&self.workspace, args)
    }

    /// The same in another folder.
    pub fn command_in(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcbflow"));
        command
            .args(args)
            .current_dir(dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("TMPDIR", std::env::temp_dir())
            .env("PCBFLOW_STATE_HOME", self.state_home())
            .env("COLUMNS", "100")
            .env("GIT_CEILING_DIRECTORIES", self.home.parent().unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    /// The same in another folder.
    pub fn run_in(&self, dir: &Path, args: &[&str]) -> Ran {
        ran(self.command_in(dir, args).output().unwrap())
    }

    /// The same with standard input.
    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        use std::io::Write;
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A program that does not read all of it has its reason.
        drop(child.stdin.take().unwrap().write_all(input));
        ran(child.wait_with_output().unwrap())
    }
}

/// What an ended process gave.
pub fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
