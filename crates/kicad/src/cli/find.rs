//! Finds installed `kicad-cli`s and chooses one for a file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use pcbflow_core::ports::{Cancel, Spawn, SpawnRequest, SpawnResult};
use serde::{Deserialize, Serialize};

use crate::steps::cache;

/// Oldest major version that has the checks (`pcb drc`, `sch erc`, parity).
pub const MAJOR_MIN: u32 = 8;
/// Time that `kicad-cli version` gets, in milliseconds; it takes 100 ms, more on a cold disk.
pub const VERSION_DEADLINE_MS: u64 = 15_000;
/// Most output of `kicad-cli version`, in bytes.
const VERSION_OUTPUT_BYTES_MAX: u64 = 64 * 1024;
/// Newest major version whose own name (`kicad-cli-12`) is looked for.
const MAJOR_NAMED_MAX: u32 = 12;
/// Folder of the cache, below the state folder.
const CACHE_FILE: &str = "cache/kicad-tools.json";

/// Version of a tool.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Version {
    /// `9` of 9.0.8.
    pub major: u32,
    /// `0` of 9.0.8.
    pub minor: u32,
    /// `8` of 9.0.8.
    pub patch: u32,
}

impl Version {
    /// Reads what `kicad-cli version` prints: the last line that begins like `9.0.8`. Anything
    /// after the numbers (`~rc1`, `-unknown`) is left out.
    #[must_use]
    pub fn parse(output: &str) -> Option<Version> {
        output.lines().rev().find_map(|line| {
            let mut numbers = line.trim().splitn(3, '.').map(|part| {
                let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
                part.get(..digits).and_then(|d| d.parse::<u32>().ok())
            });
            let (major, minor) = (numbers.next()??, numbers.next()??);
            Some(Version { major, minor, patch: numbers.next().flatten().unwrap_or(0) })
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// An installed tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Where it is.
    pub path: PathBuf,
    /// Its version; `None` when it printed none.
    pub version: Option<Version>,
}

impl Tool {
    /// Name and version as records have it: `kicad-cli 9.0.8`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.version {
            Some(version) => format!("kicad-cli {version}"),
            None => "kicad-cli".to_owned(),
        }
    }

    /// Its major version, 0 when unknown.
    #[must_use]
    pub fn major(&self) -> u32 {
        self.version.map_or(0, |v| v.major)
    }
}

/// Where to look. A test fills it by hand.
#[derive(Debug, Clone, Default)]
pub struct FindEnv {
    /// The value of `PATH`.
    pub path: Option<OsString>,
    /// Programs in the usual places of this system, tried when told to.
    pub known: Vec<PathBuf>,
}

impl FindEnv {
    /// `PATH` of this process and the usual places of this system.
    #[must_use]
    pub fn of_system() -> FindEnv {
        FindEnv { path: std::env::var_os("PATH"), known: known_places() }
    }

    /// Programs on `PATH`, the default name first; of each name only the first one found, as a
    /// shell would.
    #[must_use]
    pub fn on_path(&self) -> Vec<PathBuf> {
        let folders: Vec<PathBuf> = self
            .path
            .as_ref()
            .map(|path| std::env::split_paths(path).filter(|p| p.is_absolute()).collect())
            .unwrap_or_default();
        let first = |name: String| folders.iter().map(|f| f.join(&name)).find(|p| is_program(p));
        names().into_iter().filter_map(first).collect()
    }

    /// Programs in the usual places.
    #[must_use]
    pub fn in_known_places(&self) -> Vec<PathBuf> {
        self.known.iter().filter(|p| is_program(p)).cloned().collect()
    }
}

/// Names under which the tool is installed: the default, those with a version, those of snap and
/// of nightly builds.
fn names() -> Vec<String> {
    let suffix = std::env::consts::EXE_SUFFIX;
    let mut names = vec![format!("kicad-cli{suffix}")];
    names.extend((MAJOR_MIN..=MAJOR_NAMED_MAX).map(|n| format!("kicad-cli-{n}{suffix}")));
    names.push(format!("kicad.kicad-cli{suffix}"));
    names.push(format!("kicad-cli-nightly{suffix}"));
    names
}

fn known_places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    if cfg!(target_os = "macos") {
        for app in ["/Applications/KiCad/KiCad.app", "/Applications/KiCad.app"] {
            places.push(Path::new(app).join("Contents/MacOS/kicad-cli"));
        }
    } else if cfg!(windows) {
        for version in ["10.0", "9.0", "8.0"] {
            places.push(PathBuf::from(format!(
                r"C:\Program Files\KiCad\{version}\bin\kicad-cli.exe"
            )));
        }
    } else {
        for folder in ["/usr/bin", "/usr/local/bin", "/snap/bin", "/usr/lib/kicad/bin"] {
            places.extend(names().into_iter().map(|name| Path::new(folder).join(name)));
        }
        places.push(PathBuf::from("/usr/lib/kicad-nightly/bin/kicad-cli"));
    }
    places
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// What is known of one program file; as long as it does not change, neither does its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Cached {
    /// Size in bytes.
    size: u64,
    /// Time of the last change, nanoseconds since 1970.
    changed_ns: u128,
    version: Version,
}

/// All tools that were found, in the order of preference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    /// The tools; the first one is the default.
    pub list: Vec<Tool>,
    /// How a `version` call ended that gave none, for the evidence.
    pub faults: Vec<(PathBuf, String)>,
}

/// Which tool is used for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// This one.
    Use(Tool),
    /// There is none at all.
    None,
    /// There are some, and none is in the supported range; the best of them.
    OutOfRange(Tool),
    /// There are usable ones, and none reads a format of this major version; the newest.
    TooOldForFile(Tool),
}

