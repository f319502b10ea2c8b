//! The workspace: found upward from the current folder, its boards listed.

use std::path::{Path, PathBuf};

use pcbflow_core::ids::BoardName;
use pcbflow_core::manifest::{KindInfo, nearest};

use crate::manifest::{self, Document, MANIFEST_NAME, ManifestError, PlacedFault};
use crate::paths;

/// Folder of pcbflow's own files.
pub const STATE_DIR: &str = ".pcbflow";
/// File of settings.
pub const SETTINGS_NAME: &str = "pcbflow.toml";
/// Folder of the boards.
pub const PROJECTS_DIR: &str = "projects";
/// Most folders on the way up.
const UP_MAX: usize = 64;
/// Most boards of a workspace.
pub const BOARDS_MAX: usize = 10_000;

/// Why a workspace or board can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// There is none from this folder upward.
    #[error("no workspace in {from} or a folder above it")]
    NotFound {
        /// Where the search began.
        from: PathBuf,
    },
    /// There is no such board.
    #[error("there is no board '{name}' in {workspace}")]
    NoBoard {
        /// The name asked for.
        name: String,
        /// The workspace.
        workspace: PathBuf,
        /// The board most like it.
        nearest: Option<String>,
    },
    /// The manifest can't be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A link leads out of the workspace.
    #[error("the board '{board}' is a link to {real}, outside the workspace")]
    Outside {
        /// The board.
        board: String,
        /// Where it really lies.
        real: PathBuf,
    },
    /// The folder can't be read.
    #[error("the folder {path} can't be read")]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its folder, canonical.
    pub root: PathBuf,
}

/// A board's folder that has a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardEntry {
    /// The board.
    pub name: BoardName,
    /// Its folder.
    pub dir: PathBuf,
    /// Its manifest.
    pub manifest: PathBuf,
}

/// All boards, and the folders that look like one and are not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Boards {
    /// The boards, by name.
    pub list: Vec<BoardEntry>,
    /// What was passed over and why, one line each.
    pub oddities: Vec<String>,
}

/// A board whose manifest was read and whose root is there.
#[derive(Debug, Clone)]
pub struct Board {
    /// The board.
    pub name: BoardName,
    /// Its folder, canonical: outputs go below it.
    pub dir: PathBuf,
    /// Where its files lie, canonical: inputs come from below it.
    pub root: PathBuf,
    /// Its manifest.
    pub document: Document,
}

fn unreadable(path: &Path, source: std::io::Error) -> WorkspaceError {
    WorkspaceError::Unreadable { path: path.to_owned(), source }
}

impl Workspace {
    /// Finds the workspace that `from` lies in.
    ///
    /// # Errors
    /// There is none, or the folder can't be read.
    pub fn find(from: &Path) -> Result<Workspace, WorkspaceError> {
        let real = std::fs::canonicalize(from).map_err(|e| unreadable(from, e))?;
        real.ancestors()
            .take(UP_MAX)
            .find(|dir| is_workspace(dir))
            .map(|dir| Workspace { root: dir.to_owned() })
            .ok_or(WorkspaceError::NotFound { from: from.to_owned() })
    }

    /// The workspace at exactly this folder.
    ///
    /// # Errors
    /// It is none, or can't be read.
    pub fn at(folder: &Path) -> Result<Workspace, WorkspaceError> {
        let root = std::fs::canonicalize(folder).map_err(|e| unreadable(folder, e))?;
        if is_workspace(&root) {
            Ok(Workspace { root })
        } else {
            Err(WorkspaceError::NotFound { from: folder.to_owned() })
        }
    }

