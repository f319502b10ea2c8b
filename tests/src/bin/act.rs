//! A tool that does one thing, for steps of milliseconds: `act WORK FILE [options]`.
//!
//! * `land FILE`: the effect of a `once` step. Appends one line to FILE, in one write: done twice,
//!   it shows. `--before MS` and `--after MS` wait around it.
//! * `make FILE TEXT`: writes a file anew, as an idempotent step does. `--before MS` as above.
//! * `is FILE`: exits 0 when FILE is there, else 1: the guard of a `once` step.
//! * `fail N`: exits with N.
//! * `say TEXT`: prints it on standard output. `moan TEXT`: on standard error.
//! * `cat FILE`: prints a file. `env NAME`: prints a variable, or nothing.
//! * `hang FILE`: writes its process id to FILE, starts a child that does the same to `FILE.child`,
//!   and both wait for ever.
//! * `until FILE HERE`: writes HERE, then waits until FILE is there; exits 0.
//! * `flaky FILE N`: fails with exit 1 the first N times, counted in FILE.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Longest wait, so that nothing of a failed test stays for ever.
const WAIT_SECS_MAX: u64 = 600;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match act(&words) {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            // Nobody may be there to read it.
            let _unread = writeln!(io::stderr(), "act: {why}").err();
            ExitCode::from(98)
        }
    }
}

fn option(words: &[String], name: &str) -> u64 {
    let at = words.iter().position(|w| w == name);
    at.and_then(|at| words.get(at + 1)).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn wait(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

fn act(words: &[String]) -> io::Result<u8> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let file = Path::new(word(1));
    match word(0) {
        "land" => {
            wait(option(words, "--before"));
            let mut out = OpenOptions::new().create(true).append(true).open(file)?;
            out.write_all(format!("landed {}\n", std::process::id()).as_bytes())?;
            out.sync_all()?;
            wait(option(words, "--after"));
        }
        "make" => {
            wait(option(words, "--before"));
            if let Some(dir) = file.parent() {
                fs::create_dir_all(dir)?;
            }
            fs::write(file, word(2))?;
        }
        "is" => return Ok(u8::from(!file.exists())),
        "fail" => return Ok(word(1).parse().unwrap_or(1)),
        "say" => writeln!(io::stdout(), "{}", word(1))?,
        "moan" => writeln!(io::stderr(), "{}", word(1))?,
        "cat" => io::stdout().write_all(&fs::read(file)?)?,
        "env" => writeln!(io::stdout(), "{}", std::env::var(word(1)).unwrap_or_default())?,
        "hang" => hang(file)?,
        "until" => {
            fs::write(word(2), std::process::id().to_string())?;
            for _ in 0..WAIT_SECS_MAX * 100 {
                if file.exists() {
                    return Ok(0);
                }
                wait(10);
            }
            return Ok(1);
        }
        "flaky" => return flaky(file, word(2).parse().unwrap_or(1)),
        other => return Err(io::Error::other(format!("no such work: {other}"))),
    }
    Ok(0)
}

fn hang(file: &Path) -> io::Result<()> {
    fs::write(file, std::process::id().to_string())?;
    if file.extension().is_none_or(|e| e != "child") {
        let mut name = file.as_os_str().to_owned();
        name.push(".child");
        Command::new(std::env::current_exe()?).arg("hang").arg(name).spawn()?;
    }
    wait(WAIT_SECS_MAX * 1000);
    Ok(())
}

fn flaky(file: &Path, times: u64) -> io::Result<u8> {
    let before = fs::read_to_string(file).unwrap_or_default().len() as u64;
    fs::write(file, ".".repeat(before as usize + 1))?;
    Ok(u8::from(before < times))
}