impl Tools {
    /// Chooses for a file that needs `required` (0 = any): the default if it reads the file, else
    /// the lowest version that does.
    #[must_use]
    pub fn choose(&self, required: u32) -> Choice {
        let Some(default) = self.list.first() else { return Choice::None };
        let in_range = |t: &&Tool| t.major() >= MAJOR_MIN;
        if default.major() >= MAJOR_MIN.max(required) {
            return Choice::Use(default.clone());
        }
        // A default that gives no version is broken, and that is told before another is taken.
        if default.version.is_none() {
            return Choice::OutOfRange(default.clone());
        }
        let fits = self.list.iter().filter(in_range).filter(|t| t.major() >= required);
        if let Some(best) = fits.min_by_key(|t| t.version) {
            return Choice::Use(best.clone());
        }
        match self.list.iter().filter(in_range).max_by_key(|t| t.version) {
            Some(newest) => Choice::TooOldForFile(newest.clone()),
            None => Choice::OutOfRange(default.clone()),
        }
    }

    /// The tools of this major version only.
    #[must_use]
    pub fn only_major(self, major: u32) -> Tools {
        let list = self.list.into_iter().filter(|t| t.major() == major).collect();
        Tools { list, faults: self.faults }
    }
}

/// Asks each program for its version, or the cache in `state_dir` while the program file is the
/// same. Programs that are the same file are listed once.
pub async fn versions(
    programs: Vec<PathBuf>,
    state_dir: &Path,
    spawn: &dyn Spawn,
    cancel: &dyn Cancel,
) -> Tools {
    let cache_path = state_dir.join(CACHE_FILE);
    let mut cache: BTreeMap<String, Cached> = cache::load(&cache_path);
    let (mut tools, mut seen, mut changed) = (Tools::default(), Vec::new(), false);
    for path in programs {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if seen.contains(&real) {
            continue;
        }
        seen.push(real.clone());
        let key = real.to_string_lossy().into_owned();
        let state = file_state(&real);
        let known = cache.get(&key).filter(|c| state == Some((c.size, c.changed_ns)));
        if let Some(known) = known {
            tools.list.push(Tool { path, version: Some(known.version) });
            continue;
        }
        let result = ask_version(&path, state_dir, spawn, cancel).await;
        let version = Version::parse(&result.stdout.text);
        match (version, state) {
            (Some(version), Some((size, changed_ns))) => {
                cache.insert(key, Cached { size, changed_ns, version });
                changed = true;
            }
            (Some(_), None) => {}
            (None, _) => tools.faults.push((path.clone(), format!("{:?}", result.ended))),
        }
        tools.list.push(Tool { path, version });
    }
    if changed {
        cache::store(&cache_path, &cache);
    }
    tools
}

fn file_state(path: &Path) -> Option<(u64, u128)> {
    let meta = path.metadata().ok()?;
    let changed = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((meta.len(), changed.as_nanos()))
}

async fn ask_version(
    path: &Path,
    state_dir: &Path,
    spawn: &dyn Spawn,
    cancel: &dyn Cancel,
) -> SpawnResult {
    let home = super::settings::home(state_dir);
    // A folder that can't be made shows as a tool that can't answer.
    let _made = std::fs::create_dir_all(&home);
    let request = SpawnRequest {
        argv: vec![path.to_string_lossy().into_owned(), "version".to_owned()],
        cwd: home.clone(),
        env: super::settings::environment(&home, &home.join("plain"), &std::env::temp_dir(), &home),
        deadline_ms: VERSION_DEADLINE_MS,
        output_bytes_max: VERSION_OUTPUT_BYTES_MAX,
        ..SpawnRequest::default()
    };
    spawn.run(request, cancel).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let v = |text: &str| Version::parse(text).map(|v| v.to_string());
        assert_eq!(v("9.0.8\n").as_deref(), Some("9.0.8"));
        assert_eq!(v("noise\n10.0.6~rc1-unknown").as_deref(), Some("10.0.6"));
        assert_eq!(v("9.99").as_deref(), Some("9.99.0"));
        assert_eq!(v(""), None);
        assert_eq!(v("kicad"), None);
    }

    fn tools(majors: &[u32]) -> Tools {
        let tool = |m: &u32| Tool {
            path: PathBuf::from(format!("/x/kicad-cli-{m}")),
            version: (*m > 0).then_some(Version { major: *m, ..Version::default() }),
        };
        Tools { list: majors.iter().map(tool).collect(), faults: vec![] }
    }

    #[test]
    fn the_default_if_it_reads_the_file_else_the_lowest_that_does() {
        let pick = |majors: &[u32], required| match tools(majors).choose(required) {
            Choice::Use(t) => format!("use {}", t.major()),
            Choice::None => "none".to_owned(),
            Choice::OutOfRange(t) => format!("range {}", t.major()),
            Choice::TooOldForFile(t) => format!("old {}", t.major()),
        };
        assert_eq!(pick(&[9, 10], 9), "use 9");
        assert_eq!(pick(&[9, 11, 10], 10), "use 10");
        assert_eq!(pick(&[10, 9], 6), "use 10");
        assert_eq!(pick(&[9], 10), "old 9");
        assert_eq!(pick(&[7, 9], 0), "use 9");
        assert_eq!(pick(&[7], 0), "range 7");
        assert_eq!(pick(&[0, 9], 0), "range 0");
        assert_eq!(pick(&[], 0), "none");
    }
}
