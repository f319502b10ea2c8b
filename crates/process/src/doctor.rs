//! Looks at the computer: where a tool is, which version it prints, how much room there is.
//!
//! The same looks serve the doctor before a phase, the steps that declare what they need, and
//! the rechecks after an action. Nothing here installs or changes anything.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pcbflow_core::ports::{Cancel, Spawn, SpawnEnded, SpawnRequest};

use crate::spawn::{SpawnFault, find_program};

mod places;

pub use places::{CHROME, GIT, KICAD, NODE, PYTHON, TOOLS, Tool, tool};

/// Longest time that a tool may take to print its version, in milliseconds. The first start of
/// a large one on a cold disk takes seconds.
pub const VERSION_MS_MAX: u64 = 30_000;
/// Most bytes of a version message.
const VERSION_BYTES_MAX: u64 = 64 * 1024;

/// A version of up to three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// The first version that a text names: `v18.2.0`, `Python 3.11.2`, `git version 2.39.5`,
    /// `9.0.8-9.0.8~ubuntu`. A number without a point counts only when nothing else is there.
    #[must_use]
    pub fn find(text: &str) -> Option<Version> {
        let parts = |word: &str| -> Option<Version> {
            let word = word.trim_start_matches(['v', 'V', '(']);
            let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
            let mut numbers = word.get(..end)?.split('.').filter(|n| !n.is_empty());
            let first = numbers.next()?.parse().ok()?;
            let mut next = || numbers.next().map_or(Some(0), |n| n.parse().ok());
            Some(Version(first, next()?, next()?))
        };
        let dotted = |w: &&str| {
            let digits = w.trim_start_matches(['v', 'V', '(']);
            digits.starts_with(|c: char| c.is_ascii_digit()) && digits.contains('.')
        };
        text.split_whitespace()
            .find(dotted)
            .and_then(parts)
            .or_else(|| parts(text.trim()).filter(|_| text.trim().len() < 12))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The lowest version that will do, written `>=18` or `>=3.9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Least(pub Version);

impl FromStr for Least {
    type Err = String;

    fn from_str(text: &str) -> Result<Least, String> {
        let fault = || format!("{text:?} is not of the form '>=3.9'");
        let numbers = text.trim().strip_prefix(">=").unwrap_or(text).trim();
        let plain = numbers.chars().all(|c| c.is_ascii_digit() || c == '.');
        let version = Version::find(numbers).filter(|_| plain && !numbers.is_empty());
        version.map(Least).ok_or_else(fault)
    }
}

/// What asking a tool for its version gave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolFault {
    /// None of its names is on this computer.
    #[error("{tool} is not on this computer")]
    Missing {
        /// The tool.
        tool: String,
    },
    /// It ran and its version is below the range.
    #[error("{tool} {found} is too old")]
    TooOld {
        /// The tool.
        tool: String,
        /// Its version.
        found: Version,
    },
    /// It is there and does not say which version it is: a shim or a stub.
    #[error("{tool} is there and does not work: {why}")]
    Broken {
        /// The tool.
        tool: String,
        /// How it ended.
        why: String,
    },
}

/// A tool that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
}

/// Every file that may be the tool: the configured one, those on the search path under all its
/// names, those in the known places of this system.
#[must_use]
pub fn candidates(
    tool: &Tool,
    configured: Option<&Path>,
    search: Option<&OsStr>,
    known_places: bool,
) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = configured.map(Path::to_owned).into_iter().collect();
    let anywhere = Path::new("/");
    let named = |name: &&str| find_program(name, anywhere, search).ok();
    found.extend(tool.names.iter().filter_map(named));
    if known_places {
        found.extend(tool.places().into_iter().filter(|p| p.is_file()));
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|p| seen.insert(p.clone()));
    found
}

/// Starts a program afresh and reads the version that it prints.
///
/// # Errors
/// [`ToolFault`], never a guess.
pub async fn version_of(
    spawn: &dyn Spawn,
    cancel: &dyn Cancel,
    tool: &str,
    path: &Path,
    args: &[&str],
    cwd: &Path,
) -> Result<Version, ToolFault> {
    let broken = |why: String| ToolFault::Broken { tool: tool.to_owned(), why };
    let Some(program) = path.to_str() else {
        return Err(broken("its path is not readable as text".to_owned()));
    };
    let request = SpawnRequest {
        argv: std::iter::once(program).chain(args.iter().copied()).map(str::to_owned).collect(),
        cwd: cwd.to_owned(),
        deadline_ms: VERSION_MS_MAX,
        output_bytes_max: VERSION_BYTES_MAX,
        ..SpawnRequest::default()
    };
    let result = spawn.run(request, cancel).await;
    match result.ended {
        SpawnEnded::Exited(0) => {}
        SpawnEnded::NotFound => return Err(ToolFault::Missing { tool: tool.to_owned() }),
        ended => return Err(broken(format!("{ended:?}"))),
    }
    Version::find(&result.stdout.text)
        .or_else(|| Version::find(&result.stderr.text))
        .ok_or_else(|| broken("it prints no version".to_owned()))
}

/// The first candidate whose version is in range.
///
/// # Errors
/// The best that can be said: too old before broken before missing.
pub async fn usable(
    spawn: &dyn Spawn,
    cancel: &dyn Cancel,
    tool: &Tool,
    paths: &[PathBuf],
    cwd: &Path,
    least: Option<Least>,
) -> Result<Found, ToolFault> {
    let mut worst = ToolFault::Missing { tool: tool.name.to_owned() };
    for path in paths {
        match version_of(spawn, cancel, tool.name, path, tool.version_args, cwd).await {
            Ok(version) if least.is_none_or(|l| version >= l.0) => {
                return Ok(Found { path: path.clone(), version });
            }
            Ok(found) => worst = ToolFault::TooOld { tool: tool.name.to_owned(), found },
            Err(fault @ ToolFault::Broken { .. }) if matches!(worst, ToolFault::Missing { .. }) => {
                worst = fault;
            }
            Err(_) => {}
        }
    }
    Err(worst)
}

/// A bare program on the search path, for tools that are not in the table.
///
/// # Errors
/// [`SpawnFault`].
pub fn on_path(program: &str, cwd: &Path) -> Result<PathBuf, SpawnFault> {
    find_program(program, cwd, std::env::var_os("PATH").as_deref())
}

/// Free bytes of the disk that holds a folder, for this user.
///
/// # Errors
/// What the system says; unsupported where it can't be asked without more.
#[cfg(unix)]
pub fn free_space(folder: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(folder)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Free bytes of the disk that holds a folder, for this user.
///
/// # Errors
/// Always: this system is not asked yet.
#[cfg(not(unix))]
pub fn free_space(_folder: &Path) -> io::Result<u64> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Memory in bytes that programs can still get; `None` where it can't be told.
#[must_use]
pub fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Whether a file can really be made in a folder; permission bits alone do not tell.
///
/// # Errors
/// What the system says.
pub fn writable(folder: &Path) -> io::Result<()> {
    tempfile::Builder::new().prefix(".pcbflow-probe-").tempfile_in(folder).map(drop)
}

/// Name of this system in manifests.
#[must_use]
pub fn system() -> &'static str {
    std::env::consts::OS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        let cases = [
            ("v18.2.0\n", Some(Version(18, 2, 0))),
            ("Python 3.11.2", Some(Version(3, 11, 2))),
            ("git version 2.39.5 (Apple Git-154)", Some(Version(2, 39, 5))),
            ("9.0.8-9.0.8~ubuntu24.04.1", Some(Version(9, 0, 8))),
            ("Chromium 131.0.6778.139 built on Debian", Some(Version(131, 0, 6778))),
            ("18", Some(Version(18, 0, 0))),
            ("Python 2.7.18", Some(Version(2, 7, 18))),
            ("command not found", None),
            ("", None),
            ("99999999999.1", None),
        ];
        for (text, want) in cases {
            assert_eq!(Version::find(text), want, "{text}");
        }
    }

    #[test]
    fn ranges() {
        assert_eq!(">=3.9".parse(), Ok(Least(Version(3, 9, 0))));
        assert_eq!(">= 18".parse(), Ok(Least(Version(18, 0, 0))));
        assert!(Version(3, 11, 0) >= Version(3, 9, 0));
        for bad in ["", ">=", "new", "<3", ">=3.x", "^18"] {
            assert!(bad.parse::<Least>().is_err(), "{bad}");
        }
    }

    #[test]
    fn room() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_space(dir.path()).unwrap() > 0);
        assert!(free_space(Path::new("/no/such/folder")).is_err());
        assert!(writable(dir.path()).is_ok());
        assert!(writable(Path::new("/no/such/folder")).is_err());
    }
}
