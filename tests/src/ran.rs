//! A run of pcbflow: started, watched, ended; and what came of it.

use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// No run of pcbflow in these suites takes longer; one that does hangs.
pub const RUN_LIMIT: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(1);
/// How long output may still come after the end; only a child that holds the pipe takes longer.
const PIPE_LIMIT: Duration = Duration::from_secs(10);

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The command line.
    pub line: String,
    /// Exit status; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// Asserts the exit code, and that nothing panicked.
    ///
    /// # Panics
    /// On any other end, with everything that was printed.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Ran {
        self.exits_one_of(&[code])
    }

    /// Asserts that the exit code is one of these, and that nothing panicked.
    ///
    /// # Panics
    /// On any other end, with everything that was printed.
    #[track_caller]
    pub fn exits_one_of(&self, codes: &[i32]) -> &Ran {
        self.sane();
        let right = self.exit.is_some_and(|exit| codes.contains(&exit));
        assert!(right, "expected exit {codes:?}\n{self}");
        self
    }

    /// Asserts what holds for every end: no panic, no "bug".
    ///
    /// # Panics
    /// If it did, with everything that was printed.
    #[track_caller]
    pub fn sane(&self) -> &Ran {
        let panicked = self.stderr.contains("panicked at") || self.exit == Some(101);
        assert!(!panicked && self.exit != Some(70), "a panic or bug\n{self}");
        self
    }

    /// The one document of `--json`.
    ///
    /// # Panics
    /// When standard output is not exactly one document, or disagrees with the exit code.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        let value: Value = match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(why) => panic!("not one JSON document ({why})\n{self}"),
        };
        assert!(self.stdout.ends_with('\n'), "no newline at the end\n{self}");
        self.is_envelope(&value);
        value
    }

    /// The lines of `--events`.
    ///
    /// # Panics
    /// When a line is not JSON, or the first and last are not what they have to be.
    #[track_caller]
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let lines: Vec<Value> = self
            .stdout
            .lines()
            .map(|line| match serde_json::from_str(line) {
                Ok(value) => value,
                Err(why) => panic!("not a JSON line ({why}): {line}\n{self}"),
            })
            .collect();
        let last = lines.last().unwrap_or(&Value::Null);
        assert_eq!(last["type"], "result", "the last line\n{self}");
        self.is_envelope(last);
        lines
    }

    #[track_caller]
    fn is_envelope(&self, value: &Value) {
        assert_eq!(value["schema"], "pcbflow.result/1", "{self}");
        assert_eq!(value["exit"].as_i64(), self.exit.map(i64::from), "{self}");
        assert_eq!(value["ok"].as_bool(), Some(self.exit == Some(0)), "{self}");
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = match (self.exit, self.signal) {
            (Some(exit), _) => format!("exit {exit}"),
            (None, signal) => format!("signal {signal:?}"),
        };
        write!(
            f,
            "$ {}\n{end}\n--- stdout\n{}\n--- stderr\n{}",
            self.line, self.stdout, self.stderr
        )
    }
}

type Pipe = JoinHandle<Vec<u8>>;

/// A run of pcbflow that goes on.
pub struct Running {
    line: String,
    child: Child,
    out: Pipe,
    err: Pipe,
}

fn pipe(mut from: impl Read + Send + 'static) -> Pipe {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before a broken pipe counts.
        let _broken = from.read_to_end(&mut bytes).err();
        bytes
    })
}

impl Running {
    /// Starts it.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn start(mut command: Command) -> Running {
        let line = format!("{command:?}");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|why| panic!("{line}: {why}"));
        let out = pipe(child.stdout.take().expect("a pipe"));
        let err = pipe(child.stderr.take().expect("a pipe"));
        Running { line, child, out, err }
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal. One that has ended already gets none.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // One that is gone and not yet waited for gets none: the caller sees how it ended.
        let _gone = pid.and_then(|pid| kill_process(pid, signal).err());
    }

    /// Kills it without warning.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Whether it has ended.
    ///
    /// # Panics
    /// When the system does not tell.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("the state of a child").is_some()
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// When it does not end within [`RUN_LIMIT`].
    #[track_caller]
    pub fn wait(self) -> Ran {
        self.wait_at_most(RUN_LIMIT)
    }

    /// Waits for the end, not longer than `limit`.
    ///
    /// # Panics
    /// When it does not end in time.
    #[track_caller]
    pub fn wait_at_most(mut self, limit: Duration) -> Ran {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the state of a child") {
                return self.ended(status);
            }
            if start.elapsed() > limit {
                self.kill();
                let status = self.child.wait().expect("a killed child");
                let ran = self.ended(status);
                panic!("did not end within {} s\n{ran}", limit.as_secs());
            }
            std::thread::sleep(POLL);
        }
    }

    fn ended(self, status: ExitStatus) -> Ran {
        let start = Instant::now();
        while !(self.out.is_finished() && self.err.is_finished()) && start.elapsed() < PIPE_LIMIT {
            std::thread::sleep(POLL);
        }
        // A killed pcbflow may leave a child that holds the pipe: then nothing is known of it.
        let text = |pipe: Pipe| match pipe.is_finished() {
            true => String::from_utf8_lossy(&pipe.join().unwrap_or_default()).into_owned(),
            false => String::new(),
        };
        Ran {
            line: self.line,
            exit: status.code(),
            signal: status.signal(),
            stdout: text(self.out),
            stderr: text(self.err),
        }
    }
}
