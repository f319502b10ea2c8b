//! Where Chrome or Chromium lies on this computer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The three systems that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux and its likes.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl System {
    /// The system that this program was built for.
    #[must_use]
    pub fn here() -> System {
        if cfg!(windows) {
            System::Windows
        } else if cfg!(target_os = "macos") {
            System::Mac
        } else {
            System::Linux
        }
    }
}

/// Names on the search path, the preferred first.
const NAMES: &[&str] =
    &["google-chrome-stable", "google-chrome", "chrome", "chromium", "chromium-browser"];
/// Applications of macOS, below `/Applications` and the person's own.
const MAC: &[&str] =
    &["Google Chrome.app/Contents/MacOS/Google Chrome", "Chromium.app/Contents/MacOS/Chromium"];
/// Programs of Windows, below the folders that these variables name.
const WINDOWS: &[&[&str]] = &[
    &["Google", "Chrome", "Application", "chrome.exe"],
    &["Chromium", "Application", "chrome.exe"],
];
const WINDOWS_FOLDERS: &[&str] = &["ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"];

/// Every place in which a browser may lie, in order: the configured one alone if there is one,
/// else the search path and the usual places of the system.
pub fn places(
    system: System,
    configured: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    if let Some(program) = configured {
        return vec![program.to_owned()];
    }
    let search = variable(if system == System::Windows { "Path" } else { "PATH" });
    let folders: Vec<PathBuf> = search
        .map(|s| std::env::split_paths(&s).filter(|p| p.is_absolute()).collect())
        .unwrap_or_default();
    let ending = if system == System::Windows { ".exe" } else { "" };
    let named = |name: &&str| {
        let file = format!("{name}{ending}");
        folders.iter().map(move |f| f.join(&file)).collect::<Vec<_>>()
    };
    let mut all: Vec<PathBuf> = NAMES.iter().flat_map(named).collect();
    match system {
        System::Linux => all.push(PathBuf::from("/opt/google/chrome/chrome")),
        System::Mac => {
            let own = variable("HOME").map(|h| PathBuf::from(h).join("Applications"));
            let roots = [Some(PathBuf::from("/Applications")), own];
            let apps = |root: PathBuf| MAC.iter().map(move |app| root.join(app));
            all.extend(roots.into_iter().flatten().flat_map(apps));
        }
        System::Windows => {
            for folder in WINDOWS_FOLDERS.iter().filter_map(|name| variable(name)) {
                let in_folder = |parts: &&[&str]| {
                    parts.iter().fold(PathBuf::from(&folder), |path, part| path.join(part))
                };
                all.extend(WINDOWS.iter().map(in_folder));
            }
        }
    }
    all
}

/// The browsers of this computer, the preferred first. Empty: there is none (ENV-3).
#[must_use]
pub fn find(configured: Option<&Path>) -> Vec<PathBuf> {
    let mut found = places(System::here(), configured, &|name| std::env::var_os(name));
    found.retain(|p| may_run(p));
    let mut seen = Vec::new();
    // Two names may lead to one program.
    found.retain(|p| {
        let real = std::fs::canonicalize(p).unwrap_or_else(|_| p.clone());
        let new = !seen.contains(&real);
        seen.push(real);
        new
    });
    found
}

#[cfg(unix)]
fn may_run(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn may_run(file: &Path) -> bool {
    file.is_file()
}
