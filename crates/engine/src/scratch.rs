//! Private folders of attempts below `.pcbflow/tmp`: `<board>-<pid>-<number>`.

use std::path::{Path, PathBuf};

use pcbflow_core::ids::BoardName;

use crate::setup::EngineError;

/// Most entries of the folder that are looked at in one run.
const ENTRIES_MAX: usize = 100_000;

fn folder(state_dir: &Path) -> PathBuf {
    state_dir.join("tmp")
}

/// Makes a fresh, empty one.
pub(crate) fn make(
    state_dir: &Path,
    board: &BoardName,
    pid: u32,
    number: u64,
) -> Result<PathBuf, EngineError> {
    let dir = folder(state_dir).join(format!("{board}-{pid}-{number}"));
    let made = match std::fs::remove_dir_all(&dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => std::fs::create_dir_all(&dir),
    };
    made.map_err(|e| {
        EngineError::of_full_disk(&e, "making a private folder")
            .unwrap_or_else(|| EngineError::Scratch { path: dir.clone(), message: e.to_string() })
    })?;
    Ok(dir)
}

/// Removes what dead processes left behind for this board. The caller holds the board's claim:
/// folders are only made under it, so whoever made these is gone, whatever process has that
/// number now.
pub(crate) fn clear(state_dir: &Path, board: &BoardName) -> usize {
    let Ok(entries) = std::fs::read_dir(folder(state_dir)) else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten().take(ENTRIES_MAX) {
        if !is_of(&entry.file_name().to_string_lossy(), board) {
            continue;
        }
        match std::fs::remove_dir_all(entry.path()) {
            Ok(()) => removed += 1,
            // It holds nothing of worth and goes at another start.
            Err(e) => tracing::debug!("{} was not removed: {e}", entry.path().display()),
        }
    }
    removed
}

/// Whether a folder's name says that it was made for this board.
fn is_of(name: &str, board: &BoardName) -> bool {
    let number = |part: Option<&str>| part.is_some_and(|p| p.parse::<u64>().is_ok());
    let mut parts = name.rsplitn(3, '-');
    number(parts.next()) && number(parts.next()) && parts.next() == Some(board.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_this_board_go() {
        let dir = tempfile::tempdir().unwrap();
        let board = BoardName::new("a").unwrap();
        let other = BoardName::new("a-1").unwrap();
        let kept = make(dir.path(), &other, 7, 1).unwrap();
        let gone = make(dir.path(), &board, 7, 1).unwrap();
        std::fs::write(gone.join("x"), "x").unwrap();
        std::fs::create_dir_all(dir.path().join("tmp/mine")).unwrap();
        assert_eq!(clear(dir.path(), &board), 1);
        assert!(kept.exists() && !gone.exists() && dir.path().join("tmp/mine").exists());
        assert_eq!(clear(&dir.path().join("none"), &board), 0);
    }
}
