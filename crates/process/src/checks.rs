//! The observations that prove a step, for all kinds of [`CheckSpec`] that look at a status or a
//! file. Read fresh each time; what can't be read is "could not run", never a pass.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use pcbflow_core::check::CheckResult;
use pcbflow_core::manifest::CheckSpec;

use crate::confine::confined;
use crate::sha256::sha256;

/// Largest file in which an expression is looked for, in bytes.
pub const REGEX_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Largest compiled expression, in bytes.
pub const REGEX_BYTES_MAX: usize = 1024 * 1024;

/// Compiles an expression of a manifest within its limit.
///
/// # Errors
/// What is wrong with it, in words.
pub fn expression(pattern: &str) -> Result<regex_lite::Regex, String> {
    regex_lite::RegexBuilder::new(pattern)
        .multi_line(true)
        .size_limit(REGEX_BYTES_MAX)
        .build()
        .map_err(|e| e.to_string())
}

/// Observes a check on files below `board_dir` or on an exit status. `None` for the kind's own
/// check and for reports, which only the kind can read.
#[must_use]
pub fn observe(spec: &CheckSpec, board_dir: &Path, exit: Option<i32>) -> Option<CheckResult> {
    Some(match spec {
        CheckSpec::Own | CheckSpec::ReportClean(_) => return None,
        CheckSpec::Exit { expect } => status("exit", expect, exit),
        CheckSpec::FileExists { path } => with_file("file_exists", board_dir, path, |file| {
            let len = file.metadata()?.len();
            Ok((len > 0).then_some(()).ok_or_else(|| format!("{path} is empty")))
        }),
        CheckSpec::FileSha256 { path, expect } => {
            with_file("file_sha256", board_dir, path, |file| {
                let found = sha256(file)?;
                let same = found.eq_ignore_ascii_case(expect.trim());
                Ok(same.then_some(()).ok_or_else(|| format!("{path} has the sum {found}")))
            })
        }
        CheckSpec::RegexInFile { path, pattern } => match expression(pattern) {
            Err(why) => CheckResult::could_not_run("regex_in_file", &why),
            Ok(regex) => with_file("regex_in_file", board_dir, path, |file| {
                let len = file.metadata()?.len();
                if len > REGEX_FILE_BYTES_MAX {
                    return Err(io::Error::other(format!("{path} is too large to be searched")));
                }
                let mut bytes = Vec::new();
                file.take(REGEX_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
                let found = regex.is_match(&String::from_utf8_lossy(&bytes));
                Ok(found.then_some(()).ok_or_else(|| format!("{path} does not match {pattern:?}")))
            }),
        },
    })
}

/// Whether a status is among those that count as pass. An empty list passes nothing.
#[must_use]
pub fn status(name: &str, expect: &[i32], exit: Option<i32>) -> CheckResult {
    match exit {
        None => CheckResult::could_not_run(name, "the program did not end with a status"),
        Some(exit) if expect.contains(&exit) => CheckResult::pass(name),
        Some(exit) => CheckResult::fail(name, &format!("status {exit}")),
    }
}

type Looked = io::Result<Result<(), String>>;

fn with_file(
    name: &str,
    base: &Path,
    path: &str,
    look: impl FnOnce(File) -> Looked,
) -> CheckResult {
    let full = match confined(base, path) {
        Ok(full) => full,
        Err(fault) => return CheckResult::could_not_run(name, &fault.to_string()),
    };
    let looked = match full.metadata() {
        Ok(meta) if !meta.is_file() => {
            return CheckResult::fail(name, &format!("{path} is no file"));
        }
        Ok(_) => File::open(&full).and_then(look),
        Err(error) => Err(error),
    };
    match looked {
        Ok(Ok(())) => CheckResult::pass(name),
        Ok(Err(why)) => CheckResult::fail(name, &why),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            CheckResult::fail(name, &format!("{path} is not there"))
        }
        Err(e) => CheckResult::could_not_run(name, &format!("{path} can't be read: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use pcbflow_core::check::CheckOutcome::{CouldNotRun, Fail, Pass};

    use super::*;

    #[test]
    fn three_outcomes() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.txt"), "abc").unwrap();
        std::fs::write(dir.path().join("empty"), "").unwrap();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        let look = |spec| observe(&spec, dir.path(), Some(2)).unwrap().outcome;
        let exists = |p: &str| CheckSpec::FileExists { path: p.into() };
        assert_eq!(look(exists("a.txt")), Pass);
        assert_eq!(look(exists("empty")), Fail);
        assert_eq!(look(exists("gone")), Fail);
        assert_eq!(look(exists("folder")), Fail);
        assert_eq!(look(exists("../x")), CouldNotRun);
        let sum = "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD";
        let sha = |e: &str| CheckSpec::FileSha256 { path: "a.txt".into(), expect: e.into() };
        assert_eq!(look(sha(sum)), Pass);
        assert_eq!(look(sha("00")), Fail);
        let regex = |p: &str| CheckSpec::RegexInFile { path: "a.txt".into(), pattern: p.into() };
        assert_eq!(look(regex("^a.c$")), Pass);
        assert_eq!(look(regex("x")), Fail);
        assert_eq!(look(regex("(")), CouldNotRun);
        assert_eq!(look(regex("(a{1000}){1000}")), CouldNotRun);
        assert_eq!(look(CheckSpec::Exit { expect: vec![0, 2] }), Pass);
        assert_eq!(look(CheckSpec::Exit { expect: vec![0] }), Fail);
        assert_eq!(status("exit", &[], Some(0)).outcome, Fail);
        assert_eq!(status("exit", &[0], None).outcome, CouldNotRun);
        assert_eq!(observe(&CheckSpec::Own, dir.path(), None), None);
    }
}
