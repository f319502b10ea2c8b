//! The rows of families ENV (the computer) and SC (scripts and steps).

pub mod actions;
mod env_setup;
mod env_tools;
pub mod probes;
mod sc_result;
mod sc_run;

use pcbflow_core::row::Row;

/// Rows ENV-1 to ENV-9 and SC-1 to SC-8.
pub const ROWS: &[Row] = &[
    env_tools::ENV_1,
    env_tools::ENV_2,
    env_tools::ENV_3,
    env_tools::ENV_4,
    env_tools::ENV_5,
    env_setup::ENV_6,
    env_setup::ENV_7,
    env_setup::ENV_8,
    env_setup::ENV_9,
    sc_run::SC_1,
    sc_run::SC_2,
    sc_run::SC_3,
    sc_run::SC_4,
    sc_run::SC_5,
    sc_result::SC_6,
    sc_result::SC_7,
    sc_result::SC_8,
];

/// Names of Node.
const NODE: &[&str] = &["node", "nodejs"];
/// Names of Python.
const PYTHON: &[&str] = &["python", "python3", "py"];
/// Names of Chrome and its kin.
const CHROME: &[&str] = &[
    "chrome",
    "google-chrome",
    "google-chrome-stable",
    "chromium",
    "chromium-browser",
    "Google Chrome",
];
/// Names of KiCad's command-line tool.
const KICAD: &[&str] = &["kicad-cli", "kicad-cli-nightly", "kicad.kicad-cli"];
/// Shells of all systems.
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "cmd", "powershell", "pwsh"];
/// Command-line tools that a phase may need.
pub(crate) const HELPERS: &[&str] = &["git", "rsync", "robocopy", "cp", "xcopy"];
/// Assistants and their editor.
pub(crate) const ASSISTANTS: &[&str] =
    &["claude", "codex", "gemini", "opencode", "cursor-agent", "code"];

#[cfg(test)]
mod tests;
