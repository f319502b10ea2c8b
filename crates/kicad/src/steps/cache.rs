//! Small caches below the state folder. Each is a map in one JSON file, written whole and renamed;
//! one that can't be read is empty, one that can't be written costs time and nothing else.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a cache.
#[must_use]
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> BTreeMap<String, T> {
    std::fs::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

/// Writes a cache.
pub(crate) fn store<T: Serialize>(path: &Path, cache: &BTreeMap<String, T>) {
    let write = || -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, cache)?;
        file.persist(path)?;
        Ok(())
    };
    if let Err(error) = write() {
        tracing::debug!(%error, "{} was not written", path.display());
    }
}
