//! The profile: a folder of pcbflow's own in a lasting place, which holds the sign-in.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use pcbflow_core::evidence::{Signal, Source};

use super::find::System;
use crate::signals;

/// The file that says that a folder is a profile of pcbflow's, and whole.
const MARKER: &str = "pcbflow-profile";
/// What it holds.
const MARKER_TEXT: &str = "This folder is the browser profile of pcbflow. It holds your sign-in.\n";

/// The lasting folder for pcbflow's profiles: of the person, on this computer, not in a temporary
/// place. `None` when the environment names no home.
pub fn lasting_folder(
    system: System,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|p| p.has_root());
    let data = match system {
        System::Linux => absolute("XDG_DATA_HOME")
            .or_else(|| absolute("HOME").map(|h| h.join(".local").join("share"))),
        System::Mac => absolute("HOME").map(|h| h.join("Library").join("Application Support")),
        System::Windows => absolute("LOCALAPPDATA"),
    };
    data.map(|d| d.join("pcbflow").join("browser"))
}

/// The file that names the browser that pcbflow started on a profile.
const STARTED: &str = "pcbflow-started";
/// Largest size of that file, in bytes.
const STARTED_BYTES_MAX: u64 = 1024;

/// A profile folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    folder: PathBuf,
}

impl Profile {
    /// The profile in this folder, which need not be there yet.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Profile {
        Profile { folder: folder.into() }
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is wrong with it, for the diagnosis (BR-10): the folder or its marker is missing.
    #[must_use]
    pub fn signals(&self) -> Vec<Signal> {
        let fact = |code: &str| vec![Signal::new(Source::File, code)];
        if !self.folder.is_dir() {
            fact(signals::CLONE_MISSING)
        } else if !self.folder.join(MARKER).is_file() {
            fact(signals::CLONE_MARKER_MISSING)
        } else {
            Vec::new()
        }
    }

    /// Makes the folder, for its owner alone, and marks it.
    ///
    /// # Errors
    /// What the system says; also when something else than a folder has its name, because a
    /// browser would then take the person's own profile without a word.
    pub fn prepare(&self) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        let marker = self.folder.join(MARKER);
        if std::fs::read_to_string(&marker).is_ok_and(|t| t == MARKER_TEXT) {
            return Ok(());
        }
        std::fs::write(marker, MARKER_TEXT)
    }

    /// Writes down that this process is a browser of ours, for whoever comes after a kill.
    pub(super) fn record_start(&self, pid: u32, browser_id: &str) -> io::Result<()> {
        std::fs::write(self.folder.join(STARTED), format!("{pid}\n{browser_id}\n"))
    }

    /// Process and id of the browser that was started last.
    pub(super) fn last_start(&self) -> Option<(u32, String)> {
        let file = self.folder.join(STARTED);
        let small = std::fs::metadata(&file).is_ok_and(|m| m.len() <= STARTED_BYTES_MAX);
        let text = small.then(|| std::fs::read_to_string(file).ok()).flatten()?;
        let (pid, id) = text.split_once('\n')?;
        Some((pid.parse().ok()?, id.trim().to_owned()))
    }

    /// Marks a folder that a copy has filled.
    pub(super) fn mark(&self) -> io::Result<()> {
        std::fs::write(self.folder.join(MARKER), MARKER_TEXT)
    }
}
