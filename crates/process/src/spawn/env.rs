//! Which variables of pcbflow's own environment a child gets. A list of what may pass, not of
//! what may not: a secret in the engineer's shell stays there.

use std::ffi::OsString;

use pcbflow_core::redact::is_secret_key;

/// Name of the marker that every child and its children carry.
pub const ATTEMPT_VARIABLE: &str = "PCBFLOW_ATTEMPT";

/// Variables that pass, upper and lower case alike.
const NAMES: &[&str] = &[
    // Where things are.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TMP",
    "TEMP",
    // Language and time.
    "LANG",
    "LANGUAGE",
    "TZ",
    // The screen, for tools that draw.
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    // Output without colours.
    "TERM",
    "NO_COLOR",
    "CI",
    // The network of a company, and keys of git that stay with their agent.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    // Version managers.
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "FNM_DIR",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    // Windows.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "COMMONPROGRAMFILES",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// Beginnings of names that pass.
const PREFIXES: &[&str] = &["LC_", "XDG_", "KICAD"];

/// Whether a variable passes. A secret-like name never does, whatever its beginning.
#[must_use]
pub fn passes(name: &str, more: &[String]) -> bool {
    let upper = name.to_ascii_uppercase();
    let listed = NAMES.contains(&upper.as_str())
        || PREFIXES.iter().any(|p| upper.starts_with(p))
        || more.iter().any(|m| m.eq_ignore_ascii_case(name));
    listed && !is_secret_key(name)
}

/// The part of the own environment that passes.
pub(super) fn passed_on(more: &[String]) -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|n| passes(n, more))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_passes() {
        for name in ["PATH", "Path", "LC_ALL", "KICAD9_SYMBOL_DIR", "XDG_CONFIG_HOME", "SystemRoot"]
        {
            assert!(passes(name, &[]), "{name}");
        }
        for name in ["GITHUB_TOKEN", "KICAD_API_TOKEN", "AWS_PROFILE", "PCBFLOW_ATTEMPT", "FOO"] {
            assert!(!passes(name, &[]), "{name}");
        }
        assert!(passes("FOO", &["FOO".into()]));
        assert!(!passes("MY_PASSWORD", &["MY_PASSWORD".into()]));
    }
}
