//! A private copy of a project, in which every call works.
//!
//! The tool never runs in the engineer's folder: KiCad 10 writes `.kicad_prl` and a lock file into
//! the project, and a canary rule must not stand in the engineer's rules file. What KiCad reads as
//! the project (board, project, rules, sheets, tables) is **copied** under the same relative names;
//! everything else (libraries, models, pictures) is **linked**, so that `${KIPRJMOD}/../lib` and
//! `../common/x.kicad_sch` lead to the same things as in place. Measured: findings of a copy and
//! of the project in place are equal on every board of the corpus, with KiCad 9 and 10.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Most entries of one folder that are linked into the copy.
pub const ENTRIES_MAX: usize = 20_000;
/// Most levels above the project's folder that are part of the copy.
pub const LEVELS_UP_MAX: usize = 6;

/// Why there is no private copy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// A file or link could not be made.
    #[error("{path} can't be copied")]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A folder has more than [`ENTRIES_MAX`] entries.
    #[error("{path} has more than {ENTRIES_MAX} entries")]
    TooMany {
        /// Which.
        path: PathBuf,
    },
}

/// A private copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The project's folder in the copy.
    pub folder: PathBuf,
}

impl Mirror {
    /// Copies the project in `project` (with `files`, all absolute and canonical) below `into`,
    /// `levels_up` folders of its surroundings included. Folders in `unlinked` are left out, because
    /// the tool is going to write into folders of these names.
    ///
    /// # Errors
    /// [`MirrorError`], with the file.
    pub fn make(
        project: &Path,
        files: &BTreeSet<PathBuf>,
        levels_up: usize,
        unlinked: &BTreeSet<PathBuf>,
        into: &Path,
    ) -> Result<Mirror, MirrorError> {
        let levels = levels_up.min(LEVELS_UP_MAX);
        // Above the first folder of the system there is nothing.
        let top = project.ancestors().take(levels + 1).last().unwrap_or(project);
        let needed: BTreeSet<PathBuf> =
            files.iter().filter(|f| f.starts_with(top)).cloned().collect();
        lay(top, into, &Plan { project, needed: &needed, unlinked })?;
        let inner = project.strip_prefix(top).unwrap_or(Path::new(""));
        Ok(Mirror { folder: into.join(inner) })
    }

    /// A file of the project's folder in the copy.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file of the copy, in place of the link or copy that is there.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.file(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::fs::write(path, bytes)
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> MirrorError + '_ {
    move |source| MirrorError::Io { path: path.to_owned(), source }
}

/// What is copied, and what is left out.
struct Plan<'a> {
    project: &'a Path,
    needed: &'a BTreeSet<PathBuf>,
    unlinked: &'a BTreeSet<PathBuf>,
}

impl Plan<'_> {
    /// Whether a folder leads to something that is copied.
    fn is_way(&self, path: &Path) -> bool {
        self.project.starts_with(path) || self.needed.iter().any(|n| n.starts_with(path))
    }
}

fn lay(from: &Path, to: &Path, plan: &Plan<'_>) -> Result<(), MirrorError> {
    std::fs::create_dir_all(to).map_err(at(to))?;
    let entries = match std::fs::read_dir(from) {
        Ok(entries) => entries,
        // A folder above the project that may not be listed: only the way down is laid.
        Err(_) if !from.starts_with(plan.project) => {
            let way = plan.project.strip_prefix(from).ok().and_then(|p| p.components().next());
            return way.map_or(Ok(()), |next| lay(&from.join(next), &to.join(next), plan));
        }
        Err(source) => return Err(at(from)(source)),
    };
    for (count, entry) in entries.enumerate() {
        let entry = entry.map_err(at(from))?;
        let (path, name) = (entry.path(), entry.file_name());
        if is_left_out(&name.to_string_lossy()) {
            continue;
        }
        let target = to.join(&name);
        if plan.needed.contains(&path) {
            copy(&path, &target)?;
        } else if plan.is_way(&path) {
            lay(&path, &target, plan)?;
        } else if plan.unlinked.contains(&path) {
            tracing::debug!(path = %path.display(), "left out of the private copy");
        } else if count < ENTRIES_MAX {
            link(&path, &target)?;
        } else {
            // Above the project too: what is needed may be among the rest.
            return Err(MirrorError::TooMany { path: from.to_owned() });
        }
    }
    Ok(())
}

