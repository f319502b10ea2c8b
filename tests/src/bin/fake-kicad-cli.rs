//! Stands in for `kicad-cli` where the real one can't be made to misbehave: it hangs, lies,
//! floods, forks and crashes on order, and hands every other call to the real tool.
//!
//! Orders (JSON beside the program): `real` the real tool; `when` the words that a call must begin
//! with; `mode` what happens then; `times` how often (always without it); `report` a file that the
//! modes `stale` and `other_board` serve.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use serde_json::Value;

/// Longest wait, so that nothing of a failed test stays for ever.
const WAIT: Duration = Duration::from_secs(600);
/// What `flood` writes.
const FLOOD_BYTES: u64 = 1 << 30;

fn main() -> ExitCode {
    match act() {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            // Nobody may be there to read it.
            let _unread = writeln!(io::stderr(), "fake-kicad-cli: {why}").err();
            ExitCode::from(97)
        }
    }
}

fn act() -> io::Result<u8> {
    let me = std::env::current_exe()?;
    let orders = fs::read(pcbflow_tests::tools::orders_of(&me))?;
    let orders: Value = serde_json::from_slice(&orders).map_err(io::Error::other)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let when: Vec<&str> = orders["when"].as_str().unwrap_or("").split_whitespace().collect();
    let meant = arguments.len() >= when.len() && arguments.iter().zip(&when).all(|(a, w)| a == w);
    if !meant || !is_left(&me, &orders)? {
        return Err(real(&orders, &arguments));
    }
    misbehave(&orders, &arguments)
}

/// Whether the order holds for one more call. Making a file succeeds once only, whoever comes first.
fn is_left(me: &Path, orders: &Value) -> io::Result<bool> {
    let mut taken = me.as_os_str().to_owned();
    taken.push(".used");
    let times = orders["times"].as_u64().unwrap_or(u64::MAX);
    if times == u64::MAX {
        fs::write(&taken, "")?;
        return Ok(true);
    }
    for n in 0..times {
        let mut name = taken.clone();
        name.push(format!(".{n}"));
        match fs::File::create_new(&name) {
            Ok(_) => {
                fs::write(&taken, "")?;
                return Ok(true);
            }
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            Err(why) => return Err(why),
        }
    }
    Ok(false)
}

/// Becomes the real tool; comes back only when that fails.
fn real(orders: &Value, arguments: &[String]) -> io::Error {
    Command::new(orders["real"].as_str().unwrap_or("")).args(arguments).exec()
}

fn run_real(orders: &Value, arguments: &[String]) -> io::Result<u8> {
    let status = Command::new(orders["real"].as_str().unwrap_or("")).args(arguments).status()?;
    Ok(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(96))
}

/// The file of `-o`.
fn output(arguments: &[String]) -> io::Result<PathBuf> {
    let at = arguments.iter().position(|a| a == "-o" || a == "--output");
    let file = at.and_then(|at| arguments.get(at + 1));
    file.map(PathBuf::from).ok_or_else(|| io::Error::other("no -o"))
}

fn misbehave(orders: &Value, arguments: &[String]) -> io::Result<u8> {
    let served = || orders["report"].as_str().map(PathBuf::from).unwrap_or_default();
    match orders["mode"].as_str().unwrap_or("") {
        "hang" => std::thread::sleep(WAIT),
        "nothing" => {}
        "flood" => flood()?,
        "fork" => {
            // The child holds both pipes and outlives its parent.
            Command::new("sleep").arg(WAIT.as_secs().to_string()).spawn()?;
        }
        "segfault" => end_by("SEGV")?,
        "abort" => std::process::abort(),
        "saved" => {
            writeln!(io::stdout(), "Found 0 violations\nSaved Report to {}", shown(arguments)?)?
        }
        "empty" => {
            fs::write(output(arguments)?, "")?;
            writeln!(io::stdout(), "Saved Report to {}", shown(arguments)?)?;
        }
        "half" => {
            let code = run_real(orders, arguments)?;
            let file = output(arguments)?;
            let bytes = fs::read(&file)?;
            fs::write(&file, &bytes[..bytes.len() / 2])?;
            return Ok(code);
        }
        // A report of an earlier run, or of another board, in the place of this one's.
        "stale" | "other_board" => {
            fs::copy(served(), output(arguments)?)?;
            writeln!(io::stdout(), "Saved Report to {}", shown(arguments)?)?;
        }
        // Everything as it should be, save that nothing is found.
        "clean" => {
            // It does not say how many it found, either.
            Command::new(orders["real"].as_str().unwrap_or(""))
                .args(arguments)
                .stdout(Stdio::null())
                .status()?;
            let file = output(arguments)?;
            let mut report: Value = serde_json::from_slice(&fs::read(&file)?)?;
            for list in ["violations", "unconnected_items", "schematic_parity"] {
                report[list] = Value::Array(Vec::new());
            }
            for sheet in report["sheets"].as_array_mut().into_iter().flatten() {
                sheet["violations"] = Value::Array(Vec::new());
            }
            // The report of a check of sheets has no list of its own.
            if report["sheets"].is_array() {
                report["violations"] = Value::Null;
            }
            fs::write(&file, report.to_string())?;
        }
        other => return Err(io::Error::other(format!("no such mode: {other}"))),
    }
    Ok(0)
}

fn shown(arguments: &[String]) -> io::Result<String> {
    Ok(output(arguments)?.display().to_string())
}

fn end_by(signal: &str) -> io::Result<()> {
    let me = std::process::id().to_string();
    // Twice: the first one takes away the handler that watches for a full stack.
    let twice = format!("kill -{signal} {me}; sleep 0.05; kill -{signal} {me}");
    Command::new("sh").args(["-c", &twice]).status()?;
    // It comes at once.
    std::thread::sleep(WAIT);
    Ok(())
}

fn flood() -> io::Result<()> {
    let line = format!("{} kicad-cli goes on and on and on and on and on\n", parent_id());
    let block = line.repeat(1024);
    let mut out = io::stdout().lock();
    let mut written = 0;
    while written < FLOOD_BYTES {
        out.write_all(block.as_bytes())?;
        written += block.len() as u64;
    }
    out.flush()
}
