//! Stands before a real tool on `PATH` and keeps a journal of its calls: the oracle of the crash
//! tests. A line is on disk before the tool starts and after it has ended.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::{Value, json};

/// What the caller sees when the wrapper itself is at fault.
const OWN_FAULT: u8 = 99;

fn main() -> ExitCode {
    match wrapped() {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            // Nobody may be there to read it.
            let _unread = writeln!(std::io::stderr(), "journal-wrapper: {why}").err();
            ExitCode::from(OWN_FAULT)
        }
    }
}

fn wrapped() -> Result<u8, String> {
    let me = std::env::current_exe().map_err(|why| why.to_string())?;
    let orders = pcbflow_tests::tools::orders_of(&me);
    let orders = std::fs::read(&orders).map_err(|why| format!("{}: {why}", orders.display()))?;
    let orders: Value = serde_json::from_slice(&orders).map_err(|why| why.to_string())?;
    let text = |key: &str| orders[key].as_str().map(PathBuf::from).ok_or(format!("no {key}"));
    let (real, journal) = (text("real")?, text("journal")?);
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let name = me.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let argv: Vec<String> = std::iter::once(name)
        .chain(arguments.iter().map(|a| a.to_string_lossy().into_owned()))
        .collect();
    let tag = std::env::var("PCBFLOW_ATTEMPT").unwrap_or_default();
    let pid = std::process::id();
    let line = |what: &str, exit: Option<i32>| json!({"what": what, "pid": pid, "tag": tag, "argv": argv, "exit": exit});
    write(&journal, &line("start", None))?;
    let status = Command::new(&real)
        .args(&arguments)
        .status()
        .map_err(|why| format!("{}: {why}", real.display()))?;
    let code = status.code().unwrap_or(i32::from(OWN_FAULT));
    write(&journal, &line("end", Some(code)))?;
    Ok(u8::try_from(code).unwrap_or(OWN_FAULT))
}

fn write(journal: &Path, line: &Value) -> Result<(), String> {
    let fail = |why: std::io::Error| format!("{}: {why}", journal.display());
    let mut file = OpenOptions::new().create(true).append(true).open(journal).map_err(fail)?;
    // One write, so that lines of several processes never mix.
    file.write_all(format!("{line}\n").as_bytes()).map_err(fail)?;
    file.sync_data().map_err(fail)
}