/// Locks, caches and autosaves of other programs; KiCad would write through a link to its own
/// settings of the project (`.kicad_prl`).
fn is_left_out(name: &str) -> bool {
    name.starts_with("~") && name.ends_with(".lck")
        || name.ends_with(".kicad_prl")
        || name == "fp-info-cache"
        || name.starts_with("_autosave-")
        || name.ends_with("-backups")
        || name == ".pcbflow"
}

fn copy(from: &Path, to: &Path) -> Result<(), MirrorError> {
    // Only plain files: a pipe would be waited for.
    crate::file::open_plain(from).map_err(at(from))?;
    std::fs::copy(from, to).map_err(at(from))?;
    // A copy of a read-only file would be read-only, and the canary has to be written.
    let mut rights = std::fs::metadata(to).map_err(at(to))?.permissions();
    if rights.readonly() {
        make_writable(&mut rights);
        std::fs::set_permissions(to, rights).map_err(at(to))?;
    }
    Ok(())
}

#[cfg(unix)]
fn make_writable(rights: &mut std::fs::Permissions) {
    use std::os::unix::fs::PermissionsExt as _;
    rights.set_mode(rights.mode() | 0o600);
}

#[cfg(not(unix))]
fn make_writable(rights: &mut std::fs::Permissions) {
    rights.set_readonly(false);
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> Result<(), MirrorError> {
    std::os::unix::fs::symlink(from, to).map_err(at(from))
}

/// Links need rights of their own on Windows, so the files are copied.
#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> Result<(), MirrorError> {
    if from.is_dir() {
        std::fs::create_dir_all(to).map_err(at(to))?;
        for entry in std::fs::read_dir(from).map_err(at(from))? {
            let entry = entry.map_err(at(from))?;
            link(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    copy(from, to)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn what_is_the_project_is_copied_and_the_rest_is_linked() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let project = base.join("hw/board");
        for part in ["hw/board/sub", "hw/lib", "hw/board/x.pretty", "hw/board/made"] {
            std::fs::create_dir_all(base.join(part)).unwrap();
        }
        for (name, content) in [
            ("hw/board/b.kicad_pcb", "board"),
            ("hw/board/b.kicad_dru", "rules"),
            ("hw/board/b.kicad_prl", "mine"),
            ("hw/board/~b.kicad_pro.lck", "lock"),
            ("hw/board/sub/s.kicad_sch", "sheet"),
            ("hw/board/x.pretty/p.kicad_mod", "part"),
            ("hw/lib/l.lib", "library"),
        ] {
            std::fs::write(base.join(name), content).unwrap();
        }
        let files = ["b.kicad_pcb", "b.kicad_dru", "sub/s.kicad_sch", "gone.kicad_pro"]
            .map(|f| project.join(f))
            .into();
        let unlinked = BTreeSet::from([project.join("made")]);
        let into = base.join("scratch");
        let mirror = Mirror::make(&project, &files, 1, &unlinked, &into).unwrap();
        assert_eq!(mirror.folder, into.join("board"));
        assert_eq!(text(&mirror.folder.join("../lib/l.lib")), "library");
        assert_eq!(text(&mirror.file("x.pretty/p.kicad_mod")), "part");
        assert!(mirror.file("x.pretty").is_symlink());
        for copied in ["b.kicad_pcb", "sub", "sub/s.kicad_sch"] {
            assert!(!mirror.file(copied).is_symlink(), "{copied}");
        }
        for absent in ["b.kicad_prl", "~b.kicad_pro.lck", "made", "gone.kicad_pro"] {
            assert!(!mirror.file(absent).exists(), "{absent}");
        }
        mirror.write("b.kicad_dru", b"canary").unwrap();
        assert_eq!(text(&project.join("b.kicad_dru")), "rules");
    }
}
