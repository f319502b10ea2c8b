//! Short looks at other programs (git): output with a deadline, nothing left running.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest look, in milliseconds.
const DEADLINE_MS: u64 = 20_000;
/// How often the end is looked for, in milliseconds.
const POLL_MS: u64 = 5;
/// Most bytes of output that are kept.
const OUTPUT_BYTES_MAX: u64 = 32 << 20;

/// What came of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// It ended with this status and this output.
    Ended {
        /// Exit status; `None` when a signal ended it.
        status: Option<i32>,
        /// Standard output.
        stdout: String,
    },
    /// There is no such program.
    NotFound,
    /// It could not be started or did not end in time.
    Failed(String),
}

impl Looked {
    /// The output of a program that ended well.
    #[must_use]
    pub fn good(self) -> Option<String> {
        match self {
            Looked::Ended { status: Some(0), stdout } => Some(stdout),
            _ => None,
        }
    }
}

/// Runs git in a folder. It takes no locks, asks nothing and speaks English.
#[must_use]
pub fn git(folder: &Path, args: &[&str]) -> Looked {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        .args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C");
    run(command)
}

fn run(mut command: Command) -> Looked {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Looked::NotFound,
        Err(e) => return Looked::Failed(e.to_string()),
    };
    let Some(out) = child.stdout.take() else {
        return Looked::Failed("its output can't be read".to_owned());
    };
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        match out.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes) {
            Ok(_) => bytes,
            Err(_) => Vec::new(),
        }
    });
    let end = Instant::now() + Duration::from_millis(DEADLINE_MS);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(POLL_MS));
            }
            Ok(None) => {
                if let Err(e) = child.kill().and_then(|()| child.wait().map(|_| ())) {
                    tracing::debug!("a program could not be ended: {e}");
                }
                return Looked::Failed(format!("it gave no answer in {} s", DEADLINE_MS / 1000));
            }
            Err(e) => return Looked::Failed(e.to_string()),
        }
    };
    let bytes = reader.join().unwrap_or_default();
    Looked::Ended { status: status.code(), stdout: String::from_utf8_lossy(&bytes).into_owned() }
}