    /// `.pcbflow` of the workspace.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.root.join(STATE_DIR)
    }

    /// Folder of a board.
    #[must_use]
    pub fn board_dir(&self, name: &BoardName) -> PathBuf {
        self.root.join(PROJECTS_DIR).join(name.as_str())
    }

    /// All boards.
    ///
    /// # Errors
    /// The folder `projects` is there and can't be read.
    pub fn boards(&self) -> Result<Boards, WorkspaceError> {
        let dir = self.root.join(PROJECTS_DIR);
        let entries = match std::fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Boards::default()),
            Err(e) => return Err(unreadable(&dir, e)),
        };
        let mut boards = Boards::default();
        for entry in entries.take(BOARDS_MAX) {
            let path = entry.map_err(|e| unreadable(&dir, e))?.path();
            if path.is_dir() {
                sort_in(&path, &mut boards);
            }
        }
        boards.list.sort_by(|a, b| a.name.cmp(&b.name));
        boards.oddities.sort();
        Ok(boards)
    }

    /// The board that a folder lies in, by its place below `projects`.
    #[must_use]
    pub fn board_of(&self, folder: &Path) -> Option<BoardName> {
        let real = std::fs::canonicalize(folder).ok()?;
        let below = real.strip_prefix(self.root.join(PROJECTS_DIR)).ok()?;
        let first = below.components().next()?.as_os_str().to_str()?;
        BoardName::new(first).ok()
    }

    /// Reads a board: its manifest, and that its root is there.
    ///
    /// # Errors
    /// No such board; faults of the manifest, a missing root among them.
    pub fn board(&self, name: &BoardName) -> Result<Board, WorkspaceError> {
        let dir = self.board_dir(name);
        let document = match manifest::read(&dir.join(MANIFEST_NAME)) {
            Err(ManifestError::Missing { .. }) => return Err(self.no_board(name)),
            other => other?,
        };
        let dir = std::fs::canonicalize(&dir).map_err(|e| unreadable(&dir, e))?;
        if document.manifest.board != *name {
            let fault = manifest::other_name(&document.manifest.board, name);
            return Err(faulty(&document, document.placed(fault)));
        }
        let root = paths::resolve_root(&dir, document.manifest.root.as_deref())
            .map_err(|e| faulty(&document, document.placed(manifest::root_fault(&e))))?;
        Ok(Board { name: name.clone(), dir, root, document })
    }

    /// That a board's folder and manifest really lie in the workspace. A board is worked on only
    /// there: its outputs and `status:` go beside its manifest.
    ///
    /// # Errors
    /// [`WorkspaceError::Outside`] when a link leads out of it.
    pub fn holds(&self, board: &Board) -> Result<(), WorkspaceError> {
        let root = std::fs::canonicalize(&self.root).map_err(|e| unreadable(&self.root, e))?;
        let manifest = board.dir.join(MANIFEST_NAME);
        let file = std::fs::canonicalize(&manifest).map_err(|e| unreadable(&manifest, e))?;
        match [&board.dir, &file].into_iter().find(|place| !place.starts_with(&root)) {
            Some(real) => {
                Err(WorkspaceError::Outside { board: board.name.to_string(), real: real.clone() })
            }
            None => Ok(()),
        }
    }

    /// All faults of a board's manifest, those of its form and of its content together, in the
    /// order of the file. `more` sees what the subsystems know of the steps.
    ///
    /// # Errors
    /// It can't be read, or its text is no YAML.
    pub fn faults(
        &self,
        name: &BoardName,
        kinds: &[KindInfo],
        more: &manifest::More<'_>,
    ) -> Result<Vec<PlacedFault>, WorkspaceError> {
        let path = self.board_dir(name).join(MANIFEST_NAME);
        Ok(manifest::all_faults(&path, name, kinds, more)?)
    }

    fn no_board(&self, name: &BoardName) -> WorkspaceError {
        let names: Vec<String> = self
            .boards()
            .map(|b| b.list.iter().map(|e| e.name.to_string()).collect())
            .unwrap_or_default();
        WorkspaceError::NoBoard {
            name: name.to_string(),
            workspace: self.root.clone(),
            nearest: nearest(name.as_str(), names.iter().map(String::as_str)),
        }
    }
}

fn faulty(document: &Document, fault: PlacedFault) -> WorkspaceError {
    ManifestError::Faults { path: document.path.clone(), list: vec![fault] }.into()
}

fn is_workspace(dir: &Path) -> bool {
    dir.join(SETTINGS_NAME).is_file()
        || (dir.join(STATE_DIR).is_dir() && dir.join(PROJECTS_DIR).is_dir())
}

fn sort_in(path: &Path, boards: &mut Boards) {
    let shown = path.display();
    let manifest = path.join(MANIFEST_NAME);
    if manifest.symlink_metadata().is_err() {
        let other = ["project.yml", "Project.yaml", "project.json"]
            .iter()
            .find(|name| path.join(name).is_file());
        if let Some(name) = other {
            boards.oddities.push(format!("{shown} has '{name}', not '{MANIFEST_NAME}'"));
        }
        return;
    }
    match path.file_name().and_then(|n| n.to_str()).map(BoardName::new) {
        Some(Ok(name)) => boards.list.push(BoardEntry { name, dir: path.to_owned(), manifest }),
        Some(Err(e)) => boards.oddities.push(format!("{shown} is passed over: {e}")),
        None => boards.oddities.push(format!("{shown} is passed over: its name is not UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("projects/tür")).unwrap();
        std::fs::create_dir_all(dir.path().join("projects/no board")).unwrap();
        std::fs::create_dir_all(dir.path().join(".pcbflow")).unwrap();
        std::fs::write(dir.path().join("projects/tür/project.yaml"), "board: tür\nphases: []\n")
            .unwrap();
        std::fs::write(dir.path().join("projects/no board/project.yaml"), "x: y\n").unwrap();
        let found = Workspace::find(&dir.path().join("projects/tür")).unwrap();
        (dir, found)
    }

    #[test]
    fn found_from_below_and_listed() {
        let (_dir, ws) = workspace();
        let boards = ws.boards().unwrap();
        assert_eq!(boards.list.len(), 1);
        assert_eq!(boards.oddities.len(), 1);
        let name = BoardName::new("tür").unwrap();
        assert_eq!(ws.board_of(&ws.board_dir(&name)), Some(name.clone()));
        assert_eq!(ws.board(&name).unwrap().root, ws.board_dir(&name));
        assert!(Workspace::find(Path::new("/")).is_err());
    }

    #[test]
    fn wrong_names_and_roots_are_placed() {
        let (_dir, ws) = workspace();
        let near = ws.board(&BoardName::new("tur").unwrap()).unwrap_err();
        assert!(matches!(near, WorkspaceError::NoBoard { nearest: Some(_), .. }), "{near:?}");
        let manifest = ws.root.join("projects/tür/project.yaml");
        let tür = BoardName::new("tür").unwrap();
        std::fs::write(&manifest, "# x\nboard: tür\nroot: ../../hw\nphases: []\n").unwrap();
        let error = ws.board(&tür).unwrap_err().to_string();
        assert!(error.contains(":3:1: the folder") && error.contains("is not there"), "{error}");
        std::fs::write(&manifest, "board: other\nphases: []\n").unwrap();
        assert!(ws.board(&tür).unwrap_err().to_string().contains("by its folder"));
    }
}
