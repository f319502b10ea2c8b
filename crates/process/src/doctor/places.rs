//! The tools of the flow, their names, and where each system keeps them.

use std::path::PathBuf;

use super::{Least, Version};

/// One tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its plain program name.
    pub name: &'static str,
    /// Every name under which it is on a search path, the best first.
    pub names: &'static [&'static str],
    /// What makes it print its version.
    pub version_args: &'static [&'static str],
    /// The lowest version that will do.
    pub least: Option<Least>,
    linux: &'static [&'static str],
    macos: &'static [&'static str],
    windows: &'static [&'static str],
}

impl Tool {
    /// Known places on this system. `~` is the home folder; one `*` stands for any folder name,
    /// the highest first.
    #[must_use]
    pub fn places(&self) -> Vec<PathBuf> {
        let places = match std::env::consts::OS {
            "macos" => self.macos,
            "windows" => self.windows,
            _ => self.linux,
        };
        places.iter().flat_map(|place| expand(place)).collect()
    }

    /// Whether a program goes by one of the tool's names.
    #[must_use]
    pub fn is_named(&self, program: &str) -> bool {
        self.names.contains(&pcbflow_core::evidence::program_name(program))
    }
}

fn expand(place: &str) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    let full = match (place.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        (Some(_), None) => return Vec::new(),
        (None, _) => PathBuf::from(place),
    };
    let text = full.to_string_lossy().into_owned();
    let Some((before, after)) = text.split_once("/*/") else { return vec![full] };
    let Ok(folder) = std::fs::read_dir(before) else { return Vec::new() };
    let mut found: Vec<(Option<Version>, PathBuf)> = folder
        .flatten()
        .map(|e| (Version::find(&e.file_name().to_string_lossy()), e.path().join(after)))
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// Node.
pub const NODE: Tool = Tool {
    name: "node",
    names: &["node", "nodejs"],
    version_args: &["--version"],
    least: Some(Least(Version(18, 0, 0))),
    linux: &[
        "/usr/bin/node",
        "/usr/bin/nodejs",
        "/usr/local/bin/node",
        "/snap/bin/node",
        "~/.volta/bin/node",
        "~/.nvm/versions/node/*/bin/node",
        "~/.local/share/fnm/node-versions/*/installation/bin/node",
    ],
    macos: &[
        "/opt/homebrew/bin/node",
        "/usr/local/bin/node",
        "~/.volta/bin/node",
        "~/.nvm/versions/node/*/bin/node",
    ],
    windows: &["C:/Program Files/nodejs/node.exe", "~/AppData/Roaming/nvm/*/node.exe"],
};

/// Python.
pub const PYTHON: Tool = Tool {
    name: "python3",
    names: &["python3", "python", "py"],
    version_args: &["--version"],
    least: Some(Least(Version(3, 9, 0))),
    linux: &[
        "/usr/bin/python3",
        "/usr/local/bin/python3",
        "/usr/bin/python",
        "~/.pyenv/versions/*/bin/python3",
    ],
    macos: &[
        "/opt/homebrew/bin/python3",
        "/usr/local/bin/python3",
        "/usr/bin/python3",
        "~/.pyenv/versions/*/bin/python3",
    ],
    windows: &["C:/Windows/py.exe", "~/AppData/Local/Programs/Python/*/python.exe"],
};

/// Chrome, or its open kin.
pub const CHROME: Tool = Tool {
    name: "chrome",
    names: &["google-chrome", "google-chrome-stable", "chrome", "chromium", "chromium-browser"],
    version_args: &["--version"],
    least: None,
    linux: &[
        "/usr/bin/google-chrome",
        "/usr/bin/google-chrome-stable",
        "/opt/google/chrome/chrome",
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
        "/snap/bin/chromium",
    ],
    macos: &[
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
    ],
    windows: &[
        "C:/Program Files/Google/Chrome/Application/chrome.exe",
        "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
        "~/AppData/Local/Google/Chrome/Application/chrome.exe",
    ],
};

/// KiCad's command-line tool.
pub const KICAD: Tool = Tool {
    name: "kicad-cli",
    names: &["kicad-cli", "kicad-cli-nightly", "kicad.kicad-cli"],
    version_args: &["version"],
    least: None,
    linux: &["/usr/bin/kicad-cli", "/usr/local/bin/kicad-cli", "/snap/bin/kicad.kicad-cli"],
    macos: &["/Applications/KiCad/KiCad.app/Contents/MacOS/kicad-cli"],
    windows: &["C:/Program Files/KiCad/*/bin/kicad-cli.exe"],
};

/// Git.
pub const GIT: Tool = Tool {
    name: "git",
    names: &["git"],
    version_args: &["--version"],
    least: Some(Least(Version(2, 20, 0))),
    linux: &["/usr/bin/git", "/usr/local/bin/git"],
    macos: &["/usr/bin/git", "/opt/homebrew/bin/git", "/usr/local/bin/git"],
    windows: &["C:/Program Files/Git/cmd/git.exe", "C:/Program Files (x86)/Git/cmd/git.exe"],
};

/// Every tool of the table.
pub const TOOLS: &[Tool] = &[NODE, PYTHON, CHROME, KICAD, GIT];

/// The tool that a name stands for; `python` and `chromium` are names like any other.
#[must_use]
pub fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|t| t.name == name || t.is_named(name))
}
